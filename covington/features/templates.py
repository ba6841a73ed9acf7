"""The feature templates, as tables to be read beside the paper, and their translation for the compiled core.

A template is one or more *nodes with attributes*, joined by `+`. The notation is the paper's with a dot between
the node and what is asked of it: L0.wp is the word form and the tag of the left focus word together.

nodes   L0 R0          the left and the right focus word
        L1 L2, R1 R2   the words to the left of L0 and to the right of R0
        LA, RB         the word just after L0 and the word just before R0             (not in the paper)
        X0h X0h2       head and grandparent
        X0l X0l'       farthest and nearest left dependent; X0r X0r' right ones
        CL CR          first and last word between L0 and R0 whose head is outside [L0, R0]
attributes
        w p            word form, PoS tag
        l              label of the arc into the node
        d              distance between L0 and R0
        vl vr, sl sr   valency and set of labels, to the left and to the right
        x m e          XPOS, FEATS, lemma                                             (not in the paper)
        f z c          first three letters, last three letters, shape                 (not in the paper)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from covington.errors import OptionError

# Table 3 of the paper, row by row.
PAPER = """
L0.w L0.p L0.wp L0.l L0h.w L0h.p L0h.l L0l'.w L0l'.p
L0l'.l L0r'.w L0r'.p L0r'.l L0h2.w L0h2.p L0h2.l L0l.w
L0l.p L0l.l L0r.w L0r.p L0r.l L0.wd L0.pd L0.wvr L0.pvr
L0.wvl L0.pvl L0.wsl L0.psl L0.wsr L0.psr L1.w L1.p
L1.wp R0.w R0.p R0.wp R0h.w R0h.p R0h.l R0h2.w
R0h2.p R0l'.w R0l'.p R0l'.l R0l.w R0l.p R0l.l R0.wd
R0.pd R0.wvl R0.pvl R0.wsl R0.psl R1.w R1.p R1.wp
R2.w R2.p R2.wp CL.w CL.p CL.wp CR.w CR.p CR.wp

L0.wp+R0.wp L0.wp+R0.w L0.w+R0.wp L0.wp+R0.p
L0.p+R0.wp L0.w+R0.w L0.p+R0.p R0.p+R1.p L0.w+R0.wd
L0.p+R0.pd

R0.p+R1.p+R2.p L0.p+R0.p+R1.p L0h.p+L0.p+R0.p
L0.p+L0l'.p+R0.p L0.p+L0r'.p+R0.p L0.p+R0.p+R0l'.p
L0.p+L0l'.p+L0l.p L0.p+L0r'.p+L0r.p L0.p+L0h.p+L0h2.p
R0.p+R0l'.p+R0l.p
"""

RICH = (
    PAPER
    + """
L0.x L0.m L0.e L0.z L0.xm L0h.x L0l'.x L0r'.x L1.x LA.x LA.w LA.p
R0.x R0.m R0.e R0.z R0.xm R0l'.x R1.x R1.m R2.x RB.x RB.w RB.p
L0.x+R0.x L0.x+R0.xd L0.m+R0.m L0.e+R0.e L0.e+R0.p L0.p+R0.e L0.m+R0.p L0.p+R0.m
L0.x+R0.w L0.w+R0.x L0.xm+R0.x L0.x+R0.xm L0.z+R0.p L0.p+R0.z
L0.x+R0.x+R1.x L1.x+L0.x+R0.x L0.x+LA.x+R0.x L0.x+RB.x+R0.x L0h.x+L0.x+R0.x
L0.x+L0l'.x+R0.x L0.x+L0r'.x+R0.x L0.x+R0.x+R0l'.x L0.x+R0.x+R0h.x
L0.p+R0.pd+CL.p L0.p+R0.p+CR.p
L0.xl+R0.x L0.pl+R0.p L0.x+R0.xl L0.pvl+R0.p L0.pvr+R0.p L0.p+R0.pvl
L0.psr+R0.p L0.psl+R0.p L0.p+R0.psl
L0.c R0.c L0.f R0.f L2.x R3.x
L0.x+L0r'.l+R0.x L0.x+R0.x+R0l'.l L0.x+CR.x+R0.x L0.x+CL.x+R0.x R0.x+R1.x+R2.x
"""
)

SETS = {"paper": PAPER, "rich": RICH}

NODES = (
    *("L0", "L1", "L2", "LA", "L0h", "L0h2", "L0l", "L0l'", "L0r", "L0r'"),
    *("R0", "R1", "R2", "R3", "RB", "R0h", "R0h2", "R0l", "R0l'"),
    *("CL", "CR"),
)
FOCUS_WORDS = ("L0", "R0")
#: node → does it stay what it is for as long as the focus word does?
FIXED_NODES = {"L0", "L1", "L2", "LA", "R0", "R1", "R2", "R3", "RB"}

#: attribute → the column it comes from and what is taken of it
WORD_ATTRIBUTES = {
    "w": ("tokens", "whole"),
    "p": ("tag", "whole"),
    "x": ("xpos", "whole"),
    "m": ("feats", "whole"),
    "e": ("lemmas", "whole"),
    "f": ("tokens", "prefix"),
    "z": ("tokens", "suffix"),
    "c": ("tokens", "shape"),
}
#: attributes with so many values that most pairs of them are never met, and those with many
LEXICAL = {"w", "e"}
MANY_VALUED = LEXICAL | {"f", "z", "c"}
RELATIONS = ("l", "vl", "vr", "sl", "sr")
DISTANCE = "d"  # of the focus words from each other, whichever it is asked of
STATE_ATTRIBUTES = (*RELATIONS, DISTANCE)

#: Templates of one group are looked up together, and the sum of their scores is kept for as long as what they depend on
#: does not change, or remembered for when the same values meet again. A focus word has groups for the word itself, for
#: its heads and for its dependents on each side. A pair has groups that look only at tags: of the two words (the plain
#: tags go with the distance), with what is known of their arcs, and of the words that their arcs lead to. "pair" is the
#: rest.
GROUPS = (
    *("left word", "left head", "left left", "left right"),
    *("right word", "right head", "right left"),
    *("first open", "last open"),
    *("pair tags", "pair distance", "pair arcs", "pair family", "pair"),
)
#: what is asked of a focus word → what it depends on
DEPENDS_ON = {"h": "head", "h2": "head", "l": "left", "l'": "left", "r": "right", "r'": "right"}
STATE_DEPENDS_ON = {"l": "head", "vl": "left", "sl": "left", "vr": "right", "sr": "right"}


@dataclass(frozen=True)
class Atom:
    """One node and all that a template asks of it."""

    node: str
    word: str  # word attributes, fused into one value when the sentence is encoded
    state: tuple[str, ...]  # attributes that depend on the arcs or on the distance


@dataclass(frozen=True)
class Template:
    """A feature template, with the group it belongs to."""

    name: str
    atoms: tuple[Atom, ...]

    @property
    def columns(self) -> set[str]:
        return {WORD_ATTRIBUTES[letter][0] for atom in self.atoms for letter in atom.word}

    @property
    def group(self) -> str:
        sides = {atom.node[0] for atom in self.atoms}
        if len(self.atoms) == 1 and sides == {"C"} and not self.atoms[0].state:
            return "first open" if self.atoms[0].node == "CL" else "last open"
        if len(sides) > 1 or "C" in sides or any("d" in atom.state for atom in self.atoms):
            return self._pair_group()
        depends = {part for atom in self.atoms for part in _depends_on(atom)} or {"word"}
        group = f"{'left' if sides == {'L'} else 'right'} {depends.pop()}"
        return group if not depends and group in GROUPS else "pair"

    def _pair_group(self) -> str:
        nodes = {atom.node for atom in self.atoms}
        state = {attribute for atom in self.atoms for attribute in atom.state}
        if any(set(atom.word) & MANY_VALUED for atom in self.atoms):
            return "pair"
        if nodes <= {"L0", "R0"}:
            if state:
                return "pair distance" if state == {"d"} else "pair arcs"
            return "pair distance" if all(atom.word == "p" for atom in self.atoms) else "pair tags"
        moving = nodes - FIXED_NODES
        return "pair family" if moving and nodes - moving <= {"L0", "R0"} and not state else "pair"


def _depends_on(atom: Atom) -> set[str]:
    """What an atom of a focus word, or of one beside it, needs to know of the arcs."""
    if atom.node not in FIXED_NODES:
        return {DEPENDS_ON[atom.node[2:]]}
    if atom.state and atom.node not in FOCUS_WORDS:
        return {"another word's arcs"}
    return {STATE_DEPENDS_ON[attribute] for attribute in atom.state}


def parse_template(name: str) -> Template:
    """Read one template, such as `L0.wp+R0.pd`."""
    return Template(name, tuple(_parse_atom(name, part) for part in name.split("+")))


def _parse_atom(template: str, text: str) -> Atom:
    node, _, letters = text.partition(".")
    attributes = re.findall("vl|vr|sl|sr|[a-z]", letters)
    known = "".join(attributes) == letters and attributes
    if node not in NODES or not known or not set(attributes) <= {*WORD_ATTRIBUTES, *STATE_ATTRIBUTES}:
        raise OptionError(f"template {template!r}: {text!r} is not a node with attributes")
    if {"vl", "vr", "sl", "sr"} & set(attributes) and node not in ("L0", "R0"):
        raise OptionError(f"template {template!r}: valency and label sets are known of L0 and R0 only")
    return Atom(
        node,
        "".join(letter for letter in attributes if letter in WORD_ATTRIBUTES),
        tuple(letter for letter in attributes if letter in STATE_ATTRIBUTES),
    )


def parse_templates(text: str) -> list[Template]:
    """Read a table of templates."""
    names = text.split()
    if len(set(names)) < len(names):
        raise OptionError(
            f"template {next(name for name in names if names.count(name) > 1)!r} is there twice"
        )
    return [parse_template(name) for name in names]


def template_set(name: str, columns: set[str]) -> list[str]:
    """The names of a set's templates, without those that need a column the data does not have."""
    if name not in SETS:
        raise OptionError(f"templates {name!r} is none of {', '.join(SETS)}")
    return [
        template.name
        for template in parse_templates(SETS[name])
        if template.columns <= columns | {"tokens", "tag"}
    ]


def gates(templates: list[Template]) -> dict[str, str]:
    """Template → its gate: the plainest template that asks for the same two words, and for nothing else.

    Features are learnt for all templates at once. If a pair of words was never met, no feature that asks for these
    words and more was either: one look at the gate saves a look at each template behind it.
    """
    found: dict[str, str] = {}
    pairs = {template.name: template for template in templates if template.group == "pair"}
    for name, template in pairs.items():
        asked = _asked(template)
        words = {(node, letter) for node, letter in asked if letter in LEXICAL}
        if len({node for node, _ in words}) < 2:
            continue
        possible = [other for other in pairs.values() if _asked(other) <= words]
        lexical = [other for other in possible if len({node for node, _ in _asked(other)}) > 1]
        if lexical:
            found[name] = min(lexical, key=lambda other: (len(_asked(other)), other.name)).name
    return found


def _asked(template: Template) -> set[tuple[str, str]]:
    return {(atom.node, letter) for atom in template.atoms for letter in (*atom.word, *atom.state)}
