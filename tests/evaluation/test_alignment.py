"""Sentences that face each other: what counts as the same, and how the first that does not match is named."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from covington.errors import DataError
from covington.evaluation.alignment import align, check_pair
from tests.support.batches import batch, sentence


def named(ids: str) -> pa.RecordBatch:
    """Sentences of one word with these ids."""
    return batch(*(sentence("w", [0], sent_id=name) for name in ids.split()))


def told(gold: pa.RecordBatch, system: pa.RecordBatch) -> str:
    with pytest.raises(DataError) as caught:
        list(align([gold], [system], "x"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("gold", "system", "message"),
    [
        ("a b c d", "a c d", "sentence b: is missing in x, where sentence c stands in its place"),
        ("a b c d e f", "a d e f", "sentence b: is missing in x, where sentence d stands in its place"),
        ("a b c d", "a n b c d", "sentence b: faces sentence n in x, which gold does not have there"),
        ("a b c d", "a n m b c d", "sentence b: faces sentence n in x, which gold does not have there"),
        ("a b c d", "a b a c d", "sentence c: faces sentence a in x, which stands there twice"),
        ("a b c d", "a b b c d", "sentence c: faces sentence b in x, which stands there twice"),
        ("a b c d", "a c b d", "sentence b: faces sentence c in x: not the same sentences in order"),
        ("a b c d", "a n c d", "sentence b: faces sentence n in x: not the same sentences in order"),
        ("a b c d", "a b", "sentence c: is missing in x, which ends before it"),
        ("a b", "a b c d", "sentence c: stands in x after the last gold sentence"),
    ],
)
def test_why_a_sentence_does_not_match(gold: str, system: str, message: str) -> None:
    assert message in told(named(gold), named(system))


def test_an_id_that_only_one_side_has_is_no_contradiction() -> None:
    given = named("a b c")
    without = batch(sentence("w", [0], sent_id="a"), sentence("w", [0]), sentence("w", [0], sent_id="c"))
    for gold, system in ((given, without), (without, given), (given, given.drop_columns(["sent_id"]))):
        ((one, other),) = align([gold], [system])
        assert (one.num_rows, other.num_rows) == (3, 3)


def test_empty_batches_are_passed_over() -> None:
    rows = named("a b c")
    nothing = rows.slice(0, 0)
    pairs = align(
        [nothing, rows.slice(0, 1), nothing, rows.slice(1)], [rows.slice(0, 2), nothing, rows.slice(2)]
    )
    found = [(one.column("sent_id").to_pylist(), two.column("sent_id").to_pylist()) for one, two in pairs]
    assert found == [(["a"], ["a"]), (["b"], ["b"]), (["c"], ["c"])]


@pytest.mark.parametrize("word", range(5))
def test_the_first_other_word_is_named_with_its_sentence(word: int) -> None:
    """Two sentences of two words and one of one, and one without any words between them."""
    texts = ["a b", "c d", "e"]
    names = [("s1", 1), ("s1", 2), ("s2", 1), ("s2", 2), ("s3", 1)]
    changed = " | ".join(texts).replace("abcde"[word], "X").split(" | ")

    def rows(parts: list[str]) -> pa.RecordBatch:
        found: list[dict[str, Any]] = [
            sentence(part, [0] * len(part.split()), sent_id=f"s{number}")
            for number, part in enumerate(parts, 1)
        ]
        found.insert(1, {"sent_id": "s0", "tokens": None})
        return batch(*found)

    sent_id, number = names[word]
    assert told(rows(texts), rows(changed)).endswith(
        f"sentence {sent_id}: word {number} is {'abcde'[word]} here and X in x"
    )


def test_a_word_that_is_missing_is_another_word() -> None:
    row = sentence("a b", [0, 1], sent_id="s1")
    assert "word 2 is b here and None in x" in told(batch(row), batch({**row, "tokens": ["a", None]}))


def test_a_sentence_of_another_length_is_told_from_gold() -> None:
    rows = [sentence("a", [0], sent_id="s1"), sentence("a b c", [0, 1, 1], sent_id="s2")]
    other = [rows[0], sentence("a b", [0, 1], sent_id="s2")]
    assert "sentence s2: has 3 words, but 2 in x" in told(batch(*rows), batch(*other))


def test_sentences_without_an_id_are_told_by_their_position_or_their_place() -> None:
    placed = batch(*(sentence(word, [0], position=position) for word, position in (("a", 40), ("b", 41))))
    other = batch(*(sentence(word, [0]) for word in ("a", "X")))
    with pytest.raises(DataError, match="sentence number 42: word 1 is b here"):
        check_pair(placed, other)
    with pytest.raises(DataError, match="sentence number 2: word 1 is b here"):
        check_pair(placed.drop_columns(["position"]), other)
