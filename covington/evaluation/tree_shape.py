"""Depth and projectivity of every arc of a batch of trees, in numpy, without a loop over words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

PAIRS_AT_A_TIME = 1 << 22  # (arc, word below it) pairs looked at together: 32 MB per array


def starts(lengths: IntArray) -> IntArray:
    """Where each sentence begins in the array of all words."""
    return np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.zeros(0, np.int64)


def parents(head: IntArray, lengths: IntArray) -> IntArray:
    """Heads as places in the array of all words; the root is one place past the end, no head is −1."""
    first = np.repeat(starts(lengths), lengths)
    place = np.where(head > 0, first + head - 1, len(head))
    return np.where(head < 0, -1, place)


def depth(head: IntArray, lengths: IntArray) -> IntArray:
    """Arcs from each word up to the root (1 for a root word); 0 where no root is reached.

    By pointer doubling: after k rounds every word knows its ancestor 2^k arcs up.
    """
    words = len(head)
    up = parents(head, lengths)
    ancestor = np.append(np.where(up < 0, np.arange(words), up), words)  # no head: points at itself
    distance = np.append((ancestor[:-1] != np.arange(words)).astype(np.int64), 0)
    for _ in range(int(lengths.max(initial=1)).bit_length()):
        distance = distance + distance[ancestor]
        ancestor = ancestor[ancestor]
    return np.where(ancestor[:-1] == words, distance[:-1], 0)


def projective(head: IntArray, lengths: IntArray) -> BoolArray:
    """Whether the arc into each word is projective: all words under it descend from its head.

    Arcs from the root always are. Where a word does not reach the root (a cycle, or no head),
    it counts as descending from nobody.
    """
    words = len(head)
    result = np.ones(words, np.bool_)
    if words == 0:
        return result
    up = parents(head, lengths)
    place = np.arange(words)
    inner = (head > 0) & (np.abs(up - place) > 1)
    left, right = np.minimum(up, place), np.maximum(up, place)
    # An arc can only be non-projective if some word under it has its head outside, or does not reach the root.
    suspects = np.flatnonzero(inner)
    levels = depth(head, lengths)
    low, high = _range_extremes(np.where(levels > 0, up, -1), left[suspects] + 1, right[suspects], lengths)
    suspects = suspects[(low < left[suspects]) | (high > right[suspects])]
    if len(suspects) == 0:
        return result
    jumps = _ancestors(up, lengths)
    spans = right[suspects] - left[suspects] - 1
    cuts = np.flatnonzero(np.diff(np.cumsum(spans) // PAIRS_AT_A_TIME)) + 1
    for group in np.split(np.arange(len(suspects)), cuts):
        arcs, width = suspects[group], spans[group]
        arc = np.repeat(arcs, width)
        below = np.arange(len(arc)) - np.repeat(starts(width), width) + left[arc] + 1
        foreign = ~_dominates(up[arc], below, levels, jumps)
        result[arc[foreign]] = False
    return result


def _range_extremes(
    values: IntArray, begin: IntArray, end: IntArray, lengths: IntArray
) -> tuple[IntArray, IntArray]:
    """Least and greatest of values[begin:end] for many non-empty ranges, by a sparse table."""
    low, high = values.copy(), values.copy()
    least, greatest = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    power = np.zeros(len(begin), np.int64)
    width = end - begin
    for exponent in range(1, int(lengths.max(initial=1)).bit_length()):
        power[width >= 1 << exponent] = exponent
    for exponent in range(int(power.max(initial=0)) + 1):
        if exponent:
            half = 1 << (exponent - 1)
            low[:-half] = np.minimum(low[:-half], low[half:])
            high[:-half] = np.maximum(high[:-half], high[half:])
        here = power == exponent
        one, other = begin[here], end[here] - (1 << exponent)
        least[here] = np.minimum(low[one], low[other])
        greatest[here] = np.maximum(high[one], high[other])
    return least, greatest


def _ancestors(up: IntArray, lengths: IntArray) -> list[IntArray]:
    """Ancestors 1, 2, 4, 8 … arcs up; the root is its own ancestor, and so is a word without a head."""
    words = len(up)
    table = [np.append(np.where(up < 0, np.arange(words), up), words)]
    for _ in range(int(lengths.max(initial=1)).bit_length() - 1):
        table.append(table[-1][table[-1]])
    return table


def _dominates(over: IntArray, word: IntArray, levels: IntArray, jumps: list[IntArray]) -> BoolArray:
    """Whether `over` is an ancestor of `word`: climb by the difference of their depths and compare."""
    climb = levels[word] - levels[over]
    reached = word
    for exponent, jump in enumerate(jumps):
        reached = np.where((climb >> exponent) & 1 == 1, jump[reached], reached)
    found: BoolArray = (climb > 0) & (levels[over] > 0) & (reached == over)
    return found
