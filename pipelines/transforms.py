"""The transforms: ReadSentences, ParseSentences and WriteSentences, wiring only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath

import apache_beam as beam
from apache_beam.utils.shared import Shared

from covington import models
from covington.engine import blocks
from covington.engine.blocks import BLOCK_BYTES
from covington.engine.model import Model
from covington.engine.shards import Report, Shard
from covington.engine.work import (
    DEFAULTS,
    FORMATS,
    ParseOptions,
    close_folder,
    is_ours,
    parse_shard,
    read_task,
    tasks,
    write_shard,
)
from covington.errors import OptionError
from covington.files.listing import real
from covington.files.storage import absolute, check_output, files_in, list_inputs
from covington.parsing.parser import Parser


@dataclass(eq=False)
class ReadSentences(beam.PTransform):  # type: ignore[misc]
    """Inputs → a PCollection of Shard.

    `inputs` are files, folders or globs of CoNLL-U (plain or compressed) or Parquet. One large CoNLL-U
    file is read by all workers, 16 MB at a time; a compressed file by one worker. The shards and their
    numbers are the same on every runner.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ReadSentences
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     shards = pipeline | ReadSentences(str(models.sample()))
    ...     _ = shards | beam.Map(lambda shard: print(shard.name, shard.sentences.num_rows))
    shard-00000-of-00001 42
    """

    inputs: str | PathLike[str] | Sequence[str]
    block_bytes: int = BLOCK_BYTES
    skip: frozenset[int] = frozenset()  # numbers of shards that are not wanted
    strict: bool = False  # the first sentence that is not well-formed ends the job

    def __post_init__(self) -> None:
        super().__init__()
        if self.block_bytes < 1:
            raise OptionError(f"block_bytes must be at least 1, not {self.block_bytes}")
        names = [self.inputs] if isinstance(self.inputs, (str, PathLike)) else self.inputs
        self.files = list_inputs([fspath(name) for name in names])

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Shard]:
        if not isinstance(pipeline, (beam.Pipeline, beam.pvalue.PBegin)):
            raise TypeError(
                "ReadSentences stands at the beginning of a pipeline; what it reads is given to it by name"
            )
        return (
            pipeline
            | "ListFiles" >> beam.Create(self.files)
            | "CutFiles" >> beam.FlatMap(blocks.cut, self.block_bytes)
            | "ShareOutPieces" >> beam.Reshuffle()
            | "CountSentences" >> beam.FlatMap(blocks.count, self.block_bytes)
            | "BringCountsTogether" >> beam.combiners.ToList()
            | "NumberBlocks" >> beam.FlatMap(tasks, self.skip)
            | "ShareOutBlocks" >> beam.Reshuffle()
            | "ReadBlocks" >> beam.FlatMap(read_task, self.block_bytes, self.strict)
        )


@dataclass(eq=False)
class ParseSentences(beam.PTransform):  # type: ignore[misc]
    """A PCollection of Shard → the same shards with heads and relations filled in.

    The model is the name of a bundled one, a path or a URI. Only its name and checksum travel; every worker
    process loads the file once, and all its threads share it. Counters of the namespace `covington` say how many
    `transitions` there were, and how many were `non_monotonic`.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ParseSentences, ReadSentences
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     shards = pipeline | ReadSentences(str(models.sample())) | ParseSentences("en_ewt")
    ...     _ = shards | beam.Map(lambda shard: print(shard.sentences.schema.names[-3:]))
    ['model', 'flags', 'confidence']
    """

    model: str | PathLike[str] | Model = models.DEFAULT
    options: ParseOptions = DEFAULTS
    _pinned: Model = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__init__()
        self._pinned = self.model if isinstance(self.model, Model) else Model.pin(fspath(self.model))

    def expand(self, shards: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        return shards | beam.ParDo(_Parse(self._pinned, self.options))


class _Parse(beam.DoFn):  # type: ignore[misc]
    """Holds the name of the model; the model itself is loaded where the work is done, once per process."""

    def __init__(self, model: Model, options: ParseOptions) -> None:
        self._model, self._options = model, options
        self._shared = Shared()
        self._counters = {
            name: beam.metrics.Metrics.counter("covington", name) for name in ("transitions", "non_monotonic")
        }

    def setup(self) -> None:
        self._loaded = self._shared.acquire(lambda: _Loaded(self._model.load()), tag=self._model.checksum)

    def process(self, shard: Shard) -> Iterator[Shard]:
        parsed = parse_shard(shard, self._loaded.parser, self._options)
        assert parsed.statistics is not None
        self._counters["transitions"].inc(parsed.statistics.transitions)
        self._counters["non_monotonic"].inc(parsed.statistics.non_monotonic)
        yield parsed


class _Loaded:
    """Something that Shared can hold a weak reference to."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser


@dataclass(eq=False)
class WriteSentences(beam.PTransform):  # type: ignore[misc]
    """A PCollection of Shard → files in a folder, and a PCollection of one Report that sums them up.

    The names and bytes of the files depend on the shards alone. Files are written in `_work` and
    renamed when they are complete, so whoever looks at the folder never sees half of one; a shard
    that is written twice, because a worker was lost, is the same both times. `_summary.json` comes
    last, when all shards are there. A folder with the results of another job is refused. The counters `sentences`,
    `tokens` and `rejects` are of what was written.

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
    job: str | None = None  # the name of one that fills the folder in several runs, as in `_work/job.json`
    strict: bool = False  # the first sentence that CoNLL-U cannot hold ends the job; else it is a reject

    def __post_init__(self) -> None:
        super().__init__()
        if self.format not in FORMATS:
            raise OptionError(f"the format must be one of {', '.join(FORMATS)}, not {self.format}")
        self.folder = absolute(fspath(self.folder))  # workers may run in other folders
        check_output(self.folder)
        if self.job is None and any(is_ours(path, self.folder) for path in files_in(self.folder)):
            raise OptionError(f"{self.folder} holds the results of another job")

    def expand(self, shards: beam.PCollection[Shard]) -> beam.PCollection[Report]:
        take_folder(shards.pipeline, self.folder)
        report = (
            shards
            | "WriteShards" >> beam.Map(_written, self.folder, self.format, self.job, self.strict)
            | "InOneWindow" >> beam.WindowInto(beam.window.GlobalWindows())
            | "AddUp" >> beam.CombineGlobally(Report.sum)
        )
        return report if self.job is not None else report | "Close" >> beam.Map(close_folder, self.folder)


def _written(shard: Shard, folder: str, format: str, job: str | None, strict: bool) -> Report:
    """Write one shard, and count what was written."""
    report = write_shard(shard, folder, format, job, strict)
    for name in ("sentences", "tokens", "rejects"):
        beam.metrics.Metrics.counter("covington", name).inc(getattr(report, name))
    return report


def take_folder(pipeline: beam.Pipeline | beam.pvalue.PBegin, folder: str) -> None:
    """Two transforms of one pipeline cannot fill one folder: their files have the same names."""
    taken = vars(getattr(pipeline, "pipeline", pipeline)).setdefault("_covington_folders", set())
    if real(folder) in taken:
        raise OptionError(f"two transforms of one pipeline write to {folder}")
    taken.add(real(folder))
