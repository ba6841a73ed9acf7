"""From weights in training to the file of a model: averaged, pruned, rounded to 16 bits, laid out for look-ups."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from covington._version import __version__
from covington.features.program import TEMPLATE_BITS, Program
from covington.learning.perceptron.weights import UPDATE, Weights
from covington.learning.survey import Survey
from covington.model import file as model_file
from covington.model.inventory import columns_read, tags_met
from covington.model.options import TrainingOptions
from covington.scorers.frozen import lay_out, make_filter
from covington.transition.classes import Classes

NUMBER_BITS = np.uint64(TEMPLATE_BITS)  # of a key: which template it is of


def freeze(
    weights: Weights,
    options: TrainingOptions,
    found: Survey,
    path: str | PathLike[str],
    facts: Mapping[str, Any] | None = None,
    prune: float = 0.0,
) -> str:
    """Average, prune, round to 16 bits and write the model file; returns its checksum.

    Averaged weights below `prune` (in updates) are left out.
    """
    arrays = weights.arrays()
    templates = found.templates(options)
    average = arrays["sums"] / (max(weights.steps, 1) * float(UPDATE))
    average[np.abs(average) < prune] = 0.0
    scale = _scale(arrays, average, weights.classes, len(templates))
    rounded = np.rint(average / scale).astype(np.int16)
    columns = _columns(arrays["classes"][rounded != 0], found.classes(options))
    column_of = np.searchsorted(columns, np.arange(weights.classes)).astype(np.uint16)
    frozen = lay_out(len(columns), arrays["keys"], arrays["ends"], column_of[arrays["classes"]], rounded)
    frozen["classes"] = columns
    gates = np.array(Program(templates).gate_numbers, np.uint64)
    frozen["gate_filter"] = make_filter(arrays["keys"][np.isin(arrays["keys"] & NUMBER_BITS, gates)])
    read = columns_read(templates, options.tag)
    metadata = {
        "kind": "model",
        "version": __version__,
        "options": options.to_dict(),
        "templates": templates,
        "columns": read,
        "tags": tags_met(found.tags, read),
        "labels": found.label_list,
        "root_label": found.root_label,
        "many_roots": found.many_roots,
        "scale": scale,
        "features": int(np.count_nonzero(np.bincount(_rows(arrays)[rounded != 0]))),
        "prune": prune,
        "training": {"sentences": found.sentences, "tokens": found.tokens, "updates": weights.updates},
        **(facts or {}),
    }
    return model_file.write(path, metadata, frozen)


def _rows(arrays: Mapping[str, Any]) -> Any:
    """The number of the row that each weight is in."""
    return np.repeat(np.arange(len(arrays["keys"])), np.diff(arrays["ends"], prepend=0))


def _columns(weighted: Any, classes: Classes) -> Any:
    """The classes that have a column: all but those arcs that no feature says anything about.

    These always score 0. So the first of them stands for all, for each transition: no other could win.
    """
    kept = np.ones(classes.count, bool)
    ends = np.cumsum(classes.sizes[:-1])
    for first, end in zip(ends - classes.sizes[:-1], ends, strict=True):
        silent = np.setdiff1d(np.arange(first, end), weighted)
        kept[silent[1:]] = False
    return np.nonzero(kept)[0].astype(np.uint16)


def _scale(arrays: Mapping[str, Any], average: Any, classes: int, templates: int) -> float:
    """The value of a weight of 1, so that no sum of one weight for each template leaves 16 bits, rounding included."""
    numbers = (arrays["keys"] & NUMBER_BITS).astype(np.int64)[_rows(arrays)]
    largest = 1e-9
    for sign in (1.0, -1.0):
        highest = np.zeros((templates + 1, classes))
        np.maximum.at(highest.reshape(-1), numbers * classes + arrays["classes"], sign * average)
        largest = max(largest, float(highest.sum(axis=0).max()))
    return largest / (32767 - templates)
