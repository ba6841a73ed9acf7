"""ParseSentences: shards of sentences become shards of parsed sentences; and the same for RunInference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.ml.inference.base import ModelHandler
from apache_beam.utils.shared import Shared

from covington import models
from covington.errors import OptionError
from covington.parser import Parser, Statistics
from covington.pipelines.model import Model
from covington.pipelines.shards import Shard, count_tokens


@dataclass(frozen=True)
class ParseOptions:
    """How to parse: what Parser.parse takes besides the batch."""

    threads: int = 1  # of each worker process, for each batch
    single_root: bool = True
    max_length: int | None = None
    confidence: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise OptionError(f"threads must be at least 1, not {self.threads}")
        if self.max_length is not None and self.max_length < 1:
            raise OptionError(f"max_length must be at least 1, not {self.max_length}")


DEFAULTS = ParseOptions()


@dataclass
class ParseSentences(beam.PTransform):  # type: ignore[misc]
    """A PCollection of Shard → the same shards with heads and relations filled in.

    The model is a name in the box, a path or a URI. Only its name and checksum travel; every worker
    process maps the file once, and all its threads share it.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ParseSentences, ReadSentences
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     shards = pipeline | ReadSentences(str(models.sample())) | ParseSentences("en_ewt")
    ...     _ = shards | beam.Map(lambda shard: print(shard.sentences.column("head")[0]))
    [3, 3, 7, 6, 6, 3, 0, 7, 10, 7, 7]
    """

    model: str | Model = models.DEFAULT
    options: ParseOptions = DEFAULTS
    _pinned: Model = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__init__()
        self._pinned = Model.pin(self.model) if isinstance(self.model, str) else self.model

    def expand(self, shards: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        return shards | beam.ParDo(_Parse(self._pinned, self.options))


def parse_shard(shard: Shard, parser: Parser, options: ParseOptions = DEFAULTS) -> Shard:
    """Parse the sentences of one shard."""
    statistics = Statistics()
    parsed = parse_batch(shard.sentences, parser, options, statistics)
    return replace(shard, sentences=parsed, statistics=statistics_as_dict(statistics))


def parse_batch(
    sentences: pa.RecordBatch, parser: Parser, options: ParseOptions, statistics: Statistics | None = None
) -> pa.RecordBatch:
    """Parse one batch as the options say."""
    return parser.parse(
        sentences,
        threads=options.threads,
        single_root=options.single_root,
        max_length=options.max_length,
        confidence=options.confidence,
        statistics=statistics,
    )


def statistics_as_dict(statistics: Statistics) -> dict[str, int]:
    """The counts of the parser by name."""
    return {one.name: int(getattr(statistics, one.name)) for one in fields(statistics)}


class _Parse(beam.DoFn):  # type: ignore[misc]
    """Holds the name of the model; the model itself is loaded where the work is done, once per process."""

    def __init__(self, model: Model, options: ParseOptions) -> None:
        self._model, self._options = model, options
        self._shared = Shared()
        self._counters = {
            name: beam.metrics.Metrics.counter("covington", name)
            for name in ("sentences", "tokens", "rejects", "transitions", "non_monotonic")
        }

    def setup(self) -> None:
        self._loaded = self._shared.acquire(lambda: _Loaded(self._model.load()), tag=self._model.checksum)

    def process(self, shard: Shard) -> Iterator[Shard]:
        parsed = parse_shard(shard, self._loaded.parser, self._options)
        counts = parsed.statistics
        self._counters["sentences"].inc(parsed.sentences.num_rows)
        self._counters["tokens"].inc(count_tokens(parsed.sentences))
        self._counters["rejects"].inc(parsed.rejects.num_rows)
        self._counters["transitions"].inc(sum(counts.get(name, 0) for name in TRANSITIONS))
        self._counters["non_monotonic"].inc(counts.get("non_monotonic", 0))
        yield parsed


TRANSITIONS = ("shift", "no_arc", "left_arc", "right_arc")


class _Loaded:
    """Something that Shared can hold a weak reference to."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser


class CovingtonModelHandler(ModelHandler[pa.RecordBatch, pa.RecordBatch, Parser]):  # type: ignore[misc]
    """The parser for Beam's RunInference: record batches of the SENTENCE schema in, parsed ones out.

    >>> import apache_beam as beam
    >>> from apache_beam.ml.inference.base import RunInference
    >>> import covington
    >>> from covington import models
    >>> from covington.pipelines import CovingtonModelHandler
    >>> batches = list(covington.read_conllu(str(models.sample()), batch_size=21))
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     parsed = pipeline | beam.Create(batches) | RunInference(CovingtonModelHandler("en_ewt"))
    ...     _ = parsed | beam.Map(lambda batch: print(batch.num_rows))
    21
    21
    """

    def __init__(self, model: str = models.DEFAULT, options: ParseOptions = DEFAULTS) -> None:
        super().__init__()
        self._model, self._options = Model.pin(model), options

    def load_model(self) -> Parser:
        return self._model.load()

    def run_inference(
        self,
        batch: Sequence[pa.RecordBatch],
        model: Parser,
        inference_args: Mapping[str, Any] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        return (parse_batch(one, model, self._options) for one in batch)

    def update_model_path(self, model_path: str | None = None) -> None:
        if model_path:
            self._model = Model.pin(model_path)

    def get_num_bytes(self, batch: Sequence[pa.RecordBatch]) -> int:
        return sum(one.nbytes for one in batch)

    def get_metrics_namespace(self) -> str:
        return "covington"

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        # an element is a batch of some thousand sentences already
        return {"min_batch_size": 1, "max_batch_size": 1}
