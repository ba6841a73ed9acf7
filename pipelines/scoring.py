"""ScoreParses: gold trees and parses of them become one tally, wherever they are read and however they are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

import apache_beam as beam

from covington.engine.blocks import BLOCK_BYTES, Piece, cut
from covington.engine.pairing import STRETCH, Outline, Stretch, outlines, stretches
from covington.engine.tally import Tally, compare
from covington.files.storage import InputFile, list_inputs

Side = str | PathLike[str] | Sequence[str | PathLike[str]] | Sequence[InputFile]


@dataclass(eq=False)
class ScoreParses(beam.PTransform):  # type: ignore[misc]
    """Gold and system, files both → a PCollection of one Tally, whose `counts` become scores.

    Both sides are files, folders or globs of CoNLL-U or Parquet. The n-th sentence of one side, in the
    order of `source` and `position`, faces the n-th of the other, whatever files they are in; a folder that
    WriteSentences made has kept both from the corpus. The first sentence that is missing on one side, or
    whose id or words are not the same, is an error that names it. `name` is how errors call the system,
    and `rows` keeps the scores of every sentence, for covington.evaluation.significance.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ScoreParses
    >>> from covington.evaluation.scores import scores
    >>> gold = parsed = str(models.sample())
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     tallies = pipeline | ScoreParses(gold, parsed)
    ...     _ = tallies | beam.Map(lambda tally: print(scores(tally.counts, "gold itself")["las"]))
    100.0
    """

    gold: Side
    system: Side
    name: str = "the system"
    rows: bool = False
    block_bytes: int = BLOCK_BYTES
    stretch: int = STRETCH

    def __post_init__(self) -> None:
        super().__init__()
        self.files = [
            (side, file) for side, given in enumerate((self.gold, self.system)) for file in listed(given)
        ]

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Tally]:
        return (
            pipeline
            | "ListFiles" >> beam.Create(self.files)
            | "CutFiles" >> beam.FlatMap(_cut, self.block_bytes)
            | "ShareOutPieces" >> beam.Reshuffle()
            | "OutlineBlocks" >> beam.FlatMap(_outlines, self.block_bytes)
            | "BringOutlinesTogether" >> beam.combiners.ToList()
            | "PairUp" >> beam.FlatMap(_stretches, self.stretch)
            | "ShareOutStretches" >> beam.Reshuffle()
            | "Compare" >> beam.Map(compare, self.name, self.rows, self.block_bytes)
            | "AddUp" >> beam.CombineGlobally(AddTallies())
            | "Agree" >> beam.Map(Tally.agreed)
        )


class AddTallies(beam.CombineFn):  # type: ignore[misc]
    """The sum of tallies, on as many machines as there are."""

    def create_accumulator(self) -> Tally:
        return Tally()

    def add_input(self, accumulator: Tally, tally: Tally) -> Tally:
        return accumulator + tally

    def merge_accumulators(self, accumulators: Iterable[Tally]) -> Tally:
        return Tally.sum(accumulators)

    def extract_output(self, accumulator: Tally) -> Tally:
        return accumulator


def listed(side: Side) -> list[InputFile]:
    """The files of a side, which may have been listed before."""
    given = [side] if isinstance(side, (str, PathLike)) else side
    files = [file for file in given if isinstance(file, InputFile)]
    return files or list_inputs([fspath(pattern) for pattern in given if not isinstance(pattern, InputFile)])


def _cut(given: tuple[int, InputFile], block_bytes: int) -> list[tuple[int, Piece]]:
    return [(given[0], piece) for piece in cut(given[1], block_bytes)]


def _outlines(given: tuple[int, Piece], block_bytes: int) -> list[tuple[int, Outline]]:
    return [(given[0], outline) for outline in outlines(given[1], block_bytes)]


def _stretches(found: Sequence[tuple[int, Outline]], least: int) -> Iterable[Stretch]:
    gold, system = ([outline for side, outline in found if side == wanted] for wanted in (0, 1))
    return stretches(gold, system, least)
