"""Weights in training: as files, and mixed from what shards have learnt."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import covington
from covington import models
from covington.arrow.arrays import Array
from covington.errors import ModelError
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.mixing import Changes, geometric_factor, mix
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import (
    load_changes,
    load_weights,
    prepare,
    save_changes,
    save_weights,
    train_epoch,
)
from covington.model import file as model_file
from covington.model.options import MIXING, TrainingOptions
from covington.parsing.parser import Parser

SAMPLE = pa.Table.from_batches(list(covington.read_conllu(models.sample()))).combine_chunks().to_batches()[0]


def changes_of(part: Weights) -> Changes:
    return Changes(part.classes, part.steps, part.updates, part.changes())


def table(arrays: dict[str, Array]) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Weights and sums by key and class."""
    keys = np.repeat(arrays["keys"], np.diff(arrays["ends"], prepend=0)).tolist()
    places = list(zip(keys, arrays["classes"].tolist(), strict=True))
    return (
        dict(zip(places, arrays["weights"].tolist(), strict=True)),
        dict(zip(places, arrays["sums"].tolist(), strict=True)),
    )


def test_weights_survive_a_file(tmp_path: Path) -> None:
    options, found = TrainingOptions(epochs=2), survey([SAMPLE])
    weights = Weights(found.classes(options).count)
    train_epoch(weights, prepare([SAMPLE], options, found), 1)
    freeze(weights, options, found, tmp_path / "model")
    save_weights(weights, tmp_path / "weights")
    again = load_weights(tmp_path / "weights")
    for name, array in weights.arrays().items():
        assert np.array_equal(array, again.arrays()[name])
    with pytest.raises(ModelError, match="not a file of weights"):
        load_weights(tmp_path / "model")
    with pytest.raises(ModelError, match="not a parser's model"):
        Parser.load(tmp_path / "weights")


def test_a_table_of_many_rows_survives_a_file_and_a_copy(tmp_path: Path) -> None:
    keys = np.unique(np.random.default_rng(1).integers(1, 1 << 64, 200_000, dtype=np.uint64, endpoint=False))
    arrays = {
        "keys": keys,
        "ends": np.arange(1, len(keys) + 1),
        "classes": np.arange(len(keys), dtype=np.uint16) % 7,
        "weights": np.arange(1, len(keys) + 1, dtype=np.int32),
        "sums": np.arange(len(keys)),
    }
    weights = Weights.from_arrays(7, 5, 3, arrays)
    assert len(weights) == len(keys)
    copies = [weights.for_a_shard(), weights.for_a_shard(Weights(7))]
    for one in (weights, *copies):
        again = one.arrays()
        assert all(
            np.array_equal(again[name], arrays[name]) for name in ("keys", "ends", "classes", "weights")
        )
    assert np.array_equal(weights.arrays()["sums"], arrays["sums"])
    mixed = Weights(7)
    mix(mixed, [Changes(7, 5, 3, arrays)], "geometric")
    assert all(np.array_equal(mixed.arrays()[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("by", MIXING)
def test_mixing_one_part_changes_nothing(by: str) -> None:
    options, found = TrainingOptions(epochs=3), survey([SAMPLE])
    shard = prepare([SAMPLE], options, found)
    plain = Weights(found.classes(options).count)
    mixed = Weights(found.classes(options).count)
    part = None
    for epoch in (1, 2, 3):
        train_epoch(plain, shard, epoch)
        part = mixed.for_a_shard(part)  # in the memory of the epoch before
        train_epoch(part, shard, epoch)
        mix(mixed, [changes_of(part)], by)
    for name, array in plain.arrays().items():
        assert np.array_equal(array, mixed.arrays()[name])
    assert (plain.steps, plain.updates) == (mixed.steps, mixed.updates)


@pytest.mark.parametrize("by", MIXING)
def test_mixing_adds_what_shards_have_changed_by_its_rule_and_sums_their_sums(by: str) -> None:
    """Against dictionaries, for shards of different size, over several epochs."""
    options, found = TrainingOptions(epochs=3), survey([SAMPLE])
    shards = [prepare([SAMPLE.slice(first, 9)], options, found) for first in (0, 9, 18)]
    shards.append(prepare([SAMPLE.slice(0, 0)], options, found))  # learns nothing
    mixed = Weights(found.classes(options).count)
    weights: Counter[tuple[int, int]] = Counter()
    sums: Counter[tuple[int, int]] = Counter()
    steps = 0
    for epoch in (1, 2, 3):
        parts = []
        for number, shard in enumerate(shards):
            part = mixed.for_a_shard()
            train_epoch(part, shard, epoch, number)
            parts.append(part)
        for part in parts:
            sums.update(table(part.arrays())[1])
        changed = [table(part.changes())[0] for part in parts]
        before = weights.copy()
        for place in {place for part in changed for place in part}:
            changes = [part[place] - before[place] if place in part else 0 for part in changed]
            weights[place] += moved(by, changes, sum(place in part for part in changed), parts)
        mix(mixed, [changes_of(part) for part in parts], by)
        steps += sum(part.steps for part in parts)
        assert mixed.steps == steps
        found_weights, found_sums = table(mixed.arrays())
        assert {place: w for place, w in found_weights.items() if w} == {
            p: w for p, w in weights.items() if w
        }
        assert {place: s for place, s in found_sums.items() if s} == {p: s for p, s in sums.items() if s}


def moved(by: str, changes: list[int], shards: int, parts: list[Weights]) -> int:
    """By how much a weight moves that so many shards have changed."""
    if by == "geometric":
        factor = Fraction(geometric_factor(shards, sum(part.steps > 0 for part in parts)), 1 << 16)
        return math.floor(sum(changes) * factor + Fraction(1, 2))
    times = [part.updates if by == "updates" else int(part.steps > 0) for part in parts]
    total = sum(t * change for t, change in zip(times, changes, strict=True))
    return math.floor(Fraction(total, sum(times)) + Fraction(1, 2))


def test_the_geometric_factor() -> None:
    """Twice the geometric mean of the mean over all shards and of that over those that changed a weight."""
    for shards in range(1, 40):
        for changed in range(1, shards + 1):
            means = 1 / shards, 1 / changed
            exact = min(2 * math.sqrt(means[0] * means[1]), 1)
            assert geometric_factor(changed, shards) == math.floor(exact * 65536 + 1e-6)
    assert geometric_factor(1, 1) == geometric_factor(1, 4) == geometric_factor(2, 2) == 65536
    assert geometric_factor(4, 4) == 32768
    assert geometric_factor(10_000, 10_000) == 13


def test_changes_have_what_was_updated_and_nothing_else() -> None:
    """Also a weight that came back to what it was: it was another one for some of the steps."""
    options, found = TrainingOptions(epochs=2), survey([SAMPLE])
    shard = prepare([SAMPLE], options, found)
    before = Weights(found.classes(options).count)
    train_epoch(before, shard, 1)  # so that the copy is of a table with updates of its own
    part = before.for_a_shard()
    assert part.changes()["keys"].tolist() == []
    train_epoch(part, shard, 2)
    updated = table(part.changes())[0]
    old, new, sums = table(before.arrays())[0], *table(part.arrays())
    changed = {
        place
        for place in {*old, *new}
        if new.get(place, 0) != old.get(place, 0) or sums.get(place, 0) != part.steps * old.get(place, 0)
    }
    assert set(updated) == changed and len(part.changes()["classes"]) == len(changed)
    assert any(new.get(place, 0) == old.get(place, 0) for place in changed)
    assert updated == {place: new.get(place, 0) for place in changed}


def test_changes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    weights = Weights(10)
    save_changes(weights, tmp_path / "changes")
    with pytest.raises(ModelError, match="changes of 10 classes do not fit weights of 12"):
        mix(Weights(12), [load_changes(tmp_path / "changes")], "uniform")
    with pytest.raises(ModelError, match="not a file of weights"):
        load_weights(tmp_path / "changes")


def test_a_class_that_is_in_a_row_twice_is_refused(tmp_path: Path) -> None:
    """Compiled code counts the shards that changed a weight, and looks up a factor by their number."""
    arrays = {
        "keys": np.array([5, 9], dtype=np.uint64),
        "ends": np.array([0, 3]),
        "classes": np.array([1, 2, 2], dtype=np.uint16),
        "weights": np.ones(3, dtype=np.int32),
        "sums": np.zeros(3, dtype=np.int64),
    }
    path = tmp_path / "changes"
    for classes, sound in (([1, 2, 2], False), ([2, 1, 3], False), ([1, 2, 3], True)):
        arrays["classes"] = np.array(classes, dtype=np.uint16)
        facts = {"kind": "changes", "classes": 4, "steps": 1, "updates": 1}
        model_file.write(path, facts, arrays)
        if sound:
            assert len(load_changes(path)) == 2
        else:
            with pytest.raises(ModelError, match="not a file of changes"):
                load_changes(path)
