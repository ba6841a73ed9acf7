"""Gold and system sentences side by side: same order, ids and words, or an error that says where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covington.corpus.columns import word_counts
from covington.corpus.locations import data_error, located


def align(
    gold: Iterable[pa.RecordBatch], system: Iterable[pa.RecordBatch], name: str = "the system"
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Pairs of batches with the same sentences; the two sides may be cut into batches differently."""
    golds, systems = _rows(gold), _rows(system)
    left, right = next(golds, None), next(systems, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        pair = left.slice(0, rows), right.slice(0, rows)
        check_pair(*pair, name)
        yield pair
        left = left.slice(rows) if rows < left.num_rows else next(golds, None)
        right = right.slice(rows) if rows < right.num_rows else next(systems, None)
    if left is not None:
        raise data_error(left, 0, f"is missing in {name}, which ends before it")
    if right is not None:
        raise data_error(right, 0, f"stands in {name} after the last gold sentence")


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch for batch in batches if batch.num_rows)


def check_pair(gold: pa.RecordBatch, system: pa.RecordBatch, name: str = "the system") -> None:
    """Raise DataError at the first sentence whose id, number of words or words differ."""
    ids = [_column(batch, "sent_id") for batch in (gold, system)]
    other = pc.fill_null(pc.not_equal(*ids), False)  # an id that only one side has is no contradiction
    row = _first(other)
    if row is not None:
        raise data_error(gold, row, _facing(ids[0].to_pylist(), ids[1].to_pylist(), row, name))
    counts = [word_counts(batch) for batch in (gold, system)]
    row = _first(counts[0] != counts[1])
    if row is not None:
        raise data_error(gold, row, f"has {counts[0][row]} words, but {counts[1][row]} in {name}")
    words = [gold.column("tokens").flatten(), system.column("tokens").flatten()]
    word = _first(pc.fill_null(pc.not_equal(*words), True))
    if word is not None:
        row, number = located(counts[0], word)
        raise data_error(gold, row, f"word {number} is {words[0][word]} here and {words[1][word]} in {name}")


def _facing(gold: list[str | None], system: list[str | None], row: int, name: str) -> str:
    """Why a sentence may face another one, as far as the sentences around tell."""
    other = system[row]
    if other in system[:row]:
        return f"faces sentence {other} in {name}, which stands there twice"
    if other in gold[row + 1 :] and gold[row] not in system[row + 1 :]:
        return f"is missing in {name}, where sentence {other} stands in its place"
    if gold[row] in system[row + 1 :] and other not in gold[row + 1 :]:
        return f"faces sentence {other} in {name}, which gold does not have there"
    return f"faces sentence {other} in {name}: not the same sentences in order"


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name in batch.schema.names:
        return batch.column(name)
    return pa.nulls(batch.num_rows, pa.string())


def _first(different: object) -> int | None:
    found = np.flatnonzero(np.asarray(different))
    return int(found[0]) if len(found) else None
