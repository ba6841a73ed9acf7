"""Training of a model that reads text: a segmenter, a network that tags and parses, and a lemmatiser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import pyarrow as pa

from covington._version import __version__
from covington.corpus.columns import word_counts
from covington.errors import DataError, OptionError
from covington.lemmas.learning import learn_lemmatiser
from covington.model.parts import LEMMATISER, NAMES, NETWORK, SEGMENTER, Part, write_parts
from covington.network.network import train_network
from covington.network.options import NetworkOptions
from covington.network.training import EpochReport
from covington.segmentation.learning import learn_segmenter


@dataclass(frozen=True)
class TextTraining:
    """What is learnt from which sentences; `notice` is told of every part that is begun or left out."""

    train: Sequence[pa.RecordBatch]
    dev: Sequence[pa.RecordBatch]
    options: NetworkOptions = field(default_factory=NetworkOptions)
    parts: Sequence[str] = NAMES
    progress: Callable[[EpochReport], Any] = lambda report: None
    notice: Callable[[str], Any] = lambda text: None

    def __post_init__(self) -> None:
        if unknown := set(self.parts) - set(NAMES):
            raise OptionError(f"part {sorted(unknown)[0]!r} is none of {', '.join(NAMES)}")
        if NETWORK not in self.parts:
            raise OptionError("a model without a network makes no trees")

    def run(self, path: str | PathLike[str]) -> str:
        """Learn every part that the data allow, write the model and return its checksum."""
        parts: dict[str, Part] = {}
        if SEGMENTER in self.parts:
            self.notice("learning where tokens and sentences end")
            parts[SEGMENTER] = Part(*learn_segmenter(self.train, dev=self.dev or None))
        if LEMMATISER in self.parts:
            if _has(self.train, "lemmas"):
                self.notice("learning lemmas")
                parts[LEMMATISER] = Part(*learn_lemmatiser(self.train))
            else:
                self.notice("no lemmas are learnt: the treebank has none")
        self.notice("learning tags and trees")
        parts[NETWORK] = Part(*train_network(self.train, self.dev, self.options, self.progress))
        sentences = sum(batch.num_rows for batch in self.train)
        tokens = sum(int(word_counts(batch).sum()) for batch in self.train)
        facts = {"version": __version__, "training": {"sentences": sentences, "tokens": tokens}}
        return write_parts(path, {name: parts[name] for name in NAMES if name in parts}, facts)


def _has(batches: Iterable[pa.RecordBatch], column: str) -> bool:
    for batch in batches:
        if column in batch.schema.names:
            values = batch.column(column).flatten()
            if len(values) > values.null_count:
                return True
    return False


def not_empty(batches: Iterable[pa.RecordBatch], what: str) -> list[pa.RecordBatch]:
    """All sentences of a treebank; DataError where there are none."""
    found = [batch for batch in batches if batch.num_rows]
    if not found:
        raise DataError(f"{what} has no sentences")
    return found
