"""The paper's claims as functions that return the cases against them, so that planted bugs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.support import reference
from tests.support.reference import Configuration, Graph, Root, TransitionSystem


class Violation(NamedTuple):
    """A configuration and a gold tree that a claim does not hold for."""

    claim: str
    configuration: Configuration
    gold: Graph


def gold_graphs(length: int, step: int = 1, start: int = 0) -> tuple[Graph, ...]:
    """Every tree over n words, or every `step`-th of them."""
    trees = reference.all_trees(length)[start::step]
    return tuple(reference.graph_of(reference.tree(heads)) for heads in trees)


def check_bounds(length: int, root: Root, golds: Sequence[Graph]) -> tuple[int, list[Violation]]:
    """lower ≤ ℓ ≤ pc-upper ≤ upper on every reachable configuration; (cases tried, violations)."""
    system, golds = TransitionSystem(False, root), tuple(golds)
    cases, violations = 0, []
    for c in reference.reachable_configurations(system, length):
        for gold, loss in zip(golds, reference.exact_losses(c, golds, system), strict=True):
            bounds = reference.loss_bounds(c, gold, root)
            cases += 1
            if not bounds.lower <= loss:
                violations.append(Violation("lower ≤ loss", c, gold))
            if not loss <= bounds.pc_upper:
                violations.append(Violation("loss ≤ pc-upper", c, gold))
            if not bounds.pc_upper <= bounds.upper:
                violations.append(Violation("pc-upper ≤ upper", c, gold))
    return cases, violations


def check_monotonic(length: int, root: Root, golds: Sequence[Graph]) -> tuple[int, list[Violation]]:
    """Algorithm 1 gives the loss of the monotonic system exactly; (cases tried, violations)."""
    system, golds = TransitionSystem(True, root), tuple(golds)
    cases, violations = 0, []
    for c in reference.reachable_configurations(system, length):
        for gold, loss in zip(golds, reference.exact_losses(c, golds, system), strict=True):
            cases += 1
            if reference.monotonic_loss(c, gold, root) != loss:
                violations.append(Violation("monotonic = loss", c, gold))
    return cases, violations
