"""Frozen weights: what is laid out is found again, whatever table it is in and however full that is."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import numpy as np
import pytest

from covington.errors import ModelError
from covington.scorers.frozen import FrozenWeights, lay_out, make_filter
from covington.transition.classes import Classes
from covington.transition.systems.covington import Covington

LABELS = 200  # so that there are columns whose number needs more than a byte
COLUMNS = 2 + 2 * LABELS
ARRAYS = ("regions", "common", "rows", "rare")
Row = dict[int, int]  # column → weight
Features = dict[int, Row]  # by key

HIGH = (0, 1, 1 << 31, (1 << 32) - 1)


def any_row(random: Random) -> Row:
    """None, few or many weights, many of them small."""
    length = random.randint(45, 60) if random.random() < 0.5 else random.randint(0, 8)
    most = random.choice([127, 32767])
    return {column: random.randint(-most - 1, most) for column in random.sample(range(COLUMNS), length)}


def any_key(random: Random) -> int:
    """Few templates and few values of the high bits, which say where a feature is at home: buckets flow over."""
    middle = random.randrange(1 << random.choice([8, 24]))
    return random.choice(HIGH) << 32 | middle << 8 | random.choice([1, 2, 255])


def fingerprint(key: int) -> int:
    """What a table knows of a key; that hashed keys have it in common is too rare to matter."""
    return key >> 9


def hashed(value: int, number: int = 1) -> int:
    """A key as templates make them."""
    return (value * 0x9E3779B97F4A7C15 + number * 0xD6E8FEB86659FD93) % (1 << 64) & ~0xFF | number


def laid_out(features: Features) -> dict[str, np.ndarray]:
    ordered = {key: sorted(features[key].items()) for key in sorted(features)}
    pairs = [pair for row in ordered.values() for pair in row]
    ends = np.cumsum([0, *map(len, ordered.values())])[1:]
    numbers, values = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    return lay_out(
        COLUMNS,
        np.array(list(ordered), np.uint64),
        ends.astype(np.int64),
        numbers.astype(np.uint16),
        values.astype(np.int16),
    )


def frozen(tables: dict[str, np.ndarray]) -> FrozenWeights:
    classes = np.arange(COLUMNS, dtype=np.uint16)
    no_gates = make_filter(np.zeros(0, np.uint64))
    return FrozenWeights(
        Classes(Covington(False, False), LABELS, False), classes, *(tables[name] for name in ARRAYS), no_gates
    )


def check(features: Features, others: Iterable[int] = ()) -> None:
    known = frozen(laid_out(features))
    for key in {*features, *others}:
        expected = np.zeros(COLUMNS, np.int16)
        for column, weight in features.get(key, {}).items():
            expected[column] = weight
        np.testing.assert_array_equal(known.weights_of(key), expected)


@pytest.mark.parametrize("seed", range(40))
def test_every_feature_is_found_and_no_other(seed: int) -> None:
    random = Random(seed)
    keys = list({fingerprint(key): key for key in (any_key(random) for _ in range(120))}.values())
    check({key: any_row(random) for key in keys[:80]}, keys[80:])


@pytest.mark.parametrize("weight", [-32768, -129, -128, -1, 1, 127, 128, 32767])
@pytest.mark.parametrize("last", [255, 256])
@pytest.mark.parametrize("length", [1, 3, 4, 5, 50, 51, COLUMNS - 1])
def test_rows_at_the_borders_between_tables(length: int, last: int, weight: int) -> None:
    row = dict.fromkeys([*range(min(length - 1, last)), last], weight)
    check({hashed(7): row, hashed(8): {0: 5}}, [0, hashed(9), hashed(7, 2)])


@pytest.mark.parametrize("row", [{3: 1}, dict.fromkeys(range(10), 1)], ids=["rare", "common"])
def test_features_that_crowd_together_are_refused(row: dict[int, int]) -> None:
    """All have the same home: a page of buckets has room for some, and no number of buckets has it for more."""
    key = 77 << 40 | 1
    crowd = {key | k << 8: row for k in range(0, 2 * 64 * 5, 2)}
    check(crowd)
    crowd.update({key | k << 8: row for k in range(0, 2 * 64 * 7 + 2, 2)})
    with pytest.raises(ModelError, match="crowd together"):
        laid_out(crowd)


def test_features_that_crowd_together_get_more_room() -> None:
    """In the first table all have their homes in one page of buckets, and do not fit; in a larger one they do."""
    crowd = {k << 54 | k << 9 | 1: {3: 1} for k in range(330)}
    few = laid_out({key: crowd[key] for key in list(crowd)[:300]})
    assert len(laid_out(crowd)["rare"]) > 1.3 * len(few["rare"])
    check(crowd)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shape", "do not have their shape"),
        ("none", "buckets of some template"),
        ("beyond", "buckets of some template"),
        ("wrap", "buckets of some template"),
        ("common neighbours", "common features does not have its shape"),
        ("rare neighbours", "rare features does not have its shape"),
    ],
)
def test_buckets_that_are_not_there_are_refused(what: str, message: str) -> None:
    tables = laid_out({hashed(k): {3: 1} for k in range(200)})
    regions, common = tables["regions"], tables["common"]
    if what == "shape":
        tables["regions"] = regions[:-1]
    elif what == "none":
        regions[200] = 0, 0
    elif what == "beyond":
        regions[200] = len(common) - 1, 2
    elif what == "wrap":
        regions[200] = 0xFFFFFFFF, len(common)
    elif what == "common neighbours":
        tables["common"] = common[:-1]
    else:
        tables["rare"] = tables["rare"][:-1]
    with pytest.raises(ModelError, match=message):
        frozen(tables)


def test_buckets_of_other_templates_are_followed_without_harm() -> None:
    """Regions that overlap or are exchanged lead to features that are not found, and to nothing worse."""
    features = {hashed(k, number): {3: 1} for k in range(200) for number in (1, 2, 3)}
    tables = laid_out(features)
    tables["regions"][1:4] = tables["regions"][[2, 3, 3]]
    known = frozen(tables)
    assert {int(known.weights_of(key)[3]) for key in features} == {0, 1}
