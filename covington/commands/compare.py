"""Train and compare the five oracles (or any systems) on treebanks, as in the paper's table of results.

A TREEBANK is a folder with *train*, *dev* and *test* CoNLL-U files, or a folder of such folders. The
templates are the paper's unless --set templates=rich says otherwise. Every finished run is a file in the
work folder: a comparison that was stopped goes on where it was. Tune with --on dev.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from covington.base.machine import cores
from covington.base.progress import clock
from covington.corpus.treebanks import find_treebanks
from covington.display import comparison_report, report
from covington.errors import OptionError
from covington.evaluation import significance
from covington.evaluation.counts import Counts
from covington.study import comparison
from covington.study.comparison_results import summarise

EXAMPLE = (
    "  covington compare treebanks/UD_Irish-IDT --seeds 3 --html comparison.html\n"
    "  covington compare treebanks --system upper --system strict=oracle:upper,accept:no-guess --on dev"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("treebank", metavar="TREEBANK", nargs="+", help="a folder")
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME[=OPTION:VALUE,...]",
        help="an oracle, or a name and training options (may be repeated; default: the five oracles)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="a training option of all systems"
    )
    parser.add_argument("--seeds", type=int, default=3, help="runs per system and treebank (%(default)s)")
    parser.add_argument(
        "--on", choices=("dev", "test"), default="test", help="what to report on (%(default)s)"
    )
    parser.add_argument("--baseline", metavar="NAME", help="the system that the others are compared with")
    parser.add_argument("--no-curve", action="store_true", help="do not score the dev set after every epoch")
    parser.add_argument(
        "--work", metavar="FOLDER", default="comparison-runs", help="finished runs (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=cores(), help="processes (%(default)s)")
    parser.add_argument(
        "--trials", type=int, default=significance.TRIALS, help="swaps for significance (%(default)s)"
    )
    parser.add_argument("--markdown", metavar="FILE", help="the tables; without it they are printed")
    parser.add_argument(
        "--json", metavar="FILE", help="all numbers as JSON; - prints them instead of the tables"
    )
    parser.add_argument("--html", metavar="FILE", help="a page with tables and plots")


def run(arguments: argparse.Namespace) -> int:
    if arguments.seeds < 1 or arguments.jobs < 1:
        raise OptionError("--seeds and --jobs must be at least 1")
    significance.check_trials(arguments.trials)
    treebanks = find_treebanks(arguments.treebank, arguments.on)
    systems = comparison.systems(arguments.system, arguments.set)
    if arguments.baseline is not None and arguments.baseline not in {system.name for system in systems}:
        raise OptionError(f"--baseline {arguments.baseline} is none of the systems")
    runs = comparison.plan(treebanks, systems, arguments.seeds, curve=not arguments.no_curve)
    tell = Teller(len({run.key for run in runs}), arguments.on)
    results = comparison.make(runs, Path(arguments.work), arguments.jobs, tell)
    summary = summarise(
        treebanks,
        systems,
        runs,
        results,
        part=arguments.on,
        baseline=arguments.baseline,
        trials=arguments.trials,
    )
    command = command_line(arguments)
    if arguments.markdown is not None:
        report.write(arguments.markdown, comparison_report.as_markdown(summary, command))
    elif arguments.json != "-" and arguments.html != "-":
        print(comparison_report.as_markdown(summary, command), end="")
    if arguments.json is not None:
        whole = {"command": command, **summary}
        report.write(arguments.json, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        report.write(arguments.html, comparison_report.as_html(summary, command))
    return 0


def command_line(arguments: argparse.Namespace) -> str:
    """The call that gives the same numbers, without the names of output files."""
    parts = ["covington", "compare", *arguments.treebank]
    parts += [text for name in arguments.system for text in ("--system", name)]
    parts += [text for setting in arguments.set for text in ("--set", setting)]
    parts += ["--seeds", str(arguments.seeds)]
    if arguments.on != "test":
        parts += ["--on", arguments.on]
    if arguments.baseline is not None:
        parts += ["--baseline", arguments.baseline]
    if arguments.trials != significance.TRIALS:
        parts += ["--trials", str(arguments.trials)]
    return shlex.join(parts)


class Teller:
    """A line on standard error for every run that is finished, with the time that is left."""

    def __init__(self, total: int, part: str) -> None:
        self.total, self.part = total, part
        self.done = self.made = 0
        self.began = time.monotonic()

    def __call__(self, result: dict[str, Any], known: bool) -> None:
        self.done += 1
        self.made += not known
        found = Counts.from_dict(result[self.part]["counts"]).attachment_scores
        name = f"{result['treebank']} {result['system']} seed {result['options']['seed']}"
        left = (time.monotonic() - self.began) / max(self.made, 1) * (self.total - self.done)
        when = "known" if known else f"{result['seconds']:.0f} s"
        rest = f", {clock(left)} left" if self.done < self.total and not known else ""
        scored = f"{self.part} UAS {found['uas']:.2f} LAS {found['las']:.2f}"
        print(f"[{self.done}/{self.total}] {name}: {scored} ({when}{rest})", file=sys.stderr, flush=True)
