"""ReadSentences: files, folders and globs on any filesystem become shards of Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq

from covington import parquet
from covington.conllu import parse_bytes
from covington.conllu_rejects import reject_batch
from covington.errors import DataError, OptionError
from covington.pipelines import blocks
from covington.pipelines.blocks import BLOCK_BYTES, BLOCK_ROWS, Block, Count
from covington.pipelines.shards import Shard
from covington.pipelines.storage import list_inputs, open_raw, readable
from covington.schemas.conform import conform

Task = tuple[Block, ...]  # blocks that have to be read one after the other


@dataclass
class ReadSentences(beam.PTransform):  # type: ignore[misc]
    """Inputs → a PCollection of Shard.

    `inputs` are files, folders or globs of CoNLL-U (plain or compressed) or Parquet. One large CoNLL-U
    file is read by all workers, 16 MB at a time; a compressed file by one worker. The shards and their
    numbers are the same on every runner.

    >>> import apache_beam as beam
    >>> from covington import models
    >>> from covington.pipelines import ReadSentences
    >>> with beam.Pipeline(runner="FnApiRunner") as pipeline:
    ...     shards = pipeline | ReadSentences(str(models.sample()))
    ...     _ = shards | beam.Map(lambda shard: print(shard.name, shard.sentences.num_rows))
    shard-00000-of-00001 42
    """

    inputs: str | Sequence[str]
    block_bytes: int = BLOCK_BYTES
    skip: frozenset[int] = frozenset()  # numbers of shards that are not wanted
    strict: bool = False  # the first sentence that is not well-formed ends the job

    def __post_init__(self) -> None:
        super().__init__()
        if self.block_bytes < 1:
            raise OptionError(f"block_bytes must be at least 1, not {self.block_bytes}")
        self.files = list_inputs([self.inputs] if isinstance(self.inputs, str) else list(self.inputs))

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[Shard]:
        return (
            pipeline
            | "ListFiles" >> beam.Create(self.files)
            | "CutFiles" >> beam.FlatMap(blocks.cut, self.block_bytes)
            | "ShareOutPieces" >> beam.Reshuffle()
            | "CountSentences" >> beam.FlatMap(blocks.count, self.block_bytes)
            | "BringCountsTogether" >> beam.combiners.ToList()
            | "NumberBlocks" >> beam.FlatMap(tasks, self.skip)
            | "ShareOutBlocks" >> beam.Reshuffle()
            | "ReadBlocks" >> beam.FlatMap(read, self.block_bytes, self.strict)
        )


def tasks(counts: Iterable[Count], skip: frozenset[int] = frozenset()) -> Iterator[Task]:
    """What one worker reads at a time: a block, or all blocks of a file that cannot be entered midway."""
    for _, group in groupby(blocks.number(counts), key=lambda block: block.piece):
        task = tuple(group)
        if any(block.shard not in skip for block in task):
            yield tuple(block for block in task if block.shard not in skip)


def read(task: Task, block_bytes: int = BLOCK_BYTES, strict: bool = False) -> Iterator[Shard]:
    """Read the blocks of a task, and see to it that they hold what was counted."""
    piece = task[0].piece
    found: Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]
    if piece.kind == "conllu":
        data: Iterable[bytes] = map(blocks.read_block, task)
        found = (
            parse_bytes(one, block.source, block.position, block.line)
            for one, block in zip(data, task, strict=True)
        )
    elif piece.kind == "parquet":
        found = _read_rows(task)
    else:
        found = _read_compressed(task, block_bytes)
    for block, (sentences, rejects) in zip(task, found, strict=True):
        if sentences.num_rows + rejects.num_rows != block.sentences:
            raise blocks.changed(piece.file)
        if strict and rejects.num_rows:
            raise rejected(rejects)
        yield Shard(block.shard, block.shards, sentences, rejects, block.sentences)


def _read_compressed(task: Task, block_bytes: int) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    wanted = {block.part: block for block in task}
    last = max(wanted)
    for part, data in enumerate(blocks.decompressed_blocks(task[0].piece, block_bytes)):
        block = wanted.get(part)
        if block is not None:
            if len(data) != block.end - block.start:
                raise blocks.changed(block.piece.file)
            yield parse_bytes(data, block.source, block.position, block.line)
        if part == last:
            return
    raise blocks.changed(task[0].piece.file)


def _read_rows(task: Task) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    piece = task[0].piece
    wanted = {block.part: block for block in task}
    with readable(piece.file.path), open_raw(piece.file.path) as raw:
        file = pq.ParquetFile(raw, page_checksum_verification=True)
        for part, batch in enumerate(parquet.rows(file, piece.file.path, BLOCK_ROWS, [piece.start])):
            block = wanted.get(part)
            if block is not None:
                whole = conform(batch, piece.file.path, block.position)
                good, bad = parquet.sorted_out(whole, piece.file.path, block.position)
                yield good, reject_batch(bad)


def rejected(rejects: pa.RecordBatch) -> DataError:
    """The error for the first of some rejected sentences."""
    first = rejects.slice(0, 1).to_pylist()[0]
    return DataError(first["reason"], source=first["source"], line=first["line"], sent_id=first["sent_id"])
