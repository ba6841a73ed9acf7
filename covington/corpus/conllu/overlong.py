"""Stretches of text that do not come to a blank line: no sentences, passed over without holding them in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from covington.corpus.conllu.blanks import blank_line

LONGEST = 64 << 20  # bytes of a sentence
# bytes that a stretch may be longer before it is passed over: the reader judges those in between
SLACK = 1 << 16
KEPT = 1 << 16  # bytes of such a stretch that its reject keeps
REASON = f"no blank line in {LONGEST >> 20} MB, so this is not taken for a sentence"


@dataclass(frozen=True)
class Endless:
    """What is kept of a stretch that was passed over, up to and including its blank line."""

    raw: bytes
    size: int
    lines: int

    def __len__(self) -> int:
        return self.size


def passed_over(data: bytes, pieces: Iterator[bytes]) -> tuple[Endless, bytes]:
    """Drop `data` and what comes after it up to the next blank line; what follows that is given back."""
    raw, size, lines = data[:KEPT], 0, 0
    while (found := blank_line(data)) is None:
        rest = unfinished(data)
        size += len(data) - len(rest)
        lines += data.count(b"\n", 0, len(data) - len(rest))
        more = next(pieces, b"")
        data = rest + more
        if not more:
            return Endless(raw, size + len(rest), lines + rest.count(b"\n")), b""
    end = found[1]
    return Endless(raw, size + end, lines + data.count(b"\n", 0, end)), data[end:]


def unfinished(data: bytes) -> bytes:
    """The end of `data` that may be the beginning of a blank line; one of more than SLACK blanks is not waited for."""
    feed = data.rfind(b"\n", max(len(data) - SLACK, 0))
    return data[feed:] if feed >= 0 and not data[feed:].strip(b" \t\r\n") else b""
