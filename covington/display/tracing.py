"""The transitions of one sentence, replayed: what each adds, what it takes away, and whether it is gold.

A plain Python replay of the paper's figures, kept apart from the compiled parser on purpose: it shows
people what happens, and tests hold it against the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from covington.base.progress import many
from covington.display.trees import Tree, right_to_left
from covington.errors import DataError

SHIFT, NO_ARC, LEFT_ARC, RIGHT_ARC = "Shift", "NoArc", "LeftArc", "RightArc"


@dataclass(frozen=True)
class BuiltArc:
    """An arc of the configuration."""

    head: int
    dependent: int
    label: str


@dataclass(frozen=True)
class Step:
    """One transition: the focus words before it, and the arcs after it.

    λ1 is the words up to `left`, λ2 those between `left` and `right`, the buffer those from `right` on.
    """

    number: int
    left: int  # the left focus word; 0 when λ1 is empty (or holds only the root)
    right: int  # the right focus word, first of the buffer
    transition: str
    label: str | None
    score: float | None
    added: BuiltArc | None
    removed: tuple[BuiltArc, ...]
    arcs: tuple[BuiltArc, ...]
    removed_gold: tuple[bool, ...]  # whether gold has them
    verdict: str  # "gold" or "wrong" for an arc where gold is known, else ""
    harmful: bool  # a gold arc was removed, and the new arc is wrong

    @property
    def repair(self) -> bool:
        """Whether the transition is non-monotonic: it takes an arc away."""
        return bool(self.removed)


@dataclass(frozen=True)
class LeftOver:
    """An arc that the parser makes at the end, without a transition, to a word that was left without a head."""

    arc: BuiltArc
    verdict: str  # as of a step


def left_over(steps: list[Step], parsed: Tree, gold: Tree | None = None) -> list[LeftOver]:
    """What makes the parser's tree of the arcs that the transitions have built."""
    built = set(steps[-1].arcs) if steps else set()
    arcs = [
        BuiltArc(head or 0, word, label)
        for word, (head, label) in enumerate(zip(parsed.heads, parsed.labels, strict=True), 1)
    ]
    return [LeftOver(arc, _verdict(arc, gold)) for arc in arcs if arc not in built]


def replay(steps: Iterable[Mapping[str, Any]], words: int, gold: Tree | None = None) -> list[Step]:
    """Apply transitions to the empty set of arcs.

    LeftArc makes `right` the head of `left`, RightArc the reverse. A dependent that had a head loses it;
    if the new arc closes a cycle, its head loses its own head.
    """
    heads: dict[int, BuiltArc] = {}
    done = []
    for number, step in enumerate(complete(steps, words), 1):
        left, right, transition = max(int(step["i"]), 0), int(step["j"]), str(step["transition"])
        label = step.get("label")
        added, removed = None, []
        if transition in (LEFT_ARC, RIGHT_ARC):
            head, dependent = (right, left) if transition == LEFT_ARC else (left, right)
            added = BuiltArc(head, dependent, label or "_")
            if dependent in heads:
                removed.append(heads.pop(dependent))
            if head in heads and _reaches(head, dependent, heads):
                removed.append(heads.pop(head))
            heads[dependent] = added
        elif transition not in (SHIFT, NO_ARC):
            raise DataError(f"step {number}: {transition} is not a transition")
        if not 0 <= left < right <= words:
            raise DataError(f"step {number}: focus words {left} and {right} in a sentence of {words} words")
        verdict = "" if added is None else _verdict(added, gold)
        were_gold = tuple(gold is not None and _in(arc, gold) for arc in removed)
        done.append(
            Step(
                number,
                left,
                right,
                transition,
                label,
                step.get("score"),
                added,
                tuple(removed),
                tuple(heads[dependent] for dependent in sorted(heads)),
                were_gold,
                verdict,
                verdict == "wrong" and any(were_gold),
            )
        )
    return done


def complete(steps: Iterable[Mapping[str, Any]], words: int) -> Iterator[Mapping[str, Any]]:
    """The steps with the Shifts that a parser leaves out because λ1 is used up and nothing else is possible."""
    right = 1
    for step in steps:
        while right < int(step["j"]):
            yield {"i": 0, "j": right, "transition": SHIFT}
            right += 1
        yield step
        right += step["transition"] == SHIFT
    while right <= words:
        yield {"i": 0, "j": right, "transition": SHIFT}
        right += 1


def _reaches(word: int, above: int, heads: dict[int, BuiltArc]) -> bool:
    """Whether `above` is an ancestor of `word`."""
    while word in heads:
        word = heads[word].head
        if word == above:
            return True
    return False


def _verdict(arc: BuiltArc, gold: Tree | None) -> str:
    return "" if gold is None else "gold" if _in(arc, gold) else "wrong"


def _in(arc: BuiltArc, gold: Tree) -> bool:
    """Whether gold has the arc, whatever its label, as the paper's error analysis counts it."""
    return gold.heads[arc.dependent - 1] == arc.head


def summary(steps: list[Step]) -> dict[str, int]:
    """The numbers of the paper's error analysis for one sentence."""
    arcs = [step for step in steps if step.added]
    repairs = [step for step in arcs if step.repair]
    return {
        "transitions": len(steps),
        "arc_transitions": len(arcs),
        "non_monotonic": len(repairs),
        "creating_gold": sum(step.verdict == "gold" for step in repairs),
        "harmful": sum(step.harmful for step in repairs),
    }


def as_text(tree: Tree, steps: list[Step], left: Sequence[LeftOver] = (), *, colour: bool = False) -> str:
    """One line per transition; repairs are marked with ↻ and say what they take away. Then what was left over."""
    isolate = right_to_left(tree.words)  # lest the terminal turns the two words of an arc around
    names = [
        "",
        *(
            f"\N{FIRST STRONG ISOLATE}{word}\N{POP DIRECTIONAL ISOLATE}" if isolate else word
            for word in tree.words
        ),
    ]
    rows = []
    for step in steps:
        name = f"{step.transition} {step.label}" if step.label else step.transition
        rows.append((step, name, _focus(step, names), _outcome(step, names)))
    width = max(map(len, (*(name for _, name, _, _ in rows), *(one.arc.label for one in left))), default=0)
    lines = [f"# {part}" for part in (tree.sent_id, tree.text) if part]
    for step, name, focus, outcome in rows:
        mark = "↻" if step.repair else " "
        line = f"{step.number:>4} {mark} {name:<{width}}  {focus}{outcome}"
        if colour and step.repair:
            line = f"\x1b[33m{line}\x1b[0m"
        lines.append(line)
    for one in left:
        head = f"{one.arc.head} {names[one.arc.head]}" if one.arc.head else "ROOT"
        arc = f"[{head} → {one.arc.dependent} {names[one.arc.dependent]}]"
        lines.append(f" end   {one.arc.label:<{width}}  {arc}{_judged(one.verdict)}")
    lines.append("")
    lines.append(summary_text(steps, left, gold=any(step.verdict for step in steps)))
    return "\n".join(lines) + "\n"


def _focus(step: Step, names: list[str]) -> str:
    right = f"{step.right} {names[step.right]}"
    if not step.left:
        return f"[ ] {right}" if step.added is None else f"[ROOT → {right}]"
    link = {LEFT_ARC: "←", RIGHT_ARC: "→"}.get(step.transition, "·")
    return f"[{step.left} {names[step.left]} {link} {right}]"


def _outcome(step: Step, names: list[str]) -> str:
    said = []
    if step.removed:
        said.append("removes " + " and ".join(_arc(arc, names) for arc in step.removed))
    return (
        "".join(f"   {part}" for part in said) + _judged(step.verdict) + (", harmful" if step.harmful else "")
    )


def _judged(verdict: str) -> str:
    return {"gold": "   ✓ gold head", "wrong": "   ✗ not the gold head", "": ""}[verdict]


def _arc(arc: BuiltArc, names: list[str]) -> str:
    head = f"{arc.head} {names[arc.head]}" if arc.head else "ROOT"
    return f"{head} → {arc.dependent} {names[arc.dependent]} ({arc.label})"


def summary_text(steps: list[Step], left: Sequence[LeftOver] = (), *, gold: bool) -> str:
    """The error analysis of one sentence in one line."""
    found = summary(steps)
    text = (
        f"{found['transitions']} transitions, {found['arc_transitions']} of them arcs; "
        f"{found['non_monotonic']} non-monotonic"
    )
    if gold and found["non_monotonic"]:
        text += f" ({found['creating_gold']} creating a gold arc, {found['harmful']} harmful)"
    if left:
        text += f"; {many(len(left), 'word')} left over, attached at the end"
    return text
