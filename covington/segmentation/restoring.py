"""Sentences back to the text that they came from, as the spaces in MISC tell."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from covington.segmentation.gold import surfaces

_ESCAPES = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "p": "|", "\\": "\\"}


def restored_text(sentences: Iterable[pa.RecordBatch]) -> bytes:
    """The text of segmented sentences, with every character between tokens."""
    pieces: list[str] = []
    for batch in sentences:
        columns = [batch.column(name).to_pylist() for name in ("tokens", "misc", "mwt")]
        for tokens, misc, ranges in zip(*columns, strict=True):
            for form, value, _ in surfaces(tokens, misc, ranges):
                spaces = dict(part.split("=", 1) for part in (value or "").split("|") if "=" in part)
                pieces.append(unescaped(spaces.get("SpacesBefore", "")))
                pieces.append(unescaped(spaces["SpacesInToken"]) if "SpacesInToken" in spaces else form)
                default = "" if spaces.get("SpaceAfter") == "No" else r"\s"
                pieces.append(unescaped(spaces.get("SpacesAfter", default)))
    return "".join(pieces).encode()


def unescaped(value: str) -> str:
    r"""What the escapes of MISC stand for: \s, \t, \n, \r, \p (a bar) and \\.

    >>> unescaped(r"\s\n\p\\s")
    ' \n|\\s'
    """
    pieces = []
    at = 0
    while at < len(value):
        if value[at] == "\\" and value[at + 1 : at + 2] in _ESCAPES:
            pieces.append(_ESCAPES[value[at + 1]])
            at += 2
        else:
            pieces.append(value[at])
            at += 1
    return "".join(pieces)
