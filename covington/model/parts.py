"""A model of several parts in one file: each has metadata of its own, and its arrays have its name before theirs."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

from covington.errors import ModelError
from covington.model import file as model_file
from covington.model.file import Array, ModelFile

KIND = "parts"

SEGMENTER, NETWORK, LEMMATISER = "segmenter", "network", "lemmatiser"
#: the parts that there can be, in the order in which they work
NAMES = (SEGMENTER, NETWORK, LEMMATISER)


class Part(NamedTuple):
    """What one part of a model is made from."""

    metadata: Mapping[str, Any]
    arrays: Mapping[str, Array]


def write_parts(
    path: str | PathLike[str], parts: Mapping[str, Part], facts: Mapping[str, Any] | None = None
) -> str:
    """Write a model file; returns its checksum. `facts` say where the model comes from."""
    metadata = {
        **(facts or {}),
        "kind": KIND,
        "parts": {name: dict(part.metadata) for name, part in parts.items()},
    }
    arrays = {f"{name}/{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
    return model_file.write(path, metadata, arrays)


def has_parts(model: ModelFile) -> bool:
    return model.metadata.get("kind") == KIND


def parts_of(model: ModelFile) -> dict[str, Part]:
    """The parts of a model by their names; ModelError where there are others than those that are known."""
    described = model.metadata.get("parts")
    if not isinstance(described, dict) or not set(described) <= set(NAMES) or NETWORK not in described:
        raise ModelError(
            f"{model.path}: the parts of the model are not those of this version; train it again"
        )
    parts: dict[str, Part] = {}
    for name in NAMES:
        if name in described:
            if not isinstance(described[name], dict):
                raise ModelError(f"{model.path}: the {name} of the model is not described")
            start = f"{name}/"
            arrays = {
                key.removeprefix(start): array for key, array in model.arrays.items() if key.startswith(start)
            }
            parts[name] = Part(described[name], arrays)
    return parts
