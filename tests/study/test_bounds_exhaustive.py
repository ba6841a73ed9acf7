"""Five words: compiled bounds and exact loss against brute force, on every configuration for every tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from covington.study import exact
from tests.support import reference
from tests.support.reference import Configuration, Root, TransitionSystem, to_heads

Numbers = npt.NDArray[np.int32]


def brute_force(system: TransitionSystem, configurations: list[Configuration], trees: Numbers) -> Numbers:
    """ℓ of every configuration (rows) for every gold tree (columns): the least over all successors."""
    known: dict[Configuration, Numbers] = {}

    def loss(c: Configuration) -> Numbers:
        if c not in known:
            if system.is_terminal(c):
                heads = np.array(to_heads(c, system.root)[0], np.int32)
                known[c] = (trees != heads).sum(axis=1, dtype=np.int32)
            else:
                known[c] = np.minimum.reduce([loss(successor) for successor in system.successors(c)])
        return known[c]

    return np.stack([loss(c) for c in configurations])


def study(configurations: list[Configuration], trees: Numbers, root: Root) -> Numbers:
    """lower, lowest, highest, pc-upper and upper of every configuration for every tree."""
    count, (number, length) = len(configurations), trees.shape
    written = [to_heads(c, root) for c in configurations]
    result = np.zeros((count * number, 5), np.int32)
    exact.study(
        np.ascontiguousarray(trees.ravel()),
        np.arange(number + 1, dtype=np.int64) * length,
        np.tile(np.arange(number, dtype=np.int32), count),
        np.repeat(np.array([i for _, i, _ in written], np.int32), number),
        np.repeat(np.array([j for _, _, j in written], np.int32), number),
        np.repeat(np.array([heads for heads, _, _ in written], np.int32), number, axis=0).ravel(),
        np.arange(count * number + 1, dtype=np.int64) * length,
        root == "explicit",
        1_000_000,
        result,
        np.zeros(count * number, np.int64),
    )
    return result.reshape(count, number, 5)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["explicit", "implicit"])
def test_five_words(root: Root) -> None:
    """26 million cases with an explicit root, 6 million with an implicit one; about ten seconds."""
    system = TransitionSystem(False, root)
    configurations = reference.reachable_configurations(system, 5)
    all_trees = np.array(reference.all_trees(5), np.int32)
    for trees in np.split(all_trees, 12):
        loss = brute_force(system, configurations, trees)
        lower, lowest, highest, pc_upper, upper = np.moveaxis(study(configurations, trees, root), -1, 0)
        assert np.array_equal(lowest, loss)
        assert np.array_equal(highest, loss)
        assert (loss <= pc_upper).all()
        assert (pc_upper <= upper).all()
        if root == "explicit":
            assert (lower <= loss).all()
