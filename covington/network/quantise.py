"""From float32 parameters to the integers that a model file holds, and the checks before compiled code follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from covington.arrow.arrays import Array
from covington.errors import ModelError
from covington.network.floats import Floats
from covington.network.layers import Parameters, shapes
from covington.network.options import NetworkOptions
from covington.network.vocabulary import Vocabulary

# As in integer_kernels.h.
GATE_UNIT, SLOT_UNIT, MAX_SLOT, MAX_HIDDEN = 1024, 256, 2047, 8191
MARGINS = 64  # as in integers.pxd
_COLUMNS = 16
_MAX_SCALE = 1e3
_MAX_BIAS = 1e4
#: matrices of bytes with a scale for each column → where they come from among the parameters
MATRICES = (
    *(
        "first_input",
        "first_forward",
        "first_backward",
        "tag_weights",
        "tag_table",
        "second_state",
        "second_tag",
    ),
    *("second_forward", "second_backward", "bottleneck", "projections"),
)
BIASES = ("first_bias", "tag_bias", "second_bias", "bottleneck_bias")


def quantised(parameters: Parameters, vocabulary: Vocabulary, options: NetworkOptions) -> dict[str, Array]:
    """The arrays of a model file."""
    p, wide = parameters, 2 * options.state
    found: dict[str, Array] = {"form_hashes": vocabulary.forms}
    for name, values in {
        **{name: p[name] for name in MATRICES if name in p},
        "second_state": p["second_input"][:wide],
        "second_tag": p["second_input"][wide:],
        "projections": np.concatenate((p["slots"], p["label_parts"]), axis=1),
        "subwords": p["subwords"],
    }.items():
        found[name], found[f"{name}_scale"] = _bytes(values)
    rows, found["forms_scale"] = _bytes(p["forms"].T)
    found["forms"] = np.ascontiguousarray(rows.T)
    found.update({name: p[name] for name in BIASES})
    found["confidence"] = uncalibrated()
    for name in ("slot_tables", "label_tables"):
        units = np.rint(p[name] * np.float32(SLOT_UNIT))
        found[name] = np.clip(units, -MAX_SLOT, MAX_SLOT).astype(np.int16)
    for name, width in (("action", options.slot), ("label", options.label)):
        weights = p[f"{name}_weights"]
        by = np.float32(_largest_weight(width)) / max(np.abs(weights).max(), np.float32(1e-6))
        found[f"{name}_weights"] = np.rint(weights * by).astype(np.int16)
        if name == "action":
            found["margin_unit"] = np.array([2 / (by * np.float32(SLOT_UNIT))], np.float32)
        bias = np.rint(p[f"{name}_bias"] * by * np.float32(SLOT_UNIT))
        found[f"{name}_bias"] = np.clip(bias, -(2.0**28), 2.0**28).astype(np.int32)
    return found


def uncalibrated() -> Array:
    """The confidence of each margin, in halves, as if the softmax of two scores were right."""
    scores = np.zeros((MARGINS, 2), np.float32)
    scores[:, 1] = -(np.arange(MARGINS) + 0.5) / 2
    Floats().softmax(scores, np.array([0, 2], np.int64), scores)
    table: Array = scores[:, 0].copy()
    return table


def _largest_weight(width: int) -> int:
    """Of a scorer, so that no sum of products leaves 31 bits."""
    return min(32767, (1 << 30) // (MAX_HIDDEN * width))


def _bytes(values: Array) -> tuple[Array, Array]:
    """Integers of -127 to 127, and what 1 stands for in each column."""
    largest = np.abs(values).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    return np.clip(np.rint(values / scale), -127, 127).astype(np.int8), scale


def expected(options: NetworkOptions, vocabulary: Vocabulary) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of every array of a model file, by name."""
    s = shapes(options, vocabulary)
    wide = 2 * options.state
    matrices = {
        **{name: s[name] for name in (*MATRICES, "subwords") if name in s},
        "second_state": (wide, s["second_input"][1]),
        "second_tag": (options.tag, s["second_input"][1]),
        "projections": (options.bottleneck, s["slots"][1] + s["label_parts"][1]),
    }
    found: dict[str, tuple[str, tuple[int, ...]]] = {"form_hashes": ("uint64", (len(vocabulary.forms),))}
    for name, shape in matrices.items():
        found[name], found[f"{name}_scale"] = ("int8", shape), ("float32", shape[1:])
    found["forms"], found["forms_scale"] = ("int8", s["forms"]), ("float32", s["forms"][:1])
    found.update({name: ("float32", s[name]) for name in BIASES})
    found["margin_unit"], found["confidence"] = ("float32", (1,)), ("float32", (MARGINS,))
    found.update(
        {
            name: ("int16", s[name])
            for name in ("slot_tables", "label_tables", "action_weights", "label_weights")
        }
    )
    found.update({name: ("int32", s[name]) for name in ("action_bias", "label_bias")})
    return found


def check(arrays: Mapping[str, Array], options: NetworkOptions, vocabulary: Vocabulary) -> None:
    """ModelError unless every array has its shape, and numbers within which nothing overflows."""
    if (
        options.state % 4
        or 2 * options.state > 2048
        or vocabulary.group_ends[-1] > 2048
        or not vocabulary.groups
    ):
        raise ModelError("the sizes of the network make no sense")
    for name, (dtype, shape) in expected(options, vocabulary).items():
        array = arrays.get(name)
        if array is None:
            raise ModelError(f"the network has no array {name!r}")
        if array.dtype != np.dtype(dtype) or array.shape != shape:
            raise ModelError(f"array {name!r} is {array.dtype} {array.shape}, not {dtype} {shape}")
        if dtype == "int8" and array.size and array.min() < -127:
            raise ModelError(f"array {name!r} has a number below -127")
        if dtype == "float32":
            limit = _MAX_SCALE if name.endswith("_scale") else _MAX_BIAS
            if not (np.abs(array) <= limit).all():  # nor with what is no number
                raise ModelError(f"array {name!r} has a number beyond {limit:g}")
        if name.endswith("_tables") and np.abs(array.astype(np.int32)).max() > MAX_SLOT:
            raise ModelError(f"array {name!r} has a number beyond {MAX_SLOT}")
    if (
        not (0 < arrays["margin_unit"][0] <= 1)
        or not ((arrays["confidence"] >= 0) & (arrays["confidence"] <= 1)).all()
    ):
        raise ModelError("the table of confidence makes no sense")
    for name, width in (("action", options.slot), ("label", options.label)):
        if np.abs(arrays[f"{name}_weights"].astype(np.int32)).max() > _largest_weight(width):
            raise ModelError(f"array '{name}_weights' has a number that is too large")
        if np.abs(arrays[f"{name}_bias"].astype(np.int64)).max() > 1 << 28:
            raise ModelError(f"array '{name}_bias' has a number that is too large")


def packed(weights: Array) -> tuple[Array, Array]:
    """A matrix in panels of 16 columns as [k / 4][16][4], zeros at the edges; and 128 times the sums of the columns."""
    k, n = weights.shape
    whole = np.zeros((k + -k % 4, n + -n % _COLUMNS), np.int8)
    whole[:k, :n] = weights
    tiles = whole.reshape(whole.shape[0] // 4, 4, whole.shape[1] // _COLUMNS, _COLUMNS)
    sums = whole.sum(axis=0, dtype=np.int32) * np.int32(128)
    return np.ascontiguousarray(tiles.transpose(2, 0, 3, 1)), sums


def padded(values: Array, by: Any = 1) -> Array:
    """A row of numbers, multiplied, with zeros up to a multiple of 16."""
    whole = np.zeros(len(values) + -len(values) % _COLUMNS, values.dtype)
    whole[: len(values)] = values * values.dtype.type(by)
    return whole


def prepared(arrays: Mapping[str, Array], options: NetworkOptions) -> dict[str, Array]:
    """Everything that compiled code reads, in the order in which it reads it; the arrays must have been checked."""
    gate, to_gate = np.float32(GATE_UNIT), np.float32(GATE_UNIT) / np.float32(127)
    by = {"first_input": gate, "second_state": gate, "second_tag": gate, "projections": np.float32(SLOT_UNIT)}
    by.update({f"{layer}_{way}": to_gate for layer in ("first", "second") for way in ("forward", "backward")})
    found: dict[str, Array] = {}
    for name in MATRICES:
        found[name], found[f"{name}_sums"] = packed(arrays[name])
        found[f"{name}_scale"] = padded(arrays[f"{name}_scale"], by.get(name, 1))
    for name in BIASES:
        found[name] = padded(arrays[name], GATE_UNIT if name.startswith(("first", "second")) else 1)
    for name in (
        "forms",
        "forms_scale",
        "subwords",
        "subwords_scale",
        "slot_tables",
        "label_tables",
        "action_weights",
    ):
        found[name] = np.ascontiguousarray(arrays[name])
    found["margin_unit"], found["confidence"] = (
        arrays["margin_unit"],
        np.ascontiguousarray(arrays["confidence"]),
    )
    found["action_bias"], found["label_bias"] = arrays["action_bias"].copy(), padded(arrays["label_bias"])
    # relations: pairs of hidden units beside each other
    width, labels = arrays["label_weights"].shape
    whole = np.zeros((width + width % 2, labels + -labels % _COLUMNS), np.int16)
    whole[:width, :labels] = arrays["label_weights"]
    pairs = whole.reshape(whole.shape[0] // 2, 2, whole.shape[1] // _COLUMNS, _COLUMNS)
    found["label_weights"] = np.ascontiguousarray(pairs.transpose(2, 0, 3, 1))
    return found
