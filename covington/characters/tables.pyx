"""Unpacks the table of characters once per process; what it gives stays where it is until the process ends."""

import base64
import zlib

import numpy as np

from covington.characters import packed
from covington.characters.build import CLASSES, LIMIT

cdef Tables _tables


def _numbers(text):
    """The inverse of the packing in build.py: lengths and values."""
    raw = np.frombuffer(zlib.decompress(base64.b85decode(text)), np.uint8)
    last = np.flatnonzero(raw < 0x80)
    starts = np.concatenate(([0], last[:-1] + 1))
    within = np.arange(len(raw)) - np.repeat(starts, last - starts + 1)
    values = np.add.reduceat((raw & 0x7F).astype(np.int64) << (7 * within), starts)
    lengths, folded = values[0::2], values[1::2]
    return lengths, np.where(folded & 1, ~folded >> 1, folded >> 1)


def _unfolded(text, dtype):
    lengths, values = _numbers(text)
    array = np.repeat(values.astype(dtype), lengths)
    array.setflags(write=False)
    return array


classes = _unfolded(packed.CLASSES, np.uint8)
lower = _unfolded(packed.LOWER, np.int32)
upper = _unfolded(packed.UPPER, np.int32)
assert len(classes) == LIMIT and len(lower) == len(upper) == CASED and len(CLASSES) == EDGE

cdef const uint8_t[::1] _classes = classes
cdef const int32_t[::1] _lower = lower
cdef const int32_t[::1] _upper = upper
_tables.classes = &_classes[0]
_tables.lower = &_lower[0]
_tables.upper = &_upper[0]


cdef Tables tables() noexcept nogil:
    return _tables


def lowercase(str text) -> str:
    """Every character in its lower case, if that is one character."""
    return "".join(chr(point + int(lower[point])) if point < CASED else chr(point) for point in map(ord, text))


def uppercase(str text) -> str:
    """Every character in its upper case, if that is one character."""
    return "".join(chr(point + int(upper[point])) if point < CASED else chr(point) for point in map(ord, text))
