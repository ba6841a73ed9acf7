"""Scores of a segmentation and its trees where the tokens may differ: the metrics of the CoNLL 2018 shared task.

Both sides must have the same characters, apart from white space. Words are aligned by their place in them; what
is counted as right is a system word whose gold word has the same tag, head, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covington.errors import DataError
from covington.evaluation.conll2018_alignment import Side, align

METRICS = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX"),
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONTENT_RELATIONS = _names(
    "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl"
    " amod conj fixed flat compound list parataxis orphan goeswith reparandum root dep"
)
FUNCTION_RELATIONS = _names("aux cop mark det clf case cc")
UNIVERSAL_FEATURES = _names(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense"
    " Aspect Voice Evident Polarity Person Polite"
)
_ROOT, _UNALIGNED = -2, -1

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Count:
    """How many there are on either side, and how many are right; counts of texts add up."""

    gold: int
    system: int
    right: int
    aligned: int | None = None  # words of the system that have a gold word

    @property
    def precision(self) -> float:
        return self.right / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.gold + self.system) if self.gold + self.system else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        return self.right / self.aligned if self.aligned else self.aligned

    def __add__(self, other: Count) -> Count:
        aligned = None if self.aligned is None or other.aligned is None else self.aligned + other.aligned
        return Count(self.gold + other.gold, self.system + other.system, self.right + other.right, aligned)


def evaluate(gold: Iterable[pa.RecordBatch], system: Iterable[pa.RecordBatch]) -> dict[str, Count]:
    """The counts of all metrics, by name."""
    sides = _Sides(_Text(gold, "the gold standard"), _Text(system, "the system"))
    return sides.counts()


class _Text:
    """One side: its words, its tokens and where they are."""

    def __init__(self, batches: Iterable[pa.RecordBatch], name: str) -> None:
        columns = ("tokens", "lemmas", "upos", "xpos", "feats", "deprel", "head", "mwt")
        tables = [pa.table(batch).select(columns) for batch in batches]
        if not tables:
            raise DataError(f"{name} has no sentences")
        self.name = name
        table = pa.concat_tables(tables).combine_chunks()
        arrays = {column: table.column(column).combine_chunks() for column in columns}
        arrays = {column: _array(array) for column, array in arrays.items()}
        lengths = np.asarray(pc.fill_null(pc.list_value_length(arrays["tokens"]), 0)).astype(np.int64)
        self.first = np.concatenate(([0], np.cumsum(lengths)))
        self.size = int(self.first[-1])
        self.strings = {column: self._values(arrays[column], lengths) for column in columns[:6]}
        self.heads = self._heads(arrays["head"], lengths)
        self._find_tokens(arrays["mwt"])

    def _values(self, lists: pa.ListArray, lengths: Numbers) -> pa.StringArray:
        """The values of all words, `_` where there is none."""
        given = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
        if (given == lengths).all():
            return pc.fill_null(lists.flatten(), "_")
        if (given[given != lengths] != 0).any():
            raise DataError(f"{self.name}: the lists of a sentence are not of the same length")
        places = np.full(self.size, -1, np.int64)
        into = np.flatnonzero(np.repeat(given > 0, lengths))
        places[into] = np.arange(len(into))
        return pc.fill_null(lists.flatten().take(pa.array(places, mask=places < 0)), "_")

    def _heads(self, lists: pa.ListArray, lengths: Numbers) -> Numbers:
        """The number of every word's head among all words, _ROOT for 0."""
        heads = lists.flatten()
        if len(heads) != self.size or heads.null_count:
            raise DataError(f"{self.name}: a word has no head; without trees there are no scores of trees")
        values = np.asarray(heads).astype(np.int64)
        if (values > np.repeat(lengths, lengths)).any():
            raise DataError(f"{self.name}: a head is outside its sentence")
        return np.where(values == 0, _ROOT, values - 1 + np.repeat(self.first[:-1], lengths))

    def _find_tokens(self, ranges: pa.ListArray) -> None:
        nodes = ranges.flatten()
        counts = np.asarray(pc.fill_null(pc.list_value_length(ranges), 0)).astype(np.int64)
        ends = pc.extract_regex(nodes.field("id"), r"^(?P<first>\d+)-(?P<last>\d+)$")
        if ends.null_count:
            raise DataError(f"{self.name}: a multiword token has an ID that is no range")
        base = np.repeat(self.first[:-1], counts)
        first = base + np.asarray(ends.field("first").cast(pa.int64())) - 1
        last = base + np.asarray(ends.field("last").cast(pa.int64()))
        if (
            len(first)
            and ((last > np.repeat(self.first[1:], counts)) | (first < base) | (last <= first)).any()
        ):
            raise DataError(f"{self.name}: a multiword token goes over the end of its sentence")
        change = np.zeros(self.size + 1, np.int64)
        np.add.at(change, first, 1)
        np.add.at(change, last, -1)
        self.shared = np.cumsum(change)[:-1] > 0
        begins = ~self.shared
        begins[first] = True
        source = np.full(self.size, -1, np.int64)
        source[first] = np.arange(len(first))
        range_forms = nodes.field("form").take(pa.array(source, mask=source < 0))
        forms = pc.coalesce(range_forms, self.strings["tokens"]).filter(pa.array(begins))
        self.surface = pc.replace_substring_regex(forms, r"\p{Zs}", "")
        sizes = np.asarray(pc.utf8_length(self.surface)).astype(np.int64)
        if (sizes == 0).any():
            raise DataError(f"{self.name}: a token has no characters")
        self.token_ends = np.cumsum(sizes)
        self.token_starts = self.token_ends - sizes
        token = np.cumsum(begins) - 1
        self.starts, self.ends = self.token_starts[token], self.token_ends[token]
        sentences = self.first[:-1][np.diff(self.first) > 0], self.first[1:][np.diff(self.first) > 0] - 1
        self.sentence_starts, self.sentence_ends = self.starts[sentences[0]], self.ends[sentences[1]]


class _Sides:
    """Both sides, their words aligned, and everything that is compared as numbers."""

    def __init__(self, gold: _Text, system: _Text) -> None:
        _require_same_characters(gold, system)
        self.gold, self.system = gold, system
        lower = self._numbers("tokens", str.lower)
        pairs = align(*(self._side(text, forms) for text, forms in zip((gold, system), lower, strict=True)))
        self.pairs = pairs[:, 0], pairs[:, 1]
        self.of_gold = np.full(system.size, _UNALIGNED, np.int64)
        self.of_gold[self.pairs[1]] = self.pairs[0]
        self.columns = {name: self._numbers(name) for name in ("upos", "xpos", "lemmas")}
        self.columns["feats"] = self._numbers("feats", _universal)
        self.columns["deprel"] = self._numbers("deprel", lambda relation: relation.split(":")[0])
        self.content = self._among(CONTENT_RELATIONS)
        self.function = self._among(FUNCTION_RELATIONS)
        heads = np.where(system.heads == _ROOT, _ROOT, self.of_gold[np.maximum(system.heads, 0)])
        self.heads = gold.heads, heads

    @staticmethod
    def _side(text: _Text, forms: Numbers) -> Side:
        return Side(text.starts, text.ends, text.shared.astype(np.uint8), forms.astype(np.int32))

    def _numbers(self, name: str, change: Callable[[str], str] | None = None) -> tuple[Numbers, Numbers]:
        """The values of a column as numbers, the same for both sides, after a change of each."""
        both = pa.chunked_array([self.gold.strings[name], self.system.strings[name]]).combine_chunks()
        encoded = _array(both).dictionary_encode()
        values = encoded.dictionary.to_pylist()
        changed = values if change is None else [change(value) for value in values]
        known = {value: number for number, value in enumerate(dict.fromkeys(changed))}
        numbers = np.array([known[value] for value in changed], np.int64)[np.asarray(encoded.indices)]
        return numbers[: self.gold.size], numbers[self.gold.size :]

    def _among(self, relations: frozenset[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        flags = []
        for text in (self.gold, self.system):
            plain = pc.replace_substring_regex(text.strings["deprel"], "(?s):.*$", "")
            flags.append(np.asarray(pc.is_in(plain, pa.array(sorted(relations)))))
        return flags[0], flags[1]

    def counts(self) -> dict[str, Count]:
        """Every metric; a word is right if all that the metric names is the same."""
        gold, system = self.gold, self.system
        same = {name: self._same(*self.columns[name]) for name in self.columns}
        no_lemma = np.asarray(pc.equal(gold.strings["lemmas"], "_"))[self.pairs[0]]
        lemma = same["lemmas"] | no_lemma
        head = self._same(*self.heads)
        arc = head & same["deprel"]
        everything = np.ones(len(self.pairs[0]), np.bool_)
        words = {
            "Words": everything,
            "UPOS": same["upos"],
            "XPOS": same["xpos"],
            "UFeats": same["feats"],
            "AllTags": same["upos"] & same["xpos"] & same["feats"],
            "Lemmas": lemma,
            "UAS": head,
            "LAS": arc,
        }
        content = {
            "CLAS": arc,
            "MLAS": arc & same["upos"] & same["feats"] & self._same_function_words(),
            "BLEX": arc & lemma,
        }
        tokens = _spans(gold.token_starts, gold.token_ends, system.token_starts, system.token_ends)
        sentences = _spans(
            gold.sentence_starts, gold.sentence_ends, system.sentence_starts, system.sentence_ends
        )
        return {
            "Tokens": tokens,
            "Sentences": sentences,
            **{
                name: Count(gold.size, system.size, int(right.sum()), None if name == "Words" else len(right))
                for name, right in words.items()
            },
            **{name: self._count_content(right) for name, right in content.items()},
        }

    def _same(self, gold: Any, system: Any) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = gold[self.pairs[0]] == system[self.pairs[1]]
        return same

    def _count_content(self, right: NDArray[np.bool_]) -> Count:
        is_content = self.content[0][self.pairs[0]]
        return Count(
            int(self.content[0].sum()),
            int(self.content[1].sum()),
            int((right & is_content).sum()),
            int(is_content.sum()),
        )

    def _same_function_words(self) -> NDArray[np.bool_]:
        """Per pair of words, whether their function words are the same, one by one, with the same tags."""
        gold_first, gold_rows = self._function_words(0)
        system_first, system_rows = self._function_words(1)
        gold_counts = np.diff(gold_first)[self.pairs[0]]
        same: NDArray[np.bool_] = gold_counts == np.diff(system_first)[self.pairs[1]]
        asked = np.flatnonzero(same & (gold_counts > 0))
        counts = gold_counts[asked]
        pair = np.repeat(asked, counts)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
        left = gold_rows[gold_first[self.pairs[0][pair]] + within]
        right = system_rows[system_first[self.pairs[1][pair]] + within]
        same[pair[(left != right).any(axis=1)]] = False
        return same

    def _function_words(self, side: int) -> tuple[Numbers, Numbers]:
        """For every word, where its function words begin in the rows of their gold word, relation and tags."""
        text = (self.gold, self.system)[side]
        words = np.flatnonzero(self.function[side] & (text.heads != _ROOT))
        words = words[np.argsort(text.heads[words], kind="stable")]
        identity = words if side == 0 else self.of_gold[words]
        rows = [identity, *(self.columns[name][side][words] for name in ("deprel", "upos", "feats"))]
        counts = np.bincount(text.heads[words], minlength=text.size)
        return np.concatenate(([0], np.cumsum(counts))), np.stack(rows, axis=1)


def _array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array, also where Arrow gives chunks of none."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
    return values


def _universal(feats: str) -> str:
    kept = sorted(feat for feat in feats.split("|") if feat.split("=")[0] in UNIVERSAL_FEATURES)
    return "|".join(kept)


def _spans(gold_starts: Numbers, gold_ends: Numbers, starts: Numbers, ends: Numbers) -> Count:
    """Spans that both sides have; those of one side do not overlap."""
    place = np.minimum(np.searchsorted(gold_starts, starts), len(gold_starts) - 1)
    right = (gold_starts[place] == starts) & (gold_ends[place] == ends)
    return Count(len(gold_starts), len(starts), int(right.sum()))


def _require_same_characters(gold: _Text, system: _Text) -> None:
    first, second = ("".join(text.surface.to_pylist()) for text in (gold, system))
    if first == second:
        return
    place = next(
        (index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )
    token = int(np.searchsorted(gold.token_ends, place, side="right"))
    sentence = int(np.searchsorted(gold.sentence_ends, place, side="right")) + 1
    raise DataError(
        f"both sides must have the same characters apart from white space: from token {token + 1}, in sentence"
        f" {sentence} of the gold standard, there is {first[place : place + 20]!r} in it and"
        f" {second[place : place + 20]!r} in the system's"
    )
