"""The model file: same content, same bytes; nothing damaged gets through, nothing half-written stays."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from covington.base.checksum import Checksum
from covington.errors import ModelError
from covington.model import file as model_file

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "weights": np.arange(-500, 500, dtype=np.int16).reshape(20, 50),
    "keys": np.arange(13, dtype=np.uint64),
    "nothing": np.zeros((0, 4), np.int32),
    "scale": np.array(0.5, np.float32),
    "mask": np.array([True, False, True]),
}
METADATA: dict[str, Any] = {"labels": ["nsubj", "obj"], "options": {"seed": 1}, "name": "Übung"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "model.covington"
    model_file.write(place, METADATA, ARRAYS)
    return place


def test_gives_back_what_was_written(path: Path) -> None:
    model = model_file.read(path)
    assert model.metadata == METADATA
    assert model.size == path.stat().st_size
    assert sorted(model.arrays) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        assert model.arrays[name].dtype == array.dtype
        assert model.arrays[name].shape == array.shape
        assert (model.arrays[name] == array).all()
        assert model.arrays[name].ctypes.data % 64 == 0
        assert not model.arrays[name].flags.writeable


def test_same_content_same_bytes(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    checksum = model_file.write(again, dict(reversed(METADATA.items())), dict(reversed(ARRAYS.items())))
    assert again.read_bytes() == path.read_bytes()
    assert checksum == model_file.read(path).checksum


def test_layout_is_safetensors(path: Path) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    end = 0
    for start, stop in sorted(entry["data_offsets"] for entry in header.values()):
        assert start == end  # the format allows no holes
        end = stop
    assert 8 + length + end == len(data)


def test_empty_model_is_a_model(tmp_path: Path) -> None:
    model_file.write(tmp_path / "m", {}, {})
    assert model_file.read(tmp_path / "m").arrays == {}


def test_every_changed_byte_is_noticed(path: Path, tmp_path: Path) -> None:
    good = path.read_bytes()
    broken = tmp_path / "broken"
    for place in range(0, len(good), 7):
        data = bytearray(good)
        data[place] ^= 1 << (place % 8)
        broken.write_bytes(data)
        with pytest.raises(ModelError):
            model_file.read(broken)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 40, 64, 500, -64, -1])
def test_every_cut_is_noticed(path: Path, tmp_path: Path, size: int) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelError):
        model_file.read(broken)


@pytest.mark.parametrize("extra", [b"\0", bytes(64), b"more"])
def test_every_addition_is_noticed(path: Path, tmp_path: Path, extra: bytes) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(path.read_bytes() + extra)
    with pytest.raises(ModelError):
        model_file.read(broken)


def _forged(path: Path, change: dict[str, object]) -> None:
    """Rewrite the header and give it the right checksum: only the checks of the content can refuse it."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["checksum"] = "0" * 16
    for name, entry in change.items():
        header[name] = {**header.get(name, {}), **entry} if isinstance(entry, dict) else entry
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    start, body = len(text).to_bytes(8, "little") + text, data[8 + length :]
    checksum = Checksum()
    checksum.update(start)
    checksum.update(body)
    path.write_bytes(start.replace(b"0" * 16, checksum.hexdigest().encode(), 1) + body)


@pytest.mark.parametrize(
    "change",
    [
        {"keys": {"data_offsets": [0, 1 << 60]}},
        {"keys": {"data_offsets": [-64, 40]}},
        {"keys": {"data_offsets": ["0", "104"]}},
        {"keys": {"shape": [-1]}},
        {"keys": {"shape": [1 << 62, 4]}},
        {"keys": {"shape": [True] * 13}},
        {"keys": {"dtype": "O"}},
        {"keys": {"dtype": ["U64"]}},
        {"keys": 3},
        {"__metadata__": {"format": "covington-model-1"}},
        {"__metadata__": {"metadata": "{"}},
    ],
)
def test_forged_headers_are_refused(path: Path, change: dict[str, object]) -> None:
    _forged(path, {})
    model_file.read(path)  # the forger knows the trade
    _forged(path, change)
    with pytest.raises(ModelError):
        model_file.read(path)


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    unfit: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"x": {1, 2}}, {}),
        ({"x": float("nan")}, {}),
        ({}, {"a": np.array(["text"])}),
        ({}, {"~gap-0": np.zeros(3)}),
    ]
    for metadata, arrays in unfit:
        with pytest.raises(ModelError):
            model_file.write(tmp_path / "m", metadata, arrays)
    assert list(tmp_path.iterdir()) == []


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such"):
        model_file.read(tmp_path / "absent")
    with pytest.raises(ModelError):
        model_file.read(tmp_path)


FULL_DISK = """
import resource, sys
import numpy as np
from covington.model import file as model_file
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    model_file.write(sys.argv[1], {}, {"a": np.zeros(1_000_000, np.int8)})
except OSError as error:
    print(error.errno, error.filename)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX affair")
def test_full_disk_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert answer.split() == [str(errno.EFBIG), str(path)]
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
