"""Parses a stream to one file, in input order and with flat memory: the same functions without a graph."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from covington.base.progress import Progress
from covington.corpus.conllu.overlong import Endless
from covington.corpus.conllu.reader import sentences_and_lines
from covington.corpus.formats import format_of, is_text
from covington.corpus.parquet import tables as parquet
from covington.corpus.parquet.tables import write_parquet
from covington.corpus.reject_file import reject_file
from covington.corpus.rejecting import RejectSink
from covington.corpus.rejects import reject_batch
from covington.corpus.writing import write_texts
from covington.engine.blocks import byte_blocks, check_unchanged, file_kind
from covington.engine.shards import Report, Shard
from covington.engine.work import DEFAULTS, ParseOptions, as_conllu, parse_shard, parse_text, rejected
from covington.errors import NothingReadError, OptionError
from covington.files.compression import decompressed
from covington.files.listing import is_local, is_sentence_file, keep_apart, real
from covington.files.storage import (
    InputFile,
    is_folder,
    list_inputs,
    open_raw,
    put,
    readable,
    whole_file,
)
from covington.parsing.parser import Parser
from covington.schemas import PARSE, SENTENCE
from covington.segmentation.stream import SegmentStream

_BLOCK = 2 << 20  # bytes that one thread reads and parses at a time
_FROM_PIPE = 1 << 20  # less, so that the first trees come soon
_ROWS = 4_096  # of a table
_TEXT_PIECE = 256 << 10  # bytes of text that are cut into sentences at a time


class Job(NamedTuple):
    """Some sentences to be parsed, and how many bytes of the inputs have been read when it has them."""

    parse: Callable[[], Shard]
    read: int = 0


class Done(NamedTuple):
    """Parsed sentences, also as CoNLL-U if that is what is written."""

    shard: Shard
    read: int
    text: pa.Buffer | None = None


def is_one_file(output: str) -> bool:
    """Whether an OUTPUT is the name of one file, or of standard output, and not of a folder."""
    if is_sentence_file(output):
        if is_local(output) and Path(output).is_dir():
            raise OptionError(f"{output} is a folder, though its name is that of one file")
        return True
    if (
        is_local(output)
        and Path(output).exists()
        and not Path(output).is_file()
        and not Path(output).is_dir()
    ):
        raise OptionError(f"{output} is neither a file nor a folder; -o - writes to standard output")
    ending = re.search(r"[^/](\.[A-Za-z]\w*)$", output)
    if ending and not (is_local(output) and Path(output).is_dir()):
        raise OptionError(
            f"{output} is not written as {ending[1]}: a file ends in .parquet or .conllu (.gz, .bz2, .xz, .zst), and"
            f" {output}/ is a folder"
        )
    return False


@dataclass
class ParseStream:
    """Inputs, one after the other, to one output file; `-` is standard input or output."""

    inputs: Sequence[str]
    output: str
    options: ParseOptions = DEFAULTS
    threads: int = 1
    strict: bool = False
    rejects: str | None = None  # a Parquet file for rejected sentences, made if there are any
    source_format: str | None = None  # of formats.FORMATS, or None to find out
    lines: str = "paragraph"  # what a line of plain text is part of: segmenter.LINES

    # after the run: which sentence was the first that could not be read, and what is wrong with it
    first_reject: str | None = field(default=None, init=False)

    def run(self, parser: Parser, progress: Progress | None = None) -> Report:
        """Read, parse and write; blocks are parsed by several threads and written in their order."""
        if "-" in self.inputs and len(self.inputs) > 1:
            raise OptionError("standard input cannot be joined with other inputs")
        if self.rejects is not None and real(self.rejects) == real(self.output):
            raise OptionError(f"sentences and rejects cannot both go to {self.output}")
        files = [] if "-" in self.inputs else list_inputs(self.inputs)
        for place in (self.output, self.rejects):
            if place is not None and is_folder(place):
                raise OptionError(f"{place} is a folder, though its name is that of one file")
        keep_apart([file.name for file in files], [self.output, self.rejects])
        report = Report()

        def parsed(keep: RejectSink) -> Iterator[Done]:
            nonlocal report
            for one in self._in_order(self._jobs(files, parser)):
                shard = one.shard
                if self.strict and shard.rejects.num_rows:
                    raise rejected(shard.rejects)
                keep(shard.rejects)
                done = replace(shard.report(), shards=0)  # one file has none
                report += done
                if progress:
                    progress.add(done.tokens, one.read / whole if whole else None)
                if shard.rejects.num_rows and self.first_reject is None:
                    self.first_reject = str(rejected(shard.rejects))
                yield one
            if report.rejects and not report.sentences:
                raise NothingReadError(f"no sentence could be read; the first: {self.first_reject}")

        whole = sum(file.size for file in files)
        nothing: NothingReadError | None = None
        with self._reject_file() as keep:
            try:
                self._write(parsed(keep))
            except NothingReadError as error:  # rejects are kept, and so is an earlier output
                nothing = error
        if nothing is not None:
            raise NothingReadError(f"{nothing} (see {self.rejects})" if self.rejects else str(nothing))
        return report

    def _reject_file(self) -> AbstractContextManager[RejectSink]:
        if self.rejects is None:
            return nullcontext(_forget)
        return reject_file(self.rejects, whole_file)

    def _write(self, parsed: Iterator[Done]) -> None:
        def write(path: str | Path) -> None:
            if self.output.endswith(".parquet"):
                write_parquet((done.shard.sentences for done in parsed), path, PARSE.names)
            else:
                write_texts((done.text for done in parsed if done.text is not None), path)

        if self.output == "-" or is_local(self.output):
            write(self.output)
        else:
            put(write, self.output)

    def _in_order(self, jobs: Iterator[Job]) -> Iterator[Done]:
        """Results in the order of the jobs, with a few under way at any time; what is ready comes with the next job."""
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[Done]] = deque()
            try:
                for job in jobs:
                    waiting.append(pool.submit(self._done, job))
                    while waiting and (len(waiting) > 2 * self.threads or waiting[0].done()):
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _done(self, job: Job) -> Done:
        shard = job.parse()
        if self.output.endswith(".parquet"):
            return Done(shard, job.read)
        text, shard = as_conllu(shard)
        return Done(shard, job.read, text)

    def _jobs(self, files: list[InputFile], parser: Parser) -> Iterator[Job]:
        options = replace(self.options, threads=1)
        if "-" in self.inputs:
            for parse in self._stream_jobs(sys.stdin.buffer, "-", _FROM_PIPE, parser, options):
                yield Job(parse)
        before = 0
        for file in files:
            if file_kind(file) == "parquet":
                for parse, part in _row_jobs(file, parser, options):
                    yield Job(parse, before + round(part * file.size))
            else:
                with readable(file.path), open_raw(file.path) as raw:
                    counted = _Counted(raw)
                    for parse in self._stream_jobs(counted, file.name, _BLOCK, parser, options):
                        yield Job(parse, before + counted.count)
            check_unchanged(file)
            before += file.size

    def _stream_jobs(
        self, raw: IO[bytes] | _Counted, name: str, block: int, parser: Parser, options: ParseOptions
    ) -> Iterator[Callable[[], Shard]]:
        pieces = decompressed(raw, name)  # type: ignore[arg-type]
        opening = next(pieces, b"")
        pieces = chain((opening,), pieces)
        text = self.source_format == "text" if self.source_format else is_text(name, opening)
        if not text:
            return _sentence_jobs(pieces, name, block, parser, options)
        if parser.segmenter is None:
            if self.source_format is None and format_of(name) is None:
                return _sentence_jobs(pieces, name, block, parser, options)  # whose rejects say what is wrong
            raise OptionError(
                f"{name} is plain text, and the model needs words with tags: give --model one that was trained with"
                " `covington train --engine network`"
            )
        return _segmented_jobs(pieces, parser.segmenter.open(name, lines=self.lines), parser, options)


def _segmented_jobs(
    pieces: Iterator[bytes], stream: SegmentStream, parser: Parser, options: ParseOptions
) -> Iterator[Callable[[], Shard]]:
    """Text is cut into sentences as it is read; what comes of a piece is parsed while the next is read."""
    for piece in chain(pieces, (None,)):
        for start in range(0, len(piece) if piece is not None else 1, _TEXT_PIECE):
            batches = stream.finish() if piece is None else stream.feed(piece[start : start + _TEXT_PIECE])
            rejects = stream.take_rejects()
            if rejects and not batches:
                batches = [pa.RecordBatch.from_pylist([], SENTENCE)]
            for batch in batches:
                found = Shard(0, 0, batch, reject_batch(rejects), batch.num_rows + len(rejects))
                rejects = []
                yield partial(parse_shard, found, parser, options)


def _sentence_jobs(
    pieces: Iterator[bytes], name: str, block: int, parser: Parser, options: ParseOptions
) -> Iterator[Callable[[], Shard]]:
    position, line = 0, 1
    for data in byte_blocks(pieces, block):
        counted, lines = (1, data.lines) if isinstance(data, Endless) else sentences_and_lines(data)

        def parse(
            data: bytes | Endless = data, position: int = position, line: int = line, counted: int = counted
        ) -> Shard:
            sentences, rejects = parse_text(data, name, position, line)
            return parse_shard(Shard(0, 0, sentences, rejects, counted), parser, options)

        yield parse
        position += counted
        line += lines


def _row_jobs(
    file: InputFile, parser: Parser, options: ParseOptions
) -> Iterator[tuple[Callable[[], Shard], float]]:
    """With each, what part of the file has been read then."""
    position = 0
    with readable(file.path), open_raw(file.path) as raw:
        found = pq.ParquetFile(raw)
        rows, others = found.metadata.num_rows, parquet.left_out(found.schema_arrow)
        for batch in parquet.rows(raw, file.name, _ROWS):
            sentences, bad = parquet.sound_rows(batch, file.name, position)
            shard = Shard(0, 0, sentences, reject_batch(bad), batch.num_rows, left_out=others)
            position += batch.num_rows
            yield partial(parse_shard, shard, parser, options), min(position / max(rows, 1), 1.0)


def _forget(rejects: pa.RecordBatch, /) -> None:
    """They are counted, and nobody asked for a file."""


class _Counted:
    """A stream, and how much was read from it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.count = raw, 0

    def read(self, size: int = -1) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data
