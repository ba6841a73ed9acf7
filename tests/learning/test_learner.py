"""The compiled learner against the literal perceptron: the same path, the same updates, the same weights."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pyarrow as pa
import pytest

from covington.features import templates
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.transition.recording import Recorder
from tests.support.batches import batch, sentence
from tests.support.reference import Root, tree
from tests.support.reference_features import Sentence, every_template
from tests.support.reference_perceptron import RULES, Perceptron

UNIT = 1024  # one update, in the numbers of the weights
LABELS = ["a", "b", "root"]


Words = tuple[list[str], list[str], list[int], list[str]]


def random_sentences(count: int, longest: int, seed: int = 7, more_roots: float = 0.0) -> list[Words]:
    """Forms, tags, heads and labels with enough pattern in them to be half learnt."""
    chooser = random.Random(seed)
    made = []
    for _ in range(count):
        length = chooser.randint(1, longest)
        tags = [chooser.choice("XYZ") for _ in range(length)]
        forms = [tag.lower() + chooser.choice("12") for tag in tags]
        order = chooser.sample(range(1, length + 1), length)
        heads = [0] * length
        for place, word in enumerate(order[1:], 1):
            heads[word - 1] = chooser.choice(order[:place][-2:])
            if more_roots and chooser.random() < more_roots:
                heads[word - 1] = 0
        labels = ["root" if head == 0 else chooser.choice("ab") for head in heads]
        made.append((forms, tags, heads, labels))
    return made


SENTENCES = random_sentences(9, 6)


@pytest.mark.parametrize("root", ["implicit", "explicit"])
@pytest.mark.parametrize(("accept", "aim"), list(RULES))
@pytest.mark.parametrize(
    ("oracle", "repairs"),
    [
        ("static", "own"),
        ("monotonic", "own"),
        ("lower", "own"),
        ("pc-upper", "shared"),
        ("upper", "shared"),
        ("upper", "own"),
    ],
)
def test_learner_and_twin_walk_together(oracle: str, repairs: str, accept: str, aim: str, root: Root) -> None:
    options = TrainingOptions(
        oracle=oracle,
        templates="paper",
        root=root,
        accept=accept,
        target=aim,
        explore=0.6,
        explore_from=2,
        seed=3,
        repairs=repairs,
    )
    walk_together(SENTENCES, options)


@pytest.mark.parametrize("seed", [1, 20, 49, 54, 113])
def test_they_walk_together_where_sentences_have_several_roots(seed: int) -> None:
    options = TrainingOptions(templates="paper", explore=1.0, explore_from=1, seed=seed)
    walk_together(random_sentences(6, 6, seed, more_roots=0.3), options)


@pytest.mark.parametrize("root", ["implicit", "explicit"])
@pytest.mark.parametrize("name", ["rich", "every"])
def test_they_walk_together_with_any_templates(
    name: str, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "every":
        monkeypatch.setitem(templates.SETS, "rich", " ".join(every_template()))
    options = TrainingOptions(templates="rich", root=root, explore=0.9, explore_from=1)
    walk_together(random_sentences(12, 8, seed=1), options)


def walk_together(sentences: list[Words], options: TrainingOptions) -> None:
    """Train both for three epochs: same steps, same updates, same weights."""
    rows, trees = [], []
    for forms, tags, heads, labels in sentences:
        xpos, feats, lemmas = list(reversed(tags)), [form[-1] for form in forms], list(reversed(forms))
        row = sentence(" ".join(forms), heads, " ".join(labels), " ".join(tags))
        rows.append(row | {"xpos": xpos, "feats": feats, "lemmas": lemmas})
        trees.append((Sentence(forms, tags, xpos, feats, lemmas), tree(heads, labels)))
    data = batch(*rows)
    found = survey([data])
    assert sorted(found.label_list) == LABELS
    shard, weights = prepare([data], options, found), Weights(found.classes(options).count)
    perceptron = Perceptron(
        found.label_list,
        options.oracle,
        cast(Root, options.root),
        RULES[options.accept, options.target],
        options.explore,
        options.explore_from,
        options.seed,
        options.own_repairs,
        found.templates(options),
    )
    for epoch in (1, 2, 3):
        shard.learner.recorder = Recorder(100_000)
        report = train_epoch(weights, shard, epoch)
        walked = list(perceptron.epoch(trees, epoch))
        assert report.updates == sum(update for *_, update in walked)
        number, left, right, heads, start = shard.learner.recorder.arrays()
        assert len(number) == len(walked)
        for place, (wanted_number, wanted_heads, i, j, _) in enumerate(walked):
            assert (number[place], left[place], right[place]) == (wanted_number, i, j)
            assert tuple(heads[start[place] : start[place + 1]]) == wanted_heads
    assert weights.steps == perceptron.steps
    arrays = weights.arrays()
    table = sorted(
        (int(c), int(w), int(s))
        for c, w, s in zip(arrays["classes"], arrays["weights"], arrays["sums"], strict=True)
    )
    assert table == [(c, w * UNIT, s * UNIT) for c, w, s in perceptron.table() if w or s]


def random_batch(count: int, longest: int) -> pa.RecordBatch:
    return batch(
        *(
            sentence(" ".join(forms), heads, " ".join(labels), " ".join(tags))
            for forms, tags, heads, labels in random_sentences(count, longest)
        )
    )


def test_a_learner_serves_one_thread_at_a_time() -> None:
    data, options = random_batch(300, 12), TrainingOptions(templates="paper")
    found = survey([data])
    shard, alone = prepare([data], options, found), Weights(found.classes(options).count)
    train_epoch(alone, shard, 1)
    others = [Weights(alone.classes) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda weights: train_epoch(weights, shard, 1), others))
    assert len({report.updates for report in reports}) == 1
    for other in others:
        assert all(np.array_equal(value, other.arrays()[name]) for name, value in alone.arrays().items())


def test_parts_are_joined_as_if_they_had_been_one() -> None:
    data = random_batch(30, 8)
    options, found = TrainingOptions(templates="rich"), survey([data])
    parts = [data.slice(0, 11), data.slice(11, 0), data.slice(11, 1), data.slice(12)]
    learnt = []
    for batches in ([data], parts):
        weights = Weights(found.classes(options).count)
        train_epoch(weights, prepare(batches, options, found), 1)
        learnt.append(weights.arrays())
    assert all(np.array_equal(value, learnt[1][name]) for name, value in learnt[0].items())


LITTLE_MEMORY = """
import re, resource
import pyarrow as pa
from covington.learning import training
from covington.model.options import TrainingOptions
from covington.learning.survey import survey
from covington.learning.perceptron.weights import Weights

def shard(words):
    heads, labels = [0] + [1] * (words - 1), ["root"] + [f"d{k % 200}" for k in range(words - 1)]
    columns = {"tokens": ["w"] * words, "upos": ["N"] * words, "head": heads, "deprel": labels}
    return pa.RecordBatch.from_pydict({name: [values] for name, values in columns.items()})

options, data = TrainingOptions(templates="paper", epochs=1), [shard(300), shard(60_000)]
found = survey(data)
short, long = (training.prepare([one], options, found) for one in data)
weights = Weights(found.classes(options).count)
short.learner.epoch(weights, short.sentences, 1, 0)
size = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (size + (200 << 20), -1))
try:
    short.learner.epoch(weights, long.sentences, 1, 0)
except MemoryError:
    print("no memory")
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print(short.learner.epoch(weights, short.sentences, 1, 0) >= 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited as on Linux")
def test_a_learner_that_found_no_memory_learns_on() -> None:
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["no memory", "True", ""]
