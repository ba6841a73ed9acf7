"""The slow, literal twin of the network: float64, one word at a time, configurations as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.reference import Arc, Configuration, Transition, TransitionSystem, heads_in, path_exists, tree
from tests.reference_oracles import optimal, system_of

Array = Any
NAMES = ("Shift", "NoArc", "LeftArc", "RightArc")
LONGEST = 20


@dataclass
class Sentence:
    """What the network reads, and the gold tags (-1: unknown), heads and relations."""

    forms: Sequence[int]
    subwords: Sequence[Sequence[int]]
    tags: Sequence[Sequence[int]]
    heads: Sequence[int]
    labels: Sequence[int]


@dataclass
class Masks:
    """What dropout multiplies by, for each word: of the embeddings and of the states of both layers."""

    inputs: Array = None
    first: Array = None
    second: Array = None


@dataclass
class Found:
    """What came out for a sentence; `steps` are (i, j, probabilities of the actions, target, action)."""

    loss: float = 0.0
    tags: list[list[Array]] = field(default_factory=list)
    steps: list[tuple[int, int, list[float], int, int]] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def lstm(p: Mapping[str, Array], layer: str, inputs: Sequence[Array]) -> list[Array]:
    """The states of both directions, word by word."""
    width = len(p[f"{layer}_forward"])
    ways = []
    for number, way in enumerate(("forward", "backward")):
        part = slice(4 * width * number, 4 * width * (number + 1))
        state, cell, states = np.zeros(width), np.zeros(width), []
        for x in inputs if way == "forward" else reversed(inputs):
            sums = x @ p[f"{layer}_input"][:, part] + state @ p[f"{layer}_{way}"] + p[f"{layer}_bias"][part]
            enter, keep, out, new = np.split(sums, 4)
            cell = sigmoid(keep) * cell + sigmoid(enter) * np.tanh(new)
            state = sigmoid(out) * np.tanh(cell)
            states.append(state)
        ways.append(states if way == "forward" else states[::-1])
    return [np.concatenate(pair) for pair in zip(*ways, strict=True)]


def slot_words(c: Configuration, length: int) -> list[int]:
    """L0, R0, their heads, outermost dependents of L0, outermost and innermost left dependent of R0, R1; 0: none."""
    i, j = c.left_list[-1], c.buffer[0]
    heads = heads_in(c.arcs)
    left = lambda h: sorted(d for d, head in heads.items() if head == h and d < h)  # noqa: E731
    right = lambda h: sorted(d for d, head in heads.items() if head == h and d > h)  # noqa: E731
    edge = lambda words, place: words[place] if words else 0  # noqa: E731
    return [
        i,
        j,
        heads.get(i, 0),
        heads.get(j, 0),
        edge(left(i), 0),
        edge(right(i), -1),
        edge(left(j), 0),
        edge(left(j), -1),
        j + 1 if j < length else 0,
    ]


def table_rows(c: Configuration, labels: int) -> list[int]:
    """Bias; distance and heads; valencies; words between without a head inside; labels of L0 and R0."""
    i, j = c.left_list[-1], c.buffer[0]
    heads = heads_in(c.arcs)
    names = {arc.dependent: int(arc.label) for arc in c.arcs}

    def state(word: int, other: int) -> int:
        if word not in heads:
            return 0
        return 2 if path_exists(other, word, c.arcs) else 1

    def count(head: int, side: int) -> int:
        return min(3, sum(head_ == head and (d - head) * side > 0 for d, head_ in heads.items()))

    open_words = [w for w in range(i + 1, j) if not i <= heads.get(w, 0) <= j]
    ends = 2 * (i + 1 in open_words) + (j - 1 in open_words)
    base = 10
    distance = base + 9 * (min(j - i, LONGEST) - 1) + 3 * state(i, j) + state(j, i)
    base += 9 * LONGEST
    valency = base + 16 * count(i, -1) + 4 * count(i, 1) + count(j, -1)
    base += 64
    between = base + 4 * min(3, len(open_words)) + ends
    base += 16
    return [9, distance, valency, between, base + 1 + names.get(i, -1), base + labels + 2 + names.get(j, -1)]


class Twin:
    """The whole network over one sentence at a time."""

    def __init__(
        self, oracle: str, target: str, ends: Sequence[int], root_label: int, weights: Sequence[float] = ()
    ) -> None:
        self.weights = weights or [1.0] * (len(ends) - 1)
        self.oracle, self.target, self.ends, self.root_label = oracle, target, list(ends), root_label
        self.system: TransitionSystem = system_of(oracle, "implicit")

    def run(
        self,
        p: Mapping[str, Array],
        sentence: Sentence,
        masks: Masks | None = None,
        actions: Sequence[int] | None = None,
        learning: bool = True,
        given: bool = False,
    ) -> Found:
        """With `actions`, these are taken at the steps that have a choice; else targets (learning) or predictions."""
        found, masks = Found(), masks or Masks()
        dropped = lambda values, mask: values if mask is None else values * mask  # noqa: E731
        embedded = [
            np.concatenate((p["forms"][form], p["subwords"][list(parts)].sum(axis=0)))
            for form, parts in zip(sentence.forms, sentence.subwords, strict=True)
        ]
        first = dropped(
            np.array(lstm(p, "first", list(dropped(np.array(embedded), masks.inputs)))), masks.first
        )
        both = []
        for word, state in enumerate(first):
            scores = state @ p["tag_weights"] + p["tag_bias"]
            groups = [softmax(scores[a:b]) for a, b in zip(self.ends, self.ends[1:], strict=False)]
            found.tags.append(groups)
            for group, gold, weight in zip(groups, sentence.tags[word], self.weights, strict=True):
                found.loss -= weight * np.log(group[gold]) if gold >= 0 else 0
            read = [
                np.eye(len(group))[gold] if given and gold >= 0 else group
                for group, gold in zip(groups, sentence.tags[word], strict=True)
            ]
            both.append(np.concatenate((state, np.concatenate(read) @ p["tag_table"])))
        second = dropped(np.array(lstm(p, "second", both)), masks.second)
        words = [np.maximum(0, state @ p["bottleneck"] + p["bottleneck_bias"]) for state in second]
        self._roll_out(p, sentence, words, found, actions, learning)
        if learning:
            for word, head in enumerate(sentence.heads, 1):
                if head:
                    found.loss -= np.log(self._label(p, words, head, word)[sentence.labels[word - 1]])
        return found

    def _label(self, p: Mapping[str, Array], words: Sequence[Array], head: int, dependent: int) -> Array:
        width = p["label_tables"].shape[1]
        distance = max(-LONGEST, min(LONGEST, dependent - head)) + LONGEST
        hidden = (
            words[head - 1] @ p["label_parts"][:, :width] + words[dependent - 1] @ p["label_parts"][:, width:]
        )
        hidden = np.maximum(0, hidden + p["label_tables"][distance])
        return softmax(hidden @ p["label_weights"] + p["label_bias"])

    def _roll_out(
        self,
        p: Mapping[str, Array],
        sentence: Sentence,
        words: Sequence[Array],
        found: Found,
        actions: Sequence[int] | None,
        learning: bool,
    ) -> None:
        length, width, labels = len(words), p["slot_tables"].shape[1], len(p["label_bias"])
        gold = tree(sentence.heads)
        c = self.system.initial(length)
        while not self.system.is_terminal(c):
            if not c.left_list:
                c = self.system.apply(c, Transition("Shift"))
                continue
            i, j = c.left_list[-1], c.buffer[0]
            hidden = np.zeros(width)
            for slot, word in enumerate(slot_words(c, length)):
                part = slice(slot * width, (slot + 1) * width)
                hidden += words[word - 1] @ p["slots"][:, part] if word else p["slot_tables"][slot]
            for row in table_rows(c, labels):
                hidden += p["slot_tables"][row]
            hidden = np.maximum(0, hidden)
            allowed = [NAMES.index(name) for name in self.system.permissible(c)]
            chances = np.zeros(4)
            chances[allowed] = softmax(p["action_weights"][allowed] @ hidden + p["action_bias"][allowed])
            target, action = -1, int(max(allowed, key=lambda number: (chances[number], -number)))
            if learning:
                plain = Configuration(*c[:3], frozenset(Arc(arc.head, arc.dependent) for arc in c.arcs))
                best = [NAMES.index(t.name) for t in optimal(plain, gold, self.oracle, "implicit")]
                target = self._target(best, i, j, sentence.heads, chances)
                wanted = [target]
                if self.target == "paper":
                    wanted = [number for number in best if not (number == 1 and 0 in best)]
                found.loss -= np.log(chances[wanted].sum())
                action = target
            if actions is not None:
                action = actions[len(found.steps)]
            found.steps.append((i, j, list(chances), target, action))
            label = ""
            if action >= 2:
                head, dependent = (j, i) if action == 2 else (i, j)
                label = str(int(np.argmax(self._label(p, words, head, dependent))))
            c = self.system.apply(c, Transition(NAMES[action], label))
        heads = dict(heads_in(c.arcs))
        names = {arc.dependent: int(arc.label) for arc in c.arcs}
        roots = [word for word in range(1, length + 1) if word not in heads]
        for word in roots[1:]:
            heads[word] = roots[0]
            names[word] = int(np.argmax(self._label(p, words, roots[0], word)))
        found.heads = [heads.get(word, 0) for word in range(1, length + 1)]
        found.labels = [names.get(word, self.root_label) for word in range(1, length + 1)]

    @staticmethod
    def _target(best: Sequence[int], i: int, j: int, gold: Sequence[int], chances: Array) -> int:
        if 2 in best and gold[i - 1] == j:
            return 2
        if 3 in best and gold[j - 1] == i:
            return 3
        for plain in (0, 1):
            if plain in best:
                return plain
        return max(best, key=lambda number: (chances[number], -number))
