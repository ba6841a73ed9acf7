"""The replay of transitions judged by hand-made sequences, and the page by a real browser."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.display import trace_page, tracing
from covington.display.tracing import BuiltArc, replay
from covington.display.trees import Tree
from covington.errors import DataError
from covington.study import oracle
from tests.display.test_drawing import SHE, UYGHUR, some_tree
from tests.support.browser import measure, picture


def steps_of(text: str) -> list[dict[str, Any]]:
    """Transitions from a string such as "S L R N": the focus words follow from them."""
    names = {"S": "Shift", "N": "NoArc", "L": "LeftArc", "R": "RightArc"}
    left, right = 0, 1
    steps = []
    for letter in text.split():
        label = "dep" if letter in "LR" else None
        steps.append({"i": left, "j": right, "transition": names[letter], "label": label, "score": 1.0})
        left, right = (right, right + 1) if letter == "S" else (left - 1, right)
    return steps


def oracle_steps(tree: Tree, seed: int = 1, noise: float = 0.0) -> list[dict[str, Any]]:
    """Transitions that build a tree in Covington's order, with some wrong arcs on the way."""
    chooser = random.Random(seed)
    steps = []
    for right in range(1, len(tree.words) + 1):
        for left in range(right - 1, 0, -1):
            step = {"i": left, "j": right, "label": None, "score": None, "transition": "NoArc"}
            if tree.heads[left - 1] == right:
                step.update(transition="LeftArc", label=tree.labels[left - 1])
            elif tree.heads[right - 1] == left:
                step.update(transition="RightArc", label=tree.labels[right - 1])
            elif chooser.random() < noise:
                step.update(transition=chooser.choice(["LeftArc", "RightArc"]), label="dep")
            steps.append(step)
        steps.append({"i": 0, "j": right, "transition": "Shift", "label": None, "score": None})
    return steps


@given(st.integers(0, 10**6), st.integers(1, 15))
def test_replaying_the_arcs_of_a_tree_builds_the_tree(seed: int, words: int) -> None:
    tree = some_tree(seed, words, nearby=False)
    steps = replay(oracle_steps(tree), words, tree)
    built = {arc.dependent: (arc.head, arc.label) for arc in steps[-1].arcs}
    assert built == {word: (head, tree.labels[word - 1]) for word, head in enumerate(tree.heads, 1) if head}
    assert not any(step.repair or step.harmful for step in steps)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_no_cycle_and_one_head_whatever_is_replayed(seed: int, words: int) -> None:
    tree = some_tree(seed, words, nearby=False)
    for step in replay(oracle_steps(tree, seed, noise=0.6), words, tree):
        heads = {arc.dependent: arc.head for arc in step.arcs}
        assert len(heads) == len(step.arcs)
        for word in heads:
            seen = set()
            while word in heads:
                assert word not in seen
                seen.add(word)
                word = heads[word]


@given(st.lists(st.sampled_from(["NoArc", "LeftArc", "RightArc", "Shift"]), max_size=60), st.integers(1, 8))
def test_the_replay_agrees_with_the_compiled_transitions(names: list[str], words: int) -> None:
    heads, left, right = [0] * words, 0, 1
    steps, expected = [], []
    for name in names:
        if right > words:
            break
        name = name if left else "Shift"
        steps.append({"i": left, "j": right, "transition": name, "label": "dep"})
        heads, left, right = oracle.apply(heads, left, right, name, root="implicit")
        expected.append(heads)
    for step, wanted in zip(replay(steps, words), expected, strict=False):
        built = {arc.dependent: arc.head for arc in step.arcs}
        assert [built.get(word, 0) for word in range(1, words + 1)] == wanted


def test_shifts_that_the_parser_leaves_out_are_put_back() -> None:
    given_steps = [step for step in steps_of("S R S L L S") if step["i"]]
    found = [(step.transition, step.left, step.right) for step in replay(given_steps, 3)]
    assert found == [
        ("Shift", 0, 1),
        ("RightArc", 1, 2),
        ("Shift", 0, 2),
        ("LeftArc", 2, 3),
        ("LeftArc", 1, 3),
        ("Shift", 0, 3),
    ]


def test_a_new_head_replaces_the_old_one() -> None:
    steps = replay(steps_of("S L S R R"), 3, Tree(("a", "b", "c"), (0, 1, 1), ("x",) * 3, ("X",) * 3))
    assert steps[1].added == BuiltArc(2, 1, "dep") and steps[1].verdict == "wrong"
    assert steps[4].removed == (BuiltArc(2, 3, "dep"),)
    assert steps[4].verdict == "gold" and steps[4].repair and not steps[4].harmful


def test_a_cycle_is_broken_by_taking_the_head_of_the_new_head() -> None:
    """1 → 2, then LeftArc 3 → 1 … and a RightArc that closes a cycle takes away the arc into its head."""
    steps = replay(steps_of("S R S L L"), 3)  # 1 → 2; then 3 → 2 takes it away; 3 → 1
    assert steps[3].removed == (BuiltArc(1, 2, "dep"),)
    cycle = replay([*steps_of("S L"), {"i": 1, "j": 2, "transition": "RightArc", "label": "dep"}], 2)
    assert cycle[2].removed == (BuiltArc(2, 1, "dep"),)
    assert cycle[2].arcs == (BuiltArc(1, 2, "dep"),)


def test_a_harmful_repair_is_named() -> None:
    gold = Tree(("a", "b", "c"), (2, 0, 2), ("dep",) * 3, ("X",) * 3)
    steps = replay(steps_of("S L S N L"), 3, gold)
    assert [step.harmful for step in steps] == [False, False, False, False, True, False]
    assert tracing.summary(steps) == {
        "transitions": 6,
        "arc_transitions": 2,
        "non_monotonic": 1,
        "creating_gold": 0,
        "harmful": 1,
    }
    text = tracing.as_text(gold, steps)
    assert "   5 ↻ LeftArc dep  [1 a ← 3 c]   removes 2 b → 1 a (dep)   ✗ not the gold head, harmful" in text
    assert text.endswith(
        "6 transitions, 2 of them arcs; 1 non-monotonic (0 creating a gold arc, 1 harmful)\n"
    )


def with_root() -> tuple[Tree, list[dict[str, Any]]]:
    """The explicit root: ROOT → 1 is built and taken away again; 2 → 1 is what gold has."""
    gold = Tree(("a", "bc"), (2, 0), ("dep", "root"), ("X", "X"), "s1", "a bc")
    steps = [
        {"i": 0, "j": 1, "transition": "RightArc", "label": "root", "score": 2.5},
        {"i": -1, "j": 1, "transition": "Shift"},
        {"i": 1, "j": 2, "transition": "LeftArc", "label": "dep"},
        {"i": 0, "j": 2, "transition": "RightArc"},
    ]
    return gold, steps


def test_the_lines_of_a_trace() -> None:
    gold, steps = with_root()
    lines = [
        "# s1",
        "# a bc",
        "   1   RightArc root  [ROOT → 1 a]   ✗ not the gold head",
        "   2   Shift          [ ] 1 a",
        "   3 ↻ LeftArc dep    [1 a ← 2 bc]   removes ROOT → 1 a (root)   ✓ gold head",
        "   4   RightArc       [ROOT → 2 bc]   ✓ gold head",
        "   5   Shift          [ ] 2 bc",
        "",
        "5 transitions, 3 of them arcs; 1 non-monotonic (1 creating a gold arc, 0 harmful)",
    ]
    done = replay(steps, 2, gold)
    assert tracing.as_text(gold, done).splitlines() == lines
    coloured = [f"\x1b[33m{line}\x1b[0m" if "↻" in line else line for line in lines]
    assert tracing.as_text(gold, done, colour=True).splitlines() == coloured
    assert [step.score for step in done] == [2.5, None, None, None, None]
    assert done[-1].arcs == (BuiltArc(2, 1, "dep"), BuiltArc(0, 2, "_"))


def test_without_gold_nothing_is_judged() -> None:
    tree, steps = with_root()
    text = tracing.as_text(tree, replay(steps, 2))
    assert "gold" not in text and "✓" not in text and "✗" not in text
    assert text.endswith("5 transitions, 3 of them arcs; 1 non-monotonic\n")


def test_a_repair_is_harmful_only_where_right_becomes_wrong() -> None:
    """A wrong arc for a wrong one is no harm, nor is a gold arc that takes another gold arc out of its cycle."""
    wrong = replay(steps_of("S L S N L"), 3, Tree(("a", "b", "c"), (0, 0, 0), ("x",) * 3, ("X",) * 3))
    assert (wrong[4].repair, wrong[4].verdict, wrong[4].removed_gold) == (True, "wrong", (False,))
    right = replay(steps_of("S R S R L"), 3, Tree(("a", "b", "c"), (3, 0, 2), ("x",) * 3, ("X",) * 3))
    assert (right[4].repair, right[4].verdict, right[4].removed_gold) == (True, "gold", (True,))
    for steps, creating in ((wrong, 0), (right, 1)):
        found = tracing.summary(steps)
        assert (found["non_monotonic"], found["creating_gold"], found["harmful"]) == (1, creating, 0)
        assert not steps[4].harmful


def test_without_repairs_there_is_nothing_to_judge() -> None:
    gold = Tree(("a", "b"), (0, 1), ("root", "dep"), ("X", "X"))
    steps = replay(steps_of("S R"), 2, gold)
    assert steps[1].verdict == "gold" and not steps[1].repair
    assert tracing.summary(steps)["creating_gold"] == 0  # it creates a gold arc, but is no repair
    assert tracing.summary_text(steps, gold=True) == "3 transitions, 1 of them arcs; 0 non-monotonic"


def test_an_arc_that_is_built_again_takes_the_old_one_away() -> None:
    arc = {"i": 1, "j": 2, "transition": "RightArc"}
    steps = replay([{**arc, "label": "one"}, {**arc, "label": "two"}], 2)
    assert steps[2].removed == (BuiltArc(1, 2, "one"),) and steps[2].arcs == (BuiltArc(1, 2, "two"),)


def test_arcs_stand_in_the_order_of_their_dependents() -> None:
    steps = replay(steps_of("S R S L L"), 3)  # the head of 2 comes first, then that of 1
    assert [arc.dependent for arc in steps[-1].arcs] == [1, 2]


def test_two_arcs_that_are_taken_away_are_both_named() -> None:
    names = ("a", "b", "c")
    steps = replay(
        [
            {"i": 2, "j": 3, "transition": "LeftArc", "label": "x"},
            {"i": 1, "j": 3, "transition": "RightArc", "label": "y"},
            {"i": 2, "j": 3, "transition": "RightArc", "label": "z"},
        ],
        3,
    )
    text = tracing.as_text(Tree(names, (0, 0, 0), ("x",) * 3, ("X",) * 3), steps)
    assert "removes 1 a → 3 c (y) and 3 c → 2 b (x)\n" in text


@pytest.mark.parametrize(
    "step",
    [
        {"i": 0, "j": 1, "transition": "Jump"},
        {"i": 2, "j": 2, "transition": "Shift"},
        {"i": 2, "j": 3, "transition": "NoArc"},
    ],
)
def test_impossible_steps_are_refused(step: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="step"):
        replay([step], 2)


def test_everything_on_the_page_is_escaped() -> None:
    words = ("</script><script>alert(1)</script>", "<b>")
    tree = Tree(words, (0, 1), ("root", "<i>"), ("X", "X"), "<u>", "<s>")
    page = trace_page.html(tree, replay(oracle_steps(tree), 2, tree))
    assert page.count("<script") == 2  # the data and the program
    assert not any(tag in page for tag in ("<i>", "<u>", "<s>", "alert(1)</script>"))


STEPPING = """
const $=id=>document.getElementById(id), log=[];
const look=()=>log.push([$('count').textContent,document.querySelectorAll('.state.on').length,
 document.querySelectorAll('.state.on .arc').length,$('now').textContent]);
look();$('next').click();look();
dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowRight'}));look();
dispatchEvent(new KeyboardEvent('keydown',{key:'End'}));look();
dispatchEvent(new KeyboardEvent('keydown',{key:'ArrowLeft'}));look();
$('first').click();$('repair').click();look();
return {log,errors:$('repair').disabled};
"""


def test_the_page_is_stepped_through_in_a_browser(tmp_path: Path) -> None:
    steps = replay(steps_of("S L S R R"), 3, Tree(("a", "b", "c"), (0, 1, 1), ("x",) * 3, ("X",) * 3))
    tree = Tree(("a", "b", "c"), (0, 1, 1), ("x",) * 3, ("X",) * 3)
    page = tmp_path / "trace.html"
    page.write_text(trace_page.html(tree, steps), encoding="utf-8")
    log = measure(page, STEPPING, tmp_path)["log"]
    assert [entry[0] for entry in log] == ["0 / 6", "1 / 6", "2 / 6", "6 / 6", "5 / 6", "5 / 6"]
    assert all(entry[1] == 1 for entry in log)
    assert [entry[2] for entry in log] == [0, 0, 1, 3, 3, 3]  # the arc taken away is still shown, in orange
    assert "↻ takes away “b” → “c”" in log[4][3]


@pytest.mark.parametrize("tree", [SHE, UYGHUR])
def test_screenshots_of_the_trace(tmp_path: Path, tree: Tree) -> None:
    page = tmp_path / f"trace-{tree.sent_id}.html"
    page.write_text(trace_page.html(tree, replay(oracle_steps(tree, 3, 0.5), 4, tree)), encoding="utf-8")
    assert picture(page, tmp_path).stat().st_size > 10_000


def test_the_page_calls_only_gold_arcs_right() -> None:
    """2 → 3 takes away 1 → 3, which was wrong, and 3 → 2, which was right and would close a cycle."""
    gold = Tree(("a", "b", "c"), (0, 3, 0), ("x",) * 3, ("X",) * 3)
    steps = replay(
        [
            {"i": 2, "j": 3, "transition": "LeftArc", "label": "x"},
            {"i": 1, "j": 3, "transition": "RightArc", "label": "x"},
            {"i": 2, "j": 3, "transition": "RightArc", "label": "x"},
        ],
        3,
        gold,
    )
    (last,) = [step for step in steps if len(step.removed) == 2]
    assert last.removed_gold == (False, True) and last.harmful
    page = trace_page.html(gold, steps)
    assert page.count("which was right") == 1
