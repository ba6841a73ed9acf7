"""Training of the averaged perceptron, epoch by epoch and shard by shard, and the files that pass between epochs."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
import pyarrow as pa

from covington import encoding, model_file
from covington.arrays import Array
from covington.costs import ORACLES
from covington.errors import ModelError
from covington.features import Program
from covington.learner import Learner
from covington.mixing import Changes
from covington.options import ACCEPT, TrainingOptions
from covington.sentences import Sentences
from covington.survey import Survey
from covington.weights import Weights


@dataclass(frozen=True)
class Shard:
    """Encoded training sentences and the learner that goes through them."""

    sentences: Sentences
    learner: Learner
    in_use: threading.Lock = field(default_factory=threading.Lock)  # a learner serves one thread at a time


@dataclass(frozen=True)
class EpochReport:
    """What one epoch over one shard did."""

    epoch: int
    shard: int
    steps: int
    updates: int


def prepare(batches: Iterable[pa.RecordBatch], options: TrainingOptions, found: Survey) -> Shard:
    """Encode the sentences of a shard; DataError for what is not a tree."""
    program = Program(found.templates(options))
    parts = [encoding.encode(batch, program.attributes, options.tag, found.label_list) for batch in batches]
    sentences = Sentences.joined(program.attributes, parts)
    learner = Learner(
        program,
        len(found.label_list),
        ORACLES[options.oracle],
        options.root == "explicit",
        options.own_repairs,
        options.target == "best",
        *ACCEPT[options.accept],
        options.explore,
        options.explore_from,
        options.seed,
    )
    return Shard(sentences, learner)


def train_epoch(weights: Weights, shard: Shard, epoch: int, number: int = 0) -> EpochReport:
    """Go through a shard once; the weights change in place. Epochs count from 1, shards from 0."""
    before = weights.steps
    with shard.in_use:
        updates = shard.learner.epoch(weights, shard.sentences, epoch, number)
    return EpochReport(epoch, number, weights.steps - before, updates)


def save_weights(weights: Weights, path: str | PathLike[str]) -> str:
    """Weights in training as a file, the same bytes for the same weights; returns its checksum."""
    return model_file.write(path, {"kind": "weights", **_facts(weights)}, weights.arrays())


def load_weights(path: str | PathLike[str], checksum: str | None = None) -> Weights:
    """The inverse of save_weights; ModelError for anything else, and for a file of another checksum."""
    found = _load(path, "weights")
    if checksum not in (None, found.checksum):
        raise ModelError(f"{path}: these are not the weights of checksum {checksum}")
    facts = found.metadata
    return Weights.from_arrays(facts["classes"], facts["steps"], facts["updates"], found.arrays)


def save_changes(weights: Weights, path: str | PathLike[str]) -> None:
    """What a shard has learnt in its copy of the weights, as a file."""
    model_file.write(path, {"kind": "changes", **_facts(weights)}, weights.changes())


def load_changes(path: str | PathLike[str]) -> Changes:
    """What mixing needs of a shard; ModelError for a file that is not from save_changes."""
    found = _load(path, "changes")
    facts = found.metadata
    return Changes(facts["classes"], facts["steps"], facts["updates"], found.arrays, found.checksum)


def _facts(weights: Weights) -> dict[str, int]:
    return {"classes": weights.classes, "steps": weights.steps, "updates": weights.updates}


def _load(path: str | PathLike[str], kind: str) -> model_file.ModelFile:
    """A file of weights or changes, once it is known that its facts and arrays fit together."""
    found = model_file.read(path)
    facts, arrays = found.metadata, found.arrays
    dtypes = {"keys": "u8", "ends": "i8", "classes": "u2", "weights": "i4", "sums": "i8"}
    sound = (
        facts.get("kind") == kind
        and all(isinstance(facts.get(name), int) for name in ("classes", "steps", "updates"))
        and 1 <= facts["classes"] <= 65535
        and all(name in arrays and arrays[name].dtype == np.dtype(code) for name, code in dtypes.items())
        and all(arrays[name].ndim == 1 for name in dtypes)
        and len({len(arrays[name]) for name in ("classes", "weights", "sums")}) == 1
        and len(arrays["keys"]) == len(arrays["ends"])
    )
    if sound and len(arrays["ends"]):
        ends = arrays["ends"]
        sound = bool(
            ends[0] >= 0
            and (np.diff(ends) >= 0).all()
            and ends[-1] == len(arrays["classes"])
            and (arrays["keys"] != 0).all()
            and (arrays["classes"] < facts["classes"]).all()
            and _rise_in_rows(arrays["classes"], ends)
        )
    if not sound:
        raise ModelError(f"{path}: not a file of {kind}")
    return found


def _rise_in_rows(classes: Array, ends: Array) -> bool:
    """Is no class in a row twice, and are they in their order?"""
    rises = np.append(classes[1:] > classes[:-1], True)  # by place: does the next one have a higher class?
    rises[ends[ends > 0] - 1] = True  # the next one is in another row
    return bool(rises.all())
