"""What grows and how: time per token against sentence length, corpus size and training size."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.corpora import Corpora, batches, enlarge, joined, near, whole
from benchmarks.memory import peak
from benchmarks.settings import WARM_UP, Scale
from benchmarks.timing import Probe, alternate, spread, timed
from covington.corpus.columns import word_counts
from covington.parsing.parser import Parser, Statistics


def lengths(
    model: str,
    texts: list[str],
    real: list[int],
    artificial: list[int],
    tokens: int,
    longest: int,
    order: int,
) -> dict[str, Any]:
    """Microseconds per token for sentences of every length, each text once, lengths in an order of their own."""
    parser = Parser.load(model)
    parts = pa.Table.from_batches([batch for text in texts for batch in batches(text)]).combine_chunks()
    batch = parts.to_batches()[0]
    parser.parse(batch.slice(0, WARM_UP))
    cases = {f"real {words}": near(batch, words) for words in real}
    cases |= {f"joined {words}": joined(batch, words, max(tokens // words, 1)) for words in artificial}
    cases[f"joined {longest}"] = joined(batch, longest, 1)
    names = list(cases)
    random.Random(order).shuffle(names)
    found = {}
    for name in names:
        statistics = Statistics()
        case = cases[name]
        if not case.num_rows:
            continue
        lap = timed(partial(parser.parse, case, statistics=statistics))
        found[name] = {
            "sentences": case.num_rows,
            "tokens": statistics.tokens,
            "microseconds": lap.cpu / statistics.tokens * 1e6,
            "transitions": statistics.transitions / statistics.tokens,
        }
    return found


def size(model: str, corpus: str) -> dict[str, Any]:
    """A corpus of some size to Parquet, batch by batch, with the memory it took."""
    from covington.engine.streaming import ParseStream

    parser = Parser.load(model)
    with tempfile.TemporaryDirectory() as folder:
        work = ParseStream([corpus], str(Path(folder) / "parsed.parquet"), threads=1)
        reports: list[Any] = []
        lap = timed(lambda: reports.append(work.run(parser)))
    return {"tokens": reports[0].tokens, **asdict(lap), "peak": peak()}


def measure(
    corpora: Corpora, scale: Scale, trained: Mapping[str, Mapping[str, Any]], work: Path
) -> dict[str, Any]:
    """The three kinds of growth."""
    return {
        "sentence length": {
            name: _lengths(corpora, scale, trained[name]["path"]) for name in ("paper", "rich")
        },
        "corpus size": _sizes(corpora, scale, trained["paper"]["path"], work),
        "training size": _training(corpora, scale, work),
    }


def _lengths(corpora: Corpora, scale: Scale, model: str) -> dict[str, Any]:
    rows = []
    for order in range(scale.repetitions):
        arguments = {
            "model": model,
            "texts": [corpora.test, corpora.dev],
            "real": scale.real_lengths,
            "artificial": scale.joined_lengths,
            "tokens": scale.joined_tokens,
            "longest": scale.longest,
            "order": order,
        }
        rows.append(Probe("growth", "lengths", arguments).run(scale.fresh))
    kinds = [("real", words) for words in scale.real_lengths]
    kinds += [("joined", words) for words in (*scale.joined_lengths, scale.longest)]
    names = [(kind, words, f"{kind} {words}") for kind, words in kinds]
    return {
        name: {
            "kind": kind,
            "words": words,
            "sentences": rows[0][name]["sentences"],
            "tokens": rows[0][name]["tokens"],
            "transitions": rows[0][name]["transitions"],
            "microseconds": spread([row[name]["microseconds"] for row in rows]),
        }
        for kind, words, name in names
        if name in rows[0]
    }


def _sizes(corpora: Corpora, scale: Scale, model: str, work: Path) -> dict[str, Any]:
    contenders = {}
    for tokens in scale.corpus_sizes:
        path = work / f"{corpora.name}-{tokens}.conllu"
        enlarge([corpora.test, corpora.dev], tokens, path)
        contenders[str(tokens)] = Probe("growth", "size", {"model": model, "corpus": str(path)})
    return {
        name: {
            "tokens": found[0]["tokens"],
            "microseconds": spread([one["cpu"] / one["tokens"] * 1e6 for one in found]),
            "peak": spread([one["peak"] for one in found]),
        }
        for name, found in alternate(contenders, scale).items()
    }


def _training(corpora: Corpora, scale: Scale, work: Path) -> dict[str, Any]:
    total = int(word_counts(whole(corpora.train)).sum())
    contenders = {}
    for part in scale.training_parts:
        tokens = int(total * part)
        arguments = {"corpus": corpora.train, "options": {"templates": "paper"}, "tokens": tokens}
        model = str(work / f"growth-{tokens}.covington")
        more = {"epochs": scale.training_epochs, "model": model}
        contenders[str(tokens)] = Probe("training", "train", arguments | more)
    return {
        name: {
            "tokens": found[0]["tokens"],
            "microseconds": spread(
                [sum(one["epochs"]) / len(one["epochs"]) / one["tokens"] * 1e6 for one in found]
            ),
            "megabytes": found[0]["bytes"] / 1e6,
        }
        for name, found in alternate(contenders, scale).items()
    }
