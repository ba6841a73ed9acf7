"""Turn CoNLL-U into Parquet, Parquet into CoNLL-U, or either into itself, losing nothing.

INPUT is CoNLL-U (plain, gzip, bzip2, xz or zstd), Parquet, a folder of such files or a glob; `-` is CoNLL-U
from standard input. OUTPUT ends in .parquet or .conllu (.conllu.gz, .bz2, .xz, .zst compress), or is `-`.
What reading evens out: line ends become LF, a byte order mark and repeated blank lines go.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from covington.base.progress import many
from covington.base.text import printable
from covington.corpus.columns import word_counts
from covington.corpus.parquet.tables import parse_columns, write_parquet
from covington.corpus.reading import is_parquet, read_sentences
from covington.corpus.reject_file import reject_file
from covington.corpus.rejecting import RejectSink
from covington.corpus.rejects import reject_batch, rejects_in
from covington.corpus.writing import formatted, write_texts
from covington.errors import NothingReadError, OptionError
from covington.files.listing import REJECTS, distinct, is_sentence_file, keep_apart, local_files

EXAMPLE = """  covington convert corpus.conllu.gz -o corpus.parquet
  covington convert parsed/ -o parsed.conllu
  zcat a.conllu.gz b.conllu.gz | covington convert - -o both.parquet"""

_SHOWN = 10  # rejects told one by one; all of them are in the file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="files, folders or globs, each file read once; - is standard input",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUTPUT", help="a file, or - for CoNLL-U to standard output"
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop at the first sentence that cannot be read"
    )
    parser.add_argument(
        "--rejects",
        metavar="FILE",
        help="Parquet file for sentences that cannot be read (OUTPUT.rejects.parquet)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    files = distinct(file for name in arguments.inputs for file in _files(name))
    conversion = Conversion(arguments.strict, not arguments.json)
    rejects = arguments.rejects or ("" if arguments.output == "-" else arguments.output + REJECTS)
    keep_apart(files, [arguments.output, rejects])
    nothing: NothingReadError | None = None
    with ExitStack() as stack:
        if rejects:
            conversion.sink = stack.enter_context(reject_file(rejects))
        try:
            if arguments.output.endswith(".parquet"):
                columns = parse_columns(filter(is_parquet, files))
                write_parquet(conversion.batches(files), arguments.output, columns)
            else:
                write_texts(conversion.texts(files), arguments.output)
        except NothingReadError as error:  # rejects are kept, and so is an earlier output
            nothing = error
    facts = {
        "output": arguments.output,
        "sentences": conversion.sentences,
        "words": conversion.words,
        "rejects": conversion.rejects,
        "rejects_file": rejects if rejects and conversion.rejects else None,
    }
    _report(facts, arguments)
    if nothing is not None:
        raise nothing
    return 0


class Conversion:
    """Reads the inputs one after the other and counts what goes by."""

    def __init__(self, strict: bool, tell: bool) -> None:
        self.strict, self.tell = strict, tell
        self.sentences = self.words = self.rejects = 0
        self.sink: RejectSink | None = None
        self.first = ""  # what is wrong with the first reject

    def batches(self, files: list[str]) -> Iterator[pa.RecordBatch]:
        """The sentences of all files, for Parquet."""
        for batch in self._read(files):
            self._count(batch)
            yield batch
        self._want_some()

    def texts(self, files: list[str]) -> Iterator[pa.Buffer]:
        """The sentences of all files as CoNLL-U, which not every row of a table can be."""
        for batch in self._read(files):
            text, good, bad = formatted(batch)
            if bad and self.strict:
                raise bad[0].error
            if bad:
                self.rejected(reject_batch(bad))
            self._count(good)
            yield text
        self._want_some()

    def rejected(self, rejects: pa.RecordBatch, /) -> None:
        for reject in rejects_in(rejects.slice(0, max(0, _SHOWN - self.rejects))):
            self.first = self.first or str(reject.error)
            if self.tell:
                print(printable(str(reject.error)), file=sys.stderr)
        self.rejects += rejects.num_rows
        if self.sink is not None:
            self.sink(rejects)

    def _read(self, files: list[str]) -> Iterator[pa.RecordBatch]:
        for name in files:
            yield from read_sentences(name, strict=self.strict, rejects=self.rejected)

    def _count(self, batch: pa.RecordBatch) -> None:
        self.sentences += batch.num_rows
        self.words += int(word_counts(batch).sum())

    def _want_some(self) -> None:
        if self.rejects and not self.sentences:
            raise NothingReadError(f"no sentence could be read; the first: {self.first}")


def _files(name: str) -> list[str]:
    """The files that a file, folder or glob stands for."""
    return [name] if name == "-" else local_files(name)


def _check(arguments: argparse.Namespace) -> None:
    if not is_sentence_file(arguments.output):
        raise OptionError(
            f"OUTPUT must end in .parquet or .conllu (.gz, .bz2, .xz, .zst), or be -; not {arguments.output!r}"
        )


def _report(facts: dict[str, Any], arguments: argparse.Namespace) -> None:
    to_stdout = arguments.output == "-"
    if arguments.json:
        print(json.dumps(facts, sort_keys=True), file=sys.stderr if to_stdout else sys.stdout)
        return
    if not to_stdout and (facts["sentences"] or not facts["rejects"]):
        print(
            f"{many(facts['sentences'], 'sentence')}, {many(facts['words'], 'word')} to {facts['output']}",
            file=sys.stderr,
        )
    if facts["rejects"]:
        kept = facts["rejects_file"]
        where = f"see {kept}" if kept else "--rejects FILE keeps them, --strict stops at the first"
        print(f"{many(facts['rejects'], 'sentence')} could not be read: {where}", file=sys.stderr)
