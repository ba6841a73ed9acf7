"""The slow, literal twin of the segmenter: the whole text at once, one Python object per everything."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from covington.characters.build import CLASSES
from covington.characters.tables import classes, lowercase
from covington.segmentation.multiword import Part, applied
from tests.support.reference_perceptron import WORD, finish, mix

NAMES = [*CLASSES, "edge"]
NUMBERS = {name: number for number, name in enumerate(NAMES)}
EXTENSIONS = ("mark", "joiner", "format", "modifier")
WORDLIKE = NAMES[NUMBERS["digit"] : NUMBERS["modifier"] + 1]
TRAILING = [*NAMES[NUMBERS["open"] : NUMBERS["comma"] + 1], "punctuation"]
SPACELESS = ("han", "hiragana", "katakana", "southeast")
ESCAPES = {" ": r"\s", "\t": r"\t", "\n": r"\n", "\r": r"\r", "|": r"\p", "\\": r"\\"}


def name(character: str) -> str:
    return NAMES[int(classes[ord(character)])]


def chain(*values: int) -> int:
    """A feature's key: its template and what it sees, one after the other."""
    state = values[0]
    for value in values[1:]:
        state = mix(state, value)
    return finish(state)


def hashed(characters: str) -> int:
    state = 0
    for character in characters:
        state = mix(state, ord(character))
    return state


def pack(a: int, b: int, c: int) -> int:
    return (a << 42 | b << 21 | c) & WORD


def kind(character: str) -> str:
    """Characters of one kind make up a run; those of none stand by themselves."""
    class_ = name(character)
    return class_ if class_ in SPACELESS else "word" if class_ in WORDLIKE else ""


def run_hash(characters: str) -> int:
    """Of the first characters of a run; 1 for all runs that are too long to tell them apart."""
    return hashed(characters) if len(characters) <= 16 else 1


def left_run(chunk: str, place: int) -> str:
    start = place - 1
    if kind(chunk[start]):
        while start > 0 and kind(chunk[start - 1]) == kind(chunk[place - 1]):
            start -= 1
    return chunk[start:place]


def right_run(chunk: str, place: int) -> str:
    end = place + 1
    if kind(chunk[place]):
        while end < len(chunk) and kind(chunk[end]) == kind(chunk[place]):
            end += 1
    return chunk[place:end]


@dataclass
class Border:
    head: int = 0
    tail: int = 0
    head_class: str = "edge"
    tail_class: str = "edge"
    last_class: str = "edge"
    whole: bool = False


def border(chunk: str) -> Border:
    if not chunk:
        return Border()
    head = right_run(chunk, 0)[:16]
    tail = left_run(chunk, len(chunk))[-16:]
    return Border(
        hashed(lowercase(head)),
        hashed(lowercase(tail)),
        name(chunk[0]),
        name(tail[0]),
        name(chunk[-1]),
        head == chunk,
    )


@dataclass
class Token:
    """A token of a paragraph, by characters of the text."""

    start: int = 0
    end: int = 0
    text: str = ""
    spaced: bool = False

    @property
    def hash(self) -> int:
        return hashed(lowercase(self.text))

    @property
    def suffix(self) -> int:
        lower = lowercase(self.text)
        return pack(0, ord(lower[-2]) if len(lower) > 1 else 0, ord(lower[-1])) if lower else 0

    @property
    def shape(self) -> int:
        state, last = 0, "edge"
        if not self.text:
            return 0
        for number, character in enumerate(self.text):
            if name(character) != last and number < 12:
                state = mix(state, NUMBERS[name(character)])
                last = name(character)
        return mix(state, min(len(self.text), 4))

    @property
    def first(self) -> int:
        return NUMBERS[name(self.text[0]) if self.text else "edge"]

    @property
    def last(self) -> int:
        return NUMBERS[name(self.text[-1]) if self.text else "edge"]

    @property
    def length(self) -> int:
        return min(len(self.text), 255)


class Reference:
    """A segmenter that does what the compiled one does, as its documentation says it."""

    def __init__(self, metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self.weights = {key: arrays[key].tolist() for key in ("splits", "joins", "ends", "words")}
        text = arrays["literals"].tobytes()
        starts = arrays["script_starts"].tolist()
        parts = [
            Part(start, end, text[a:b].decode(), text[b:c].decode())
            for start, end, a, b, c in arrays["parts"].tolist()
        ]
        self.scripts = [tuple(parts[start:end]) for start, end in itertools.pairwise(starts)]
        self.forms, self.affixes = (
            {
                key: value
                for key, value in zip(
                    arrays[f"{table}_keys"].tolist(), arrays[f"{table}_values"].tolist(), strict=True
                )
                if key
            }
            for table in ("form", "affix")
        )

    def score(self, question: str, keys: list[int]) -> int:
        weights = self.weights[question]
        shift = 64 - (len(weights) - 1).bit_length()
        return int(sum(weights[key >> shift] for key in keys))

    # from text to sentences

    def sentences(self, text: str) -> list[dict[str, Any]]:
        """What a stream gives for a text without anything that is cut or rejected."""
        rows: list[dict[str, Any]] = []
        paragraphs = list(self.paragraphs(text))
        settled = 0
        for number, (start, end, gap_end) in enumerate(paragraphs):
            tokens = self.tokens(text, start, end)
            for index, (first, last) in enumerate(self.cut_sentences(tokens)):
                row = {"tokens": [], "misc": [], "mwt": [], "start": [], "end": [], "text": ""}
                row["sent_id"] = f"{number + 1}-{index + 1}"
                for place in range(first, last):
                    token = tokens[place]
                    gap = tokens[place + 1].start if place + 1 < len(tokens) else gap_end
                    self.add_token(row, tokens, place, text[settled : token.start], text[token.end : gap])
                    settled = gap
                row["text"] = row["text"].rstrip(" ")
                rows.append(row)
        return rows

    def paragraphs(self, text: str) -> list[tuple[int, int, int]]:
        """Where each begins and ends, and where the white space that belongs to it ends."""
        result: list[tuple[int, int, int]] = []
        for start, end in stretches(text):
            gap = text[result[-1][1] : start] if result else ""
            if result and gap.count("\n") < 2:
                result[-1] = (result[-1][0], end, end)
            else:
                if result:
                    result[-1] = (*result[-1][:2], result[-1][1] + gap.rindex("\n") + 1)
                result.append((start, end, end))
        if result:
            result[-1] = (*result[-1][:2], len(text))
        return result

    # tokens

    def tokens(self, text: str, start: int, end: int) -> list[Token]:
        spans = [(start + first, start + last) for first, last in stretches(text[start:end])]
        chunks = [text[a:b] for a, b in spans]
        borders = [border(chunk) for chunk in chunks]
        tokens: list[Token] = []
        joined = False
        for number, ((first, _last), chunk) in enumerate(zip(spans, chunks, strict=True)):
            following = borders[number + 1] if number + 1 < len(chunks) else Border()
            places = [0, *self.splits(chunk, following), len(chunk)]
            for a, b in itertools.pairwise(places):
                if joined:
                    joined = False
                    tokens[-1] = Token(tokens[-1].start, first + b)
                else:
                    tokens.append(Token(first + a, first + b))
                tokens[-1].text = text[tokens[-1].start : tokens[-1].end]
                tokens[-1].spaced = b == len(chunk)
            joined_before = number > 0 and self.joined_before
            self.joined_before = joined = (
                number + 1 < len(chunks)
                and bool(self.metadata["has_joins"])
                and self.is_joined(borders, number, joined_before)
                and tokens[-1].length < 255
            )
        return tokens

    joined_before = False

    def splits(self, chunk: str, following: Border) -> list[int]:
        known = protected(chunk)
        core = len(chunk)
        while core > 0 and name(chunk[core - 1]) in TRAILING:
            core -= 1
        core = core or len(chunk)
        result, last = [], 0
        for place in range(1, len(chunk)):
            yes = known[place] is True
            if known[place] is None:
                keys = split_features(lowercase(chunk), chunk, place)
                if kind(chunk[place]) in SPACELESS and kind(chunk[place - 1]) in SPACELESS:
                    keys += spaceless_features(chunk, place, last)
                if place >= core:
                    keys += trailing_features(chunk, core, place, following)
                yes = self.score("splits", keys) > 0
            if yes or place - last >= 1024:
                result.append(place)
                last = place
        return result

    def is_joined(self, borders: list[Border], place: int, joined: bool) -> bool:
        before = borders[place - 1] if place else Border()
        left, right = borders[place], borders[place + 1]
        after = borders[place + 2] if place + 2 < len(borders) else Border()
        return self.score("joins", join_features(before, left, right, after, joined)) > 0

    # sentences

    def cut_sentences(self, tokens: list[Token]) -> list[tuple[int, int]]:
        result, start, quotes, brackets = [], 0, 0, 0
        for place, token in enumerate(tokens):
            near = [
                tokens[place + step] if 0 <= place + step < len(tokens) else Token() for step in range(-2, 4)
            ]
            keys = end_features(near, place - start + 1, quotes, brackets)
            ends = (
                place == len(tokens) - 1
                or place - start + 1 >= 1024
                or self.score("ends", keys) > self.metadata["end_threshold"]
            )
            if len(token.text) == 1:
                quotes += name(token.text) == "quote"
                brackets += name(token.text) == "open"
                brackets -= name(token.text) == "close" and brackets > 0
            if ends:
                result.append((start, place + 1))
                start, quotes, brackets = place + 1, 0, 0
        return result

    # words

    def add_token(
        self, row: dict[str, Any], tokens: list[Token], place: int, before: str, after: str
    ) -> None:
        token = tokens[place]
        form = " ".join(token.text[first:last] for first, last in stretches(token.text))
        misc = []
        if not after:
            misc.append("SpaceAfter=No")
        if before:
            misc.append(f"SpacesBefore={escaped(before)}")
        if after not in ("", " "):
            misc.append(f"SpacesAfter={escaped(after)}")
        if form != token.text:
            misc.append(f"SpacesInToken={escaped(token.text)}")
        words = self.words(tokens, place)
        value = "|".join(misc) or None
        if words:
            first = len(row["tokens"]) + 1
            row["mwt"].append((f"{first}-{first + len(words) - 1}", form, value))
        row["tokens"] += words or [form]
        row["misc"] += [None] * len(words) if words else [value]
        row["start"] += [token.start] * len(words or [form])
        row["end"] += [token.end] * len(words or [form])
        row["text"] += form + (" " if after else "")

    def words(self, tokens: list[Token], place: int) -> list[str]:
        token = tokens[place]
        if not self.scripts or not 2 <= len(token.text) <= 64:
            return []
        value = self.forms.get(finish(mix(603, token.hash)) or 1)
        if value == -1:
            return []
        script, in_context = (value >> 1, value & 1) if value is not None else (self.by_affix(token), 0)
        if script < 0:
            return []
        if value is None or in_context:
            near = [
                tokens[place + step] if 0 <= place + step < len(tokens) else Token() for step in (-1, 0, 1)
            ]
            if self.score("words", words_features(near, script, bool(in_context))) <= 0:
                return []
        words = applied(self.scripts[script], token.text)
        return list(words) if words and len(words) > 1 else []

    def by_affix(self, token: Token) -> int:
        lower = lowercase(token.text)
        for length in range(min(6, len(lower) - 1), 0, -1):
            for first, characters in ((602, lower[: -length - 1 : -1]), (601, lower[:length])):
                state = first
                for character in characters:
                    state = mix(state, ord(character))
                if (key := finish(state) or 1) in self.affixes:
                    return self.affixes[key]
        return -1


def stretches(text: str) -> list[tuple[int, int]]:
    """Where the stretches without white space begin and end."""
    grouped = itertools.groupby(range(len(text)), lambda place: name(text[place]) == "space")
    groups = [list(places) for is_space, places in grouped if not is_space]
    return [(places[0], places[-1] + 1) for places in groups]


def escaped(text: str) -> str:
    return "".join(ESCAPES.get(character, character) for character in text)


def protected(chunk: str) -> list[bool | None]:
    """Per place: False where no token may begin, True where one must, None where the model is asked."""
    known: list[bool | None] = [None] * (len(chunk) + 1)
    known[0] = False
    flags = 0
    for place, character in enumerate(chunk):
        class_ = name(character)
        if class_ in EXTENSIONS or (place and name(chunk[place - 1]) == "joiner"):
            known[place] = False
        if class_ == "flag":
            if place and flags % 2 == 1:
                known[place] = False
            flags += 1
        else:
            flags = 0
    lower = lowercase(chunk)
    at = 0
    while at < len(chunk):
        found = url(lower, chunk, at) or mail(lower, chunk, at)
        if found is None:
            at += 1
            continue
        start, end = found
        for place in range(start + 1, end):
            known[place] = False
        for place in (start, end):
            if 0 < place < len(chunk) and known[place] is not False:
                known[place] = True
        at = max(end, at + 1)
    return known


def url(lower: str, chunk: str, at: int) -> tuple[int, int] | None:
    if name(lower[at]) not in ("upper", "lower") or (at and name(lower[at - 1]) in WORDLIKE):
        return None
    if lower.startswith("www.", at) and at + 4 < len(lower) and name(lower[at + 4]) in WORDLIKE:
        end = at + 4
    else:
        end = at
        while end < len(lower) and end - at < 12 and name(chunk[end]) in ("upper", "lower"):
            end += 1
        if end - at < 2 or not lower.startswith("://", end) or end + 3 >= len(lower):
            return None
        if name(chunk[end + 3]) not in WORDLIKE:
            return None
        end += 3
    while end < len(lower) and not address_end(lower[end]):
        end += 1
    depth = lower[at:end].count("(") - lower[at:end].count(")")
    while end > at:
        character = lower[end - 1]
        if character == ")":
            if depth >= 0:
                break
            depth += 1
        elif name(chunk[end - 1]) not in TRAILING or character in "/#&@":
            break
        elif character == "(":
            depth -= 1
        end -= 1
    return at, end


def address_end(character: str) -> bool:
    point = ord(character)
    return (
        character in '<>"«»'
        or 0x2018 <= point <= 0x201F
        or 0x3001 <= point <= 0x3002
        or 0xFF00 <= point <= 0xFF0F
    )


def mail(lower: str, chunk: str, at: int) -> tuple[int, int] | None:
    def is_mail(place: int) -> bool:
        return name(chunk[place]) in ("digit", "lower", "upper") or chunk[place] in "._%+-"

    if chunk[at] != "@" or at == 0 or not is_mail(at - 1):
        return None
    start, end = at, at + 1
    while start > 0 and at - start < 64 and is_mail(start - 1):
        start -= 1
    while end < len(chunk) and end - at < 256 and is_mail(end):
        end += 1
    while end > at and name(chunk[end - 1]) not in WORDLIKE:
        end -= 1
    while start < at and name(chunk[start]) not in WORDLIKE:
        start += 1
    has_dot = "." in chunk[at + 2 : max(end - 2, at + 2)]
    return (start, end) if has_dot and start < at else None


def split_features(lower: str, chunk: str, place: int) -> list[int]:
    padded = [0] * 4 + [ord(character) for character in lower] + [0] * 4
    p = padded[place : place + 8]
    kinds = [29] * 4 + [NUMBERS[name(character)] for character in chunk] + [29] * 4
    c = kinds[place : place + 8]
    near = c[2] << 24 | c[3] << 16 | c[4] << 8 | c[5]
    wide = c[1] << 40 | near << 8 | c[6]
    pair = near >> 8 & 0xFFFF
    left, right = pack(p[1], p[2], p[3]), pack(p[4], p[5], p[6])
    left_hash, right_hash = (
        run_hash(lowered_run(left_run, chunk, place)),
        run_hash(lowered_run(right_run, chunk, place)[::-1]),
    )
    seen: list[tuple[int, ...]] = [
        (1, pack(0, 0, p[3])),
        (2, pack(0, 0, p[4])),
        (3, pack(0, p[3], p[4])),
        (4, pack(0, p[2], p[3])),
        (5, pack(0, p[4], p[5])),
        (6, left),
        (7, right),
        (8, pack(p[2], p[3], p[4])),
        (9, pack(p[3], p[4], p[5])),
        (10, pack(p[2], p[3], p[4]), p[5]),
        (11, left, p[4]),
        (12, right, p[3]),
        (13, left, p[0]),
        (14, right, p[7]),
        (15, pair),
        (16, near),
        (17, wide),
        (18, c[3], p[4]),
        (19, c[4], p[3]),
        (20, left_hash, p[4]),
        (21, right_hash, p[3]),
        (22, left_hash, right_hash),
        (23, min(place, 6), min(len(chunk) - place, 6), pair),
        (24, left, right),
    ]
    return [chain(100 + template, *values) for template, *values in seen]


def spaceless_features(chunk: str, place: int, last: int) -> list[int]:
    lower = lowercase(chunk) + "\0"
    length = min(place - last, 6)
    so_far = hashed(lower[place - length : place])
    here, following = ord(lower[place]), ord(lower[place + 1])
    kinds = [NUMBERS[name(character)] for character in chunk] + [NUMBERS["edge"]]
    seen: list[tuple[int, ...]] = [
        (30, length),
        (31, length, so_far),
        (32, length, so_far, here),
        (33, length, so_far, pack(0, here, following)),
        (34, length, pack(kinds[place - 1], kinds[place], kinds[place + 1])),
        (35, length, ord(lower[place - 1]), here),
    ]
    return [chain(100 + template, *values) for template, *values in seen]


def lowered_run(run: Any, chunk: str, place: int) -> str:
    return lowercase(run(chunk, place))


def trailing_features(chunk: str, core: int, place: int, following: Border) -> list[int]:
    rest = len(chunk) - place
    here = pack(min(rest, 3), 0, ord(lowercase(chunk[place])))
    shape = min(core, 4) << 8 | NUMBERS[name(chunk[core - 1])]
    run = run_hash(lowered_run(left_run, chunk, core))
    next_class = NUMBERS[following.head_class]
    return [
        chain(201, here, next_class),
        chain(202, here, run, next_class),
        chain(203, here, following.head),
        chain(204, here, shape, next_class),
        chain(205, run, ord(lowercase(chunk[place])), following.head),
    ]


def join_features(before: Border, left: Border, right: Border, after: Border, joined: bool) -> list[int]:
    def pair(border_: Border) -> int:
        return NUMBERS[border_.last_class] << 8 | NUMBERS[border_.tail_class]

    kinds = (
        NUMBERS[left.tail_class] << 24
        | NUMBERS[left.last_class] << 16
        | NUMBERS[right.head_class] << 8
        | right.whole
    )
    head_class = NUMBERS[right.head_class]
    seen: list[tuple[int, ...]] = [
        (1, left.tail),
        (2, right.head),
        (3, left.tail, right.head),
        (4, kinds),
        (5, before.tail, left.tail, right.head),
        (6, left.tail, right.head, after.head),
        (7, before.tail, left.tail),
        (8, right.head, after.head),
        (9, left.tail, head_class),
        (10, pair(left), right.head),
        (11, pair(before), kinds, NUMBERS[after.head_class]),
        (12, joined, left.tail, right.head),
        (13, joined, kinds),
        (14, before.tail, right.head),
        (15, left.tail, after.head),
        (16, joined, left.tail, head_class),
        (17, joined, right.head, NUMBERS[after.head_class]),
        (18, joined, before.tail, left.tail),
    ]
    return [chain(300 + template, *values) for template, *values in seen]


def end_features(near: list[Token], length: int, quotes: int, brackets: int) -> list[int]:
    t2, t1, t, n1, n2, n3 = near
    here = int(t.spaced) << 16 | t.last << 8 | n1.first
    open_ = (quotes & 1) << 8 | min(brackets, 2)
    size = length if length < 4 else 4 if length < 8 else 8 if length < 16 else 16 if length < 40 else 40
    following = mix(n1.hash, n1.first)
    seen: list[tuple[int, ...]] = [
        (1, t.hash),
        (2, following),
        (3, t.hash, following),
        (4, t1.hash, t.hash),
        (5, following, n2.hash),
        (6, here),
        (7, t.shape, n1.shape),
        (8, t1.hash, t.hash, n1.first),
        (9, t.hash, n1.first, n2.first),
        (10, t1.shape, t.hash, n1.shape),
        (11, t.hash, here),
        (12, size, here),
        (13, size, t.hash),
        (14, open_, here),
        (15, open_, t.hash, n1.first),
        (16, n2.hash, here),
        (17, n3.hash, here),
        (18, t.last, n1.shape, n2.shape),
        (19, here, n2.shape, n3.shape),
        (20, t2.hash, t1.hash, here),
        (21, t1.shape, here),
        (22, min(n1.length, 4), here),
        (23, following, here),
        (24, t.suffix, here),
        (25, size, t.shape, n1.shape),
        (26, n1.suffix, here),
        (27, t.shape, n1.shape, n2.shape),
        (28, t1.shape, t.shape, n1.shape),
        (29, following, n2.first, here),
        (30, size, t1.shape, here),
        (31, t.suffix, n1.suffix, here),
    ]
    return [chain(400 + template, *values) for template, *values in seen]


def words_features(near: list[Token], script: int, in_context: bool) -> list[int]:
    t1, t, n1 = near
    seen: list[tuple[int, ...]] = [
        (1, script),
        (2, script, t.suffix),
        (3, script, t.shape),
        (4, script, t.length),
        (5, script, t.first),
    ]
    if in_context:
        seen += [
            (10, t.hash),
            (11, t.hash, t1.hash),
            (12, t.hash, n1.hash),
            (13, t.hash, t1.hash, n1.hash),
            (14, t.hash, t1.suffix),
            (15, t.hash, n1.suffix),
            (16, t.hash, t1.suffix, n1.suffix),
            (17, t.hash, n1.shape),
            (18, t.hash, t1.shape),
            (19, t.hash, t.first),
        ]
    return [chain(500 + template, *values) for template, *values in seen]
