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
    ends = np.frombuffer(lists.buffers()[1], np.int32 if pa.types.is_list(lists.type) else np.int64)
    lengths = np.diff(ends[lists.offset : lists.offset + len(lists) + 1]).astype(np.int64)
    if lists.null_count:
        lengths[~validity(lists)] = 0
    return lengths
