"""The kernels of training: right, and bit for bit the same from every instruction set."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.errors import OptionError
from covington.network.floats import Floats, draw_key, drop, shuffled, uniform

KERNELS = []
for _name in ("plain", "avx2", "avx512"):
    with contextlib.suppress(OptionError):  # where this processor has no such kernels
        KERNELS.append(Floats(_name))


def numbers(shape: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def same(results: list[Any]) -> bool:
    return all(one.tobytes() == results[0].tobytes() for one in results)


@given(
    st.integers(0, 21), st.integers(0, 19), st.integers(0, 100), st.booleans(), st.booleans(), st.booleans()
)
def test_multiply(m: int, k: int, n: int, turn_a: bool, turn_b: bool, add: bool) -> None:
    a = numbers((k, m)).T if turn_a else numbers((m, k))
    b = numbers((n, k), 1).T if turn_b else numbers((k, n), 1)
    found = []
    for kernels in KERNELS:
        wide = numbers((m, n + 3), 2)
        kernels.multiply(a, b, wide[:, 1 : n + 1], add)
        found.append(wide)
    assert same(found)
    before = numbers((m, n + 3), 2)
    expected = a.astype(np.float64) @ b + (before[:, 1 : n + 1] if add else 0)
    np.testing.assert_allclose(found[0][:, 1 : n + 1], expected, atol=1e-5)
    assert (found[0][:, 0] == before[:, 0]).all() and (found[0][:, n + 1 :] == before[:, n + 1 :]).all()


def test_one_accumulator_per_element() -> None:
    """A sum is made term by term, with one rounding for each product and sum: float64 shows what that gives."""
    a, b = numbers((1, 40)), numbers((40, 3), 1)
    total = np.zeros(3, np.float32)
    for k in range(40):
        total = (a[0, k].astype(np.float64) * b[k].astype(np.float64) + total).astype(np.float32)
    for kernels in KERNELS:
        c = np.zeros((1, 3), np.float32)
        kernels.multiply(a, b, c)
        assert c[0].tolist() == total.tolist()


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        KERNELS[0].multiply(numbers((2, 3)), numbers((4, 5)), numbers((2, 5)))
    with pytest.raises(OptionError):
        Floats("abacus")


def test_lstm_and_adam_are_the_same_from_every_kernel() -> None:
    starts = np.array([0, 5, 9, 12, 13], np.int64)
    found: list[list[Any]] = []
    for kernels in KERNELS:
        mine: list[Any] = []
        for reverse in (False, True):
            gates, cell, state = numbers((13, 4 * 11)), numbers((13, 11), 1), numbers((13, 11), 2)
            kernels.lstm_forward(gates, numbers((11, 44), 3), starts, reverse, cell, state)
            d_state, d_gates = numbers((13, 11), 4), numbers((13, 44), 5)
            kernels.lstm_backward(gates, numbers((11, 44), 3), starts, reverse, cell, d_state, d_gates)
            mine += [gates, cell, state, d_state, d_gates]
        values, mean, variance = numbers((7, 5)), numbers((7, 5), 1), np.abs(numbers((7, 5), 2))
        kernels.adam(values, mean, variance, numbers((7, 5), 3), 0.01, 0.9, 0.999, 0.3)
        kernels.adam_rows(
            values, mean, variance, np.array([1, 6], np.int32), numbers((2, 5), 4), 0.01, 0.9, 0.999, 0.3
        )
        mine += [values, mean, variance, np.array(kernels.squares(numbers((9, 13))))]
        scores = np.empty((3, 40), np.float32)
        kernels.softmax(numbers((3, 40), 6) * 9, np.array([0, 3, 40], np.int64), scores)
        np.testing.assert_allclose(scores[:, 3:].sum(axis=1), 1, atol=1e-5)
        found.append([*mine, scores])
    for parts in zip(*found, strict=True):
        assert same(list(parts))


def test_adam() -> None:
    values, mean, variance, gradient = numbers(20), numbers(20, 1), np.abs(numbers(20, 2)), numbers(20, 3)
    g = gradient.astype(np.float64) * 0.5
    expected_mean, expected_variance = 0.9 * mean + 0.1 * g, 0.99 * variance + 0.01 * g * g
    expected = values - 0.02 * expected_mean / (np.sqrt(expected_variance) + 1e-8)
    KERNELS[-1].adam(values, mean, variance, gradient, 0.02, 0.9, 0.99, 0.5)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def test_gathered_gradients() -> None:
    begins, rows = np.array([0, 2, 2, 5], np.int64), np.array([4, 1, 4, 4, 0], np.int32)
    gradients, marks = numbers((3, 6)), np.full(9, -1, np.int32)
    found, sums = KERNELS[-1].gather_gradients(begins, rows, gradients, marks)
    assert found.tolist() == [4, 1, 0] and (marks == -1).all()
    np.testing.assert_allclose(sums, [gradients[0] + 2 * gradients[2], gradients[0], gradients[2]], rtol=1e-6)


def test_random_numbers() -> None:
    """They depend on their key and place alone, and are spread evenly."""
    key = draw_key(1, 2, 3)
    assert uniform(key, 10).tolist() == uniform(key, 1000)[:10].tolist()
    many = uniform(key, 100_000)
    assert many.min() >= 0 and many.max() < 1 and abs(float(many.mean()) - 0.5) < 0.01
    assert sorted(shuffled(key, 100).tolist()) == list(range(100)) != shuffled(key, 100).tolist()
    kept = drop(key, np.ones((300, 300), np.float32), 21627)
    assert abs(float((kept == 0).mean()) - 0.33) < 0.01 and abs(float(kept.mean()) - 1) < 0.01
    assert drop(key, numbers((300, 300)), 21627)[kept == 0].any() is np.False_
