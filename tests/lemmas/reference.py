"""The slow, literal twin of the lemmatiser."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from covington.characters.build import CLASSES
from covington.characters.tables import classes, lowercase
from covington.lemmas.scripts import MAX_FORM, Script, applied
from tests.support.reference_perceptron import SEED, finish, mix


def hash_bytes(data: bytes) -> int:
    """A hash of a string, eight bytes at a time."""
    state = mix(SEED, len(data))
    for start in range(0, len(data), 8):
        state = mix(state, int.from_bytes(data[start : start + 8], "little"))
    return finish(state)


def hashed(value: str | None) -> int:
    return 0 if value is None else hash_bytes(value.encode())


class Reference:
    """A lemmatiser that does what the compiled one does."""

    def __init__(self, metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self.columns = metadata["tags"]
        text = arrays["literals"].tobytes()
        self.scripts = [
            Script(case, *(text[a:b].decode() for a, b in itertools.pairwise(places)))
            for case, *places in arrays["scripts"].tolist()
        ]
        self.tables = {
            name: (arrays[keys].tolist(), arrays[values].tolist())
            for name, keys, values in (
                ("exception", "exception_keys", "exception_values"),
                ("feature", "feature_keys", "feature_rows"),
            )
        }
        self.starts = arrays["row_starts"].tolist()
        self.entries = list(
            zip(arrays["entry_scripts"].tolist(), arrays["entry_weights"].tolist(), strict=True)
        )

    def find(self, table: str, key: int) -> int | None:
        keys, values = self.tables[table]
        place, mark = key >> 32 & (len(keys) - 1), key & 0xFFFFFFFF or 1
        while keys[place]:
            if keys[place] == mark:
                return int(values[place])
            place = (place + 1) % len(keys)
        return None

    def lemma(self, form: str, upos: str | None, others: Mapping[str, str | None]) -> str:
        if not form or len(form.encode()) > MAX_FORM:
            return form
        tag = tags = hashed(upos)
        for column in self.columns:
            tags = mix(tags, hashed(others[column]))
        for with_all, value in ((1, tags), (0, tag)):
            script = self.find("exception", finish(mix(mix(70 + with_all, hashed(form)), value)))
            lemma = None if script is None else applied(self.scripts[script], form)
            if lemma is not None:
                return lemma
        scores: dict[int, int] = defaultdict(int)
        for key in features(form, tag, tags):
            row = self.find("feature", key)
            if row is not None:
                for script, weight in self.entries[self.starts[row] : self.starts[row + 1]]:
                    scores[script] += weight
        for script in sorted(scores, key=lambda script: (-scores[script], script))[:64]:
            lemma = applied(self.scripts[script], form)
            if lemma is not None:
                return lemma
        return form


def features(form: str, tag: int, tags: int) -> list[int]:
    kinds = [CLASSES[int(classes[ord(character)])] for character in form]
    uppers = kinds.count("upper")
    shape = (
        (kinds[0] == "upper")
        | (uppers == len(form)) << 1
        | (uppers > 1) << 2
        | ("digit" in kinds) << 3
        | ("dash" in kinds) << 4
    )
    lower = [ord(character) for character in lowercase(form)]
    endings, beginnings = chained([*lower[::-1], 0]), chained([*lower, 0])
    seen = [(1, tag, 0), (2, tags, 0), (3, tag, shape), (4, tags, shape)]
    for n, suffix in enumerate(endings[:7]):
        seen.append((10 + n, tag, suffix))
        if n < 5:
            seen += [(20 + n, tags, suffix), (30 + n, 0, suffix)]
    for n, prefix in enumerate(beginnings[:4]):
        seen.append((40 + n, tag, prefix))
        if n < 3:
            seen.append((50 + n, tags, prefix))
    suffix2, suffix3 = endings[1] if len(endings) > 1 else 0, endings[2] if len(endings) > 2 else 0
    prefix2 = beginnings[1] if len(beginnings) > 1 else 0
    seen += [
        (60, mix(tag, prefix2), suffix2),
        (61, mix(tags, prefix2), suffix2),
        (62, mix(tag, prefix2), suffix3),
    ]
    return [finish(mix(mix(template, a), b)) for template, a, b in seen]


def chained(points: list[int]) -> list[int]:
    """The hashes of the first character, of the first two, and so on."""
    states, state = [], 0
    for point in points:
        state = mix(state, point)
        states.append(state)
    return states
