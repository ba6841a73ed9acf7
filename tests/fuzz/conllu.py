"""Damaged CoNLL-U is read or rejected, and what was read comes back when it is written."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from covington.corpus.conllu import reader as conllu
from covington.schemas import SENTENCE
from tests.fuzz.runner import Fuzzer

_SAMPLE = Path(__file__).parents[2] / "models" / "sample.conllu"
_ODD = (
    b"\xef\xbb\xbf# text = a\r\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r\n\r\n",
    b"# sent_id = 1\n#text=x\n0.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\tX=Y\n"
    b"1\ta\ta\tX\tY\tA=B\t2\tdet\t2:det\t_\n2\tb\tb\tX\tY\tA=B\t0\troot\t0:root\tSpaceAfter=No\n"
    b"2.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n2.2\te\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    b"1\tHij\thij\tPron\tPron\tper|3\t2\tsu\t2\tsu\n2\tslaapt\tslaap\tV\tV\t_\t0\tROOT\t_\t_",
)
CONTENT = [name for name in SENTENCE.names if name not in ("source", "position", "line")]


def seeds() -> list[bytes]:
    """Short files: speed is what finds things."""
    sentences = [sentence + b"\n\n" for sentence in _SAMPLE.read_bytes().split(b"\n\n") if sentence.strip()]
    return [
        *_ODD,
        *sentences,
        *(first + second for first, second in pairwise(sentences)),
    ]


def target(data: bytes, random_: random.Random) -> str:
    """Reading never fails, gives sound arrays, and writing what was read loses nothing."""
    batch, rejects = conllu.parse_bytes(data, "fuzz", 0, 1)
    batch.validate(full=True)
    rejects.validate(full=True)
    assert sorted(batch["position"].to_pylist() + rejects["position"].to_pylist()) == list(
        range(conllu.sentences_and_lines(data)[0])
    )
    if random_.randrange(4) == 0:
        _in_pieces(data, batch, rejects, random_)
    if batch.num_rows:
        again, lost = conllu.parse_bytes(conllu.format_batch(batch), "fuzz", 0, 1)
        assert lost.num_rows == 0, lost.to_pylist()
        assert again.select(CONTENT).equals(batch.select(CONTENT))
    if rejects.num_rows:
        return f"rejected: {rejects['reason'][0]}"
    return "read" if batch.num_rows else "empty"


def _in_pieces(data: bytes, batch: pa.RecordBatch, rejects: pa.RecordBatch, random_: random.Random) -> None:
    """Cut anywhere, the same bytes give the same sentences."""
    builder = conllu.SentenceBuilder("fuzz", 1 << 20)
    rest = b""
    size = random_.choice((1, 2, 3, 7, 64, 1000))
    for start in range(0, len(data), size):
        rest += data[start : start + size]
        rest = rest[builder.feed(rest) :]
    assert builder.feed(rest, 0, True) == len(rest)
    assert builder.take().equals(batch)
    assert builder.take_rejects() == [tuple(row.values()) for row in rejects.to_pylist()]


FUZZER = Fuzzer("conllu", "conllu", seeds, target)
