"""The parser for Beam's RunInference, for people who have a pipeline of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import pyarrow as pa
from apache_beam.ml.inference.base import ModelHandler

from covington import models
from covington.engine.model import Model
from covington.engine.work import DEFAULTS, ParseOptions, parse_batch
from covington.parsing.parser import Parser


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

    def __init__(self, model: str | PathLike[str] = models.DEFAULT, options: ParseOptions = DEFAULTS) -> None:
        super().__init__()
        self._model, self._options = Model.pin(fspath(model)), options

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
