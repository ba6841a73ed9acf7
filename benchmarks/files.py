"""Readers and writers of CoNLL-U and Parquet, on one core, beside the `conllu` package."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import covington
from benchmarks.corpora import Corpora, batches
from benchmarks.settings import Scale
from benchmarks.timing import Probe, alternate, spread, timed
from covington.corpus.columns import word_counts

#: what is timed → the words for it in the report
WORK = {
    "read_conllu": "covington, CoNLL-U to Arrow",
    "write_conllu": "covington, Arrow to CoNLL-U",
    "read_parquet": "covington, Parquet to Arrow",
    "write_parquet": "covington, Arrow to Parquet",
    "package_read": "`conllu` package, CoNLL-U to objects",
    "package_write": "`conllu` package, objects to CoNLL-U",
}


def run(corpus: str, work: str) -> dict[str, Any]:
    """One reader or writer, once over the corpus, files in the page cache."""
    data = batches(corpus)
    tokens = sum(int(word_counts(batch).sum()) for batch in data)
    with tempfile.TemporaryDirectory() as folder:
        lap = timed(_work(corpus, work, data, Path(folder)))
    return {"tokens": tokens, "bytes": Path(corpus).stat().st_size, **asdict(lap)}


def _work(corpus: str, work: str, data: list[Any], folder: Path) -> Callable[[], object]:
    conllu, parquet = folder / "x.conllu", folder / "x.parquet"
    if work == "read_conllu":
        return lambda: _exhaust(covington.read_conllu(corpus))
    if work == "write_conllu":
        return lambda: covington.write_conllu(data, conllu)
    if work == "write_parquet":
        return lambda: covington.write_parquet(data, parquet)
    if work == "read_parquet":
        covington.write_parquet(data, parquet)
        return lambda: _exhaust(covington.read_parquet(parquet))
    import conllu as package

    text = Path(corpus).read_text(encoding="utf-8")
    if work == "package_read":
        return lambda: package.parse(text)
    sentences = package.parse(text)
    return lambda: conllu.write_text("".join(one.serialize() for one in sentences), encoding="utf-8")


def _exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def measure(corpora: Corpora, scale: Scale) -> dict[str, Any]:
    """Tokens and bytes per second of the training part."""
    contenders = {work: Probe("files", "run", {"corpus": corpora.train, "work": work}) for work in WORK}
    rows = alternate(contenders, scale)
    return {
        work: {
            "tokens": found[0]["tokens"],
            "speed": spread([one["tokens"] / one["cpu"] for one in found]),
            "speed by the wall clock": spread([one["tokens"] / one["wall"] for one in found]),
            "megabytes per second": spread([one["bytes"] / one["cpu"] / 1e6 for one in found]),
        }
        for work, found in rows.items()
    }
