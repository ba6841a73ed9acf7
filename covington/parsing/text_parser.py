"""A parser for text: a segmenter, a network that tags and parses, and a lemmatiser, from one model file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.arrow import arrays
from covington.corpus.columns import word_counts
from covington.errors import ModelError, OptionError
from covington.lemmas.lemmatiser import Lemmatiser
from covington.model.file import ModelFile
from covington.model.parts import LEMMATISER, NETWORK, SEGMENTER, parts_of
from covington.network.network import Network
from covington.parsing.parser import TOO_LONG, Parser, Statistics, flags_of
from covington.schemas import MOST_WORDS, PARSE
from covington.segmentation.segmenter import Segmenter


class TextParser(Parser):
    """A loaded model of several parts; one parser serves any number of threads."""

    def __init__(self, model: ModelFile) -> None:
        self.metadata = model.metadata
        self.checksum = model.checksum
        parts = parts_of(model)
        try:
            self._network = Network(*parts[NETWORK])
            self.segmenter = Segmenter(*parts[SEGMENTER]) if SEGMENTER in parts else None
            self._lemmatiser = Lemmatiser(*parts[LEMMATISER]) if LEMMATISER in parts else None
        except ModelError as error:
            raise ModelError(f"{model.path}: {error}") from error

    def parse(
        self,
        batch: pa.RecordBatch,
        *,
        threads: int = 1,
        single_root: bool | None = None,
        max_length: int | None = None,
        confidence: bool = False,
        gold: bool = False,
        statistics: Statistics | None = None,
    ) -> pa.RecordBatch:
        """Fill in tags, lemmas, `head` and `deprel`, and add the columns of schemas.PARSE.

        Tags and lemmas that a sentence has are kept. Sentences of more words than `max_length` come back without a tree
        and with the flag `too-long`. With `confidence` every arc gets how likely it is to be right.
        """
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(
                f"a RecordBatch is parsed, not a {type(batch).__name__}; Table.to_batches() gives some"
            )
        if gold:
            raise OptionError("repairs of gold trees are counted for linear models only")
        lengths = word_counts(batch)
        longest = MOST_WORDS if max_length is None else min(max_length, MOST_WORDS)
        too_long = lengths > longest
        filled = self._network.annotate(
            batch, threads=threads, single_root=single_root, max_length=longest, confidence=confidence
        )
        if self._lemmatiser:
            filled = self._lemmatiser.annotate(filled)
        if statistics is not None:
            statistics.add(sentences=batch.num_rows, tokens=int(lengths.sum()), unparsed=int(too_long.sum()))
        rows = batch.num_rows
        new = {"model": arrays.repeated(self.checksum, rows), "flags": flags_of({TOO_LONG: too_long})}
        if not confidence:
            new["confidence"] = pa.nulls(rows, PARSE.field("confidence").type)
        columns = {name: filled.column(name) for name in filled.schema.names} | new
        if too_long.any():  # a tree that such a sentence had before is not the parser's
            parsed = pa.array(np.repeat(~too_long, lengths))
            for name in ("head", "deprel"):
                values = columns[name].flatten()
                columns[name] = arrays.lists(
                    lengths, pc.if_else(parsed, values, pa.scalar(None, values.type))
                )
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def trace(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        raise OptionError("transitions are traced for linear models only; this model is a network")
