"""The slow, literal twin of the oracles: the cost of every transition, what is accepted, and the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.support.reference import (
    NO_ARC,
    SHIFT,
    Arc,
    Configuration,
    Graph,
    Root,
    Transition,
    TransitionSystem,
    graph_of,
    heads_in,
    loss_bounds,
    monotonic_loss,
    reachable,
)

Loss = Callable[[Configuration, Graph, Root], int]

LOSSES: dict[str, Loss] = {
    "monotonic": monotonic_loss,
    "lower": lambda c, gold, root: loss_bounds(c, gold, root).lower,
    "pc-upper": lambda c, gold, root: loss_bounds(c, gold, root).pc_upper,
    "upper": lambda c, gold, root: loss_bounds(c, gold, root).upper,
}


def system_of(oracle: str, root: Root) -> TransitionSystem:
    """The transition system that an oracle trains."""
    return TransitionSystem(oracle in ("static", "monotonic"), root)


def arc_of(c: Configuration, transition: Transition) -> Arc | None:
    """The arc that a transition makes."""
    if transition.name == "LeftArc":
        return Arc(c.buffer[0], c.left_list[-1], transition.label)
    if transition.name == "RightArc":
        return Arc(c.left_list[-1], c.buffer[0], transition.label)
    return None


def static_transition(c: Configuration, gold_arcs: frozenset[Arc]) -> Transition:
    """The static oracle: the gold arc between the focus words, else Shift once j has none left in λ1."""
    j = c.buffer[0]
    for arc in gold_arcs:
        if c.left_list and (arc.head, arc.dependent) == (j, c.left_list[-1]):
            return Transition("LeftArc", arc.label)
        if c.left_list and (arc.head, arc.dependent) == (c.left_list[-1], j):
            return Transition("RightArc", arc.label)
    waiting = any(
        (arc.head == j and arc.dependent in c.left_list) or (arc.dependent == j and arc.head in c.left_list)
        for arc in gold_arcs
    )
    return NO_ARC if waiting else SHIFT


def costs(
    c: Configuration, gold_arcs: frozenset[Arc], oracle: str, root: Root, labels: Sequence[str] = ("",)
) -> dict[Transition, int]:
    """The loss that each transition leads to; a gold arc under a wrong label is one error more."""
    system, gold, loss = system_of(oracle, root), graph_of(gold_arcs), LOSSES[oracle]
    result = {}
    for transition in system.transitions(c, labels):
        arc = arc_of(c, transition)
        mislabelled = arc is not None and (arc.head, arc.dependent) in gold and arc not in gold_arcs
        result[transition] = loss(system.apply(c, transition), gold, root) + mislabelled
    return result


def optimal(
    c: Configuration, gold_arcs: frozenset[Arc], oracle: str, root: Root, labels: Sequence[str] = ("",)
) -> list[Transition]:
    """The transitions of minimum resulting loss (with bounds, every one of them may raise it)."""
    if oracle == "static":
        return [static_transition(c, gold_arcs)]
    by_cost = costs(c, gold_arcs, oracle, root, labels)
    least = min(by_cost.values())
    return [transition for transition, cost in by_cost.items() if cost == least]


def is_premature(
    c: Configuration, transition: Transition, gold_arcs: frozenset[Arc], system: TransitionSystem
) -> bool:
    """A wrong arc to a word that has no head yet, while its gold arc is still reachable."""
    arc, gold = arc_of(c, transition), graph_of(gold_arcs)
    if arc is None or (arc.head, arc.dependent) in gold or arc.dependent in heads_in(c.arcs):
        return False
    return any(dependent == arc.dependent for _, dependent in reachable(c, gold, system))


def is_idle(c: Configuration, transition: Transition, gold_arcs: frozenset[Arc]) -> bool:
    """A wrong arc to a word that has a head."""
    arc = arc_of(c, transition)
    return arc is not None and arc not in gold_arcs and arc.dependent in heads_in(c.arcs)


def accepted(
    c: Configuration,
    gold_arcs: frozenset[Arc],
    oracle: str,
    root: Root,
    rule: str,
    labels: Sequence[str] = ("",),
) -> list[Transition]:
    """The transitions after which no update is made.

    R1, R2: all optimal ones. R3: no premature guess. R4: nor an idle repair.

    R3 may leave none (a guess that breaks a cycle can be better than all else): then there is no target either.
    """
    best = optimal(c, gold_arcs, oracle, root, labels)
    system = system_of(oracle, root)
    if rule in ("R3", "R4"):
        best = [transition for transition in best if not is_premature(c, transition, gold_arcs, system)]
    if rule == "R4":
        best = [transition for transition in best if not is_idle(c, transition, gold_arcs)]
    return best


#: of a transition: what decides about it, and what decides between the labels of a repair
Score = tuple[float, float]


def highest(choices: Sequence[Transition], scores: Mapping[Transition, Score]) -> Transition:
    """The best-scoring transition, the first if there are several, with its best-scoring label."""
    top = max(scores[transition][0] for transition in choices)
    best = [transition for transition in choices if scores[transition][0] == top]
    return max((t for t in best if t.name == best[0].name), key=lambda transition: scores[transition][1])


def target(
    c: Configuration,
    gold_arcs: frozenset[Arc],
    oracle: str,
    root: Root,
    rule: str,
    scores: Mapping[Transition, Score],
    labels: Sequence[str] = ("",),
) -> Transition | None:
    """The transition an update moves towards; None if no transition is accepted.

    R1: the best-scoring optimal one. R2, R3, R4: the gold arc if optimal, else Shift, else NoArc; the
    best-scoring wrong arc only when nothing else is optimal.
    """
    choices = accepted(c, gold_arcs, oracle, root, rule, labels)
    if rule != "R1":
        gold_choice = [t for t in choices if arc_of(c, t) in gold_arcs]
        plain = [t for t in (SHIFT, NO_ARC) if t in choices]
        if gold_choice or plain:
            return [*gold_choice, *plain][0]
    return highest(choices, scores) if choices else None
