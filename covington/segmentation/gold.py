"""Gold sentences as the text that they came from, with the place of every token: what a segmenter learns from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covington.errors import DataError


@dataclass(frozen=True)
class GoldText:
    """UTF-8, and for every token in it, in order, where it is, what ends with it and which words it stands for."""

    text: bytes
    starts: NDArray[np.int64]  # bytes
    ends: NDArray[np.int64]
    sentence_ends: NDArray[np.uint8]
    paragraph_ends: NDArray[np.uint8]
    words: list[tuple[str, ...]]  # one word, or several


def gold_text(sentences: Iterable[pa.RecordBatch], paragraphs: bool = True) -> GoldText:
    """Join sentences to a text: as SpaceAfter says, a blank line before newdoc and, if `paragraphs`, newpar."""
    builder = _Builder()
    for batch in sentences:
        columns = [batch.column(name).to_pylist() for name in ("tokens", "misc", "mwt", "comments")]
        for tokens, misc, ranges, comments in zip(*columns, strict=True):
            marks = {comment.split(" ")[0] for comment in comments or ()}
            builder.add(
                surfaces(tokens, misc, ranges), "newdoc" in marks or (paragraphs and "newpar" in marks)
            )
    return builder.finish()


def has_paragraphs(sentences: Iterable[pa.RecordBatch]) -> bool:
    """Whether the treebank marks paragraphs within its documents."""
    return any(
        comment.split(" ")[0] == "newpar"
        for batch in sentences
        for comments in batch.column("comments").to_pylist()
        for comment in comments
    )


def surfaces(
    tokens: list[str], misc: list[str | None] | None, ranges: list[dict[str, str | None]] | None
) -> list[tuple[str, str | None, tuple[str, ...]]]:
    """The tokens as they stand in the text: form, MISC and words of each."""
    result: list[tuple[str, str | None, tuple[str, ...]]] = []
    misc = misc or [None] * len(tokens)
    at = 0
    for node in ranges or ():
        first, last = (int(number) for number in str(node["id"]).split("-"))
        result += [(tokens[i], misc[i], (tokens[i],)) for i in range(at, first - 1)]
        words = tuple(tokens[first - 1 : last])
        result.append((node["form"] or "".join(words), node["misc"], words))
        at = last
    return result + [(tokens[i], misc[i], (tokens[i],)) for i in range(at, len(tokens))]


class _Builder:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.sentence_ends: list[int] = []
        self.paragraph_ends: list[int] = []
        self.words: list[tuple[str, ...]] = []
        self.space = b""

    def put(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.size += len(piece)

    def add(self, tokens: list[tuple[str, str | None, tuple[str, ...]]], new_paragraph: bool) -> None:
        if new_paragraph and self.ends:
            self.paragraph_ends[-1] = 1
            self.space = b"\n\n"
        for form, misc, words in tokens:
            self.put(self.space)
            self.starts.append(self.size)
            self.put(form.encode())
            self.ends.append(self.size)
            self.sentence_ends.append(0)
            self.paragraph_ends.append(0)
            self.words.append(words)
            self.space = b"" if misc and "SpaceAfter=No" in misc.split("|") else b" "
        if self.ends:
            self.sentence_ends[-1] = 1

    def finish(self) -> GoldText:
        if not self.ends:
            raise DataError("there are no sentences to learn from")
        self.paragraph_ends[-1] = 1
        self.put(b"\n")
        return GoldText(
            b"".join(self.pieces),
            np.array(self.starts, np.int64),
            np.array(self.ends, np.int64),
            np.array(self.sentence_ends, np.uint8),
            np.array(self.paragraph_ends, np.uint8),
            self.words,
        )
