"""Sentences to files: CoNLL-U, compressed as the name says, appearing whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import IO

import pyarrow as pa

from covington.atomic import atomic_file
from covington.compression import compressed
from covington.conllu import format_batch
from covington.conllu_rejects import Reject, row_reject
from covington.errors import DataError


def write_conllu(
    batches: Iterable[pa.RecordBatch] | pa.Table, path_or_file: str | os.PathLike[str] | IO[bytes]
) -> None:
    """Write batches of the SENTENCE schema as CoNLL-U; `-` is standard output, `.gz` etc. compress."""
    if isinstance(batches, pa.Table):
        batches = batches.to_batches()
    if path_or_file == "-":
        _write(batches, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif isinstance(path_or_file, (str, os.PathLike)):
        with atomic_file(path_or_file) as file, compressed(file, path_or_file) as packed:
            _write(batches, packed)
    else:
        _write(batches, path_or_file)


def formatted(batch: pa.RecordBatch) -> tuple[pa.Buffer, pa.RecordBatch, list[Reject]]:
    """As CoNLL-U, with the sentences that it holds and those that it cannot: Parquet may have breaks in its values."""
    try:
        return format_batch(batch), batch, []
    except DataError:
        reasons = [_unwritable(batch.slice(row, 1)) for row in range(batch.num_rows)]
    good = batch.filter(pa.array([reason is None for reason in reasons]))
    bad = [
        row_reject(batch.slice(row, 1), reason) for row, reason in enumerate(reasons) if reason is not None
    ]
    return format_batch(good), good, bad


def _unwritable(row: pa.RecordBatch) -> str | None:
    try:
        format_batch(row)
    except DataError as error:
        return error.reason
    return None


def _write(batches: Iterable[pa.RecordBatch], file: IO[bytes]) -> None:
    for batch in batches:
        file.write(format_batch(batch))
