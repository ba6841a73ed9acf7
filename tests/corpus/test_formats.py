"""What a file holds, by its name and by its first lines."""

from __future__ import annotations

import pytest

from covington.corpus.formats import format_of, is_text

WORD = b"1\tA\t_\t_\t_\t_\t0\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("book.txt", "text"),
        ("BOOK.TXT.gz", "text"),
        ("a.text.zst", "text"),
        ("a.conllu", "conllu"),
        ("a.conllu.bz2", "conllu"),
        ("a.parquet", "conllu"),
        ("-", None),
        ("a.dat", None),
        ("txt", None),
    ],
)
def test_names(name: str, expected: str | None) -> None:
    assert format_of(name) == expected


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        (b"The dog barks.\n", True),
        (b"", True),
        (b"\n\n  \n", True),
        (b"one\ttab\n", True),
        (WORD, False),
        (b"\xef\xbb\xbf" + WORD, False),
        (b"\n# sent_id = 1\n# text = A\n" + WORD, False),
        (b"# only comments\n", False),
        (b"# A heading\nand text\n", True),
    ],
)
def test_first_lines(opening: bytes, expected: bool) -> None:
    assert is_text("-", opening) is expected


def test_a_name_is_believed() -> None:
    assert is_text("a.txt", WORD)
    assert not is_text("a.conllu", b"The dog barks.\n")
