"""WriteSentences: each shard becomes one file that is whole or not there, with its rejects beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq

from covington.conllu import format_batch
from covington.errors import OptionError
from covington.parquet import write_to
from covington.pipelines.shards import Report, Shard, count_tokens
from covington.pipelines.storage import join, read_json, whole_file, write_json

FORMATS = ("parquet", "conllu")
REJECTS = "_rejects"  # a leading underscore: tools that read the folder as a dataset pass over it
WORK = "_work"
SUMMARY = "_summary.json"


@dataclass
class WriteSentences(beam.PTransform):  # type: ignore[misc]
    """A PCollection of Shard → files in a folder, and a PCollection of one Report that sums them up.

    The names and bytes of the files depend on the shards alone. Files are written in `_work` and
    renamed when they are complete, so whoever looks at the folder never sees half of one; a shard
    that is written twice, because a worker was lost, is the same both times.

    >>> import tempfile
    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ReadSentences, WriteSentences
    >>> folder = tempfile.mkdtemp()
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     reports = pipeline | ReadSentences(str(models.sample())) | WriteSentences(folder)
    ...     _ = reports | beam.Map(lambda report: print(report.sentences, report.rejects, report.adds_up))
    42 0 True
    """

    folder: str
    format: str = "parquet"

    def __post_init__(self) -> None:
        super().__init__()
        if self.format not in FORMATS:
            raise OptionError(f"the format must be one of {', '.join(FORMATS)}, not {self.format}")

    def expand(self, shards: beam.PCollection[Shard]) -> beam.PCollection[Report]:
        return (
            shards
            | "WriteShards" >> beam.Map(write_shard, self.folder, self.format)
            | "AddUp" >> beam.CombineGlobally(Report.sum)
        )


def write_shard(shard: Shard, folder: str, format: str = "parquet") -> Report:
    """Write the files of one shard, then the mark that it is done, and report."""
    report = Report(
        shards=1,
        counted=shard.counted,
        sentences=shard.sentences.num_rows,
        rejects=shard.rejects.num_rows,
        tokens=count_tokens(shard.sentences),
        statistics=shard.statistics,
        of=shard.of,
    )
    work = join(folder, WORK)
    with whole_file(join(folder, f"{shard.name}.{format}"), work) as file:
        write_batch(shard.sentences, file, format)
    if shard.rejects.num_rows:
        with whole_file(join(folder, REJECTS, f"{shard.name}.parquet"), work) as file:
            pq.write_table(pa.table(shard.rejects), file, compression="zstd")
    write_json(done_mark(folder, shard.number), report.to_dict(), work)
    return report


def write_batch(batch: pa.RecordBatch, file: IO[bytes], format: str) -> None:
    """Write one batch into an open file."""
    if format == "conllu":
        file.write(format_batch(batch))
    else:
        write_to([batch], file)


def done_mark(folder: str, number: int) -> str:
    """The file that says that a shard is complete; a job that is taken up again looks for these."""
    return join(folder, WORK, f"done-{number:05d}.json")


def read_mark(path: str) -> tuple[int, Report]:
    """The number of a shard and its report, from its mark."""
    values: Mapping[str, object] = read_json(path)
    number = int(path.rpartition("done-")[2].removesuffix(".json"))
    return number, Report.from_dict(values)
