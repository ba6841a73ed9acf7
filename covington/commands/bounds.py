"""Compare the three loss bounds of the non-monotonic oracle with the exact loss (the paper's bounds table).

A parser is trained on each TREEBANK, a training file or a folder with one, and the configurations before its
first transitions are looked at: |U| (lower), |U| + problematic cycles (pc-upper), |U| + cycles (upper) and the
exact loss, found by search. A loss that is not found within --node-limit configurations is reported as not
known and left out of the averages.

Losses are 0 as long as the parser only follows the oracle, so wrong predictions are followed from the first
epoch on; with probability 0.1 the average loss is near what the paper reports.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from covington.base.machine import cores
from covington.corpus.reading import read_sentences
from covington.corpus.treebanks import training_file
from covington.display import bounds_report, report
from covington.errors import OptionError
from covington.features import encoding
from covington.model.options import TrainingOptions
from covington.study import bounds

EXAMPLE = "  covington bounds en_ewt-ud-train.conllu --transitions 100000 --html bounds.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("treebank", metavar="TREEBANK", nargs="+", help="training file, or folder with one")
    parser.add_argument(
        "--transitions", type=int, default=100_000, metavar="N", help="how many to look at (%(default)s)"
    )
    parser.add_argument(
        "--oracle",
        default="lower",
        choices=["lower", "pc-upper", "upper"],
        help="(%(default)s); the other two keep the parser away from the cycles in which the bounds differ",
    )
    parser.add_argument(
        "--root",
        default="explicit",
        choices=["explicit", "implicit"],
        help="(%(default)s); the bounds are proved for the explicit root",
    )
    parser.add_argument("--templates", default="paper", help="(%(default)s)")
    parser.add_argument("--tag", default="upos", choices=encoding.TAGS, help="(%(default)s)")
    parser.add_argument(
        "--explore", type=float, default=0.1, help="probability of following a wrong prediction (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument(
        "--node-limit",
        type=int,
        default=100_000,
        metavar="N",
        help="configurations a search may look at (%(default)s)",
    )
    parser.add_argument("--threads", type=int, default=cores(), help="(%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="all numbers; - prints them instead of the table")
    parser.add_argument("--html", metavar="FILE", help="a page with the table and plots")


def run(arguments: argparse.Namespace) -> int:
    if arguments.node_limit < 0 or arguments.threads < 1:
        raise OptionError("--node-limit cannot be negative, and --threads is at least 1")
    options = TrainingOptions(
        oracle=arguments.oracle,
        templates=arguments.templates,
        root=arguments.root,
        accept="all",  # these three as in the paper, whatever the defaults of training are
        target="best",
        repairs="shared",
        explore=arguments.explore,
        explore_from=1,
        seed=arguments.seed,
        tag=arguments.tag,
    )
    rows = []
    for treebank in arguments.treebank:
        file = training_file(treebank)
        configurations = bounds.collect(
            read_sentences(str(file), strict=True), options, arguments.transitions
        )
        losses = bounds.measure(configurations, options.root, arguments.node_limit, arguments.threads)
        name = Path(treebank).resolve().name if Path(treebank).is_dir() else file.name.split(".")[0]
        rows.append(bounds.summarise(name, losses))
    result = {
        "transitions": arguments.transitions,
        "node_limit": arguments.node_limit,
        "options": options.to_dict(),
        "treebanks": rows,
    }
    if arguments.json != "-" and arguments.html != "-":
        print(bounds_report.as_markdown(result), end="")
    if arguments.json is not None:
        report.write(arguments.json, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        report.write(arguments.html, bounds_report.as_html(result))
    return 0
