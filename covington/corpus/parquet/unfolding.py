"""How many bytes a row group of Parquet holds, by reading it without unfolding its dictionaries."""

from __future__ import annotations

from collections.abc import Container
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_KINDS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def unfolded(
    source: IO[bytes], metadata: pq.FileMetaData, group: int, columns: Container[str], rows: int
) -> int:
    """The bytes of all texts in some columns, each counting where it stands; so many rows are read at a time."""
    leaves = [metadata.row_group(group).column(number) for number in range(metadata.num_columns)]
    texts = [
        leaf.path_in_schema
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and leaf.path_in_schema.partition(".")[0] in columns
    ]
    file = pq.ParquetFile(source, read_dictionary=texts)
    batches = file.iter_batches(rows, row_groups=[group], columns=texts, use_threads=False)
    return sum(_bytes(column) for batch in batches for column in batch.columns)


def _bytes(array: pa.Array) -> int:
    if pa.types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(array.indices)).as_py() or 0
    if pa.types.is_struct(array.type):
        return sum(map(_bytes, array.flatten()))
    if any(is_kind(array.type) for is_kind in _KINDS):
        return pc.sum(pc.binary_length(array).cast(pa.int64())).as_py() or 0
    return _bytes(array.flatten())
