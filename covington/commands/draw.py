"""Draw dependency trees: on the terminal, or as a picture (.svg) or a page (.html).

With --gold, gold arcs stand above the words and what INPUT has differently below them; on the terminal
a line that differs says what gold has. Dashed arcs (~ on the terminal) are non-projective. On the terminal every
bar is an arc, ► stands at the end of its dependent, and ● is the root.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator

from covington.corpus.reading import read_in_order
from covington.display import drawing, drawing_text, report
from covington.display.trees import Tree, trees
from covington.errors import DataError, OptionError
from covington.evaluation.alignment import align

EXAMPLE = (
    "  covington draw parsed.conllu --sent-id s-12\n"
    "  covington draw parsed.conllu --gold gold.conllu --limit 20 -o trees.html"
)

_IN_TEXT, _IN_PAGE = 10, 100  # trees that are drawn if nobody says how many


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", metavar="INPUT", help="trees in CoNLL-U or Parquet")
    parser.add_argument("--gold", metavar="FILE", help="the right trees of the same sentences")
    parser.add_argument(
        "--sent-id", action="append", metavar="ID", help="draw this sentence (may be repeated)"
    )
    parser.add_argument("--errors", action="store_true", help="only sentences that differ from gold")
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help=f"draw at most so many ({_IN_TEXT} as text, {_IN_PAGE} in a page)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="a file ending in .svg (one tree) or .html")


def run(arguments: argparse.Namespace) -> int:
    if arguments.errors and not arguments.gold:
        raise OptionError("--errors needs --gold")
    if arguments.limit is not None and arguments.limit < 1:
        raise OptionError(f"--limit must be at least 1, not {arguments.limit}")
    output = arguments.output
    if output is not None and not output.endswith((".svg", ".html")):
        raise OptionError(f"{output}: draw writes .svg and .html")
    usual = _IN_TEXT if output is None else _IN_PAGE
    limit = 1 if output is not None and output.endswith(".svg") else arguments.limit or usual
    wanted = dict.fromkeys(arguments.sent_id or ())  # ids that were not met yet
    found = chosen_trees(arguments, wanted)
    chosen = list(itertools.islice(found, limit))
    more = next(found, None) is not None
    if wanted and not more:
        raise DataError(f"no sentence with id {' or '.join(wanted)} to draw", source=arguments.input)
    if not chosen:
        if not arguments.errors:
            raise DataError("no sentence to draw", source=arguments.input)
        print("no sentence differs from gold", file=sys.stderr)
        return 0
    if output is None:
        print("\n".join(as_text(tree, gold) for tree, gold in chosen), end="")
    elif output.endswith(".svg"):
        report.write(output, drawing.svg(*chosen[0], standalone=True) + "\n")
    else:
        report.write(output, drawing.html(chosen))
    if more:
        first = "the first tree" if len(chosen) == 1 else f"the first {len(chosen):,} trees"
        place = "" if output is None else f" to {output}"
        hint = "--sent-id ID draws another" if limit == 1 else "--limit N draws more"
        print(f"drew {first}{place}; {hint}", file=sys.stderr)
    return 0


def chosen_trees(
    arguments: argparse.Namespace, wanted: dict[str, None]
) -> Iterator[tuple[Tree, Tree | None]]:
    """The sentences asked for, with gold if given, in the order of the file; ids that are met are no longer wanted.

    Of each id there is the first sentence (the first with an error, with --errors), and nothing is read after the last.
    """
    undrawn = set(wanted)
    for tree, gold in _pairs(arguments.input, arguments.gold):
        if arguments.sent_id and tree.sent_id not in undrawn:
            continue
        wanted.pop(tree.sent_id or "", None)
        if arguments.errors and gold is not None and _same(tree, gold):
            continue
        yield tree, gold
        undrawn.discard(tree.sent_id or "")
        if arguments.sent_id and not undrawn:
            return


def _pairs(path: str, gold: str | None) -> Iterator[tuple[Tree, Tree | None]]:
    if gold is None:
        for batch in read_in_order(path):
            yield from ((tree, None) for tree in trees(batch))
    else:
        for right, batch in align(read_in_order(gold), read_in_order(path), path):
            yield from zip(trees(batch), trees(right), strict=True)


def _same(tree: Tree, gold: Tree) -> bool:
    return (tree.heads, tree.labels) == (gold.heads, gold.labels)


def as_text(tree: Tree, gold: Tree | None) -> str:
    """A tree for the terminal under its id and text."""
    about = [f"# {part}" for part in (tree.sent_id, tree.text) if part]
    return "\n".join([*about, drawing_text.draw(tree, gold)])
