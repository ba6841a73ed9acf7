"""Sentences as objects of the `conllu` package, for people who want tokens one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from covington.conllu import format_batch

if TYPE_CHECKING:
    from conllu import SentenceList


def token_lists(batch: pa.RecordBatch) -> SentenceList:
    """The sentences of a batch as `conllu.TokenList` objects; friendly and slow, for looking at a few."""
    import conllu

    return conllu.parse(format_batch(batch).to_pybytes().decode("utf-8"))
