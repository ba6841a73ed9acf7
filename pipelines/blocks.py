"""Cuts inputs into blocks of whole sentences, counts what is in them, and numbers them.

A block is what one worker reads, parses and writes as one shard: some 16 MB of CoNLL-U, or one row
group of Parquet. Where blocks begin and end depends on the files alone, so that the results are the
same whatever the runner and the number of workers. Counting comes first, at some GB/s: it gives every
block the position and the line of its first sentence, and the job the number of sentences that must
come out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow.parquet as pq

from covington.compression import decompressed
from covington.errors import DataError
from covington.pipelines.storage import InputFile, facts, open_raw, read_range, readable

BLOCK_BYTES = 16 << 20
BLOCK_ROWS = 16_384
_LOOK = 1 << 16  # bytes read at a time when looking for the end of a sentence

_MAGIC = {
    b"PAR1": "parquet",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"(\xb5/\xfd": "zstd",
}
_BLANK_LINES = re.compile(rb"\n(?:[ \t\r]*\n)+")
_SENTENCE_END = re.compile(_BLANK_LINES.pattern + rb"(?=[ \t\r]*[^ \t\r\n])")
_BLANK_LINE = re.compile(rb"(?m)^[ \t\r]+$")


@dataclass(frozen=True)
class Piece:
    """A part of an input that one worker can count: a byte range, a row group, or a whole compressed file."""

    file: InputFile
    kind: str  # "conllu", "parquet" or a compression
    start: int
    end: int


class Count(NamedTuple):
    """What was found in one block of a piece."""

    piece: Piece
    part: int  # which block of the piece; compressed files and large row groups have several
    start: int  # in bytes, or in rows of the row group
    end: int
    sentences: int
    lines: int


@dataclass(frozen=True)
class Block:
    """The sentences of one shard: where they are, and where they stand in their file."""

    shard: int
    shards: int
    piece: Piece
    part: int
    start: int
    end: int
    position: int
    line: int
    sentences: int

    @property
    def source(self) -> str:
        return self.piece.file.name


def cut(file: InputFile, block_bytes: int = BLOCK_BYTES) -> list[Piece]:
    """The pieces of one file; an empty file has none."""
    if file.size == 0:
        return []
    kind = kind_of(file)
    if kind == "parquet":
        with readable(file.path), open_raw(file.path) as raw:
            groups = pq.ParquetFile(raw).metadata.num_row_groups
        return [Piece(file, kind, group, group + 1) for group in range(groups)]
    if kind != "conllu":
        return [Piece(file, kind, 0, file.size)]
    starts = range(0, file.size, block_bytes)
    return [Piece(file, kind, start, min(start + block_bytes, file.size)) for start in starts]


def kind_of(file: InputFile) -> str:
    """What the first bytes of a file say that it is."""
    opening = read_range(file.path, 0, 8)
    return next((kind for magic, kind in _MAGIC.items() if opening.startswith(magic)), "conllu")


def count(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[Count]:
    """Count the sentences and lines of a piece, block by block, without reading them."""
    if piece.kind == "parquet":
        with readable(piece.file.path), open_raw(piece.file.path) as raw:
            rows = pq.ParquetFile(raw).metadata.row_group(piece.start).num_rows
        for part, start in enumerate(range(0, rows, BLOCK_ROWS)):
            end = min(start + BLOCK_ROWS, rows)
            yield Count(piece, part, start, end, end - start, 0)
    elif piece.kind == "conllu":
        start, end = boundary(piece.file, piece.start), boundary(piece.file, piece.end)
        if start < end:
            data = read_range(piece.file.path, start, end)
            yield Count(piece, 0, start, end, count_sentences(data), data.count(b"\n"))
    else:
        at = 0
        for part, data in enumerate(decompressed_blocks(piece, block_bytes)):
            yield Count(piece, part, at, at + len(data), count_sentences(data), data.count(b"\n"))
            at += len(data)


def number(counts: Iterable[Count], first_shard: int = 0) -> list[Block]:
    """Put blocks in the order of the corpus; shard numbers, positions and lines are running sums."""
    ordered = sorted(counts, key=lambda one: (one.piece.file.ordinal, one.piece.start, one.part))
    blocks = []
    position, line, ordinal = 0, 1, -1
    for shard, one in enumerate(ordered):
        if one.piece.file.ordinal != ordinal:
            position, line, ordinal = 0, 1, one.piece.file.ordinal
        blocks.append(
            Block(shard, len(ordered), one.piece, one.part, one.start, one.end, position, line, one.sentences)
        )
        position += one.sentences
        line += one.lines
    return blocks


def boundary(file: InputFile, offset: int) -> int:
    """The first end of a sentence at or after `offset`: after a blank line, or the end of the file."""
    if offset <= 0 or offset >= file.size:
        return min(max(offset, 0), file.size)
    start = at = offset - 1
    window = b""
    while True:
        more = read_range(file.path, at, min(at + _LOOK, file.size))
        window += more
        at += len(more)
        found = sentence_end(window, 0, at == file.size)
        if found:
            return start + found
        if not more:
            raise changed(file)


def sentence_end(data: bytes, start: int, final: bool) -> int:
    """The place after the first blank lines that begin at or after `start`, or 0 if it is not known yet."""
    found = (_BLANK_LINES if final else _SENTENCE_END).search(data, start)
    return found.end() if found else len(data) if final else 0


def count_sentences(data: bytes) -> int:
    """How many runs of lines there are between blank lines.

    >>> count_sentences(b"1\\t_\\n\\n# only\\n \\n\\n1\\t_")
    3
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\r" in data or b"\n " in data or b"\n\t" in data or data[:1] in b" \t":
        data = _BLANK_LINE.sub(b"", data)
    data = data.strip(b"\n")
    while b"\n\n\n" in data:
        data = data.replace(b"\n\n\n", b"\n\n")
    return data.count(b"\n\n") + 1 if data else 0


def decompressed_blocks(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The blocks of a compressed file, of whole sentences and about `block_bytes` each when decompressed."""
    path = piece.file.path
    with readable(path), open_raw(path) as raw:
        yield from byte_blocks(decompressed(raw, piece.file.name), block_bytes)


def byte_blocks(pieces: Iterator[bytes], block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Join pieces of a stream and cut them anew, behind the first blank line after `block_bytes` each."""
    data, final = b"", False
    while data or not final:
        end = sentence_end(data, block_bytes - 1, final) if final or len(data) > block_bytes else 0
        if end:
            yield data[:end]
            data = data[end:]
        else:
            waiting, size = [data], len(data)
            while not final and (size <= block_bytes or len(waiting) == 1):
                more = next(pieces, b"")
                waiting.append(more)
                size += len(more)
                final = not more
            data = b"".join(waiting)


def read_block(block: Block) -> bytes:
    """The bytes of a block of an uncompressed file."""
    data = read_range(block.piece.file.path, block.start, block.end)
    if len(data) != block.end - block.start:
        raise changed(block.piece.file)
    return data


def check_unchanged(file: InputFile) -> None:
    """Complain if a file is not what it was when the job was planned: another size, or written to since."""
    if file.modified and facts(file.path) != (file.size, file.modified):
        raise changed(file)


def changed(file: InputFile) -> DataError:
    """The error for a file that is not what it was when the job was planned."""
    return DataError("changed while it was being read; run again when nobody writes to it", source=file.name)


def plan(files: Sequence[InputFile], block_bytes: int = BLOCK_BYTES) -> list[Block]:
    """All blocks of some files, in this process; ReadSentences does the same on many workers."""
    pieces = [piece for file in files for piece in cut(file, block_bytes)]
    return number(one for piece in pieces for one in count(piece, block_bytes))
