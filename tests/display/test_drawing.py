"""Drawings: what the terminal shows, and what a real browser makes of the SVG."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from covington.display.drawing import LABEL_SIZE, html, lay_out, right_to_left, svg, text_width
from covington.display.drawing_text import draw
from covington.display.trees import Tree, arcs_of, trees
from tests.evaluation.test_evaluation import random_tree
from tests.support.batches import batch, sentence
from tests.support.browser import measure, picture

SHE = Tree(
    ("She", "saw", "the", "dog"),
    (2, 0, 4, 2),
    ("nsubj", "root", "det", "obj"),
    ("PRON", "VERB", "DET", "NOUN"),
)
UYGHUR = Tree(
    ("مەن", "كىتاب", "ئوقۇدۇم", "."),
    (3, 3, 0, 3),
    ("nsubj", "obj", "root", "punct"),
    ("PRON", "NOUN", "VERB", "PUNCT"),
    "ug-1",
    "مەن كىتاب ئوقۇدۇم.",
)
LABELS = ["nsubj:pass", "obl", "compound:prt", "punct", "acl:relcl", "det", "nmod:poss", "dislocated"]


def some_tree(seed: int, words: int, nearby: bool = True) -> Tree:
    """A random tree; heads nearby, as in language, so that arcs nest in moderate depth."""
    chooser = random.Random(seed)
    if nearby:
        root = chooser.randint(1, words)
        heads = tuple(
            0 if word == root else word + 1 if word < root and chooser.random() < 0.8 else root
            if abs(word - root) < 3
            else word + (1 if word < root else -1) * chooser.randint(1, 2)
            for word in range(1, words + 1)
        )  # fmt: skip
    else:
        heads = tuple(random_tree(chooser, words))
    labels = tuple("root" if head == 0 else chooser.choice(LABELS) for head in heads)
    forms = tuple(chooser.choice(["I", "word", "Straßenbahn", "语言", "<b>", "&amp;", "a"]) for _ in heads)
    return Tree(forms, heads, labels, ("NOUN",) * words, "random", " ".join(forms))


def test_terminal_drawing() -> None:
    assert draw(SHE) == (
        "  ┌►─ nsubj  PRON    1 She\n"
        "┌─┴─● root   VERB    2 saw\n"
        "│ ┌►─ det    DET     3 the\n"
        "└►┴── obj    NOUN    4 dog\n"
    )


def read_back(drawn: str) -> tuple[int | None, ...]:
    """The heads, by following the bars and nothing else."""
    lines = [line.split(" dep ")[0] for line in drawn.splitlines()]
    heads: list[int | None] = [0 if line[-1] == "●" else None for line in lines]
    for column in range(0, len(lines[0]) - 1, 2):
        top = None
        for number, line in enumerate(lines):
            if line[column] in "┌┬":
                assert top is None
                top = number
            elif line[column] in "└┴":
                assert top is not None
                above, below = (lines[end][column + 1] == "►" for end in (top, number))
                assert above != below
                heads[top if above else number] = (number if above else top) + 1
                top = None
            else:
                assert (line[column] in "│┊┼") == (top is not None)
        assert top is None
    return tuple(heads)


@given(st.integers(0, 10**6), st.integers(1, 40))
@example(0, 1)
def test_every_arc_of_the_terminal_drawing_can_be_told(seed: int, words: int) -> None:
    chains = (tuple(range(words)), (*range(2, words + 1), 0))
    for heads in (tuple(random_tree(random.Random(seed), words)), *chains):
        tree = Tree(("w",) * words, heads, ("dep",) * words, ("X",) * words)
        assert read_back(draw(tree).replace("dep~", "dep ")) == heads


def test_what_is_no_tree_is_drawn_too() -> None:
    tree = Tree(("a", "b", "c", "d"), (1, 3, 2, None), ("dep",) * 4, ("X",) * 4)
    assert [line.split(" dep")[0] for line in draw(tree).splitlines()] == ["    ↺", "┌─┬►─", "└►┴──", "     "]
    ElementTree.fromstring(svg(tree, standalone=True))


def test_nothing_that_a_terminal_would_obey_is_printed() -> None:
    rows = batch(sentence("a\x1b[2J b\ufffe\x01", [0, 1], "root obj\x9b", "X Y", sent_id="s\x07"))
    (tree,) = trees(rows)
    assert tree.words == ("a�[2J", "b��") and tree.labels[1] == "obj�" and tree.sent_id == "s�"
    ElementTree.fromstring(svg(tree, standalone=True))


def test_sentences_without_trees_or_tags() -> None:
    rows = batch({"tokens": ["a", "b"]}, {"tokens": ["c"], "head": [0], "deprel": ["root"]})
    assert [tree.heads for tree in trees(rows)] == [(None, None), (0,)]
    assert [tree.labels for tree in trees(rows)] == [("_", "_"), ("root",)]


def test_terminal_drawing_marks_non_projective_arcs_and_differences_from_gold() -> None:
    tree = Tree(("a", "b", "c", "d"), (3, 0, 2, 1), ("x", "root", "y", "z"), ("X",) * 4)
    gold = Tree(tree.words, (3, 0, 2, 2), tree.labels, tree.tags)
    lines = draw(tree, gold).splitlines()
    assert "x~" in lines[0] and "z~" in lines[3] and "y~" not in lines[2]
    assert lines[3].endswith("d   ✗ gold: z of 2 b")
    assert "✗" not in lines[0]


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_terminal_drawing_of_any_tree_has_one_line_per_word(seed: int, words: int) -> None:
    tree = some_tree(seed, words, nearby=False)
    lines = draw(tree).splitlines()
    assert [line.split()[-1] for line in lines] == list(tree.words)
    assert len({line.index(" NOUN ") for line in lines}) == 1


def test_trees_come_from_batches() -> None:
    rows = batch(sentence("a b", [0, 1], "root obj", "X Y", sent_id="s1"))
    assert list(trees(rows)) == [Tree(("a", "b"), (0, 1), ("root", "obj"), ("X", "Y"), "s1", "a b")]


@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
def test_labels_fit_and_overlapping_arcs_have_levels_of_their_own(
    seed: int, words: int, nearby: bool
) -> None:
    tree = some_tree(seed, words, nearby)
    layout = lay_out(tree, arcs_of(tree), [])
    spans = []
    for arc in layout.above:
        left, right = layout.feet[arc, arc.left], layout.feet[arc, arc.right]
        if arc.head:
            assert right - left >= text_width(arc.label, LABEL_SIZE)
        else:
            half = text_width(arc.label, LABEL_SIZE) / 2
            left, right = left - half, right + half
        spans.append((arc.level, left, right))
    for one, (level, left, right) in enumerate(spans):
        for other_level, other_left, other_right in spans[:one]:
            assert level != other_level or right < other_left or other_right < left


def test_svg_is_well_formed_and_escaped() -> None:
    tree = Tree(("<script>alert(1)</script>", '"&'), (0, 1), ("root", "<b>"), ("X", "&"), "<i>", "<u>")
    root = ElementTree.fromstring(svg(tree, standalone=True))
    words = [text.text for text in root.iter() if text.get("class") == "word"]
    assert words == ["<script>alert(1)</script>", '"&']
    page = html([(tree, tree)])
    assert "<script" not in page and "<i>" not in page and "<u>" not in page


def test_gold_and_predicted_differ_in_colour_and_side() -> None:
    predicted = Tree(SHE.words, (2, 0, 2, 2), ("nsubj", "root", "det", "iobj"), SHE.tags)
    drawn = svg(predicted, SHE)
    assert drawn.count('class="label gold"') == 2
    assert drawn.count('class="label predicted"') == 2
    assert drawn.count('class="label both"') == 2


def test_scripts_from_right_to_left_are_found() -> None:
    assert right_to_left(UYGHUR.words)
    assert not right_to_left(SHE.words)
    assert not right_to_left(["2", "+", "2"])


OVERLAPS = """
const boxes=[...document.querySelectorAll('.tree text')].map(t=>[t.textContent,t.getBoundingClientRect()]);
const bad=[];
boxes.forEach(([a,p],i)=>boxes.slice(0,i).forEach(([b,q])=>{
 if(p.left<q.right-.5&&q.left<p.right-.5&&p.top<q.bottom-2&&q.top<p.bottom-2)bad.push([a,b])}));
const pane=document.querySelector('.scroll');
return {texts:boxes.length,bad,
 wide:pane.scrollWidth>pane.clientWidth,body:document.body.scrollWidth<=innerWidth};
"""


@pytest.mark.parametrize("seed", range(3))
def test_sixty_words_in_a_browser_have_no_overlapping_labels_and_scroll(tmp_path: Path, seed: int) -> None:
    tree, gold = some_tree(seed, 60), some_tree(seed + 100, 60)
    gold = Tree(tree.words, gold.heads, gold.labels, tree.tags)
    page = tmp_path / f"sixty-{seed}.html"
    page.write_text(html([(tree, gold)] if seed else [(tree, None)]), encoding="utf-8")
    found = measure(page, OVERLAPS, tmp_path)
    assert found["texts"] >= 180
    assert found["bad"] == []
    assert found["wide"] and found["body"]  # the drawing scrolls, the page does not
    assert picture(page, tmp_path).stat().st_size > 10_000


def test_right_to_left_words_stand_from_right_to_left_in_a_browser(tmp_path: Path) -> None:
    page = tmp_path / "uyghur.html"
    page.write_text(html([(UYGHUR, None)]), encoding="utf-8")
    script = "return [...document.querySelectorAll('.word')].map(t=>t.getBoundingClientRect().left)"
    places = measure(page, script, tmp_path)
    assert places == sorted(places, reverse=True)
    assert measure(page, OVERLAPS, tmp_path)["bad"] == []
