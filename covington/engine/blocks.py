"""Cuts inputs into blocks of whole sentences, counts what is in them, and numbers them.

A block is what one worker reads, parses and writes as one shard: some 16 MB of CoNLL-U, or one row
group of Parquet. Where blocks begin and end depends on the files alone, so that the results are the
same whatever the runner and the number of workers. Counting comes first, and is fast: it gives every
block the position and the line of its first sentence, and the job the number of sentences that must
come out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import pyarrow.parquet as pq

from covington.corpus.conllu.blanks import blank_line
from covington.corpus.conllu.overlong import KEPT, LONGEST, SLACK, Endless, passed_over, unfinished
from covington.corpus.conllu.reader import sentences_and_lines, split_point
from covington.corpus.parquet.tables import rows_at_a_time
from covington.errors import DataError
from covington.files.compression import PIECE, decompressed, kind_of
from covington.files.storage import InputFile, facts, open_raw, read_range, readable

BLOCK_BYTES = 16 << 20
BLOCK_ROWS = 16_384
_LOOK = 1 << 16  # bytes read first when looking for the end of a sentence
_BLANKS = 1 << 20  # bytes of blank lines that stay together

_BLANK = re.compile(rb"[ \t\r\n]*")


@dataclass(frozen=True)
class Piece:
    """A part of an input that one worker can count: a byte range, some row groups, or a whole compressed file."""

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
    endless: bool = False  # no sentence, but a stretch that was passed over
    step: int = 0  # how many rows of the row group are read at a time


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
    endless: bool = False
    step: int = 0

    @property
    def source(self) -> str:
        return self.piece.file.name


def cut(file: InputFile, block_bytes: int = BLOCK_BYTES) -> list[Piece]:
    """The pieces of one file; an empty file has none."""
    kind = file_kind(file)
    if file.size == 0:
        return []
    if kind == "parquet":
        with readable(file.path), open_raw(file.path) as raw:
            groups = pq.ParquetFile(raw).metadata.num_row_groups
        # all together, for a footer has all of them, and takes longer to read than to count what it says
        return [Piece(file, kind, 0, groups)]
    if kind != "conllu":
        return [Piece(file, kind, 0, file.size)]
    starts = range(0, file.size, block_bytes)
    return [Piece(file, kind, start, min(start + block_bytes, file.size)) for start in starts]


def footer_of(file: InputFile) -> pq.FileMetaData:
    """The footer of a Parquet file, kept for its other row groups if the file can be told from what it was before."""
    check_unchanged(file)
    return _kept_footer(file) if file.modified else _read_footer(file)


def _read_footer(file: InputFile) -> pq.FileMetaData:
    with readable(file.path), open_raw(file.path) as raw:
        found = pq.ParquetFile(raw).metadata
    check_unchanged(file)
    return found


_kept_footer = lru_cache(maxsize=2)(_read_footer)


def file_kind(file: InputFile) -> str:
    """What the first bytes of a file say that it is."""
    return kind_of(read_range(file.path, 0, 8), file.name)


def count(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[Count]:
    """Count the sentences and lines of a piece, block by block, without reading them."""
    if piece.kind == "parquet":
        with readable(piece.file.path), open_raw(piece.file.path) as raw:
            metadata = pq.ParquetFile(raw).metadata
            for group in range(piece.start, piece.end):
                step = rows_at_a_time(raw, metadata, piece.file.name, BLOCK_ROWS, [group])
                one = replace(piece, start=group, end=group + 1)
                yield from _counted_rows(one, metadata.row_group(group).num_rows, step)
    elif piece.kind == "conllu":
        window = _Window(piece.file, max(piece.start - 1, 0), min(piece.end + _LOOK, piece.file.size))
        first = boundary(window, piece.start, piece.end)
        if first is not None:
            yield from _counted_text(window, piece, first, boundary(window, piece.end), block_bytes)
    else:
        yield from _counted(piece, decompressed_blocks(piece, block_bytes))


def _counted_rows(group: Piece, rows: int, step: int) -> Iterator[Count]:
    """The blocks of one row group."""
    for part, start in enumerate(range(0, rows, step)):
        end = min(start + step, rows)
        yield Count(group, part, start, end, end - start, 0, step=step)


class _Window:
    """A stretch of a file, fetched in one go; what lies outside of it is fetched when it is asked for."""

    def __init__(self, file: InputFile, start: int, end: int) -> None:
        self.file, self._start, self._end = file, start, end
        self._data = read_range(file.path, start, end)

    def read(self, start: int, end: int) -> bytes:
        if self._start <= start and end <= self._end:
            return self._data[start - self._start : end - self._start]
        return read_range(self.file.path, start, end)


def _counted_text(
    window: _Window, piece: Piece, start: int, end: int | None, block_bytes: int
) -> Iterator[Count]:
    """One block of a file that is not compressed; several if something endless lies in it."""
    assert end is not None
    if end - start > block_bytes + LONGEST:
        yield from _counted(piece, byte_blocks(_pieces(window, start, end), block_bytes), start)
    elif start < end:
        yield Count(piece, 0, start, end, *sentences_and_lines(window.read(start, end)))


def _counted(piece: Piece, found: Iterator[bytes | Endless], at: int = 0) -> Iterator[Count]:
    for part, data in enumerate(found):
        end = at + len(data)
        if isinstance(data, Endless):
            yield Count(piece, part, at, end, 1, data.lines, endless=True)
        else:
            yield Count(piece, part, at, end, *sentences_and_lines(data))
        at = end


def _pieces(window: _Window, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, PIECE):
        yield window.read(at, min(at + PIECE, end))


def number(counts: Iterable[Count]) -> list[Block]:
    """Put blocks in the order of the corpus; shard numbers, positions and lines are running sums."""
    ordered = sorted(counts, key=lambda one: (one.piece.file.ordinal, one.piece.start, one.part))
    blocks = []
    position, line, ordinal = 0, 1, -1
    for shard, one in enumerate(ordered):
        if one.piece.file.ordinal != ordinal:
            position, line, ordinal = 0, 1, one.piece.file.ordinal
        blocks.append(
            Block(
                shard,
                len(ordered),
                one.piece,
                one.part,
                one.start,
                one.end,
                position,
                line,
                one.sentences,
                one.endless,
                one.step,
            )
        )
        position += one.sentences
        line += one.lines
    return blocks


def boundary(window: _Window, offset: int, before: int | None = None) -> int | None:
    """The first end of a sentence at or after `offset`: after a blank line, or the end of the file.

    None if its blank line does not begin before `before`: then that place has the same boundary.
    """
    file = window.file
    if offset <= 0 or offset >= file.size:
        return min(max(offset, 0), file.size)
    start = at = offset - 1
    seen, size = b"", _LOOK
    while True:
        more = window.read(at, min(at + size, file.size))
        if not more:
            raise changed(file)
        seen += more
        at += len(more)
        end, rest = sentence_end(seen, 0, at == file.size)
        if end:
            return start + end
        start, seen = start + rest, seen[rest:]
        if before is not None and start >= before:
            return None
        size = min(2 * size, PIECE)


def sentence_end(data: bytes, start: int, final: bool) -> tuple[int, int]:
    """The place after the first blank lines that begin at or after `start`, or 0 if it is not known yet.

    In that case the second number is from where on the data is of interest when more of it has come.
    """
    found = blank_line(data, start)
    if found is None:
        return (len(data), 0) if final else (0, max(len(data) - len(unfinished(data)), start))
    begin, end = found
    blank = _BLANK.match(data, begin, begin + _BLANKS)
    assert blank is not None
    end = max(end, data.rindex(b"\n", begin, blank.end()) + 1)
    if blank.end() - begin == _BLANKS:  # blank lines for ever would otherwise have to be kept for ever
        return end, 0
    if final or data[end : end + SLACK].strip(b" \t\r") or end + SLACK < len(data):
        return end, 0
    return 0, begin


def decompressed_blocks(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes | Endless]:
    """The blocks of a compressed file, of whole sentences and about `block_bytes` each when decompressed."""
    path = piece.file.path
    with readable(path), open_raw(path) as raw:
        yield from byte_blocks(decompressed(raw, piece.file.name), block_bytes)


def byte_blocks(pieces: Iterator[bytes], block_bytes: int = BLOCK_BYTES) -> Iterator[bytes | Endless]:
    """Join pieces of a stream and cut them anew, behind the first blank line after `block_bytes` each.

    What does not come to a blank line is passed over, so that memory is bounded whatever the stream holds.
    """
    data, final = b"", False
    while data or not final:
        end = sentence_end(data, block_bytes - 1, final)[0] if final or len(data) > block_bytes else 0
        if end:
            yield data[:end]
            data = data[end:]
        elif len(data) > block_bytes + LONGEST + SLACK:
            start = split_point(data)
            if start:
                yield data[:start]
            data = data[start:]
            if len(data) > LONGEST:
                stretch, data = passed_over(data, pieces)
                yield stretch
        else:
            waiting, size = [data], len(data)
            while not final and (size <= block_bytes or len(waiting) == 1):
                more = next(pieces, b"")
                waiting.append(more)
                size += len(more)
                final = not more
            data = b"".join(waiting)


def read_block(block: Block) -> bytes | Endless:
    """What a block of an uncompressed file holds."""
    end = min(block.end, block.start + KEPT) if block.endless else block.end
    data = read_range(block.piece.file.path, block.start, end)
    if len(data) != end - block.start:
        raise changed(block.piece.file)
    return Endless(data, block.end - block.start, 0) if block.endless else data


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
