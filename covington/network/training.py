"""Training of the network: batches, the optimiser, epochs, and the best of them on a development set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from covington.arrays import Array
from covington.errors import ModelError, OptionError
from covington.network.floats import draw_key, shuffled
from covington.network.layers import SPARSE, Batch, Gradients, Layers, Parameters, batch_of, initial
from covington.network.options import NetworkOptions
from covington.network.vocabulary import Corpus, Vocabulary

KEEP_MEAN, KEEP_VARIANCE = 0.9, 0.999
_ORDER, _UPDATE = 11, 12  # what random numbers are for
_POOL = 24  # batches that sentences of like length are sorted among


class Adam:
    """The optimiser and its state; rows of sparse tables stand still while no batch has them."""

    def __init__(self, layers: Layers, parameters: Parameters) -> None:
        self.floats = layers.floats
        self.clip, self.table_rate = layers.options.clip, layers.options.table_rate
        self.mean = {name: np.zeros_like(values) for name, values in parameters.items()}
        self.variance = {name: np.zeros_like(values) for name, values in parameters.items()}
        self.mean_power = self.variance_power = 1.0

    def step(self, parameters: Parameters, gradients: Gradients, rate: float) -> float:
        """Change the parameters; returns the norm of the gradient per word, before it was clipped."""
        parts = [gradients.dense[name] for name in sorted(gradients.dense)]
        parts += [gradients.sparse[name][1] for name in sorted(gradients.sparse)]
        norm = sqrt(sum(self.floats.squares(part) for part in parts)) / gradients.words
        scale = 1 / gradients.words * (self.clip / norm if norm > self.clip else 1.0)
        self.mean_power *= KEEP_MEAN
        self.variance_power *= KEEP_VARIANCE
        rate = rate * sqrt(1 - self.variance_power) / (1 - self.mean_power)
        for name, values in parameters.items():
            state = self.mean[name], self.variance[name]
            if name in SPARSE:
                rows, sums = gradients.sparse[name]
                self.floats.adam_rows(
                    values, *state, rows, sums, rate * self.table_rate, KEEP_MEAN, KEEP_VARIANCE, scale
                )
            else:
                self.floats.adam(values, *state, gradients.dense[name], rate, KEEP_MEAN, KEEP_VARIANCE, scale)
        return norm


def batch_words(options: NetworkOptions, words: int) -> int:
    """Words of an update: as many as allow the wanted number of updates, from 100 to 400."""
    if options.batch:
        return options.batch
    return max(100, min(400, words * options.epochs // max(1, options.updates)))


def batches_of(corpus: Corpus, size: int, key: int) -> list[Batch]:
    """All sentences in batches of about so many words, of like length and in random order."""
    order = shuffled(key, corpus.sentences)
    lengths = np.diff(corpus.offsets)[order]
    pool = np.cumsum(lengths) // (size * _POOL)
    order = order[np.lexsort((lengths, pool))]
    lengths = np.diff(corpus.offsets)[order]
    number = np.maximum(np.cumsum(lengths) - 1, 0) // size
    cuts = np.nonzero(np.diff(number))[0] + 1
    parts = np.split(order, cuts)
    batches = (batch_of(corpus, parts[place]) for place in shuffled(draw_key(key, 1), len(parts)))
    return [batch for batch in batches if len(batch.words)]


@dataclass(frozen=True)
class EpochReport:
    """What an epoch did: updates, steps of roll-outs, how many of them right, and their loss; scores on dev."""

    epoch: int
    updates: int
    steps: int
    right: int
    loss: float
    dev: dict[str, float] | None = None


@dataclass
class Training:
    """A network in training; epochs count from 1."""

    options: NetworkOptions
    vocabulary: Vocabulary
    parameters: Parameters
    layers: Layers
    adam: Adam
    epoch: int = 0

    @classmethod
    def begin(cls, options: NetworkOptions, vocabulary: Vocabulary) -> Training:
        layers = Layers(options, vocabulary)
        parameters = initial(options, vocabulary)
        return cls(options, vocabulary, parameters, layers, Adam(layers, parameters))

    def run_epoch(self, corpus: Corpus, shard: int = 0, words: int | None = None) -> EpochReport:
        """Go through a shard once; `words` are those of all shards, by which batches are chosen."""
        o, self.epoch = self.options, self.epoch + 1
        key = draw_key(o.seed, _ORDER, self.epoch, shard)
        batches = batches_of(corpus, batch_words(o, words or corpus.words), key)
        rollouts = self.layers.rollouts
        before = rollouts.steps, rollouts.right, rollouts.loss
        explore = o.explore if self.epoch >= o.explore_from and o.oracle != "static" else 0.0
        for number, batch in enumerate(batches):
            done = (self.epoch - 1 + number / len(batches)) / o.epochs
            rate = o.rate * (1 - done)
            update = draw_key(key, _UPDATE, number)
            gradients = self.layers.gradients(self.parameters, batch, corpus, update, explore)
            self.adam.step(self.parameters, gradients, rate)
        return EpochReport(
            self.epoch,
            len(batches),
            rollouts.steps - before[0],
            rollouts.right - before[1],
            rollouts.loss - before[2],
        )

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """All that training goes on from, as metadata and arrays of a file."""
        metadata = {
            "kind": "network-training",
            "options": self.options.to_dict(),
            "vocabulary": self.vocabulary.to_dict(),
            "epoch": self.epoch,
            "powers": [self.adam.mean_power, self.adam.variance_power],
        }
        arrays = {"form_hashes": self.vocabulary.forms, "form_counts": self.vocabulary.counts}
        for kind, values in self._parts().items():
            arrays.update({f"{kind}.{name}": array for name, array in values.items()})
        return metadata, arrays

    def _parts(self) -> dict[str, Parameters]:
        return {"value": self.parameters, "mean": self.adam.mean, "variance": self.adam.variance}

    @classmethod
    def resumed(cls, metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> Training:
        """The inverse of `state`; ModelError for anything else."""
        try:
            if metadata["kind"] != "network-training":
                raise ValueError(f"a file of the kind {metadata['kind']!r}")
            options = NetworkOptions.from_dict(metadata["options"])
            counts = arrays["form_counts"]
            vocabulary = Vocabulary.from_dict(metadata["vocabulary"], arrays["form_hashes"], counts)
            if counts.shape != vocabulary.forms.shape or counts.dtype != np.int64 or (counts < 0).any():
                raise ValueError("counts of forms")
            training = cls.begin(options, vocabulary)
            for kind, values in training._parts().items():
                for name in values:
                    found = arrays[f"{kind}.{name}"]
                    if found.shape != values[name].shape or found.dtype != np.float32:
                        raise ValueError(f"array {kind}.{name} is {found.dtype} {found.shape}")
                    if not np.isfinite(found).all() or (kind == "variance" and (found < 0).any()):
                        raise ValueError(f"array {kind}.{name} has a number that makes no sense")
                    values[name][...] = found
            powers = [float(power) for power in metadata["powers"]]
            training.adam.mean_power, training.adam.variance_power = powers
            training.epoch = int(metadata["epoch"])
            if not all(0 < power <= 1 for power in powers) or training.epoch < 0:
                raise ValueError("powers or epoch")
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"this is no state of a network's training ({error})") from error
        return training

    def mix(self, parts: Sequence[Training], weights: Sequence[float]) -> None:
        """Go on from the weighted mean of trainings that went on from this one, added up in their order.

        Powers of the optimiser are those of the part that made the most steps.
        """
        total = sum(weights)
        if len(parts) != len(weights) or not total > 0 or min(weights) < 0:
            raise OptionError("each part needs a weight, and not all can be 0")
        for kind, values in self._parts().items():
            for name in values:
                mean = np.zeros_like(values[name])
                for part, weight in zip(parts, weights, strict=True):
                    if len(parts) == 1:
                        mean[...] = part._parts()[kind][name]
                    else:
                        self.layers.floats.add_scaled(mean, part._parts()[kind][name], weight / total)
                values[name][...] = mean
        self.adam.mean_power = min(part.adam.mean_power for part in parts)
        self.adam.variance_power = min(part.adam.variance_power for part in parts)
        self.epoch = max(part.epoch for part in parts)

    def scores(self, corpus: Corpus, given: bool = False) -> dict[str, float]:
        return score(corpus, self.vocabulary, *self.layers.predict(self.parameters, corpus, given))


def score(
    corpus: Corpus, vocabulary: Vocabulary, tags: Array, heads: Array, labels: Array
) -> dict[str, float]:
    """Right words in percent, of heads, relations and tags."""
    right = heads == corpus.heads
    found = {"uas": right.mean(), "las": (right & (labels == corpus.labels)).mean()}
    for column in ("upos", "xpos", "feats"):
        places = [number for number, group in enumerate(vocabulary.groups) if group.column == column]
        if places:
            found[column] = (tags[:, places] == corpus.tags[:, places]).all(axis=1).mean()
    return {name: 100 * float(value) for name, value in found.items()}


def train(
    corpus: Corpus,
    dev: Corpus | None,
    options: NetworkOptions,
    vocabulary: Vocabulary,
    progress: Callable[[EpochReport], Any] = lambda report: None,
) -> tuple[Parameters, list[EpochReport]]:
    """The parameters of the best epoch by LAS on dev, or without dev of the last, and a report of every epoch."""
    training = Training.begin(options, vocabulary)
    best, best_score, reports = training.parameters, -1.0, []
    for _ in range(options.epochs):
        report = training.run_epoch(corpus)
        if dev is not None:
            scores = training.scores(dev)
            report = EpochReport(
                report.epoch, report.updates, report.steps, report.right, report.loss, scores
            )
            if scores["las"] > best_score:
                best_score = scores["las"]
                best = {name: values.copy() for name, values in training.parameters.items()}
        reports.append(report)
        progress(report)
    return best, reports
