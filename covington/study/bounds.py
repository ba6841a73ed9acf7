"""The paper's loss study: how close the three bounds come to the exact loss on configurations met in training."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from covington.corpus.columns import heads_of, word_counts
from covington.errors import DataError
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model.options import TrainingOptions
from covington.study import exact
from covington.transition.recording import Recorder

Numbers = npt.NDArray[np.int32]
BOUNDS = ("lower", "pc_upper", "upper")
MOST_LOSS_SHOWN = 10


@dataclass(frozen=True)
class Configurations:
    """Configurations with their gold trees, as flat arrays.

    Configuration c belongs to the sentence sentence[c] with the gold heads gold[gold_start[s]:gold_start[s + 1]],
    has the focus words left[c] and right[c], and its heads are heads[start[c]:start[c + 1]].
    """

    gold: Numbers
    gold_start: npt.NDArray[np.int64]
    sentence: Numbers
    left: Numbers
    right: Numbers
    heads: Numbers
    start: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sentence)


@dataclass(frozen=True)
class Losses:
    """Bounds and loss per configuration; the loss lies between `lowest` and `highest`, known where these agree."""

    lower: Numbers
    lowest: Numbers
    highest: Numbers
    pc_upper: Numbers
    upper: Numbers
    nodes: npt.NDArray[np.int64]  # configurations the search looked at
    seconds: float

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        same: npt.NDArray[np.bool_] = self.lowest == self.highest
        return same


def collect(batches: Iterable[pa.RecordBatch], options: TrainingOptions, limit: int) -> Configurations:
    """Train until `limit` transitions have been made or the epochs are over; the configurations before each."""
    recorder = Recorder(limit)
    batches = list(batches)
    found = survey(batches)
    shard = prepare(batches, options, found)
    shard.learner.recorder = recorder
    weights = Weights(found.classes(options).count)
    for epoch in range(1, options.epochs + 1):
        train_epoch(weights, shard, epoch)
        if recorder.count == limit:
            break
    lengths = np.concatenate([word_counts(batch) for batch in batches])
    gold = np.concatenate([heads_of(batch, word_counts(batch)) for batch in batches])
    gold_start = np.concatenate(([0], np.cumsum(lengths)))
    return Configurations(gold.astype(np.int32), gold_start.astype(np.int64), *recorder.arrays())


def measure(
    configurations: Configurations, root: str, node_limit: int = exact.NODE_LIMIT, threads: int = 1
) -> Losses:
    """Bounds and exact loss of every configuration."""
    began = time.perf_counter()
    count = len(configurations)
    result, nodes = np.zeros((count, 5), np.int32), np.zeros(count, np.int64)
    # many small parts, as one hard configuration takes as long as thousands of easy ones
    cuts = np.linspace(0, count, 16 * max(threads, 1) + 1).astype(int)

    def work(begin: int, end: int) -> None:
        exact.study(
            configurations.gold,
            configurations.gold_start,
            configurations.sentence[begin:end],
            configurations.left[begin:end],
            configurations.right[begin:end],
            configurations.heads,
            configurations.start[begin : end + 1],
            root == "explicit",
            node_limit,
            result[begin:end],
            nodes[begin:end],
        )

    with ThreadPoolExecutor(max(threads, 1)) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))
    lower, lowest, highest, pc_upper, upper = np.ascontiguousarray(result.T)
    return Losses(lower, lowest, highest, pc_upper, upper, nodes, time.perf_counter() - began)


def summarise(name: str, losses: Losses) -> dict[str, Any]:
    """One row of the table: averages, and average relative differences to the loss.

    Configurations whose loss is not known count nowhere but in `not_known`. A relative difference is
    |bound − loss| / loss, 0 where they are equal; where only the bound is above 0 there is none, and
    `without_relative_difference` says how often that is.
    """
    known = losses.known
    if not known.any():
        raise DataError(f"{name}: there is no configuration whose loss is known")
    loss = losses.lowest[known].astype(np.float64)
    row: dict[str, Any] = {
        "name": name,
        "transitions": len(known),
        "not_known": int((~known).sum()),
        "loss": float(loss.mean()),
        "relative_difference": {},
        "without_relative_difference": {},
        "below_or_equal_to_loss": {},
        "searched": int((losses.nodes > 0).sum()),
        "most_nodes": int(losses.nodes.max()),
        "seconds": round(losses.seconds, 2),
    }
    for bound in BOUNDS:
        values = getattr(losses, bound)[known].astype(np.float64)
        difference = np.abs(values - loss)
        defined = (loss > 0) | (difference == 0)
        row[bound] = float(values.mean())
        row["relative_difference"][bound] = float((difference / np.maximum(loss, 1))[defined].mean())
        row["without_relative_difference"][bound] = int((~defined).sum())
        row["below_or_equal_to_loss"][bound] = float((values <= loss).mean())
    row["in_order"] = bool(
        (losses.lower <= losses.lowest).all()
        and (losses.highest <= losses.pc_upper).all()
        and (losses.pc_upper <= losses.upper).all()
    )
    row["by_loss"] = _by_loss(losses, known)
    return row


def _by_loss(losses: Losses, known: npt.NDArray[np.bool_]) -> list[dict[str, Any]]:
    """For each loss, how many configurations have it and how far the bounds are from it on average."""
    loss = np.minimum(losses.lowest, MOST_LOSS_SHOWN)
    rows = []
    for value in range(MOST_LOSS_SHOWN + 1):
        chosen = known & (loss == value)
        if chosen.any():
            rows.append(
                {
                    "loss": f"{value}+" if value == MOST_LOSS_SHOWN else str(value),
                    "configurations": int(chosen.sum()),
                    **{
                        bound: float(np.abs(getattr(losses, bound) - losses.lowest)[chosen].mean())
                        for bound in BOUNDS
                    },
                }
            )
    return rows


def average(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The paper's last row: the mean over treebanks."""

    def mean(*keys: str) -> float:
        values = []
        for row in rows:
            value: Any = row
            for key in keys:
                value = value[key]
            values.append(value)
        return float(np.mean(values))

    return {
        "name": "Average",
        "loss": mean("loss"),
        **{bound: mean(bound) for bound in BOUNDS},
        "relative_difference": {bound: mean("relative_difference", bound) for bound in BOUNDS},
    }
