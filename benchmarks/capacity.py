"""The arithmetic of docs/capacity.md, from measured speeds to corpora of a billion and a trillion words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.endtoend import SET_UP
from covington.base.progress import many

BEGIN = "<!-- measured: `python -m benchmarks` writes from here -->"
END = "<!-- to here -->"

WORDS = {"10⁹": 1e9, "10¹²": 1e12}
PRICES = (0.01, 0.05)  # of a core-hour, in any money
WORKERS = (1, 16, 256, 4096)  # cores


def fill_in(page: Path, results: dict[str, Any]) -> None:
    """Write what the numbers come to between the marks of the page, and leave all else as it is."""
    if "endtoend" not in results or "growth" not in results:
        return
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text("\n".join([before + BEGIN, "", *lines(results), END + after]), encoding="utf-8")


def lines(results: dict[str, Any]) -> list[str]:
    """Tables of core-hours, days and bytes, each step of the arithmetic in its header."""
    ways = results["endtoend"]["ways"]
    about = results["endtoend"]["machine"]
    speeds = {model: _speed(ways, model) for model in ("paper", "rich")}
    growth = results["growth"]["machine"]
    is_quiet = machine.is_quiet(about) and machine.is_quiet(growth)
    caution = [] if is_quiet else ["**The machine was not quiet when this was measured.**", ""]
    found = [
        f"Measured: {results['corpus']}, {next(iter(ways.values()))['tokens']:,} tokens end to end, commit"
        f" {about['commit']}, {about['processor']}, {about['cores']} cores, {about['begun']},"
        f" {about['cores given']:.1f} of them given at the start. Memory and sentence length: commit"
        f" {growth['commit']}, {growth['begun']}, {growth['cores given']:.1f} cores given.",
        "",
        *caution,
        "| model | tokens per CPU-second, end to end, Beam's set-up taken off | × 3600 = tokens per core-hour |"
        " 10⁹ words, core-hours | 10¹² words, core-hours |",
        "|---|---:|---:|---:|---:|",
    ]
    hours = {}
    for model, speed in speeds.items():
        per_hour = speed * 3600
        hours[model] = {name: words / per_hour for name, words in WORDS.items()}
        cells = " | ".join(f"{hours[model][name]:,.2f}" for name in WORDS)
        found.append(f"| {model} | {speed:,.0f} | {per_hour / 1e9:.3f} × 10⁹ | {cells} |")
    found += [
        "",
        "Time on N cores is core-hours ÷ N ÷ the share of one core's speed that each of N cores keeps. On this"
        f" machine 2 cores keep {100 * _share(ways, 'multi_threading'):.0f} % as threads and"
        f" {100 * _share(ways, 'multi_processing'):.0f} % as processes (`rich`, wall clock, Beam's set-up"
        " included). Without that loss:",
        "",
        f"| model, words | {' | '.join(many(count, 'core') for count in WORKERS)} |",
        f"|---|{'---:|' * len(WORKERS)}",
    ]
    for model, row in hours.items():
        found += [
            f"| {model}, {name} | {' | '.join(_duration(value / count) for count in WORKERS)} |"
            for name, value in row.items()
        ]
    found += [
        "",
        "Core-hours × price. The prices are examples to multiply with, not anybody's offer:",
        "",
        f"| model, words | {' | '.join(f'at {price} per core-hour' for price in PRICES)} |",
        f"|---|{'---:|' * len(PRICES)}",
    ]
    for model, row in hours.items():
        found += [
            f"| {model}, {name} | {' | '.join(f'{value * price:,.2f}' for price in PRICES)} |"
            for name, value in row.items()
        ]
    return [*found, "", *_memory(results)]


def _speed(ways: dict[str, Any], model: str) -> float:
    """Tokens per processor second of the pipeline, without the set-up that a long job does not feel."""
    job, nothing = ways[f"{model}: Beam in_memory, 1 worker"], ways[f"{model}: {SET_UP}"]
    return float(job["tokens"] / max(job["cpu"]["median"] - nothing["cpu"]["median"], 1e-9))


def _share(ways: dict[str, Any], mode: str) -> float:
    one = ways["rich: Beam in_memory, 1 worker"]["speed"]["median"]
    two = ways[f"rich: Beam {mode}, 2 workers"]["speed"]["median"]
    return float(two / one / 2)


def _duration(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.1f} days"
    if hours >= 1:
        return f"{hours:.1f} hours"
    if hours >= 1 / 60:
        return f"{hours * 60:.1f} minutes"
    return f"{hours * 3600:.1f} seconds"


def _memory(results: dict[str, Any]) -> list[str]:
    sizes = list(results["growth"]["corpus size"].values())
    smallest, largest = sizes[0], sizes[-1]
    text = (
        f"Peak memory of a parsing process (`paper`, one thread): {smallest['peak']['median']:.0f} MB for"
        f" {smallest['tokens']:,} tokens, {largest['peak']['median']:.0f} MB for {largest['tokens']:,}."
    )
    lengths = results["growth"]["sentence length"]["rich"].values()
    kept = [row for row in lengths if row["kind"] == "joined"]
    costs = ", ".join(f"{row['words']:,} words {row['microseconds']['median']:.1f} µs" for row in kept)
    return [text, "", f"Time per token by sentence length (`rich`): {costs}.", ""]
