"""Is one system really better? Paired approximate randomisation (Yeh 2000) over sentences.

Under the null hypothesis the two outputs for a sentence could as well be swapped. Every sentence's
outputs are swapped or not by a fair coin, many times; p is how often the difference of scores is then
at least as large as the one observed, counted with the observed one: (hits + 1) / (trials + 1).
Both scores divide by the same number of words, so comparing sums of right words is comparing UAS and LAS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covington.errors import OptionError
from covington.evaluation.tree_shape import IntArray

TRIALS = 10_000
COINS_AT_A_TIME = 1 << 22


@dataclass(frozen=True)
class Difference:
    """System minus other, in points of percent, and the probability of such a difference by chance."""

    uas: float
    las: float
    uas_p: float
    las_p: float
    trials: int


def check_trials(trials: int) -> None:
    """Commands ask this before the work that is to be compared."""
    if trials < 1:
        raise OptionError(f"--trials must be at least 1, not {trials}")


def compare(system: IntArray, other: IntArray, *, trials: int = TRIALS, seed: int = 1) -> Difference:
    """Test two systems on the same sentences; the rows are those of covington.evaluation.counts.sentence_scores.

    For several seeds of a system, add their rows (words too): the test is then on the mean scores.
    """
    if system.shape != other.shape or not np.array_equal(system[:, 0], other[:, 0]):
        raise OptionError("significance needs scores of the same sentences with the same number of words")
    check_trials(trials)
    words = max(int(system[:, 0].sum()), 1)
    gains = (system - other)[:, 1:]
    observed = gains.sum(axis=0)
    hits = _hits(gains[gains.any(axis=1)], np.abs(observed), trials, np.random.default_rng(seed))
    points = 100.0 * observed / words
    chance = (hits + 1) / (trials + 1)
    return Difference(float(points[0]), float(points[1]), float(chance[0]), float(chance[1]), trials)


def _hits(gains: IntArray, observed: IntArray, trials: int, random: np.random.Generator) -> IntArray:
    """In how many trials the swapped difference is at least the observed one.

    A swap turns the sign of a gain: the swapped sum is the total less twice the swapped gains.
    """
    total = gains.sum(axis=0)
    hits = np.zeros(2, np.int64)
    together = max(1, COINS_AT_A_TIME // max(len(gains), 1))
    exact = gains.astype(np.float64)  # sums of integers below 2^53: exact, and a matrix product is fast
    for first in range(0, trials, together):
        size = min(together, trials - first)
        bits = random.integers(0, 256, (size, (len(gains) + 7) // 8), dtype=np.uint8)
        swapped = np.unpackbits(bits, axis=1, count=len(gains)).astype(np.float64) @ exact
        hits += np.count_nonzero(np.abs(total - 2 * swapped) >= observed, axis=0)
    return hits
