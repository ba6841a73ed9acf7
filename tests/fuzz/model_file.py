"""A damaged model file is refused, whoever repaired its checksum."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import numpy as np

from covington.base.checksum import Checksum
from covington.errors import ModelError
from covington.model import file as model_file
from tests.fuzz.runner import Fuzzer

_FOLDER = tempfile.TemporaryDirectory(prefix="covington-fuzz-")
_FILE = Path(_FOLDER.name) / "fuzz.covington"
_DIGITS = slice(37, 53)  # where the checksum stands


def seeds() -> list[bytes]:
    """Small models with arrays of several types and sizes, and one with none."""
    files = []
    for size in (0, 1, 64, 200):
        arrays = {
            "weights": np.arange(size, dtype=np.int16),
            "keys": np.arange(size, dtype=np.uint64).reshape(-1, 1),
            "flags": np.ones(size, np.bool_),
        }
        model_file.write(_FILE, {"labels": ["a", "ü"], "options": {"size": size}}, arrays if size else {})
        files.append(_FILE.read_bytes())
    return files


_SOUND = frozenset(seeds())


def target(data: bytes, random_: random.Random) -> str:
    """Damage is always noticed; with the checksum repaired, every array still lies inside the file."""
    repaired = random_.randrange(2) == 0 and len(data) >= _DIGITS.stop
    if repaired:
        data = with_checksum(data)
    _FILE.write_bytes(data)
    try:
        model = model_file.read(_FILE)
    except ModelError as error:
        return f"refused: {str(error).removeprefix(f'{_FILE}: ')}"
    assert repaired or data in _SOUND, "a damaged model was accepted"
    for array in model.arrays.values():
        assert not array.flags.writeable
        array.tobytes()  # touches every byte
    return "read"


def with_checksum(data: bytes) -> bytes:
    """What somebody would do who changes a model on purpose."""
    start = min(8 + int.from_bytes(data[:8], "little"), len(data))
    header = bytearray(data[:start])
    if len(header) < _DIGITS.stop:
        return data
    header[_DIGITS] = b"0" * 16
    checksum = Checksum()
    checksum.update(header)
    checksum.update(data[start:])
    header[_DIGITS] = checksum.hexdigest().encode()
    return bytes(header) + data[start:]


FUZZER = Fuzzer("model_file", "model_file", seeds, target)
