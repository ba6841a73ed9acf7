"""The way forward, the roll-outs and the gradients of the network, judged by the twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from covington.network.floats import draw_key, drop, uniform
from covington.network.layers import _DROP, _GIVEN, _WORDS, FEATURE_WEIGHT, SPARSE
from tests.network.samples import network, sentence, treebank, whole
from tests.network.twin import Found, Masks, Twin

KEY = draw_key(7, 3)


def doubles(parameters: Any) -> Any:
    return {name: values.astype(np.float64) for name, values in parameters.items()}


def run_twin(parts: Any, p: Any, explore: float, trace: Any, dropped: bool) -> list[Found]:
    """The twin over all sentences of the batch, with the masks and actions of the compiled roll-outs."""
    options, vocabulary, corpus, _, _ = parts
    batch = whole(corpus)
    rows = len(batch.words)
    forms, masks = corpus.forms.copy(), [None] * 3
    given = np.zeros(len(batch.lengths), bool)
    if dropped:
        counts = np.concatenate(([1], vocabulary.counts)).astype(np.float32)
        rate = np.float32(options.word_dropout)
        chances = rate / (rate + counts)
        forms[batch.words] = np.where(
            uniform(draw_key(KEY, _WORDS), rows) < chances[corpus.forms[batch.words]],
            0,
            corpus.forms[batch.words],
        )
        widths = options.form + options.subword, 2 * options.state, 2 * options.state
        masks = [
            drop(
                draw_key(KEY, _DROP, number),
                np.ones((rows, width), np.float32),
                round(options.dropout * 65536),
            )
            for number, width in enumerate(widths, 1)
        ]
        given = uniform(draw_key(KEY, _GIVEN), len(batch.lengths)) < np.float32(options.given / 100)
    weights = [FEATURE_WEIGHT if group.feature else 1.0 for group in vocabulary.groups]
    root = vocabulary.labels.index(vocabulary.root_label)
    twin = Twin(options.oracle, options.target, vocabulary.group_ends, root, weights)
    found = []
    for place, number in enumerate(batch.sentences):
        mine = [batch.starts[t] + place for t in range(batch.lengths[place])]
        actions = [step[5] for step in trace if step[0] == place] if trace is not None else None
        found.append(
            twin.run(
                p,
                sentence(corpus, number, forms),
                Masks(*(None if mask is None else mask[mine] for mask in masks)),
                actions,
                learning=trace is not None,
                given=bool(given[place]),
            )
        )
    return found


CASES = [
    {"oracle": "upper"},
    {"oracle": "pc-upper", "target": "paper"},
    {"oracle": "lower", "target": "paper", "dropout": 0.0},
    {"oracle": "monotonic", "target": "paper"},
    {"oracle": "monotonic", "given": 50},
    {"oracle": "static"},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_rollouts_follow_the_oracle(case: dict[str, Any]) -> None:
    """Every probability, target and loss of the roll-outs is the twin's, exploring or not."""
    parts = network(treebank(12), **case)
    _, _, corpus, layers, parameters = parts
    for explore in (0.0,) if case["oracle"] == "static" else (0.0, 0.7):
        trace: list[Any] = []
        before = layers.rollouts.loss
        layers.gradients(parameters, whole(corpus), corpus, KEY, explore, trace)
        found = run_twin(parts, doubles(parameters), explore, trace, True)
        for place, one in enumerate(found):
            steps = [step for step in trace if step[0] == place]
            assert [(step[1], step[2], step[4]) for step in steps] == [
                (i, j, t) for i, j, _, t, _ in one.steps
            ]
            np.testing.assert_allclose(
                np.array([step[3] for step in steps]).reshape(-1, 4),
                np.array([chances for _, _, chances, _, _ in one.steps]).reshape(-1, 4),
                atol=2e-4,
            )
        assert layers.rollouts.loss > before
        if explore:
            assert any(step[4] != step[5] for step in trace), "no prediction was followed"


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_gradients(case: dict[str, Any]) -> None:
    """The gradient of every parameter is the slope of the twin's loss."""
    parts = network(treebank(4, longest=6), **case)
    _, _, corpus, layers, parameters = parts
    batch, trace = whole(corpus), []
    gradients = layers.gradients(parameters, batch, corpus, KEY, 0.0, trace)
    p = doubles(parameters)
    draw = np.random.default_rng(1)

    def loss() -> float:
        return sum(one.loss for one in run_twin(parts, p, 0.0, trace, True))

    step = 1e-7  # so small that hardly any unit of a ReLU lies within it
    for name, values in p.items():
        if name in SPARSE:
            rows, sums = gradients.sparse[name]
            whole_gradient = np.zeros(values.shape)
            whole_gradient[rows] = sums
        else:
            whole_gradient = gradients.dense[name].astype(np.float64)
        assert np.isfinite(whole_gradient).all()
        largest = np.argsort(-np.abs(whole_gradient), axis=None)[:2]
        others = draw.integers(0, values.size, 1)
        for place in {*largest.tolist(), *others.tolist()}:
            index = np.unravel_index(place, values.shape)
            before = values[index]
            values[index] = before + step
            above = loss()
            values[index] = before - step
            below = loss()
            values[index] = before
            slope = (above - below) / (2 * step)
            assert whole_gradient[index] == pytest.approx(slope, abs=2e-3, rel=2e-3), (name, index)


@pytest.mark.parametrize("oracle", ["upper", "monotonic"])
def test_predictions(oracle: str) -> None:
    """Tags, heads and relations are what the twin finds, with the tags that are given and without."""
    parts = network(treebank(25), oracle=oracle)
    _, vocabulary, corpus, layers, parameters = parts
    twin = Twin(oracle, "canonical", vocabulary.group_ends, vocabulary.labels.index(vocabulary.root_label))
    for given in (False, True):
        tags, heads, labels = layers.predict(parameters, corpus, given, words=60)
        for number in range(corpus.sentences):
            words = slice(corpus.offsets[number], corpus.offsets[number + 1])
            if corpus.offsets[number] == corpus.offsets[number + 1]:
                continue
            one = twin.run(doubles(parameters), sentence(corpus, number), learning=False, given=given)
            assert heads[words].tolist() == one.heads
            assert labels[words].tolist() == one.labels
            likeliest = np.array([[int(np.argmax(group)) for group in groups] for groups in one.tags])
            known = corpus.tags[words] >= 0
            expected = np.where(known, corpus.tags[words], likeliest) if given else likeliest
            assert (tags[words] == expected).all()
