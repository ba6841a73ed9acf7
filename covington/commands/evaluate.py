"""Score parses against gold trees: attachment scores, where the errors are, and whether differences are real.

GOLD and SYSTEM are files, folders or globs of CoNLL-U or Parquet; `-` is standard input. They hold the
same sentences in the order of source and position (of CoNLL-U: file and place in it), and may be cut into
files differently. All files may be on any filesystem that Beam knows. UAS and LAS count every word,
punctuation included, and compare labels whole; the columns CoNLL18 cut off subtypes of labels, as the
shared task of 2018 did. With several systems, all pairs are compared by paired approximate randomisation.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covington.base.progress import many
from covington.commands.beam_options import add_beam_arguments, beam_flags, finished, prepare
from covington.corpus.reading import opened
from covington.display import evaluation_report, report
from covington.errors import DataError, OptionError
from covington.evaluation import significance
from covington.evaluation.counts import SYSTEM
from covington.evaluation.scores import scores
from covington.evaluation.tree_shape import IntArray
from covington.files.listing import is_local, keep_apart

if TYPE_CHECKING:
    from covington.files.storage import InputFile
    from covington.pipelines.runner import Runner

EXAMPLE = """  covington evaluate gold.conllu parsed.conllu --html report.html
  covington evaluate corpus/ parsed/
  covington evaluate gs://bucket/corpus gs://bucket/parsed --runner DataflowRunner ..."""

LARGE = 64 << 20  # bytes; less is compared before Beam would have started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="the right trees; - is standard input")
    parser.add_argument("system", metavar="SYSTEM", nargs="+", help="one or several parses of them")
    parser.add_argument(
        "--name", action="append", default=[], help="name of a system, in order; else its file"
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="the numbers as JSON, with the 30 most frequent confusions; - prints them instead of the table",
    )
    parser.add_argument("--html", metavar="FILE", help="a page with tables and plots")
    parser.add_argument(
        "--trials", type=int, default=significance.TRIALS, help="swaps for significance (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the swaps (%(default)s)")
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads on this machine (0: one per core)"
    )
    add_beam_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    prepare(arguments)
    from covington.files.storage import whole_file

    if len(arguments.name) > len(arguments.system):
        raise OptionError(f"{many(len(arguments.name), 'name')} for {many(len(arguments.system), 'system')}")
    if arguments.threads < 0:
        raise OptionError(f"--threads must be 0 (one per core) or more, not {arguments.threads}")
    if arguments.seed < 0:
        raise OptionError(f"--seed must be 0 or more, not {arguments.seed}")
    significance.check_trials(arguments.trials)
    names = [*arguments.name, *distinct_names(arguments.system)[len(arguments.name) :]]
    if len(set(names)) < len(names):
        raise OptionError("two systems have the same name: give each its own with --name")
    runner = _runner(arguments)
    result = finished(
        lambda: evaluate(
            arguments.gold,
            arguments.system,
            names,
            arguments.trials,
            arguments.seed,
            runner=runner,
            outputs=(arguments.json, arguments.html),
        )
    )
    if arguments.json != "-" and arguments.html != "-":
        print(evaluation_report.as_text(result), end="")
    if arguments.json is not None:
        report.write(arguments.json, json.dumps(result, indent=1, ensure_ascii=False) + "\n", whole_file)
    if arguments.html is not None:
        report.write(arguments.html, evaluation_report.as_html(result), whole_file)
    return 0


def _runner(arguments: argparse.Namespace) -> Runner | None:
    """What was asked for, if anything was."""
    flags = beam_flags(arguments)
    if not (flags or arguments.threads or arguments.verbose):
        return None
    from covington.pipelines.runner import Runner

    return Runner(flags, arguments.threads, arguments.verbose)


def evaluate(
    gold: str,
    systems: list[str],
    names: list[str],
    trials: int,
    seed: int,
    runner: Runner | None = None,
    outputs: Sequence[str | None] = (),
) -> dict[str, Any]:
    """Everything the table, the JSON and the page are made of; without a runner, Beam gets what is large.

    Outputs, which are not written here, must be none of the files that are read.
    """
    from covington.engine.tally import tally

    given = [gold, *systems]
    if given.count("-") > 1:
        raise OptionError("standard input can stand for one of the files only")
    with tempfile.TemporaryDirectory(prefix="covington-") as spool:
        golds, *sides = (_listed(path, Path(spool) / str(number)) for number, path in enumerate(given))
        keep_apart([file.name for side in (golds, *sides) for file in side], outputs)
        if runner is None and sum(file.size for side in (golds, *sides) for file in side) < LARGE:
            rows = len(sides) > 1
            tallies = [tally(golds, side, name, rows) for side, name in zip(sides, names, strict=True)]
        else:
            from covington.pipelines.evaluate import EvaluateJob
            from covington.pipelines.runner import LOCAL

            tallies = EvaluateJob(golds, sides, names).run(runner or LOCAL)
    for found, path in zip(tallies, systems, strict=True):
        if not found.counts.words:
            raise DataError("there are no sentences to compare", source=gold)
        if not found.counts.arc_length.counts[:, SYSTEM].any():
            raise DataError("no word has a head, so there is nothing to score", source=path)
    scored = [scores(found.counts, name) for found, name in zip(tallies, names, strict=True)]
    tests = _tests(names, [found.sentence_scores for found in tallies], trials, seed)
    if scored[0]["las"] is None:
        tests = [{**test, "las": None, "las_p": None} for test in tests]
    return {"gold": gold, "systems": scored, "significance": tests}


def _listed(path: str, spool: Path) -> list[InputFile]:
    """The files of a side; a stream is first copied to a file, because files are read here and there."""
    from covington.files.storage import InputFile, list_inputs

    place = Path(path)
    stream = path == "-" or (is_local(path) and place.exists() and not place.is_file() and not place.is_dir())
    if not stream:
        return list_inputs([path])
    with opened(path) as (source, _), spool.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return [InputFile(path, spool.stat().st_size, 0, str(spool))]


def _tests(names: list[str], rows: list[IntArray], trials: int, seed: int) -> list[dict[str, Any]]:
    return [
        {
            "system": names[one],
            "other": names[two],
            **asdict(significance.compare(rows[one], rows[two], trials=trials, seed=seed)),
        }
        for two, one in itertools.combinations(range(len(names)), 2)
    ]


def distinct_names(paths: list[str]) -> list[str]:
    """File names without folder and extension, the whole path where these are the same."""
    short = [
        path if path == "-" else Path(path).name.split(".conllu")[0].removesuffix(".parquet") or path
        for path in paths
    ]
    return [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
