"""Between Arrow and numpy, buffer by buffer.

pyarrow's own conversions look for pandas first, and load it where it is installed: 0.2 s and 33 MB for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from covington.errors import DataError

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]


def numbers(values: Array, valid: Array | None = None) -> pa.Array:
    """An Arrow array of the same type over the memory of a numpy array; null where it is not valid."""
    contiguous = np.ascontiguousarray(values)
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    type_ = pa.from_numpy_dtype(contiguous.dtype)
    return pa.Array.from_buffers(type_, len(contiguous), [bits, pa.py_buffer(contiguous)])


def strings(values: Sequence[str]) -> pa.StringArray:
    """An Arrow array of strings."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def repeated(value: str, times: int) -> pa.StringArray:
    """One string so many times."""
    return strings([value]).take(numbers(np.zeros(times, np.int32)))


def lists(lengths: Array, values: pa.Array) -> pa.ListArray:
    """Lists of these lengths, one after the other."""
    ends = np.concatenate(([0], np.cumsum(lengths)))
    if ends[-1] > np.iinfo(np.int32).max:
        raise DataError("a batch has more than 2^31 words: give smaller ones")
    return pa.ListArray.from_arrays(numbers(ends.astype(np.int32)), values)


def validity(array: pa.Array) -> Array:
    """Which values are not null."""
    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    first, last = array.offset, array.offset + len(array)
    part = np.frombuffer(bits, np.uint8)[first // 8 : (last + 7) // 8]
    return np.unpackbits(part, bitorder="little")[first % 8 : first % 8 + len(array)].view(np.bool_)


def to_numpy(array: pa.Array, missing: int) -> Array:
    """The integers of an Arrow array, and `missing` where there is none."""
    dtype = np.dtype(str(array.type))
    if not len(array):
        return np.zeros(0, dtype)
    values = np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]
    return np.where(validity(array), values, missing) if array.null_count else values


def list_lengths(lists: pa.ListArray | pa.LargeListArray) -> Array:
    """How many values each list has; none where it is null."""
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise DataError(f"a column of lists was expected, not {lists.type}")
    if not len(lists):
        return np.zeros(0, np.int64)
    lengths = np.diff(_offsets(lists, len(lists.values))).astype(np.int64)
    if lists.null_count:
        lengths[~validity(lists)] = 0
    return lengths


def require_sound(array: pa.Array) -> None:
    """See to it that texts and lists lie within what there is: Arrow and compiled code go where the offsets say."""
    if not len(array):
        return
    if pa.types.is_struct(array.type):
        for number in range(array.type.num_fields):
            require_sound(array.field(number))
    elif pa.types.is_string(array.type):
        text = array.buffers()[2]
        _offsets(array, 0 if text is None else text.size)
    elif pa.types.is_list(array.type):
        offsets = _offsets(array, len(array.values))
        require_sound(array.values.slice(offsets[0], offsets[-1] - offsets[0]))


def _offsets(array: pa.Array, limit: int) -> Array:
    """Where each text or list begins, and the last one ends: none before the one in front of it or past the limit."""
    dtype = np.int64 if pa.types.is_large_list(array.type) else np.int32
    offsets = np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array) + 1]
    is_whole = len(offsets) == len(array) + 1
    if not is_whole or offsets[0] < 0 or offsets[-1] > limit or (offsets[1:] < offsets[:-1]).any():
        raise DataError("the offsets of an Arrow array make no sense")
    return offsets
