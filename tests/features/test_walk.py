"""The compiled configuration along whole transition sequences: arcs and dependents against the twin."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covington.errors import OptionError
from covington.features import encoding, templates
from covington.features.program import Program
from covington.features.sentences import Sentences
from covington.features.walk import Walk
from covington.transition.systems.covington import Covington
from tests.support import reference_features as twin
from tests.support.batches import batch, sentence
from tests.support.reference import Configuration, Root, Transition, TransitionSystem, focus
from tests.support.strategies import LABELS, systems

FORMS, TAGS = ("a", "b", "c"), ("X", "Y")
PROGRAM = Program(templates.PAPER.split())


def encoded(forms: list[str], tags: list[str]) -> Sentences:
    row = sentence(" ".join(forms), [0] * len(forms), upos=" ".join(tags))
    made: pa.RecordBatch = batch(row)
    return encoding.encode(made, PROGRAM.attributes, "upos")


def test_the_paper_table_is_the_twins() -> None:
    assert templates.PAPER.split() == twin.TEMPLATES


def check_state(walk: Walk, c: Configuration, system: TransitionSystem, length: int) -> None:
    i, j = focus(c, system.root)
    assert walk.focus == (i, j)
    arcs = sorted((arc.dependent, arc.head, LABELS.index(arc.label)) for arc in c.arcs)
    assert [(word, head, label) for head, word, label in walk.arcs] == arcs
    for word in range(0 if system.root == "explicit" else 1, length + 1):
        left, right = twin.left_dependents(c, word), twin.right_dependents(c, word)
        wanted = [*left[-1:], *left[:1]] or [0, 0]
        wanted += [*right[:1], *right[-1:]] or [0, 0]
        assert walk.dependents(word) == (*wanted, len(left), len(right))
    if c.left_list and c.buffer:
        outside = twin.outside_words(c, i, j) or [0]
        assert walk.open_words == (outside[0], outside[-1])


def check_walk(
    system: TransitionSystem,
    forms: list[str],
    tags: list[str],
    choose: Callable[[Sequence[str]], str],
    choose_label: Callable[[], str],
) -> None:
    """From the beginning to the end."""
    length = len(forms)
    walk = Walk(PROGRAM, encoded(forms, tags), 0, Covington(system.monotonic, system.root == "explicit"))
    c = system.initial(length)
    while not system.is_terminal(c):
        name = choose(system.permissible(c))
        arc = name in ("LeftArc", "RightArc")
        label = choose_label() if arc else ""
        after = system.apply(c, Transition(name, label))
        removed = walk.take(name, LABELS.index(label) if arc else -1)
        assert removed == (not c.arcs <= after.arcs)
        c = after
        check_state(walk, c, system, length)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_arcs_and_dependents_along_the_way(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 9))
    check_walk(
        data.draw(systems),
        data.draw(st.lists(st.sampled_from(FORMS), min_size=length, max_size=length)),
        data.draw(st.lists(st.sampled_from(TAGS), min_size=length, max_size=length)),
        lambda names: names[-1 - min(data.draw(st.integers(0, 2 * len(names))), len(names) - 1)],
        lambda: data.draw(st.sampled_from(LABELS)),
    )


@pytest.mark.parametrize("root", get_args(Root))
@pytest.mark.parametrize("seed", range(4))
def test_dependents_stay_right_when_arcs_are_taken_away(root: Root, seed: int) -> None:
    """Walks that build and replace arcs most of the time, so that words have several dependents and lose some."""
    random_ = random.Random(seed)
    system = TransitionSystem(monotonic=False, root=root)
    for _ in range(40):
        length = random_.randint(4, 8)
        check_walk(
            system,
            random_.choices(FORMS, k=length),
            random_.choices(TAGS, k=length),
            lambda names: random_.choice([*names, *names[2:] * 2]),
            lambda: random_.choice(LABELS[:2]),
        )


def test_transitions_that_are_not_allowed() -> None:
    walk = Walk(PROGRAM, encoded(["a", "b"], ["X", "Y"]), 0, Covington(True, True))
    for name in ("LeftArc", "Reduce"):
        with pytest.raises(OptionError):
            walk.take(name, 0)
    walk.take("RightArc", 0)
    for name in ("NoArc", "RightArc", "LeftArc"):
        with pytest.raises(OptionError):
            walk.take(name, 0)
    with pytest.raises(OptionError):
        walk.features()
    walk.take("Shift")
    walk.take("Shift")
    with pytest.raises(OptionError):
        walk.take("Shift")
