"""Arrow batches for tests, from trees written as short strings."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from covington.schemas import SENTENCE


def sentence(
    words: str,
    heads: Iterable[int | None],
    labels: str | None = None,
    upos: str | None = None,
    sent_id: str | None = None,
    position: int = 0,
) -> dict[str, object]:
    """One row: words, labels and tags separated by blanks."""
    tokens = words.split(" ")
    heads = list(heads)
    return {
        "sent_id": sent_id,
        "text": words,
        "tokens": tokens,
        "head": heads,
        "deprel": labels.split(" ") if labels else ["root" if head == 0 else "dep" for head in heads],
        "upos": upos.split(" ") if upos else ["X"] * len(tokens),
        "source": "test.conllu",
        "position": position,
        "line": 1,
    }


def batch(*rows: dict[str, object]) -> pa.RecordBatch:
    """Rows as a batch of the sentence schema; columns not given are null."""
    return pa.RecordBatch.from_pylist(list(rows), schema=SENTENCE)
