"""The texts that are measured: treebanks where they are found, the sample corpus, and corpora of any size."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import covington
from benchmarks.timing import ROOT, BenchmarkError
from covington import models
from covington.corpus.columns import word_counts

SEED = 1
WORD_COLUMNS = ("tokens", "lemmas", "upos", "xpos", "feats")


@dataclass(frozen=True)
class Corpora:
    """Plain CoNLL-U files to train on and to parse."""

    name: str
    train: str
    dev: str
    test: str


def default_folder(variable: str, name: str) -> Path:
    """Where treebanks and peers are looked for: the environment, else beside the repository."""
    return Path(os.environ.get(variable) or ROOT.parent / "shared" / name)


def treebank(folder: Path, name: str, work: Path) -> Corpora:
    """The three parts of a treebank, unpacked: decompression is not what is measured."""
    parts = {}
    for part in ("train", "dev", "test"):
        files = sorted((folder / name).glob(f"*-{part}.conllu*"))
        if not files:
            raise BenchmarkError(
                f"no {name}/*-{part}.conllu in {folder}: give --treebanks DIR or set COVINGTON_TREEBANKS,"
                " or try --quick, which needs no treebank"
            )
        plain = work / files[0].name.removesuffix(".gz")
        data = files[0].read_bytes()
        plain.write_bytes(gzip.decompress(data) if files[0].suffix == ".gz" else data)
        parts[part] = str(plain)
    return Corpora(name, parts["train"], parts["dev"], parts["test"])


def sample() -> Corpora:
    """The sample corpus in every part: enough to see that all runs, not to learn anything from."""
    path = str(models.sample())
    return Corpora("sample", path, path, path)


def batches(path: str) -> list[pa.RecordBatch]:
    return list(covington.read_conllu(path, strict=True))


def whole(path: str) -> pa.RecordBatch:
    """A file as one batch."""
    table = pa.Table.from_batches(batches(path)).combine_chunks()
    return table.to_batches(max_chunksize=None)[0]


def first_tokens(parts: Sequence[pa.RecordBatch], tokens: int) -> list[pa.RecordBatch]:
    """The sentences from the beginning on, until there are so many tokens."""
    found: list[pa.RecordBatch] = []
    for batch in parts:
        ends = np.cumsum(word_counts(batch))
        rows = int(np.searchsorted(ends, tokens)) + 1
        found.append(batch.slice(0, rows))
        tokens -= int(ends[min(rows, len(ends)) - 1]) if len(ends) else 0
        if tokens <= 0:
            break
    return found


def enlarge(sources: Sequence[str], tokens: int, path: Path) -> int:
    """Write a corpus of at least so many tokens, the sentences of the sources in ever new orders."""
    sentences = [part for source in sources for part in _sentences(Path(source))]
    if not any(words for _, words in sentences):
        raise BenchmarkError(f"there are no words in {', '.join(sources)}")
    order, written = random.Random(SEED), 0
    with path.open("wb") as file:
        while written < tokens:
            order.shuffle(sentences)
            for text, words in sentences:
                file.write(text)
                written += words
                if written >= tokens:
                    break
    return written


def _sentences(path: Path) -> Iterator[tuple[bytes, int]]:
    for text in path.read_bytes().split(b"\n\n"):
        words = sum(line.partition(b"\t")[0].isdigit() for line in text.split(b"\n"))
        if words:
            yield text + b"\n\n", words


def near(batch: pa.RecordBatch, words: int) -> pa.RecordBatch:
    """The real sentences whose length is within a tenth of so many words."""
    return batch.filter(pa.array(abs(word_counts(batch) - words) <= words / 10))


def joined(batch: pa.RecordBatch, words: int, sentences: int) -> pa.RecordBatch:
    """Sentences of exactly so many words, by joining the batch's sentences end to end and cutting anew."""
    offsets = pa.array(np.arange(sentences + 1) * words, pa.int32())
    columns: dict[str, Any] = {}
    for name in WORD_COLUMNS:
        flat = batch.column(name).flatten()
        if len(flat):
            places = pa.array(np.arange(words * sentences) % len(flat))
            columns[name] = pa.ListArray.from_arrays(offsets, flat.take(places))
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
