"""What may be shown on a terminal."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")


def printable(text: str) -> str:
    """Without characters that tell a terminal what to do, or that no picture may hold.

    >>> printable("a\\x1b[31mred")
    'a\N{REPLACEMENT CHARACTER}[31mred'
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
