"""The parser: loads a model and fills in heads and labels, Arrow in and Arrow out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.ma
import pyarrow as pa

from covington import models
from covington.arrow import arrays
from covington.corpus.columns import heads_of, word_counts
from covington.errors import ModelError, OptionError
from covington.features import encoding
from covington.features.program import Program
from covington.model import file as model_file
from covington.model.inventory import Inventory
from covington.model.options import TrainingOptions
from covington.model.parts import has_parts
from covington.parsing.decoder import Decoder
from covington.schemas import MOST_WORDS, PARSE
from covington.scorers.frozen import FrozenWeights
from covington.scorers.linear import LinearScorer
from covington.transition.classes import Classes
from covington.transition.systems import make_system

if TYPE_CHECKING:
    from covington.segmentation.segmenter import Segmenter

#: flags of sentences
TOO_LONG = "too-long"  # not parsed
UNTAGGED = "untagged"  # parsed, but no word has a tag that the model knows, where it looks for tags
#: the arrays of a model file, by the names that FrozenWeights takes them
ARRAYS = ("classes", "regions", "common", "rows", "rare", "gate_filter")


@dataclass
class Statistics:
    """What the parser did; statistics of parts add up."""

    sentences: int = 0
    tokens: int = 0
    unparsed: int = 0
    untagged: int = 0  # sentences without a tag that the model knows
    filled: dict[str, int] = field(default_factory=dict)  # by column: words that have something in it
    unknown: dict[str, int] = field(default_factory=dict)  # ... a tag that the model has not met
    taken: dict[str, int] = field(default_factory=dict)  # by transition: how often
    arcs: int = 0  # transitions that built an arc
    non_monotonic: int = 0  # arc transitions that took an arc away
    repairs_to_gold: int = 0  # of these, the ones that built a gold arc (when gold trees were there)
    repairs_harmful: int = 0  # ... that took a gold arc away and built a wrong one

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            *(_sum(a, b) for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True))
        )

    def add(self, **counts: int | dict[str, int]) -> None:
        for name, count in counts.items():
            setattr(self, name, _sum(getattr(self, name), count))

    @property
    def transitions(self) -> int:
        return sum(self.taken.values())


def _sum(one: Any, other: Any) -> Any:
    """Of two counts, or of two tables of counts by name."""
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}
    return one + other


class Parser:
    """A loaded model; one parser serves any number of threads."""

    segmenter: Segmenter | None = None  # of a model that reads text

    def __init__(self, model: model_file.ModelFile) -> None:
        self.metadata = model.metadata
        self.checksum = model.checksum
        try:
            self.options = TrainingOptions.from_dict(self.metadata["options"])
            self.labels = [_label(label) for label in self.metadata["labels"]]
            self.scale = float(self.metadata["scale"])
            self.inventory = Inventory(self.metadata["columns"], self.metadata["tags"], self.options.tag)
            self._program = Program([str(name) for name in self.metadata["templates"]])
            self._root_label = self.labels.index(self.metadata["root_label"])
            self._single_root = not self.metadata.get("many_roots", False)
            self._system = make_system(self.options.oracle, self.options.root == "explicit")
            classes = Classes(self._system, len(self.labels), self.options.own_repairs)
            self._weights = FrozenWeights(classes, **{name: model.arrays[name] for name in ARRAYS})
            self._free_decoders: list[Decoder] = []
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError(f"{model.path}: not a parser's model ({error})") from error

    @classmethod
    def load(cls, name: str | PathLike[str]) -> Parser:
        """Load a model by its path, or by its name if it is a bundled one."""
        is_bundled = isinstance(name, str) and models.is_name(name)
        found = model_file.read(models.path(str(name)) if is_bundled else name)
        if has_parts(found):
            from covington.parsing.text_parser import TextParser  # which is a parser itself

            return TextParser(found)
        return cls(found)

    def __reduce__(self) -> Any:
        raise TypeError("a Parser is not sent anywhere: send the path of its model")

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
        """Fill in `head` and `deprel`, and add the columns of schemas.PARSE.

        With `single_root` every sentence gets one root, without it there can be several; if nothing is said, it is
        as the trees were that the model has learnt from. Sentences of more words than `max_length` come back
        unparsed with the flag `too-long`; those without a tag that the model knows, in the column that it reads, are
        parsed all the same and get the flag `untagged`. With `confidence` every arc gets the score margin by which
        its transition won (no probability; null where none built the arc). With `gold` the trees in the batch are
        used for the error-analysis counts in `statistics`.
        """
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(
                f"a RecordBatch is parsed, not a {type(batch).__name__}; Table.to_batches() gives some"
            )
        if threads < 1:
            raise OptionError(f"threads {threads} must be 1 or more")
        one_root = self._single_root if single_root is None else single_root
        longest = MOST_WORDS if max_length is None else min(max_length, MOST_WORDS)
        lengths = word_counts(batch)
        sentences = encoding.encode(batch, self._program.attributes, self.options.tag)
        gold_heads = heads_of(batch, lengths) if gold else None
        heads = np.zeros(sentences.tokens, dtype=np.int32)
        labels = np.full(sentences.tokens, -1, dtype=np.int32)
        margins = np.full(sentences.tokens, np.nan, dtype=np.float32) if confidence else None

        def work(span: tuple[int, int]) -> tuple[list[int], int, int, int]:
            with self._decoder() as decoder:
                decoder.run(sentences, *span, longest, one_root, heads, labels, margins, gold_heads)
                return decoder.take_counts()

        spans = _spans(lengths, threads)
        if len(spans) == 1:
            counts = [work(spans[0])]
        else:
            with ThreadPoolExecutor(len(spans)) as pool:
                counts = list(pool.map(work, spans))
        too_long = lengths > longest
        found = self.inventory.coverage(batch, lengths)
        untagged = found.untagged & ~too_long
        if statistics is not None:
            statistics.add(
                sentences=batch.num_rows,
                tokens=int(lengths.sum()),
                unparsed=int(too_long.sum()),
                untagged=int(untagged.sum()),
                filled=found.filled,
                unknown=found.unknown,
            )
            for taken, repairs, to_gold, harmful in counts:
                statistics.add(
                    taken=dict(zip(self._system.transitions, taken, strict=True)),
                    arcs=sum(taken[self._system.unlabelled :]),
                    non_monotonic=repairs,
                    repairs_to_gold=to_gold,
                    repairs_harmful=harmful,
                )
        flags = flags_of({TOO_LONG: too_long, UNTAGGED: untagged})
        return self._filled(batch, lengths, heads, labels, margins, too_long, flags)

    def trace(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The transitions of the first sentence of a batch, forced Shifts left out."""
        sentences = encoding.encode(batch.slice(0, 1), self._program.attributes, self.options.tag)
        steps = []
        with self._decoder() as decoder:
            taken = decoder.trace(sentences)
            decoder.take_counts()  # they are of no statistics
        for i, j, transition, label, score, margin in taken:
            steps.append(
                {
                    "i": i,
                    "j": j,
                    "transition": self._system.transitions[transition],
                    "label": None if label < 0 else self.labels[label],
                    "score": score * self.scale,
                    "margin": margin * self.scale,
                }
            )
        return steps

    @contextmanager
    def _decoder(self) -> Iterator[Decoder]:
        """A decoder that no other thread has; those that are free remember what they have met."""
        try:
            decoder = self._free_decoders.pop()
        except IndexError:
            scorer = LinearScorer(self._weights, self._program, self._system, self.scale)
            decoder = Decoder(self._system, scorer, self._root_label)
        yield decoder
        self._free_decoders.append(decoder)  # not after an error, which leaves a sentence half parsed

    def _filled(
        self,
        batch: pa.RecordBatch,
        lengths: Any,
        heads: Any,
        labels: Any,
        margins: Any,
        too_long: Any,
        flags: pa.ListArray,
    ) -> pa.RecordBatch:
        """The batch with its new columns."""
        parsed = np.repeat(~too_long, lengths) if too_long.any() else None
        deprel = pa.DictionaryArray.from_arrays(arrays.numbers(labels, parsed), arrays.strings(self.labels))
        rows = batch.num_rows
        if margins is None:
            confidence = pa.nulls(rows, PARSE.field("confidence").type)
        else:
            confidence = arrays.lists(
                lengths, arrays.numbers(margins * np.float32(self.scale), ~np.isnan(margins))
            )
        new = {
            "head": arrays.lists(lengths, arrays.numbers(heads.astype(np.uint16), parsed)),
            "deprel": arrays.lists(lengths, deprel.cast(pa.string())),
            "model": arrays.repeated(self.checksum, rows),
            "flags": flags,
            "confidence": confidence,
        }
        columns = {name: batch.column(name) for name in batch.schema.names} | new
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _label(text: object) -> str:
    """A label of a model, if it can be written; a ValueError tells of any other."""
    label = str(text)
    if set(label) & set("\t\n\r"):
        raise ValueError(f"label {label!r}")
    label.encode()  # no half characters
    return label


def flags_of(rows: dict[str, Any]) -> pa.ListArray:
    """For each row the names of what holds for it."""
    held = np.stack(list(rows.values()), axis=1)
    return arrays.lists(held.sum(axis=1), arrays.strings([*rows]).take(arrays.numbers(np.nonzero(held)[1])))


def _spans(lengths: Any, threads: int) -> list[tuple[int, int]]:
    """Runs of sentences with about the same number of words for each thread."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.searchsorted(ends, [total * part / threads for part in range(1, threads)], side="left") + 1
    edges = sorted({0, len(lengths), *(int(cut) for cut in cuts if cut < len(lengths))})
    return list(pairwise(edges)) or [(0, 0)]
