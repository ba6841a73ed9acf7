"""Frozen weights: what is laid out is found again, whatever table it is in and however full that is."""

from __future__ import annotations

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

columns = st.integers(0, COLUMNS - 1)
weights = st.integers(-32768, 32767) | st.integers(-128, 127)
rows = st.dictionaries(columns, weights, max_size=8) | st.dictionaries(columns, weights, max_size=120)
#: few templates and few values of the high bits, which say where a feature is at home: buckets flow over
keys = st.builds(
    lambda high, middle, number: high << 32 | middle << 8 | number,
    st.sampled_from([0, 1, 1 << 31, (1 << 32) - 1]),
    st.integers(0, (1 << 24) - 1),
    st.sampled_from([1, 2, 255]),
)


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


@given(st.dictionaries(keys, rows, max_size=80), st.lists(keys, max_size=20))
def test_every_feature_is_found_and_no_other(features: Features, others: list[int]) -> None:
    known = frozen(laid_out(features))
    for key in {*features, *others}:
        expected = np.zeros(COLUMNS, np.int16)
        for column, weight in features.get(key, {}).items():
            expected[column] = weight
        np.testing.assert_array_equal(known.weights_of(key), expected)


@pytest.mark.parametrize("row", [{3: 1}, dict.fromkeys(range(10), 1)], ids=["rare", "common"])
def test_features_that_crowd_together_get_more_room_or_are_refused(row: dict[int, int]) -> None:
    """All have the same home: a page of buckets has room for some, and no number of buckets has it for more."""
    key = 77 << 32 | 1
    crowd = {key | k << 8: row for k in range(64 * 5)}
    known = frozen(laid_out(crowd))
    assert all(known.weights_of(one)[3] == 1 for one in crowd)
    crowd.update({key | k << 8: row for k in range(64 * 7 + 1)})
    with pytest.raises(ModelError, match="crowd together"):
        laid_out(crowd)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shape", "do not have their shape"),
        ("none", "buckets of some template"),
        ("beyond", "buckets of some template"),
        ("wrap", "buckets of some template"),
        ("neighbours", "does not have its shape"),
    ],
)
def test_buckets_that_are_not_there_are_refused(what: str, message: str) -> None:
    tables = laid_out({k << 56 | 1: {3: 1} for k in range(200)})
    regions, common = tables["regions"], tables["common"]
    if what == "shape":
        tables["regions"] = regions[:-1]
    elif what == "none":
        regions[200] = 0, 0
    elif what == "beyond":
        regions[200] = len(common) - 1, 2
    elif what == "wrap":
        regions[200] = 0xFFFFFFFF, len(common)
    else:
        tables["common"] = common[:-1]
    with pytest.raises(ModelError, match=message):
        frozen(tables)
