"""What freezing costs: a model of 16-bit weights, pruned or not, against the averaged weights as they are.

python -m benchmarks.rounding TREEBANK...    # folders with *train* and *test* CoNLL-U; prints a table
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.report import table
from covington.corpus.columns import word_counts
from covington.corpus.reading import read_sentences
from covington.features import encoding
from covington.features.program import Program
from covington.features.walk import Walk
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import UPDATE, Weights
from covington.learning.survey import Survey, survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from covington.transition.systems import make_system

PRUNED = (0.1, 0.3, 1.0)

Arcs = list[tuple[int, str]]  # head and label of every word of a sentence


class Exact:
    """The greedy loop in double precision: slow, and with nothing of the frozen model in it."""

    def __init__(self, weights: Weights, options: TrainingOptions, found: Survey) -> None:
        arrays = weights.arrays()
        self._averages = arrays["sums"] / (weights.steps * float(UPDATE))
        self._classes = arrays["classes"].astype(np.int64)
        starts = np.concatenate(([0], arrays["ends"])).tolist()
        self._rows = dict(zip(arrays["keys"].tolist(), pairwise(starts), strict=True))
        self._options, self._found = options, found
        self._labels = len(found.label_list)

    def parse(self, batch: pa.RecordBatch) -> list[Arcs]:
        program = Program(self._found.templates(self._options))
        encoded = encoding.encode(batch, program.attributes, self._options.tag)
        lengths = word_counts(batch).tolist()
        return [
            self._parse(
                Walk(
                    program, encoded, row, make_system(self._options.oracle, self._options.root == "explicit")
                ),
                length,
            )
            for row, length in enumerate(lengths)
        ]

    def _parse(self, walk: Walk, length: int) -> Arcs:
        names, first = self._found.label_list, 0 if self._options.root == "explicit" else 1
        while walk.focus[1] <= length:
            walk.take(*(self._best(walk) if walk.focus[0] >= first else ("Shift", -1)))
        arcs = {word: (head, names[label]) for head, word, label in walk.arcs}
        return [arcs.get(word, (0, self._found.root_label)) for word in range(1, length + 1)]

    def _best(self, walk: Walk) -> tuple[str, int]:
        scores = np.zeros(self._found.classes(self._options).count)
        for key in walk.features().values():
            if key in self._rows:
                row = slice(*self._rows[key])
                scores[self._classes[row]] += self._averages[row]
        best, name, label = scores[0], "Shift", -1
        for other, its_label, score in self._choices(walk, scores):
            if score > best:
                best, name, label = score, other, its_label
        return name, label

    def _choices(self, walk: Walk, scores: Any) -> Iterator[tuple[str, int, float]]:
        yield "NoArc", -1, scores[1]
        heads = {word: head for head, word, _ in walk.arcs}
        i, j = walk.focus
        for side, (name, word, head) in enumerate((("LeftArc", i, j), ("RightArc", j, i))):
            plain = scores[2 + side * self._labels :][: self._labels]
            repair = word in heads or _is_above(heads, word, head)
            if word == 0 or (repair and self._options.monotonic):
                continue
            label = int(np.argmax(plain))
            own = repair and self._options.own_repairs
            yield name, label, scores[2 + 2 * self._labels + side] if own else plain[label]


def _is_above(heads: dict[int, int], word: int, other: int) -> bool:
    while other != word and other in heads:
        other = heads[other]
    return other == word


def measure(folder: Path, options: TrainingOptions) -> list[list[str]]:
    """Rows of the table for one treebank."""
    train, test = (_whole(folder, part) for part in ("train", "test"))
    found = survey([train])
    weights, shard = Weights(found.classes(options).count), prepare([train], options, found)
    for epoch in range(1, options.epochs + 1):
        train_epoch(weights, shard, epoch)
    gold, exact = _arcs(test), Exact(weights, options, found).parse(test)
    rows = [[folder.name, "as they are", *_scores(gold, exact), "", ""]]
    with tempfile.TemporaryDirectory() as work:
        for prune in (0.0, *PRUNED):
            path = Path(work) / "model"
            freeze(weights, options, found, path, prune=prune)
            parsed = _arcs(Parser.load(path).parse(test, single_root=False))
            differ = sum(
                a != b for x, y in zip(exact, parsed, strict=True) for a, b in zip(x, y, strict=True)
            )
            name = f"frozen, below {prune:g} left out" if prune else "frozen"
            size = f"{path.stat().st_size / 1e6:.1f}"
            rows.append([folder.name, name, *_scores(gold, parsed), f"{differ:,}", size])
    return rows


def _whole(folder: Path, part: str) -> pa.RecordBatch:
    files = sorted(folder.glob(f"*{part}*.conllu*"))
    batches = [batch for file in files for batch in read_sentences(file)]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _arcs(batch: pa.RecordBatch) -> list[Arcs]:
    columns = (batch.column("head").to_pylist(), batch.column("deprel").to_pylist())
    return [list(zip(heads, labels, strict=True)) for heads, labels in zip(*columns, strict=True)]


def _scores(gold: list[Arcs], system: list[Arcs]) -> tuple[str, str]:
    pairs = [pair for x, y in zip(gold, system, strict=True) for pair in zip(x, y, strict=True)]
    uas = sum(a[0] == b[0] for a, b in pairs) / len(pairs)
    las = sum(a == b for a, b in pairs) / len(pairs)
    return f"{100 * uas:.2f}", f"{100 * las:.2f}"


def main(folders: Sequence[str]) -> None:
    options = TrainingOptions(templates="paper")
    rows = [row for folder in folders for row in measure(Path(folder), options)]
    header = ["treebank", "weights", "UAS", "LAS", "words that differ", "MB"]
    print("\n".join(table(header, rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
