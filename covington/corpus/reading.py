"""Sentences from files: CoNLL-U in any compression, Parquet, standard input; batch by batch, memory flat."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from covington.corpus.conllu import overlong as endless
from covington.corpus.conllu.reader import SentenceBuilder
from covington.corpus.parquet.tables import read_parquet
from covington.corpus.rejecting import RejectSink, judged
from covington.errors import OptionError
from covington.files.compression import decompressed, kind_of
from covington.files.listing import local_files

PathOrFile = str | os.PathLike[str] | IO[bytes]


def read_conllu(
    path_or_file: PathOrFile,
    *,
    batch_size: int = 4096,
    strict: bool = False,
    rejects: RejectSink | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read CoNLL-U (plain, gzip, bzip2, xz or zstd; `-` is standard input) as batches of the SENTENCE schema.

    A sentence that is not well-formed goes to `rejects` as a batch of the REJECT schema and the rest is
    read on; without `rejects` a warning tells how many there were. `strict` raises a DataError instead.
    """
    if batch_size < 1:
        raise OptionError(f"batch_size must be at least 1, not {batch_size}")
    with opened(path_or_file) as (stream, name), judged(strict, rejects) as judge:
        builder = SentenceBuilder(name, batch_size)
        is_file = isinstance(path_or_file, (str, os.PathLike))
        for _ in _fed(builder, decompressed(stream, name, is_file)):
            judge(builder.take_rejects())
            if builder.is_full:
                yield builder.take()
        if not builder.is_empty:
            yield builder.take()


def read_sentences(
    path_or_file: PathOrFile,
    *,
    batch_size: int = 4096,
    strict: bool = False,
    rejects: RejectSink | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read Parquet or CoNLL-U, whichever it is; a folder or a glob stands for all its files."""
    if not isinstance(path_or_file, (str, os.PathLike)) or path_or_file == "-":
        yield from read_conllu(path_or_file, batch_size=batch_size, strict=strict, rejects=rejects)
        return
    for path in local_files(os.fspath(path_or_file)):
        read = read_parquet if is_parquet(path) else read_conllu
        yield from read(path, batch_size=batch_size, strict=strict, rejects=rejects)


def is_parquet(path: str) -> bool:
    """Whether a file is Parquet, by its first bytes; a pipe, which can be read only once, is not."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return kind_of(file.read(8), path) == "parquet"


def read_in_order(path: str) -> Iterator[pa.RecordBatch]:
    """Read sentences that must be well-formed; those of several files are sorted by source and position, in memory."""
    if path == "-" or len(local_files(path)) == 1:
        return read_sentences(path, strict=True)
    tables = [pa.table(batch) for batch in read_sentences(path, strict=True)]
    if not tables:
        return iter(())
    table = pa.concat_tables(tables, promote_options="default")
    table = table.sort_by([("source", "ascending"), ("position", "ascending")])
    return iter(table.combine_chunks().to_batches(max_chunksize=4096))


@contextmanager
def opened(path_or_file: PathOrFile) -> Iterator[tuple[IO[bytes], str]]:
    """The stream of a path, of `-`, or of a file that is open already, and its name."""
    if path_or_file == "-":
        yield sys.stdin.buffer, "-"
    elif isinstance(path_or_file, (str, os.PathLike)):
        with Path(path_or_file).open("rb", buffering=0) as stream:
            yield stream, os.fspath(path_or_file)
    else:
        yield path_or_file, str(getattr(path_or_file, "name", "stream"))


def _fed(builder: SentenceBuilder, pieces: Iterator[bytes]) -> Iterator[None]:
    """Feed the builder, stopping whenever it is full or wants more; the last stop is the end."""
    data, at = b"", 0
    for piece in pieces:
        data, at = data[at:] + piece, 0
        at = builder.feed(data)
        while builder.is_full:
            yield
            at = builder.feed(data, at)
        yield
        if len(data) - at > endless.LONGEST + endless.SLACK:
            stretch, data = endless.passed_over(data[at:], pieces)
            builder.skip(stretch.raw, stretch.lines, endless.REASON)
            at = 0
            yield
    while at < len(data):
        at = builder.feed(data, at, final=True)
        yield
