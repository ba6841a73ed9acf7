"""The table of characters is what this Python's Unicode data give, where that is of the same version."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.characters import packed
from covington.characters.build import CASED, CLASSES, LIMIT, class_name, packed_tables
from covington.characters.tables import classes, lower, lowercase, upper, uppercase

same_version = pytest.mark.skipif(
    unicodedata.unidata_version != packed.UNICODE,
    reason=f"this Python has Unicode {unicodedata.unidata_version}",
)


@same_version
def test_the_packed_table_is_up_to_date() -> None:
    assert packed_tables() == {"CLASSES": packed.CLASSES, "LOWER": packed.LOWER, "UPPER": packed.UPPER}


def test_every_character_has_a_class() -> None:
    assert len(classes) == LIMIT and int(classes.max()) < len(CLASSES)
    assert len(lower) == len(upper) == CASED


@pytest.mark.parametrize(
    ("character", "class_"),
    [
        *[
            (character, "space")
            for character in " \t\n\r\x0b\x0c\x01\x1f\x7f\x85\x9f\u00a0\u2028\u3000\ufeff"
        ],
        *[
            ("\0", "other"),
            ("A", "upper"),
            ("ß", "lower"),
            ("א", "letter"),
            ("漢", "han"),
            ("ー", "katakana"),
        ],
        *[("\u0301", "mark"), ("\u200d", "joiner"), ("\u200e", "format"), ("🏽", "modifier"), ("🇩", "flag")],
        *[
            ("😀", "emoji"),
            (".", "terminal"),
            ("。", "terminal"),
            (",", "comma"),
            ("'", "quote"),
            ("«", "open"),
        ],
        *[
            ("–", "dash"),
            ("_", "connector"),
            ("€", "currency"),
            ("+", "math"),
            ("5", "digit"),
            ("½", "number"),
        ],
    ],
)
def test_classes(character: str, class_: str) -> None:
    assert CLASSES[int(classes[ord(character)])] == class_ == class_name(ord(character))


@same_version
@given(st.characters(exclude_categories=("Cs",)))
def test_cases(character: str) -> None:
    for convert, expected in ((lowercase, character.lower()), (uppercase, character.upper())):
        assert convert(character) == (expected if len(expected) == 1 else character)
