"""Compiled losses, bounds and costs against the twin: everything up to four words, longer ones at random."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from covington.errors import OptionError, SearchLimitError
from covington.study import oracle
from tests.support import reference
from tests.support import reference_oracles as twin
from tests.support.reference import Configuration, Root, TransitionSystem, graph_of, to_heads, tree
from tests.support.strategies import configurations, roots, trees

ROOTS: tuple[Root, ...] = ("implicit", "explicit")
DYNAMIC = ("monotonic", "lower", "pc-upper", "upper")


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_bounds_and_exact_loss_of_every_configuration_and_tree(length: int, root: Root) -> None:
    system, all_heads = TransitionSystem(False, root), reference.all_trees(length)
    golds = tuple(graph_of(tree(gold)) for gold in all_heads)
    for c in reference.reachable_configurations(system, length):
        heads, i, j = to_heads(c, root)
        losses = reference.exact_losses(c, golds, system)
        for gold_heads, gold, loss in zip(all_heads, golds, losses, strict=True):
            found = oracle.loss_bounds(heads, gold_heads, i, j, root)
            assert found == reference.loss_bounds(c, gold, root), (heads, gold_heads, i, j)
            assert loss <= found[1] <= found[2]
            assert found[0] <= loss or root == "implicit"
            assert oracle.exact_loss(heads, gold_heads, i, j, root) == loss, (heads, gold_heads, i, j)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_monotonic_loss_of_every_configuration_and_tree(length: int, root: Root) -> None:
    system, all_heads = TransitionSystem(True, root), reference.all_trees(length)
    golds = tuple(graph_of(tree(gold)) for gold in all_heads)
    for c in reference.reachable_configurations(system, length):
        heads, i, j = to_heads(c, root)
        for gold, loss in zip(all_heads, reference.exact_losses(c, golds, system), strict=True):
            assert oracle.monotonic_loss(heads, gold, i, j, root) == loss, (heads, gold, i, j)


def has_two_focus_words(c: Configuration) -> bool:
    return bool(c.left_list and c.buffer)


def check_costs(c: Configuration, gold_heads: tuple[int, ...] | list[int], name: str, root: Root) -> None:
    """Costs are the twin's up to a constant, and so are the transitions of least cost."""
    heads, i, j = to_heads(c, root)
    found = oracle.transition_costs(heads, gold_heads, i, j, name, root)
    wanted = {t.name: cost for t, cost in twin.costs(c, tree(gold_heads), name, root).items()}
    assert set(found) == set(wanted)
    best = min(found.values())
    optimal = {transition for transition, cost in found.items() if cost == best}
    assert optimal == {t.name for t in twin.optimal(c, tree(gold_heads), name, root)}, (
        heads,
        gold_heads,
        i,
        j,
    )
    assert len({wanted[transition] - cost for transition, cost in found.items()}) == 1


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", DYNAMIC)
def test_the_optimal_transitions_of_every_configuration_and_tree(name: str, root: Root) -> None:
    for length, step in ((2, 1), (3, 1), (4, 17)):
        for c in reference.reachable_configurations(twin.system_of(name, root), length):
            if has_two_focus_words(c):
                for gold_heads in reference.all_trees(length)[::step]:
                    check_costs(c, gold_heads, name, root)


@pytest.mark.parametrize("root", ROOTS)
def test_the_static_oracle_has_one_right_transition(root: Root) -> None:
    system = TransitionSystem(True, root)
    for gold_heads in reference.all_trees(4):
        c = system.initial(4)
        while not system.is_terminal(c):
            transition = twin.static_transition(c, tree(gold_heads))
            if has_two_focus_words(c):
                heads, i, j = to_heads(c, root)
                found = oracle.transition_costs(heads, gold_heads, i, j, "static", root)
                assert [name for name, cost in found.items() if cost == 0] == [transition.name]
            c = system.apply(c, transition)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_longer_sentences(data: st.DataObject) -> None:
    gold_heads, root = data.draw(trees(1, 12)), data.draw(roots)
    name = data.draw(st.sampled_from(DYNAMIC))
    system = twin.system_of(name, root)
    c = data.draw(configurations(system, len(gold_heads)))
    heads, i, j = to_heads(c, root)
    gold = graph_of(tree(gold_heads))
    if system.monotonic:
        assert oracle.monotonic_loss(heads, gold_heads, i, j, root) == reference.monotonic_loss(c, gold, root)
    assert oracle.loss_bounds(heads, gold_heads, i, j, root) == reference.loss_bounds(c, gold, root)
    if has_two_focus_words(c):
        check_costs(c, gold_heads, name, root)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_exact_loss_of_five_and_six_words(data: st.DataObject) -> None:
    """Brute force from the middle of a sentence on: what is left to try is then few enough."""
    gold_heads, root = data.draw(trees(5, 6)), data.draw(roots)
    system = TransitionSystem(False, root)
    c = data.draw(configurations(system, len(gold_heads)))
    assume(len(c.buffer) <= 3)
    heads, i, j = to_heads(c, root)
    gold = graph_of(tree(gold_heads))
    assert oracle.exact_loss(heads, gold_heads, i, j, root) == reference.exact_loss(c, gold, system)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_exact_loss_lies_between_the_bounds(data: st.DataObject) -> None:
    gold_heads = data.draw(trees(6, 12))
    c = data.draw(configurations(TransitionSystem(False, "explicit"), len(gold_heads)))
    heads, i, j = to_heads(c, "explicit")
    lower, pc_upper, upper = oracle.loss_bounds(heads, gold_heads, i, j)
    try:
        loss = oracle.exact_loss(heads, gold_heads, i, j, node_limit=50_000)
    except SearchLimitError:
        return
    assert lower <= loss <= pc_upper <= upper


def test_an_exhausted_search_says_so() -> None:
    # 1 → 2 is a mistake and 0 → 2 is lost; gold 2 → 4, 4 → 1 and 1 → 3 are to come, and 4 → 1 closes a cycle
    arguments = ([-1, 1, -1, -1], [4, 0, 1, 2], 2, 3)
    assert oracle.loss_bounds(*arguments) == (1, 2, 2)
    assert oracle.exact_loss(*arguments) == 2
    with pytest.raises(SearchLimitError, match="between 1 and 2, and not known after 10 configurations"):
        oracle.exact_loss(*arguments, node_limit=10)


def test_long_sentences_are_searched_within_the_limit() -> None:
    length = 200
    gold = [word + 1 for word in range(1, length)] + [0]
    heads = [-1] + [word - 1 for word in range(2, 151)] + [-1] * 50
    lower, pc_upper, _ = oracle.loss_bounds(heads, gold, 149, 150)
    assert lower <= oracle.exact_loss(heads, gold, 149, 150, node_limit=100_000) <= pc_upper


@pytest.mark.parametrize(
    ("heads", "gold", "i", "j", "root"),
    [
        ([-1], [0, 0], 0, 1, "explicit"),
        ([-1, -1], [2, 1], 0, 1, "explicit"),
        ([-1, -1], [0, 3], 0, 1, "explicit"),
        ([2, 1], [0, 1], 0, 1, "explicit"),
        ([-1, -1], [0, 1], 0, 4, "explicit"),
        ([0, 0], [0, 1], -1, 1, "implicit"),
        ([0, 0], [0, 1], 0, 1, "none"),
    ],
)
def test_what_is_no_configuration_is_refused(
    heads: list[int], gold: list[int], i: int, j: int, root: str
) -> None:
    for function in (oracle.loss_bounds, oracle.exact_loss, oracle.monotonic_loss):
        with pytest.raises(OptionError):
            function(heads, gold, i, j, root)
