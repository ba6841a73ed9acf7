"""Training of the averaged perceptron, epoch by epoch and shard by shard, and freezing of what was learnt."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington import encoding, model_file
from covington.errors import DataError, ModelError, OptionError
from covington.features import Program
from covington.frozen import lay_out, make_filter
from covington.learner import Learner
from covington.mixing import Changes
from covington.oracle import ORACLES, ROOTS
from covington.sentences import Sentences
from covington.templates import SETS, template_set
from covington.weights import Weights

#: rule → are premature guesses accepted, are wrong arcs accepted that replace another arc?
ACCEPT = {
    "all": (True, True),
    "no-guess": (False, True),
    "careful": (False, False),
}
MIXING = ("uniform", "updates")
#: training option → its values
CHOICES: dict[str, tuple[str, ...]] = {
    "oracle": ORACLES,
    "templates": tuple(SETS),
    "root": ROOTS,
    "accept": tuple(ACCEPT),
    "target": ("canonical", "best"),
    "tag": encoding.TAGS,
    "repairs": ("own", "shared"),
}
NUMBER_BITS = np.uint64(0xFF)  # of a key: which template it is of
MOST_LABELS = 16_000  # up to four classes each, numbered with 16 bits


@dataclass(frozen=True)
class TrainingOptions:
    """How to train. docs/learning-rules.md says how the defaults were found.

    accept: which optimal transitions need no update. `all`; `no-guess`: not a wrong arc to a word that has no head yet
        while its gold arc can still be built; `careful`: nor a wrong arc that replaces another.
    target: what an update moves towards. `canonical`: the gold arc if optimal, else Shift, else NoArc, else the
        best-scoring free arc; `best`: the best-scoring optimal transition.
    explore, explore_from: from that epoch on, the probability of following a wrong prediction.
    repairs: `own` gives arcs that take another arc away two classes of their own, one to each side, and the label
        that scores best without them; `shared` is the paper's way, one class per arc and label. Of no meaning for
        monotonic systems.
    tag: the column that the templates' PoS tag `p` is read from, or `upos+xpos`, both together.
    """

    oracle: str = "upper"
    templates: str = "rich"
    root: str = "implicit"
    accept: str = "careful"
    target: str = "canonical"
    explore: float = 0.9
    explore_from: int = 2
    epochs: int = 15
    seed: int = 1
    tag: str = "upos"
    repairs: str = "own"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} {getattr(self, name)!r} is none of {', '.join(allowed)}")
        if not 0 <= self.explore <= 1:
            raise OptionError(f"explore {self.explore} is not a probability")
        if self.epochs < 1 or self.explore_from < 1:
            raise OptionError("epochs and explore_from count from 1")
        if not 0 <= self.seed < 1 << 63:
            raise OptionError(f"seed {self.seed} is not a number from 0 to 2^63 - 1")

    @property
    def monotonic(self) -> bool:
        """Does the parser keep to the monotonic system?"""
        return self.oracle in ("static", "monotonic")

    @property
    def own_repairs(self) -> bool:
        """Do arcs that replace another have classes of their own?"""
        return self.repairs == "own" and not self.monotonic

    def classes(self, labels: int) -> int:
        """Shift, NoArc, an arc to the left and to the right for every label, and for those that replace another."""
        return 2 + 2 * labels + (2 if self.own_repairs else 0)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingOptions:
        if not isinstance(values, Mapping):
            raise TypeError("options are names with values")
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})


@dataclass(frozen=True)
class Survey:
    """What training data has in it, to be known before the first epoch; surveys of parts add up."""

    labels: Counter[str] = field(default_factory=Counter)
    columns: frozenset[str] = frozenset()
    root_labels: Counter[str] = field(default_factory=Counter)
    sentences: int = 0
    tokens: int = 0

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Survey:
        lengths = encoding.word_counts(batch)
        deprel = encoding.strings(batch, "deprel", lengths)
        if deprel is None:
            if len(deprel_free := lengths[lengths > 0]):
                raise DataError(f"{len(deprel_free)} training sentences have no labels (column 'deprel')")
            return cls(sentences=batch.num_rows)
        at_root = deprel.filter(pa.array(encoding.gold_heads(batch, lengths) == 0))
        return cls(
            labels=_count(deprel),
            columns=frozenset(name for name in encoding.COLUMNS if encoding.has_column(batch, name)),
            root_labels=_count(at_root),
            sentences=batch.num_rows,
            tokens=int(lengths.sum()),
        )

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            self.labels + other.labels,
            self.columns | other.columns,
            self.root_labels + other.root_labels,
            self.sentences + other.sentences,
            self.tokens + other.tokens,
        )

    @cached_property
    def label_list(self) -> list[str]:
        """The labels in the order of their numbers: common ones first, so that their weights lie together."""
        if not self.labels:
            raise DataError("there are no labelled trees to learn from")
        if len(self.labels) > MOST_LABELS:
            raise DataError(f"{len(self.labels)} labels are too many; at most {MOST_LABELS} can be learnt")
        return sorted(self.labels, key=lambda label: (-self.labels[label], label))

    @property
    def root_label(self) -> str:
        """The label of words that hang from an implicit root: the most common one there."""
        return min(self.root_labels or self.labels, key=lambda label: (-self.root_labels[label], label))

    def classes(self, options: TrainingOptions) -> int:
        return options.classes(len(self.label_list))

    def templates(self, options: TrainingOptions) -> list[str]:
        """The names of the templates that this data has the columns for."""
        if not set(options.tag.split("+")) <= self.columns:
            raise DataError(f"the training data has no tags in column {options.tag!r}")
        return template_set(options.templates, set(self.columns))

    def to_dict(self) -> dict[str, Any]:
        return {
            "labels": dict(sorted(self.labels.items())),
            "columns": sorted(self.columns),
            "root_labels": dict(sorted(self.root_labels.items())),
            "sentences": self.sentences,
            "tokens": self.tokens,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Survey:
        return cls(
            Counter(values["labels"]),
            frozenset(values["columns"]),
            Counter(values["root_labels"]),
            values["sentences"],
            values["tokens"],
        )


def _count(labels: pa.StringArray) -> Counter[str]:
    found = pc.value_counts(labels.drop_null()).to_pylist()
    return Counter({row["values"]: row["counts"] for row in found})


def survey(batches: Iterable[pa.RecordBatch]) -> Survey:
    """Survey all training data."""
    return sum((Survey.of(batch) for batch in batches), Survey())


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
        ORACLES.index(options.oracle),
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


def load_weights(path: str | PathLike[str]) -> Weights:
    """The inverse of save_weights; ModelError for anything else."""
    facts, arrays = _load(path, "weights")
    return Weights.from_arrays(facts["classes"], facts["steps"], facts["updates"], arrays)


def save_changes(weights: Weights, path: str | PathLike[str]) -> None:
    """What a shard has learnt in its copy of the weights, as a file."""
    model_file.write(path, {"kind": "changes", **_facts(weights)}, weights.changes())


def load_changes(path: str | PathLike[str]) -> Changes:
    """What mixing needs of a shard; ModelError for a file that is not from save_changes."""
    facts, arrays = _load(path, "changes")
    return Changes(facts["classes"], facts["steps"], facts["updates"], arrays)


def _facts(weights: Weights) -> dict[str, int]:
    return {"classes": weights.classes, "steps": weights.steps, "updates": weights.updates}


def _load(path: str | PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and arrays of a file of weights or changes, once it is known that they fit together."""
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
        )
    if not sound:
        raise ModelError(f"{path}: not a file of {kind}")
    return facts, arrays


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
    average = arrays["sums"] / (max(weights.steps, 1) * 1024.0)
    average[np.abs(average) < prune] = 0.0
    scale = _scale(arrays, average, weights.classes, len(found.templates(options)))
    rounded = np.rint(average / scale).astype(np.int16)
    frozen = lay_out(weights.classes, arrays["keys"], arrays["ends"], arrays["classes"], rounded)
    gates = np.array(Program(found.templates(options)).gate_numbers, np.uint64)
    frozen["gate_filter"] = make_filter(arrays["keys"][np.isin(arrays["keys"] & NUMBER_BITS, gates)])
    metadata = {
        "kind": "model",
        "options": options.to_dict(),
        "templates": found.templates(options),
        "labels": found.label_list,
        "root_label": found.root_label,
        "scale": scale,
        "features": int(np.count_nonzero(frozen["common"][:, :7]) + np.count_nonzero(frozen["rare"][:, :4])),
        "prune": prune,
        "training": {"sentences": found.sentences, "tokens": found.tokens, "updates": weights.updates},
        **(facts or {}),
    }
    return model_file.write(path, metadata, frozen)


def _scale(arrays: Mapping[str, Any], average: Any, classes: int, templates: int) -> float:
    """The value of a weight of 1, so that no sum of one weight for each template leaves 16 bits, rounding included."""
    numbers = np.repeat((arrays["keys"] & NUMBER_BITS).astype(np.int64), np.diff(arrays["ends"], prepend=0))
    largest = 1e-9
    for sign in (1.0, -1.0):
        highest = np.zeros((templates + 1, classes))
        np.maximum.at(highest.reshape(-1), numbers * classes + arrays["classes"], sign * average)
        largest = max(largest, float(highest.sum(axis=0).max()))
    return largest / (32767 - templates)
