"""Arrow to numpy and back: the same as pyarrow's own conversions, and nobody asks for pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington import models
from covington.arrow import arrays
from covington.errors import DataError

NUMBERS = st.lists(st.none() | st.integers(0, 65_535), max_size=40)
LISTS = st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), max_size=4), max_size=20)


@given(NUMBERS, st.integers(0, 5))
def test_numbers(values: list[int | None], first: int) -> None:
    valid = np.array([value is not None for value in values], np.bool_)
    given = np.array([value or 0 for value in values], np.uint16)
    made = arrays.numbers(given, valid)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.uint16()))
    assert arrays.numbers(given).to_pylist() == given.tolist()
    part = made[first:]
    assert arrays.validity(part).tolist() == valid[first:].tolist()
    assert arrays.to_numpy(part, 7).tolist() == [7 if value is None else value for value in values[first:]]


@given(st.lists(st.text(max_size=5), max_size=10))
def test_strings(values: list[str]) -> None:
    made = arrays.strings(values)
    made.validate(full=True)
    assert made.to_pylist() == values


def test_one_string_many_times() -> None:
    for times in (0, 1, 5):
        assert arrays.repeated("añ", times).to_pylist() == ["añ"] * times


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.large_list(pa.int8())])
@given(values=LISTS, first=st.integers(0, 3))
def test_list_lengths(kind: pa.DataType, values: list[list[int] | None], first: int) -> None:
    part = pa.array(values, kind)[first:]
    assert arrays.list_lengths(part).tolist() == [len(value or ()) for value in values[first:]]


def test_a_null_list_may_have_something_behind_it() -> None:
    behind = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array([1, 2, 3]), mask=pa.array([True, False])
    )
    assert arrays.list_lengths(behind).tolist() == [0, 1]


def test_lists() -> None:
    made = arrays.lists(np.array([2, 0, 1]), pa.array([1, 2, 3]))
    assert made.to_pylist() == [[1, 2], [], [3]]
    with pytest.raises(DataError, match="column of lists"):
        arrays.list_lengths(pa.array(["a"]))


@pytest.mark.parametrize("offsets", [[0, 99, 2], [0, -5, 2], [1, 0, 2], [0, 2, 1]])
def test_offsets_that_make_no_sense_are_refused(offsets: list[int]) -> None:
    """Arrow looks at the first and the last alone, unless it is asked to look at all."""
    buffer = pa.py_buffer(np.array(offsets, np.int32))
    texts = pa.StringArray.from_buffers(2, buffer, pa.py_buffer(b"ab"))
    lists = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, buffer], children=[pa.array(["a", "b"])])
    inside = pa.ListArray.from_arrays(
        pa.array([0, 2], pa.int32()), pa.StructArray.from_arrays([texts], ["form"])
    )
    for array in (texts, lists, inside):
        with pytest.raises(DataError, match="make no sense"):
            arrays.require_sound(array)
    with pytest.raises(DataError, match="make no sense"):
        arrays.list_lengths(lists)


@given(LISTS, st.integers(0, 3))
def test_arrays_that_are_sound(values: list[list[int] | None], first: int) -> None:
    texts = [None if row is None else [str(value) for value in row] for row in values]
    arrays.require_sound(pa.array(texts, pa.list_(pa.string()))[first:])
    arrays.require_sound(
        pa.array([[{"form": "a"}], None, []], pa.list_(pa.struct([("form", pa.string())])))[first:]
    )


WITHOUT_PANDAS = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        assert name != "pandas", "somebody asks for pandas"
sys.meta_path.insert(0, Finder())
from covington.commands.cli import main
for call in {calls}:
    assert main(call) == 0, call
"""


def test_nobody_asks_for_pandas(tmp_path: Path) -> None:
    """Where it is installed it would be loaded, for nothing, whenever one file is parsed or converted."""
    sample, parsed = str(models.sample()), str(tmp_path / "parsed.parquet")
    calls = [
        ["parse", sample, "-o", parsed, "--confidence"],
        ["parse", parsed, "-o", str(tmp_path / "again.conllu"), "--max-length", "8"],
        ["convert", parsed, "-o", str(tmp_path / "converted.conllu.gz")],
    ]
    code = WITHOUT_PANDAS.format(calls=calls)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
