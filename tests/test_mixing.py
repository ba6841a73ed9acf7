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
from covington.arrays import Array
from covington.errors import ModelError
from covington.freezing import freeze
from covington.mixing import Changes, mix
from covington.options import MIXING, TrainingOptions
from covington.parser import Parser
from covington.survey import survey
from covington.training import load_changes, load_weights, prepare, save_changes, save_weights, train_epoch
from covington.weights import Weights

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
    weights = Weights(found.classes(options))
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
    mix(mixed, [Changes(7, 5, 3, arrays)], "double")
    assert all(np.array_equal(mixed.arrays()[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("by", MIXING)
def test_mixing_one_part_changes_nothing(by: str) -> None:
    options, found = TrainingOptions(epochs=3), survey([SAMPLE])
    shard = prepare([SAMPLE], options, found)
    plain = Weights(found.classes(options))
    mixed = Weights(found.classes(options))
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
def test_mixing_goes_to_the_mean_of_the_shards_or_twice_as_far_and_sums_their_sums(by: str) -> None:
    """Against dictionaries, for shards of different size, over several epochs."""
    options, found = TrainingOptions(epochs=3), survey([SAMPLE])
    shards = [prepare([SAMPLE.slice(first, 9)], options, found) for first in (0, 9, 18)]
    shards.append(prepare([SAMPLE.slice(0, 0)], options, found))  # learns nothing
    mixed = Weights(found.classes(options))
    weights: dict[tuple[int, int], int] = {}
    sums: Counter[tuple[int, int]] = Counter()
    steps = 0
    for epoch in (1, 2, 3):
        parts = []
        for number, shard in enumerate(shards):
            part = mixed.for_a_shard()
            train_epoch(part, shard, epoch, number)
            parts.append(part)
        times = [part.updates if by == "updates" else int(part.steps > 0) for part in parts]
        trained = [table(part.arrays()) for part in parts]
        far = 2 if by == "double" else 1
        for part_sums in (part_sums for _, part_sums in trained):
            sums.update(part_sums)
        weights = {
            place: math.floor(
                (1 - far) * weights.get(place, 0)
                + far
                * Fraction(
                    sum(t * part.get(place, 0) for t, (part, _) in zip(times, trained, strict=True)),
                    sum(times),
                )
                + Fraction(1, 2)
            )
            for place in {place for part, _ in trained for place in part}
        }
        mix(mixed, [changes_of(part) for part in parts], by)
        steps += sum(part.steps for part in parts)
        assert mixed.steps == steps
        found_weights, found_sums = table(mixed.arrays())
        assert {place: w for place, w in found_weights.items() if w} == {
            p: w for p, w in weights.items() if w
        }
        assert {place: s for place, s in found_sums.items() if s} == {p: s for p, s in sums.items() if s}


def test_changes_have_what_was_updated_and_nothing_else() -> None:
    """Also a weight that came back to what it was: it was another one for some of the steps."""
    options, found = TrainingOptions(epochs=2), survey([SAMPLE])
    shard = prepare([SAMPLE], options, found)
    before = Weights(found.classes(options))
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
