"""Learns a lemmatiser from gold sentences: scripts, the perceptron that chooses among them, and exceptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covington.arrow.arrays import strings
from covington.errors import DataError, OptionError
from covington.lemmas.learner import Learner, tag_hashes
from covington.lemmas.lemmatiser import FORMAT
from covington.lemmas.model import Core
from covington.lemmas.scripts import IDENTITY, MAX_FORM, Script, script_of

_MAX_SCRIPTS = 32_768
_TAGS = ("feats", "xpos")

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class LemmaOptions:
    """How a lemmatiser is learnt; `tags` are the columns that it reads beside `upos`."""

    seed: int = 1
    epochs: int = 10
    tags: tuple[str, ...] = ("feats",)

    def __post_init__(self) -> None:
        if not 1 <= self.epochs <= 1000:
            raise OptionError(f"epochs must be 1 to 1000, not {self.epochs}")
        if not set(self.tags) <= set(_TAGS):
            raise OptionError(f"tags must be among {', '.join(_TAGS)}, not {', '.join(self.tags)}")


class _Word(NamedTuple):
    form: str
    upos: str
    xpos: str
    feats: str


def learn_lemmatiser(
    sentences: Iterable[pa.RecordBatch], options: LemmaOptions | None = None
) -> tuple[dict[str, Any], Arrays]:
    """Metadata and arrays of a lemmatiser."""
    options = options or LemmaOptions()
    words = _counted(sentences, options.tags)
    ordered = sorted(words)
    lemmas = [min((-count, lemma) for lemma, count in words[word].items())[1] for word in ordered]
    counts = np.array([sum(words[word].values()) for word in ordered], np.int64)
    gold, scripts = _numbered(ordered, lemmas)
    metadata: dict[str, Any] = {
        "format": FORMAT,
        "tags": [name for name in _TAGS[::-1] if name in options.tags],
        "options": asdict(options) | {"tags": list(options.tags)},
    }
    arrays = _script_arrays(scripts) | _no_weights() | _table("exception", {})
    columns = [[getattr(word, name) for word in ordered] for name in ("upos", *metadata["tags"])]
    tag, tags = tag_hashes(_nullable(columns[0]), [_nullable(column) for column in columns[1:]])
    forms = strings([word.form for word in ordered])
    arrays |= _weights(Learner(Core(metadata, arrays), forms, tag, tags), gold, options)
    exceptions: dict[int, int] = {}
    for with_all_tags in (False, True):
        learner = Learner(Core(metadata, arrays), forms, tag, tags)
        exceptions |= _exceptions(learner.exact_keys(with_all_tags), learner.choices(), gold, counts)
        arrays |= _table("exception", exceptions)
    return metadata, arrays


def _counted(sentences: Iterable[pa.RecordBatch], tags: tuple[str, ...]) -> dict[_Word, Counter[str]]:
    """How often each word had which lemma; columns that are not read are left empty."""
    words: dict[_Word, Counter[str]] = defaultdict(Counter)
    for batch in sentences:
        values = [batch.column(name).flatten().to_pylist() for name in ("tokens", "lemmas")]
        values += [_column(batch, name, len(values[0])) for name in ("upos", "xpos", "feats")]
        if len(values[1]) != len(values[0]):
            continue
        for form, lemma, upos, xpos, feats in zip(*values, strict=True):
            if lemma and len(form.encode()) <= MAX_FORM and len(lemma.encode()) <= MAX_FORM // 2:
                word = _Word(form, upos, xpos if "xpos" in tags else "", feats if "feats" in tags else "")
                words[word][lemma] += 1
    if not words:
        raise DataError("no word has a lemma: there is nothing to learn a lemmatiser from")
    return words


def _column(batch: pa.RecordBatch, name: str, length: int) -> list[str]:
    values = batch.column(name).flatten().to_pylist()
    return [value or "" for value in values] if len(values) == length else [""] * length


def _nullable(values: list[str]) -> pa.StringArray:
    return pa.array([value or None for value in values], pa.string())


def _numbered(words: list[_Word], lemmas: list[str]) -> tuple[NDArray[np.int32], list[Script]]:
    """The script of every word, and all scripts, the frequent ones first after the one that changes nothing."""
    known = {
        pair: script_of(*pair)
        for pair in {(word.form, lemma) for word, lemma in zip(words, lemmas, strict=True)}
    }
    found = [known[word.form, lemma] for word, lemma in zip(words, lemmas, strict=True)]
    counts = Counter(found)
    counts.pop(IDENTITY, None)
    scripts = [IDENTITY, *sorted(counts, key=lambda script: (-counts[script], script))][:_MAX_SCRIPTS]
    numbers = {script: number for number, script in enumerate(scripts)}
    return np.array([numbers.get(script, 0) for script in found], np.int32), scripts


def _script_arrays(scripts: list[Script]) -> Arrays:
    rows, literals = [], bytearray()
    for script in scripts:
        row = [script.case, len(literals)]
        for text in script[1:]:
            literals += text.encode()
            row.append(len(literals))
        rows.append(row)
    rows[0] = [0] * 6
    return {"scripts": np.array(rows, np.int32), "literals": np.frombuffer(bytes(literals), np.uint8)}


def _no_weights() -> Arrays:
    return {
        **_table("feature", {}),
        "row_starts": np.zeros(2, np.int32),
        "entry_scripts": np.zeros(0, np.uint16),
        "entry_weights": np.zeros(0, np.int16),
    }


def _table(name: str, entries: dict[int, int]) -> Arrays:
    """An open-addressed table that is at most half full; a key's upper half is its place, its lower half its mark."""
    size = 2
    while size < 2 * len(entries) + 2:
        size *= 2
    keys, values = [0] * size, [0] * size
    for key, value in sorted(entries.items()):
        place = key >> 32 & (size - 1)
        while keys[place]:
            place = (place + 1) & (size - 1)
        keys[place], values[place] = key & 0xFFFFFFFF or 1, value
    names = ("feature_keys", "feature_rows") if name == "feature" else ("exception_keys", "exception_values")
    return {names[0]: np.array(keys, np.uint32), names[1]: np.array(values, np.int32)}


def _weights(learner: Learner, gold: NDArray[np.int32], options: LemmaOptions) -> Arrays:
    """The perceptron: a feature has weights for the scripts that it was seen with."""
    keys, starts = learner.features()
    distinct, ids = np.unique(keys, return_inverse=True)
    ids = ids.astype(np.int64)
    scripts_of_features = np.repeat(gold.astype(np.int64), np.diff(starts))
    pairs = np.unique(ids * _MAX_SCRIPTS + scripts_of_features)
    rows, scripts = pairs // _MAX_SCRIPTS, (pairs % _MAX_SCRIPTS).astype(np.int32)
    row_starts = np.searchsorted(rows, np.arange(len(distinct) + 1)).astype(np.int32)
    weights, totals = np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.int64)
    rng = np.random.Generator(np.random.PCG64(options.seed))
    left = options.epochs * len(gold)
    for _ in range(options.epochs):
        learner.learn(
            rng.permutation(len(gold)), starts, ids, gold, row_starts, scripts, weights, totals, left
        )
        left -= len(gold)
    largest = max(int(np.abs(totals).max(initial=0)), 1)
    scaled = (totals * 32_767 // largest).astype(np.int16)
    kept = scaled != 0
    counts = np.bincount(rows[kept], minlength=len(distinct))
    used = np.flatnonzero(counts)
    table = {int(distinct[feature]): row for row, feature in enumerate(used.tolist())}
    return {
        **_table("feature", table),
        "row_starts": np.concatenate(([0], np.cumsum(counts[used]), [0] * (not len(used)))).astype(np.int32),
        "entry_scripts": scripts[kept].astype(np.uint16),
        "entry_weights": scaled[kept],
    }


def _exceptions(
    keys: NDArray[np.uint64], choices: NDArray[np.int32], gold: NDArray[np.int32], counts: NDArray[np.int64]
) -> dict[int, int]:
    """The keys whose most frequent script is not the one that is mostly chosen."""
    right: dict[int, Counter[int]] = defaultdict(Counter)
    chosen: dict[int, Counter[int]] = defaultdict(Counter)
    for key, choice, script, count in zip(
        keys.tolist(), choices.tolist(), gold.tolist(), counts.tolist(), strict=True
    ):
        right[key][script] += count
        chosen[key][choice] += count
    majorities = {key: (_majority(right[key]), _majority(chosen[key])) for key in right}
    return {key: script for key, (script, choice) in majorities.items() if script != choice}


def _majority(counts: Counter[int]) -> int:
    return min((-count, script) for script, count in counts.items())[1]
