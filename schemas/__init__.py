"""The Arrow and Parquet contract: one row per sentence, every column explained in README.md."""

from __future__ import annotations

import pyarrow as pa

VERSION = 1
MOST_WORDS = 65_535  # of a sentence: what the `head` column can number

_strings = pa.list_(pa.string())

#: A multiword token, `2-3 no _ _ ...`: the surface form that words 2 and 3 share.
MULTIWORD = pa.struct(
    [(name, pa.string()) for name in ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel")]
    + [("deps", pa.string()), ("misc", pa.string())]
)
#: An empty node, `5.1 ...`, of the enhanced graph: the ten columns as they stand.
EMPTY_NODE = MULTIWORD

#: What a sentence is, in the names of the Hugging Face dataset `commul/universal_dependencies`.
SENTENCE = pa.schema(
    [
        ("sent_id", pa.string()),
        ("text", pa.string()),
        ("comments", _strings),
        ("tokens", _strings),
        ("lemmas", _strings),
        ("upos", _strings),
        ("xpos", _strings),
        ("feats", _strings),
        ("head", pa.list_(pa.uint16())),
        ("deprel", _strings),
        ("deps", _strings),
        ("misc", _strings),
        ("mwt", pa.list_(MULTIWORD)),
        ("empty_nodes", pa.list_(EMPTY_NODE)),
        # ours: where the sentence came from
        ("source", pa.string()),
        ("position", pa.int64()),
        ("line", pa.int64()),
    ],
    metadata={"covington.schema": str(VERSION)},
)

#: The columns that have one entry per word, in the order of CoNLL-U.
WORD_COLUMNS = ("tokens", "lemmas", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")

#: What the parser adds to a sentence.
PARSE = pa.schema(
    [
        ("model", pa.string()),
        ("flags", _strings),
        ("confidence", pa.list_(pa.float32())),
    ]
)

#: A sentence that could not be used, with its raw text.
REJECT = pa.schema(
    [
        ("source", pa.string()),
        ("line", pa.int64()),
        ("position", pa.int64()),
        ("sent_id", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
    ],
    metadata={"covington.schema": str(VERSION)},
)
