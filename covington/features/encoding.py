"""From Arrow batches to encoded sentences: finds the columns, checks that they fit, hands over the buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow import arrays
from covington.arrow.arrays import numbers, require_sound, validity
from covington.corpus.columns import heads_of, strings, word_counts
from covington.corpus.locations import data_error, located
from covington.errors import DataError
from covington.features.sentences import Sentences, first_bad_tree
from covington.features.templates import WORD_ATTRIBUTES

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
