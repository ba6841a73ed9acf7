"""Is it plain text or CoNLL-U? By the name of a file, or else by its first lines."""

from __future__ import annotations

FORMATS = ("text", "conllu")
#: what a line of text can be: part of a paragraph that ends at a blank line, a sentence, or a document
LINES = ("paragraph", "sentence", "document")
_TEXT = (".txt", ".text")
_SENTENCES = (".conllu", ".conll", ".parquet")
_PACKED = (".gz", ".bz2", ".xz", ".zst")
_TABS = 9  # of a line with ten columns


def is_text(name: str, opening: bytes) -> bool:
    """Whether a file holds plain text; what has a name that says nothing is CoNLL-U if a word of it stands first."""
    named = format_of(name)
    if named is not None:
        return named == "text"
    lines = opening.removeprefix(b"\xef\xbb\xbf").splitlines()
    words = (line for line in lines if line.strip() and not line.startswith(b"#"))
    first = next(words, None)
    if first is None:  # nothing but comments, or nothing at all
        return not any(line.startswith(b"#") for line in lines)
    return first.count(b"\t") != _TABS


def format_of(name: str) -> str | None:
    """What the name of a file says of it."""
    plain = name.lower()
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    if plain.endswith(_TEXT):
        return "text"
    return "conllu" if plain.endswith(_SENTENCES) else None
