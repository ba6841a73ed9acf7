"""The results as one SVG drawing of its own: speeds as bars, growth as curves over logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, HEIGHT, MARGIN = 460, 300, 24  # of one panel
LEFT, RIGHT, TOP, BOTTOM = 150, 92, 34, 42
CURVE_LEFT = 58
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5548a")
PEER_COLOUR = "#8a8f98"
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600;font-size:13px}"
    ".grid{stroke:#d0d7de}rect.ground{fill:#fff}"
)


@dataclass(frozen=True)
class Curve:
    """A named line of points (x, y), x and y above 0."""

    name: str
    points: Sequence[tuple[float, float]]


def plot(results: dict[str, Any]) -> str:
    """All panels that there are results for, side by side in rows of two."""
    panels = [*_speeds(results), *_lengths(results), *_sizes(results)]
    rows = max(1, math.ceil(len(panels) / 2))
    width, height = 2 * (WIDTH + MARGIN) + MARGIN, rows * (HEIGHT + MARGIN) + MARGIN
    placed = "".join(
        f'<g transform="translate({MARGIN + (place % 2) * (WIDTH + MARGIN)}'
        f' {MARGIN + (place // 2) * (HEIGHT + MARGIN)})">{panel}</g>\n'
        for place, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<title>Speeds and growth</title><style>{STYLE}</style><rect class="ground" width="{width}"'
        f' height="{height}"/>\n{placed}</svg>\n'
    )


def bars(title: str, values: Sequence[tuple[str, dict[str, float], bool]]) -> str:
    """One bar per name, as long as its median, with a line from the smallest to the largest."""
    most = max(spread["max"] for _, spread, _ in values)
    room, step = WIDTH - LEFT - RIGHT, (HEIGHT - TOP - 10) / len(values)
    parts = [_title(title)]
    for place, (name, spread, peer) in enumerate(values):
        y, thick = TOP + place * step, step * 0.62
        low, middle, high = (LEFT + room * spread[key] / most for key in ("min", "median", "max"))
        colour = PEER_COLOUR if peer else COLOURS[0]
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + thick / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{LEFT}" y="{y:.1f}" width="{middle - LEFT:.1f}" height="{thick:.1f}" fill="{colour}"/>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y + thick / 2:.1f}" y2="{y + thick / 2:.1f}"'
            f' stroke="#24292f" stroke-width="1.5"/>'
            f'<text x="{max(high, middle) + 6:.1f}" y="{y + thick / 2 + 4:.1f}">{spread["median"]:,.0f}</text>'
        )
    return "".join(parts)


def curves(title: str, x_label: str, lines: Sequence[Curve]) -> str:
    """Lines over logarithmic axes: what grows in proportion has one slope wherever it starts."""
    xs = [math.log10(x) for line in lines for x, _ in line.points]
    ys = [math.log10(y) for line in lines for _, y in line.points]
    x_low, x_high = math.floor(min(xs)), math.ceil(max(xs))
    y_low, y_high = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)
    x_high = max(x_high, x_low + 1)

    def x_place(x: float) -> float:
        return CURVE_LEFT + (WIDTH - CURVE_LEFT - 20) * (math.log10(x) - x_low) / (x_high - x_low)

    def y_place(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM - 18) * (math.log10(y) - y_low) / (y_high - y_low)

    parts = [_title(title)]
    for power in range(x_low, x_high + 1):
        x = x_place(10.0**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + 18}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{10**power:,}</text>'
        )
    for power in range(y_low, y_high + 1):
        y = y_place(10.0**power)
        parts.append(f'<line class="grid" x1="{CURVE_LEFT}" x2="{WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{CURVE_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    step = (WIDTH - CURVE_LEFT) / max(len(lines), 2)
    for place, line in enumerate(lines):
        colour = COLOURS[place % len(COLOURS)]
        points = [(x_place(x), y_place(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(
            f'<text x="{CURVE_LEFT + step * place:.0f}" y="{TOP + 8}" style="fill:{colour}">{escape(line.name)}</text>'
        )
    return "".join(parts)


def _title(text: str) -> str:
    return f'<text class="title" x="0" y="14">{escape(text)}</text>'


def _speeds(results: dict[str, Any]) -> list[str]:
    if "parsing" not in results:
        return []
    found = results["parsing"]["contenders"]
    values = [(name, facts["first"], "version" in facts) for name, facts in found.items()]
    return [bars("Tokens per second, one core, first pass", values)]


def _lengths(results: dict[str, Any]) -> list[str]:
    if "growth" not in results:
        return []
    lines = [
        Curve(
            f"{model}, {kind}",
            [(row["words"], row["microseconds"]["median"]) for row in rows.values() if row["kind"] == kind],
        )
        for model, rows in results["growth"]["sentence length"].items()
        for kind in ("real", "joined")
    ]
    known = [line for line in lines if line.points]
    return [curves("Microseconds per token, by sentence length", "words in the sentence", known)]


def _sizes(results: dict[str, Any]) -> list[str]:
    if "growth" not in results:
        return []
    sizes, training = (list(results["growth"][name].values()) for name in ("corpus size", "training size"))
    return [
        curves(
            "A corpus of growing size, CoNLL-U to Parquet",
            "tokens",
            [
                Curve("µs per token", [(row["tokens"], row["microseconds"]["median"]) for row in sizes]),
                Curve("peak memory, MB", [(row["tokens"], row["peak"]["median"]) for row in sizes]),
            ],
        ),
        curves(
            "Training on more and more",
            "tokens",
            [
                Curve(
                    "µs per token and epoch",
                    [(one["tokens"], one["microseconds"]["median"]) for one in training],
                ),
                Curve("model, MB", [(one["tokens"], one["megabytes"]) for one in training]),
            ],
        ),
    ]
