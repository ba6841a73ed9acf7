"""Makes the table of characters anew from this Python's Unicode data: python -m covington.characters.build"""

from __future__ import annotations

import base64
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

LIMIT = 0x110000
CASED = 0x1F000  # no character at or above it has another case

#: The classes, in the order of the enum in tables.pxd.
CLASSES = (
    "other",
    "space",
    "digit",
    "number",
    "upper",
    "lower",
    "letter",
    "han",
    "hiragana",
    "katakana",
    "hangul",
    "southeast",
    "mark",
    "joiner",
    "format",
    "modifier",
    "flag",
    "emoji",
    "open",
    "close",
    "quote",
    "dash",
    "terminal",
    "comma",
    "connector",
    "punctuation",
    "currency",
    "math",
    "symbol",
)
_NUMBERS = {name: number for number, name in enumerate(CLASSES)}

_TERMINAL = "".join(map(chr, (0x203C, 0x203D, 0x2047, 0x2048, 0x2049))) + ".!?…։؟۔।॥።፧၊။។៕。！？．｡"
_COMMA = ",;:،؛、，；：﹐､"
_QUOTE = "'\"`´＇＂"
_RANGES = {
    "han": (
        *((0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
        *((0xF900, 0xFAFF), (0x20000, 0x3FFFF)),
    ),
    "hiragana": ((0x3041, 0x309F),),
    "katakana": ((0x30A1, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF)),
    "southeast": ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x19E0, 0x19FF), (0xAA60, 0xAA7F)),
    "emoji": ((0x2190, 0x21FF), (0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF)),
}
_CATEGORIES = {
    "Nd": "digit",
    "Nl": "number",
    "No": "number",
    "Lu": "upper",
    "Lt": "upper",
    "Ll": "lower",
    "Lo": "letter",
    "Lm": "letter",
    "Mn": "mark",
    "Mc": "mark",
    "Me": "mark",
    "Cf": "format",
    "Cc": "space",
    "Zs": "space",
    "Zl": "space",
    "Zp": "space",
    "Ps": "open",
    "Pi": "open",
    "Pe": "close",
    "Pf": "close",
    "Pd": "dash",
    "Pc": "connector",
    "Po": "punctuation",
    "Sc": "currency",
    "Sm": "math",
    "Sk": "symbol",
    "So": "symbol",
}
_SINGLE = {0: "other", 0xFEFF: "space", 0x200D: "joiner"}


def class_name(point: int) -> str:
    """The class of a code point, by its general category and a few lists of our own."""
    if point in _SINGLE:
        return _SINGLE[point]
    if 0x1F3FB <= point <= 0x1F3FF or 0xE0020 <= point <= 0xE007F:
        return "modifier"
    if 0x1F1E6 <= point <= 0x1F1FF:
        return "flag"
    character = chr(point)
    name = _CATEGORIES.get(unicodedata.category(character), "other")
    for characters, special in ((_TERMINAL, "terminal"), (_COMMA, "comma"), (_QUOTE, "quote")):
        if character in characters:
            return special
    if name in ("letter", "number", "symbol", "math", "other"):
        for script, ranges in _RANGES.items():
            if any(first <= point <= last for first, last in ranges) and (
                name != "other" or script == "emoji"
            ):
                return script
    return name


def _shift(convert: Callable[[str], str], point: int) -> int:
    """How far the other case of a code point is away; 0 if it has none, or one of several characters."""
    other = convert(chr(point))
    return ord(other) - point if len(other) == 1 else 0


def _runs(values: Iterator[int]) -> Iterator[tuple[int, int]]:
    length, last = 0, None
    for value in values:
        if value != last and last is not None:
            yield length, last
            length = 0
        last = value
        length += 1
    if last is not None:
        yield length, last


def _varints(numbers: Iterator[int]) -> bytes:
    """Numbers of seven bits a byte, the lowest first."""
    packed = bytearray()
    for number in numbers:
        while number >= 0x80:
            packed.append(number & 0x7F | 0x80)
            number >>= 7
        packed.append(number)
    return bytes(packed)


def _packed(runs: Iterator[tuple[int, int]]) -> str:
    """Runs of length and value, a signed value folded to one without sign."""
    numbers = (
        part for length, value in runs for part in (length, value << 1 if value >= 0 else ~(value << 1))
    )
    return base64.b85encode(zlib.compress(_varints(numbers), 9)).decode("ascii")


def packed_tables() -> dict[str, str]:
    """The three tables as text."""
    return {
        "CLASSES": _packed(_runs(_NUMBERS[class_name(point)] for point in range(LIMIT))),
        "LOWER": _packed(_runs(_shift(str.lower, point) for point in range(CASED))),
        "UPPER": _packed(_runs(_shift(str.upper, point) for point in range(CASED))),
    }


def _source() -> str:
    lines = [
        '"""The table of characters, packed; made by covington.characters.build and never edited."""',
        "",
        f'UNICODE = "{unicodedata.unidata_version}"',
    ]
    for name, text in packed_tables().items():
        lines += ["", f"{name} = ("]
        lines += [f'    "{text[start : start + 100]}"' for start in range(0, len(text), 100)]
        lines += [")"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "packed.py").write_text(_source(), encoding="utf-8")
    sys.stdout.write(f"Unicode {unicodedata.unidata_version}\n")
