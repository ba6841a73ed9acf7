"""Show the transitions of one sentence, step by step, with the non-monotonic repairs marked.

INPUT is CoNLL-U or Parquet; where it has gold heads, every arc is judged by them. Words that the
transitions leave without a head are attached at the end. The page (--html) is stepped through with
buttons, a slider or the arrow keys.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict

import pyarrow as pa

from covington import models
from covington.corpus.reading import read_in_order
from covington.display import report, trace_page, tracing
from covington.display.trees import Tree, trees
from covington.errors import DataError, OptionError
from covington.parsing.parser import Parser

EXAMPLE = "  covington trace corpus.conllu --sent-id s-12 --html trace.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="sentences in CoNLL-U or Parquet")
    parser.add_argument("--model", default=models.DEFAULT, help="a path, or a bundled model (%(default)s)")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--sent-id", metavar="ID", help="the sentence; else the first")
    chosen.add_argument(
        "--number", type=int, default=1, help="the sentence by its number in the file, from 1"
    )
    parser.add_argument("--json", metavar="FILE", help="the steps as JSON; - prints them instead of the text")
    parser.add_argument("--html", metavar="FILE", help="a page to step through")


def run(arguments: argparse.Namespace) -> int:
    if arguments.number < 1:
        raise OptionError(f"--number counts from 1, not {arguments.number}")
    row = find(arguments.input, arguments.sent_id, arguments.number)
    tree = next(trees(row))
    parser = Parser.load(arguments.model)
    gold: Tree | None = tree if all(head is not None for head in tree.heads) else None
    steps = tracing.replay(parser.trace(row), len(tree.words), gold)
    parsed = next(trees(parser.parse(row)))
    left = tracing.left_over(steps, parsed, gold)
    if arguments.json != "-" and arguments.html != "-":
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(tracing.as_text(tree, steps, left, colour=colour), end="")
    if arguments.json is not None:
        found = {
            "sent_id": tree.sent_id,
            "words": tree.words,
            "summary": tracing.summary(steps),
            "steps": [asdict(step) for step in steps],
            "left_over": [asdict(one) for one in left],
            "head": parsed.heads,
            "deprel": parsed.labels,
        }
        report.write(arguments.json, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if arguments.html is not None:
        report.write(arguments.html, trace_page.html(tree, steps, left))
    return 0


def find(path: str, sent_id: str | None, number: int) -> pa.RecordBatch:
    """A batch of the one sentence asked for."""
    before = 0
    for batch in read_in_order(path):
        if sent_id is not None:
            ids = batch.column("sent_id").to_pylist()
            if sent_id in ids:
                return batch.slice(ids.index(sent_id), 1)
        elif number <= before + batch.num_rows:
            return batch.slice(number - before - 1, 1)
        before += batch.num_rows
    if sent_id is not None:
        raise DataError(f"no sentence with id {sent_id}", source=path)
    raise DataError(f"no sentence number {number}: there are {before}", source=path)
