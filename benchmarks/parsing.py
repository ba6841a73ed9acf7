"""The parser core on one core, beside its peers, on text that the process has not parsed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import peers
from benchmarks.accuracy import judged
from benchmarks.corpora import Corpora, whole
from benchmarks.settings import Scale
from benchmarks.timing import Probe, alternate, spread, timed
from covington import models, schemas
from covington.corpus.columns import word_counts
from covington.features import encoding
from covington.parsing.parser import Parser, Statistics


def arrow(model: str, test: str, dev: str, passes: int) -> dict[str, Any]:
    """Arrow batch in, Arrow batch out: what a user calls."""
    parser, batch = Parser.load(model), whole(test)
    parser.parse(whole(dev))
    done: list[pa.RecordBatch] = []
    laps = [timed(lambda: done.append(parser.parse(batch))) for _ in range(passes)]
    statistics = Statistics()
    parser.parse(batch, statistics=statistics)
    facts = {"transitions": statistics.transitions, "non_monotonic": statistics.non_monotonic}
    return facts | judged(batch, done[0]) | {"laps": [asdict(lap) for lap in laps]}


def bare(model: str, test: str, dev: str, passes: int) -> dict[str, Any]:
    """Strings to numbers, and numbers to heads and labels, with no Arrow made of them."""
    parser, batch = Parser.load(model), whole(test)
    parser.parse(whole(dev))
    lengths = word_counts(batch)
    heads = np.zeros(int(lengths.sum()), dtype=np.int32)
    labels = np.full(len(heads), -1, dtype=np.int32)
    encoded: list[Any] = []
    laps, encoding_laps = [], []
    for _ in range(passes):
        encode = timed(lambda: encoded.append(_encoded(parser, batch)))
        decode = timed(lambda: _decode(parser, encoded[-1], batch.num_rows, heads, labels))
        laps.append({"cpu": encode.cpu + decode.cpu, "wall": encode.wall + decode.wall})
        encoding_laps.append(encode.cpu)
    size = {"tokens": len(heads), "sentences": batch.num_rows}
    return size | {"laps": laps, "encoding": encoding_laps}


def _encoded(parser: Parser, batch: pa.RecordBatch) -> Any:
    return encoding.encode(batch, parser._program.attributes, parser.options.tag)


def _decode(parser: Parser, sentences: Any, rows: int, heads: Any, labels: Any) -> None:
    with parser._decoder() as decoder:
        decoder.run(sentences, 0, rows, schemas.MOST_WORDS, True, heads, labels)


def measure(
    corpora: Corpora, scale: Scale, trained: Mapping[str, Mapping[str, Any]], peer_folder: Path
) -> dict[str, Any]:
    """All settings and all peers that are there, in turns."""
    texts = {"test": corpora.test, "dev": corpora.dev, "passes": scale.passes}
    contenders = {}
    for name, facts in trained.items():
        for function in ("arrow", "bare"):
            arguments = {"model": facts["path"], **texts}
            contenders[f"{name} ({function})"] = Probe("parsing", function, arguments)
    for name in models.names():
        contenders[f"{name}, bundled (arrow)"] = Probe("parsing", "arrow", {"model": name, **texts})
    present, absent = peers.find(peer_folder)
    for name, path in present.items():
        contenders[name] = Probe("peers", name, {"model": path, **texts})
    rows = alternate(contenders, scale)
    return {"absent": absent, "contenders": {name: _summary(found) for name, found in rows.items()}}


def _summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    tokens, sentences = found[0]["tokens"], found[0]["sentences"]
    first = [one["laps"][0] for one in found]
    warm = [lap for one in found for lap in one["laps"][1:]] or first
    summary = {
        "tokens": tokens,
        "sentences": sentences,
        "first": spread([tokens / lap["cpu"] for lap in first]),
        "first by the wall clock": spread([tokens / lap["wall"] for lap in first]),
        "warm": spread([tokens / lap["cpu"] for lap in warm]),
        "sentences per second": spread([sentences / lap["cpu"] for lap in first]),
    }
    for name in ("uas", "las", "transitions", "non_monotonic", "version"):
        if name in found[0]:
            summary[name] = found[0][name]
    if "encoding" in found[0]:
        summary["encoding"] = spread([one["encoding"][0] / one["laps"][0]["cpu"] for one in found])
    return summary
