"""ScoreParses: gold and parsed shards become one set of counts, wherever the sentences were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa

from covington.alignment import align
from covington.evaluation import Counts, count
from covington.pipelines.shards import Shard

_STRETCH = 2_000  # sentences that are compared at a time
Key = tuple[str, int]


@dataclass
class ScoreParses(beam.PTransform):  # type: ignore[misc]
    """{"gold": PCollection of Shard, "system": PCollection of Shard} → a PCollection of one Counts.

    Sentences are paired by their position in the file, and with `by_source` also by the name of the file
    (a system's output keeps the name of the file that it was parsed from). Ids and words must agree: the
    first sentence that is missing on one side, or not the same, is an error that names it.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ParseSentences, ReadSentences, ScoreParses
    >>> from covington.scores import scores
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     gold = pipeline | ReadSentences(str(models.sample()))
    ...     counts = {"gold": gold, "system": gold | ParseSentences("en_ewt")} | ScoreParses()
    ...     _ = counts | beam.Map(lambda counts: print(scores(counts, "en_ewt")["tokens"]))
    350
    """

    name: str = "the system"
    by_source: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def expand(self, sides: Mapping[str, beam.PCollection[Shard]]) -> beam.PCollection[Counts]:
        stretches = {
            side: sides[side] | f"Cut{side.title()}" >> beam.FlatMap(cut, self.by_source)
            for side in ("gold", "system")
        }
        return (
            stretches
            | "PairUp" >> beam.CoGroupByKey()
            | "Compare" >> beam.Map(compare, self.name)
            | "AddUp" >> beam.CombineGlobally(Counts.sum)
        )


def cut(shard: Shard, by_source: bool = False) -> Iterator[tuple[Key, pa.RecordBatch]]:
    """The sentences of a shard in stretches of positions, the same for all shards of a file."""
    sentences = shard.sentences
    stretch = sentences.column("position").to_numpy() // _STRETCH
    edges = np.flatnonzero(np.diff(stretch, prepend=-1))
    for start, end in zip(edges, [*edges[1:], len(stretch)], strict=True):
        source = str(sentences.column("source")[start]) if by_source else ""
        # taken and not sliced: a slice drags its whole batch along when it is sent somewhere
        yield (source, int(stretch[start])), sentences.take(np.arange(start, end))


def compare(pair: tuple[Key, Mapping[str, Iterable[pa.RecordBatch]]], name: str) -> Counts:
    """Count how the two sides of one stretch agree."""
    gold, system = (sorted(pair[1][side], key=_first_position) for side in ("gold", "system"))
    return Counts.sum(count(*aligned) for aligned in align(gold, system, name))


def _first_position(batch: pa.RecordBatch) -> int:
    return int(batch.column("position")[0].as_py())
