"""The slow, literal twin of the feature templates: every feature as a string one can read.

`TEMPLATES` is the table of the paper (tab:feats) in its own notation. The twin reads any template by its name.
An address is a word: L0, L1, L2 to the left of and R0, R1, R2, R3 to the right of the focus, LA just after L0, RB just
before R0, CL, CR, and from a focus word h head, h2 grandparent, l and l' farthest and closest left dependent, r and r'
the same on the right. The letters after the dot are the attributes of that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tests.support.reference import Configuration, Root, focus, heads_in

UNIGRAMS_TABLE = """
L0.w  L0.p  L0.wp  L0.l  L0h.w  L0h.p  L0h.l  L0l'.w  L0l'.p
L0l'.l  L0r'.w  L0r'.p  L0r'.l  L0h2.w  L0h2.p  L0h2.l  L0l.w
L0l.p  L0l.l  L0r.w  L0r.p  L0r.l  L0.wd  L0.pd  L0.wvr  L0.pvr
L0.wvl  L0.pvl  L0.wsl  L0.psl  L0.wsr  L0.psr  L1.w  L1.p
L1.wp  R0.w  R0.p  R0.wp  R0h.w  R0h.p  R0h.l  R0h2.w
R0h2.p  R0l'.w  R0l'.p  R0l'.l  R0l.w  R0l.p  R0l.l  R0.wd
R0.pd  R0.wvl  R0.pvl  R0.wsl  R0.psl  R1.w  R1.p  R1.wp
R2.w  R2.p  R2.wp  CL.w  CL.p  CL.wp  CR.w  CR.p  CR.wp
"""

PAIRS_TABLE = """
L0.wp+R0.wp  L0.wp+R0.w  L0.w+R0.wp  L0.wp+R0.p  L0.p+R0.wp
L0.w+R0.w  L0.p+R0.p  R0.p+R1.p  L0.w+R0.wd  L0.p+R0.pd
"""

TRIPLES_TABLE = """
R0.p+R1.p+R2.p  L0.p+R0.p+R1.p  L0h.p+L0.p+R0.p
L0.p+L0l'.p+R0.p  L0.p+L0r'.p+R0.p  L0.p+R0.p+R0l'.p
L0.p+L0l'.p+L0l.p  L0.p+L0r'.p+L0r.p  L0.p+L0h.p+L0h2.p  R0.p+R0l'.p+R0l.p
"""

UNIGRAMS, PAIRS, TRIPLES = UNIGRAMS_TABLE.split(), PAIRS_TABLE.split(), TRIPLES_TABLE.split()
TEMPLATES = [*UNIGRAMS, *PAIRS, *TRIPLES]
ADDRESSES = (
    *("L0", "L1", "L2", "LA", "L0h", "L0h2", "L0l", "L0l'", "L0r", "L0r'"),
    *("R0", "R1", "R2", "R3", "RB", "R0h", "R0h2", "R0l", "R0l'"),
    *("CL", "CR"),
)
WORD_ATTRIBUTES = ("w", "p", "x", "m", "e", "f", "z", "c")
ARC_ATTRIBUTES = ("vl", "vr", "sl", "sr")  # of L0 and R0
NONE = "<none>"  # a missing word or label fires too
EMPTY = "<empty>"  # a word that has no value in a column
FARTHEST_DISTANCE = 20


def every_template() -> list[str]:
    """Each attribute of each address, as a template with nothing else in it."""
    plain = [f"{address}.{what}" for address in ADDRESSES for what in (*WORD_ATTRIBUTES, "l", "d")]
    return plain + [f"{address}.{what}" for address in ("L0", "R0") for what in ARC_ATTRIBUTES]


@dataclass(frozen=True)
class Sentence:
    """The columns of the words 1..n."""

    forms: Sequence[str]
    tags: Sequence[str | None]
    xpos: Sequence[str | None] = ()
    feats: Sequence[str | None] = ()
    lemmas: Sequence[str | None] = ()


def dependents(c: Configuration, word: int) -> list[int]:
    """The words that hang from `word`, left to right."""
    return sorted(arc.dependent for arc in c.arcs if arc.head == word)


def left_dependents(c: Configuration, word: int) -> list[int]:
    return [dependent for dependent in dependents(c, word) if dependent < word]


def right_dependents(c: Configuration, word: int) -> list[int]:
    return [dependent for dependent in dependents(c, word) if dependent > word]


def label_of(c: Configuration, word: int) -> str | None:
    """The label of the arc into `word`."""
    return next((arc.label for arc in c.arcs if arc.dependent == word), None)


def label_set(c: Configuration, words: Sequence[int]) -> list[str]:
    return sorted({str(label_of(c, word)) for word in words})


def outside_words(c: Configuration, i: int, j: int) -> list[int]:
    """The words between i and j whose head is not in [i, j]; a word without a head counts as outside."""
    heads = heads_in(c.arcs)
    return [word for word in range(i + 1, j) if word not in heads or not i <= heads[word] <= j]


def find(c: Configuration, address: str, root: Root, length: int) -> int | None:
    """The word at an address; None where there is none. With an implicit root headless words hang from 0."""
    first = 0 if root == "explicit" else 1
    i, j = focus(c, root)

    def inside(word: int | None) -> int | None:
        return word if word is not None and first <= word <= length else None

    if address in ("CL", "CR"):
        outside = outside_words(c, i, j) if i >= first else []
        return (outside[0] if address == "CL" else outside[-1]) if outside else None
    if address in ("L0", "L1", "L2"):
        return inside(i - int(address[1]))
    if address in ("R0", "R1", "R2", "R3"):
        return inside(j + int(address[1]))
    if address in ("LA", "RB"):
        return inside(i + 1 if address == "LA" else j - 1)
    start, step = find(c, address[:2], root, length), address[2:]
    if start is None:
        return None
    heads = dict(heads_in(c.arcs))
    if root == "implicit":
        heads = dict.fromkeys(range(1, length + 1), 0) | heads
    left, right = left_dependents(c, start), right_dependents(c, start)
    steps = {
        "h": [heads[start]] if start in heads else [],
        "h2": [heads[heads[start]]] if heads.get(start) in heads else [],
        "l": left[:1],
        "l'": left[-1:],
        "r": right[-1:],
        "r'": right[:1],
    }
    return steps[step][0] if steps[step] else None


def shape(form: str) -> str:
    """`McDonald` is ULUL and `3,000` is DOD: runs of one kind count once; what is beyond ASCII is lower case."""
    kinds = ""
    for character in form:
        if "A" <= character <= "Z":
            kind = "U"
        elif "0" <= character <= "9":
            kind = "D"
        elif "a" <= character <= "z" or not character.isascii():
            kind = "L"
        else:
            kind = "O"
        if not kinds.endswith(kind):
            kinds += kind
    return kinds


def word_value(sentence: Sentence, word: int, what: str) -> str | None:
    """A word attribute of a word that is in the sentence."""
    form = sentence.forms[word - 1]
    if what == "w":
        return form
    if what == "f":
        return form[:3]
    if what == "z":
        return form[-3:]
    if what == "c":
        return shape(form)
    column = {"p": sentence.tags, "x": sentence.xpos, "m": sentence.feats, "e": sentence.lemmas}[what]
    return column[word - 1] if column else None


def value(c: Configuration, sentence: Sentence, word: int | None, what: str, root: Root) -> str:
    """One attribute of one word: w, p, x, m, e, f, z, c, l, d, vl, vr, sl or sr."""
    i, j = focus(c, root)
    if what == "d":
        return str(min(j - i, FARTHEST_DISTANCE))
    if word is None:
        return NONE
    if what in WORD_ATTRIBUTES:
        found = word_value(sentence, word, what) if word else "<root>"
        return EMPTY if found is None else found
    if what == "l":
        return label_of(c, word) or NONE
    words = {"l": left_dependents, "r": right_dependents}[what[1]](c, word)
    return str(len(words)) if what[0] == "v" else "{" + ",".join(label_set(c, words)) + "}"


def split_attributes(letters: str) -> list[str]:
    """wp → w, p; wvl → w, vl."""
    result = []
    while letters:
        size = 2 if letters[:2] in ARC_ATTRIBUTES else 1
        result.append(letters[:size])
        letters = letters[size:]
    return result


def features(
    c: Configuration, sentence: Sentence, root: Root, templates: Sequence[str] = TEMPLATES
) -> list[str]:
    """One string per template, in the order of the table: `L0.wp+R0.p=dog|NOUN+VERB`."""
    length = len(sentence.forms)

    @cache  # a part is in many templates
    def written(part: str) -> str:
        address, letters = part.split(".")
        word = find(c, address, root, length)
        return "|".join(value(c, sentence, word, what, root) for what in split_attributes(letters))

    return [f"{name}={'+'.join(written(part) for part in name.split('+'))}" for name in templates]
