"""Trees to be looked at: sentences with their arcs, fit for a terminal and for a page."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from covington.base.text import printable
from covington.evaluation.tree_shape import projective


@dataclass(frozen=True)
class Tree:
    """One sentence, as drawn: word i has head heads[i], counted from 1; 0 is the root, None nothing."""

    words: tuple[str, ...]
    heads: tuple[int | None, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]
    sent_id: str | None = None
    text: str | None = None


def trees(batch: pa.RecordBatch) -> Iterator[Tree]:
    """The sentences of a batch."""
    columns = ["tokens", "head", "deprel", "upos", "sent_id", "text"]
    for row in batch.select(columns).to_pylist():
        nothing = [None] * len(row["tokens"])
        yield Tree(
            tuple(map(printable, row["tokens"])),
            tuple(row["head"] or nothing),
            tuple(printable(label or "_") for label in row["deprel"] or nothing),
            tuple(printable(tag or "_") for tag in row["upos"] or nothing),
            row["sent_id"] and printable(row["sent_id"]),
            row["text"] and printable(row["text"]),
        )


@dataclass(frozen=True)
class Arc:
    """An arc of the drawing; head 0 is a line that comes down on a root word."""

    head: int
    dependent: int
    label: str
    kind: str  # both, gold or predicted
    crossing: bool  # not projective in its own tree
    level: int = 0

    @property
    def left(self) -> int:
        return min(self.head, self.dependent) if self.head else self.dependent

    @property
    def right(self) -> int:
        return max(self.head, self.dependent)


def arcs_of(tree: Tree, other: Tree | None = None, *, kind: str = "both") -> list[Arc]:
    """The arcs of a tree; with another tree, those it does not share have the given kind.

    A word that is its own head has none that could be drawn.
    """
    heads = np.array([-1 if head is None else head for head in tree.heads], np.int64)
    straight = projective(heads, np.array([len(heads)]))
    arcs = []
    for place, (head, label) in enumerate(zip(tree.heads, tree.labels, strict=True)):
        if head is None or head == place + 1:
            continue
        same = other is None or (other.heads[place], other.labels[place]) == (head, label)
        arcs.append(Arc(head, place + 1, label, "both" if same else kind, not straight[place]))
    return arcs


def right_to_left(words: Iterable[str]) -> bool:
    """Whether most letters are of a script written from right to left."""
    directions = [unicodedata.bidirectional(letter) for word in words for letter in word]
    return sum(d in ("R", "AL") for d in directions) > sum(d == "L" for d in directions)
