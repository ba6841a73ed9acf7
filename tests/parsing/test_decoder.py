"""The compiled parser against a literal greedy loop over the same frozen weights."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from covington.features import encoding, templates
from covington.features.program import Program
from covington.features.walk import Walk
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import Survey, survey
from covington.learning.training import prepare, train_epoch
from covington.model import file as model_file
from covington.model.options import TrainingOptions
from covington.parsing.decoder import Decoder
from covington.parsing.parser import Parser, Statistics
from covington.scorers.linear import LinearScorer
from covington.transition.names import TRANSITIONS
from covington.transition.systems.covington import Covington
from tests.learning.test_learner import random_sentences
from tests.support.batches import batch, sentence
from tests.support.reference import Root, Transition, TransitionSystem, heads_in
from tests.support.reference_oracles import arc_of, highest, system_of


def as_batch(rows: list[tuple[list[str], list[str], list[int], list[str]]]) -> pa.RecordBatch:
    return batch(
        *(
            sentence(" ".join(forms), heads, " ".join(labels), " ".join(tags))
            for forms, tags, heads, labels in rows
        )
    )


SENTENCES = random_sentences(150, 8)
TRAINING, UNSEEN = as_batch(SENTENCES[:14]), as_batch(SENTENCES)

PROGRAM = Program(templates.PAPER.split())
ENCODED = encoding.encode(UNSEEN, PROGRAM.attributes, "upos")


def rounded_weights(weights: Weights, scale: float) -> dict[tuple[int, int], int]:
    """(feature, class) → the averaged weight in units of the model's scale."""
    arrays = weights.arrays()
    average = arrays["sums"] / (weights.steps * 1024.0)
    numbers = np.rint(average / scale).astype(int)
    rows = np.repeat(arrays["keys"], np.diff(arrays["ends"], prepend=0))
    keys = zip(rows.tolist(), arrays["classes"].tolist(), strict=True)
    return dict(zip(keys, numbers.tolist(), strict=True))


def greedy(
    weights: dict[tuple[int, int], int],
    system: TransitionSystem,
    own_repairs: bool,
    found: Survey,
    index: int,
) -> tuple[list[int], list[str | None], list[str | None], Counter[str]]:
    """Heads and labels by the highest-scoring transition at every step, with counts of what was done.

    And the labels when left-over words hang from one of them.
    """
    labels, (forms, _, gold, _) = found.label_list, SENTENCES[index]
    length = len(forms)
    walk = Walk(PROGRAM, ENCODED, index, Covington(system.monotonic, system.root == "explicit"))
    c, counts = system.initial(length), Counter[str]()
    while not system.is_terminal(c):
        best = Transition("Shift")
        if c.left_list:
            keys = walk.features().values()
            scores: dict[Transition, tuple[float, float]] = {}
            for transition in system.transitions(c, labels):
                number = {"Shift": 0, "NoArc": 1, "LeftArc": 2, "RightArc": 2 + len(labels)}[transition.name]
                number += labels.index(transition.label) if transition.label else 0
                plain = decisive = sum(weights.get((key, number), 0) for key in keys)
                if own_repairs and not c.arcs <= system.apply(c, transition).arcs:
                    number = 2 + 2 * len(labels) + (transition.name == "RightArc")
                    decisive = sum(weights.get((key, number), 0) for key in keys)
                scores[transition] = (decisive, plain)
            best = highest(list(scores), scores)
        arc, after = arc_of(c, best), system.apply(c, best)
        counts[best.name] += 1
        if arc is not None and not c.arcs <= after.arcs:
            counts["non_monotonic"] += 1
            if arc.head == gold[arc.dependent - 1]:
                counts["repairs_to_gold"] += 1
            elif any(lost.head == gold[lost.dependent - 1] for lost in c.arcs - after.arcs):
                counts["repairs_harmful"] += 1
        walk.take(best.name, labels.index(best.label) if best.label else -1)
        c = after
    heads = [heads_in(c.arcs).get(word, 0) for word in range(1, length + 1)]
    found_labels = {arc.dependent: arc.label for arc in c.arcs}
    plain_labels = [found_labels.get(word) for word in range(1, length + 1)]
    return heads, plain_labels, single_root_labels(weights, walk, found, heads, plain_labels), counts


def root_of(heads: list[int], labels: list[str | None]) -> int:
    """The first word that a transition has attached to the root, or else the first without a head."""
    under_root = [word for word, head in enumerate(heads, 1) if head == 0]
    return next((word for word in under_root if labels[word - 1] is not None), under_root[0])


def single_root_labels(
    weights: dict[tuple[int, int], int],
    walk: Walk,
    found: Survey,
    heads: list[int],
    labels: list[str | None],
) -> list[str | None]:
    """Each left-over word but the root gets the label that scores best for an arc from the root."""
    known, chosen = found.label_list, list(labels)
    root = root_of(heads, labels)
    walk.mark_root(root, known.index(found.root_label))
    for word in range(1, len(heads) + 1):
        if heads[word - 1] == 0 and word != root:
            walk.turn_to(word, root)
            keys = walk.features().values()
            first = 2 if word < root else 2 + len(known)
            scores = [
                sum(weights.get((key, first + number), 0) for key in keys) for number in range(len(known))
            ]
            walk.attach(word, root, scores.index(max(scores)))
            chosen[word - 1] = known[scores.index(max(scores))]
    return chosen


@pytest.mark.parametrize("root", ["implicit", "explicit"])
@pytest.mark.parametrize(
    ("oracle", "repairs"), [("static", "own"), ("monotonic", "own"), ("upper", "shared"), ("upper", "own")]
)
def test_parser_and_twin_agree(oracle: str, repairs: str, root: Root, tmp_path: Path) -> None:
    options = TrainingOptions(
        oracle=oracle, templates="paper", root=root, target="best", explore_from=1, repairs=repairs
    )
    found = survey([TRAINING])
    check_twin_agrees(trained(options, found), options, found, tmp_path / "model.covington")


def test_classes_without_weights_score_nothing(tmp_path: Path) -> None:
    """They have no columns in the model but for one to each side, which stands for all and can win."""
    options, found = TrainingOptions(templates="paper", explore_from=1), survey([TRAINING])
    assert found.label_list == ["a", "b", "root"]
    weights = trained(options, found)
    arrays = weights.arrays()
    silent = {2: "left a", 4: "left root", 6: "right b", 7: "right root"}
    arrays["sums"][np.isin(arrays["classes"], list(silent))] = 0
    silenced = Weights.from_arrays(weights.classes, weights.steps, weights.updates, arrays)
    path = tmp_path / "model.covington"
    check_twin_agrees(silenced, options, found, path)
    classes = model_file.read(path).arrays["classes"].tolist()
    assert classes == [number for number in range(weights.classes) if "root" not in silent.get(number, "")]
    parsed = Parser.load(path).parse(UNSEEN).to_pylist()
    arcs = {
        ("left" if head > word else "right", label)
        for row in parsed
        for word, (head, label) in enumerate(zip(row["head"], row["deprel"], strict=True), 1)
    }
    assert arcs >= {("left", "a"), ("right", "b")}


def trained(options: TrainingOptions, found: Survey) -> Weights:
    shard, weights = prepare([TRAINING], options, found), Weights(found.classes(options).count)
    for epoch in range(1, 4):
        train_epoch(weights, shard, epoch)
    return weights


def check_twin_agrees(weights: Weights, options: TrainingOptions, found: Survey, path: Path) -> None:
    freeze(weights, options, found, path)
    parser, statistics = Parser.load(path), Statistics()
    parsed: list[dict[str, Any]] = parser.parse(
        UNSEEN, single_root=False, gold=True, confidence=True, statistics=statistics
    ).to_pylist()
    single = parser.parse(UNSEEN, single_root=True, threads=3, confidence=True).to_pylist()
    rounded, total = rounded_weights(weights, parser.scale), Counter[str]()
    for index, row in enumerate(parsed):
        heads, labels, with_one_root, counts = greedy(
            rounded, system_of(options.oracle, options.root), options.own_repairs, found, index
        )
        assert (row["head"], row["deprel"]) == (heads, [label or found.root_label for label in labels])
        # the margin belongs to the transition that made the arc; words that no transition gave a head have none
        assert [margin is None for margin in row["confidence"]] == [label is None for label in labels]
        total += counts
        # one word stays under the root; all the others hang from it
        only = root_of(heads, labels)
        assert single[index]["head"] == [
            only if head == 0 and word != only else head for word, head in enumerate(heads, 1)
        ]
        assert single[index]["deprel"] == [label or found.root_label for label in with_one_root]
        assert [margin is None for margin in single[index]["confidence"]] == [
            label is None or (head == 0 and word != only)
            for word, (head, label) in enumerate(zip(heads, labels, strict=True), 1)
        ]
    assert statistics.taken == {name: total[name] for name in TRANSITIONS}
    assert statistics.arcs == total["LeftArc"] + total["RightArc"]
    for name in ("non_monotonic", "repairs_to_gold", "repairs_harmful"):
        assert getattr(statistics, name) == total[name]


@pytest.mark.parametrize("places", [1, 3])
def test_a_memo_that_is_always_full_changes_nothing(tmp_path: Path, places: int) -> None:
    options, found = TrainingOptions(templates="rich", epochs=1), survey([TRAINING])
    freeze(trained(options, found), options, found, tmp_path / "model")
    parser = Parser.load(tmp_path / "model")
    expected = parser.parse(UNSEEN, confidence=True)
    scorer = LinearScorer(parser._weights, parser._program, parser._system, parser.scale, places)
    small = Decoder(parser._system, scorer, parser._root_label)
    parser._free_decoders[:] = [small]
    assert parser.parse(UNSEEN, confidence=True).equals(expected)
    assert parser.parse(UNSEEN, confidence=True).equals(expected)
    assert parser._free_decoders == [small]


def test_no_sum_can_leave_16_bits(tmp_path: Path) -> None:
    """The largest weights of all templates, added up for one class, fit, however large they have grown."""
    options, found = TrainingOptions(templates="paper", epochs=1), survey([TRAINING])
    shard, weights = prepare([TRAINING], options, found), Weights(found.classes(options).count)
    train_epoch(weights, shard, 1)
    arrays = weights.arrays()
    random = np.random.default_rng(3)
    arrays["sums"] = (arrays["sums"] * random.choice([1, 50, -900], len(arrays["sums"]))).astype(np.int64)
    grown = Weights.from_arrays(weights.classes, weights.steps, weights.updates, arrays)
    freeze(grown, options, found, tmp_path / "model")
    highest: Counter[tuple[str, int, int]] = Counter()
    for (key, number), weight in rounded_weights(grown, Parser.load(tmp_path / "model").scale).items():
        which = PROGRAM.names[(key & 0xFF) - 1], int(np.sign(weight)), number
        highest[which] = max(highest[which], abs(weight))
    sums: Counter[tuple[int, int]] = Counter()
    for (_, sign, number), weight in highest.items():
        sums[sign, number] += weight
    assert max(sums.values()) < 1 << 15
    assert max(sums.values()) > 1 << 13, "the room is used"
