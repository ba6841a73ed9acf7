"""The compiled segmenter does what its slow twin does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covington.segmentation.gold import gold_text
from covington.segmentation.segmenter import Segmenter
from tests.segmentation.models import gold, learnt
from tests.segmentation.reference import Reference
from tests.segmentation.texts import texts


def rows(segmenter: Segmenter, text: str) -> list[dict[str, Any]]:
    stream = segmenter.open("x")
    batches = stream.feed(text.encode()) + stream.finish()
    names = ("sent_id", "text", "tokens", "misc", "mwt", "start", "end")
    found = [row for batch in batches for row in batch.select(names).to_pylist()]
    for row in found:
        row["mwt"] = [(node["id"], node["form"], node["misc"]) for node in row["mwt"]]
    return found


def noisy(seed: int, threshold: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model with weights that were drawn."""
    metadata, arrays = learnt()
    rng = np.random.default_rng(seed)
    noise = {
        name: rng.integers(-99, 99, 1024).astype(np.int16) for name in ("splits", "joins", "ends", "words")
    }
    return metadata | {"end_threshold": threshold, "has_joins": True}, arrays | noise


@given(texts())
def test_the_twin_agrees_on_any_text(text: str) -> None:
    metadata, arrays = learnt()
    assert rows(Segmenter(metadata, arrays), text) == Reference(metadata, arrays).sentences(text)


@settings(max_examples=50)
@given(texts(), st.integers(0, 1 << 32), st.integers(-300, 300))
def test_the_twin_agrees_with_any_weights(text: str, seed: int, threshold: int) -> None:
    metadata, arrays = learnt()
    rng = np.random.default_rng(seed)
    noise = {
        name: rng.integers(-99, 99, 64).astype(np.int16) for name in ("splits", "joins", "ends", "words")
    }
    metadata, arrays = metadata | {"end_threshold": threshold, "has_joins": True}, arrays | noise
    assert rows(Segmenter(metadata, arrays), text) == Reference(metadata, arrays).sentences(text)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_twin_agrees_on_the_text_of_the_sample(seed: int | None) -> None:
    metadata, arrays = learnt()
    if seed is not None:
        metadata, arrays = noisy(seed, 0)
    text = gold_text([gold()]).text.decode()
    ambiguous = " ".join(
        f"{a} {b} {c}" for a in ("le", "x,") for b in ("du", "Du", "DU", "won't") for c in ("chat", "10")
    )
    text = text[:8_000] + text[-2_000:] + ambiguous + " 加速度加速 ひらがなカタカナ度。 ไทยไทยไทย abc度abc"
    assert rows(Segmenter(metadata, arrays), text) == Reference(metadata, arrays).sentences(text)
