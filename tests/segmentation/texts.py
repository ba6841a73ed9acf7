"""Texts for tests: every kind of white space, marks, emoji, bidi marks, addresses, and ordinary words between them."""

from __future__ import annotations

from hypothesis import strategies as st

SPACES = (
    *(" ", " ", " ", "\n", "\n\n", "\t", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\x9f", "\u00a0"),
    *("\u2003", "\u2028", "\u2029", "\u3000", "\ufeff", "  \n \n", "\x01", "\x7f"),
)
PIECES = (
    *(
        "The",
        "dog",
        "barks",
        "don't",
        "CAN'T",
        "du",
        "Du",
        "chat",
        "noir",
        "10",
        "000",
        "Mr",
        ".",
        "。",
        "!",
        "?",
    ),
    *(
        ",",
        "(",
        ")",
        '"',
        "«",
        "»",
        "'s",
        "n't",
        "e.g.",
        "_",
        "#",
        "|",
        "\\",
        "\\s",
        "=",
        "SpaceAfter=No",
        "dámelo",
    ),
    *(
        "加速",
        "度",
        "ひらがな",
        "カタカナ",
        "ไทย",
        "שלום",
        "مرحبا",
        "e\u0301",
        "\u0301",
        "\u200d",
        "\u200e",
        "\u202e",
    ),
    *(
        "\u200b",
        "\u00ad",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "🇩🇪🇫🇷",
        "😀😀",
        "1️⃣",
        "http://a.b/c_(d)?e=f&g,",
        "www.x.org",
    ),
    *("a.b+c@d-e.co.uk", "@", "://", "İ", "ß", "𐐀", "\U000e0067", "x" * 40, "ab" * 700, "?!" * 30),
)


def texts() -> st.SearchStrategy[str]:
    """Pieces and spaces in any order, and now and then any character at all."""
    any_character = st.characters(exclude_characters="\0", exclude_categories=("Cs",))
    piece = st.one_of(st.sampled_from(PIECES), st.sampled_from(SPACES), any_character)
    return st.lists(piece, max_size=60).map("".join)
