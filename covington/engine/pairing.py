"""Which sentences of two corpora face each other, found without reading them: gold shards need not be the system's.

The sentences of a side stand in the order of `source` and `position`: for CoNLL-U, and for Parquet without
these columns, the name of the file and the place in it. Two single files are compared as they stand. The
n-th sentence of one side faces the n-th of the other. An outline of every block says which sentences it
holds; from the outlines of both sides come stretches, each of which one worker reads from the files and
compares. No sentence passes between workers, so memory does not grow with the corpus.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from covington.engine import blocks
from covington.engine.blocks import BLOCK_BYTES, Block, Count, Piece
from covington.engine.work import read_task
from covington.errors import DataError
from covington.files.storage import open_raw, readable

STRETCH = 4_096  # sentences of a stretch at least, where there are as many
_COLUMNS = ("sent_id", "tokens", "upos", "head", "deprel", "source", "position", "line")

Span = tuple[str, int, int]  # source, position of the first sentence, number of sentences


class Outline(NamedTuple):
    """A block, and what its rows say of where they belong; None where they stand in the order of the file."""

    counted: Count
    spans: tuple[Span, ...] | None


class Run(NamedTuple):
    """Consecutive sentences of a side that stand together in a block."""

    rank: int  # how many sentences of the side come before
    sentences: int
    block: Block
    row: int  # of the block

    @property
    def end(self) -> int:
        return self.rank + self.sentences


class Stretch(NamedTuple):
    """What one worker compares: the sentences from one rank to another, on both sides."""

    first: int
    gold: tuple[Run, ...]
    system: tuple[Run, ...]


def outlines(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[Outline]:
    """The outline of every block of a piece."""
    counts = blocks.count(piece, block_bytes)
    if piece.kind != "parquet":
        yield from (Outline(count, None) for count in counts)
        return
    with readable(piece.file.path), open_raw(piece.file.path) as raw:
        file = pq.ParquetFile(raw)
        for group, of_group in groupby(counts, key=lambda count: count.piece):
            places = _places(file, group.start)
            for count in of_group:
                rows = slice(count.start, count.end)
                yield Outline(count, places and _spans(places[0][rows], places[1][rows]))


def _places(
    file: pq.ParquetFile, group: int
) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    """The columns source and position of a row group, if it has both and they are complete."""
    names = ["source", "position"]
    if any(file.schema_arrow.names.count(name) != 1 for name in names):
        return None
    table = file.read_row_group(group, columns=names, use_threads=False)
    if table.column("source").null_count or table.column("position").null_count:
        return None
    sources: list[str] = table.column("source").cast(pa.string()).to_pylist()
    return sources, table.column("position").cast(pa.int64()).to_numpy()


def _spans(sources: list[str], positions: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Span, ...]:
    found = []
    row = 0
    for source, group in groupby(sources):
        rows = sum(1 for _ in group)
        places = positions[row : row + rows]
        edges = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist(), rows]
        found += [(source, int(places[start]), end - start) for start, end in pairwise(edges)]
        row += rows
    return tuple(found)


def ranked(side: Iterable[Outline], as_they_stand: bool = False) -> list[Run]:
    """The runs of a side in the order of its sentences; a sentence that stands twice is an error."""
    known = {(one.counted.piece, one.counted.part): one.spans for one in side}
    found: list[tuple[str, int, int, Block, int]] = []
    for block in blocks.number(one.counted for one in side):
        row = 0
        for source, position, sentences in known[block.piece, block.part] or (
            (block.source, block.position, block.sentences),
        ):
            found.append((source, position, sentences, block, row))
            row += sentences
    by_place = sorted(found, key=lambda one: one[:2])
    before, free = "", 0
    for source, position, sentences, block, row in by_place:
        if source == before and position < free:
            raise _twice(source, position, block, row)
        before, free = source, position + sentences
    runs: list[Run] = []
    rank = 0
    for *_, sentences, block, row in found if as_they_stand else by_place:
        runs.append(Run(rank, sentences, block, row))
        rank += sentences
    return runs


def _is_one_file_in_order(side: Sequence[Outline]) -> bool:
    """Whether the sentences of a side are in one file, and each source's in their order."""
    if len({one.counted.piece.file for one in side}) > 1:
        return False
    places: dict[str, int] = {}
    last = None
    in_file = sorted(side, key=lambda one: (one.counted.piece.start, one.counted.part))
    for source, position, sentences in (span for one in in_file for span in one.spans or ()):
        if position < places.get(source, 0) or (source != last and source in places):
            return False
        places[source], last = position + sentences, source
    return True


def _twice(source: str, position: int, block: Block, row: int) -> DataError:
    (shard,) = read_task((block,), strict=True)
    reason = f"is sentence {position + 1} of {source}, which stands twice among these files"
    return DataError(reason, source=block.source, sent_id=shard.sentences.column("sent_id")[row].as_py())


def stretches(gold: Sequence[Outline], system: Sequence[Outline], least: int = STRETCH) -> Iterator[Stretch]:
    """Cut both sides at the same ranks: at blocks of gold, and never inside what is read from its beginning."""
    as_they_stand = _is_one_file_in_order(gold) and _is_one_file_in_order(system)
    sides = ranked(gold, as_they_stand), ranked(system, as_they_stand)
    ends = [side[-1].end if side else 0 for side in sides]
    whole = [_read_through(side) for side in sides]
    starts, last = [], 0
    for run in sides[0]:
        if run.rank - last >= least and not any(_is_inside(run.rank, spans) for spans in whole):
            last = run.rank
            starts.append(last)
    edges = [0, *starts, max(ends)]
    cuts = [_sliced(side, edges) for side in sides]
    for first, *pair in zip(edges, *cuts, strict=False):
        if any(pair):
            yield Stretch(first, *pair)


def _read_through(side: Sequence[Run]) -> list[tuple[int, int]]:
    """The ranks from which to which compressed files and row groups reach that are read from their beginning."""
    groups = (list(group) for _, group in groupby(side, attrgetter("block.piece")))
    return [(runs[0].rank, runs[-1].end) for runs in groups if _is_read_through(runs)]


def _is_read_through(runs: Sequence[Run]) -> bool:
    """Whether runs that stand together in a piece are read in one go, which needs them in its own order.

    To get at a block of a compressed file or a row group, all blocks before it must be read; in CoNLL-U it is found
    at once.
    """
    kind, parts = runs[0].block.piece.kind, [run.block.part for run in runs]
    if kind == "parquet":
        return len(set(parts)) > 1 and parts == sorted(parts)
    return kind != "conllu"


def _is_inside(rank: int, spans: list[tuple[int, int]]) -> bool:
    before = bisect_left(spans, (rank, 0)) - 1
    return before >= 0 and rank < spans[before][1]


def _sliced(side: list[Run], edges: list[int]) -> Iterator[tuple[Run, ...]]:
    """The runs between each edge and the next one; a run that reaches over an edge is cut."""
    waiting = iter(side)
    run = next(waiting, None)
    for end in edges[1:]:
        inside = []
        while run is not None and run.rank < end:
            fits = min(run.sentences, end - run.rank)
            inside.append(run._replace(sentences=fits))
            if fits < run.sentences:
                run = run._replace(rank=end, sentences=run.sentences - fits, row=run.row + fits)
            else:
                run = next(waiting, None)
        yield tuple(inside)


def read_runs(runs: Iterable[Run], block_bytes: int = BLOCK_BYTES) -> Iterator[pa.RecordBatch]:
    """The sentences of some runs, in order; the first one that is not well-formed is an error."""
    groups = (list(group) for _, group in groupby(runs, attrgetter("block.piece")))
    for in_one_go, pieces in groupby(groups, _is_read_through):
        if not in_one_go:
            for window in _windows(run for inside in pieces for run in inside):
                yield from _gathered(window, block_bytes)
            continue
        for inside in pieces:
            blocks_ = tuple(dict.fromkeys(run.block for run in inside))
            by_block = groupby(inside, attrgetter("block"))
            for shard, (_, there) in zip(read_task(blocks_, block_bytes, strict=True), by_block, strict=True):
                sentences = shard.sentences.select(_COLUMNS)
                for run in there:
                    yield sentences.slice(run.row, run.sentences)


def _windows(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Runs by some thousand sentences: so many are in memory where a table has them in disorder."""
    window: list[Run] = []
    size = 0
    for run in runs:
        window.append(run)
        size += run.sentences
        if size >= STRETCH:
            yield window
            window, size = [], 0
    if window:
        yield window


def _gathered(runs: list[Run], block_bytes: int) -> Iterator[pa.RecordBatch]:
    """The sentences of a window; every block is read once, whatever the order of its rows."""
    taken: dict[int, pa.RecordBatch] = {}
    order = sorted(range(len(runs)), key=lambda place: runs[place].block.shard)
    for _, places in groupby(order, lambda place: runs[place].block.shard):
        inside = list(places)
        (shard,) = read_task((runs[inside[0]].block,), block_bytes, strict=True)
        sentences = shard.sentences.select(_COLUMNS)
        for place in inside:
            part = sentences.slice(runs[place].row, runs[place].sentences)
            # a slice keeps its whole block in memory; of many blocks only the rows are kept
            taken[place] = part if len(runs) == 1 else part.take(np.arange(len(part)))
    table = pa.Table.from_batches([taken[place] for place in range(len(runs))])
    yield from table.combine_chunks().to_batches()
