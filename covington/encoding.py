"""From Arrow batches to encoded sentences: finds the columns, checks that they fit, hands over the buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington import arrays
from covington.arrays import list_lengths, numbers, require_sound, validity
from covington.errors import DataError
from covington.places import data_error, located
from covington.sentences import Sentences, first_bad_tree
from covington.templates import WORD_ATTRIBUTES

#: what the PoS tag of the templates can be: a column, or two together
TAGS = ("upos", "xpos", "upos+xpos")
#: columns that word attributes can come from
COLUMNS = ("tokens", "upos", "xpos", "feats", "lemmas")
_PLUS = arrays.strings(["+"])[0]


def encode(
    batch: pa.RecordBatch, attributes: list[str], tag: str, labels: Sequence[str] | None = None
) -> Sentences:
    """Encode a batch for a list of word attributes; with `labels` its gold trees too."""
    lengths = word_counts(batch)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    wanted = {WORD_ATTRIBUTES[letter][0] for attribute in attributes for letter in attribute}
    columns = {
        name: _tags(batch, tag, lengths) if name == "tag" else strings(batch, name, lengths)
        for name in wanted
    }
    if labels is None:
        return Sentences(attributes, offsets, columns)
    heads = heads_of(batch, lengths)
    _check_trees(batch, offsets, heads)
    return Sentences(attributes, offsets, columns, heads, _gold_labels(batch, lengths, labels))


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


def _tags(batch: pa.RecordBatch, tag: str, lengths: Any) -> pa.StringArray | None:
    """The PoS tags: a column, or two that are joined; null where a word has none, whatever others have."""
    found = [strings(batch, name, lengths) for name in tag.split("+")]
    if len(found) == 1 or all(column is None for column in found):
        return found[0]
    columns = [pa.nulls(int(lengths.sum()), pa.string()) if column is None else column for column in found]
    for column in columns:
        require_sound(column)
    joined = pc.binary_join_element_wise(*columns, _PLUS, null_handling="replace")
    has_none = np.logical_and.reduce([~validity(column) for column in columns])
    return joined.take(numbers(np.arange(len(joined)), ~has_none)) if has_none.any() else joined


def has_column(batch: pa.RecordBatch, name: str) -> bool:
    """Is there anything in a column?"""
    return strings(batch, name, word_counts(batch)) is not None


def heads_of(batch: pa.RecordBatch, lengths: Any) -> Any:
    """The heads as int32; -1 where there is none."""
    found = per_word(batch, "head", lengths)
    if found is None:
        return np.full(int(lengths.sum()), -1, dtype=np.int32)
    return arrays.to_numpy(found.cast(pa.int32()), -1)


def _gold_labels(batch: pa.RecordBatch, lengths: Any, labels: Sequence[str]) -> Any:
    flat = strings(batch, "deprel", lengths)
    if flat is None:
        if lengths.any():
            raise DataError("the training data has no labels (column 'deprel')")
        return np.empty(0, dtype=np.int32)
    found = pc.index_in(flat, value_set=arrays.strings(labels))
    if found.null_count:
        sentence, word = located(lengths, int(validity(found).argmin()))
        raise data_error(batch, sentence, f"word {word} has no label that the model knows (column 'deprel')")
    return arrays.to_numpy(found, -1)


def _check_trees(batch: pa.RecordBatch, offsets: Any, heads: Any) -> None:
    bad = first_bad_tree(offsets, heads)
    if bad is not None:
        sentence, word, reason = bad
        head = heads[offsets[sentence] + word - 1]
        what = f"head {head} of word {word} is {reason}" if head >= 0 else f"word {word} has no head"
        raise data_error(batch, sentence, f"not a tree: {what} (column 'head')")


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
