"""The bundled models parse the bundled sample as well as they did when they were made."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import covington
from covington import models

SAMPLE = pa.Table.from_batches(list(covington.read_conllu(models.sample()))).combine_chunks().to_batches()[0]
#: UAS and LAS of the English sentences, and of all
SCORES = {
    "en_ewt": ((95.34, 93.26), (89.71, 83.14)),
    "en_ewt_upos": ((95.34, 93.26), (92.86, 86.86)),
}
IS_ENGLISH = [sent_id.startswith("en-") for sent_id in SAMPLE.column("sent_id").to_pylist()]


def attachment(gold: list[dict[str, Any]], parsed: list[dict[str, Any]]) -> tuple[float, float]:
    """UAS and LAS in percent, to two decimals."""
    words = [
        (head == system_head, label == system_label)
        for row, system in zip(gold, parsed, strict=True)
        for head, label, system_head, system_label in zip(
            row["head"], row["deprel"], system["head"], system["deprel"], strict=True
        )
    ]
    right, labelled = sum(head for head, _ in words), sum(head and label for head, label in words)
    return round(100 * right / len(words), 2), round(100 * labelled / len(words), 2)


@pytest.mark.parametrize("name", list(SCORES))
def test_scores_on_the_sample(name: str) -> None:
    """With gold tags: 20 English sentences, and all 42 in fourteen languages."""
    gold, parsed = SAMPLE.to_pylist(), covington.Parser.load(name).parse(SAMPLE).to_pylist()
    chosen = [row for row, is_english in enumerate(IS_ENGLISH) if is_english]
    assert (len(chosen), len(gold)) == (20, 42)
    found = (
        attachment([gold[row] for row in chosen], [parsed[row] for row in chosen]),
        attachment(gold, parsed),
    )
    assert found == SCORES[name]


def test_every_bundled_model_is_scored_here() -> None:
    assert models.names() == sorted(SCORES)
