"""What is done to one shard, without a word of Beam: read it, parse it, write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa
import pyarrow.parquet as pq

from covington._version import __version__
from covington.corpus.conllu.overlong import REASON, Endless
from covington.corpus.conllu.reader import parse_bytes
from covington.corpus.parquet import tables as parquet
from covington.corpus.rejects import Reject, reject_batch, rejects_in
from covington.corpus.writing import formatted
from covington.engine import blocks
from covington.engine.blocks import BLOCK_BYTES, Block, Count
from covington.engine.shards import Report, Shard
from covington.errors import CovingtonError, DataError, OptionError
from covington.files.listing import within
from covington.files.storage import (
    facts,
    files_in,
    join,
    open_raw,
    read_json,
    readable,
    remove_folder,
    sizes_in,
    whole_file,
    write_json,
)
from covington.parsing.parser import Parser, Statistics

Task = tuple[Block, ...]  # blocks that have to be read one after the other

FORMATS = ("parquet", "conllu")
REJECTS = "_rejects"  # a leading underscore: tools that read the folder as a dataset pass over it
WORK = "_work"
JOB = "_job.json"
SUMMARY = "_summary.json"
SEEN_BY_ALL = "all workers and the machine that submits must see the folder by this name"
_AT_A_TIME = 16  # small files that are read
_SHARD = re.compile(rf"shard-\d{{5,}}-of-\d{{5,}}\.({'|'.join(FORMATS)})")


@dataclass(frozen=True)
class ParseOptions:
    """How to parse: what Parser.parse takes besides the batch."""

    threads: int = 1  # of each worker process, for each batch
    single_root: bool | None = None  # as the model's training data
    max_length: int | None = None
    confidence: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise OptionError(f"threads must be at least 1, not {self.threads}")
        if self.max_length is not None and self.max_length < 1:
            raise OptionError(f"max_length must be at least 1, not {self.max_length}")


DEFAULTS = ParseOptions()


def tasks(counts: Iterable[Count], skip: frozenset[int] = frozenset()) -> Iterator[Task]:
    """What one worker reads at a time: a block, or all blocks of a file that cannot be entered midway."""
    for _, group in groupby(blocks.number(counts), key=lambda block: block.piece):
        task = tuple(group)
        if any(block.shard not in skip for block in task):
            yield tuple(block for block in task if block.shard not in skip)


def read_task(task: Task, block_bytes: int = BLOCK_BYTES, strict: bool = False) -> Iterator[Shard]:
    """Read the blocks of a task, and see to it that they hold what was counted."""
    piece = task[0].piece
    found: Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]
    others: frozenset[str] = frozenset()
    if piece.kind == "conllu":
        found = (
            parse_text(blocks.read_block(block), block.source, block.position, block.line) for block in task
        )
    elif piece.kind == "parquet":
        footer = blocks.footer_of(piece.file)
        found = _read_rows(task, footer)
        with readable(piece.file.path):
            others = parquet.left_out(footer.schema.to_arrow_schema())
    else:
        found = _read_compressed(task, block_bytes)
    for block, (sentences, rejects) in zip(task, found, strict=True):
        if sentences.num_rows + rejects.num_rows != block.sentences:
            raise blocks.changed(piece.file)
        blocks.check_unchanged(piece.file)
        if strict and rejects.num_rows:
            raise rejected(rejects)
        yield Shard(block.shard, block.shards, sentences, rejects, block.sentences, left_out=others)


def _read_compressed(task: Task, block_bytes: int) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    wanted = {block.part: block for block in task}
    last = max(wanted)
    for part, data in enumerate(blocks.decompressed_blocks(task[0].piece, block_bytes)):
        block = wanted.get(part)
        if block is not None:
            if len(data) != block.end - block.start:
                raise blocks.changed(block.piece.file)
            yield parse_text(data, block.source, block.position, block.line)
        if part == last:
            return
    raise blocks.changed(task[0].piece.file)


def _read_rows(task: Task, footer: pq.FileMetaData) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    piece = task[0].piece
    wanted = {block.part: block for block in task}
    last = max(wanted)
    with readable(piece.file.path), open_raw(piece.file.path) as raw:
        found = parquet.rows(
            raw,
            piece.file.name,
            blocks.BLOCK_ROWS,
            [piece.start],
            metadata=footer,
            step=task[0].step,
        )
        for part, batch in enumerate(found):
            block = wanted.get(part)
            if block is not None:
                good, bad = parquet.sound_rows(batch, piece.file.name, block.position)
                yield good, reject_batch(bad)
            if part == last:
                return
    raise blocks.changed(piece.file)


def parse_text(
    data: bytes | Endless, source: str, position: int, line: int
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The sentences of a block of CoNLL-U, and those that had to be rejected."""
    if isinstance(data, Endless):
        reject = Reject(source, line, position, None, REASON, data.raw)
        return parse_bytes(b"", source)[0], reject_batch([reject])
    sentences, rejects = parse_bytes(data, source, position, line)
    return sentences, rejects


def rejected(rejects: pa.RecordBatch) -> DataError:
    """The error for the first of some rejected sentences."""
    return rejects_in(rejects.slice(0, 1))[0].error


def parse_shard(shard: Shard, parser: Parser, options: ParseOptions = DEFAULTS) -> Shard:
    """Parse the sentences of one shard."""
    statistics = Statistics()
    parsed = parse_batch(shard.sentences, parser, options, statistics)
    return replace(shard, sentences=parsed, statistics=statistics, model=parser.checksum)


def parse_batch(
    sentences: pa.RecordBatch, parser: Parser, options: ParseOptions, statistics: Statistics | None = None
) -> pa.RecordBatch:
    """Parse one batch as the options say."""
    return parser.parse(
        sentences,
        threads=options.threads,
        single_root=options.single_root,
        max_length=options.max_length,
        confidence=options.confidence,
        statistics=statistics,
    )


def write_shard(
    shard: Shard, folder: str, format: str = "parquet", job: str | None = None, strict: bool = False
) -> Report:
    """Write the files of one shard, then the mark that it is done, and report; not into the folder of another job."""
    check_job(folder, job)
    text: pa.Buffer | None = None
    if format == "conllu":
        text, shard = as_conllu(shard, strict)
    report = shard.report()
    work = join(folder, WORK)
    names = [f"{shard.name}.{format}"]
    with whole_file(join(folder, names[0]), work) as file:
        if text is None:
            parquet.write_to([shard.sentences], file)
        else:
            file.write(text)
    if shard.rejects.num_rows:
        names.append(f"{REJECTS}/{shard.name}.parquet")
        with whole_file(join(folder, names[1]), work) as file:
            pq.write_table(pa.table(shard.rejects), file, compression="zstd")
    sizes = {name: facts(join(folder, name))[0] for name in names}
    write_json(done_mark(folder, shard.number), report.to_dict() | {"files": sizes}, work)
    return report


def as_conllu(shard: Shard, strict: bool = False) -> tuple[pa.Buffer, Shard]:
    """The sentences as CoNLL-U, and the shard with those that it cannot hold among its rejects."""
    text, good, bad = formatted(shard.sentences)
    if not bad:
        return text, shard
    rejects = pa.Table.from_batches([shard.rejects, reject_batch(bad)]).combine_chunks().to_batches()[0]
    if strict:
        raise rejected(rejects.slice(shard.rejects.num_rows))
    return text, replace(shard, sentences=good, rejects=rejects)


def check_job(folder: str, job: str | None) -> None:
    """See to it that a folder still belongs to a job; None is no job that could lose it."""
    if job is None:
        return
    found = read_json(join(folder, WORK, "job.json"))
    if found is None:
        raise CovingtonError(
            f"another job has finished {folder} meanwhile, or it is not seen here: {SEEN_BY_ALL}"
        )
    if found.get("job") != job:
        raise CovingtonError(f"another job has taken {folder} meanwhile")


def name_job(folder: str, job: str) -> None:
    """Give a folder to a job. Every shard looks for the name, so the file has nothing else in it."""
    write_json(join(folder, WORK, "job.json"), {"job": job})


def is_ours(path: str, folder: str) -> bool:
    """Whether a file is one that a job made in an output folder."""
    if not path.startswith(within(folder)):
        return False
    name = _name_in(folder, path)
    return (
        name.startswith(f"{WORK}/")
        or name in (JOB, SUMMARY)
        or _SHARD.fullmatch(name.removeprefix(f"{REJECTS}/")) is not None
    )


def _name_in(folder: str, path: str) -> str:
    return path.removeprefix(within(folder))


def _shards_in(folder: str) -> list[str]:
    return [path for path in files_in(folder) if _SHARD.fullmatch(_name_in(folder, path))]


def finished_report(folder: str) -> Report | None:
    """The report of the job that has filled a folder, if all its shards are still there."""
    summary = read_json(join(folder, SUMMARY))
    if summary is None:
        return None
    report = Report.from_dict(summary)
    return report if len(_shards_in(folder)) == report.of else None


def first_reject(folder: str) -> DataError:
    """The error for the first of the sentences that a job has rejected."""
    path = next(path for path in files_in(join(folder, REJECTS)) if is_ours(path, folder))
    with readable(path), open_raw(path) as file:
        return rejected(next(pq.ParquetFile(file).iter_batches(batch_size=1)))


def close_folder(report: Report, folder: str) -> Report:
    """Say in the folder that all shards are there, and remove what was needed on the way.

    The summary is written before anything is removed: whoever is interrupted here has finished the job.
    """
    shards = _shards_in(folder)
    if report.shards > report.of:
        raise CovingtonError(f"{folder} is not complete: it was given the shards of several ReadSentences")
    if not report.adds_up or len(shards) != report.of:
        raise CovingtonError(
            f"{folder} is not complete: of {report.counted} sentences {report.sentences} came out,"
            f" {report.rejects} were rejected, in {report.shards} of {report.of} shards"
        )
    write_json(join(folder, SUMMARY), report.to_dict() | {"version": __version__})
    remove_folder(join(folder, WORK))
    return report


def done_mark(folder: str, number: int) -> str:
    """The file that says that a shard is complete; a job that is taken up again looks for these."""
    return join(folder, WORK, f"done-{number:05d}.json")


def read_mark(path: str) -> tuple[int, Report]:
    """The number of a shard and its report, from its mark."""
    return _number_of(path), Report.from_dict(read_json(path))


def _number_of(mark: str) -> int:
    return int(mark.rpartition("done-")[2].removesuffix(".json"))


def done_shards(folder: str) -> dict[int, Report]:
    """The shards that are done and there as they were written; what is changed or gone has to be made again."""
    sizes = sizes_in(folder)
    start = join(folder, WORK, "done-")
    marks = [path for path in sizes if path.startswith(start) and path.endswith(".json")]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:  # elsewhere every one of them takes its time
        return {
            _number_of(path): Report.from_dict(mark)
            for path, mark in zip(marks, pool.map(read_json, marks), strict=True)
            if all(sizes.get(join(folder, name)) == size for name, size in mark["files"].items())
        }
