"""How much the row groups of a Parquet file hold, read from the footer itself.

pyarrow knows these numbers too, but its ways to them end the whole process where the footer of a damaged file
contradicts itself. The footer is a Thrift structure in the compact protocol; all but a few fields are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from typing import IO, NamedTuple, TypeVar

from covington.errors import DataError

# kinds of fields; maps, which a footer does not have, are not known
_TRUE, _FALSE, _BYTE, _INTEGER_16, _INTEGER_32, _INTEGER_64 = 1, 2, 3, 4, 5, 6
_DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 7, 8, 9, 10, 12
_DEEPEST = 32
_END = 8  # bytes after the footer: its length and "PAR1"
# field numbers of parquet.thrift
_ROW_GROUPS = 4  # of FileMetaData
_COLUMNS = 1  # of RowGroup
_META_DATA = 3  # of ColumnChunk
_PATH, _NUM_VALUES, _UNCOMPRESSED = 3, 5, 6  # of ColumnMetaData

Read = TypeVar("Read")


class Size(NamedTuple):
    """Of a row group: the number of values in the column that has most, and the bytes of all columns, unpacked."""

    values: int
    size: int


def row_group_sizes(file: IO[bytes], expected: int, name: str, columns: Container[str]) -> list[Size]:
    """The sizes of all row groups, of which so many are expected, counting these columns alone."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    file.seek(max(0, size - _END))
    length = int.from_bytes(file.read(_END)[:4], "little")
    file.seek(max(0, size - _END - length))
    footer = _Footer(file.read(length))

    def row_group() -> Size:
        found = [one for one in footer.lists(_COLUMNS, footer.column) if one[0] in columns]
        return Size(
            max((values for _, values, _ in found), default=0), sum(max(0, size) for *_, size in found)
        )

    try:
        groups = footer.lists(_ROW_GROUPS, row_group)
    except (IndexError, RecursionError):
        groups = []
    if len(groups) != expected:
        raise DataError("cannot be read as Parquet (its footer is damaged)", source=name)
    return groups


class _Footer:
    """A Thrift structure and a place in it; IndexError where it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def lists(self, wanted: int, read: Callable[[], Read]) -> list[Read]:
        """What `read` makes of each structure in a list field of the structure that begins here."""
        found: list[Read] = []
        for field, kind in self._fields():
            if field == wanted and kind == _LIST:
                count, element = self._list()
                if element != _STRUCT:
                    raise IndexError
                found += [read() for _ in range(count)]
            else:
                self._skip(kind)
        return found

    def column(self) -> tuple[str, int, int]:
        """The name, the number of values and the unpacked size of the column chunk that begins here."""
        name, values, size = "", 0, 0
        for field, kind in self._fields():
            if field != _META_DATA or kind != _STRUCT:
                self._skip(kind)
                continue
            for inner, inner_kind in self._fields():
                if inner == _PATH and inner_kind == _LIST:
                    name = self._first_name()
                elif inner == _NUM_VALUES and inner_kind == _INTEGER_64:
                    values = self._integer()
                elif inner == _UNCOMPRESSED and inner_kind == _INTEGER_64:
                    size = self._integer()
                else:
                    self._skip(inner_kind)
        return name, values, size

    def _first_name(self) -> str:
        """The first of a list of names, which is that of the column."""
        count, kind = self._list()
        if kind != _BINARY:
            raise IndexError
        names = []
        for _ in range(count):
            length = self._number()
            start = self._at
            self._forward(length)
            names.append(self._data[start : self._at].decode("utf-8", "replace"))
        return names[0] if names else ""

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of every field up to the end of the structure; the caller reads or skips each."""
        number = 0
        while (head := self._byte()) != 0:
            step = head >> 4
            number = number + step if step else self._integer()
            yield number, head & 15

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self._number()
        if count > len(self._data) - self._at:  # an element has one byte at least
            raise IndexError
        return count, head & 15

    def _skip(self, kind: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise RecursionError
        if kind == _BYTE:
            self._byte()
        elif kind in (_INTEGER_16, _INTEGER_32, _INTEGER_64):
            self._number()
        elif kind == _DOUBLE:
            self._forward(8)
        elif kind == _BINARY:
            self._forward(self._number())
        elif kind in (_LIST, _SET):
            count, element = self._list()
            for _ in range(count):
                self._skip(_BYTE if element in (_TRUE, _FALSE) else element, depth + 1)
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise IndexError

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _number(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)

    def _forward(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError
