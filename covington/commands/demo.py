"""Parse the bundled sample to Parquet, and show how well each of its languages was parsed and one of the trees."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import covington
from covington import models
from covington.commands.cli import main as command
from covington.display import drawing_text
from covington.display.trees import trees
from covington.evaluation.counts import count
from covington.evaluation.scores import scores
from covington.evaluation.tree_shape import projective

EXAMPLE = "  covington demo"

LANGUAGES = {
    "cs": "Czech",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "it": "Italian",
    "ja": "Japanese",
    "la": "Latin",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "tr": "Turkish",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "output", nargs="?", default="demo-output", metavar="FOLDER", help="where the trees go (demo-output)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Parse the sample into a folder and show it; what an earlier demo left there is replaced."""
    folder, sample = arguments.output, models.sample()
    print(f"$ covington parse {sample.name} -o {folder}/", flush=True)
    code = command(["parse", str(sample), "-o", folder, "--overwrite"])
    if code:
        return code
    gold = _whole(covington.read_conllu(sample))
    parsed = _whole(covington.read_parquet(sorted(Path(folder).glob("shard-*.parquet"))[0]))
    print(
        f"\nThe model is {models.DEFAULT}: English. Other languages are here to show what it does not know.\n"
    )
    print(table(gold, parsed))
    print("\nOne of the trees that it found, all heads right:\n")
    print(drawing_text.draw(list(trees(parsed))[_shown(gold, parsed)]))
    program = Path(sys.executable).with_name("covington")
    shown = os.path.relpath(program) if program.exists() else "covington"
    print(
        f"\nThe trees are in {folder}/*.parquet. A page with pictures of them: {shown} draw {folder} -o trees.html"
    )
    return 0


def table(gold: pa.RecordBatch, parsed: pa.RecordBatch) -> str:
    """One line per language: sentences, words, crossing trees in gold and found, and attachment scores."""
    languages = np.array([sent_id[:2] for sent_id in gold.column("sent_id").to_pylist()])
    lines = [f"{'':12}{'sentences':>10}{'words':>8}{'non-projective':>16}{'found':>8}{'UAS':>8}{'LAS':>8}"]
    for code in sorted(set(languages), key=lambda code: (code != "en", LANGUAGES[code])):
        chosen = np.flatnonzero(languages == code)
        sides = gold.take(chosen), parsed.take(chosen)
        found: dict[str, Any] = scores(count(*sides), code, 0)
        crossing = [int((~_trees(side)[1]).sum()) for side in sides]
        lines.append(
            f"{LANGUAGES[code]:12}{len(chosen):10}{found['tokens']:8}{crossing[0]:16}{crossing[1]:8}"
            f"{found['uas']:8.1f}{found['las']:8.1f}"
        )
    return "\n".join(lines)


def _shown(gold: pa.RecordBatch, parsed: pa.RecordBatch) -> int:
    """The sentence to draw: of those with all heads right a non-projective one, or else the longest."""
    right = [
        a == b
        for a, b in zip(gold.column("head").to_pylist(), parsed.column("head").to_pylist(), strict=True)
    ]
    lengths, straight = _trees(parsed)
    order = np.lexsort((-lengths, straight, ~np.array(right)))
    return int(order[0])


def _trees(batch: pa.RecordBatch) -> tuple[Any, Any]:
    """The number of words of every sentence, and whether its tree is projective."""
    heads = batch.column("head")
    lengths = np.asarray(heads.value_lengths())
    words = heads.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    arcs = projective(words, lengths)
    starts = np.cumsum(lengths) - lengths
    return lengths, np.logical_and.reduceat(arcs, starts)


def _whole(batches: Any) -> pa.RecordBatch:
    return pa.Table.from_batches(list(batches)).combine_chunks().to_batches()[0]
