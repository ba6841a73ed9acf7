"""The columns of a batch of sentences, word by word: how many words there are, and one value for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from covington.arrow import arrays
from covington.arrow.arrays import list_lengths, numbers, require_sound
from covington.corpus.locations import data_error
from covington.errors import DataError


def word_counts(batch: pa.RecordBatch) -> Any:
    """Words per sentence, by the `tokens` column."""
    if "tokens" not in batch.schema.names:
        raise DataError(f"there is no column 'tokens'; the columns are {', '.join(batch.schema.names)}")
    return list_lengths(batch.column("tokens"))


def strings(batch: pa.RecordBatch, name: str, lengths: Any) -> pa.StringArray | None:
    """A list column as one string per word; None where the data has no such column or nothing in it."""
    found = per_word(batch, name, lengths)
    if found is None or found.null_count == len(found):
        return None
    return found if found.type == pa.string() else found.cast(pa.string())


def has_column(batch: pa.RecordBatch, name: str) -> bool:
    """Is there anything in a column?"""
    return strings(batch, name, word_counts(batch)) is not None


def heads_of(batch: pa.RecordBatch, lengths: Any) -> Any:
    """The heads as int32; -1 where there is none."""
    found = per_word(batch, "head", lengths)
    if found is None:
        return np.full(int(lengths.sum()), -1, dtype=np.int32)
    return arrays.to_numpy(found.cast(pa.int32()), -1)


def per_word(batch: pa.RecordBatch, name: str, lengths: Any) -> pa.Array | None:
    """The values of a list column, one per word; rows without a list get nulls. None if there is no such column."""
    if name not in batch.schema.names or pa.types.is_null(batch.schema.field(name).type):
        return None
    column = batch.column(name)
    found = list_lengths(column)
    flat = column.flatten()
    if np.array_equal(found, lengths):
        return flat
    wrong = (found != lengths) & (found != 0)
    if wrong.any():
        sentence = int(wrong.argmax())
        raise data_error(
            batch, sentence, f"column {name!r} has {found[sentence]} values for {lengths[sentence]} words"
        )
    known = np.repeat(found == lengths, lengths)
    place = np.where(known, np.cumsum(known) - 1, 0)
    require_sound(flat)
    return flat.take(numbers(place, known))
