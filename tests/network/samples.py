"""Small treebanks, vocabularies and networks for the tests of the network."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa

from covington.network.layers import Batch, Layers, Parameters, batch_of, initial
from covington.network.options import NetworkOptions
from covington.network.vocabulary import Corpus, Survey, Vocabulary, encode
from tests.network.twin import Sentence

WORDS = (
    "The",
    "the",
    "cat",
    "Cats",
    "sat",
    "on",
    "a",
    "mat",
    "Ünïcödé",
    "3.14",
    "runs",
    "Дом",
    "語",
    "x" * 60,
)


def treebank(sentences: int, seed: int = 1, longest: int = 9, whole_feats: bool = False) -> pa.RecordBatch:
    """Random trees over a few words, with tags that follow from the words, and some missing.

    Unless FEATS are to be predicted as whole texts, the first sentence has some that occur once.
    """
    draw = random.Random(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ("tokens", "upos", "xpos", "feats", "head", "deprel")}
    for number in range(sentences):
        length = 0 if number == 3 else draw.randint(1, longest)
        tokens = [draw.choice(WORDS) for _ in range(length)]
        heads = [0] * length
        order = draw.sample(range(1, length + 1), length)
        for place, word in enumerate(order[1:], 1):
            heads[word - 1] = draw.choice(order[:place])
        rows["tokens"].append(tokens)
        rows["upos"].append([("NOUN", "VERB", "X")[len(token) % 3] for token in tokens])
        rows["xpos"].append([None if len(token) == 1 else token[:1] for token in tokens])
        rows["feats"].append(
            [("Case=Nom|Number=Sing", "Number=Plur", None)[len(token) % 3] for token in tokens]
            if number or whole_feats
            else [f"Case=C{place}" for place in range(length)]
        )
        rows["head"].append(heads)
        rows["deprel"].append(
            ["root" if not head else f"l{(head - word) % 5}" for word, head in enumerate(heads, 1)]
        )
    types = {"head": pa.list_(pa.uint16())}
    return pa.record_batch(
        {name: pa.array(values, types.get(name, pa.list_(pa.string()))) for name, values in rows.items()}
    )


SMALL: dict[str, Any] = {
    **{
        "form": 6,
        "subword": 5,
        "buckets": 97,
        "state": 8,
        "tag": 4,
        "bottleneck": 10,
        "slot": 12,
        "label": 9,
    },
    **{"epochs": 3, "updates": 0, "batch": 30},
}


def network(
    batch: pa.RecordBatch, **options: Any
) -> tuple[NetworkOptions, Vocabulary, Corpus, Layers, Parameters]:
    """An untrained network for a treebank; parameters large enough for every part to count."""
    chosen = NetworkOptions(**{**SMALL, **options})
    survey = Survey()
    survey.add(batch)
    vocabulary = survey.vocabulary()
    corpus = encode([batch], vocabulary, chosen.buckets)
    parameters = initial(chosen, vocabulary)
    draw = np.random.default_rng(chosen.seed)
    for values in parameters.values():
        values += draw.normal(0, 0.3, values.shape).astype(np.float32)
    return chosen, vocabulary, corpus, Layers(chosen, vocabulary), parameters


def sentence(corpus: Corpus, number: int, forms: Any = None) -> Sentence:
    """A sentence for the twin; with `forms` in place of those that the corpus has."""
    words = range(corpus.offsets[number], corpus.offsets[number + 1])
    read = corpus.forms if forms is None else forms
    return Sentence(
        [int(read[word]) for word in words],
        [corpus.subwords[corpus.begins[word] : corpus.begins[word + 1]].tolist() for word in words],
        [corpus.tags[word].tolist() for word in words],
        [int(corpus.heads[word]) for word in words],
        [int(corpus.labels[word]) for word in words],
    )


def whole(corpus: Corpus) -> Batch:
    """All sentences as one batch."""
    return batch_of(corpus, np.arange(corpus.sentences))
