"""Columns of a batch as one value per word: what is missing stays missing, what does not fit is named."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from covington.corpus.columns import has_column, heads_of, strings, word_counts
from covington.errors import DataError
from covington.features import encoding
from tests.support.batches import batch, sentence

LABELS = ["dep", "root"]


def columns(**given: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(given)


TEXT = pa.list_(pa.string())


def test_lists_that_are_missing_whole_leave_their_words_without_a_value() -> None:
    rows = columns(
        tokens=[["a", "b"], ["c"], [], ["d", "e", "f"], ["g"]],
        upos=pa.array([["A", "B"], None, [], [], ["G"]], TEXT),
        head=[[2, 0], None, [], None, [0]],
    )
    lengths = word_counts(rows)
    assert lengths.tolist() == [2, 1, 0, 3, 1]
    found = strings(rows, "upos", lengths)
    assert found is not None
    assert found.to_pylist() == ["A", "B", None, None, None, None, "G"]
    assert heads_of(rows, lengths).tolist() == [2, 0, -1, -1, -1, -1, 0]
    assert heads_of(rows.select(["tokens"]), lengths).tolist() == [-1] * 7


def test_a_column_counts_if_any_word_has_a_value() -> None:
    rows = columns(tokens=[["a", "b"]], upos=[["A", None]], xpos=pa.array([[None, None]], TEXT), feats=[None])
    found = {name: has_column(rows, name) for name in ("tokens", "upos", "xpos", "feats", "lemmas")}
    assert found == {"tokens": True, "upos": True, "xpos": False, "feats": False, "lemmas": False}


@pytest.mark.parametrize(
    "kind", [TEXT, pa.large_list(pa.large_string()), pa.list_(pa.dictionary(pa.int8(), pa.string()))]
)
def test_lists_and_strings_of_any_size_are_the_same(kind: pa.DataType) -> None:
    rows = columns(tokens=pa.array([["a"], None, ["b", "ö"]], kind))
    lengths = word_counts(rows)
    assert lengths.tolist() == [1, 0, 2]
    found = strings(rows, "tokens", lengths)
    assert found is not None and found.type == pa.string()
    assert found.to_pylist() == ["a", "b", "ö"]


@pytest.mark.parametrize(("place", "values"), [(0, 1), (1, 2), (1, 4), (2, 1)])
def test_the_first_list_that_does_not_fit_is_named(place: int, values: int) -> None:
    rows = [sentence("a b c", [0, 1, 1], sent_id=f"s{number}") for number in range(3)]
    rows[place]["upos"] = ["X"] * values
    rows[2]["upos"] = ["X"]
    with pytest.raises(DataError, match=f"sentence s{place}.*'upos' has {values} values for 3 words"):
        strings(batch(*rows), "upos", np.array([3, 3, 3]))


def learnt(*rows: dict[str, object]) -> str:
    with pytest.raises(DataError) as caught:
        encoding.encode(batch(*rows), ["w"], "upos", LABELS)
    return str(caught.value)


def test_words_need_labels_and_nothing_needs_none() -> None:
    assert "no labels (column 'deprel')" in learnt({**sentence("a", [0]), "deprel": None})
    encoding.encode(batch({"tokens": []}), ["w"], "upos", LABELS)


@pytest.mark.parametrize("word", range(5))
def test_the_first_label_that_is_not_known_is_named(word: int) -> None:
    """The words of three sentences: two, two, one; an empty one lies between."""
    labels = ["root", "dep", "root", "dep", "root"]
    labels[word] = "other"
    labels[4] = labels[4] if word == 4 else "another"  # not the first one
    texts = labels[:2], labels[2:4], labels[4:]
    heads = [0, 1], [0, 1], [0]
    rows = [
        sentence(" ".join("w" * len(head)), head, " ".join(text), sent_id=f"s{number}")
        for number, (head, text) in enumerate(zip(heads, texts, strict=True))
    ]
    rows.insert(1, {"tokens": [], "head": [], "deprel": [], "sent_id": "empty"})
    assert f"sentence s{word // 2}: word {word % 2 + 1} has no label that the model knows" in learnt(*rows)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 5], "head 5 of word 2 is out of range"),
        ([0, None], "word 2 has no head"),
        ([2, 1], "head 2 of word 1 is on a cycle"),
    ],
)
def test_what_is_no_tree_is_named_by_its_number_where_it_has_no_id(
    heads: list[int | None], message: str
) -> None:
    told = learnt(sentence("a b c", [0, 1, 1]), sentence("a b", heads, "root dep", position=1))
    assert re.search(f"sentence number 2: not a tree: {message}", told)


def test_two_tags_are_joined_whatever_the_rest_of_the_batch_has() -> None:
    """A word that lacks one of the two is not a word without tags, nor one that only has the other column's."""
    rows = columns(tokens=[["a", "b", "c"]], upos=[["N", "V", None]], xpos=[["nn", None, "x"]])
    found = encoding._tags(rows, "upos+xpos", np.array([3]))
    assert found is not None
    assert found.to_pylist() == ["N+nn", "V+", "+x"]
    for name, expected in (("upos", ["N+", "V+", None]), ("xpos", ["+nn", None, "+x"])):
        alone = encoding._tags(rows.select(["tokens", name]), "upos+xpos", np.array([3]))
        assert alone is not None and alone.to_pylist() == expected
    assert encoding._tags(rows.select(["tokens"]), "upos+xpos", np.array([3])) is None


def lying(*offsets: int) -> pa.Buffer:
    return pa.py_buffer(np.array(offsets, np.int32))


@pytest.mark.parametrize("tag", ["upos", "upos+xpos"])
@pytest.mark.parametrize("middle", [1 << 30, -(1 << 30)])
def test_offsets_that_make_no_sense_are_not_followed(tag: str, middle: int) -> None:
    good = pa.array([["a", "b"], None], TEXT)
    texts = pa.StringArray.from_buffers(2, lying(0, middle, 2), pa.py_buffer(b"ab"))
    for bad in (
        pa.ListArray.from_arrays(pa.array([0, 2, 2], pa.int32()), texts),
        pa.Array.from_buffers(TEXT, 2, [None, lying(0, middle, 2)], children=[pa.array(["a", "b"])]),
    ):
        for given in (
            {"tokens": bad, "upos": good, "xpos": good},
            {"tokens": good, "upos": bad, "xpos": good},
        ):
            with pytest.raises(DataError, match="make no sense"):
                encoding.encode(columns(**given), ["w", "p"], tag)
