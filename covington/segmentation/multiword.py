"""Scripts of multiword tokens: how the words are made from the token, learnt from pairs of both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from covington.characters.common import longest_common
from covington.characters.tables import classes, lowercase, uppercase

TO_END = 32767
MAX_SPLIT = 64  # characters of a token that may stand for several words
_UPPER, _LOWER = 4, 5  # classes of characters


class Part(NamedTuple):
    """One word: the characters of the token from `start` to `end`, between two literals; from its end if negative."""

    start: int
    end: int
    before: str
    after: str


Script = tuple[Part, ...]


def applied(script: Script, form: str) -> tuple[str, ...] | None:
    """The words that a script makes of a token, or None if it does not fit."""
    if not 2 <= len(form) <= MAX_SPLIT:
        return None
    kinds = [int(classes[ord(character)]) for character in form]
    all_upper = _LOWER not in kinds and kinds.count(_UPPER) > 1
    first_upper = kinds[0] == _UPPER
    words = []
    for index, part in enumerate(script):
        start = part.start if part.start >= 0 else len(form) + part.start
        end = len(form) if part.end == TO_END else part.end if part.end >= 0 else len(form) + part.end
        if start < 0 or end > len(form) or start > end:
            return None
        first = first_upper and index == 0
        word = _literal(part.before, all_upper, first)
        middle = form[start:end]
        if word and not all_upper and first_upper and start == 0:
            middle = lowercase(middle[:1]) + middle[1:]
        word += middle
        word += _literal(part.after, all_upper, first and not word)
        if not word or len(word.encode()) > 1000:
            return None
        words.append(word)
    return tuple(words)


def _literal(text: str, all_upper: bool, first: bool) -> str:
    if all_upper:
        return uppercase(text)
    return uppercase(text[:1]) + text[1:] if first else text


def scripts_of(form: str, words: Sequence[str]) -> list[Script]:
    """The scripts that make these words of the token, the simplest first; which is best, other tokens tell."""
    scripts = [*_cuts(form, words), *_rewritten(form, words), _copied(words)]
    return [script for script in dict.fromkeys(scripts) if applied(script, form) == tuple(words)]


def _cuts(form: str, words: Sequence[str]) -> list[Script]:
    """Words that are pieces of the token: those up to some word counted from its start, the others from its end."""
    if "".join(words) != form:
        return []
    ends = list(accumulate(map(len, words)))
    return [
        tuple(
            Part(
                start if index <= middle else start - len(form),
                end if index < middle else end - len(form) or TO_END,
                "",
                "",
            )
            for index, (start, end) in enumerate(pairwise([0, *ends]))
        )
        for middle in range(len(words))
    ]


def _rewritten(form: str, words: Sequence[str]) -> list[Script]:
    """One word has a piece of the token in it, the longest that it can have, the others are literals."""
    lower = lowercase(form)
    found = []
    for index, word in enumerate(words):
        length, start, at = longest_common(lower, lowercase(word))
        if length < 2 or len(form) < 4:
            continue
        piece = Part(
            start, start + length - len(form) or TO_END, lowercase(word[:at]), lowercase(word[at + length :])
        )
        parts = [Part(0, 0, lowercase(other), "") for other in words]
        parts[index] = piece
        found.append((-length, index, tuple(parts)))
    return [script for _, _, script in sorted(found)]


def _copied(words: Sequence[str]) -> Script:
    return tuple(Part(0, 0, lowercase(word), "") for word in words)
