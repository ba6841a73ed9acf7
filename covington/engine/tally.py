"""What comes of comparing stretches: counts that add up, the first sentence that does not match, rows of scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from covington.engine.blocks import BLOCK_BYTES, cut
from covington.engine.pairing import STRETCH, Outline, Stretch, outlines, read_runs, stretches
from covington.errors import CovingtonError, DataError
from covington.evaluation.alignment import align
from covington.evaluation.counts import Counts, count, sentence_scores
from covington.evaluation.tree_shape import IntArray
from covington.files.storage import InputFile

Rows = tuple[tuple[int, Any], ...]  # rank of the first sentence, and 16-bit scores of it and those after it


class Problem(NamedTuple):
    """A sentence that does not match, or cannot be read; the first in order is the one to be told."""

    rank: int
    message: str


@dataclass(frozen=True)
class Tally:
    """The sum of what stretches gave; adding in any order gives the same."""

    counts: Counts = field(default_factory=Counts)
    problem: Problem | None = None
    rows: Rows = ()

    def __add__(self, other: Tally) -> Tally:
        problems = [tally.problem for tally in (self, other) if tally.problem is not None]
        return Tally(
            self.counts + other.counts,
            min(problems, default=None),
            tuple(sorted((*self.rows, *other.rows), key=lambda part: part[0])),
        )

    @staticmethod
    def sum(tallies: Iterable[Tally]) -> Tally:
        total = Tally()
        for tally in tallies:
            total += tally
        return total

    def agreed(self) -> Tally:
        """The tally itself if all sentences matched, or else an error that names the first that did not."""
        if self.problem is not None:
            raise DataError(self.problem.message)
        return self

    @property
    def sentence_scores(self) -> IntArray:
        """Those of covington.evaluation.counts.sentence_scores, for all sentences in order."""
        parts = [np.zeros((0, 3), np.int64), *(part.astype(np.int64) for _, part in self.rows)]
        return np.concatenate(parts)


def compare(
    stretch: Stretch, name: str = "the system", rows: bool = False, block_bytes: int = BLOCK_BYTES
) -> Tally:
    """Read and compare both sides of a stretch; `rows` keeps the scores of every sentence."""
    return Tally.sum(_compared(stretch, name, rows, block_bytes))


def _compared(stretch: Stretch, name: str, rows: bool, block_bytes: int) -> Iterator[Tally]:
    rank = stretch.first
    try:
        golds, systems = (read_runs(runs, block_bytes) for runs in (stretch.gold, stretch.system))
        for gold, system in align(golds, systems, name):
            scores = sentence_scores(gold, system).astype(np.uint16) if rows else None
            yield Tally(count(gold, system), rows=() if scores is None else ((rank, scores),))
            rank += gold.num_rows
    except CovingtonError as error:  # told when all is compared: it may not be the first one in the corpus
        yield Tally(problem=Problem(rank, str(error)))


def outlined(files: Iterable[InputFile], block_bytes: int = BLOCK_BYTES) -> list[Outline]:
    """The outlines of all blocks of some files, in this process."""
    pieces = (piece for file in files for piece in cut(file, block_bytes))
    return [outline for piece in pieces for outline in outlines(piece, block_bytes)]


def tally(
    gold: Iterable[InputFile],
    system: Iterable[InputFile],
    name: str = "the system",
    rows: bool = False,
    block_bytes: int = BLOCK_BYTES,
    stretch: int = STRETCH,
) -> Tally:
    """Compare two sides in this process; ScoreParses does the same on many workers."""
    pairs = stretches(outlined(gold, block_bytes), outlined(system, block_bytes), stretch)
    return Tally.sum(compare(pair, name, rows, block_bytes) for pair in pairs).agreed()
