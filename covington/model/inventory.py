"""The columns that a model reads besides the words, the tags that it has met in them, and what a corpus has of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow import arrays
from covington.corpus.columns import strings
from covington.features.templates import parse_template

#: columns of tags, of which training data has nearly all that there are
TAGGED = ("upos", "xpos")
#: columns that a model may read
READABLE = (*TAGGED, "feats", "lemmas")
MOST_TAGS = 10_000  # a column with more different values has no tags in it


def columns_read(templates: Iterable[str], tag: str) -> list[str]:
    """The columns that templates ask for besides the words; `tag` is TrainingOptions.tag."""
    asked = {column for name in templates for column in parse_template(name).columns}
    if "tag" in asked:
        asked |= set(tag.split("+"))
    return [column for column in READABLE if column in asked]


def tags_met(values: Mapping[str, Iterable[str]], columns: Sequence[str]) -> dict[str, list[str]]:
    """The tags of the columns that are read, from all values of the training data."""
    met = {column: sorted(values[column]) for column in columns if column in values}
    return {column: tags for column, tags in met.items() if len(tags) <= MOST_TAGS}


@dataclass(frozen=True)
class Coverage:
    """What a batch has of what a model reads."""

    filled: dict[str, int]  # by column: words that have something in it
    unknown: dict[str, int]  # by column of tags: words whose tag the model has not met
    untagged: arrays.Array  # by sentence: has it words, and not one with a tag that the model knows?


class Inventory:
    """What a model says that it reads; `tag` is TrainingOptions.tag."""

    def __init__(self, columns: Sequence[str], tags: Mapping[str, Sequence[str]], tag: str) -> None:
        self._tag = tag.split("+")
        if not {*tags, *self._tag} <= set(columns) <= set(READABLE):
            raise ValueError(f"columns {[*columns]!r}, tags of {[*tags]!r}")
        self.columns = tuple(columns)
        self._tags = {
            column: arrays.strings([str(one) for one in known]) for column, known in dict(tags).items()
        }

    def coverage(self, batch: pa.RecordBatch, lengths: arrays.Array) -> Coverage:
        """How much of it is in a batch whose sentences have so many words."""
        filled, unknown, untagged = {}, {}, lengths > 0
        for column in self.columns:
            values = strings(batch, column, lengths)
            known = None if values is None else self._known(column, values)
            filled[column] = 0 if values is None else len(values) - values.null_count
            if column in self._tags:
                unknown[column] = filled[column] - (known.true_count if known is not None else 0)
            if column in self._tag and known is not None:
                untagged &= ~_have_one(known, lengths)
        return Coverage(filled, unknown, untagged)

    def _known(self, column: str, values: pa.StringArray) -> pa.BooleanArray:
        """Which words have a tag that was met, or anything at all where no tags are told."""
        if column not in self._tags:
            return values.is_valid()
        arrays.require_sound(values)
        return pc.is_in(values, value_set=self._tags[column], skip_nulls=True)


def _have_one(words: pa.BooleanArray, lengths: arrays.Array) -> arrays.Array:
    """Which sentences have a word of these."""
    if not words.false_count:
        return lengths > 0
    rows = np.repeat(np.arange(len(lengths)), lengths)
    found = np.zeros(len(lengths), np.bool_)
    found[rows[arrays.to_numpy(pc.indices_nonzero(words), 0)]] = True
    return found
