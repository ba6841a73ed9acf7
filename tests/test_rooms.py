"""The rooms of the package import in one direction, and what breaks the order is named."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import covington

ROOT = Path(__file__).parents[1]


def _rooms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rooms", ROOT / ".ci" / "rooms.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


rooms = _rooms()


def test_no_room_reaches_up() -> None:
    assert list(rooms.complaints(ROOT)) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "covington/corpus/x.py",
            "from covington.parsing.parser import Parser",
            "corpus must not import parsing",
        ),
        (
            "covington/corpus/x.py",
            "def f():\n    from covington import parsing",
            ":2: corpus must not import parsing",
        ),
        (
            "covington/features/x.pyx",
            "from covington.learning.weights cimport (\n    W,\n)",
            "must not import learning",
        ),
        ("covington/lemmas/x.pxd", "cimport covington.scorers.kernels", "lemmas must not import scorers"),
        ("covington/engine/x.py", "import apache_beam as beam", "only pipelines/ imports apache_beam"),
        ("schemas/x.py", "from covington.corpus import columns", "schemas must not import corpus"),
        ("covington/base/x.py", "from covington import Parser", "from the room that it lies in"),
        ("covington/loose.py", "", "lies in none that is known"),
    ],
)
def test_what_breaks_the_order_is_named(path: str, text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (complaint,) = rooms.complaints(tmp_path)
    assert expected in complaint


def test_a_room_that_grows_too_large_is_named(tmp_path: Path) -> None:
    room = tmp_path / "covington" / "corpus"
    room.mkdir(parents=True)
    for index in range(rooms.MAX_FILES + 1):
        (room / f"module_{index}.py").touch()
        (room / f"module_{index}.pxd").touch()
    (complaint,) = rooms.complaints(tmp_path)
    assert (
        complaint == f"{Path('covington/corpus')}: {rooms.MAX_FILES + 1} source files; a room has at most 14"
    )


def test_public_names_are_where_the_documentation_has_them() -> None:
    assert set(covington.__all__) == {
        *("CovingtonError", "DataError", "ModelError", "OptionError"),
        *("Parser", "Statistics", "__version__", "oracle", "token_lists"),
        *("read_conllu", "read_parquet", "read_sentences", "write_conllu", "write_parquet"),
    }
    for name in covington.__all__:
        assert getattr(covington, name) is not None
    assert covington.oracle.loss_bounds([2, 0], [2, 0], 1, 2) == (0, 0, 0)
