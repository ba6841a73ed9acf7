"""Sentences in Parquet: ours in a fixed shape and the same bytes every time, others' as far as they go."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from covington.arrow import arrays
from covington.corpus.parquet.footer import is_told, row_group_size, row_groups
from covington.corpus.parquet.row_groups import grouped
from covington.corpus.parquet.texts import written_out
from covington.corpus.parquet.unfolding import unfolded
from covington.corpus.rejecting import RejectSink, judged
from covington.corpus.rejects import TOO_MANY_WORDS, Reject
from covington.errors import DataError, OptionError
from covington.files.atomic import atomic_file
from covington.schemas import MOST_WORDS, PARSE, SENTENCE, VERSION, WORD_COLUMNS
from covington.schemas.conform import conform, require_tokens, unfit_heads, without_heads

_WITH_STATISTICS = ("sent_id", "source", "position", "line")  # of whole rows; nobody can skip lists by them
_WITH_DICTIONARY = ("source", "model", *(f"{name}.list.element" for name in (*WORD_COLUMNS, "flags")))
_TOGETHER = 1 << 22  # words read at a time
_BYTES = 1 << 27  # of them, as their columns say
_MOST_BYTES = 1 << 31  # of a sentence: what a column can hold of one
_KNOWN = frozenset(field.name for field in (*SENTENCE, *PARSE))
_NAMES, _LETTERS = 100, 100  # of columns that are left out
_SHOWN = 1_000  # entries of an overlong list that its reject keeps


def write_parquet(
    batches: Iterable[pa.RecordBatch] | pa.Table, path: str | os.PathLike[str], parsed: Collection[str] = ()
) -> None:
    """Write batches as Parquet: zstd, row groups of one size, page checksums; atomic and deterministic.

    The file has those columns of schemas.PARSE that the first batch has, and those named in `parsed`.
    """
    if isinstance(batches, pa.Table):
        batches = batches.to_batches()
    with atomic_file(path) as file:
        write_to(batches, file, parsed)


def write_to(batches: Iterable[pa.RecordBatch], file: IO[bytes], parsed: Collection[str] = ()) -> None:
    """Write batches as Parquet to a file that is open."""
    writer: pq.ParquetWriter | None = None
    schema = pa.schema([*SENTENCE, *(field for field in PARSE if field.name in parsed)])

    def conformed() -> Iterator[pa.RecordBatch]:
        nonlocal schema
        for batch in batches:
            one = conform(batch, parsed=parsed)
            schema = one.schema
            for column in one.columns:
                arrays.require_sound(column)
            yield one

    try:
        for table in grouped(conformed()):
            if writer is None:
                writer = _writer(file, table.schema)
            writer.write_table(table, row_group_size=table.num_rows)
            del table  # not to be held while the next one is made
            # what a row group leaves for the footer lies between what is free, which would grow and grow
            pa.default_memory_pool().release_unused()
        if writer is None:  # no sentences, but the same columns as where there are some
            writer = _writer(file, schema)
    finally:
        if writer is not None:
            writer.close()


def _writer(file: object, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        file,
        schema.with_metadata(SENTENCE.metadata),
        compression="zstd",
        version="2.6",
        use_compliant_nested_type=True,
        use_dictionary=list(_WITH_DICTIONARY),
        write_statistics=list(_WITH_STATISTICS),
        write_page_checksum=True,
    )


def read_parquet(
    path: str | os.PathLike[str],
    *,
    batch_size: int = 4096,
    strict: bool = False,
    rejects: RejectSink | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read Parquet with one row per sentence and parallel lists as batches of the SENTENCE schema.

    The columns may be of any string or list type, heads may be text, and only `tokens` must be there.
    A row whose lists do not fit together goes to `rejects` (its raw text is JSON), as in read_conllu.
    """
    if batch_size < 1:
        raise OptionError(f"batch_size must be at least 1, not {batch_size}")
    name = os.fspath(path)
    position = 0
    with judged(strict, rejects) as judge:
        for batch in _batches(name, batch_size):
            good, bad = sound_rows(batch, name, position)
            judge(bad)
            position += batch.num_rows
            if good.num_rows:
                yield good


def _batches(name: str, batch_size: int) -> Iterator[pa.RecordBatch]:
    try:
        with Path(name).open("rb") as file:
            yield from rows(file, name, batch_size)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"cannot be read as Parquet ({str(error).strip()})", source=name) from None


def parse_columns(paths: Iterable[str]) -> set[str]:
    """The columns of schemas.PARSE that any of some Parquet files has; who cannot be read is for others to tell."""
    found: set[str] = set()
    for path in paths:
        with contextlib.suppress(pa.ArrowException, OSError, UnicodeDecodeError):
            found.update(pq.read_schema(path).names)
    return found & {field.name for field in PARSE}


def left_out(schema: pa.Schema) -> frozenset[str]:
    """The first columns of a file that our schemas do not know: what is made of it will not have them."""
    others = (name for name in schema.names if name not in _KNOWN)
    return frozenset(name[:_LETTERS] for name in islice(others, _NAMES))


def rows(
    source: IO[bytes],
    name: str,
    batch_size: int,
    groups: list[int] | None = None,
    *,
    metadata: pq.FileMetaData | None = None,
    step: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The columns that the schemas know, of all row groups or of some.

    Batches have at most so many rows, and fewer where these would fill the memory: as `step` says, which was found by
    rows_at_a_time before, or as it finds now.
    """
    file = pq.ParquetFile(source, metadata=metadata, page_checksum_verification=True)
    str(file.schema_arrow)  # fails here if the names in it are no text
    version = (file.schema_arrow.metadata or {}).get(b"covington.schema", b"0")
    if not version.isdigit() or len(version) > 9 or int(version) > VERSION:
        shown = version[:20].decode("utf-8", "replace")
        raise DataError(f"its schema is version {shown}, this program knows {VERSION}", source=name)
    require_tokens(file.schema_arrow.names, name)
    columns = [column for column in file.schema_arrow.names if column in _KNOWN]
    if twice := {column for column in columns if columns.count(column) > 1}:
        raise DataError(f"it has two columns {min(twice)!r}", source=name)
    if step is None:
        step = rows_at_a_time(source, file.metadata, name, batch_size, groups)
    yield from file.iter_batches(batch_size=step, row_groups=groups, columns=columns, use_threads=False)


def rows_at_a_time(
    source: IO[bytes], metadata: pq.FileMetaData, name: str, most: int, groups: list[int] | None = None
) -> int:
    """How many rows to read together, so that a small file which unfolds to a large one does not fill the memory."""
    size = most
    found = row_groups(source, metadata.num_row_groups, name, _KNOWN)
    for group in range(len(found)) if groups is None else groups:
        rows, (values, there) = metadata.row_group(group).num_rows, row_group_size(source, found[group])
        if values > MOST_WORDS * rows + _TOGETHER:
            reason = f"it has {values:,} words in {rows:,} sentences, more than {MOST_WORDS} in each"
            raise DataError(reason, source=name)
        if not rows:
            continue
        size = min(size, max(1, _TOGETHER * rows // max(values, 1)))
        if there * size > _BYTES * rows and not is_told(found[group]):  # at most so much: it is worth a look
            there = max(
                unfolded(source, metadata, group, _KNOWN, size), sum(one.size for one in found[group])
            )
        if there > _MOST_BYTES * rows + _BYTES:
            reason = f"it unfolds to {there >> 20:,} MB in {rows:,} sentences, more than 2 GB in each"
            raise DataError(reason, source=name)
        size = min(size, max(1, _BYTES * rows // max(there, 1)))
    return size


def sound_rows(batch: pa.RecordBatch, name: str, position: int) -> tuple[pa.RecordBatch, list[Reject]]:
    """The rows that are sentences, in the SENTENCE schema, and the others with what is wrong with them."""
    not_utf8 = np.zeros(batch.num_rows, np.bool_)
    try:
        unfit, sentences = _conformed(batch, name, position)
    except (pa.ArrowException, DataError) as error:
        try:
            batch, not_utf8 = written_out(batch)
            unfit, sentences = _conformed(batch, name, position)
        except (pa.ArrowException, DataError):  # it was not a text that was wrong, or not only
            if isinstance(error, DataError):
                raise error from None
            raise DataError(f"it holds damaged data ({str(error).strip()})", source=name) from None
    words = _lengths(sentences.column("tokens"))
    wrong = {
        "not valid UTF-8": not_utf8,
        "it has no words": words <= 0,
        TOO_MANY_WORDS: words > MOST_WORDS,
        "a word is null": _has_null(sentences.column("tokens")),
        "a head is not the number of a word": unfit,
    }
    for column in WORD_COLUMNS[1:]:
        lengths = _lengths(sentences.column(column))
        wrong[f"{column!r} has not as many entries as 'tokens'"] = (lengths >= 0) & (lengths != words)
    wrong["a head is outside the sentence"] = _largest_heads(sentences.column("head")) > np.maximum(words, 0)
    bad = np.logical_or.reduce(list(wrong.values()))
    if not bad.any():
        return sentences, []
    rejects = []
    for row in np.flatnonzero(bad):
        reason = next(reason for reason, rows in wrong.items() if rows[row])
        content = _content(sentences.slice(row, 1))
        if unfit[row]:
            content["head"] = batch.column("head")[int(row)].as_py()
        raw = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        rejects.append(Reject(name, None, position + int(row), content["sent_id"], reason, raw))
    return sentences.filter(pa.array(~bad)), rejects


def _conformed(batch: pa.RecordBatch, name: str, position: int) -> tuple[arrays.Array, pa.RecordBatch]:
    """Which rows have a head that is none, and all rows in the SENTENCE schema, without these heads."""
    batch.validate(full=True)  # Parquet itself promises neither UTF-8 nor sound lists
    unfit = unfit_heads(batch)
    sentences = conform(without_heads(batch, unfit), name, position)
    if sentences is not batch:
        sentences.validate(full=True)
    return unfit, sentences


def _content(row: pa.RecordBatch) -> dict[str, Any]:
    """The values of one row; of a list that is longer than any sentence only the beginning."""
    columns = [
        pc.list_slice(column, 0, _SHOWN)
        if pa.types.is_list(column.type) and (_lengths(column) > MOST_WORDS).any()
        else column
        for column in row.columns
    ]
    return dict(zip(row.schema.names, (column[0].as_py() for column in columns), strict=True))


def _lengths(lists: pa.ListArray) -> arrays.Array:
    """Number of entries per row, -1 for a null list."""
    return np.where(arrays.validity(lists), arrays.list_lengths(lists), -1)


def _has_null(lists: pa.ListArray) -> arrays.Array:
    """Which rows have a list with a null in it."""
    found = np.zeros(len(lists), np.bool_)
    values = lists.flatten()
    if values.null_count:
        rows = np.repeat(np.arange(len(lists)), arrays.list_lengths(lists))
        found[rows[~arrays.validity(values)]] = True
    return found


def _largest_heads(heads: pa.ListArray) -> arrays.Array:
    largest = np.zeros(len(heads), np.int64)
    rows = np.repeat(np.arange(len(heads)), arrays.list_lengths(heads))
    np.maximum.at(largest, rows, arrays.to_numpy(heads.flatten(), 0).astype(np.int64))
    return largest
