"""Parsers a user would pick instead, on the same words and tags: UDPipe and spaCy, trained on the same treebank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.accuracy import judged
from benchmarks.corpora import whole
from benchmarks.timing import Lap, timed
from covington.corpus.columns import word_counts

#: probe → the package it needs and its model in the folder of peers
PEERS = {
    "udpipe": ("ufal.udpipe", "udpipe-ewt-parser.udpipe"),
    "spacy": ("spacy", "spacy-ewt"),
}


def find(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Models of the peers that can be run here, and why the others cannot."""
    present, absent = {}, {}
    for name, (package, model) in PEERS.items():
        try:
            version(package)
        except PackageNotFoundError:
            absent[name] = f"`{package}` is not installed (pip install 'covington[benchmark]')"
            continue
        if (folder / model).exists():
            present[name] = str(folder / model)
        else:
            absent[name] = f"no {model} in {folder} (--peers DIR or COVINGTON_PEERS)"
    return present, absent


def udpipe(model: str, test: str, dev: str, passes: int) -> dict[str, Any]:
    """UDPipe's parser alone: sentences are read before, and the clock is on around `parse`."""
    from ufal.udpipe import Model, ProcessingError

    loaded, gold = Model.load(model), whole(test)

    def parse(sentences: list[Any]) -> None:
        for sentence in sentences:
            error = ProcessingError()
            if not loaded.parse(sentence, Model.DEFAULT, error):
                raise RuntimeError(error.message)

    parse(list(_udpipe_sentences(dev)))
    laps: list[Lap] = []
    trees: list[list[tuple[int, str]]] = []
    for _ in range(passes):
        sentences = list(_udpipe_sentences(test))
        laps.append(timed(partial(parse, sentences)))
        trees = [[(word.head, word.deprel) for word in list(one.words)[1:]] for one in sentences]
    return _judged(gold, trees, laps) | {"version": version("ufal.udpipe")}


def _udpipe_sentences(path: str) -> Iterator[Any]:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence

    reader, error = InputFormat.newConlluInputFormat(), ProcessingError()
    reader.setText(Path(path).read_text(encoding="utf-8"))
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        yield sentence
        sentence = Sentence()
    if error.occurred():
        raise RuntimeError(error.message)


def spacy(model: str, test: str, dev: str, passes: int) -> dict[str, Any]:
    """spaCy's tok2vec and parser: documents are made before, and the clock is on around `pipe`."""
    from spacy import load
    from spacy.tokens import Doc

    language, gold = load(model), whole(test)

    def documents(batch: pa.RecordBatch) -> list[Any]:
        inside: list[Any] = [False]  # one document per sentence: no word but the first begins one
        columns = zip(batch.column("tokens").to_pylist(), batch.column("upos").to_pylist(), strict=True)
        return [
            Doc(language.vocab, words=words, pos=tags, sent_starts=[True, *inside * (len(words) - 1)])
            for words, tags in columns
        ]

    def parse(given: list[Any]) -> None:
        for _ in language.pipe(given):
            pass

    parse(documents(whole(dev)))
    laps: list[Lap] = []
    trees: list[list[tuple[int, str]]] = []
    for _ in range(passes):
        given = documents(gold)
        laps.append(timed(partial(parse, given)))
        trees = [[_spacy_arc(token) for token in document] for document in given]
    return _judged(gold, trees, laps) | {"version": version("spacy")}


def _spacy_arc(token: Any) -> tuple[int, str]:
    """spaCy calls the root ROOT and makes it its own head."""
    return (0, "root") if token.head.i == token.i else (token.head.i + 1, token.dep_)


def _judged(gold: pa.RecordBatch, trees: list[list[tuple[int, str]]], laps: list[Lap]) -> dict[str, Any]:
    arcs = [arc for tree in trees for arc in tree]
    offsets = pa.array(np.concatenate(([0], np.cumsum(word_counts(gold)))), pa.int32())
    columns = {name: gold.column(name) for name in gold.schema.names}
    columns["head"] = pa.ListArray.from_arrays(offsets, pa.array([head for head, _ in arcs], pa.uint16()))
    columns["deprel"] = pa.ListArray.from_arrays(offsets, pa.array([label for _, label in arcs], pa.string()))
    system = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return judged(gold, system) | {"laps": [asdict(lap) for lap in laps]}
