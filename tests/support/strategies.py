"""Hypothesis strategies for trees, sentences and configurations."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.reference import Configuration, Root, Transition, TransitionSystem

LABELS = ("nsubj", "obj", "det", "case")

roots: st.SearchStrategy[Root] = st.sampled_from(("implicit", "explicit"))
systems = st.builds(TransitionSystem, st.booleans(), roots)


@st.composite
def trees(draw: st.DrawFn, min_size: int = 1, max_size: int = 12, single_root: bool = False) -> list[int]:
    """The heads of a tree over words 1..n, non-projective ones included; 0 is the root."""
    length = draw(st.integers(min_size, max_size))
    order = draw(st.permutations(range(1, length + 1)))
    heads = [0] * length
    for position, word in enumerate(order):
        earlier = [*order[:position]] if single_root and position else [0, *order[:position]]
        heads[word - 1] = draw(st.sampled_from(earlier))
    return heads


@st.composite
def configurations(
    draw: st.DrawFn, system: TransitionSystem, length: int, labels: tuple[str, ...] = ("",)
) -> Configuration:
    """A configuration met on some transition sequence; arcs are made often, so that many are replaced."""
    c = system.initial(length)
    for _ in range(draw(st.integers(0, length * (length + 3) // 2))):
        names = system.permissible(c)
        if not names:
            break
        # The later names are arcs: drawing from the end of the list makes dense graphs the usual case.
        name = names[-1 - min(draw(st.integers(0, 2 * len(names))), len(names) - 1)]
        label = draw(st.sampled_from(labels)) if name.endswith("Arc") and name != "NoArc" else ""
        c = system.apply(c, Transition(name, label))
    return c
