"""Sentences that could not be used: the reason in words, and the batch that keeps their raw text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from covington.corpus.conllu.overlong import REASON
from covington.errors import DataError
from covington.schemas import REJECT

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


class Reject(NamedTuple):
    """One row of the REJECT schema."""

    source: str
    line: int | None
    position: int
    sent_id: str | None
    reason: str
    raw: bytes

    @property
    def error(self) -> DataError:
        """The error that tells of it; what has no line is a row."""
        row = self.position + 1 if self.line is None else None
        return DataError(self.reason, source=self.source, line=self.line, row=row, sent_id=self.sent_id)


def rejects_in(batch: pa.RecordBatch) -> list[Reject]:
    """The rows of a batch of the REJECT schema."""
    return [Reject(**row) for row in batch.to_pylist()]


def reason(trouble: int, value: bytes, detail: int, words: int) -> str:
    """What is wrong, from the number that the compiled reader gives (its enum has the same order)."""
    shown = repr(value[:40].decode("utf-8", "replace"))
    return (
        "",
        f"expected 10 columns separated by tabs, found {detail}"
        + (": is it plain text, or are there blanks instead of tabs?" if detail == 1 else ""),
        f"column {COLUMNS[detail]} is empty (an unknown value is written _)" if trouble == 2 else "",
        f"ID {shown} where {detail} was expected",
        f"multiword token {shown} does not fit here: the next word is {detail}"
        if value
        else "a multiword token goes past the last word",
        f"empty node {shown} does not fit here: the last word was {detail}",
        f"HEAD {shown} is not the number of a word",
        f"HEAD {detail} is outside the sentence, which has {words} word{'s' if words != 1 else ''}",
        f"comment {shown} after the first word",
        f"{'empty nodes' if detail else 'comments'} without a single word",
        "more than 65535 words",
        "not valid UTF-8",
        REASON,
        "a carriage return within a line: lines end in a line feed, or in both",
    )[trouble]


def row_reject(row: pa.RecordBatch, reason: str) -> Reject:
    """The reject that one row of the SENTENCE schema becomes; its raw text is JSON."""
    content = {name: column[0].as_py() for name, column in zip(row.schema.names, row.columns, strict=True)}
    raw = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Reject(
        content["source"] or "", content["line"], content["position"] or 0, content["sent_id"], reason, raw
    )


def reject_batch(rejects: Iterable[Reject]) -> pa.RecordBatch:
    """Rejects as a record batch."""
    columns = list(zip(*rejects, strict=True))
    if not columns:
        return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in REJECT], schema=REJECT)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECT, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECT)
