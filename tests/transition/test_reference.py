"""The twin's own claims, proved by exhaustion over short sentences, and planted bugs that must be caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support import reference
from tests.support import reference_oracles as oracles
from tests.support.checks import check_bounds, check_monotonic, gold_graphs
from tests.support.reference import (
    NO_ARC,
    SHIFT,
    Arc,
    Configuration,
    Graph,
    Transition,
    TransitionSystem,
    from_heads,
    graph_of,
    to_heads,
    tree,
)
from tests.support.reference_features import PAIRS, TEMPLATES, TRIPLES, UNIGRAMS, Sentence, features

LEFT_ARC, RIGHT_ARC = Transition("LeftArc"), Transition("RightArc")
EXPLICIT, IMPLICIT = TransitionSystem(False, "explicit"), TransitionSystem(False, "implicit")
MONOTONIC = TransitionSystem(True, "implicit")


def test_the_number_of_trees_is_cayleys() -> None:
    assert [len(reference.all_trees(n)) for n in range(1, 6)] == [1, 3, 16, 125, 1296]


def test_transitions_move_the_lists_as_in_the_figure() -> None:
    c = Configuration((1, 2), (3,), (4, 5), frozenset())
    assert MONOTONIC.apply(c, SHIFT) == Configuration((1, 2, 3, 4), (), (5,), frozenset())
    assert MONOTONIC.apply(c, NO_ARC) == Configuration((1,), (2, 3), (4, 5), frozenset())
    assert MONOTONIC.apply(c, LEFT_ARC) == Configuration((1,), (2, 3), (4, 5), frozenset({Arc(4, 2)}))
    assert MONOTONIC.apply(c, RIGHT_ARC) == Configuration((1,), (2, 3), (4, 5), frozenset({Arc(2, 4)}))


def test_monotonic_arcs_need_single_head_and_no_cycle() -> None:
    headed = Configuration((1,), (2,), (3,), frozenset({Arc(2, 1)}))
    assert MONOTONIC.permissible(headed) == ["Shift", "NoArc", "RightArc"]
    path = Configuration((1,), (2,), (3,), frozenset({Arc(1, 2), Arc(2, 3)}))
    assert MONOTONIC.permissible(path) == ["Shift", "NoArc"]


def test_non_monotonic_arcs_replace_the_head_and_break_the_cycle() -> None:
    c = from_heads([2, 3, 0], 1, 3, "implicit")  # 3 → 2 → 1; RightArc 1 → 3 closes a cycle: 2 → 1 gives way
    assert to_heads(IMPLICIT.apply(c, RIGHT_ARC), "implicit") == ((0, 3, 1), 0, 3)
    c = from_heads([2, -1, -1], 1, 3, "explicit")
    assert to_heads(EXPLICIT.apply(c, LEFT_ARC), "explicit") == ((3, -1, -1), 0, 3)


def test_with_an_implicit_root_the_lower_bound_can_exceed_the_loss() -> None:
    c, gold = from_heads([2, 3, 0], 1, 3, "implicit"), graph_of(tree([0, 3, 1]))
    assert reference.loss_bounds(c, gold, "implicit").lower == 1
    assert reference.exact_loss(c, gold, IMPLICIT) == 0


def test_problematic_cycles_are_told_from_harmless_ones() -> None:
    gold = graph_of(tree([3, 1, 0]))  # 3 → 1 → 2, and 2 → 3 was built by mistake: 3 → 1 closes 1 → 2 → 3 → 1
    harmless = from_heads([-1, 1, 2], 1, 3, "explicit")
    assert reference.loss_bounds(harmless, gold, "explicit") == (0, 0, 1)
    # 1 → 2 gold and built, 2 → 3 by mistake; gold 3 → 4 → 1 still to be built. 4 → 1 closes the cycle
    # 1 → 2 → 3 → 4 → 1 when 1 is linked to 4 after 3 is, so the gold arc 3 → 4 gives way.
    gold = graph_of(tree([4, 1, 0, 3]))
    assert reference.loss_bounds(from_heads([-1, 1, 2, -1], 0, 3, "explicit"), gold, "explicit") == (0, 1, 1)


def test_overlapping_cycles_are_each_counted() -> None:
    graph = frozenset({(1, 2), (2, 1), (2, 3), (3, 2), (3, 1), (4, 4)})
    assert len(reference.elementary_cycles(graph)) == 4


@pytest.mark.parametrize("root", ["implicit", "explicit"])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_monotonic_loss_is_exact(length: int, root: reference.Root) -> None:
    _, violations = check_monotonic(length, root, gold_graphs(length))
    assert violations == []


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_bounds_hold_with_an_explicit_root(length: int) -> None:
    cases, violations = check_bounds(length, "explicit", gold_graphs(length))
    assert violations == []
    assert cases == {1: 5, 2: 78, 3: 2_880, 4: 210_875}[length]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_with_an_implicit_root_the_upper_bounds_hold(length: int) -> None:
    _, violations = check_bounds(length, "implicit", gold_graphs(length))
    assert {violation.claim for violation in violations} <= {"lower ≤ loss"}
    # Only a gold root arc can come back, when its word loses its head to the breaking of a cycle.
    for _, c, gold in violations:
        lost = reference.unreachable(c, gold, IMPLICIT)
        roots_lost = sum(head == 0 for head, _ in lost)
        assert len(lost) - roots_lost <= reference.exact_loss(c, gold, IMPLICIT)


@pytest.mark.slow
def test_five_words_sampled() -> None:
    golds = gold_graphs(5, step=83, start=7)
    assert check_bounds(5, "explicit", golds)[1] == []
    assert {violation.claim for violation in check_bounds(5, "implicit", golds)[1]} <= {"lower ≤ loss"}
    for root in ("implicit", "explicit"):
        assert check_monotonic(5, root, golds)[1] == []


# --- oracles -----------------------------------------------------------------------------------------


def test_the_static_oracle_rebuilds_every_tree() -> None:
    for heads in reference.all_trees(4):
        for root in ("implicit", "explicit"):
            system, gold = TransitionSystem(True, root), tree(heads)
            c = system.initial(4)
            while not system.is_terminal(c):
                transition = oracles.static_transition(c, gold)
                assert transition.name in system.permissible(c)
                c = system.apply(c, transition)
            assert reference.hamming_loss(c, graph_of(gold), root) == 0


@pytest.mark.parametrize("root", ["implicit", "explicit"])
def test_the_monotonic_oracle_never_raises_the_loss(root: reference.Root) -> None:
    system = TransitionSystem(True, root)
    for c in reference.reachable_configurations(system, 3):
        for heads in reference.all_trees(3):
            if not system.is_terminal(c):
                gold = tree(heads)
                least = min(oracles.costs(c, gold, "monotonic", root).values())
                assert least == reference.monotonic_loss(c, graph_of(gold), root)


def test_a_gold_arc_must_carry_its_label_and_a_wrong_free_arc_any() -> None:
    gold = tree([2, 0], ["det", "root"])
    c = from_heads([0, 0], 1, 2, "implicit")
    labels = ("det", "root")
    assert oracles.optimal(c, gold, "lower", "implicit", labels) == [Transition("LeftArc", "det")]
    # 1 → 2 was passed by, so a wrong head for 2 is as good as none.
    gold = tree([0, 1, 0], ["root", "det", "root"])
    c = from_heads([0, 0, 0], 2, 3, "implicit")
    free = oracles.optimal(c, gold, "lower", "implicit", labels)
    assert Transition("LeftArc", "det") in free
    assert Transition("LeftArc", "root") in free


def test_the_three_rules() -> None:
    gold = tree([3, 1, 0])
    c = from_heads([0, 0, 0], 1, 2, "implicit")  # gold 1 → 2 is possible now; 2 → 1 would be premature
    scores = {SHIFT: (1.0, 0.0), NO_ARC: (3.0, 0.0), LEFT_ARC: (9.0, 0.0), RIGHT_ARC: (2.0, 0.0)}
    assert oracles.optimal(c, gold, "lower", "implicit") == [RIGHT_ARC]
    assert oracles.target(c, gold, "lower", "implicit", "R2", scores) == RIGHT_ARC
    c = from_heads([0, 0, 0, 0], 1, 2, "implicit")
    gold = tree([4, 4, 4, 0])
    everything = [SHIFT, NO_ARC, LEFT_ARC, RIGHT_ARC]
    assert oracles.accepted(c, gold, "lower", "implicit", "R1") == everything
    assert oracles.accepted(c, gold, "lower", "implicit", "R2") == everything
    assert oracles.accepted(c, gold, "lower", "implicit", "R3") == [SHIFT, NO_ARC]
    assert oracles.target(c, gold, "lower", "implicit", "R1", scores) == LEFT_ARC
    assert oracles.target(c, gold, "lower", "implicit", "R2", scores) == SHIFT


# --- features ----------------------------------------------------------------------------------------


def test_the_table_has_all_templates_once() -> None:
    assert (len(UNIGRAMS), len(PAIRS), len(TRIPLES)) == (67, 10, 10)
    assert len(set(TEMPLATES)) == len(TEMPLATES)


def test_features_read_like_the_table() -> None:
    arcs = frozenset({Arc(2, 1, "det"), Arc(3, 2, "nsubj"), Arc(3, 4, "obj"), Arc(3, 5, "obl")})
    c = Configuration((1, 2, 3), (4, 5, 6), (7, 8), arcs)
    sentence = Sentence(list("abcdefgh"), list("ABCDEFGH"))
    found = dict(feature.split("=", 1) for feature in features(c, sentence, "implicit"))
    assert found["L0.wp"] == "c|C"
    assert found["L0.l"] == "<none>"
    assert found["L0h.w"] == "<root>"
    assert found["L0h2.w"] == "<none>"
    assert found["L0l'.w"] == found["L0l.w"] == "b"
    assert (found["L0r'.w"], found["L0r.w"], found["L0r.l"]) == ("d", "e", "obl")
    assert (found["L0.wvr"], found["L0.wvl"]) == ("c|2", "c|1")
    assert found["L0.psr"] == "C|{obj,obl}"
    assert found["L0.wd"] == "c|4"
    assert (found["CL.w"], found["CR.w"]) == ("f", "f")
    assert found["R2.w"] == "<none>"
    assert found["L0.p+R0.p+R1.p"] == "C+G+H"


# --- planted bugs ------------------------------------------------------------------------------------

LITERAL_UNREACHABLE = reference.unreachable


def reads_too_far(c: Configuration, gold: Graph, system: TransitionSystem) -> Graph:
    """A bug in U: an arc counts as lost as soon as its right end is the right focus word."""
    _, j = reference.focus(c, system.root)
    lost = {arc for arc in gold - reference.completed(c, system.root) if j >= max(arc)}
    return LITERAL_UNREACHABLE(c, gold, system) | lost


def forgets_the_left_word(c: Configuration, gold: Graph, system: TransitionSystem) -> Graph:
    """A bug in U: an arc whose right end is in focus counts as reachable after i has passed its left end."""
    _, j = reference.focus(c, system.root)
    return frozenset(arc for arc in LITERAL_UNREACHABLE(c, gold, system) if j != max(arc))


def closes_with_the_first(cycle: tuple[reference.Pair, ...], built: Graph) -> reference.Pair:
    return min((arc for arc in cycle if arc not in built), key=lambda arc: (max(arc), -min(arc)))


def closes_with_the_nearest(cycle: tuple[reference.Pair, ...], built: Graph) -> reference.Pair:
    return max((arc for arc in cycle if arc not in built), key=lambda arc: (max(arc), min(arc)))


def counts_one_cycle(built: Graph, reachable: Graph) -> int:
    return min(1, len(reference.elementary_cycles(built | reachable)))


def counts_no_cycle(built: Graph, reachable: Graph) -> int:
    return 0


def ignores_other_heads(c: Configuration, gold: Graph, system: TransitionSystem) -> Graph:
    """A bug in Algorithm 1: an arc to a word that has another head counts as reachable."""
    return LITERAL_UNREACHABLE(c, gold, TransitionSystem(False, system.root))


def finds_nobody_connected(graph: Graph, x: int, y: int) -> bool:
    return False


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, object], None]]:
    """Replace a piece of the twin, with nothing remembered from before or kept for after."""

    def forget() -> None:
        for piece in vars(reference).values():
            getattr(piece, "cache_clear", lambda: None)()

    def replace(name: str, bug: object) -> None:
        monkeypatch.setattr(reference, name, bug)
        forget()

    yield replace
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    ("piece", "bug", "claim"),
    [
        ("unreachable", reads_too_far, "lower ≤ loss"),
        ("unreachable", forgets_the_left_word, "loss ≤ pc-upper"),
        ("is_problematic", lambda cycle, built, gold: False, "loss ≤ pc-upper"),
        ("closing_arc", closes_with_the_first, "loss ≤ pc-upper"),
        ("closing_arc", closes_with_the_nearest, "loss ≤ pc-upper"),
        ("count_cycles", counts_one_cycle, "pc-upper ≤ upper"),
        ("count_cycles", counts_no_cycle, "pc-upper ≤ upper"),
    ],
)
def test_a_bug_in_a_bound_is_caught(
    plant: Callable[[str, object], None], piece: str, bug: object, claim: str
) -> None:
    plant(piece, bug)
    _, violations = check_bounds(4, "explicit", gold_graphs(4))
    assert claim in {violation.claim for violation in violations}


@pytest.mark.parametrize(
    ("piece", "bug"),
    [
        ("unreachable", reads_too_far),
        ("unreachable", forgets_the_left_word),
        ("unreachable", ignores_other_heads),
        ("count_cycles", counts_no_cycle),
    ],
)
def test_a_bug_in_the_monotonic_loss_is_caught(
    plant: Callable[[str, object], None], piece: str, bug: object
) -> None:
    plant(piece, bug)
    _, violations = check_monotonic(4, "explicit", gold_graphs(4))
    assert violations


def test_weak_connection_and_cycles_count_the_same_arcs(plant: Callable[[str, object], None]) -> None:
    """Not a bug: an arc x → y inside one component that no other head blocks closes a cycle with A,
    so leaving out the last condition of U moves it from |U| to n_c and the loss stays the same."""
    plant("weakly_connected", finds_nobody_connected)
    assert check_monotonic(4, "explicit", gold_graphs(4))[1] == []
