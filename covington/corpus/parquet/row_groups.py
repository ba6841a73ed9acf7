"""Sentences to row groups of Parquet, cut by what they are and not by how they came."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from covington.arrow import arrays
from covington.errors import DataError

ROW_GROUP = 8_192  # sentences, about a hundred thousand words
GROUP_BYTES = 1 << 26  # in memory, if fewer sentences have as many: ordinary ones have a tenth of it


def grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables for one row group each and in one piece, so that the bytes do not depend on how the sentences came."""
    waiting: list[pa.RecordBatch] = []
    filling = _Filling()
    columns = None
    for batch in batches:
        columns = columns or batch.schema.names
        if batch.schema.names != columns:
            odd = ", ".join(sorted(set(columns) ^ set(batch.schema.names)))
            raise DataError(
                f"all sentences of one Parquet file must have the same columns, not some with {odd}"
            )
        rest = batch
        del batch  # it is among those that wait, or is written
        for rows in filling.cuts(rest):
            table = pa.Table.from_batches([*waiting, rest.slice(0, rows)])
            waiting, rest = [], rest.slice(rows) if rows < rest.num_rows else None
            parts, schema = table.columns, table.schema
            del table  # so that a column goes as soon as it is joined
            yield _joined(parts, schema)
        if rest is not None and rest.num_rows:
            waiting.append(rest)
        del rest
    if waiting:
        table = pa.Table.from_batches(waiting)
        yield _joined(table.columns, table.schema)


class _Filling:
    """How full the row group is that is being filled; it is full of ROW_GROUP sentences, or of GROUP_BYTES."""

    def __init__(self) -> None:
        self._rows = self._size = 0

    def cuts(self, batch: pa.RecordBatch) -> list[int]:
        """How many rows of a batch go to the end of this row group, and of each after it."""
        found, start = [], 0
        while (end := self._end(batch, start)) <= batch.num_rows:
            found.append(end - start)
            start, self._rows, self._size = end, 0, 0
        self._rows += batch.num_rows - start
        self._size += _size(batch, start, batch.num_rows)
        return found

    def _end(self, batch: pa.RecordBatch, start: int) -> int:
        """The row before which the row group ends that has the row `start`; past all rows if it goes on."""
        end = start + ROW_GROUP - self._rows
        last = min(end, batch.num_rows)
        if self._size + _size(batch, start, last) < GROUP_BYTES:
            return end
        before = _bytes_before(batch, np.arange(start, last + 1))
        return start + int(np.searchsorted(before, before[0] + GROUP_BYTES - self._size))


def _size(batch: pa.RecordBatch, start: int, end: int) -> int:
    before = _bytes_before(batch, np.array([start, end]))
    return int(before[1] - before[0])


def _joined(parts: list[pa.ChunkedArray], schema: pa.Schema) -> pa.Table:
    """A table in one piece of columns in several, each of which is let go when it is joined."""
    columns = []
    while parts:
        column = parts.pop(0)
        with contextlib.suppress(pa.ArrowInvalid):  # an array holds 2 GB of texts; more stay in pieces
            column = column.combine_chunks()
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _bytes_before(batch: pa.RecordBatch, places: arrays.Array) -> arrays.Array:
    """The bytes in front of some rows, counted from anywhere: only differences are of use.

    They are what rows take in memory, texts, numbers and where each begins, but not which are null.
    """
    return sum((_bytes_in(column, places) for column in batch.columns), np.zeros(len(places), np.int64))


def _bytes_in(array: pa.Array, places: arrays.Array) -> arrays.Array:
    if not len(array):
        return np.zeros(len(places), np.int64)
    if pa.types.is_struct(array.type):
        fields = (array.field(number) for number in range(array.type.num_fields))
        return sum((_bytes_in(field, places) for field in fields), np.zeros(len(places), np.int64))
    if not (pa.types.is_list(array.type) or pa.types.is_string(array.type)):
        return places * int(array.type.byte_width)
    starts = np.frombuffer(array.buffers()[1], np.int32)[array.offset + places].astype(np.int64)
    inside = _bytes_in(array.values, starts) if pa.types.is_list(array.type) else starts
    return 4 * places + inside
