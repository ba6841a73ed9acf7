"""Every template, node and attribute against the literal twin: their keys, and the scores that are made of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covington.features import encoding, templates
from covington.features.program import Program
from covington.features.walk import Walk
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from covington.transition.systems.covington import Covington
from tests.support import reference_features as twin
from tests.support.batches import batch, sentence
from tests.support.reference import Configuration, Root, Transition, TransitionSystem
from tests.support.strategies import LABELS, systems

# beginnings, ends and shapes that some share and others do not; letters of one to four bytes
FORMS = (
    *("Haus", "Hausboot", "Baumhaus", "haus", "HAUS", "ab", "b", "McDonald", "3,000", "30,00"),
    *("x,yz", "B", "7", "?", "日本語です", "本語です", "日本語", "éa", "e\u0301a", "😀😀😀😀", "😀x"),
)
COLUMNS: dict[str, tuple[str | None, ...]] = {
    "upos": ("NOUN", "VERB", "", None),
    "xpos": ("NN", "VB", None),
    "feats": ("Number=Sing", "Mood=Ind", "", None),
    "lemmas": ("haus", "sein", "3", None),
}
SETS = {name: text.split() for name, text in templates.SETS.items()} | {"every": twin.every_template()}

Row = dict[str, Any]
Choose = Callable[[Sequence[Any]], Any]


def random_row(length: int, choose: Choose) -> Row:
    """A sentence whose columns say nothing of each other; its tree is a chain."""
    row = sentence(" ".join(choose(FORMS) for _ in range(length)), range(length))
    row["deprel"] = ["root", *(choose(LABELS) for _ in range(length - 1))]
    return row | {name: [choose(values) for _ in range(length)] for name, values in COLUMNS.items()}


def read_by_twin(row: Row, tag: str) -> twin.Sentence:
    if tag != "upos+xpos":
        tags = row[tag]
    else:
        pairs = zip(row["upos"], row["xpos"], strict=True)
        tags = [None if pair == (None, None) else f"{pair[0] or ''}+{pair[1] or ''}" for pair in pairs]
    return twin.Sentence(row["tokens"], tags, row["xpos"], row["feats"], row["lemmas"])


class Judge:
    """Two features of a template have the same key exactly if the twin writes them the same way."""

    def __init__(self, names: Sequence[str], tag: str = "upos") -> None:
        self.names, self.tag, self.program = list(names), tag, Program(list(names))
        self.key_of: dict[str, int] = {}
        self.text_of: dict[int, str] = {}

    def walk(self, row: Row, system: TransitionSystem) -> Walk:
        sentences = encoding.encode(batch(row), self.program.attributes, self.tag)
        return Walk(self.program, sentences, 0, Covington(system.monotonic, system.root == "explicit"))

    def check(self, walk: Walk, c: Configuration, row: Row, root: Root) -> None:
        found = walk.features()
        assert len(found) == len(self.names)
        for name, text in zip(
            self.names, twin.features(c, read_by_twin(row, self.tag), root, self.names), strict=True
        ):
            key = found[name]
            assert self.key_of.setdefault(text, key) == key, text
            assert self.text_of.setdefault(key, text) == text

    def follow(self, row: Row, system: TransitionSystem, choose: Choose) -> None:
        """From the beginning to the end; arcs are made often, so that many are replaced."""
        walk, c = self.walk(row, system), system.initial(len(row["tokens"]))
        while not system.is_terminal(c):
            name = choose(usual(system.permissible(c)))
            c = step(walk, c, system, name, choose(LABELS))
            if c.left_list and c.buffer:
                self.check(walk, c, row, system.root)


def seldom_shift(chooser: random.Random) -> Choose:
    """Go on to the next right focus word only one time in six where there is a choice."""
    return lambda values: chooser.choice([value for value in values * 3 if value != "Shift"] + [*values])


def usual(names: list[str]) -> list[str]:
    return [*names, *names[2:] * 2]


def step(walk: Walk, c: Configuration, system: TransitionSystem, name: str, label: str) -> Configuration:
    """One transition in the core and in the twin."""
    arc = name in ("LeftArc", "RightArc")
    walk.take(name, LABELS.index(label) if arc else -1)
    return system.apply(c, Transition(name, label if arc else ""))


def test_the_twin_knows_every_template() -> None:
    """Each node with each attribute that can be asked of it is in `every`, and nothing else."""
    assert set(twin.ADDRESSES) == set(templates.NODES)
    attributes = {*templates.WORD_ATTRIBUTES, *templates.STATE_ATTRIBUTES}
    assert {*twin.WORD_ATTRIBUTES, *twin.ARC_ATTRIBUTES, "l", "d"} == attributes
    possible = {f"{node}.{what}" for node in templates.NODES for what in attributes}
    assert {name for name in possible if is_template(name)} == set(SETS["every"])


def is_template(name: str) -> bool:
    try:
        templates.parse_template(name)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("tag", encoding.TAGS)
@pytest.mark.parametrize("name", list(SETS))
def test_keys_along_random_walks(name: str, tag: str) -> None:
    judge, chooser = Judge(SETS[name], tag), random.Random(7)
    for root in get_args(Root):
        for length in (2, 3, 5, 8, 8):
            judge.follow(random_row(length, chooser.choice), TransitionSystem(False, root), chooser.choice)


def test_keys_of_words_that_are_far_from_each_other() -> None:
    judge, chooser = Judge(["L0.d", "R0.wd", "L0.p+R0.pd", "LA.x", "RB.x", "CL.w", "CR.w"]), random.Random(7)
    for _ in range(3):
        judge.follow(
            random_row(25, chooser.choice), TransitionSystem(False, "explicit"), seldom_shift(chooser)
        )
    assert {f"L0.d={distance}" for distance in range(1, 21)} <= set(judge.key_of)


@pytest.mark.parametrize("root", get_args(Root))
def test_keys_after_every_transition_of_every_configuration(root: Root) -> None:
    """Of up to three words, and the root: each transition from each configuration that can be reached."""
    judge, system, checked = Judge(SETS["every"]), TransitionSystem(False, root), 0
    for length in (1, 2, 3, 4) if root == "implicit" else (1, 2, 3):
        row = random_row(length, random.Random(length).choice)
        paths: dict[Configuration, list[Transition]] = {system.initial(length): []}
        waiting = list(paths)
        while waiting:
            before = waiting.pop()
            for transition in system.transitions(before, LABELS[:1]):
                walk, c = judge.walk(row, system), system.initial(length)
                for name, label in [*paths[before], transition]:
                    c = step(walk, c, system, name, label)
                if c.left_list and c.buffer:
                    judge.check(walk, c, row, root)
                    checked += 1
                if c not in paths:
                    paths[c] = [*paths[before], transition]
                    waiting.append(c)
    assert checked > 30


@st.composite
def template_names(draw: st.DrawFn) -> str:
    """Any template of one to three parts."""

    def part(address: str) -> str:
        known = ("l", "d", *(twin.ARC_ATTRIBUTES if address in ("L0", "R0") else ()))
        chosen = st.sampled_from((*twin.WORD_ATTRIBUTES, *known))
        return f"{address}.{''.join(draw(st.lists(chosen, min_size=1, max_size=3, unique=True)))}"

    addresses = st.lists(st.sampled_from(twin.ADDRESSES), min_size=1, max_size=3)
    return "+".join(part(address) for address in draw(addresses))


@settings(max_examples=60)
@given(st.lists(template_names(), min_size=1, max_size=5, unique=True), systems, st.randoms())
def test_keys_of_any_templates(names: list[str], system: TransitionSystem, chooser: random.Random) -> None:
    judge = Judge(names)
    for length in (3, 6):
        judge.follow(random_row(length, chooser.choice), system, chooser.choice)


def random_templates(seed: int) -> list[str]:
    """Of all kinds, so that every group has some and some stand behind gates."""
    chooser, names = random.Random(seed), dict.fromkeys(["L0.w+R0.w", "L0.e+R0.w"])
    while len(names) < 24:
        parts = []
        for address in chooser.sample(twin.ADDRESSES, chooser.choice((1, 2, 2, 3))):
            arcs = twin.ARC_ATTRIBUTES if address in ("L0", "R0") else ()
            known = (*twin.WORD_ATTRIBUTES, *"wpp", "l", "l", "d", *arcs)
            parts.append(
                f"{address}.{''.join(dict.fromkeys(chooser.choices(known, k=chooser.choice((1, 2)))))}"
            )
        names["+".join(parts)] = None
    return list(names)


def random_weights(judge: Judge, rows: list[Row], system: TransitionSystem, classes: int) -> Weights:
    """Weights of all classes for every feature that some walks meet."""
    chooser, keys = random.Random(3), set[int]()
    for row in rows * 3:
        walk, c = judge.walk(row, system), system.initial(len(row["tokens"]))
        while not system.is_terminal(c):
            if c.left_list:
                keys.update(walk.features().values())
            c = step(walk, c, system, chooser.choice(usual(system.permissible(c))), chooser.choice(LABELS))
    sums = np.random.default_rng(3).integers(-(1 << 20), 1 << 20, len(keys) * classes)
    arrays = {
        "keys": np.array(sorted(keys), np.uint64),
        "ends": np.arange(1, len(keys) + 1, dtype=np.int64) * classes,
        "classes": np.tile(np.arange(classes, dtype=np.uint16), len(keys)),
        "weights": np.zeros(len(sums), np.int32),
        "sums": sums,
    }
    return Weights.from_arrays(classes, 1, 1, arrays)


def by_transition(
    scores: Any, c: Configuration, system: TransitionSystem, own_repairs: bool
) -> dict[str, tuple[int, str]]:
    """Name → the score that decides about a transition, and its best label."""
    found, labels = {}, (len(scores) - 2 - 2 * own_repairs) // 2
    for name in system.permissible(c):
        if name in ("Shift", "NoArc"):
            found[name] = (int(scores[0 if name == "Shift" else 1]), "")
            continue
        is_right = name == "RightArc"
        plain = scores[2 + is_right * labels : 2 + (is_right + 1) * labels]
        replaces = not c.arcs <= system.apply(c, Transition(name)).arcs
        decisive = scores[2 + 2 * labels + is_right] if replaces and own_repairs else plain.max()
        found[name] = (int(decisive), str(plain.argmax()))
    return found


@pytest.mark.parametrize(
    ("name", "root", "repairs", "labels"),
    [
        *(
            (name, "implicit", "own", 4)
            for name in ("paper", "rich", "every", *(f"random {seed}" for seed in range(8)))
        ),
        *((name, "explicit", "shared", 4) for name in ("rich", "every", "random 8", "random 9")),
        *((name, "implicit", "own", 1) for name in ("paper", "rich", "every")),
    ],
)
def test_scores_of_every_step_are_sums_of_weights(
    name: str, root: Root, repairs: str, labels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the decoder keeps or remembers of a score is what it would be if it were made anew.

    With random weights the parser wanders about, makes many arcs and takes many away again.
    """
    names = SETS[name] if name in SETS else random_templates(int(name[-1]))
    monkeypatch.setitem(templates.SETS, "paper", " ".join(names))
    chooser = random.Random(name)
    rows = [random_row(length, chooser.choice) for length in (9, 8, 7, 12, 15, 18, 20)]
    for row in rows:
        row["deprel"] = ["root", *chooser.choices(LABELS[:labels], k=len(row["deprel"]) - 1)]
    options, found = TrainingOptions(templates="paper", root=root, repairs=repairs), survey([batch(*rows)])
    assert set(found.label_list) == {"root", *LABELS[:labels]}
    assert found.templates(options) == names
    judge, system = Judge(names), TransitionSystem(False, root)
    weights = random_weights(judge, rows, system, found.classes(options).count)
    freeze(weights, options, found, tmp_path / "model")
    parser = Parser.load(tmp_path / "model")
    arrays = weights.arrays()
    rounded = np.rint(arrays["sums"] / 1024.0 / parser.scale).astype(int).reshape(-1, weights.classes)
    weights_of = dict(zip(arrays["keys"].tolist(), rounded, strict=True))
    nothing = np.zeros(weights.classes, int)
    replaced = 0
    for row in rows * 2:  # the second time much is remembered
        walk, c = judge.walk(row, system), system.initial(len(row["tokens"]))
        for taken in parser.trace(batch(row)):
            while not c.left_list:
                walk.take("Shift")
                c = system.apply(c, Transition("Shift"))
            scores = sum((weights_of.get(key, nothing) for key in walk.features().values()), nothing)
            expected = by_transition(scores, c, system, options.own_repairs)
            best, second = sorted((score for score, _ in expected.values()), reverse=True)[:2]
            assert taken["score"] == best * parser.scale
            assert taken["margin"] == (best - second) * parser.scale
            decided = taken["transition"]
            score, label = expected[decided]
            assert score == best
            if decided in ("LeftArc", "RightArc"):
                assert found.label_list.index(taken["label"]) == int(label)
            walk.take(decided, int(label or -1))
            after = system.apply(c, Transition(decided, taken["label"] or ""))
            replaced += not c.arcs <= after.arcs
            c = after
    assert replaced > 10
