"""Texts of a table that are not UTF-8: which rows have one, and the table with their bytes written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow.arrays import Array, numbers

# a type of texts → the type of bytes with the same buffers
_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
# a kind of lists, how many buffers are its own, and the type with other values
_LISTS: tuple[tuple[Callable[[pa.DataType], bool], int, Callable[..., pa.DataType]], ...] = (
    (pa.types.is_list, 2, lambda values, _: pa.list_(values)),
    (pa.types.is_large_list, 2, lambda values, _: pa.large_list(values)),
    (pa.types.is_fixed_size_list, 1, lambda values, type_: pa.list_(values, type_.list_size)),
    (pa.types.is_list_view, 3, lambda values, _: pa.list_view(values)),
    (pa.types.is_large_list_view, 3, lambda values, _: pa.large_list_view(values)),
)
_KINDS = frozenset(_BYTES) | frozenset(_BYTES.values())


def written_out(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
    """The batch with only UTF-8 in its texts, `\\xff` for a byte that is none, and which rows had such a byte.

    Texts may be stored as texts or as bytes, in lists, structs and dictionaries. An ArrowException says that the data
    is damaged in another way, so that nobody follows an offset of it.
    """
    columns = [_as_bytes(column) for column in batch.columns]
    for column in columns:
        column.validate(full=True)
    found = [_written_out(column) for column in columns]
    wrong = [rows for _, rows in found]
    texts = pa.RecordBatch.from_arrays([column for column, _ in found], names=batch.schema.names)
    return texts, np.logical_or.reduce([np.zeros(batch.num_rows, np.bool_), *wrong])


def _as_bytes(array: pa.Array) -> pa.Array:
    """The same memory with bytes in place of texts, so that all but the encoding can be validated."""
    type_ = array.type
    if type_ in _BYTES:
        return pa.Array.from_buffers(_BYTES[type_], len(array), array.buffers(), -1, array.offset)
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(array.indices, _as_bytes(array.dictionary))
    if pa.types.is_struct(type_):
        children = [_as_bytes(array.field(number)) for number in range(type_.num_fields)]
        return pa.StructArray.from_arrays(children, [field.name for field in type_], mask=array.is_null())
    for is_kind, own_buffers, with_values in _LISTS:
        if is_kind(type_):
            values = _as_bytes(array.values)
            same = with_values(values.type, type_)
            own = array.buffers()[:own_buffers]
            return pa.Array.from_buffers(same, len(array), own, -1, array.offset, [values])
    return array


def _written_out(array: pa.Array) -> tuple[pa.Array, Array]:
    """What holds bytes as large strings, in large lists; sound as it must be already."""
    type_ = array.type
    wrong = np.zeros(len(array), np.bool_)
    if pa.types.is_dictionary(type_):
        return _written_out(array.dictionary_decode())
    if type_ in _KINDS:
        values = array.to_pylist()
        texts = [None if value is None else value.decode("utf-8", "backslashreplace") for value in values]
        wrong[:] = [
            text is not None and text.encode() != value for value, text in zip(values, texts, strict=True)
        ]
        return pa.array(texts, pa.large_string()), wrong
    if pa.types.is_struct(type_):
        found = [_written_out(child) for child in array.flatten()]
        names = [field.name for field in type_]
        whole = pa.StructArray.from_arrays([child for child, _ in found], names, mask=array.is_null())
        return whole, np.logical_or.reduce([wrong, *(rows for _, rows in found)])
    if any(is_kind(type_) for is_kind, *_ in _LISTS):
        values, ill = _written_out(array.flatten())
        lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0), np.int64)
        wrong[np.repeat(np.arange(len(array)), lengths)[ill]] = True
        offsets = numbers(np.concatenate(([0], np.cumsum(lengths))))
        return pa.LargeListArray.from_arrays(offsets, values, mask=array.is_null()), wrong
    return array, wrong
