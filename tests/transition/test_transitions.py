"""The compiled transitions against the twin: every one from every reachable configuration, then at random."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covington.errors import OptionError
from covington.study import oracle
from tests.support.reference import (
    Configuration,
    Transition,
    TransitionSystem,
    reachable_configurations,
    to_heads,
)
from tests.support.strategies import configurations, systems

NAMES = ("Shift", "NoArc", "LeftArc", "RightArc")
SYSTEMS = [
    TransitionSystem(monotonic, root) for monotonic in (True, False) for root in ("implicit", "explicit")
]


def disagreements(system: TransitionSystem, c: Configuration) -> list[str]:
    """The transitions from c on which the compiled core and the twin differ."""
    heads, i, j = to_heads(c, system.root)
    name_of_system = "monotonic" if system.monotonic else "non-monotonic"
    allowed = system.permissible(c)
    wrong = []
    for name in NAMES:
        try:
            found = oracle.apply(heads, i, j, name, name_of_system, system.root)
        except OptionError:
            if name in allowed:
                wrong.append(f"{name} refused")
            continue
        if name not in allowed:
            wrong.append(f"{name} allowed")
            continue
        wanted = to_heads(system.apply(c, Transition(name)), system.root)
        if (tuple(found[0]), found[1], found[2]) != wanted:
            wrong.append(f"{name}: {found} instead of {wanted}")
    return wrong


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_transition_from_every_configuration(system: TransitionSystem, length: int) -> None:
    for c in reachable_configurations(system, length):
        assert disagreements(system, c) == [], c


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_transitions_in_longer_sentences(data: st.DataObject) -> None:
    system = data.draw(systems)
    c = data.draw(configurations(system, data.draw(st.integers(1, 12))))
    assert disagreements(system, c) == []


@pytest.mark.parametrize(
    ("heads", "i", "j", "transition", "root"),
    [
        ([-1, -1], 0, 1, "Reduce", "explicit"),
        ([-1, -1], 0, 1, "Shift", "sideways"),
        ([-1, -1], 0, 3, "Shift", "explicit"),
        ([-1, -1], 2, 1, "NoArc", "explicit"),
        ([-1, -1], -1, 1, "NoArc", "explicit"),
        ([-1, -1], 0, 1, "LeftArc", "explicit"),
        ([-1, 7], 0, 1, "Shift", "explicit"),
        ([2, 1], 0, 1, "Shift", "implicit"),
        ([0, -1], 0, 1, "Shift", "implicit"),
    ],
)
def test_what_is_no_configuration_or_transition_is_refused(
    heads: list[int], i: int, j: int, transition: str, root: str
) -> None:
    with pytest.raises(OptionError):
        oracle.apply(heads, i, j, transition, root=root)
