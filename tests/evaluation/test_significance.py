"""Significance judged by all possible swaps of cases small enough to enumerate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from covington.errors import OptionError
from covington.evaluation.significance import compare


def rows(words: list[int], heads: list[int], both: list[int]) -> np.ndarray:
    return np.array([words, heads, both]).T


def test_three_sentences_by_hand() -> None:
    """Gains of 2, 1 and 1 right heads: of 8 ways to swap, only none and all give a difference of 4."""
    system = rows([5, 5, 5], [5, 4, 4], [5, 4, 4])
    other = rows([5, 5, 5], [3, 3, 3], [5, 4, 4])
    found = compare(system, other, trials=40_000, seed=3)
    assert found.uas == pytest.approx(100 * 4 / 15)
    assert found.uas_p == pytest.approx(2 / 8, abs=0.01)
    assert (found.las, found.las_p) == (0.0, 1.0)


def test_agrees_with_all_swaps() -> None:
    random = np.random.default_rng(5)
    words = random.integers(5, 20, 11)
    one, two = (random.integers(0, words + 1) for _ in range(2))
    gains = one - two
    exact = np.mean(
        [abs(np.dot(signs, gains)) >= abs(gains.sum()) for signs in itertools.product((1, -1), repeat=11)]
    )
    found = compare(rows(words, one, one), rows(words, two, two), trials=50_000)
    assert found.uas_p == pytest.approx(exact, abs=0.01)
    assert found.las_p == found.uas_p


def test_same_seed_same_p_and_the_order_of_systems_does_not_matter() -> None:
    random = np.random.default_rng(1)
    words = np.full(200, 20)
    one, two = (random.integers(10, 20, 200) for _ in range(2))
    first = compare(rows(words, one, one), rows(words, two, two), seed=7)
    assert first == compare(rows(words, one, one), rows(words, two, two), seed=7)
    back = compare(rows(words, two, two), rows(words, one, one), seed=7)
    assert (back.uas, back.uas_p) == (-first.uas, first.uas_p)


def test_a_clear_difference_is_significant() -> None:
    random = np.random.default_rng(2)
    words = np.full(3000, 20)
    two = random.integers(10, 18, 3000)
    one = two + random.integers(-1, 3, 3000)
    found = compare(rows(words, one, one), rows(words, two, two))
    assert found.uas_p == pytest.approx(1 / 10_001)


def test_other_sentences_are_refused() -> None:
    with pytest.raises(OptionError, match="same sentences"):
        compare(rows([3], [1], [1]), rows([4], [1], [1]))
    with pytest.raises(OptionError, match="trial"):
        compare(rows([3], [1], [1]), rows([3], [1], [1]), trials=0)
