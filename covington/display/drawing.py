"""Dependency trees as pictures: SVG and HTML pages, gold against predicted, in any script and of any length.

Every arc is a bracket on a level of its own height; arcs that overlap are on different levels, shorter
ones below. Words are pushed apart until each label fits between the feet of its arc, so labels never meet.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from covington.base.progress import many
from covington.display import report
from covington.display.trees import Arc, Tree, arcs_of, right_to_left

WORD_SIZE, TAG_SIZE, LABEL_SIZE = 16, 11, 12
LEVEL = 24  # from one level to the next: a label and some air
FOOT = 9  # between two arcs that stand on the same word; less where many do
FEET = 46  # the room that all of them want together
WORD_GAP = 18
LABEL_GAP = 14  # between a label and the feet of its arc
ROUND = 8
MARGIN = 16

STYLE = """
.tree{display:block;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Ubuntu,sans-serif}
.tree .word{font-size:16px;fill:var(--ink,#22252a);text-anchor:middle}
.tree .tag{font-size:11px;fill:var(--faint,#6b7078);text-anchor:middle}
.tree .label{font-size:12px;text-anchor:middle;paint-order:stroke;stroke:var(--panel,#fff);stroke-width:4px;
stroke-linejoin:round}
.tree .arc{fill:none;stroke-width:1.5}
.tree .crossing{stroke-dasharray:5 3}
.tree .both{stroke:var(--faint,#6b7078)}.tree text.both,.tree path.tip.both{fill:var(--ink,#22252a)}
.tree .gold{stroke:var(--series-0,#0072b2)}.tree text.gold,.tree path.tip.gold{fill:var(--series-0,#0072b2)}
.tree .predicted{stroke:var(--series-1,#d55e00)}
.tree text.predicted,.tree path.tip.predicted{fill:var(--series-1,#d55e00)}
.tree text.label{stroke:var(--panel,#fff)}.tree path.tip{stroke:none}
"""
DARK = """@media (prefers-color-scheme:dark){.tree{--ink:#e4e2dd;--faint:#989ca3;--panel:#1b1e22;
--series-0:#5aaee6;--series-1:#f0894a;background:#1b1e22}}"""
PAGE_STYLE = """
main{max-width:1600px}
.drawing{margin:0 0 34px}.drawing .scroll{padding:4px 0}.drawing h2{margin:34px 0 2px;font-size:1.05rem}
.drawing .tree{min-width:max-content;margin:0 auto}.drawing p{margin:2px 0 8px;max-width:none}
.legend .line{display:inline-block;width:22px;border-top:3px solid;margin-right:6px;vertical-align:middle}
"""


def text_width(text: str, size: float) -> float:
    """About how wide a text is, rather too wide than too narrow: the fonts of the reader are not known."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    if letter in "iljtfrI.,;:'!|()[] ":
        return 0.42
    return 1.02 if letter in "mwMW@%—…" else 0.76 if letter.isupper() else 0.66


@dataclass(frozen=True)
class Layout:
    """Where everything stands, from the left; right-to-left scripts are mirrored when drawn."""

    centres: list[float]
    boxes: list[float]  # how wide each word is with what stands on it
    feet: dict[tuple[Arc, int], float]  # (arc, word) → x
    above: list[Arc]
    below: list[Arc]
    width: float


def lay_out(tree: Tree, above: list[Arc], below: list[Arc], centres: list[float] | None = None) -> Layout:
    """Push words apart until labels fit, unless their places are given; overlapping arcs get own levels."""
    offsets = {**_feet(above), **_feet(below)}
    boxes = _boxes(tree, [*above, *below], offsets)
    if centres is None:
        centres = _centres(boxes, [*above, *below], offsets)
    feet = {(arc, at): centres[at - 1] + x for (arc, at), x in offsets.items()}
    placed = [_levels(side, feet) for side in (above, below)]
    levelled = {replace(arc, level=0): arc for side in placed for arc in side}
    feet = {(levelled[arc], at): x for (arc, at), x in feet.items()}
    return Layout(centres, boxes, feet, placed[0], placed[1], centres[-1] + boxes[-1] / 2 + MARGIN)


def _boxes(tree: Tree, arcs: list[Arc], offsets: dict[tuple[Arc, int], float]) -> list[float]:
    """How much room each word takes, with its tag, the arcs that stand on it and a root label."""
    reach, roots = [0.0] * len(tree.words), [0.0] * len(tree.words)
    for (_, at), x in offsets.items():
        reach[at - 1] = max(reach[at - 1], 2 * abs(x) + FOOT)
    for arc in arcs:
        if not arc.head:
            roots[arc.dependent - 1] = text_width(arc.label, LABEL_SIZE)
    named = [
        max(text_width(word, WORD_SIZE), text_width(tag, TAG_SIZE))
        for word, tag in zip(tree.words, tree.tags, strict=True)
    ]
    return [max(needs) for needs in zip(named, reach, roots, strict=True)]


def _centres(boxes: list[float], arcs: list[Arc], offsets: dict[tuple[Arc, int], float]) -> list[float]:
    """The middles of the words, from the left, with every label between the feet of its arc."""
    ending: dict[int, list[Arc]] = {}
    for arc in arcs:
        if arc.head:
            ending.setdefault(arc.right, []).append(arc)
    centres: list[float] = []
    edge = float(MARGIN)
    for number, box in enumerate(boxes, 1):
        centre = edge + box / 2
        for arc in ending.get(number, []):
            start = centres[arc.left - 1] + offsets[arc, arc.left]
            needed = start + text_width(arc.label, LABEL_SIZE) + LABEL_GAP
            centre = max(centre, needed - offsets[arc, number])
        centres.append(centre)
        edge = centre + box / 2 + WORD_GAP
    return centres


def _feet(arcs: list[Arc]) -> dict[tuple[Arc, int], float]:
    """How far from the middle of its word each arc stands.

    Arcs to the left stand left, the longest innermost, so that none is crossed by its neighbours;
    a root line stands between the two sides.
    """
    standing: dict[int, list[tuple[tuple[int, int], Arc]]] = {}
    for arc in arcs:
        if not arc.head:
            standing.setdefault(arc.dependent, []).append(((0, 0), arc))
        else:
            length = arc.right - arc.left
            standing.setdefault(arc.right, []).append(((-1, length), arc))
            standing.setdefault(arc.left, []).append(((1, -length), arc))
    feet = {}
    for word, found in standing.items():
        found.sort(key=lambda item: item[0])
        apart = min(FOOT, max(4.0, FEET / len(found)))
        for place, (_, arc) in enumerate(found):
            feet[arc, word] = (place - (len(found) - 1) / 2) * apart
    return feet


def _levels(arcs: list[Arc], feet: dict[tuple[Arc, int], float]) -> list[Arc]:
    """Shortest first, each one above all it overlaps; root lines last, above all they pass."""
    placed: list[tuple[float, float, Arc]] = []
    for arc in sorted(arcs, key=lambda arc: (not arc.head, arc.right - arc.left, arc.left)):
        left, right = feet[arc, arc.left], feet[arc, arc.right]
        if not arc.head:
            half = text_width(arc.label, LABEL_SIZE) / 2
            left, right = left - half, right + half
        under = [other.level for a, b, other in placed if a <= right and left <= b]
        placed.append((left, right, replace(arc, level=max(under, default=0) + 1)))
    return [arc for _, _, arc in placed]


def svg(tree: Tree, gold: Tree | None = None, *, standalone: bool = False) -> str:
    """A tree above its words; with gold, gold above and what the tree has differently below."""
    if gold is None:
        above, below = arcs_of(tree), []
    else:
        above = arcs_of(gold, tree, kind="gold")
        below = [arc for arc in arcs_of(tree, gold, kind="predicted") if arc.kind == "predicted"]
    layout = lay_out(tree, above, below)
    up, down = (max((arc.level for arc in side), default=0) * LEVEL for side in (layout.above, layout.below))
    line = MARGIN + up + WORD_SIZE + 18  # the baseline of the words
    height = line + TAG_SIZE + 8 + (down + LEVEL + 6 if below else 0) + MARGIN
    mirror = right_to_left(tree.words)

    def across(x: float) -> float:
        return layout.width - x if mirror else x

    parts: list[str] = []
    for side, ground, sign in (
        (layout.above, line - WORD_SIZE - 4, -1),
        (layout.below, line + TAG_SIZE + 14, 1),
    ):
        parts.extend(draw_arcs(side, layout, ground, sign, across))
    parts.extend(draw_words(tree, layout, line, across))
    wide, high = f"{layout.width:.0f}", f"{height:.0f}"
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    space = ' xmlns="http://www.w3.org/2000/svg"' if standalone else ""
    style = f"<style>{STYLE}{DARK}</style>" if standalone else ""
    direction = ' direction="rtl"' if mirror else ""
    name = escape(tree.text or " ".join(tree.words), quote=True)
    head = f'<svg class="tree" role="img" aria-label="{name}"{space}{direction} {size}>'
    return f"{head}{style}{''.join(parts)}</svg>"


def draw_words(tree: Tree, layout: Layout, line: float, across: Callable[[float], float]) -> Iterator[str]:
    """The words with their tags, on a line."""
    for number, (word, tag) in enumerate(zip(tree.words, tree.tags, strict=True)):
        x = f"{across(layout.centres[number]):.1f}"
        yield f'<text class="word" x="{x}" y="{line}">{escape(word)}<title>{number + 1}</title></text>'
        if tag != "_":
            yield f'<text class="tag" x="{x}" y="{line + TAG_SIZE + 6}">{escape(tag)}</text>'


def draw_arcs(
    side: list[Arc], layout: Layout, ground: float, sign: int, across: Callable[[float], float]
) -> Iterator[str]:
    """The arcs of one side, the highest first, so that labels of lower ones stay on top."""
    for arc in sorted(side, key=lambda arc: -arc.level):
        yield _draw(arc, layout, ground, sign, across)


def _draw(arc: Arc, layout: Layout, ground: float, sign: int, across: Callable[[float], float]) -> str:
    """One arc: a bracket from head to dependent with a tip on the dependent, and its label."""
    y = ground + sign * (arc.level * LEVEL - 8)
    classes = f"{arc.kind} crossing" if arc.crossing else arc.kind
    end = across(layout.feet[arc, arc.dependent])
    if arc.head:
        start = across(layout.feet[arc, arc.head])
        bend = ROUND if end > start else -ROUND
        path = (
            f"M{start:.1f},{ground}V{y + -sign * ROUND}Q{start:.1f},{y} {start + bend:.1f},{y}"
            f"H{end - bend:.1f}Q{end:.1f},{y} {end:.1f},{y + -sign * ROUND}V{ground + sign * 4}"
        )
    else:
        start = end
        path = f"M{end:.1f},{y}V{ground + sign * 4}"
    tip = f"M{end - 3.5:.1f},{ground + sign * 6}h7L{end:.1f},{ground}z"
    label_y = y - 5 if sign < 0 else y + LABEL_SIZE + 1
    described = f"{arc.label}: {arc.head} → {arc.dependent}"
    return (
        f'<g><title>{escape(described)}</title><path class="arc {classes}" d="{path}"/>'
        f'<path class="tip {arc.kind}" d="{tip}"/>'
        f'<text class="label {arc.kind}" x="{across(_label_x(arc, layout)):.1f}" y="{label_y}">'
        f"{escape(arc.label)}</text></g>"
    )


def _label_x(arc: Arc, layout: Layout) -> float:
    """The middle of the arc, or near it, where no foot of a higher arc runs through the label."""
    left, right = sorted((layout.feet[arc, arc.left], layout.feet[arc, arc.right]))
    if not arc.head:
        return left
    side = layout.above if arc in layout.above else layout.below
    feet = [
        layout.feet[other, word]
        for other in side
        if other.level > arc.level
        for word in {other.left, other.right}
        if left < layout.feet[other, word] < right
    ]
    half = text_width(arc.label, LABEL_SIZE) / 2
    middle, room = (left + right) / 2, max((right - left) / 2 - half - 4, 0.0)
    shifts = sorted((sign * step for step in range(0, int(room) + 1, 4) for sign in (1, -1)), key=abs)
    free = (s for s in shifts if all(abs(middle + s - foot) > half + 2 for foot in feet))
    return middle + next(free, 0)


def html(pairs: Sequence[tuple[Tree, Tree | None]], title: str = "Dependency trees") -> str:
    """A page of trees, each with gold where given; long ones scroll sideways."""
    compared = any(gold is not None for _, gold in pairs)
    body = [_legend(compared)]
    for number, (tree, gold) in enumerate(pairs, 1):
        direction = ' dir="rtl"' if right_to_left(tree.words) else ""
        name = escape(tree.sent_id or f"sentence {number}")
        said = f'<p class="note"{direction}>{escape(tree.text)}</p>' if tree.text else ""
        drawn = f'<div class="scroll"{direction}>{svg(tree, gold)}</div>'
        body.append(f'<section class="drawing"><h2>{name}</h2>{said}{drawn}</section>')
    return report.page(title, many(len(pairs), "sentence"), body, style=STYLE + PAGE_STYLE)


def _legend(compared: bool) -> str:
    kinds = [("--faint", "solid", "in both trees"), ("--series-0", "solid", "gold only")]
    kinds.append(("--series-1", "solid", "predicted only, below the words"))
    shown = [*(kinds if compared else []), ("--faint", "dashed", "non-projective")]
    keys = [
        f'<span><span class="line" style="border-color:var({colour});border-top-style:{style}"></span>'
        f"{text}</span>"
        for colour, style, text in shown
    ]
    return f'<div class="legend">{"".join(keys)}</div>'
