"""One run of a comparison: a system trained on a treebank with a seed, and scored.

Whatever changes in this module or in those that it imports may change what a run finds, so that finished runs are
made again: what has no part in it belongs elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from covington.corpus.columns import word_counts
from covington.corpus.reading import read_sentences
from covington.corpus.treebanks import Treebank
from covington.errors import DataError
from covington.evaluation.alignment import align
from covington.evaluation.counts import Counts, count, sentence_scores
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser, Statistics


@dataclass(frozen=True)
class Run:
    """One training and what is needed to repeat it."""

    treebank: Treebank
    system: str
    options: TrainingOptions
    curve: bool
    key: str


def train_and_score(run: Run, folder: Path) -> dict[str, Any]:
    """Train, parse dev and test, and count; the model is in the folder meanwhile."""
    began = time.perf_counter()
    for files in (run.treebank.dev, run.treebank.test):
        _want_words(files)
    train = [batch for file in run.treebank.train for batch in read_sentences(file, strict=True)]
    found = survey(train)
    shard = prepare(train, run.options, found)
    weights = Weights(found.classes(run.options).count)
    model = folder / f"{run.key}.model"
    curve: list[dict[str, float]] = []
    seconds = 0.0
    try:
        for epoch in range(1, run.options.epochs + 1):
            start = time.process_time()  # of the processor: other work on the machine does not count
            train_epoch(weights, shard, epoch)
            seconds += time.process_time() - start
            if run.curve and run.treebank.dev:
                freeze(weights, run.options, found, model)
                curve.append(_score(Parser.load(model), run.treebank.dev)[0].attachment_scores)
        freeze(weights, run.options, found, model)
        parser = Parser.load(model)
        parts = {
            part: _part(parser, files)
            for part, files in (("dev", run.treebank.dev), ("test", run.treebank.test))
            if files
        }
    finally:
        model.unlink(missing_ok=True)
    return {
        "key": run.key,
        "treebank": run.treebank.name,
        "system": run.system,
        "options": run.options.to_dict(),
        "training_tokens": found.tokens,
        "training_seconds": seconds,
        "seconds": time.perf_counter() - began,
        "model": parser.checksum,
        "curve": curve,
        **parts,
    }


def _want_words(files: Sequence[str]) -> None:
    """Files without a word have no score: an error before the training, not after it."""
    batches = (batch for file in files for batch in read_sentences(file, strict=True))
    if files and not any(word_counts(batch).any() for batch in batches):
        raise DataError("there are no words to score a parser on", source=files[0])


def _part(parser: Parser, files: Sequence[str]) -> dict[str, Any]:
    start = time.perf_counter()
    counts, sentences, statistics = _score(parser, files)
    return {
        "counts": counts.to_dict(),
        "sentences": sentences.tolist(),
        "statistics": asdict(statistics),
        "seconds": time.perf_counter() - start,
    }


def _score(parser: Parser, files: Sequence[str]) -> tuple[Counts, Any, Statistics]:
    counts, statistics = Counts(), Statistics()
    sentences = [np.zeros((0, 3), np.int64)]

    def parsed(batches: list[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return (parser.parse(batch, gold=True, statistics=statistics) for batch in batches)

    for path in files:
        gold = list(read_sentences(path, strict=True))
        for pair in align(gold, parsed(gold)):
            counts += count(*pair)
            sentences.append(sentence_scores(*pair))
    return counts, np.concatenate(sentences), statistics
