"""Sentences to files: CoNLL-U, compressed as the name says, appearing whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import chain
from typing import IO

import numpy as np
import pyarrow as pa

from covington.corpus.conllu.reader import format_batch, format_rows
from covington.corpus.rejects import Reject, row_reject
from covington.files.atomic import atomic_file
from covington.files.compression import compressed


def write_conllu(
    batches: Iterable[pa.RecordBatch] | pa.Table, path_or_file: str | os.PathLike[str] | IO[bytes]
) -> None:
    """Write batches of the SENTENCE schema as CoNLL-U; `-` is standard output, `.gz` etc. compress."""
    if isinstance(batches, pa.Table):
        batches = batches.to_batches()
    write_texts(map(format_batch, batches), path_or_file)


def write_texts(texts: Iterable[pa.Buffer], path_or_file: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write sentences that are CoNLL-U already."""
    if path_or_file == "-":
        _write_out(texts)
    elif isinstance(path_or_file, (str, os.PathLike)):
        with atomic_file(path_or_file) as file, compressed(file, path_or_file) as packed:
            _write(texts, packed)
    else:
        _write(texts, path_or_file)


def formatted(batch: pa.RecordBatch) -> tuple[pa.Buffer, pa.RecordBatch, list[Reject]]:
    """As CoNLL-U, with the sentences that it holds and those that it cannot: Parquet may have breaks in its values."""
    text, reasons = format_rows(batch)
    if not reasons:
        return text, batch, []
    good = np.ones(batch.num_rows, np.bool_)
    good[list(reasons)] = False
    bad = [row_reject(batch.slice(row, 1), reason) for row, reason in reasons.items()]
    return text, batch.filter(pa.array(good)), bad


def _write_out(texts: Iterable[pa.Buffer]) -> None:
    """To standard output, which has no name that the system could tell when it fails."""
    out = sys.stdout.buffer
    for text in chain(texts, [None]):
        try:
            out.flush() if text is None else out.write(text)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, "standard output") from None


def _write(texts: Iterable[pa.Buffer], file: IO[bytes]) -> None:
    for text in texts:
        file.write(text)
