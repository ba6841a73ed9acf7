"""Score parses against gold trees: attachment scores, where the errors are, and whether differences are real.

GOLD and SYSTEM are CoNLL-U or Parquet with the same sentences in the same order; a directory of Parquet
shards is put in order by source and position. UAS and LAS count every word, punctuation included, and
compare labels whole; the columns CoNLL18 cut off subtypes of labels, as the shared task of 2018 did.
With several systems, all pairs are compared by paired approximate randomisation.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from covington import evaluation_report, report, significance
from covington.alignment import align
from covington.errors import OptionError
from covington.evaluation import Counts, count, sentence_scores
from covington.reading import read_sentences
from covington.scores import scores
from covington.tree_shape import IntArray

EXAMPLE = "  covington evaluate gold.conllu parsed.conllu --html report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="GOLD", help="the right trees")
    parser.add_argument("system", metavar="SYSTEM", nargs="+", help="one or several parses of them")
    parser.add_argument(
        "--name", action="append", default=[], help="name of a system, in order; else its file"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="all numbers as JSON; - prints them instead of the table"
    )
    parser.add_argument("--html", metavar="FILE", help="a page with tables and plots")
    parser.add_argument(
        "--trials", type=int, default=significance.TRIALS, help="swaps for significance (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the swaps (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    if len(arguments.name) > len(arguments.system):
        raise OptionError(f"{len(arguments.name)} names for {len(arguments.system)} systems")
    names = [*arguments.name, *distinct_names(arguments.system)[len(arguments.name) :]]
    result = evaluate(arguments.gold, arguments.system, names, arguments.trials, arguments.seed)
    if arguments.json != "-" and arguments.html != "-":
        print(evaluation_report.as_text(result), end="")
    if arguments.json is not None:
        report.write(arguments.json, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        report.write(arguments.html, evaluation_report.as_html(result))
    return 0


def evaluate(gold: str, systems: list[str], names: list[str], trials: int, seed: int) -> dict[str, Any]:
    """Everything the table, the JSON and the page are made of."""
    if gold == "-" and len(systems) > 1:
        raise OptionError("gold trees from standard input can be compared with one system only")
    found, rows = [], []
    for path, name in zip(systems, names, strict=True):
        counts, sentences = Counts(), [np.zeros((0, 3), np.int64)]
        for pair in align(read(gold), read(path), name):
            counts += count(*pair)
            sentences.append(sentence_scores(*pair))
        found.append(scores(counts, name))
        rows.append(np.concatenate(sentences))
    return {"gold": gold, "systems": found, "significance": _tests(names, rows, trials, seed)}


def _tests(names: list[str], rows: list[IntArray], trials: int, seed: int) -> list[dict[str, Any]]:
    return [
        {
            "system": names[one],
            "other": names[two],
            **asdict(significance.compare(rows[one], rows[two], trials=trials, seed=seed)),
        }
        for two, one in itertools.combinations(range(len(names)), 2)
    ]


def read(path: str) -> Iterator[pa.RecordBatch]:
    """Sentences in order; the shards of a directory, which stand in any order, are sorted."""
    if path == "-" or not Path(path).is_dir():
        return read_sentences(path, strict=True)
    batches = list(read_sentences(path, strict=True))
    table = pa.Table.from_batches(batches).sort_by([("source", "ascending"), ("position", "ascending")])
    return iter(table.combine_chunks().to_batches(max_chunksize=4096))


def distinct_names(paths: list[str]) -> list[str]:
    """File names without folder and extension, the whole path where these are the same."""
    short = [
        path if path == "-" else Path(path).name.split(".conllu")[0].removesuffix(".parquet")
        for path in paths
    ]
    return [name if short.count(name) == 1 else path for name, path in zip(short, paths, strict=True)]
