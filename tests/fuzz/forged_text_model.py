"""A segmenter and a lemmatiser that somebody forged are refused, or give words and lemmas of the text."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from covington.errors import ModelError
from covington.lemmas.lemmatiser import Lemmatiser
from covington.model import file as model_file
from covington.segmentation.restoring import restored_text
from covington.segmentation.segmenter import Segmenter
from tests.fuzz import text
from tests.fuzz.model_file import with_checksum
from tests.fuzz.runner import Fuzzer

_FOLDER = tempfile.TemporaryDirectory(prefix="covington-fuzz-")
_FILE = Path(_FOLDER.name) / "fuzz.covington"


def seeds() -> list[bytes]:
    """Each in a file of its own."""
    files = []
    for metadata, arrays in (text.SEGMENTER, text.LEMMATISER):
        model_file.write(_FILE, metadata, arrays)
        files.append(_FILE.read_bytes())
    return files


def target(data: bytes, random_: random.Random) -> str:
    """Whatever the tables say, the text comes back, and every word has a lemma."""
    _FILE.write_bytes(with_checksum(data))
    try:
        model = model_file.read(_FILE)
        segmenter = Segmenter(*text.SEGMENTER)
        lemmatiser = Lemmatiser(*text.LEMMATISER)
        if "splits" in model.arrays:
            segmenter = Segmenter(model.metadata, model.arrays)
        else:
            lemmatiser = Lemmatiser(model.metadata, model.arrays)
    except ModelError as error:
        return f"refused: {str(error).removeprefix(f'{_FILE}: ')}"
    raw = b"\n\n".join(text.seeds())
    stream = segmenter.open("fuzz")
    batches = stream.feed(raw) + stream.finish()
    assert restored_text(batches) == raw
    for batch in batches:
        assert lemmatiser.annotate(batch)["lemmas"].values.null_count == 0
    return "segmented"


FUZZER = Fuzzer("forged_text_model", "text_model", seeds, target)
