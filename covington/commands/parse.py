"""Parse text, CoNLL-U or Parquet: fill in what is missing, keep all else.

INPUT is a file, a folder or a glob, plain or compressed, local or on any filesystem that Beam knows;
`-` is standard input. Plain text (.txt) needs a model that reads it (`covington train --engine network`)
and one file as OUTPUT. An OUTPUT that ends in .conllu (also compressed), in .parquet, or that is `-`, is
one file in the order of the input. Any other OUTPUT is a folder of shards, made by a Beam pipeline on
all cores, or on a cluster with --runner. Sentences that cannot be read are kept, with the reason, in
OUTPUT.rejects.parquet or OUTPUT/_rejects/; with -o - only if --rejects FILE is given. Of Parquet the
columns that covington knows are kept, and the others are named at the end.

If INPUT is a folder, every file in it and below it is read whose name ends in .conllu, .conll or
.parquet, or in one of these and .gz, .bz2, .xz or .zst, in the order of the names, character by
character. Names that begin with . or _ are skipped, and so are output folders of earlier runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from covington import models
from covington._version import __version__
from covington.base.machine import cores
from covington.base.progress import Progress, clock, many
from covington.base.text import printable
from covington.commands.beam_options import add_beam_arguments, beam_flags, finished, prepare
from covington.corpus.formats import FORMATS, LINES, format_of
from covington.errors import CovingtonError, OptionError
from covington.files.listing import REJECTS
from covington.schemas import MOST_WORDS

if TYPE_CHECKING:
    from covington.engine.shards import Report
    from covington.engine.work import ParseOptions

EXAMPLE = """  covington parse corpus.conllu.gz -o parsed.conllu
  covington parse corpus/ -o parsed/ --model en_ewt
  covington parse book.txt -o trees.parquet --model mine.covington
  zcat corpus.conllu.gz | covington parse - -o - | less
  covington parse 'gs://bucket/corpus/*.conllu' -o gs://bucket/parsed --runner DataflowRunner ..."""

_COLUMNS = {"upos": "UPOS", "xpos": "XPOS", "feats": "FEATS", "lemmas": "LEMMA"}
_SHOWN = 5  # names of columns
_FEW = 0.01  # of the words may have a tag that is new, as any text has some
_NO_CONFIDENCE = "--confidence is kept in Parquet alone; CoNLL-U has no column for it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="files, folders or globs, each file read once; - is standard input",
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUTPUT", help="a file, a folder, or -")
    parser.add_argument(
        "--model",
        default=models.DEFAULT,
        help="a path, a URI or the name of a bundled model (%(default)s)",
    )
    parser.add_argument("--format", choices=("parquet", "conllu"), help="of the shards in a folder (parquet)")
    parser.add_argument(
        "--threads", type=int, default=0, metavar="N", help="threads on this machine (0: one per core)"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace the shards of an earlier job (one file is replaced without asking)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop at the first sentence that cannot be read"
    )
    parser.add_argument(
        "--rejects",
        metavar="FILE",
        help="Parquet file for sentences that cannot be read, when OUTPUT is one file",
    )
    parser.add_argument(
        "--max-length",
        type=int,
        metavar="N",
        help="leave longer sentences without a tree: HEAD is _, and Parquet has a flag",
    )
    parser.add_argument(
        "--roots",
        choices=("one", "many"),
        help="one: every sentence has exactly one root; many: any number (default: as the model's training data)",
    )
    parser.add_argument(
        "--confidence",
        action="store_true",
        help="keep by how much each arc beat the next best choice, in units of the model's weights (Parquet)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--progress",
        action="store_true",
        default=None,
        help="show it also where standard error is no terminal",
    )
    group = parser.add_argument_group("plain text")
    group.add_argument(
        "--from",
        dest="source_format",
        choices=FORMATS,
        help="what the inputs hold, where neither their names nor their first lines tell",
    )
    group.add_argument(
        "--lines",
        choices=LINES,
        default=LINES[0],
        help="what a line of text is: part of a paragraph that ends at a blank line, a sentence, or a document"
        " (%(default)s)",
    )
    add_beam_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    prepare(arguments)
    from covington.engine.streaming import is_one_file
    from covington.engine.work import ParseOptions

    if arguments.threads < 0:
        raise OptionError(f"--threads must be 0 (one per core) or more, not {arguments.threads}")
    options = ParseOptions(
        single_root=None if arguments.roots is None else arguments.roots == "one",
        max_length=arguments.max_length,
        confidence=arguments.confidence,
    )
    with Progress("parsing", show=arguments.progress) as progress:
        make = _one_file if is_one_file(arguments.output) else _folder
        report, first_reject = make(arguments, options, progress)
        seconds = progress.seconds
    _print_summary(report, first_reject, arguments, seconds)
    if report.rejects and not report.sentences:
        raise CovingtonError("no sentence could be read")
    did = report.statistics
    if did and did.sentences - did.unparsed == did.untagged > 0:
        raise CovingtonError(
            "no sentence has a part-of-speech tag that this model knows; `covington info` shows from which column it"
            " reads tags, and which ones it knows"
        )
    return 0


def _one_file(
    arguments: argparse.Namespace, options: ParseOptions, progress: Progress
) -> tuple[Report, str | None]:
    """What came of it, and the first sentence that could not be read."""
    from covington.engine.model import local_path
    from covington.engine.streaming import ParseStream
    from covington.files.remote import FILE_OPTIONS
    from covington.parsing.parser import Parser

    flags = beam_flags(arguments)
    if flags:
        from covington.pipelines.runner import Runner

        Runner(flags).check()
    for flag in flags:
        if flag.startswith("-") and not flag.startswith(FILE_OPTIONS):
            raise OptionError(f"{flag} needs a folder as OUTPUT; {arguments.output} is one file")
    if arguments.confidence and not arguments.output.endswith(".parquet"):
        raise OptionError(_NO_CONFIDENCE)
    format = "parquet" if arguments.output.endswith(".parquet") else "conllu"
    if arguments.format not in (None, format):
        raise OptionError(f"--format {arguments.format} is for a folder; {arguments.output} is {format}")
    stream = ParseStream(
        arguments.inputs,
        arguments.output,
        options,
        arguments.threads or cores(),
        arguments.strict,
        _rejects_place(arguments),
        arguments.source_format,
        arguments.lines,
    )
    report = stream.run(Parser.load(local_path(arguments.model)), progress)
    if report.counted != report.sentences + report.rejects:
        raise CovingtonError(
            f"{report.counted} sentences went in, {report.sentences} came out, {report.rejects} were rejected"
        )
    return report, stream.first_reject


def _folder(
    arguments: argparse.Namespace, options: ParseOptions, progress: Progress
) -> tuple[Report, str | None]:
    from covington.engine.work import first_reject
    from covington.pipelines.parse import ParseJob
    from covington.pipelines.runner import Runner

    for name in arguments.inputs:
        if arguments.source_format == "text" or format_of(name) == "text":
            raise OptionError(
                f"{name} is plain text, which is parsed to one file: -o trees.parquet or -o trees.conllu"
            )
    if arguments.rejects:
        raise OptionError("--rejects is for one file; a folder has its rejects in _rejects/")
    if arguments.confidence and arguments.format == "conllu":
        raise OptionError(_NO_CONFIDENCE)
    if "-" in arguments.inputs:
        raise OptionError("standard input can only be parsed to one file, as in -o parsed.conllu or -o -")
    job = ParseJob(
        inputs=arguments.inputs,
        folder=arguments.output,
        model=arguments.model,
        format=arguments.format or "parquet",
        options=options,
        overwrite=arguments.overwrite,
        strict=arguments.strict,
    )
    runner = Runner(beam_flags(arguments), arguments.threads, arguments.verbose)
    report = finished(lambda: job.run(runner, progress), progress.close)
    return report, str(first_reject(arguments.output)) if report.rejects else None


def _print_summary(
    report: Report, first_reject: str | None, arguments: argparse.Namespace, seconds: float
) -> None:
    from covington.engine.shards import EarlierReport

    if arguments.json:
        facts = report.to_dict() | {
            "version": __version__,
            "seconds": round(seconds, 3),
            "output": arguments.output,
            "was_finished": isinstance(report, EarlierReport),
        }
        print(json.dumps(facts, sort_keys=True), file=sys.stderr if arguments.output == "-" else sys.stdout)
        return
    warnings = [
        *_about_trees(report, arguments),
        *_about_columns(report, arguments),
        *_about_rejects(report, first_reject, arguments),
    ]
    if arguments.output == "-" and not warnings:
        return
    # of few words it would be the speed of starting up
    speed = f" ({report.tokens / seconds:,.0f} words/s)" if report.tokens >= 100_000 else ""
    made = f"{many(report.sentences, 'sentence')}, {many(report.tokens, 'word')}"
    summary = f"{made} in {clock(seconds)}{speed} to {arguments.output}"
    if isinstance(report, EarlierReport):
        summary = f"{arguments.output} was finished before: {made}; --overwrite parses them again"
    print("\n".join([summary, *warnings]), file=sys.stderr)


def _about_trees(report: Report, arguments: argparse.Namespace) -> Iterator[str]:
    """What makes trees worse than they could be, or keeps them from being made."""
    did = report.statistics
    if did is None:
        return
    if did.unparsed:
        longest = arguments.max_length or MOST_WORDS
        yield f"{many(did.unparsed, 'sentence')} of more than {longest:,} words came out without a tree"
    if did.untagged:
        yield f"{many(did.untagged, 'sentence')} without a tag that the model knows: expect wrong trees there"
    if empty := [column for column, words in did.filled.items() if not words and report.tokens]:
        is_better = arguments.model == models.DEFAULT and {"xpos", "feats"} & {*empty} and "upos" not in empty
        other = f"; --model {models.PLAIN} needs UPOS alone" if is_better else ""
        names = " or ".join(_COLUMNS[column] for column in empty)
        yield f"no word has {names}, which the model has learnt from: expect worse trees{other}"
    for column, words in did.unknown.items():
        if words > _FEW * did.filled[column]:
            yield (
                f"{words:,} of {many(did.filled[column], 'word')} have a tag in {_COLUMNS[column]} that the model"
                " does not know (`covington info` shows those that it knows): expect worse trees"
            )


def _about_columns(report: Report, arguments: argparse.Namespace) -> Iterator[str]:
    from covington.engine.streaming import is_one_file

    if names := sorted(report.left_out):
        shown = ", ".join(printable(name) for name in names[:_SHOWN]) + (", ..." if names[_SHOWN:] else "")
        to_shards = not is_one_file(arguments.output) and arguments.format != "conllu"
        is_parquet = arguments.output.endswith(".parquet") or to_shards
        hint = " (source and position tell the row)" if is_parquet else ""
        yield f"{many(len(names), 'column')} of the input left out{hint}: {shown}"


def _about_rejects(report: Report, first_reject: str | None, arguments: argparse.Namespace) -> Iterator[str]:
    if report.rejects:
        rejects = _rejects_place(arguments)
        where = f"see {rejects}" if rejects else "--rejects FILE keeps them, --strict stops at the first"
        yield f"{many(report.rejects, 'sentence')} could not be read: {where}"
        yield f"the first of them: {printable(str(first_reject))}"


def _rejects_place(arguments: argparse.Namespace) -> str | None:
    """The file or folder of the rejects."""
    from covington.engine.streaming import is_one_file

    if not is_one_file(arguments.output):
        return f"{arguments.output.rstrip('/')}/_rejects/"
    if arguments.output == "-":
        return str(arguments.rejects) if arguments.rejects else None
    return str(arguments.rejects or arguments.output + REJECTS)
