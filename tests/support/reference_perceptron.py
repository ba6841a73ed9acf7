"""The slow, literal twin of training: a perceptron over written-out features, every weight in one dict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.support import reference_oracles as oracles
from tests.support.reference import NO_ARC, SHIFT, Arc, Root, Transition, to_heads
from tests.support.reference_features import TEMPLATES, Sentence, features

WORD = (1 << 64) - 1
SEED = 0x51ED2701
#: the rules of acceptance and target by the options' names
RULES = {
    ("all", "best"): "R1",
    ("all", "canonical"): "R2",
    ("no-guess", "canonical"): "R3",
    ("careful", "canonical"): "R4",
}


def mix(state: int, value: int) -> int:
    state = (state ^ value) * 0x9E3779B97F4A7C15 & WORD
    return state ^ state >> 29


def finish(state: int) -> int:
    state = (state ^ state >> 32) * 0xD6E8FEB86659FD93 & WORD
    return state ^ state >> 32


@dataclass
class Random:
    """The core's random numbers: they depend on seed, epoch and shard alone."""

    state: int

    def draw(self) -> int:
        self.state = self.state + 0x9E3779B97F4A7C15 & WORD
        return finish(mix(SEED, self.state))

    def shuffled(self, count: int) -> list[int]:
        order = list(range(count))
        for index in range(count - 1, 0, -1):
            other = self.draw() % (index + 1)
            order[index], order[other] = order[other], order[index]
        return order


#: a transition with its label, or a repair: an arc that takes another one away, with any label
Class = Transition | str


@dataclass
class Perceptron:
    """Weights by (feature, class), and their sums over the steps, for averaging.

    With `own_repairs` an arc that takes another one away is decided about by a class of its own, and its label is the
    one that scores best otherwise.
    """

    labels: Sequence[str]
    oracle: str
    root: Root
    rule: str
    explore: float
    explore_from: int
    seed: int
    own_repairs: bool
    templates: Sequence[str] = tuple(TEMPLATES)
    weights: defaultdict[tuple[str, Class], int] = field(default_factory=lambda: defaultdict(int))
    late: defaultdict[tuple[str, Class], int] = field(default_factory=lambda: defaultdict(int))
    steps: int = 0

    def epoch(
        self, sentences: Sequence[tuple[Sentence, frozenset[Arc]]], epoch: int
    ) -> Iterator[tuple[int, tuple[int, ...], int, int, bool]]:
        """Go through the sentences; (sentence, heads, i, j, was there an update?) before every transition."""
        random = Random(finish(mix(mix(mix(SEED, self.seed), epoch), 0)))
        exploring = self.oracle != "static" and epoch >= self.explore_from
        system = oracles.system_of(self.oracle, self.root)
        for number in random.shuffled(len(sentences)):
            sentence, gold = sentences[number]
            c = system.initial(len(sentence.forms))
            while not system.is_terminal(c):
                if not c.left_list:
                    yield number, *to_heads(c, self.root), False
                    c = system.apply(c, SHIFT)
                    continue
                fired = features(c, sentence, self.root, self.templates)
                classes = {
                    transition: transition.name
                    if self.own_repairs and not c.arcs <= system.apply(c, transition).arcs
                    else transition
                    for transition in system.transitions(c, self.labels)
                }
                scores = {
                    transition: (self.score(fired, kind), self.score(fired, transition))
                    for transition, kind in classes.items()
                }
                self.steps += 1
                predicted = oracles.highest(list(scores), scores)
                followed, update = predicted, False
                arguments = (c, gold, self.oracle, self.root, self.rule)
                if predicted not in oracles.accepted(*arguments, self.labels):
                    wanted = oracles.target(*arguments, scores, self.labels)
                    if wanted is not None:
                        update = True
                        if classes[wanted] != classes[predicted]:
                            self.update(fired, classes[wanted], 1)
                            self.update(fired, classes[predicted], -1)
                        named = oracles.highest([t for t in scores if t.name == wanted.name], scores)
                        if classes[wanted] == wanted.name and wanted != named:
                            self.update(fired, wanted, 1)
                            self.update(fired, named, -1)
                        if not (exploring and (random.draw() >> 11) / (1 << 53) < self.explore):
                            followed = wanted
                yield number, *to_heads(c, self.root), update
                c = system.apply(c, followed)

    def score(self, fired: list[str], kind: Class) -> int:
        return sum(self.weights[feature, kind] for feature in fired)

    def update(self, fired: list[str], kind: Class, change: int) -> None:
        for feature in fired:
            self.weights[feature, kind] += change
            self.late[feature, kind] += self.steps * change

    def class_of(self, kind: Class) -> int:
        if isinstance(kind, str):
            return 2 + 2 * len(self.labels) + (kind == "RightArc")
        if kind in (SHIFT, NO_ARC):
            return 0 if kind == SHIFT else 1
        return 2 + (kind.name == "RightArc") * len(self.labels) + self.labels.index(kind.label)

    def table(self) -> list[tuple[int, int, int]]:
        """(class, weight, sum over the steps) of every weight that was ever touched, sorted."""
        return sorted(
            (self.class_of(kind), weight, self.steps * weight - self.late[feature, kind])
            for (feature, kind), weight in self.weights.items()
            if (feature, kind) in self.late
        )
