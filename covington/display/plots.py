"""Line and bar plots as inline SVG: no library, no network, readable in the dark and on a phone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 12, 44
INDENT = 14  # of the first point, so that its name and the lowest number do not meet
COLOURS = 6  # --series-0 … --series-5 of the page's style; further series start again with another dash
DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class Series:
    """A named line or set of bars; None is a gap."""

    name: str
    values: Sequence[float | None]


def line_plot(
    series: Sequence[Series],
    categories: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
) -> str:
    """One line per series over the categories, which stand at equal distances."""
    low, high = y_range or value_range(series, from_zero=False)
    ticks = nice_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    room = WIDTH - LEFT - RIGHT - INDENT
    step = room / max(len(categories) - 1, 1)
    xs = [LEFT + INDENT + step * number for number in range(len(categories))]
    if len(categories) == 1:
        xs = [LEFT + INDENT + room / 2]
    parts = [_axes(ticks, low, high, x_label, y_label), _categories(categories, xs)]
    for number, line in enumerate(series):
        points = [
            (x, _y(value, low, high), category, value)
            for x, value, category in zip(xs, line.values, categories, strict=True)
            if value is not None
        ]
        colour = f"var(--series-{number % COLOURS})"
        for is_gap, piece in groupby(zip(xs, line.values, strict=True), key=lambda point: point[1] is None):
            if not is_gap:
                path = " ".join(
                    f"{x:.1f},{_y(value, low, high):.1f}" for x, value in piece if value is not None
                )
                parts.append(
                    f'<polyline points="{path}" fill="none" stroke-width="2" {_stroke(number)} '
                    f'stroke-linejoin="round" stroke-linecap="round"/>'
                )
        radius = 3 if len(categories) <= 16 else 1.8
        parts.extend(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}">'
            f"<title>{escape(line.name)}, {escape(category)}: {number_text(value)}</title></circle>"
            for x, y, category, value in points
        )
    return _figure(parts, series, f"{y_label} by {x_label}")


def bar_plot(
    series: Sequence[Series],
    categories: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
) -> str:
    """Groups of bars, one bar per series in each category."""
    low, high = y_range or value_range(series, from_zero=True)
    ticks = nice_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    group = (WIDTH - LEFT - RIGHT) / max(len(categories), 1)
    width = group * 0.8 / max(len(series), 1)
    middles = [LEFT + group * (place + 0.5) for place in range(len(categories))]
    parts = [_axes(ticks, low, high, x_label, y_label), _categories(categories, middles)]
    ground = _y(max(low, 0.0), low, high)
    for number, bars in enumerate(series):
        colour = f"var(--series-{number % COLOURS})"
        for middle, value, category in zip(middles, bars.values, categories, strict=True):
            if value is None:
                continue
            x = middle - group * 0.4 + width * number
            y = _y(value, low, high)
            parts.append(
                f'<rect x="{x:.1f}" y="{min(y, ground):.1f}" width="{max(width - 1, 0.6):.1f}" '
                f'height="{abs(ground - y):.1f}" rx="1" fill="{colour}">'
                f"<title>{escape(bars.name)}, {escape(category)}: {number_text(value)}</title></rect>"
            )
    return _figure(parts, series, f"{y_label} by {x_label}")


def number_text(value: float | None) -> str:
    """A number as people write it: thousands apart, two decimals unless whole; a dash for nothing."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) != 100 else f"{value:,.2f}"


def score_text(value: float | None) -> str:
    """A number in a table: always two decimals, so that the points stand in line; a dash for nothing."""
    return "–" if value is None or math.isnan(value) else f"{value:,.2f}"


def signed(points: float) -> str:
    """A difference, with its sign."""
    text = f"{points:+.2f}".replace("-", "−")
    return "0.00" if text[1:] == "0.00" else text


def nice_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers that cover the range from low to high."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * number, 10) for number in range(first, last + 1)]


def value_range(series: Sequence[Series], *, from_zero: bool) -> tuple[float, float]:
    values = [value for line in series for value in line.values if value is not None]
    if not values:
        return 0.0, 1.0
    return (min(0.0, *values) if from_zero else min(values)), max(values)


def _y(value: float, low: float, high: float) -> float:
    clipped = min(max(value, low), high)
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (clipped - low) / (high - low))


def _axes(ticks: list[float], low: float, high: float, x_label: str, y_label: str) -> str:
    lines = []
    for tick in ticks:
        y = _y(tick, low, high)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return (
        "".join(lines)
        + f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
        f'<text class="axis" transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>"
    )


def _categories(categories: Sequence[str], xs: list[float]) -> str:
    """Names under the axis, as many as fit without touching."""
    widest = max((len(category) for category in categories), default=1) * 6.6 + 8
    distance = xs[1] - xs[0] if len(xs) > 1 else WIDTH
    every = max(1, math.ceil(widest / distance))
    return "".join(
        f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{escape(category)}</text>'
        for place, (x, category) in enumerate(zip(xs, categories, strict=True))
        if place % every == 0
    )


def _figure(parts: list[str], series: Sequence[Series], label: str) -> str:
    keys = "".join(
        f'<span class="key"><svg viewBox="0 0 22 10" aria-hidden="true"><line x1="1" x2="21" y1="5" y2="5" '
        f'stroke-width="3" {_stroke(number)}/></svg>{escape(line.name)}</span>'
        for number, line in enumerate(series)
    )
    legend = f'<div class="legend">{keys}</div>' if len(series) > 1 else ""
    return (
        f'<figure class="plot">{legend}<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg></figure>'
    )


def _stroke(number: int) -> str:
    """Colour and dash of a series: two ways to tell it apart."""
    dash = DASHES[(number + number // COLOURS) % len(DASHES)]
    return f'stroke="var(--series-{number % COLOURS})" stroke-dasharray="{dash}"'
