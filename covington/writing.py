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


def _write(batches: Iterable[pa.RecordBatch], file: IO[bytes]) -> None:
    for batch in batches:
        file.write(format_batch(batch))
