"""A learnt lemmatiser: an annotator that reads words and tags and writes lemmas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from covington.errors import ModelError
from covington.lemmas.annotator import Annotator
from covington.lemmas.model import Core

FORMAT = 1


class Lemmatiser:
    """Metadata and arrays of a model, checked; threads may share it."""

    writes = ("lemmas",)

    def __init__(self, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.metadata = dict(metadata)
        if self.metadata.get("format") != FORMAT or self.metadata.get("tags") not in (
            [],
            ["feats"],
            ["xpos"],
            ["xpos", "feats"],
        ):
            raise ModelError("the lemmatiser of the model is of another version: train the model anew")
        self._annotator = Annotator(Core(self.metadata, dict(arrays)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that lemmas depend on."""
        return ("tokens", "upos", *self.metadata["tags"])

    def annotate(self, batch: pa.RecordBatch, *, replace: bool = False) -> pa.RecordBatch:
        """The batch with lemmas: sentences that have some keep theirs, unless they are to be replaced."""
        return self._annotator.annotate(batch, replace)
