"""How good a model that reads text is on a treebank, in the three regimes: raw text, gold tokens, gold tags.

    python -m benchmarks.regimes MODEL TEST.conllu

Scores are F1 in percent by the definition of the CoNLL 2018 shared task, which ignores subtypes of relations. Raw text
is that of the treebank with its paragraphs and, where it marks some, again as one paragraph a document.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from benchmarks.report import table
from covington.corpus.reading import read_sentences
from covington.errors import OptionError
from covington.evaluation.conll2018 import Count, evaluate
from covington.parsing.parser import Parser
from covington.segmentation.gold import gold_text, has_paragraphs

METRICS = (
    "Tokens",
    "Sentences",
    "Words",
    "UPOS",
    "XPOS",
    "UFeats",
    "Lemmas",
    "UAS",
    "LAS",
    "CLAS",
    "MLAS",
    "BLEX",
)
TAGS = ("upos", "xpos", "feats")


def without(batch: pa.RecordBatch, columns: Iterable[str]) -> pa.RecordBatch:
    """The batch with nothing in some columns."""
    for name in columns:
        place = batch.schema.get_field_index(name)
        field = batch.schema.field(place)
        batch = batch.set_column(place, field, pa.nulls(batch.num_rows, field.type))
    return batch


def from_text(parser: Parser, text: bytes) -> list[pa.RecordBatch]:
    """Sentences, words, tags, lemmas and trees of a text."""
    if parser.segmenter is None:
        raise OptionError("the model does not read text")
    stream = parser.segmenter.open("text")
    return [parser.parse(batch) for batch in stream.feed(text) + stream.finish()]


def measure(model: str, treebank: str) -> list[list[str]]:
    """A row for each regime."""
    parser, gold = Parser.load(model), list(read_sentences(treebank))
    trees = ("lemmas", "head", "deprel")
    systems: dict[str, Callable[[], list[pa.RecordBatch]]] = {
        "raw text": lambda: from_text(parser, gold_text(gold).text)
    }
    if has_paragraphs(gold):
        systems["raw text, no paragraphs"] = lambda: from_text(parser, gold_text(gold, paragraphs=False).text)
    systems["gold tokens"] = lambda: [parser.parse(without(batch, (*TAGS, *trees))) for batch in gold]
    systems["gold tags"] = lambda: [parser.parse(without(batch, trees)) for batch in gold]
    rows = []
    for name, parse in systems.items():
        began = time.process_time()
        system = parse()
        seconds = time.process_time() - began
        counts = evaluate(gold, system)
        rows.append(
            [name, *(shown(counts[metric]) for metric in METRICS), f"{counts['Words'].gold / seconds:,.0f}"]
        )
    return rows


def shown(count: Count) -> str:
    return f"{100 * count.f1:.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="of `covington train --engine network`")
    parser.add_argument("treebank", help="a test part, which the model was not trained on")
    arguments = parser.parse_args(argv)
    print(
        "\n".join(
            table(["regime", *METRICS, "words per CPU-second"], measure(arguments.model, arguments.treebank))
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
