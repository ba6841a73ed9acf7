"""Training of the network: batches, the optimiser, epochs, and the best of them on a development set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from covington.arrays import Array
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

    def run_epoch(self, corpus: Corpus, shard: int = 0) -> EpochReport:
        """Go through a shard once."""
        o, self.epoch = self.options, self.epoch + 1
        key = draw_key(o.seed, _ORDER, self.epoch, shard)
        batches = batches_of(corpus, batch_words(o, corpus.words), key)
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
