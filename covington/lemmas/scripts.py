"""Edit scripts: what turns a word into its lemma, as a change of case and of what stands at either end."""

from __future__ import annotations

from typing import NamedTuple

from covington.characters.common import longest_common
from covington.characters.tables import lowercase, uppercase

AS_IT_STANDS, LOWER, TITLE, UPPER, WHOLE = range(5)  # WHOLE: the lemma is given, whatever the word is
MAX_FORM = 1000  # bytes; a longer word is its own lemma


class Script(NamedTuple):
    """Take `prefix_off` and `suffix_off` away from the word in this case, put the other two there, and set the case."""

    case: int
    prefix_off: str
    prefix_on: str
    suffix_off: str
    suffix_on: str


IDENTITY = Script(AS_IT_STANDS, "", "", "", "")


def applied(script: Script, form: str) -> str | None:
    """The lemma that a script makes of a word, or None if it does not fit."""
    if script.case == WHOLE:
        return script.suffix_on
    base = form if script.case == AS_IT_STANDS else lowercase(form)
    if len(base) < len(script.prefix_off) + len(script.suffix_off):
        return None
    end = len(base) - len(script.suffix_off)
    if base[: len(script.prefix_off)] != script.prefix_off or base[end:] != script.suffix_off:
        return None
    lemma = script.prefix_on + base[len(script.prefix_off) : end] + script.suffix_on
    if script.case == TITLE:
        lemma = uppercase(lemma[:1]) + lemma[1:]
    elif script.case == UPPER:
        lemma = uppercase(lemma)
    return lemma or None


def script_of(form: str, lemma: str) -> Script:
    """The script with the least to take away and to put on; of several, the first in the order of cases."""
    cases = (LOWER,) if lemma == lowercase(lemma) else (AS_IT_STANDS, TITLE, UPPER)
    best = Script(WHOLE, "", "", "", lemma)
    cost = 2 * len(lemma) + 2
    for case in cases:
        script = _edit(case, form, lemma)
        if script is not None and applied(script, form) == lemma and sum(map(len, script[1:])) < cost:
            best, cost = script, sum(map(len, script[1:]))
    return best


def _edit(case: int, form: str, lemma: str) -> Script | None:
    base = form if case == AS_IT_STANDS else lowercase(form)
    target = lemma if case == AS_IT_STANDS else lowercase(lemma)
    length, start, at = longest_common(base, target)
    if not length:
        return None
    return Script(case, base[:start], target[:at], base[start + length :], target[at + length :])
