"""Sentences that could not be used: the reason in words, and the batch that keeps their raw text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

import pyarrow as pa

from covington.corpus.conllu.overlong import REASON
from covington.errors import DataError
from covington.schemas import MOST_WORDS, REJECT

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
TOO_MANY_WORDS = f"more than {MOST_WORDS} words"


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


def reason(trouble: str, value: bytes, detail: int, words: int) -> str:
    """What is wrong, from what the compiled reader says of it."""
    return REASONS[trouble](value[:40].decode("utf-8", "replace"), detail, words)


def _columns(value: str, detail: int, words: int) -> str:
    hint = ": is it plain text, or are there blanks instead of tabs?" if detail == 1 else ""
    return f"expected 10 columns separated by tabs, found {detail}{hint}"


def _multiword_id(value: str, detail: int, words: int) -> str:
    if not value:
        return "a multiword token goes past the last word"
    return f"multiword token {value!r} does not fit here: the next word is {detail}"


#: trouble → its sentence, made of the value that is wrong, a number that goes with it, and the words so far
REASONS: dict[str, Callable[[str, int, int], str]] = {
    "columns": _columns,
    "empty field": lambda value, detail, words: (
        f"column {COLUMNS[detail]} is empty (an unknown value is written _)"
    ),
    "word ID": lambda value, detail, words: f"ID {value!r} where {detail} was expected",
    "multiword ID": _multiword_id,
    "empty node ID": lambda value, detail, words: (
        f"empty node {value!r} does not fit here: the last word was {detail}"
    ),
    "bad head": lambda value, detail, words: f"HEAD {value!r} is not the number of a word",
    "far head": lambda value, detail, words: (
        f"HEAD {detail} is outside the sentence, which has {words} word{'s' if words != 1 else ''}"
    ),
    "late comment": lambda value, detail, words: f"comment {value!r} after the first word",
    "no words": lambda value, detail, words: (
        f"{'empty nodes' if detail else 'comments'} without a single word"
    ),
    "too long": lambda value, detail, words: TOO_MANY_WORDS,
    "not UTF-8": lambda value, detail, words: "not valid UTF-8",
    "too large": lambda value, detail, words: REASON,
    "lone return": lambda value, detail, words: (
        "a carriage return within a line: lines end in a line feed, or in both"
    ),
}


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
