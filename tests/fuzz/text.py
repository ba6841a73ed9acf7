"""Damaged text is segmented and its words get lemmas, or it is rejected; every character comes out."""

from __future__ import annotations

import random
from pathlib import Path

from covington.corpus.conllu import reader as conllu
from covington.corpus.rejects import Reject
from covington.lemmas.learning import LemmaOptions, learn_lemmatiser
from covington.lemmas.lemmatiser import Lemmatiser
from covington.segmentation.learning import SegmentOptions, learn_segmenter
from covington.segmentation.restoring import restored_text
from covington.segmentation.segmenter import Segmenter
from tests.fuzz.runner import Fuzzer

_SAMPLE = conllu.parse_bytes((Path(__file__).parents[2] / "models" / "sample.conllu").read_bytes(), "sample")[
    0
]
_ODD = conllu.parse_bytes(
    b"1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t0\troot\t_\t_\n2\tle\tle\tDET\t_\t_\t1\tdep\t_\t_\n"
    b"3\tchat noir\tchat\tNOUN\t_\t_\t1\tdep\t_\tSpaceAfter=No\n4\t.\t.\tPUNCT\t_\t_\t1\tdep\t_\t_\n\n"
    b"1\tdu\tdu\tDET\t_\t_\t0\troot\t_\t_\n2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tdo\tdo\tAUX\t_\t_\t1\tdep\t_\t_\n"
    b"3\tn't\tnot\tPART\t_\t_\t1\tdep\t_\t_\n\n" * 4,
    "odd",
)[0]
SENTENCES = [_SAMPLE, _ODD]
SEGMENTER = learn_segmenter(SENTENCES, SegmentOptions(bits=10, split_epochs=2, end_epochs=2))
LEMMATISER = learn_lemmatiser(SENTENCES, LemmaOptions(epochs=2))
_SEGMENTER, _LEMMATISER = Segmenter(*SEGMENTER), Lemmatiser(*LEMMATISER)


def seeds() -> list[bytes]:
    """Ordinary sentences and all that is hard in text."""
    texts = _SAMPLE["text"].to_pylist()[:40]
    return [
        *("\n".join(texts[start : start + 3]).encode() for start in range(0, len(texts), 3)),
        "du chat noir, DU chat  don't\r\n\r\n\ufeffwww.a.b/(c) <x@y.zz>\u2028Mr. 10 000.\n".encode(),
        "👨\u200d👩\u200d👧🇩🇪🇫🇷e\u0301 加速度。ひらがなカタカナ ไทย\u200b שלום \u202eabc\u202c\x85\x0c|\\s\n".encode(),
        b"a" * 300 + b"\n" + b" " * 300 + b"?!" * 200,
    ]


def target(data: bytes, random_: random.Random) -> str:
    """Nothing is lost, the same comes out of pieces, and without rejects the text comes back."""
    lines = random_.choice(("paragraph", "paragraph", "sentence", "document"))
    stream = _SEGMENTER.open("fuzz", lines=lines)
    batches = stream.feed(data) + stream.finish()
    rejects = stream.take_rejects()
    for batch in batches:
        batch.validate(full=True)
        lemmas = _LEMMATISER.annotate(batch)["lemmas"]
        lemmas.validate(full=True)
        assert lemmas.values.null_count == 0 and len(lemmas.values) == len(batch["tokens"].values)
    characters = stream.characters
    assert sum(characters.values()) == len(data.decode("utf-8", "surrogateescape")), characters
    _in_pieces(data, lines, batches, rejects, random_)
    if rejects:
        return f"rejected: {rejects[0].reason}"
    if batches and lines == "paragraph":
        again = [conllu.parse_bytes(conllu.format_batch(batch), "fuzz")[0] for batch in batches]
        assert restored_text(again) == data
    return "read" if batches else "empty"


def _in_pieces(
    data: bytes, lines: str, batches: list[object], rejects: list[Reject], random_: random.Random
) -> None:
    stream = _SEGMENTER.open("fuzz", lines=lines)
    size = random_.choice((1, 2, 3, 7, 64, 1000))
    found = [
        batch for start in range(0, len(data), size) for batch in stream.feed(data[start : start + size])
    ]
    assert found + stream.finish() == batches
    assert stream.take_rejects() == rejects


FUZZER = Fuzzer("text", "text", seeds, target)
