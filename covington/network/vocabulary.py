"""What a network knows by name: forms, tags, features and relations; and training sentences as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow.arrays import Array, to_numpy
from covington.arrow.arrays import strings as string_array
from covington.corpus.columns import heads_of, strings, word_counts
from covington.corpus.locations import data_error, located
from covington.errors import DataError
from covington.features.sentences import first_bad_tree
from covington.network import words

MIN_COUNT = 2  # forms seen less often are read by their subwords only
MAX_FORMS = 100_000
MAX_TAGS = 512  # of a column; the rarest others are not predicted
MAX_ALL_TAGS = 2048  # of all columns
MAX_LABELS = 4096
MAX_NEW_TEXTS = 0.006  # FEATS are predicted as whole texts where no more of the words have one of their own
_NOTHING = pa.nulls(0, pa.string())


@dataclass(frozen=True)
class Group:
    """Tags of which a word has one: those of a column, or the values of one feature.

    FEATS are one group, of whole texts, where nearly all texts are common, and else one for each feature; the first
    value is none.
    """

    column: str
    feature: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Names by their numbers; `forms` are hashes of lower-cased forms, the first has number 1."""

    forms: Array  # uint64
    counts: Array  # of the forms in the training data; int64
    groups: tuple[Group, ...]
    labels: tuple[str, ...]
    root_label: str

    @cached_property
    def table(self) -> words.FormTable:
        return words.FormTable(self.forms)

    @cached_property
    def group_ends(self) -> Array:
        """Where each group begins among all tags, and the last one ends."""
        return np.cumsum([0, *(len(group.values) for group in self.groups)], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """All but the forms, as plain JSON."""
        return {
            "groups": [[group.column, group.feature, list(group.values)] for group in self.groups],
            "labels": list(self.labels),
            "root_label": self.root_label,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], forms: Array, counts: Array | None = None) -> Vocabulary:
        groups = tuple(
            Group(_name(c), _name(f), tuple(_name(v) for v in vs)) for c, f, vs in values["groups"]
        )
        labels = tuple(_name(label) for label in values["labels"])
        root_label = _name(values["root_label"])
        if any(group.column not in ("upos", "xpos", "feats") or not group.values for group in groups):
            raise ValueError("a group of tags for no column, or without tags")
        if not 1 <= len(labels) <= MAX_LABELS or root_label not in labels:
            raise ValueError("the relations make no sense")
        if forms.dtype != np.uint64 or forms.ndim != 1:
            raise ValueError("forms are hashes")
        return cls(
            forms, np.zeros(len(forms), np.int64) if counts is None else counts, groups, labels, root_label
        )


def _name(text: object) -> str:
    if not isinstance(text, str) or set(text) & set("\t\n\r"):
        raise ValueError(f"{text!r} is no name of a tag")
    text.encode()  # no half characters
    return text


@dataclass
class Survey:
    """What training data holds, to be known before the first epoch; surveys of parts add up."""

    forms: Counter[int] = field(default_factory=Counter)
    tags: dict[str, Counter[str]] = field(
        default_factory=lambda: {c: Counter() for c in ("upos", "xpos", "feats")}
    )
    labels: Counter[str] = field(default_factory=Counter)
    root_labels: Counter[str] = field(default_factory=Counter)
    sentences: int = 0
    words: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        lengths = word_counts(batch)
        found, times = np.unique(words.hash_forms(_column(batch, "tokens", lengths)), return_counts=True)
        self.forms.update(dict(zip(found.tolist(), times.tolist(), strict=True)))
        for name, counter in self.tags.items():
            _count(_column(batch, name, lengths), counter)
        relations = _column(batch, "deprel", lengths)
        _count(relations, self.labels)
        at_root = heads_of(batch, lengths) == 0
        if len(relations):
            _count(relations.filter(pa.array(at_root)), self.root_labels)
        self.sentences += batch.num_rows
        self.words += int(lengths.sum())

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            self.forms + other.forms,
            {name: self.tags[name] + other.tags[name] for name in self.tags},
            self.labels + other.labels,
            self.root_labels + other.root_labels,
            self.sentences + other.sentences,
            self.words + other.words,
        )

    @property
    def many_roots(self) -> bool:
        """Whether sentences with several roots are more than slips of the annotators, one in a hundred."""
        return sum(self.root_labels.values()) > 1.01 * self.sentences

    def vocabulary(self) -> Vocabulary:
        """The names of all that is common enough, common ones first."""
        if not self.labels:
            raise DataError("there are no trees with relations (column 'deprel') to learn from")
        if len(self.labels) > MAX_LABELS:
            raise DataError(f"{len(self.labels)} relations are too many; at most {MAX_LABELS} can be learnt")
        known = [(form, count) for form, count in self.forms.items() if count >= MIN_COUNT]
        known = sorted(known, key=lambda item: (-item[1], item[0]))[:MAX_FORMS]
        groups = [
            Group(column, "", tuple(_common(self.tags[column])[:MAX_TAGS]))
            for column in ("upos", "xpos")
            if self.tags[column]
        ]
        groups += self._features()
        if not groups:
            raise DataError("there are no tags (columns 'upos', 'xpos', 'feats') to learn from")
        if sum(len(group.values) for group in groups) > MAX_ALL_TAGS:
            raise DataError(f"there are more than {MAX_ALL_TAGS} tags and values of features to learn")
        roots = self.root_labels or self.labels
        return Vocabulary(
            np.array([form for form, _ in known], np.uint64),
            np.array([count for _, count in known], np.int64),
            tuple(groups),
            tuple(_common(self.labels)),
            min(roots, key=lambda label: (-roots[label], label)),
        )

    def _features(self) -> list[Group]:
        texts = self.tags["feats"]
        once = sum(count == 1 for count in texts.values())  # about as many as new words will have new texts
        if texts and once <= MAX_NEW_TEXTS * self.words and len(texts) < MAX_TAGS:
            return [Group("feats", "", ("", *_common(texts)))]
        features: dict[str, Counter[str]] = {}
        for text, count in texts.items():
            for feature, value in _features(text):
                features.setdefault(feature, Counter())[value] += count
        return [
            Group("feats", name, ("", *_common(features[name])[: MAX_TAGS - 1]))
            for name in sorted(features, key=str.lower)
        ]


def _common(counter: Counter[str]) -> list[str]:
    return sorted(counter, key=lambda name: (-counter[name], name))


def _count(values: pa.StringArray, counter: Counter[str]) -> None:
    for row in values.drop_null().value_counts().to_pylist():
        counter[row["values"]] += row["counts"]


def _features(text: str) -> list[tuple[str, str]]:
    """Names and values; what has no value is left out."""
    pairs = (part.partition("=") for part in text.split("|"))
    return [(name, value) for name, _, value in pairs if name and value]


def _column(batch: pa.RecordBatch, name: str, lengths: Array) -> pa.StringArray:
    """One string per word, or none at all where the batch has no such column or nothing in it."""
    found = strings(batch, name, lengths)
    return _NOTHING if found is None else found


@dataclass(frozen=True)
class Corpus:
    """Sentences as numbers: what the network reads and, to learn from, gold tags and trees."""

    offsets: Array  # int64; where each sentence begins, and the last one ends
    forms: Array  # int32
    begins: Array  # int64; where the subwords of each word begin, and the last one's end
    subwords: Array  # int32
    tags: Array  # int32 [words, groups], -1 for unknown
    heads: Array  # int32
    labels: Array  # int32

    @property
    def sentences(self) -> int:
        return len(self.offsets) - 1

    @property
    def words(self) -> int:
        return int(self.offsets[-1])


def encode(
    batches: Iterable[pa.RecordBatch], vocabulary: Vocabulary, buckets: int, known: bool = True
) -> Corpus:
    """Sentences as numbers; DataError for what is not a tree, or has relations that are not known, if all must be."""
    parts = [_encode(batch, vocabulary, buckets, known) for batch in batches]
    lengths = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    counts = [np.zeros(1, np.int64), *(np.diff(part[2]) for part in parts)]
    empty = np.zeros(0, np.int32)
    return Corpus(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([empty, *(part[1] for part in parts)]),
        np.cumsum(np.concatenate(counts)).astype(np.int64),
        np.concatenate([empty, *(part[3] for part in parts)]),
        np.concatenate([np.zeros((0, len(vocabulary.groups)), np.int32), *(part[4] for part in parts)]),
        np.concatenate([empty, *(part[5] for part in parts)]),
        np.concatenate([empty, *(part[6] for part in parts)]),
    )


def _encode(batch: pa.RecordBatch, vocabulary: Vocabulary, buckets: int, known: bool) -> tuple[Any, ...]:
    lengths = word_counts(batch)
    total = int(lengths.sum())
    forms, begins, subwords = words.encode(_column(batch, "tokens", lengths), vocabulary.table, buckets)
    tags = gold_tags(batch, lengths, vocabulary)
    heads = heads_of(batch, lengths).astype(np.int32)
    bad = first_bad_tree(np.concatenate(([0], np.cumsum(lengths))), heads)
    if bad is not None:
        sentence, word, reason = bad
        raise data_error(batch, sentence, f"not a tree: the head of word {word} is {reason} (column 'head')")
    labels = _numbered(_column(batch, "deprel", lengths), vocabulary.labels, total)
    if known and (labels < 0).any():
        sentence, word = located(lengths, int((labels < 0).argmax()))
        raise data_error(batch, sentence, f"word {word} has no relation that was surveyed (column 'deprel')")
    return lengths, forms, begins, subwords, tags, heads, labels


def gold_tags(batch: pa.RecordBatch, lengths: Array, vocabulary: Vocabulary, sure: bool = True) -> Array:
    """The tags that the batch has, by group; -1 where there is none or the vocabulary does not know it.

    A word without FEATS has no features; unless that is sure, only in a sentence where another word has some.
    """
    total = int(lengths.sum())
    tags = np.full((total, len(vocabulary.groups)), -1, np.int32)
    feats = _column(batch, "feats", lengths)
    for number, group in enumerate(vocabulary.groups):
        if group.column != "feats":
            tags[:, number] = _numbered(_column(batch, group.column, lengths), group.values, total)
    places = [number for number, group in enumerate(vocabulary.groups) if group.column == "feats"]
    if len(feats) and places:
        texts = feats.dictionary_encode()
        known = np.full((len(texts.dictionary) + 1, len(places)), 0, np.int32)
        values = [{value: k for k, value in enumerate(vocabulary.groups[place].values)} for place in places]
        names = [vocabulary.groups[place].feature for place in places]
        for row, text in enumerate(texts.dictionary.to_pylist()):
            found = dict(_features(text))
            read = [found.get(name, "") if name else text for name in names]
            known[row] = [ks.get(value, -1) for value, ks in zip(read, values, strict=True)]
        numbers = to_numpy(texts.indices, len(known) - 1)
        tags[:, places] = known[numbers]
        if not sure:
            ends = np.concatenate(([0], np.cumsum(numbers < len(known) - 1)))
            offsets = np.concatenate(([0], np.cumsum(lengths)))
            bare = ends[offsets[1:]] == ends[offsets[:-1]]
            rows = np.nonzero(np.repeat(bare, lengths))[0]
            tags[rows[:, None], np.array(places)] = -1
    return tags


def _numbered(values: pa.StringArray, names: tuple[str, ...], total: int) -> Array:
    """The place of each value among the names, -1 for none."""
    if not len(values):
        return np.full(total, -1, np.int32)
    found = pc.index_in(values, value_set=string_array(names))
    return to_numpy(found, -1).astype(np.int32)
