"""CoNLL-U to Parquet, reading and writing included: one file by a stream, shards by a Beam pipeline, 1 and 2 cores."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.corpora import Corpora, batches, enlarge
from benchmarks.settings import Scale
from benchmarks.timing import Lap, Probe, alternate, on_cores, spread, timed
from covington.corpus.columns import word_counts
from covington.parsing.parser import Parser

_together: Any = None  # where two processes wait for each other

SET_UP = "Beam in_memory, one sentence"


def bare(model: str, corpus: str) -> dict[str, Any]:
    """The parser alone on the same corpus, read before: what the others are held against."""
    parser, data = Parser.load(model), batches(corpus)
    with on_cores(1):
        lap = timed(lambda: [parser.parse(batch) for batch in data])
    return {"tokens": sum(int(word_counts(batch).sum()) for batch in data), **asdict(lap)}


def bare_twice(model: str, corpus: str) -> dict[str, Any]:
    """Two processes of the parser alone side by side, which share nothing: what two cores of this machine can do."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    with context.Pool(2, _wait_at, (together,)) as pool:
        found = pool.starmap(_bare_at_once, [(model, corpus)] * 2, chunksize=1)
    return {
        "tokens": sum(tokens for tokens, *_ in found),
        "cpu": sum(lap.cpu for _, lap, *_ in found),
        "wall": max(end for *_, end in found) - min(start for *_, start, _ in found),
    }


def _wait_at(barrier: Any) -> None:
    global _together
    _together = barrier


def _bare_at_once(model: str, corpus: str) -> tuple[int, Lap, float, float]:
    parser, data = Parser.load(model), batches(corpus)
    _together.wait()
    start = time.time()
    lap = timed(lambda: [parser.parse(batch) for batch in data])
    return sum(int(word_counts(batch).sum()) for batch in data), lap, start, time.time()


def stream(model: str, corpus: str, threads: int) -> dict[str, Any]:
    """`covington parse corpus.conllu -o parsed.parquet --threads N`, from the loaded program on."""
    from covington.engine.streaming import ParseStream

    _finish_loading()
    pa.set_cpu_count(threads)
    parser = Parser.load(model)
    with tempfile.TemporaryDirectory() as folder:
        work = ParseStream([corpus], str(Path(folder) / "parsed.parquet"), threads=threads)
        reports: list[Any] = []
        with on_cores(threads):
            lap = timed(lambda: reports.append(work.run(parser)))
    return {"tokens": reports[0].tokens, **asdict(lap)}


def _finish_loading() -> None:
    """Pyarrow imports pandas, where it is installed, with the first value that it is given."""
    pa.scalar(0)


def beam(model: str, corpus: str, workers: int, mode: str) -> dict[str, Any]:
    """`covington parse corpus.conllu -o parsed/` with a running mode, from the loaded program on."""
    from covington.pipelines.parse import ParseJob
    from covington.pipelines.runner import Runner

    _finish_loading()
    pa.set_cpu_count(workers)
    runner = Runner((f"--direct_running_mode={mode}", f"--direct_num_workers={workers}"))
    with tempfile.TemporaryDirectory() as folder:
        job = ParseJob([corpus], str(Path(folder) / "parsed"), model)
        reports: list[Any] = []
        with on_cores(workers):
            lap = timed(lambda: reports.append(job.run(runner)))
    return {"tokens": reports[0].tokens, **asdict(lap)}


def measure(
    corpora: Corpora, scale: Scale, trained: Mapping[str, Mapping[str, Any]], work: Path
) -> dict[str, Any]:
    """Processor time and wall clock of each way, for the fastest and for the richest model."""
    corpus = work / f"{corpora.name}-{scale.corpus_tokens}.conllu"
    enlarge([corpora.test, corpora.dev], scale.corpus_tokens, corpus)
    nothing = work / f"{corpora.name}-1.conllu"
    enlarge([corpora.test], 1, nothing)
    cores = os.cpu_count() or 1
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "bare core, read before": ("bare", {}),
        "bare core, 2 at once": ("bare_twice", {}),
        "stream, 1 thread": ("stream", {"threads": 1}),
        "stream, 2 threads": ("stream", {"threads": 2}),
        "Beam in_memory, 1 worker": ("beam", {"workers": 1, "mode": "in_memory"}),
        "Beam multi_threading, 2 workers": ("beam", {"workers": 2, "mode": "multi_threading"}),
        "Beam multi_processing, 2 workers": ("beam", {"workers": 2, "mode": "multi_processing"}),
    }
    contenders = {
        f"{name}: {way}": Probe(
            "endtoend", function, {"model": trained[name]["path"], "corpus": str(corpus), **more}
        )
        for name in ("paper", "rich")
        for way, (function, more) in ways.items()
    }
    for name in ("paper", "rich"):
        few = {"model": trained[name]["path"], "corpus": str(nothing), "workers": 1, "mode": "in_memory"}
        contenders[f"{name}: {SET_UP}"] = Probe("endtoend", "beam", few)
    rows = alternate(contenders, scale)
    return {
        "cores": cores,
        "ways": {
            name: {
                "tokens": found[0]["tokens"],
                "cpu": spread([one["cpu"] for one in found]),
                "wall": spread([one["wall"] for one in found]),
                "speed": spread([one["tokens"] / one["wall"] for one in found]),
                "speed by processor time": spread([one["tokens"] / one["cpu"] for one in found]),
            }
            for name, found in rows.items()
        },
    }
