"""What the network sees of words, judged by a twin in plain Python."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.errors import ModelError
from covington.network.words import FormTable, encode, hash_forms

MASK = (1 << 64) - 1
SEED = 0x51ED2701


def mix(state: int, value: int) -> int:
    state = ((state ^ value) * 0x9E3779B97F4A7C15) & MASK
    return state ^ (state >> 29)


def finish(state: int) -> int:
    state = ((state ^ (state >> 32)) * 0xD6E8FEB86659FD93) & MASK
    return state ^ (state >> 32)


def folded(kind: int, values: list[int]) -> int:
    state = mix(SEED, kind)
    for value in values:
        state = mix(state, value)
    return finish(state)


def lower(character: str) -> str:
    return character.lower() if len(character.lower()) == 1 else character


def twin(word: str, buckets: int) -> tuple[int, list[int]]:
    """The hash of the form and the subwords."""
    small = [ord(lower(character)) for character in word]
    count = len(word)
    shape: list[int] = []
    for character in word:
        code = ord(character)
        if lower(character) != character:
            kind = ord("X")
        elif character in "0123456789":
            kind = ord("d")
        elif "a" <= character <= "z" or code > 0xBF:
            kind = ord("x")
        else:
            kind = code
        if shape[-2:] != [kind, kind]:
            shape.append(kind)
    marked = [0x110000, *small[:40], *([0x110001] if count < 41 else [])]
    if count >= 40:
        marked = [0x110000, *small[:40]]
    if count < 40:
        marked = [0x110000, *small, 0x110001]
    values = [folded(1, small[:n]) for n in range(1, min(3, count) + 1)]
    values += [folded(2, small[::-1][:n]) for n in range(1, min(4, count) + 1)]
    values += [folded(3, marked[k : k + n]) for n in (3, 4) for k in range(len(marked) - n + 1)]
    values += [folded(4, shape), folded(5, [ord(character) for character in word])]
    return folded(6, small), [value % buckets for value in values]


# characters that Unicode 14 knows, so that every supported Python lower-cases them alike
known = st.characters(codec="utf-8").filter(lambda c: unicodedata.category(c) != "Cn")


@given(st.lists(st.text(known, max_size=60), max_size=8), st.integers(1, 1 << 20))
def test_words(words: list[str], buckets: int) -> None:
    array = pa.array(["skipped", *words], pa.string())[1:]
    expected = [twin(word, buckets) for word in words]
    assert hash_forms(array).tolist() == [form for form, _ in expected]
    known_forms = sorted({form for form, _ in expected})[::2]
    forms, begins, subwords = encode(array, FormTable(np.array(known_forms, np.uint64)), buckets)
    numbers = {form: number for number, form in enumerate(known_forms, 1)}
    assert forms.tolist() == [numbers.get(form, 0) for form, _ in expected]
    assert [subwords[a:b].tolist() for a, b in pairwise(begins)] == [s for _, s in expected]


def test_lower_case_is_that_of_python() -> None:
    """Every character that Python changes into one other, as far as this Python's Unicode is not newer or older."""
    different = []
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        character = chr(code)
        if unicodedata.category(character) == "Cn":
            continue
        if len(character.lower()) == 1 and character.lower() != character:
            different.append(character)
    one = hash_forms(pa.array(different, pa.string()))
    other = hash_forms(pa.array([character.lower() for character in different], pa.string()))
    assert len(different) >= 1383
    # two dozen letters came with Unicode 15 and 16
    assert (one != other).sum() <= 30
    assert (
        hash_forms(pa.array(["ÅSA", "İ", "ǅ"])).tolist() == hash_forms(pa.array(["åsa", "İ", "ǆ"])).tolist()
    )


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=6))
def test_bytes_that_are_no_text(words: list[bytes]) -> None:
    """They are read within bounds, and a word does not depend on what follows it in memory."""
    array = pa.Array.from_buffers(
        pa.string(), len(words), pa.array(words, pa.binary()).buffers(), null_count=0
    )
    forms, begins, subwords = encode(array, FormTable(np.zeros(0, np.uint64)), 1000)
    for place, word in enumerate(words):
        alone = pa.Array.from_buffers(pa.string(), 1, pa.array([word], pa.binary()).buffers(), null_count=0)
        assert (
            subwords[begins[place] : begins[place + 1]].tolist()
            == encode(alone, FormTable(np.zeros(0, np.uint64)), 1000)[2].tolist()
        )
    assert (forms == 0).all()


def test_forms_must_differ() -> None:
    with pytest.raises(ModelError, match="twice"):
        FormTable(np.array([5, 9, 5], np.uint64))
    table = FormTable(np.array([0, 16, 32], np.uint64))  # all for the same place, and a hash of 0
    assert table is not None
