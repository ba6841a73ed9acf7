"""Attachment scores and their breakdowns as counts that add up, however the corpus is split.

The scores, in percent:

UAS, LAS        words with the right head; with the right head and the right label. All words count,
                punctuation too, as in the paper's tables; `without_punctuation` leaves out the words
                whose gold UPOS is PUNCT. Labels are compared whole, `nmod:poss` is not `nmod`.
label accuracy  words with the right label, whatever the head.
CLAS            F1 of labelled attachment over content words (CONTENT_RELATIONS: no function words,
                no punctuation).
exact match     sentences without any wrong head or label (unlabelled: without any wrong head).
conll18         UAS, LAS and CLAS as the CoNLL 2018 shared task defines them: all words count,
                punctuation included (CLAS excepted), and subtypes of labels are cut off, so that
                `nmod:poss` is `nmod`. UAS is the same as ours, LAS and CLAS are at least ours.
                On the same words its F1 is plain accuracy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from covington.arrow.arrays import repeated, to_numpy
from covington.corpus.columns import heads_of, strings, word_counts
from covington.corpus.locations import data_error, located
from covington.errors import DataError
from covington.evaluation.tree_shape import BoolArray, IntArray, depth, projective, starts

CONTENT_RELATIONS = {
    *("nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl"),
    *("advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound"),
    *("list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep"),
}

LONGEST_ARC = 50  # the last bins of the fine curves hold everything beyond
DEEPEST = 20
LONGEST_SENTENCE = 100
SENTENCE_STEP = 5

#: Coarse bins, the last of which is the paper's: more than 7. Arcs from the root are apart.
ARC_LENGTH_GROUPS = {
    "root": range(0, 1),
    "1": range(1, 2),
    "2": range(2, 3),
    "3": range(3, 4),
    "4–6": range(4, 7),
    "7": range(7, 8),
    ">7": range(8, LONGEST_ARC + 1),
}

# Rows and columns of the arrays below.
ALL, NO_PUNCTUATION = 0, 1
WORDS, HEADS, LABELS, BOTH, UNIVERSAL, SENTENCES, EXACT_HEADS, EXACT = range(8)
GOLD, GOLD_HEAD, GOLD_BOTH, SYSTEM, SYSTEM_HEAD, SYSTEM_BOTH = range(6)


@dataclass(frozen=True)
class Breakdown:
    """Arcs by a property: gold arcs and those of them found, system arcs and those of them right."""

    keys: tuple[str, ...]
    counts: IntArray  # one row per key; GOLD, GOLD_HEAD, GOLD_BOTH, SYSTEM, SYSTEM_HEAD, SYSTEM_BOTH

    def __add__(self, other: Breakdown) -> Breakdown:
        if self.keys == other.keys:
            return Breakdown(self.keys, self.counts + other.counts)
        keys = tuple(sorted({*self.keys, *other.keys}))
        index = {key: row for row, key in enumerate(keys)}
        counts = np.zeros((len(keys), 6), np.int64)
        for part in (self, other):
            counts[[index[key] for key in part.keys]] += part.counts
        return Breakdown(keys, counts)

    def grouped(self, groups: dict[str, range]) -> Breakdown:
        """Coarser bins, for properties whose rows are numbers from 0."""
        return Breakdown(
            tuple(groups),
            np.array([self.counts[rows.start : rows.stop].sum(axis=0) for rows in groups.values()]),
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dict per key that occurs, scores in percent (None where there is nothing to divide by)."""
        return [
            {
                "key": key,
                "gold": int(row[GOLD]),
                "system": int(row[SYSTEM]),
                "precision": percent(row[SYSTEM_HEAD], row[SYSTEM]),
                "recall": percent(row[GOLD_HEAD], row[GOLD]),
                "labelled_precision": percent(row[SYSTEM_BOTH], row[SYSTEM]),
                "labelled_recall": percent(row[GOLD_BOTH], row[GOLD]),
            }
            for key, row in zip(self.keys, self.counts, strict=True)
            if row[GOLD] or row[SYSTEM]
        ]


def _numbered(size: int) -> Breakdown:
    return Breakdown(tuple(map(str, range(size))), np.zeros((size, 6), np.int64))


def _named() -> Breakdown:
    return Breakdown((), np.zeros((0, 6), np.int64))


@dataclass(frozen=True)
class Counts:
    """Everything the scores are made of; `+` merges, `Counts()` is zero."""

    attachment: IntArray = field(default_factory=lambda: np.zeros((2, 8), np.int64))
    content: IntArray = field(
        default_factory=lambda: np.zeros(4, np.int64)
    )  # gold, system, right, right in CoNLL 2018
    roots: IntArray = field(default_factory=lambda: np.zeros(3, np.int64))  # gold, system, both
    arc_length: Breakdown = field(default_factory=lambda: _numbered(LONGEST_ARC + 1))  # 0: from the root
    root_distance: Breakdown = field(default_factory=lambda: _numbered(DEEPEST + 1))  # 0: not under the root
    sentence_length: Breakdown = field(
        default_factory=lambda: _numbered(LONGEST_SENTENCE // SENTENCE_STEP + 1)
    )  # bin b: up to SENTENCE_STEP * (b + 1) words
    sentences_by_length: IntArray = field(
        default_factory=lambda: np.zeros(LONGEST_SENTENCE // SENTENCE_STEP + 1, np.int64)
    )
    projectivity: Breakdown = field(
        default_factory=lambda: Breakdown(("projective", "non-projective"), np.zeros((2, 6), np.int64))
    )
    relation: Breakdown = field(default_factory=_named)
    upos: Breakdown = field(default_factory=_named)
    label_confusions: Counter[tuple[str, ...]] = field(default_factory=Counter)  # gold label, system label
    head_confusions: Counter[tuple[str, ...]] = field(
        default_factory=Counter
    )  # UPOS of word, gold head, system head

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @staticmethod
    def sum(parts: Iterable[Counts]) -> Counts:
        return reduce(Counts.__add__, parts, Counts())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; `from_dict` gives the counts back."""
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)}

    @property
    def words(self) -> int:
        return int(self.attachment[ALL][WORDS])

    @property
    def attachment_scores(self) -> dict[str, float]:
        """UAS and LAS of all words, of which there must be some, in percent."""
        row = self.attachment[ALL]
        columns = {"uas": HEADS, "las": BOTH}
        return {name: 100.0 * float(row[column]) / float(row[WORDS]) for name, column in columns.items()}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Counts:
        zero = Counts()
        return Counts(
            **{part.name: _rich(getattr(zero, part.name), values[part.name]) for part in fields(zero)}
        )


def _plain(value: object) -> Any:
    if isinstance(value, Breakdown):
        return {"keys": list(value.keys), "counts": value.counts.tolist()}
    if isinstance(value, Counter):
        return [[list(pair), count] for pair, count in sorted(value.items())]
    assert isinstance(value, np.ndarray)
    return value.tolist()


def _rich(zero: object, value: Any) -> Any:
    if isinstance(zero, Breakdown):
        counts = np.array(value["counts"], np.int64).reshape(len(value["keys"]), 6)
        return Breakdown(tuple(value["keys"]), counts)
    if isinstance(zero, Counter):
        return Counter({tuple(pair): count for pair, count in value})
    return np.array(value, np.int64)


def percent(part: float, whole: float) -> float | None:
    """`part` of `whole` in percent, None when there is no whole."""
    return 100.0 * float(part) / float(whole) if whole else None


def count(gold: pa.RecordBatch, system: pa.RecordBatch) -> Counts:
    """Compare two aligned batches (see covington.evaluation.alignment.align)."""
    lengths = word_counts(gold)
    heads = [_heads(batch, lengths, known) for batch, known in ((gold, True), (system, False))]
    codes, labels = _encode([_words(batch, "deprel", lengths) for batch in (gold, system)])
    (tags,), upos = _encode([_words(gold, "upos", lengths)])
    right_head = heads[0] == heads[1]
    both = right_head & (codes[0] == codes[1])
    base = [label.split(":", 1)[0] for label in labels]
    base_code = np.unique(base, return_inverse=True)[1].reshape(-1) if base else np.zeros(0, np.int64)
    universal = right_head & (base_code[codes[0]] == base_code[codes[1]])
    right = right_head, both
    content = np.array([label in CONTENT_RELATIONS for label in base], np.bool_)
    is_content = content[codes[0]], content[codes[1]]
    words = np.ones(len(right_head), np.bool_)
    spoken = np.array([tag != "PUNCT" for tag in upos], np.bool_)[tags]
    facts = (words, right_head, codes[0] == codes[1], both, universal)
    arcs = heads[0] >= 0, (heads[1] >= 0) & (heads[1] != _numbers(lengths))
    length_bins = [np.minimum(_arc_lengths(head, lengths), LONGEST_ARC) for head in heads]
    depths = [np.minimum(depth(head, lengths), DEEPEST) for head in heads]
    if (depths[0] == 0).any():
        raise _bad(gold, lengths, depths[0] == 0, "the gold tree has a cycle")
    crossing = [(~projective(head, lengths)).astype(np.int64) for head in heads]
    sentence_bins = np.minimum((lengths - 1) // SENTENCE_STEP, LONGEST_SENTENCE // SENTENCE_STEP)
    sentence_bin = np.repeat(sentence_bins, lengths)
    zero = Counts()
    return Counts(
        np.array([_attachment(facts, lengths, chosen) for chosen in (words, spoken)]),
        np.array(
            [_n(is_content[0]), _n(is_content[1]), _n(both & is_content[0]), _n(universal & is_content[0])]
        ),
        np.array([_n(heads[0] == 0), _n(heads[1] == 0), _n(right_head & (heads[0] == 0))]),
        _break_down(zero.arc_length.keys, length_bins, right, arcs),
        _break_down(zero.root_distance.keys, depths, right),
        _break_down(zero.sentence_length.keys, [sentence_bin, sentence_bin], right),
        np.bincount(sentence_bins[lengths > 0], minlength=len(zero.sentences_by_length)),
        _break_down(zero.projectivity.keys, crossing, right, arcs),
        _break_down(tuple(labels), codes, right),
        _break_down(tuple(upos), [tags, tags], right),
        _confusions(codes[0] != codes[1], [(labels, codes[0]), (labels, codes[1])]),
        _head_confusions(heads, lengths, upos, tags),
    )


def sentence_scores(gold: pa.RecordBatch, system: pa.RecordBatch) -> IntArray:
    """Per sentence: words, words with the right head, with the right head and label; for significance."""
    lengths = word_counts(gold)
    heads = [_heads(batch, lengths, known) for batch, known in ((gold, True), (system, False))]
    codes, _ = _encode([_words(batch, "deprel", lengths) for batch in (gold, system)])
    right = heads[0] == heads[1]
    both = right & (codes[0] == codes[1])
    return np.stack([lengths, _per_sentence(right, lengths), _per_sentence(both, lengths)], axis=1)


def _words(batch: pa.RecordBatch, name: str, lengths: IntArray) -> pa.Array:
    """One string per word, `_` where there is none."""
    found = strings(batch, name, lengths)
    return repeated("_", int(lengths.sum())) if found is None else found.fill_null("_")


def _heads(batch: pa.RecordBatch, lengths: IntArray, known: bool) -> IntArray:
    """Heads as numbers; a missing one is −1, and an error where it must be known."""
    head: IntArray = heads_of(batch, lengths).astype(np.int64)
    if known and (head < 0).any():
        raise _bad(batch, lengths, head < 0, "a word has no head, so this cannot serve as gold")
    outside = head > np.repeat(lengths, lengths)
    if outside.any():
        raise _bad(batch, lengths, outside, "a head is beyond the end of the sentence")
    return head


def _bad(batch: pa.RecordBatch, lengths: IntArray, wrong: BoolArray, reason: str) -> DataError:
    return data_error(batch, located(lengths, int(wrong.argmax()))[0], reason)


def _encode(columns: list[pa.Array]) -> tuple[list[IntArray], list[str]]:
    """Strings of several columns as numbers of one sorted dictionary."""
    encoded = pa.concat_arrays(columns).dictionary_encode()
    names: list[str] = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.zeros(max(len(names), 1), np.int64)
    rank[order] = np.arange(len(order))
    codes = rank[to_numpy(encoded.indices, 0)]
    cuts = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(codes, cuts), [names[place] for place in order]


def _n(chosen: BoolArray) -> int:
    return int(np.count_nonzero(chosen))


def _per_sentence(chosen: BoolArray, lengths: IntArray) -> IntArray:
    running = np.concatenate(([0], np.cumsum(chosen)))
    first = starts(lengths)
    found: IntArray = running[first + lengths] - running[first]
    return found


def _attachment(facts: tuple[BoolArray, ...], lengths: IntArray, chosen: BoolArray) -> list[int]:
    """One row of Counts.attachment, for the chosen words and the sentences that have any."""
    counted = _per_sentence(chosen, lengths)
    exact = [
        _n((_per_sentence(fact & chosen, lengths) == counted) & (counted > 0))
        for fact in (facts[1], facts[3])
    ]
    return [*(_n(fact & chosen) for fact in facts), _n(counted > 0), *exact]


def _numbers(lengths: IntArray) -> IntArray:
    """The number of every word in its sentence."""
    numbers: IntArray = np.arange(int(lengths.sum())) - np.repeat(starts(lengths), lengths) + 1
    return numbers


def _arc_lengths(head: IntArray, lengths: IntArray) -> IntArray:
    return np.where(head > 0, np.abs(head - _numbers(lengths)), 0)


def _break_down(
    keys: tuple[str, ...],
    bins: list[IntArray],
    right: tuple[BoolArray, BoolArray],
    there: tuple[BoolArray, BoolArray] | None = None,
) -> Breakdown:
    """Counts by bin, of gold and of the system; `there` says which words have what is counted, if not all do."""
    everywhere = np.ones(len(bins[0]), np.bool_)
    sides = zip(bins, there or (everywhere, everywhere), strict=True)
    chosen = [(side, has & mask) for side, has in sides for mask in (everywhere, *right)]
    counts = [np.bincount(side[mask], minlength=len(keys)) for side, mask in chosen]
    return Breakdown(keys, np.stack(counts, axis=1).astype(np.int64))


def _confusions(chosen: BoolArray, columns: list[tuple[list[str], IntArray]]) -> Counter[tuple[str, ...]]:
    """How often each combination of names occurs among the chosen words."""
    key = np.zeros(_n(chosen), np.int64)
    for names, codes in columns:
        key = key * len(names) + codes[chosen]
    found: Counter[tuple[str, ...]] = Counter()
    for value, times in zip(*(part.tolist() for part in np.unique(key, return_counts=True)), strict=True):
        parts = []
        for names, _ in reversed(columns):
            value, code = divmod(value, len(names))
            parts.append(names[code])
        found[tuple(reversed(parts))] += times  # a tag may be called ROOT
    return found


def _head_confusions(
    heads: list[IntArray], lengths: IntArray, upos: list[str], tags: IntArray
) -> Counter[tuple[str, ...]]:
    """UPOS of the word, of its gold head and of the head it was given, where the two heads differ."""
    first = np.repeat(starts(lengths), lengths)
    names = [*upos, "ROOT", "none"]
    padded = np.append(tags, [len(upos), len(upos) + 1])
    given = [
        padded[np.where(head > 0, first + head - 1, np.where(head == 0, len(tags), len(tags) + 1))]
        for head in heads
    ]
    return _confusions(heads[0] != heads[1], [(upos, tags), (names, given[0]), (names, given[1])])
