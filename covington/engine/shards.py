"""What moves through the pipelines: the sentences of one shard, and the report of what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from covington.corpus.columns import word_counts
from covington.parsing.parser import Statistics


@dataclass(frozen=True)
class Shard:
    """The sentences of one block of the input, those that had to be rejected, and what was counted.

    `number` and `of` depend on the input files alone. `counted` is how many sentences there must be,
    known from a count that was made before anything was read.
    """

    number: int
    of: int
    sentences: pa.RecordBatch
    rejects: pa.RecordBatch
    counted: int
    statistics: Statistics | None = None  # of the parser
    left_out: frozenset[str] = frozenset()  # columns of the input that it does not have
    model: str = ""  # the checksum of what it was parsed with

    @property
    def name(self) -> str:
        """The name that the shard has on disk, without its ending.

        >>> Shard(3, 12, None, None, 0).name
        'shard-00003-of-00012'
        >>> Shard(3, 200_000, None, None, 0).name
        'shard-000003-of-200000'
        """
        digits = max(5, len(str(self.of)))  # so that names sort like numbers
        return f"shard-{self.number:0{digits}}-of-{self.of:0{digits}}"

    def report(self) -> Report:
        """What became of its sentences, once they are written."""
        return Report(
            shards=1,
            counted=self.counted,
            sentences=self.sentences.num_rows,
            rejects=self.rejects.num_rows,
            tokens=int(word_counts(self.sentences).sum()),
            statistics=self.statistics,
            of=self.of,
            left_out=self.left_out,
            model=self.model,
        )


@dataclass(frozen=True)
class Report:
    """Sums over shards; adding reports in any order gives the same."""

    shards: int = 0
    counted: int = 0  # sentences in the input, by the count made before reading
    sentences: int = 0  # sentences written
    rejects: int = 0
    tokens: int = 0
    statistics: Statistics | None = None  # of shards that were parsed
    of: int = 0  # how many shards there must be in all
    left_out: frozenset[str] = frozenset()  # columns of Parquet that did not come out
    model: str = ""  # the checksum of what shards were parsed with

    def __add__(self, other: Report) -> Report:
        return Report(
            self.shards + other.shards,
            self.counted + other.counted,
            self.sentences + other.sentences,
            self.rejects + other.rejects,
            self.tokens + other.tokens,
            _sum(self.statistics, other.statistics),
            max(self.of, other.of),
            self.left_out | other.left_out,
            max(self.model, other.model),
        )

    @staticmethod
    def sum(reports: Iterable[Report]) -> Report:
        """The sum of any number of reports; a CombineFn for Beam as it stands."""
        total = Report()
        for report in reports:
            total += report
        return total

    @property
    def adds_up(self) -> bool:
        """Whether every shard is there and every sentence of the input came out, written or rejected."""
        return self.shards == self.of and self.counted == self.sentences + self.rejects

    def to_dict(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)} | {
            "statistics": _told(self.statistics) if self.statistics else {},
            "left_out": sorted(self.left_out),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Report:
        found = {one.name: values[one.name] for one in fields(Report)}
        statistics = Statistics(**found["statistics"]) if found["statistics"] else None
        return Report(**found | {"statistics": statistics, "left_out": frozenset(found["left_out"])})


class EarlierReport(Report):
    """The report of a job that was finished before it was started again."""


def _told(statistics: Statistics) -> dict[str, Any]:
    """All that is counted without gold trees."""
    return {name: value for name, value in asdict(statistics).items() if not name.startswith("repairs_")}


def _sum(one: Statistics | None, other: Statistics | None) -> Statistics | None:
    return one + other if one and other else one or other
