"""Dependency trees on a terminal: one word per line, arcs as bars to the left of them.

A bar is one arc: it begins at ┌ or ┬, runs through every ┼ and ends at └ or ┴. The end with ► beside it is the
dependent's, the other the head's; ● is the root, ↺ a word that is its own head. Words stand last on the line, so that
wide and right-to-left letters cannot push the arcs out of line.
"""

from __future__ import annotations

from covington.display.trees import Arc, Tree, arcs_of

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
BOXES = {
    0: " ",
    UP | DOWN: "│",
    LEFT | RIGHT: "─",
    DOWN | RIGHT: "┌",
    UP | RIGHT: "└",
    DOWN | LEFT | RIGHT: "┬",
    UP | LEFT | RIGHT: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}


def draw(tree: Tree, gold: Tree | None = None) -> str:
    """The tree as lines of text; where gold differs, the line says what is right."""
    arcs = arcs_of(tree)
    columns = _columns([arc for arc in arcs if arc.head])
    width = max(columns.values(), default=0)
    cells = [[0] * (2 * width) for _ in tree.words]
    dashed, tips = set(), set()
    for arc, column in columns.items():
        place = 2 * (width - column)
        tips.add((arc.dependent - 1, place + 1))
        for line in range(arc.left - 1, arc.right):
            if line in (arc.left - 1, arc.right - 1):
                cells[line][place] |= RIGHT | (DOWN if line == arc.left - 1 else UP)
                for across in range(place + 1, 2 * width):
                    cells[line][across] |= LEFT | RIGHT
            else:
                cells[line][place] |= UP | DOWN
                if arc.crossing:
                    dashed.add((line, place))
    crossing = {arc.dependent for arc in arcs if arc.crossing}
    labels = [label + "~" * (place in crossing) for place, label in enumerate(tree.labels, 1)]
    label_width = max(map(len, labels), default=0)
    tag_width = max(map(len, tree.tags), default=0)
    lines = []
    for number, word in enumerate(tree.words, 1):
        row = cells[number - 1]
        drawn = [BOXES[mask] for mask in row]
        for place, mask in enumerate(row):
            if (number - 1, place) in tips:
                drawn[place] = "►"
            elif (number - 1, place) in dashed and mask == UP | DOWN:
                drawn[place] = "┊"
        head = tree.heads[number - 1]
        drawn.append("●" if head == 0 else "↺" if head == number else "─" if row and row[-1] else " ")
        label, tag = labels[number - 1], tree.tags[number - 1]
        note = _difference(tree, gold, number) if gold is not None else ""
        lines.append(
            f"{''.join(drawn)} {label:<{label_width}}  {tag:<{tag_width}}  {number:>3} {word}{note}".rstrip()
        )
    return "\n".join(lines) + "\n"


def _columns(arcs: list[Arc]) -> dict[Arc, int]:
    """Shortest arcs next to the words, each further out than all it overlaps, and never in line with one it touches."""
    columns: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        inside = [
            column for other, column in columns.items() if other.left < arc.right and arc.left < other.right
        ]
        touching = {
            column for other, column in columns.items() if arc.left == other.right or arc.right == other.left
        }
        columns[arc] = max(inside, default=0) + 1
        while columns[arc] in touching:
            columns[arc] += 1
    return columns


def _difference(tree: Tree, gold: Tree, number: int) -> str:
    head, label = gold.heads[number - 1], gold.labels[number - 1]
    if (head, label) == (tree.heads[number - 1], tree.labels[number - 1]):
        return ""
    name = "the root" if head == 0 else "nothing" if head is None else f"{head} {gold.words[head - 1]}"
    return f"   ✗ gold: {label} of {name}"
