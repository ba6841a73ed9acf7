"""Sentences as objects of the `conllu` package, for people who want tokens one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from covington.corpus.conllu.reader import format_batch
from covington.errors import DataError

if TYPE_CHECKING:
    from conllu import SentenceList


def token_lists(batch: pa.RecordBatch) -> SentenceList:
    """The sentences of a batch as `conllu.TokenList` objects; friendly and slow, for looking at a few."""
    import conllu

    text = format_batch(batch).to_pybytes().decode("utf-8")
    if any("  " in line for line in text.splitlines() if not line.startswith("#")):
        raise DataError("a field has two spaces in a row, which the conllu package takes for the end of it")
    return conllu.parse(text)
