"""The network in float32: its parameters, the way forward, and the gradient of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from covington.arrays import Array
from covington.network.floats import Floats, draw_key, drop, uniform
from covington.network.options import ORACLES, NetworkOptions
from covington.network.rollouts import LABEL_DISTANCES, SLOT_COUNT, Rollouts, count_table_rows, label_rows
from covington.network.vocabulary import Corpus, Vocabulary

Parameters = dict[str, Array]
#: tables of which a batch uses few rows: only these rows are updated
SPARSE = ("forms", "subwords")
#: of each feature in the loss, where features are predicted one by one; all else counts 1
FEATURE_WEIGHT = 0.5
# what random numbers are for
_INITIAL, _WORDS, _DROP, _EXPLORE, _GIVEN = range(1, 6)


@dataclass(frozen=True)
class Batch:
    """Sentences in the order of time (see floats): longest first, all first words, all second words, and so on."""

    sentences: Array  # their numbers in the corpus
    lengths: Array
    starts: Array
    words: Array  # the word of the corpus in each row
    begins: Array
    subwords: Array


def batch_of(corpus: Corpus, sentences: Array) -> Batch:
    lengths = corpus.offsets[sentences + 1] - corpus.offsets[sentences]
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    sentences, lengths = sentences[order], lengths[order]
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    times = np.arange(total) - np.repeat(before, lengths)
    rows = np.argsort(times, kind="stable")
    word = (np.repeat(corpus.offsets[sentences], lengths) + times)[rows]
    starts = np.concatenate(([0], np.cumsum(np.bincount(times, minlength=1)))).astype(np.int64)
    counts = corpus.begins[word + 1] - corpus.begins[word]
    ends = np.cumsum(counts)
    places = np.repeat(corpus.begins[word] - (ends - counts), counts) + np.arange(int(counts.sum()))
    return Batch(
        sentences,
        lengths.astype(np.int64),
        starts if total else np.zeros(1, np.int64),
        word,
        np.concatenate(([0], ends)).astype(np.int64),
        corpus.subwords[places],
    )


def shapes(options: NetworkOptions, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter, by name."""
    o, tags, labels = options, int(vocabulary.group_ends[-1]), len(vocabulary.labels)
    gates = 8 * o.state  # of both directions
    return {
        "forms": (len(vocabulary.forms) + 1, o.form),
        "subwords": (o.buckets, o.subword),
        "first_input": (o.form + o.subword, gates),
        "first_bias": (gates,),
        "first_forward": (o.state, gates // 2),
        "first_backward": (o.state, gates // 2),
        "tag_weights": (2 * o.state, tags),
        "tag_bias": (tags,),
        "tag_table": (tags, o.tag),
        "second_input": (2 * o.state + o.tag, gates),
        "second_bias": (gates,),
        "second_forward": (o.state, gates // 2),
        "second_backward": (o.state, gates // 2),
        "bottleneck": (2 * o.state, o.bottleneck),
        "bottleneck_bias": (o.bottleneck,),
        "slots": (o.bottleneck, SLOT_COUNT * o.slot),
        "slot_tables": (count_table_rows(labels), o.slot),
        "action_weights": (4, o.slot),
        "action_bias": (4,),
        "label_parts": (o.bottleneck, 2 * o.label),
        "label_tables": (LABEL_DISTANCES, o.label),
        "label_weights": (o.label, labels),
        "label_bias": (labels,),
    }


def initial(options: NetworkOptions, vocabulary: Vocabulary) -> Parameters:
    """Random parameters, by the seed."""
    found: Parameters = {}
    for number, (name, shape) in enumerate(shapes(options, vocabulary).items()):
        values = uniform(draw_key(options.seed, _INITIAL, number), int(np.prod(shape))).reshape(shape)
        if len(shape) == 1:
            values = np.zeros(shape, np.float32)
            if name in ("first_bias", "second_bias"):  # forget gates stand open at first
                for direction in (0, 4 * options.state):
                    values[direction + options.state : direction + 2 * options.state] = 1
        else:
            limit = sqrt(6 / sum(shape))
            if name in (*SPARSE, "slot_tables", "label_tables", "tag_table"):
                limit = 0.1
            if name == "slots":
                limit = sqrt(6 / (shape[0] + options.slot)) / 2
            values = (values * np.float32(2) - np.float32(1)) * np.float32(limit)
        found[name] = values
    return found


@dataclass
class Gradients:
    """Of a batch: of whole parameters, and of rows of the sparse ones; `words` is what to divide by."""

    dense: Parameters
    sparse: dict[str, tuple[Array, Array]]
    words: int


class Layers:
    """The way forward and back through the network; for one thread."""

    def __init__(self, options: NetworkOptions, vocabulary: Vocabulary, floats: Floats | None = None) -> None:
        self.options, self.vocabulary = options, vocabulary
        self.floats = floats or Floats()
        self.rollouts = Rollouts(self.floats, ORACLES.index(options.oracle), options.target == "paper")
        self.root_label = vocabulary.labels.index(vocabulary.root_label)
        self._marks = {
            "forms": np.full(len(vocabulary.forms) + 1, -1, np.int32),
            "subwords": np.full(options.buckets, -1, np.int32),
        }
        self._weights = np.array(
            [FEATURE_WEIGHT if group.feature else 1.0 for group in vocabulary.groups], np.float32
        )
        counts = np.concatenate(([1], vocabulary.counts)).astype(np.float32)
        rate = np.float32(options.word_dropout)
        self._word_dropout = rate / (rate + counts) if rate else np.zeros(len(counts), np.float32)

    def _lstm(self, p: Parameters, layer: str, inputs: Array, starts: Array) -> tuple[Array, Array, Array]:
        """Activations of the gates, cells and states of both directions."""
        rows, width = len(inputs), self.options.state
        gates = np.repeat(p[f"{layer}_bias"][None, :], rows, axis=0)
        cells, states = np.empty((rows, 2 * width), np.float32), np.empty((rows, 2 * width), np.float32)
        self.floats.multiply(inputs, p[f"{layer}_input"], gates, add=True)
        for d, direction in enumerate(("forward", "backward")):
            part, wide = slice(d * width, (d + 1) * width), slice(4 * d * width, 4 * (d + 1) * width)
            self.floats.lstm_forward(
                gates[:, wide], p[f"{layer}_{direction}"], starts, d == 1, cells[:, part], states[:, part]
            )
        return gates, cells, states

    def _lstm_gradient(
        self,
        p: Parameters,
        g: Parameters,
        layer: str,
        inputs: Array,
        kept: tuple[Array, Array, Array],
        back: Array,
        starts: Array,
    ) -> Array:
        """The gradient of the inputs, by that of the states."""
        gates, cells, states = kept
        width, rows = self.options.state, len(inputs)
        d_gates = np.empty_like(gates)
        starting = starts[:-1]
        sizes = np.diff(starts)
        times = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(rows) - starting[times]
        for d, direction in enumerate(("forward", "backward")):
            part, wide = slice(d * width, (d + 1) * width), slice(4 * d * width, 4 * (d + 1) * width)
            name = f"{layer}_{direction}"
            self.floats.lstm_backward(
                gates[:, wide], p[name], starts, d == 1, cells[:, part], back[:, part], d_gates[:, wide]
            )
            neighbour = times + (1 if d else -1)
            inside = (neighbour >= 0) & (neighbour < len(sizes))
            neighbour = np.where(inside, neighbour, 0)
            inside &= place < sizes[neighbour]
            before = states[np.where(inside, starting[neighbour] + place, 0), part] * inside[:, None].astype(
                np.float32
            )
            g[name] = np.empty_like(p[name])
            self.floats.multiply(before.T, d_gates[:, wide], g[name])
        g[f"{layer}_input"] = np.empty_like(p[f"{layer}_input"])
        self.floats.multiply(inputs.T, d_gates, g[f"{layer}_input"])
        g[f"{layer}_bias"] = self.floats.column_sums(d_gates)
        d_inputs = np.empty_like(inputs)
        self.floats.multiply(d_gates, p[f"{layer}_input"].T, d_inputs)
        return d_inputs

    def _linear(self, p: Parameters, weights: str, inputs: Array, bias: str = "") -> Array:
        shape = len(inputs), p[weights].shape[1]
        out = np.repeat(p[bias][None, :], shape[0], axis=0) if bias else np.empty(shape, np.float32)
        self.floats.multiply(inputs, p[weights], out, add=bool(bias))
        return out

    def _linear_gradient(
        self, p: Parameters, g: Parameters, weights: str, inputs: Array, back: Array, bias: str = ""
    ) -> Array:
        g[weights] = np.empty_like(p[weights])
        self.floats.multiply(inputs.T, back, g[weights])
        if bias:
            g[bias] = self.floats.column_sums(back)
        d_inputs = np.empty(inputs.shape, np.float32)
        self.floats.multiply(back, p[weights].T, d_inputs)
        return d_inputs

    def _drop(self, key: int | None, number: int, values: Array) -> Array:
        if key is None or not self.options.dropout:
            return values
        dropped: Array = drop(draw_key(key, _DROP, number), values, round(self.options.dropout * 65536))
        return dropped

    def forward(
        self, p: Parameters, batch: Batch, corpus: Corpus, key: int | None = None, given: Array | None = None
    ) -> Any:
        """All that the layers make of a batch; with a key, as in training. `given` says whose gold tags are read."""
        o = self.options
        rows = len(batch.words)
        forms = corpus.forms[batch.words]
        if key is not None:
            draws = uniform(draw_key(key, _WORDS), rows)
            forms = np.where(draws < self._word_dropout[forms], 0, forms).astype(np.int32)
        embedded = np.empty((rows, o.form + o.subword), np.float32)
        embedded[:, : o.form] = p["forms"][forms]
        self.floats.sum_of_rows(p["subwords"], batch.begins, batch.subwords, embedded[:, o.form :])
        inputs = self._drop(key, 1, embedded)
        first = self._lstm(p, "first", inputs, batch.starts)
        read = self._drop(key, 2, first[2])
        scores = self._linear(p, "tag_weights", read, "tag_bias")
        tags = np.empty_like(scores)
        self.floats.softmax(scores, self.vocabulary.group_ends, tags)
        soft = tags
        if given is not None and given.any():
            soft = given_tags(tags, corpus.tags[batch.words], given, self.vocabulary.group_ends)
        both = np.empty((rows, 2 * o.state + o.tag), np.float32)
        both[:, : 2 * o.state] = read
        self.floats.multiply(soft, p["tag_table"], both[:, 2 * o.state :])
        second = self._lstm(p, "second", both, batch.starts)
        seen = self._drop(key, 3, second[2])
        squeezed = np.maximum(self._linear(p, "bottleneck", seen, "bottleneck_bias"), np.float32(0))
        slots = self._linear(p, "slots", squeezed)
        label_parts = self._linear(p, "label_parts", squeezed)
        return forms, inputs, first, read, tags, soft, both, second, seen, squeezed, slots, label_parts

    def _scorers(self, p: Parameters) -> None:
        names = (
            "slot_tables",
            "action_weights",
            "action_bias",
            "label_tables",
            "label_weights",
            "label_bias",
        )
        self.rollouts.set_parameters(*(p[name] for name in names))

    def gradients(
        self, p: Parameters, batch: Batch, corpus: Corpus, key: int, explore: float, trace: Any = None
    ) -> Gradients:
        """The gradient of a batch, and the roll-outs that it comes from."""
        g: Parameters = {}
        given = None
        if self.options.given:
            drawn = uniform(draw_key(key, _GIVEN), len(batch.lengths)) < np.float32(self.options.given / 100)
            sizes = np.diff(batch.starts)
            given = np.concatenate([drawn[:size] for size in sizes])
        kept = self.forward(p, batch, corpus, key, given)
        forms, inputs, first, read, tags, soft, both, second, seen, squeezed, slots, label_parts = kept
        # the tree
        self._scorers(p)
        for name in ("slot_tables", "action_weights", "action_bias", "label_tables"):
            g[name] = np.zeros_like(p[name])
        self.rollouts.set_gradients(g["slot_tables"], g["action_weights"], g["action_bias"])
        d_slots = np.zeros_like(slots)
        heads, labels = corpus.heads[batch.words], corpus.labels[batch.words]
        self.rollouts.run(
            slots, label_parts, batch.starts, batch.lengths, heads, labels, d_slots,
            draw_key(key, _EXPLORE), explore, self.root_label, trace,
        )  # fmt: skip
        d_squeezed = self._linear_gradient(p, g, "slots", squeezed, d_slots)
        d_squeezed += self._label_gradient(p, g, batch, heads, labels, label_parts, squeezed)
        d_squeezed *= squeezed > 0
        d_second = self._linear_gradient(p, g, "bottleneck", seen, d_squeezed, "bottleneck_bias")
        d_second = self._drop(key, 3, d_second)
        d_both = self._lstm_gradient(p, g, "second", both, second, d_second, batch.starts)
        # the tags
        wide = 2 * self.options.state
        d_tags = d_both[:, wide:]
        g["tag_table"] = np.empty_like(p["tag_table"])
        self.floats.multiply(soft.T, d_tags, g["tag_table"])
        d_soft = np.empty_like(soft)
        self.floats.multiply(d_tags, p["tag_table"].T, d_soft)
        if soft is not tags:
            d_soft *= (soft == tags).astype(np.float32)
        d_scores = np.empty_like(tags)
        self.floats.softmax_backward(
            tags, self.vocabulary.group_ends, corpus.tags[batch.words], self._weights, d_scores, d_soft
        )
        d_read = d_both[:, :wide] + self._linear_gradient(p, g, "tag_weights", read, d_scores, "tag_bias")
        d_inputs = self._lstm_gradient(p, g, "first", inputs, first, self._drop(key, 2, d_read), batch.starts)
        d_embedded = self._drop(key, 1, d_inputs)
        ones = np.arange(len(forms) + 1, dtype=np.int64)
        sparse = {
            "forms": self.floats.gather_gradients(
                ones, forms, d_embedded[:, : self.options.form], self._marks["forms"]
            ),
            "subwords": self.floats.gather_gradients(
                batch.begins, batch.subwords, d_embedded[:, self.options.form :], self._marks["subwords"]
            ),
        }
        return Gradients(g, sparse, len(forms))

    def _label_gradient(
        self,
        p: Parameters,
        g: Parameters,
        batch: Batch,
        heads: Array,
        labels: Array,
        parts: Array,
        squeezed: Array,
    ) -> Array:
        """Of the relations of all gold arcs but those from the root."""
        width = self.options.label
        dependents, above, distances = label_rows(batch.starts, batch.lengths, heads)
        hidden = parts[above, :width] + parts[dependents, width:] + p["label_tables"][distances]
        hidden = np.maximum(hidden, np.float32(0))
        scores = self._linear(p, "label_weights", hidden, "label_bias")
        ends = np.array([0, scores.shape[1]], np.int64)
        self.floats.softmax(scores, ends, scores)
        d_scores = np.empty_like(scores)
        gold = np.ascontiguousarray(labels[dependents][:, None])
        self.floats.softmax_backward(scores, ends, gold, np.ones(1, np.float32), d_scores)
        d_hidden = self._linear_gradient(p, g, "label_weights", hidden, d_scores, "label_bias") * (hidden > 0)
        d_parts = np.zeros_like(parts)
        self.floats.add_rows(d_parts[:, :width], above, d_hidden)
        self.floats.add_rows(d_parts[:, width:], dependents, d_hidden)
        self.floats.add_rows(g["label_tables"], distances, d_hidden)
        return self._linear_gradient(p, g, "label_parts", squeezed, d_parts)

    def predict(
        self, p: Parameters, corpus: Corpus, given: bool = False, words: int = 2000
    ) -> tuple[Array, Array, Array]:
        """The likeliest tags by group, heads and relations of every word of a corpus."""
        ends = self.vocabulary.group_ends
        tags = np.empty((corpus.words, len(ends) - 1), np.int32)
        heads, labels = np.zeros(corpus.words, np.int32), np.full(corpus.words, -1, np.int32)
        self._scorers(p)
        lengths = np.diff(corpus.offsets)
        order = np.argsort(lengths, kind="stable")
        cuts = np.searchsorted(np.cumsum(lengths[order]), np.arange(words, corpus.words, words))
        for sentences in np.split(order, np.unique(cuts)):
            batch = batch_of(corpus, sentences)
            if not len(batch.words):
                continue
            told = np.full(len(batch.words), given)
            kept = self.forward(p, batch, corpus, given=told)
            for group in range(len(ends) - 1):
                tags[batch.words, group] = kept[5][:, ends[group] : ends[group + 1]].argmax(axis=1)
            found = np.zeros((2, len(batch.words)), np.int32)
            self.rollouts.run(
                kept[-2],
                kept[-1],
                batch.starts,
                batch.lengths,
                found[0],
                found[1],
                root_label=self.root_label,
            )
            heads[batch.words], labels[batch.words] = found
        return tags, heads, labels


def given_tags(tags: Array, gold: Array, given: Array, ends: Array) -> Array:
    """The probabilities of tags, but where gold tags are known and given, these."""
    soft: Array = tags.copy()
    for group in range(len(ends) - 1):
        known = np.nonzero(given & (gold[:, group] >= 0))[0]
        soft[known, ends[group] : ends[group + 1]] = 0
        soft[known, ends[group] + gold[known, group]] = 1
    return soft
