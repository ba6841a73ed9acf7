"""Where a sentence of a batch stands, and a word in it, for errors that name them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from covington.errors import DataError


def data_error(batch: pa.RecordBatch, row: int, reason: str) -> DataError:
    """The error of a sentence, with its source, line and sent_id; without an id, its number is told."""
    sent_id = _value(batch, "sent_id", row)
    if sent_id is None:
        position = _value(batch, "position", row)
        reason = f"sentence number {(row if position is None else position) + 1}: {reason}"
    return DataError(
        reason, source=_value(batch, "source", row), line=_value(batch, "line", row), sent_id=sent_id
    )


def located(lengths: Any, word: int) -> tuple[int, int]:
    """The row of a word that is counted from 0 over sentences of these lengths, and its number in there.

    >>> located(np.array([3, 0, 2]), 3)
    (2, 1)
    """
    ends = np.cumsum(lengths)
    row = int(np.searchsorted(ends, word, side="right"))
    return row, word - int(ends[row] - lengths[row]) + 1


def _value(batch: pa.RecordBatch, name: str, row: int) -> Any:
    return batch.column(name)[row].as_py() if name in batch.schema.names else None
