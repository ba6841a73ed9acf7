"""The model file: one checksummed, memory-mapped file of metadata and arrays, in the safetensors layout.

    8 bytes     length of the header, little-endian
    header      JSON: {"__metadata__": {"checksum": ..., "format": ..., "metadata": ...},
                       name: {"data_offsets": [start, end], "dtype": "I16", "shape": [...]}, ...}
    arrays      each on a 64-byte boundary; the gaps are arrays of zeros named "~gap-<n>"

The layout is the public safetensors one, so other tools can look inside; nothing in it can run code.
The same metadata and arrays always give the same bytes.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from covington.base.checksum import Checksum
from covington.errors import ModelError
from covington.files.atomic import atomic_file

FORMAT = "covington-model-3"
ALIGNMENT = 64  # bytes: a cache line, and the block of the checksum
_LARGEST_HEADER = 64 << 20
_GAP = "~gap-"

# Every header begins like this, so the sixteen digits of the checksum have a fixed place.
_OPENING = b'{"__metadata__":{"checksum":"'
_DIGITS = slice(8 + len(_OPENING), 8 + len(_OPENING) + 16)

_DTYPES = {
    "BOOL": "|b1",
    "I8": "|i1",
    "U8": "|u1",
    "I16": "<i2",
    "U16": "<u2",
    "I32": "<i4",
    "U32": "<u4",
    "I64": "<i8",
    "U64": "<u8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
_CODES = {np.dtype(name): code for code, name in _DTYPES.items()}

Array = NDArray[Any]


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds; the arrays are views of the mapped file and cannot be written to."""

    path: Path
    metadata: dict[str, Any]
    arrays: dict[str, Array]
    checksum: str
    size: int


def write(path: str | os.PathLike[str], metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Write the file atomically and return its checksum."""
    ready = {name: _checked(name, array) for name, array in sorted(arrays.items())}
    header = bytearray(_header(metadata, ready))
    checksum = Checksum()
    checksum.update(header)
    for array in ready.values():
        checksum.update(_bytes(array))
    header[_DIGITS] = checksum.hexdigest().encode()
    with atomic_file(path) as file:
        file.write(header)
        _write_arrays(file, list(ready.values()))
    return checksum.hexdigest()


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Map the file, check every byte of it, and give its metadata and arrays."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise ModelError(f"{place}: there is no such model file") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{place}: cannot be read as a model file ({error})") from None
    view = memoryview(mapped)
    start = _data_start(place, view)
    stored = _verified(place, view, start)
    try:
        header = json.loads(bytes(view[8:start]), object_pairs_hook=_without_twins)
        facts = header.pop("__metadata__")
        if facts["format"] != FORMAT:
            raise ModelError(
                f"{place}: format {facts['format']!r} is not {FORMAT!r}; it needs another version"
            )
        metadata = json.loads(facts["metadata"])
        if not isinstance(metadata, dict):
            raise ValueError("metadata without names")
        arrays = dict(_mapped_arrays(header, view[start:]))
    except ModelError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{place}: the header makes no sense ({error})") from None
    return ModelFile(path=place, metadata=metadata, arrays=arrays, checksum=stored, size=size)


def _checked(name: str, array: Array) -> Array:
    if not isinstance(name, str) or name.startswith((_GAP, "__")):
        raise ModelError(f"an array cannot be named {name!r}")
    contiguous = np.ascontiguousarray(array).reshape(np.shape(array))  # the first makes scalars 1-d
    little = contiguous.astype(contiguous.dtype.newbyteorder("<"), copy=False)
    if little.dtype not in _CODES:
        raise ModelError(f"array {name!r} has type {array.dtype}, which a model file does not hold")
    return little


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _gap(size: int) -> int:
    return -size % ALIGNMENT


def _header(metadata: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The length and the JSON, the checksum still zeros, padded with spaces to the alignment."""
    facts = {"checksum": "0" * 16, "format": FORMAT, "metadata": _json(metadata)}
    entries: dict[str, Any] = {"__metadata__": facts}
    end = 0
    for index, (name, array) in enumerate(arrays.items()):
        start, end = end, end + array.nbytes
        shape = list(array.shape)
        entries[name] = {"data_offsets": [start, end], "dtype": _CODES[array.dtype], "shape": shape}
        gap = _gap(end)
        if gap and index + 1 < len(arrays):
            entries[f"{_GAP}{index}"] = {"data_offsets": [end, end + gap], "dtype": "U8", "shape": [gap]}
            end += gap
    text = _json(entries).encode("utf-8")
    text += b" " * _gap(8 + len(text))
    return len(text).to_bytes(8, "little") + text


def _json(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the metadata of a model must be plain JSON: {error}") from None


def _write_arrays(file: IO[bytes], arrays: list[Array]) -> None:
    for index, array in enumerate(arrays):
        file.write(_bytes(array))
        if index + 1 < len(arrays):
            file.write(bytes(_gap(array.nbytes)))


def _data_start(place: Path, view: memoryview) -> int:
    """Where the arrays start, if the header says so believably."""
    if bytes(view[8 : _DIGITS.start]) != _OPENING:
        raise ModelError(f"{place}: this is not a covington model")
    length = int.from_bytes(view[:8], "little")
    if length > min(_LARGEST_HEADER, len(view) - 8) or _gap(8 + length):
        raise ModelError(f"{place}: the model file is damaged or cut short (its header does not fit)")
    return 8 + length


def _verified(place: Path, view: memoryview, start: int) -> str:
    """The stored checksum, if it is the one of the bytes."""
    if start < _DIGITS.stop:
        raise ModelError(f"{place}: the model file is damaged (no checksum)")
    header = bytearray(view[:start])
    stored = bytes(header[_DIGITS])
    header[_DIGITS] = b"0" * 16
    checksum = Checksum()
    checksum.update(header)
    checksum.update(view[start:])
    if checksum.hexdigest().encode() != stored:
        raise ModelError(f"{place}: the model file is damaged (its checksum does not match); fetch it again")
    return stored.decode("ascii")


def _mapped_arrays(entries: Mapping[str, Any], data: memoryview) -> Iterator[tuple[str, Array]]:
    """Views of the data, after checking that each lies inside it, aligned, and of the size of its shape."""
    if max((entry["data_offsets"][1] for entry in entries.values()), default=0) != len(data):
        raise ValueError("the arrays do not fill the file")
    for name, entry in entries.items():
        start, end = entry["data_offsets"]
        shape = entry["shape"]
        if not all(type(number) is int and number >= 0 for number in (start, end, *shape)):
            raise ValueError(f"array {name!r} has a size that is not a number")
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        if end > len(data) or end - start != prod(shape) * dtype.itemsize:
            raise ValueError(f"array {name!r} does not fit its place")
        if name.startswith(_GAP):
            continue
        if start % ALIGNMENT:
            raise ValueError(f"array {name!r} is not aligned")
        yield name, np.frombuffer(data[start:end], dtype=dtype).reshape(shape)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)
