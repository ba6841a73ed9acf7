"""The slow, literal twin of the paper: transitions, loss formulas and exact loss in plain Python.

Everything here is written to be compared with the paper by eye: configurations are ⟨λ1, λ2, B, A⟩,
arcs are a set, cycles are found by trying every path, and the exact loss by trying every transition
sequence. Words are 1..n, 0 is the root. The compiled core is judged by this file, so nothing here is
clever; the only concession to speed is that pure functions remember their answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

Root = Literal["implicit", "explicit"]
Pair = tuple[int, int]  # an unlabelled arc: (head, dependent)
Graph = frozenset[Pair]


class Arc(NamedTuple):
    """head → dependent, with its label."""

    head: int
    dependent: int
    label: str = ""


class Configuration(NamedTuple):
    """⟨λ1, λ2, B, A⟩; the focus words are the last of λ1 and the first of B."""

    left_list: tuple[int, ...]
    right_list: tuple[int, ...]
    buffer: tuple[int, ...]
    arcs: frozenset[Arc]


class Transition(NamedTuple):
    """Shift, NoArc, LeftArc or RightArc; the label is for the two that make an arc."""

    name: str
    label: str = ""


SHIFT, NO_ARC = Transition("Shift"), Transition("NoArc")


@cache
def graph_of(arcs: frozenset[Arc]) -> Graph:
    """The arcs without their labels."""
    return frozenset((arc.head, arc.dependent) for arc in arcs)


@cache
def heads_in(arcs: frozenset[Arc]) -> dict[int, int]:
    """The head of every word that has one."""
    return {arc.dependent: arc.head for arc in arcs}


def path_exists(start: int, end: int, arcs: frozenset[Arc]) -> bool:
    """start →* end ∈ A: a possibly empty directed path (each word has one head, so walk up from the end)."""
    heads, word = heads_in(arcs), end
    while word != start and word in heads:
        word = heads[word]
    return word == start


# ---------------------------------------------------------------------------------------------------
# The two transition systems
# ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TransitionSystem:
    """The monotonic or the non-monotonic system of the paper's figures, over one kind of root.

    implicit: λ1 holds words only, and a word without a head is taken to hang from 0.
    explicit: 0 stands first in λ1 and is linked by RightArc like any other word.
    """

    monotonic: bool
    root: Root

    def initial(self, length: int) -> Configuration:
        left_list = (0,) if self.root == "explicit" else ()
        return Configuration(left_list, (), tuple(range(1, length + 1)), frozenset())

    def is_terminal(self, c: Configuration) -> bool:
        return not c.buffer

    def permissible(self, c: Configuration) -> list[str]:
        """The names of the transitions that may be applied."""
        if not c.buffer:
            return []
        names = ["Shift"]
        if not c.left_list:
            return names
        names.append("NoArc")
        i, j = c.left_list[-1], c.buffer[0]
        heads = heads_in(c.arcs)
        if self.monotonic:
            if i != 0 and i not in heads and not path_exists(i, j, c.arcs):
                names.append("LeftArc")
            if j not in heads and not path_exists(j, i, c.arcs):
                names.append("RightArc")
        else:
            if i != 0:  # the root never gets a head
                names.append("LeftArc")
            names.append("RightArc")
        return names

    def apply(self, c: Configuration, transition: Transition) -> Configuration:
        """τ(c), as the figures have it."""
        if transition.name == "Shift":
            j, *rest = c.buffer
            return Configuration((*c.left_list, *c.right_list, j), (), tuple(rest), c.arcs)
        i, j = c.left_list[-1], c.buffer[0]
        arcs = c.arcs
        if transition.name == "LeftArc":
            arcs = self._add(Arc(j, i, transition.label), arcs)
        elif transition.name == "RightArc":
            arcs = self._add(Arc(i, j, transition.label), arcs)
        return Configuration(c.left_list[:-1], (i, *c.right_list), c.buffer, arcs)

    def _add(self, new: Arc, arcs: frozenset[Arc]) -> frozenset[Arc]:
        """A ∪ {h → d}; non-monotonic: \\ {x → d ∈ A} \\ {k → h ∈ A | d →* k ∈ A}."""
        if self.monotonic:
            return arcs | {new}
        old_heads = {arc for arc in arcs if arc.dependent == new.dependent}
        closing = {
            arc for arc in arcs if arc.dependent == new.head and path_exists(new.dependent, arc.head, arcs)
        }
        return (arcs | {new}) - old_heads - closing

    def transitions(self, c: Configuration, labels: Sequence[str] = ("",)) -> Iterator[Transition]:
        """Every permissible transition, the arcs with every label."""
        for name in self.permissible(c):
            if name in ("LeftArc", "RightArc"):
                yield from (Transition(name, label) for label in labels)
            else:
                yield Transition(name)

    def successors(self, c: Configuration) -> list[Configuration]:
        return _successors(self, c)


@cache
def _successors(system: TransitionSystem, c: Configuration) -> list[Configuration]:
    return [system.apply(c, transition) for transition in system.transitions(c)]


def focus(c: Configuration, root: Root) -> Pair:
    """(i, j): the left focus word, one before the first of λ1 when that is used up; n+1 when B is empty."""
    first = 0 if root == "explicit" else 1
    i = c.left_list[-1] if c.left_list else first - 1
    words = [*c.left_list, *c.right_list, *c.buffer, 0]
    return i, c.buffer[0] if c.buffer else max(words) + 1


def reachable_configurations(system: TransitionSystem, length: int) -> list[Configuration]:
    """Every configuration that some transition sequence leads to."""
    seen = {system.initial(length): None}
    waiting = list(seen)
    while waiting:
        for successor in system.successors(waiting.pop()):
            if successor not in seen:
                seen[successor] = None
                waiting.append(successor)
    return list(seen)


# ---------------------------------------------------------------------------------------------------
# Trees, and configurations as the compiled core writes them
# ---------------------------------------------------------------------------------------------------


def tree(heads: Sequence[int], labels: Sequence[str] | None = None) -> frozenset[Arc]:
    """The arcs of a gold tree given the head of each word 1..n."""
    labels = labels or [""] * len(heads)
    return frozenset(Arc(heads[word - 1], word, labels[word - 1]) for word in range(1, len(heads) + 1))


def all_trees(length: int) -> list[tuple[int, ...]]:
    """The heads of every tree over 1..n that hangs from 0, with any number of words under 0."""

    def grow(heads: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(heads) == length:
            if all(reaches_root(heads, word) for word in range(1, length + 1)):
                yield heads
            return
        for head in range(length + 1):
            if head != len(heads) + 1:
                yield from grow((*heads, head))

    return list(grow(()))


def reaches_root(heads: Sequence[int], word: int) -> bool:
    for _ in heads:
        if word <= 0:
            break
        word = heads[word - 1]
    return word == 0


def to_heads(c: Configuration, root: Root) -> tuple[tuple[int, ...], int, int]:
    """(heads, i, j); a word without a head has −1 (explicit) or 0 (implicit)."""
    i, j = focus(c, root)
    length = max((*c.left_list, *c.right_list, *c.buffer), default=0)
    heads, none = heads_in(c.arcs), -1 if root == "explicit" else 0
    return tuple(heads.get(word, none) for word in range(1, length + 1)), i, j


def from_heads(heads: Sequence[int], i: int, j: int, root: Root) -> Configuration:
    """The configuration that (heads, i, j) writes down."""
    first, none = (0, -1) if root == "explicit" else (1, 0)
    arcs = frozenset(Arc(head, word) for word, head in enumerate(heads, 1) if head != none)
    return Configuration(
        tuple(range(first, i + 1)), tuple(range(i + 1, j)), tuple(range(j, len(heads) + 1)), arcs
    )


# ---------------------------------------------------------------------------------------------------
# Cycles
# ---------------------------------------------------------------------------------------------------


@cache
def elementary_cycles(graph: Graph) -> list[tuple[Pair, ...]]:
    """Every elementary cycle once, as its arcs in order, found by walking from its smallest word."""
    followers: dict[int, list[int]] = {}
    for head, dependent in graph:
        followers.setdefault(head, []).append(dependent)

    def walk(path: list[int]) -> Iterator[tuple[Pair, ...]]:
        for word in followers.get(path[-1], []):
            if word == path[0]:
                yield tuple(zip(path, [*path[1:], word], strict=True))
            elif word > path[0] and word not in path:
                yield from walk([*path, word])

    return [cycle for start in sorted(followers) for cycle in walk([start])]


def closing_arc(cycle: Sequence[Pair], built: Graph) -> Pair:
    """The arc that the Covington order builds last: largest right end, then smallest left end."""
    return max((arc for arc in cycle if arc not in built), key=lambda arc: (max(arc), -min(arc)))


def is_problematic(cycle: Sequence[Pair], built: Graph, gold: Graph) -> bool:
    """Whether the arc z → x that gives way when x → y closes the cycle is gold."""
    x, _ = closing_arc(cycle, built)
    return any(dependent == x and (head, dependent) in gold for head, dependent in cycle)


@cache
def count_cycles(built: Graph, reachable: Graph) -> int:
    """n_c(A ∪ I)."""
    return len(elementary_cycles(built | reachable))


@cache
def count_problematic_cycles(built: Graph, reachable: Graph) -> int:
    """n_pc(A ∪ I); an arc of A ∪ I is gold exactly when it is in I, as gold arcs of A are in I."""
    cycles = elementary_cycles(built | reachable)
    return sum(is_problematic(cycle, built, reachable) for cycle in cycles)


def weakly_connected(graph: Graph, x: int, y: int) -> bool:
    """Whether x and y are linked by arcs taken in either direction."""
    return y in _component(graph, x)


@cache
def _component(graph: Graph, x: int) -> frozenset[int]:
    found, waiting = {x}, [x]
    while waiting:
        word = waiting.pop()
        for head, dependent in graph:
            for here, there in ((head, dependent), (dependent, head)):
                if here == word and there not in found:
                    found.add(there)
                    waiting.append(there)
    return frozenset(found)


# ---------------------------------------------------------------------------------------------------
# Loss
# ---------------------------------------------------------------------------------------------------


def completed(c: Configuration, root: Root) -> Graph:
    """A without labels; with an implicit root, headless words hang from 0 (the paper's first footnote)."""
    built = graph_of(c.arcs)
    if root == "explicit":
        return built
    words = (*c.left_list, *c.right_list, *c.buffer)
    return built | {(0, word) for word in words if word not in heads_in(c.arcs)}


def unreachable(c: Configuration, gold: Graph, system: TransitionSystem) -> Graph:
    """U(c, t_G): the gold arcs that no transition sequence from c can build."""
    built = graph_of(c.arcs)
    i, j = focus(c, system.root)
    lost = set()
    for x, y in gold - completed(c, system.root):
        left, right = min(x, y), max(x, y)
        passed = j > right or (j == right and i < left)
        # With an implicit root no transition builds 0 → y: it is there, or another head has taken its place.
        taken = system.root == "implicit" and x == 0
        if system.monotonic:
            has_head = any(dependent == y and z != x for z, dependent in built)
            blocked = has_head or weakly_connected(built, x, y)
        else:
            blocked = False
        if passed or taken or blocked:
            lost.add((x, y))
    return frozenset(lost)


def reachable(c: Configuration, gold: Graph, system: TransitionSystem) -> Graph:
    """I(c, t_G) = t_G \\ U(c, t_G)."""
    return gold - unreachable(c, gold, system)


def monotonic_loss(c: Configuration, gold: Graph, root: Root) -> int:
    """Algorithm 1: |U| + n_c(A ∪ I)."""
    lost = unreachable(c, gold, TransitionSystem(True, root))
    return len(lost) + count_cycles(graph_of(c.arcs), gold - lost)


class Bounds(NamedTuple):
    """The three loss expressions of the non-monotonic oracle."""

    lower: int
    pc_upper: int
    upper: int


def loss_bounds(c: Configuration, gold: Graph, root: Root) -> Bounds:
    """Algorithm 2: |U|, |U| + n_pc(A ∪ I) and |U| + n_c(A ∪ I)."""
    lost = unreachable(c, gold, TransitionSystem(False, root))
    built, rest = graph_of(c.arcs), gold - lost
    return Bounds(
        len(lost),
        len(lost) + count_problematic_cycles(built, rest),
        len(lost) + count_cycles(built, rest),
    )


def hamming_loss(c: Configuration, gold: Graph, root: Root) -> int:
    """L(t, t_G): the words whose head is not the gold one; without a head (explicit root) is a miss."""
    return len(gold - completed(c, root))


@cache
def exact_losses(c: Configuration, golds: tuple[Graph, ...], system: TransitionSystem) -> tuple[int, ...]:
    """ℓ(c) for several gold trees at once: the best of all transition sequences, by trying them all."""
    if system.is_terminal(c):
        return tuple(hamming_loss(c, gold, system.root) for gold in golds)
    ends = (exact_losses(successor, golds, system) for successor in system.successors(c))
    return tuple(map(min, zip(*ends, strict=True)))


def exact_loss(c: Configuration, gold: Graph, system: TransitionSystem) -> int:
    """ℓ(c)."""
    return exact_losses(Configuration(*c[:3], _plain(c.arcs)), (gold,), system)[0]


def _plain(arcs: frozenset[Arc]) -> frozenset[Arc]:
    return frozenset(Arc(arc.head, arc.dependent) for arc in arcs)
