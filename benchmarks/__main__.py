"""Measure everything on this machine, and write RESULTS.md, results.json and results.svg.

    python -m benchmarks [--treebanks DIR] [--peers DIR] [--only parsing,growth] [--quick]

Every measurement is made in a fresh process limited to one thread unless it says otherwise; contenders take
turns, and medians with their spread are reported. Models are trained first, if the same code has not trained
them before. A full run takes most of an hour on a quiet machine; --quick runs all of it tiny, in a minute,
on the sample corpus, and its numbers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import capacity, endtoend, files, growth, machine, memory, parsing, report, shards, training
from benchmarks.corpora import default_folder, sample, treebank
from benchmarks.plot import plot
from benchmarks.settings import FULL, QUICK
from benchmarks.timing import ROOT, BenchmarkError, tell

SECTIONS = ("parsing", "training", "shards", "files", "endtoend", "memory", "growth")
FORMAT = 2  # of results.json


def arguments_of(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="all of it, tiny, on the sample corpus")
    parser.add_argument(
        "--treebanks",
        type=Path,
        default=default_folder("COVINGTON_TREEBANKS", "treebanks"),
        metavar="DIR",
        help="folder of UD treebanks (COVINGTON_TREEBANKS, else shared/treebanks beside the repository)",
    )
    parser.add_argument(
        "--treebank", default="UD_English-EWT", metavar="NAME", help="one of them (%(default)s)"
    )
    parser.add_argument(
        "--peers",
        type=Path,
        default=default_folder("COVINGTON_PEERS", "peers"),
        metavar="DIR",
        help="folder of the peers' models (COVINGTON_PEERS, else shared/peers beside the repository)",
    )
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(SECTIONS),
        metavar="PART,...",
        help=f"measure these again, keep the rest of an earlier run: {', '.join(SECTIONS)}",
    )
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"({FULL.repetitions})")
    parser.add_argument("--epochs", type=int, metavar="N", help=f"of the models that parse ({FULL.epochs})")
    parser.add_argument("--corpus-tokens", type=int, metavar="N", help=f"end to end ({FULL.corpus_tokens:,})")
    parser.add_argument(
        "--largest", type=int, metavar="N", help="one more corpus size to grow to, as 10000000"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="(benchmarks; build/quick with --quick)")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "benchmarks", metavar="DIR")
    arguments = parser.parse_args(argv)
    for part in arguments.only:
        if part not in SECTIONS:
            parser.error(f"--only {part} is none of {', '.join(SECTIONS)}")
    return arguments


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure what was asked for; parts that were not keep what an earlier run found."""
    scale = QUICK if arguments.quick else FULL
    asked = {"repetitions": arguments.repetitions, "epochs": arguments.epochs}
    asked["corpus_tokens"] = arguments.corpus_tokens
    scale = replace(scale, **{name: value for name, value in asked.items() if value is not None})
    if arguments.largest:
        scale = replace(scale, corpus_sizes=(*scale.corpus_sizes, arguments.largest))
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    folder = output_folder(arguments)
    folder.mkdir(parents=True, exist_ok=True)
    corpora = sample() if arguments.quick else treebank(arguments.treebanks, arguments.treebank, work)
    trained = training.models(corpora, scale, work)
    measures: dict[str, Callable[[], dict[str, Any]]] = {
        "parsing": lambda: parsing.measure(corpora, scale, trained, arguments.peers),
        "training": lambda: training.measure(corpora, scale),
        "shards": lambda: {"ways": shards.measure(corpora, scale)},
        "files": lambda: files.measure(corpora, scale),
        "endtoend": lambda: endtoend.measure(corpora, scale, trained, work),
        "memory": lambda: memory.measure(corpora, scale, trained),
        "growth": lambda: growth.measure(corpora, scale, trained, work),
    }
    place = folder / "results.json"
    same = {"format": FORMAT, "corpus": corpora.name, "quick": arguments.quick}
    results = _earlier(place, same) if set(arguments.only) != set(SECTIONS) else same
    results["models"] = {
        name: {key: value for key, value in facts.items() if key != "path"} for name, facts in trained.items()
    }
    for part in arguments.only:
        tell(part)
        conditions = machine.describe()
        conditions |= {"repetitions": scale.repetitions, "scale": asdict(scale)}
        results[part] = measures[part]() | {"machine": conditions}
        # after every part: what was measured is kept, whatever happens to the next one
        place.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return results


def _earlier(place: Path, same: dict[str, Any]) -> dict[str, Any]:
    """What another run found, if it measured the same things with the same version of this benchmark."""
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return found if same.items() <= found.items() else same


def output_folder(arguments: argparse.Namespace) -> Path:
    folder: Path | None = arguments.output
    return folder or (ROOT / "build" / "quick" if arguments.quick else ROOT / "benchmarks")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = arguments_of(argv)
    try:
        results = run(arguments)
    except BenchmarkError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    folder = output_folder(arguments)
    (folder / "RESULTS.md").write_text(report.markdown(results), encoding="utf-8")
    (folder / "results.svg").write_text(plot(results), encoding="utf-8")
    if folder == ROOT / "benchmarks":
        capacity.fill_in(ROOT / "docs" / "capacity.md", results)
    tell(f"{folder / 'RESULTS.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
