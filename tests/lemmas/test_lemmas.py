"""Lemmas: the compiled lemmatiser does what its slow twin does, and learns what there is to be learnt."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from covington.corpus.conllu.reader import parse_bytes
from covington.errors import DataError, ModelError, OptionError
from covington.lemmas.learning import LemmaOptions, learn_lemmatiser
from covington.lemmas.lemmatiser import Lemmatiser
from covington.lemmas.model import ARRAYS
from covington.lemmas.scripts import Script, applied, script_of
from covington.schemas import SENTENCE
from tests.lemmas.reference import Reference

SAMPLE = Path(__file__).parents[2] / "models" / "sample.conllu"
FORMS = st.one_of(
    st.text(
        st.characters(exclude_characters="\0\t\n\r", exclude_categories=("Cs",)), min_size=1, max_size=12
    ),
    st.sampled_from(
        ["dogs", "Dogs", "DOGS", "ran", "was", "studies", "İstanbul", "ßs", "x" * 500, "_", "Ⱥs", "don’t"]
    ),
)
UPOS = st.sampled_from([None, "NOUN", "VERB", "AUX", "PROPN", "X"])
FEATS = st.sampled_from([None, "Number=Plur", "Tense=Past|VerbForm=Fin"])


@lru_cache(1)
def gold() -> pa.RecordBatch:
    batch, rejects = parse_bytes(SAMPLE.read_bytes(), "sample.conllu")
    assert rejects.num_rows == 0
    return batch


@lru_cache
def learnt(*tags: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return learn_lemmatiser([gold()], LemmaOptions(epochs=3, tags=tags))


def batch(**columns: list[Any]) -> pa.RecordBatch:
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return pa.RecordBatch.from_pylist(rows, schema=SENTENCE)


@given(FORMS, FORMS)
@example("İx", "i̇x")
def test_a_script_makes_the_lemma_of_its_word(form: str, lemma: str) -> None:
    assert applied(script_of(form, lemma), form) == lemma


def test_scripts_are_edits_at_both_ends() -> None:
    assert script_of("studies", "study") == Script(1, "", "", "ies", "y")
    assert script_of("Dogs", "dog") == Script(1, "", "", "s", "")
    assert script_of("London", "London") == Script(0, "", "", "", "")
    assert script_of("LONDON", "London") == Script(2, "", "", "", "")
    assert script_of("was", "be").case == 4


@pytest.mark.parametrize("tags", [(), ("feats",), ("xpos",), ("feats", "xpos")])
def test_the_twin_agrees_on_the_sample(tags: tuple[str, ...]) -> None:
    metadata, arrays = learnt(*tags)
    twin = Reference(metadata, arrays)
    found = Lemmatiser(metadata, arrays).annotate(gold(), replace=True)
    names = ("tokens", "upos", "xpos", "feats", "lemmas")
    right = total = 0
    given_lemmas = gold()["lemmas"].to_pylist()
    for row, lemmas in zip(found.select(names).to_pylist(), given_lemmas, strict=True):
        expected = [
            twin.lemma(form, upos, {"xpos": xpos, "feats": feats})
            for form, upos, xpos, feats in zip(
                row["tokens"], row["upos"], row["xpos"], row["feats"], strict=True
            )
        ]
        assert row["lemmas"] == expected
        right += sum(a == b for a, b in zip(lemmas, expected, strict=True))
        total += len(lemmas)
    assert right / total > 0.98  # exceptions are learnt too: only what is ambiguous is wrong


@given(st.lists(st.tuples(FORMS, UPOS, FEATS), min_size=1, max_size=20), st.integers(0, 1 << 32))
def test_the_twin_agrees_on_any_words_with_any_weights(
    words: list[tuple[str, str | None, str | None]], seed: int
) -> None:
    metadata, arrays = learnt("feats")
    rng = np.random.default_rng(seed)
    noise = rng.integers(-9, 9, len(arrays["entry_weights"])).astype(np.int16)
    arrays = arrays | {"entry_weights": noise}
    forms, upos, feats = (list(column) for column in zip(*words, strict=True))
    twin = Reference(metadata, arrays)
    found = Lemmatiser(metadata, arrays).annotate(batch(tokens=[forms], upos=[upos], feats=[feats]))
    assert found["lemmas"].to_pylist() == [[twin.lemma(form, tag, {"feats": f}) for form, tag, f in words]]


def test_what_is_given_stays() -> None:
    lemmatiser = Lemmatiser(*learnt("feats"))
    before = batch(
        tokens=[["dogs", "bark"], ["dogs"], ["dogs", "bark"], ["dogs"], ["dogs"]],
        upos=[["NOUN", "VERB"], ["NOUN"], None, None, ["NOUN"]],
        lemmas=[["mine", None], [None], None, ["x"], None],
    )
    after = lemmatiser.annotate(before)
    lemmas = after["lemmas"].to_pylist()
    assert lemmas[0] == ["mine", None] and lemmas[3] == ["x"]
    assert lemmas[1] == lemmas[4] == ["dog"]
    assert lemmas[2] is not None and all(lemmas[2])
    assert after.drop_columns(["lemmas"]).equals(before.drop_columns(["lemmas"]))
    assert lemmatiser.annotate(before, replace=True)["lemmas"].to_pylist()[1] == ["dog"]
    sliced = lemmatiser.annotate(before.slice(1, 3))
    assert sliced["lemmas"].to_pylist() == lemmas[1:4]
    plain = pa.record_batch({"tokens": [["dogs"], None]})
    assert lemmatiser.annotate(plain)["lemmas"].to_pylist()[1] == []


def test_words_come_back_as_they_are_if_they_cannot_be_edited() -> None:
    long = "s" * 2000
    lemmatiser = Lemmatiser(*learnt("feats"))
    assert lemmatiser.annotate(batch(tokens=[[long]]))["lemmas"].to_pylist() == [[long]]


def test_learning_again_gives_the_same() -> None:
    first, second = learnt("feats"), learn_lemmatiser([gold()], LemmaOptions(epochs=3, tags=("feats",)))
    assert first[0] == second[0]
    assert all(np.array_equal(array, second[1][name]) for name, array in first[1].items())


def test_without_lemmas_there_is_nothing_to_learn() -> None:
    with pytest.raises(DataError, match="no word has a lemma"):
        learn_lemmatiser([batch(tokens=[["a"]])])
    with pytest.raises(OptionError):
        LemmaOptions(tags=("deprel",))
    with pytest.raises(OptionError):
        LemmaOptions(epochs=0)


def damaged(name: str, change: Any) -> None:
    metadata, arrays = learnt("feats")
    with pytest.raises(ModelError):
        Lemmatiser(metadata, arrays | {name: change(arrays[name].copy())})


def _set(place: Any, value: Any) -> Any:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *[(name, lambda array: array.astype(np.float32)) for name in ARRAYS],
        ("scripts", _set((3, 0), 5)),
        ("scripts", _set((3, 1), -1)),
        ("scripts", _set((3, 5), 1 << 30)),
        ("scripts", _set((3, 2), 0)),
        ("scripts", _set((0, 0), 1)),
        ("literals", _set(0, 0xFF)),
        ("exception_values", _set(slice(None), 1 << 20)),
        ("exception_values", _set(0, -1)),
        ("exception_keys", lambda array: np.ones_like(array)),
        ("exception_keys", lambda array: array[:-1]),
        ("feature_keys", lambda array: np.ones_like(array)),
        ("feature_rows", _set(0, 1 << 30)),
        ("row_starts", _set(1, 1 << 30)),
        ("row_starts", _set(-1, 0)),
        ("row_starts", _set(slice(1, 3), [(1 << 31) - 1, -(1 << 31)])),  # whose difference is 1 in 32 bits
        ("entry_scripts", _set(0, 65535)),
        ("entry_weights", lambda array: array[:-1]),
    ],
)
def test_damaged_arrays_are_refused(name: str, change: Any) -> None:
    damaged(name, change)


def test_other_metadata_is_refused() -> None:
    metadata, arrays = learnt("feats")
    for change in ({"format": 2}, {"tags": ["deprel"]}, {"tags": None}):
        with pytest.raises(ModelError):
            Lemmatiser(metadata | change, arrays)
    with pytest.raises(ModelError):
        Lemmatiser(metadata, {name: array for name, array in arrays.items() if name != "scripts"})
