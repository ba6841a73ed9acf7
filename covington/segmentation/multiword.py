"""Scripts of multiword tokens: how the words are made from the token, learnt from pairs of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


def script_of(form: str, words: Sequence[str]) -> Script | None:
    """The script that makes these words of the token and is most likely to fit others; None if there is none."""
    for script in (_cut(form, words), _rewritten(form, words), _copied(words)):
        if script is not None and applied(script, form) == tuple(words):
            return script
    return None


def _cut(form: str, words: Sequence[str]) -> Script | None:
    """Words that are pieces of the token: counted from its start before the longest one, else from its end."""
    if "".join(words) != form:
        return None
    longest = max(range(len(words)), key=lambda index: len(words[index]))
    parts = []
    at = 0
    for index, word in enumerate(words):
        start, end = at, at + len(word)
        at = end
        from_end = len(form) - end
        parts.append(
            Part(
                start if index <= longest else start - len(form),
                end if index < longest else -from_end if from_end else TO_END,
                "",
                "",
            )
        )
    return tuple(parts)


def _rewritten(form: str, words: Sequence[str]) -> Script | None:
    """One word has the longest piece of the token in it, the others are literals."""
    lower = lowercase(form)
    best = (0, 0, 0, 0)
    for index, word in enumerate(words):
        length, start, at = _longest_common(lower, lowercase(word))
        best = max(best, (length, -index, start, at))
    length, index, start, at = best[0], -best[1], best[2], best[3]
    if length < 2 or len(form) < 4:
        return None
    parts = []
    for number, word in enumerate(words):
        if number != index:
            parts.append(Part(0, 0, lowercase(word), ""))
            continue
        from_end = len(form) - start - length
        parts.append(
            Part(
                start, -from_end if from_end else TO_END, lowercase(word[:at]), lowercase(word[at + length :])
            )
        )
    return tuple(parts)


def _copied(words: Sequence[str]) -> Script:
    return tuple(Part(0, 0, lowercase(word), "") for word in words)


def _longest_common(first: str, second: str) -> tuple[int, int, int]:
    """Length and places of the longest piece that both have, the leftmost one."""
    best = (0, 0, 0)
    row = [0] * (len(second) + 1)
    for i, character in enumerate(first):
        before, row = row, [0] * (len(second) + 1)
        for j, other in enumerate(second):
            if character == other:
                row[j + 1] = before[j] + 1
                if row[j + 1] > best[0]:
                    best = (row[j + 1], i + 1 - row[j + 1], j + 1 - row[j + 1])
    return best
