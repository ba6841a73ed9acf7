"""What becomes of sentences that cannot be used: an output of their own, an error, or at least a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import pyarrow as pa

from covington.corpus.rejects import Reject, reject_batch


class RejectSink(Protocol):
    """Receives batches of the REJECT schema."""

    def __call__(self, rejects: pa.RecordBatch, /) -> object: ...


@contextmanager
def judged(strict: bool, sink: RejectSink | None) -> Iterator[Callable[[list[Reject]], None]]:
    """A function that takes rejects; `strict` raises at the first, without a sink a warning counts them."""
    count = 0
    first = ""

    def judge(rejects: list[Reject]) -> None:
        nonlocal count, first
        if not rejects:
            return
        if strict:
            raise rejects[0].error
        count += len(rejects)
        first = first or str(rejects[0].error)
        if sink is not None:
            sink(reject_batch(rejects))

    yield judge
    if count and sink is None:
        sentences = "1 sentence" if count == 1 else f"{count} sentences, the first"
        warnings.warn(f"could not use {sentences}: {first}", stacklevel=4)
