"""Tables that somebody else wrote, brought to the SENTENCE schema: other types, missing columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow.arrays import list_lengths, lists, numbers
from covington.errors import DataError
from covington.schemas import MOST_WORDS, PARSE, SENTENCE

_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_NEVER_NULL = frozenset({"comments", "mwt", "empty_nodes"})
_PLACE = ("source", "position")
_KEEPS_UNDERSCORE = ("tokens", "comments", "flags")  # elsewhere `_` is a missing value


def conform(
    batch: pa.RecordBatch, source: str | None = None, first_position: int = 0, parsed: Collection[str] = ()
) -> pa.RecordBatch:
    """The batch with the columns and types of SENTENCE, and those of PARSE that it has or that are in `parsed`.

    Only `tokens` must be there. Columns that the schemas do not know are left out. `source` and
    `first_position` are of a table that was read: they are the place of sentences that do not have one.
    """
    names = {*batch.schema.names}
    fields = [*SENTENCE, *(field for field in PARSE if field.name in names.union(parsed))]
    has_null = source is not None and any(
        batch.column(name).null_count for name in names & {*_NEVER_NULL, *_PLACE}
    )
    if [*batch.schema] == fields and not has_null:
        return batch
    require_tokens(batch.schema.names, source)
    arrays = {
        field.name: _column(batch.column(field.name), field, source)
        if field.name in names
        else _filled(pa.nulls(batch.num_rows, field.type), field)
        for field in fields
    }
    if source is not None:
        arrays |= _placed(arrays, source, first_position)
    return pa.RecordBatch.from_arrays(
        [*arrays.values()], schema=pa.schema(fields, metadata=SENTENCE.metadata)
    )


def _placed(arrays: Mapping[str, pa.Array], source: str, first_position: int) -> dict[str, pa.Array]:
    """Source, position and line: who has no source is of the table that was read, who has no position is its row."""
    has_source = arrays["source"].is_valid()
    known = pc.and_(has_source, arrays["position"].is_valid())
    if not known.false_count:
        return {}
    here = np.arange(first_position, first_position + len(known))
    return {
        "source": pc.if_else(has_source, arrays["source"], source),
        "position": pc.if_else(known, arrays["position"], numbers(here)),
        "line": pc.if_else(has_source, arrays["line"], None),
    }


def require_tokens(columns: Sequence[str], source: str | None) -> None:
    """Without the words there is nothing to be done."""
    if "tokens" not in columns:
        have = ", ".join(columns) or "none"
        reason = f"there is no column 'tokens' (a list of words per sentence); the columns are: {have}"
        raise DataError(reason, source=source)


def _filled(array: pa.Array, field: pa.Field) -> pa.Array:
    """The column, with empty lists for nulls where there is none."""
    if field.name not in _NEVER_NULL or not array.null_count:
        return array
    return lists(list_lengths(array), array.flatten())


def _column(array: pa.Array, field: pa.Field, source: str | None) -> pa.Array:
    return _filled(_plain(array, field, source), field)


def _plain(array: pa.Array, field: pa.Field, source: str | None) -> pa.Array:
    if array.type == field.type and field.name not in ("mwt", "empty_nodes"):
        plain = array
    else:
        try:
            plain = _cast(array, field)
        except (pa.ArrowException, TypeError) as error:
            reason = f"column {field.name!r} is {array.type} where {field.type} is expected ({error})"
            raise DataError(reason, source=source) from None
    strings = pa.types.is_list(plain.type) and plain.type.value_type == pa.string()
    if strings and field.name not in _KEEPS_UNDERSCORE:
        return _with_values(plain, _without_underscores)
    return plain


def _cast(array: pa.Array, field: pa.Field) -> pa.Array:
    if field.name in ("mwt", "empty_nodes"):
        return _nodes(array, field.type)
    if field.name == "head":
        return _heads(array)
    if pa.types.is_list(field.type) and field.type.value_type == pa.string():
        _refuse_numbers(array.type)
        if any(is_list(array.type) for is_list in _LISTS):
            array = _lists(array)
    return array.cast(field.type)


def _refuse_numbers(type_: pa.DataType) -> None:
    """Class labels stored as numbers would turn into the words "0", "1", ...: better to say so."""
    if any(is_list(type_) for is_list in _LISTS) and pa.types.is_integer(type_.value_type):
        raise TypeError("numbers: class labels must be turned into their names first")


def unfit_heads(batch: pa.RecordBatch) -> Any:
    """Which rows have a head that cannot be the number of a word, and is not missing either."""
    unfit = np.zeros(batch.num_rows, dtype=bool)
    heads = batch.column("head") if "head" in batch.schema.names else None
    if (
        heads is None
        or heads.type == SENTENCE.field("head").type
        or not any(is_list(heads.type) for is_list in _LISTS)
    ):
        return unfit
    lists = _lists(heads)
    values = _undone(lists.flatten())
    if pa.types.is_unsigned_integer(values.type):
        fits = pc.less_equal(values, pa.scalar(MOST_WORDS, pa.uint64()))
    elif pa.types.is_signed_integer(values.type):
        fits = pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, MOST_WORDS))
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        is_number = pc.match_substring_regex(values, "^0*[0-9]{1,5}$")
        numbers = pc.if_else(is_number, values, pa.scalar("0", values.type)).cast(pa.int64())
        is_missing = pc.is_in(values, pa.array(["_", ""], values.type))
        fits = pc.or_(is_missing, pc.and_(is_number, pc.less_equal(numbers, MOST_WORDS)))
    else:
        return unfit
    rows = np.repeat(np.arange(len(lists)), pc.fill_null(lists.value_lengths(), 0))
    unfit[rows[~np.asarray(pc.fill_null(fits, True))]] = True
    return unfit


def _undone(values: pa.Array) -> pa.Array:
    """Values that stand for themselves, and not in a dictionary or a view."""
    if pa.types.is_dictionary(values.type):
        return values.dictionary_decode()
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def without_heads(batch: pa.RecordBatch, rows: Any) -> pa.RecordBatch:
    """The batch without the heads of some rows."""
    if not rows.any():
        return batch
    heads = batch.column("head")
    kept = pc.if_else(pa.array(~rows), heads, pa.scalar(None, heads.type))
    return batch.set_column(batch.schema.get_field_index("head"), "head", kept)


def _heads(array: pa.Array) -> pa.Array:
    """Heads as 16-bit numbers; written as text they are read, and `_` or nothing is null."""
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), SENTENCE.field("head").type)
    lists = _lists(array)
    if not pa.types.is_integer(lists.type.value_type) and not pa.types.is_null(lists.type.value_type):
        lists = _with_values(lists.cast(pa.list_(pa.string())), _without_underscores)
    return lists.cast(SENTENCE.field("head").type)


def _lists(array: pa.Array) -> pa.ListArray:
    """Lists of any kind as plain ones."""
    if not any(is_list(array.type) for is_list in _LISTS):
        raise TypeError("expected a list per sentence")
    if pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
        lengths = pc.fill_null(
            pc.list_value_length(array), 0
        ).to_numpy()  # Arrow's cast forgets empty and null ones
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
        return pa.ListArray.from_arrays(offsets, array.flatten(), mask=array.is_null())
    return array.cast(pa.list_(array.type.value_type))


def _without_underscores(values: pa.Array) -> pa.Array:
    missing = pc.is_in(values, pa.array(["_", ""]))
    return pc.if_else(missing, pa.scalar(None, pa.string()), values) if pc.any(missing).as_py() else values


def _with_values(lists: pa.ListArray, change: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """The same lists of changed values."""
    before = lists.values
    values = change(before)
    if values is before:
        return lists
    validity = lists.buffers()[0]
    buffers = [validity, lists.buffers()[1]]
    return pa.Array.from_buffers(pa.list_(values.type), len(lists), buffers, -1, lists.offset, [values])


def _nodes(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Multiword tokens or empty nodes; fields that are not there are null."""
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), type_)
    lists = _lists(array)
    if pa.types.is_null(lists.type.value_type):
        return lists.cast(type_)
    if not pa.types.is_struct(lists.type.value_type):
        raise TypeError("expected a list of structs")
    return _with_values(lists, lambda values: _struct(values, list(type_.value_type)))


def _struct(values: pa.StructArray, fields: Sequence[pa.Field]) -> pa.StructArray:
    names = [field.name for field in values.type]
    if len(set(names)) < len(names):
        raise TypeError("two fields of a struct have the same name")
    children = [
        _without_underscores_but_form(values.field(field.name).cast(pa.string()), field.name)
        if field.name in names
        else pa.nulls(len(values), pa.string())
        for field in fields
    ]
    return pa.StructArray.from_arrays(children, fields=list(fields), mask=values.is_null())


def _without_underscores_but_form(values: pa.Array, name: str) -> pa.Array:
    return values if name == "form" else _without_underscores(values)
