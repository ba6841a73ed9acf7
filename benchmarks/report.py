"""The results as Markdown: `python -m benchmarks.report` makes RESULTS.md again from results.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks import capacity, machine
from benchmarks.endtoend import SET_UP
from benchmarks.files import WORK
from benchmarks.plot import plot
from benchmarks.timing import ROOT

#: CPU seconds that UDPipe took for its ten iterations on the same treebank, measured where its model was made
UDPIPE_TRAINING = 434.0

#: the LAS that models of two seeds may lie apart by chance
SEEDS = 0.3


def markdown(results: dict[str, Any]) -> str:
    """The whole page."""
    parts: list[tuple[str, Callable[[dict[str, Any]], list[str]]]] = [
        ("parsing", _parsing),
        ("training", _training),
        ("shards", _shards),
        ("files", _files),
        ("endtoend", _end_to_end),
        ("memory", _memory),
        ("growth", _growth),
    ]
    lines = ["# Benchmarks", "", *_head(results), "![Speeds and growth](results.svg)", ""]
    for name, section in parts:
        if name in results:
            lines += [*section(results), *_conditions(results[name]["machine"]), ""]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table, numbers to the right."""
    lines = [f"| {' | '.join(header)} |", f"|---|{'---:|' * (len(header) - 1)}"]
    return [*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def number(found: dict[str, float], digits: int = 0, factor: float = 1.0) -> str:
    """Median, and in brackets the smallest and the largest."""
    middle, low, high = (found[key] * factor for key in ("median", "min", "max"))
    return f"{middle:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def _head(results: dict[str, Any]) -> list[str]:
    warning = "**A quick run on the sample corpus: it shows that all works, its numbers mean nothing.**"
    return [
        "Made by `python -m benchmarks`; the numbers behind it, with quartiles, are in `results.json`.",
        "Medians, in brackets the smallest and the largest. Every repetition is a fresh process limited to one"
        " thread, where nothing else is said; contenders take turns. Speeds are of processor time unless the wall"
        " clock is named.",
        f"Corpus: {results['corpus']}, gold words and tags.",
        "",
        *([warning, ""] if results["quick"] else []),
    ]


def _conditions(about: dict[str, Any]) -> list[str]:
    caches = ", ".join(f"{level} {size}" for level, size in about["caches"].items())
    quiet = "" if machine.is_quiet(about) else " **The machine was not quiet: measure again before quoting.**"
    return [
        f"*Medians of {about['repetitions']}; {about['processor']}, {about['cores']} cores, {caches};"
        f" {about['memory']} GB; Python {about['python']};"
        f" commit {about['commit']}; {about['begun']}; {about['cores given']:.2f} cores given at the start.*{quiet}"
    ]


def _parsing(results: dict[str, Any]) -> list[str]:
    found = results["parsing"]
    contenders = found["contenders"]
    present = [name for name in ("udpipe", "spacy") if name in contenders]
    rows = []
    for name, facts in contenders.items():
        ratios = [
            f"{facts['first']['median'] / contenders[peer]['first']['median']:.1f}×" for peer in present
        ]
        steps = f"{facts['transitions'] / facts['tokens']:.2f}" if "transitions" in facts else ""
        accuracy = f"{facts['uas']:.2f} / {facts['las']:.2f}" if "las" in facts else ""
        rows.append(
            [
                f"{name} {facts.get('version', '')}".strip(),
                number(facts["first"]),
                *ratios,
                number(facts["sentences per second"]),
                number(facts["warm"]),
                steps,
                accuracy,
            ]
        )
    against = [f"against {peer}" for peer in present]
    header = ["parser", "tokens/s, first pass", *against, "sentences/s", "tokens/s, warm"]
    lines = ["## Parser core, one core, no files", ""]
    lines += table([*header, "transitions per token", "UAS / LAS"], rows)
    lines += [
        "`arrow` is `Parser.parse`, Arrow batch in and out; `bare` leaves out making the Arrow batch. *First pass*:"
        " the process has parsed the development set and never this text; *warm*: the same text again. UDPipe"
        " gets sentences that were read before, and the clock is on around `parse`; spaCy gets documents that"
        " were made before, and the clock is on around `pipe`.",
        "",
    ]
    lines += [f"Absent: {name}, because {why}." for name, why in found["absent"].items()]
    ahead = _fastest_ahead(contenders)
    if ahead:
        lines += ["", ahead]
    encoding = contenders.get("paper (bare)", {}).get("encoding")
    if encoding:
        lines += [
            "",
            f"Turning strings into numbers takes {100 * encoding['median']:.0f} % of `paper (bare)`.",
        ]
    return [*lines, ""]


def _fastest_ahead(contenders: dict[str, Any]) -> str | None:
    if "udpipe" not in contenders:
        return None
    bar = contenders["udpipe"]["las"]
    ours = {name: facts for name, facts in contenders.items() if "transitions" in facts}
    clearly, barely = (_fastest(ours, bar + lead) for lead in (SEEDS, 0.0))
    if clearly is None:
        return f"No setting is ahead of UDPipe's LAS of {bar:.2f} by more than seeds differ."
    told = f"The fastest setting that is ahead of UDPipe's LAS of {bar:.2f} by more than seeds differ: {clearly}."
    return told if barely == clearly else f"{told} With this seed also {barely}."


def _fastest(contenders: dict[str, Any], bar: float) -> str | None:
    """The fastest contender with a LAS above a bar."""
    ahead = {name: facts for name, facts in contenders.items() if facts["las"] > bar}
    if not ahead:
        return None
    name = max(ahead, key=lambda one: ahead[one]["first"]["median"])
    return f"{name}, {ahead[name]['las']:.2f} at {ahead[name]['first']['median']:,.0f} tokens/s"


def _training(results: dict[str, Any]) -> list[str]:
    found = {name: facts for name, facts in results["training"].items() if name != "machine"}
    epochs = len(next(iter(found.values()))["epochs"])
    base = found["lower"]["total"]["median"]
    rows = [
        [
            oracle,
            *(number(lap, 2) for lap in facts["epochs"]),
            f"{facts['total']['median'] / base:.2f}×",
        ]
        for oracle, facts in found.items()
    ]
    header = ["oracle", *(f"epoch {epoch + 1}, s" for epoch in range(epochs)), "all, against lower"]
    lines = ["## Training, one core, `paper` templates", "", *table(header, rows)]
    lines += ["The models that parse above, from the first epoch to the file:", ""]
    rows = [
        [
            name,
            len(facts["epochs"]),
            f"{sum(facts['epochs']):.1f}",
            f"{sum(facts['epochs']) / UDPIPE_TRAINING:.2f}" if not results["quick"] else "",
            f"{facts['freeze']:.1f}",
            f"{facts['bytes'] / 1e6:.1f}",
        ]
        for name, facts in results["models"].items()
    ]
    header = [
        "model",
        "epochs",
        "CPU-seconds (once)",
        f"of UDPipe's {UDPIPE_TRAINING:.0f}",
        "freezing, s",
        "MB",
    ]
    lines += table(header, rows)
    return [
        *lines,
        f"UDPipe's {UDPIPE_TRAINING:.0f} CPU-seconds are for its 10 iterations on UD_English-EWT, measured when its"
        " model was made, with its loops rebuilt to vectorise; it is not trained again here.",
        "",
    ]


def _shards(results: dict[str, Any]) -> list[str]:
    rows = [
        [
            name,
            found["epochs"],
            number(found["epoch"], 2),
            number(found["against plain"], 2),
            number(found["cores"], 2),
            " / ".join(f"{found['las'][part]:.2f}" for part in ("dev", "test")),
        ]
        for name, found in results["shards"]["ways"].items()
    ]
    header = ["training", "epochs", "seconds per epoch", "against plain", "cores given", "LAS, dev / test"]
    return [
        "## Training in shards, two cores, `paper` templates",
        "",
        *table(header, rows),
        "Seconds are by the clock on the wall, the mean of all epochs but the first. *Cores given*: how many times"
        " as much two threads compute as one, before and after each training, the lower of both: a machine that"
        " shares its processor may give less than it has.",
        "",
    ]


def _files(results: dict[str, Any]) -> list[str]:
    found = {name: facts for name, facts in results["files"].items() if name != "machine"}
    base = {"read": found["package_read"], "write": found["package_write"]}
    rows = []
    for work, facts in found.items():
        other = base["read" if "read" in work else "write"]
        ratio = facts["speed"]["median"] / other["speed"]["median"]
        rows.append(
            [
                WORK[work],
                number(facts["speed"]),
                number(facts["megabytes per second"], 1),
                f"{ratio:.0f}×",
            ]
        )
    header = ["work", "tokens/s", "MB of CoNLL-U per second", "against the package"]
    return ["## Files, one core", "", *table(header, rows)]


def _end_to_end(results: dict[str, Any]) -> list[str]:
    ways = results["endtoend"]["ways"]
    rows = []
    for name, facts in ways.items():
        model, _, way = name.partition(": ")
        if way == SET_UP:
            continue
        core = ways[f"{model}: bare core, read before"]["speed by processor time"]["median"]
        one = next(
            one
            for kind, one in (
                ("Beam", "Beam in_memory, 1 worker"),
                ("stream", "stream, 1 thread"),
                ("bare", "bare core, read before"),
            )
            if kind in name
        )
        alone = ways[f"{model}: {one}"]["speed"]["median"]
        rows.append(
            [
                name,
                number(facts["speed by processor time"]),
                f"{100 * facts['speed by processor time']['median'] / core:.0f} %",
                number(facts["speed"]),
                f"{facts['speed']['median'] / alone:.2f}×" if "2" in name else "",
            ]
        )
    tokens = next(iter(ways.values()))["tokens"]
    header = ["way", "tokens per CPU-second", "of the bare core", "tokens/s by the wall clock", "against 1"]
    return [
        f"## CoNLL-U to Parquet, {tokens:,} tokens",
        "",
        *table(header, rows),
        "From the loaded program to the closed file, one thread or worker on one core. The bare core twice at once, two"
        " processes that share nothing, shows what the second core of this machine is worth. What Beam takes to set up"
        " a pipeline is in its lines: one"
        f" sentence takes {number(ways[f'rich: {SET_UP}']['cpu'], 2)} CPU-seconds,"
        f" {number(ways[f'rich: {SET_UP}']['wall'], 2)} by the wall clock.",
        "",
    ]


def _memory(results: dict[str, Any]) -> list[str]:
    found = {name: facts for name, facts in results["memory"].items() if name != "machine"}
    rows = [
        [
            name,
            f"{facts['file']:.1f}",
            number(facts["load"], 1, 1000),
            number(facts["load by the wall clock"], 1, 1000),
            f"{facts['loaded']['private'] - facts['before']['private']:.1f}",
            f"{facts['beside another']['private']:.0f} / {facts['beside another']['shared']:.0f}",
            f"{facts['peak']:.0f}",
        ]
        for name, facts in found.items()
    ]
    header = ["model", "file, MB", "load, CPU-ms", "load, ms by the wall clock", "private after loading, MB"]
    header += ["process beside another, private / shared", "peak, MB"]
    return [
        "## Load time and memory",
        "",
        *table(header, rows),
        "From `/proc/self/smaps_rollup`. *Private after loading*: the process's own copy of the model."
        " *Process beside another*: after it has parsed, while a second process has the same model and its own copy.",
        "",
    ]


def _growth(results: dict[str, Any]) -> list[str]:
    found = results["growth"]
    lines = ["## Growth", "", "Sentence length, microseconds of one core per token:", ""]
    rows = []
    models = list(found["sentence length"])
    for name, facts in found["sentence length"][models[0]].items():
        cells = [found["sentence length"][model][name] for model in models]
        rows.append(
            [
                f"{facts['words']:,} ({facts['kind']})",
                f"{facts['sentences']:,}",
                *(f"{number(one['microseconds'], 2)} @ {one['transitions']:.2f}" for one in cells),
            ]
        )
    lines += table(
        ["words", "sentences", *(f"{model}, µs @ transitions per token" for model in models)], rows
    )
    lines += [
        "*real*: sentences of the test and development sets within a tenth of that length; *joined*: their words"
        " end to end, cut anew. Lengths come in another order in every repetition.",
        "",
        *_ratio(found["sentence length"]),
        "Corpus size, CoNLL-U to Parquet by one thread, the development and test sets over and over:",
        "",
    ]
    rows = [
        [f"{one['tokens']:,}", number(one["microseconds"], 2), number(one["peak"])]
        for one in found["corpus size"].values()
    ]
    lines += table(["tokens", "µs per token", "peak memory, MB"], rows)
    lines += [
        f"Training size, `paper`, `upper`, after {found['machine']['scale']['training_epochs']} epochs:",
        "",
    ]
    rows = [
        [f"{one['tokens']:,}", number(one["microseconds"], 2), f"{one['megabytes']:.1f}"]
        for one in found["training size"].values()
    ]
    return [*lines, *table(["tokens", "µs per token and epoch", "model, MB"], rows)]


def _ratio(found: dict[str, Any]) -> list[str]:
    texts = []
    for model, rows in found.items():
        if "real 10" in rows and "real 50" in rows:
            short, long = (rows[name]["microseconds"]["median"] for name in ("real 10", "real 50"))
            texts.append(f"{model} {long / short:.2f}×")
    return [f"Per token, 50-word against 10-word sentences: {', '.join(texts)}.", ""] if texts else []


def main() -> None:
    folder = ROOT / "benchmarks"
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (folder / "RESULTS.md").write_text(markdown(results), encoding="utf-8")
    (folder / "results.svg").write_text(plot(results), encoding="utf-8")
    capacity.fill_in(ROOT / "docs" / "capacity.md", results)


if __name__ == "__main__":
    main()
