"""How much the row groups of a Parquet file hold, read from the footer itself.

pyarrow knows these numbers too, but its ways to them end the whole process where the footer of a damaged file
contradicts itself. The footer is a Thrift structure in the compact protocol; all but a few fields are passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, NamedTuple, TypeVar

import pyarrow as pa

from covington.corpus.parquet.dictionary import longest_text
from covington.errors import DataError

# kinds of fields; maps, which a footer does not have, are not known
_TRUE, _FALSE, _BYTE, _INTEGER_16, _INTEGER_32, _INTEGER_64 = 1, 2, 3, 4, 5, 6
_DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 7, 8, 9, 10, 12
_INTEGERS = (_INTEGER_16, _INTEGER_32, _INTEGER_64)
_DEEPEST = 32
_END = 8  # bytes after the footer: its length and "PAR1"
# field numbers of parquet.thrift
_ROW_GROUPS = 4  # of FileMetaData
_COLUMNS = 1  # of RowGroup
_META_DATA = 3  # of ColumnChunk
_PATH, _STATISTICS = 3, 16  # of ColumnMetaData, with those in _NUMBERS
_NUMBERS = {1: "type", 4: "codec", 5: "values", 6: "size", 11: "dictionary"}
_UNFOLDED = 1  # of SizeStatistics
_PAGE_NUMBERS = {1: "type", 2: "size", 3: "packed"}  # of PageHeader
_DICTIONARY_PAGE = 2  # type of a page
_TEXT = 6  # type of a column: BYTE_ARRAY
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_HEADER = 1 << 10  # bytes, more than the header of a dictionary has
_FARTHEST = 1 << 62  # bytes from the beginning of a file
_LARGEST_PAGE = 1 << 27  # bytes of a dictionary that is looked into

Read = TypeVar("Read")


class Size(NamedTuple):
    """Of a row group: the number of values in the column that has most, and the bytes of all columns, unfolded."""

    values: int
    size: int


@dataclass
class Column:
    """What the footer says of one column in one row group."""

    name: str = ""
    type: int = 0
    codec: int = 0
    values: int = 0
    size: int = 0  # unpacked, a text of the dictionary counting once
    unfolded: int | None = None  # every text counting where it stands; older programs do not tell
    dictionary: int | None = None  # where it is


def row_groups(file: IO[bytes], expected: int, name: str, columns: frozenset[str]) -> list[list[Column]]:
    """These columns of all row groups, of which so many are expected."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    file.seek(max(0, size - _END))
    length = int.from_bytes(file.read(_END)[:4], "little")
    file.seek(max(0, size - _END - length))
    groups = _described(file.read(length), columns)
    if len(groups) != expected:
        raise DataError("cannot be read as Parquet (its footer is damaged)", source=name)
    return groups


@lru_cache(maxsize=2)  # one row group is asked for after the other, and a footer has them all
def _described(data: bytes, columns: frozenset[str]) -> list[list[Column]]:
    footer = _Thrift(data)

    def row_group() -> list[Column]:
        return [one for one in footer.lists(_COLUMNS, footer.column) if one.name in columns]

    try:
        return footer.lists(_ROW_GROUPS, row_group)
    except (IndexError, RecursionError):
        return []


def is_told(columns: list[Column]) -> bool:
    """Does the footer say of all texts how often they stand there, or has none a dictionary?"""
    return all(one.unfolded is not None or one.dictionary is None or one.type != _TEXT for one in columns)


def row_group_size(file: IO[bytes], columns: list[Column]) -> Size:
    """How much some columns of a row group hold, at most."""
    values = max((column.values for column in columns), default=0)
    return Size(values, sum(max(0, _unfolded(file, column)) for column in columns))


def _unfolded(file: IO[bytes], column: Column) -> int:
    """The bytes of a column; without a word about it in the footer, each text may be the longest of the dictionary."""
    if column.unfolded is not None:
        return max(column.size, column.unfolded)
    if column.dictionary is None or column.type != _TEXT:
        return column.size
    return max(column.size, column.values * _longest(file, column.dictionary, column.codec))


def _longest(file: IO[bytes], start: int, codec: int) -> int:
    """The bytes of the longest text in a dictionary; all its bytes if one cannot look into it."""
    if not 0 < start < _FARTHEST:
        return 0  # damaged, for the reader to tell
    file.seek(start)
    header = _Thrift(file.read(_HEADER))
    page = dict.fromkeys(_PAGE_NUMBERS.values(), 0)
    try:
        page |= header.numbers(_PAGE_NUMBERS)
    except (IndexError, RecursionError):
        return 0  # the same
    if page["type"] != _DICTIONARY_PAGE:
        return 0
    if min(page["packed"], page["size"]) <= 0 or max(page["packed"], page["size"]) > _LARGEST_PAGE:
        return max(0, page["size"])
    file.seek(start + header.at)
    packed = file.read(page["packed"])
    if codec == 0:
        return longest_text(packed)
    try:
        return longest_text(pa.Codec(_CODECS[codec]).decompress(packed, page["size"]))
    except (KeyError, pa.ArrowException, OSError):
        return page["size"]


class _Thrift:
    """A Thrift structure and a place in it; IndexError where it ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

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

    def numbers(self, wanted: Mapping[int, str]) -> dict[str, int]:
        """Those integers of the structure that begins here that have names."""
        found = {}
        for field, kind in self._fields():
            if field in wanted and kind in _INTEGERS:
                found[wanted[field]] = self._integer()
            else:
                self._skip(kind)
        return found

    def column(self) -> Column:
        """The column chunk that begins here."""
        column = Column()
        for field, kind in self._fields():
            if field == _META_DATA and kind == _STRUCT:
                self._describe(column)
            else:
                self._skip(kind)
        return column

    def _describe(self, column: Column) -> None:
        for field, kind in self._fields():
            if field == _PATH and kind == _LIST:
                column.name = self._first_name()
            elif field in _NUMBERS and kind in _INTEGERS:
                setattr(column, _NUMBERS[field], self._integer())
            elif field == _STATISTICS and kind == _STRUCT:
                column.unfolded = self.numbers({_UNFOLDED: "unfolded"}).get("unfolded")
            else:
                self._skip(kind)

    def _first_name(self) -> str:
        """The first of a list of names, which is that of the column."""
        count, kind = self._list()
        if kind != _BINARY:
            raise IndexError
        names = []
        for _ in range(count):
            length = self._number()
            start = self.at
            self._forward(length)
            names.append(self._data[start : self.at].decode("utf-8", "replace"))
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
        if count > len(self._data) - self.at:  # an element has one byte at least
            raise IndexError
        return count, head & 15

    def _skip(self, kind: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise RecursionError
        if kind == _BYTE:
            self._byte()
        elif kind in _INTEGERS:
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
        self.at += 1
        return self._data[self.at - 1]

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
        self.at += count
        if self.at > len(self._data):
            raise IndexError
