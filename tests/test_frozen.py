"""Frozen weights: what is laid out is found again, whatever table it is in and however full that is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.errors import ModelError
from covington.frozen import FrozenWeights, lay_out, make_filter

LABELS = 200  # so that there are columns whose number needs more than a byte
COLUMNS = 2 + 2 * LABELS
ARRAYS = ("regions", "common", "rows", "rare")
Features = dict[int, dict[int, int]]  # key → column → weight

HIGH = (0, 1, 1 << 31, (1 << 32) - 1)

columns = st.integers(0, COLUMNS - 1)
weights = st.integers(-32768, 32767) | st.integers(-128, 127)
rows = st.dictionaries(columns, weights, max_size=8) | st.dictionaries(
    columns, weights, min_size=45, max_size=60
)
#: few templates and few values of the high bits, which say where a feature is at home: buckets flow over
keys = st.builds(
    lambda middle, number: HIGH[middle % 4] << 32 | middle << 8 | number,
    st.integers(0, (1 << 24) - 1),
    st.sampled_from([1, 2, 255]),
)


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
    return FrozenWeights(LABELS, False, classes, *(tables[name] for name in ARRAYS), no_gates)


def check(features: Features, others: Iterable[int] = ()) -> None:
    known = frozen(laid_out(features))
    for key in {*features, *others}:
        expected = np.zeros(COLUMNS, np.int16)
        for column, weight in features.get(key, {}).items():
            expected[column] = weight
        np.testing.assert_array_equal(known.weights_of(key), expected)


@given(st.dictionaries(keys, rows, min_size=20, max_size=80), st.lists(keys, max_size=20))
def test_every_feature_is_found_and_no_other(features: Features, others: list[int]) -> None:
    check(features, others)


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
