"""What a segmenter learns, and that it follows no damaged model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.corpus.conllu.reader import parse_bytes
from covington.errors import DataError, ModelError, OptionError
from covington.segmentation.core import ARRAYS
from covington.segmentation.gold import gold_text
from covington.segmentation.learner import Step
from covington.segmentation.learning import SegmentOptions, learn_segmenter
from covington.segmentation.multiword import TO_END, Part, applied, scripts_of
from covington.segmentation.segmenter import Segmenter
from tests.segmentation.models import ODD, gold, learnt


def test_gold_text_is_what_the_treebank_came_from() -> None:
    batch, _ = parse_bytes(ODD.encode(), "odd")
    text = gold_text([batch])
    assert text.text.decode() == "du chat noir. du can't don't!\n\n加速度。dámelo Mr. 10 000.\n"
    forms = [text.text[a:b].decode() for a, b in zip(text.starts, text.ends, strict=True)]
    assert forms[:4] == ["du", "chat noir", ".", "du"]
    assert text.words[0] == ("de", "le") and text.words[3] == ("du",)
    assert text.sentence_ends.sum() == 4 and text.paragraph_ends.sum() == 2
    assert b"\n\n" not in gold_text([batch], paragraphs=False).text


def test_the_sample_is_segmented_as_it_is_annotated() -> None:
    text = gold_text([gold()])
    metadata, arrays = learn_segmenter([gold()])
    stream = Segmenter(metadata, arrays).open("x")
    batches = stream.feed(text.text) + stream.finish()
    found = [sentence for batch in batches for sentence in batch["tokens"].to_pylist()]
    expected = gold()["tokens"].to_pylist()
    right = sum(sentence in expected for sentence in found)
    assert right > 0.97 * len(expected)
    forms = {node["form"]: node for batch in batches for nodes in batch["mwt"].to_pylist() for node in nodes}
    assert {"can't", "don't", "dámelo"} <= set(forms)


def test_learning_again_gives_the_same() -> None:
    options = SegmentOptions(bits=12, split_epochs=3, end_epochs=3)
    metadata, arrays = learn_segmenter([gold()], options)
    assert metadata == learnt()[0]
    assert set(arrays) == set(ARRAYS)
    assert all(np.array_equal(arrays[name], array) for name, array in learnt()[1].items())


def test_without_sentences_there_is_nothing_to_learn() -> None:
    with pytest.raises(DataError, match="there are no sentences"):
        learn_segmenter([])
    for wrong in ({"bits": 3}, {"end_epochs": 0}, {"split_rate": 0.0}, {"end_dropout": 1.0}):
        with pytest.raises(OptionError):
            SegmentOptions(**wrong)


@pytest.mark.parametrize(
    ("form", "words", "script"),
    [
        ("don't", ["do", "n't"], (Part(0, -3, "", ""), Part(-3, TO_END, "", ""))),
        ("wal", ["w", "al"], (Part(0, 1, "", ""), Part(1, TO_END, "", ""))),
        ("du", ["de", "le"], (Part(0, 0, "de", ""), Part(0, 0, "le", ""))),
        ("vámonos", ["vamos", "nos"], (Part(2, -3, "va", "s"), Part(0, 0, "nos", ""))),
    ],
)
def test_scripts_of_multiword_tokens(form: str, words: list[str], script: tuple[Part, ...]) -> None:
    assert script in scripts_of(form, words)
    assert applied(script, form) == tuple(words)


def test_scripts_keep_the_case_of_the_token() -> None:
    (script,) = scripts_of("du", ["de", "le"])
    assert applied(script, "Du") == ("De", "le")
    assert applied(script, "DU") == ("DE", "LE")
    assert applied(scripts_of("don't", ["do", "n't"])[0], "x") is None


@given(
    st.text("aàbAB'", min_size=2, max_size=8), st.lists(st.text("aàbAB'", min_size=1, max_size=5), min_size=2)
)
def test_scripts_make_the_words(form: str, words: list[str]) -> None:
    assert all(applied(script, form) == tuple(words) for script in scripts_of(form, words))


def test_a_step_is_that_of_a_logistic_regression() -> None:
    """Two questions that differ in one feature: the weights go to where the answers are right."""
    options = SegmentOptions(bits=12, split_epochs=1, end_epochs=1)
    metadata, arrays = learn_segmenter([gold()], options)
    assert np.abs(arrays["splits"].astype(int)).sum() > 0
    with pytest.raises((ValueError, TypeError)):
        Step(np.zeros(4, np.int16), np.zeros(4096, np.uint16), rate=1, dropped=0, seed=1)
    assert metadata["format"] == 1


def _set(place: Any, value: int) -> Any:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *[(name, lambda array: array.astype(np.float32)) for name in ARRAYS],
        *[(name, lambda array: array[:-1]) for name in ("splits", "joins", "ends", "words", "form_keys")],
        *[(name, lambda array: array[:0]) for name in ("splits", "form_keys", "script_starts", "parts")],
        ("form_keys", lambda array: np.ones_like(array)),
        ("affix_keys", lambda array: np.ones_like(array)),
        ("form_values", _set(0, 1 << 20)),
        ("form_values", _set(0, -2)),
        ("affix_values", _set(0, -1)),
        ("affix_values", _set(0, 1 << 20)),
        ("script_starts", _set(1, 1 << 20)),
        ("script_starts", _set(0, 1)),
        ("script_starts", _set(-1, 0)),
        ("parts", _set((0, 0), 1 << 30)),
        ("parts", _set((0, 4), 1 << 30)),
        ("parts", _set((0, 2), -1)),
        ("literals", _set(0, 0xFF)),
        ("literals", _set(0, 0x0A)),
    ],
)
def test_damaged_arrays_are_refused(name: str, change: Any) -> None:
    metadata, arrays = learnt()
    with pytest.raises(ModelError):
        Segmenter(metadata, arrays | {name: change(np.array(arrays[name]))})  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"format": 2}, {"end_threshold": None}, {"end_threshold": 1 << 40}])
def test_other_metadata_is_refused(change: dict[str, Any]) -> None:
    metadata, arrays = learnt()
    with pytest.raises(ModelError):
        Segmenter(metadata | change, arrays)  # type: ignore[arg-type]
    with pytest.raises(ModelError):
        Segmenter(metadata, {name: array for name, array in arrays.items() if name != "ends"})  # type: ignore[arg-type]


def test_a_model_without_multiword_tokens() -> None:
    batch = pa.RecordBatch.from_pylist(
        [{"tokens": ["a", "b"], "misc": [None, None], "comments": [], "mwt": []}] * 3, schema=gold().schema
    )
    stream = Segmenter(*learn_segmenter([batch], SegmentOptions(bits=4))).open("x")
    assert sum(found.num_rows for found in stream.feed(b"a b a b\n") + stream.finish()) >= 1
