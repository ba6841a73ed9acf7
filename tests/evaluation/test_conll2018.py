"""The metrics of differing tokens: counted again by a slow twin, and by the shared task's own script if it is there."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.corpus.conllu.reader import format_batch
from covington.errors import DataError
from covington.evaluation.conll2018 import (
    CONTENT_RELATIONS,
    FUNCTION_RELATIONS,
    METRICS,
    UNIVERSAL_FEATURES,
    Count,
    evaluate,
)
from covington.schemas import SENTENCE

Row = dict[str, Any]
TEXT = "aBc ddeF"


@st.composite
def sides(draw: st.DrawFn) -> list[Row]:
    """The characters of TEXT as sentences, tokens and words, cut anywhere, with any tags and trees."""
    rows: list[Row] = []
    start = 0
    characters = TEXT.replace(" ", "")
    while start < len(characters):
        end = draw(st.integers(start + 1, len(characters)))
        rows.append(draw(sentence(characters[start:end])))
        start = end
    return rows


@st.composite
def sentence(draw: st.DrawFn, characters: str) -> Row:
    row: Row = {name: [] for name in ("tokens", "mwt", "lemmas", "upos", "xpos", "feats", "deprel")}
    start = 0
    while start < len(characters):
        end = draw(st.integers(start + 1, len(characters)))
        words = [characters[start:end]]
        if draw(st.integers(0, 3)) == 0:
            words = draw(st.lists(st.sampled_from("abcdeFD"), min_size=2, max_size=3))
            first = len(row["tokens"]) + 1
            node = {"id": f"{first}-{first + len(words) - 1}", "form": " ".join(characters[start:end])}
            row["mwt"].append(node)
        row["tokens"] += words
        start = end
    size = len(row["tokens"])
    for name, values in {
        "lemmas": [None, "a", "b"],
        "upos": ["X", "Y"],
        "xpos": [None, "x"],
        "feats": [None, "Case=Nom", "Foo=1|Case=Nom"],
        "deprel": ["det", "case:x", "nsubj", "obj:y", "punct"],
    }.items():
        row[name] = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
    row["head"] = [0, *(draw(st.integers(1, place)) for place in range(1, size))]
    row["deprel"][0] = "root"
    return row


def batch(rows: list[Row]) -> pa.RecordBatch:
    full = [{"comments": [], "mwt": [], "empty_nodes": []} | row for row in rows]
    return pa.RecordBatch.from_pylist(full, schema=SENTENCE)


class Word:
    """A word of the twin, with all that is asked of it."""

    def __init__(self, row: Row, place: int, start: int, end: int, shared: bool) -> None:
        self.form, self.start, self.end, self.shared = row["tokens"][place], start, end, shared
        self.lemma, self.upos, self.xpos = (row[name][place] or "_" for name in ("lemmas", "upos", "xpos"))
        feats = (row["feats"][place] or "_").split("|")
        self.feats = sorted(feat for feat in feats if feat.split("=")[0] in UNIVERSAL_FEATURES)
        self.relation = row["deprel"][place].split(":")[0]
        self.parent: Word | None = None
        self.helpers: list[Word] = []


def read(rows: list[Row]) -> tuple[list[Word], set[tuple[int, int]], set[tuple[int, int]]]:
    """Words, spans of tokens, spans of sentences."""
    words: list[Word] = []
    tokens, sentences = set(), set()
    at = 0
    for row in rows:
        first, begin = len(words), at
        ranges = {int(node["id"].split("-")[0]): node for node in row["mwt"]}
        place = 0
        while place < len(row["tokens"]):
            node = ranges.get(place + 1)
            last = int(node["id"].split("-")[1]) if node else place + 1
            form = (node["form"] if node else row["tokens"][place]).replace(" ", "")
            words += [Word(row, index, at, at + len(form), node is not None) for index in range(place, last)]
            tokens.add((at, at + len(form)))
            at, place = at + len(form), last
        sentences.add((begin, at))
        for word, head in zip(words[first:], row["head"], strict=True):
            word.parent = words[first + head - 1] if head else None
            if word.parent and word.relation in FUNCTION_RELATIONS:
                word.parent.helpers.append(word)
    return words, tokens, sentences


def common(first: list[Word], second: list[Word]) -> list[tuple[Word, Word]]:
    """The longest common subsequence of forms, leaving words of the first side out as early as possible."""
    if not first or not second:
        return []
    if first[0].form.lower() == second[0].form.lower():
        return [(first[0], second[0]), *common(first[1:], second[1:])]
    without_first, without_second = common(first[1:], second), common(first, second[1:])
    return without_first if len(without_first) >= len(without_second) else without_second


def aligned(gold: list[Word], system: list[Word]) -> dict[Word, Word]:
    """From system to gold words."""
    result: dict[Word, Word] = {}
    while gold and system:
        if not (gold[0].shared or system[0].shared):
            if (gold[0].start, gold[0].end) == (system[0].start, system[0].end):
                result[system[0]] = gold[0]
                gold, system = gold[1:], system[1:]
            elif gold[0].start <= system[0].start:
                gold = gold[1:]
            else:
                system = system[1:]
            continue
        if gold[0].shared:
            end = gold[0].end
            if not system[0].shared and system[0].start < gold[0].start:
                system = system[1:]
        else:
            end = system[0].end
            if gold[0].start < system[0].start:
                gold = gold[1:]
        parts: tuple[list[Word], list[Word]] = ([], [])
        while inside(gold, end) or inside(system, end):
            take_gold = gold and (not system or gold[0].start <= system[0].start)
            word = gold[0] if take_gold else system[0]
            end = max(end, word.end) if word.shared else end
            parts[0 if take_gold else 1].append(word)
            gold, system = (gold[1:], system) if take_gold else (gold, system[1:])
        result.update({second: first for first, second in common(*parts)})
    return result


def inside(words: list[Word], end: int) -> bool:
    return bool(words) and (words[0].start < end if words[0].shared else words[0].end <= end)


def twin(gold_rows: list[Row], system_rows: list[Row]) -> dict[str, Count]:
    gold, gold_tokens, gold_sentences = read(gold_rows)
    system, tokens, sentences = read(system_rows)
    gold_of = aligned(gold, system)

    def of(word: Word | None, is_gold: bool) -> Any:
        return word if word is None or is_gold else gold_of.get(word, "none")

    def lemma(word: Word, is_gold: bool) -> str:
        return word.lemma if (word if is_gold else gold_of[word]).lemma != "_" else "_"

    def arc(word: Word, is_gold: bool) -> Any:
        return of(word.parent, is_gold), word.relation

    def helpers(word: Word, is_gold: bool) -> Any:
        return [(of(h, is_gold), h.relation, h.upos, h.feats) for h in word.helpers]

    keys = {
        "Words": lambda w, g: 0,
        "UPOS": lambda w, g: w.upos,
        "XPOS": lambda w, g: w.xpos,
        "UFeats": lambda w, g: w.feats,
        "AllTags": lambda w, g: (w.upos, w.xpos, w.feats),
        "Lemmas": lemma,
        "UAS": lambda w, g: of(w.parent, g),
        "LAS": arc,
        "CLAS": arc,
        "MLAS": lambda w, g: (arc(w, g), w.upos, w.feats, helpers(w, g)),
        "BLEX": lambda w, g: (arc(w, g), lemma(w, g)),
    }
    counts = {
        "Tokens": Count(len(gold_tokens), len(tokens), len(gold_tokens & tokens)),
        "Sentences": Count(len(gold_sentences), len(sentences), len(gold_sentences & sentences)),
    }
    for name, key in keys.items():
        is_asked = (lambda w: w.relation in CONTENT_RELATIONS) if name in METRICS[-3:] else (lambda w: True)
        pairs = [(first, second) for second, first in gold_of.items() if is_asked(first)]
        counts[name] = Count(
            sum(map(is_asked, gold)),
            sum(map(is_asked, system)),
            sum(key(first, True) == key(second, False) for first, second in pairs),
            None if name == "Words" else len(pairs),
        )
    return counts


@given(sides(), sides())
def test_the_twin_agrees(gold: list[Row], system: list[Row]) -> None:
    assert evaluate([batch(gold)], [batch(system[:1]), batch(system[1:])]) == twin(gold, system)


@pytest.mark.skipif(importlib.util.find_spec("trankit") is None, reason="trankit is not installed")
@given(sides(), sides())
def test_the_shared_tasks_script_agrees(gold: list[Row], system: list[Row]) -> None:
    script: Any = importlib.import_module("trankit.utils.scorers.conll18_ud_eval")
    loaded = [
        script.load_conllu(io.StringIO(bytes(format_batch(batch(rows))).decode())) for rows in (gold, system)
    ]
    for name, wanted in script.evaluate(*loaded).items():
        found = evaluate([batch(gold)], [batch(system)])[name]
        assert found == Count(wanted.gold_total, wanted.system_total, wanted.correct, wanted.aligned_total)
        assert found.f1 == pytest.approx(wanted.f1)


def row(words: str, heads: list[int], **more: Any) -> Row:
    tokens = words.split()
    plain: Row = {name: ["X"] * len(tokens) for name in ("lemmas", "upos", "xpos", "feats")}
    relations = ["root" if head == 0 else "obj" for head in heads]
    return {"tokens": tokens, "mwt": [], "head": heads, "deprel": relations} | plain | more


def test_scores_of_one_split_too_many() -> None:
    counts = evaluate([batch([row("ab c", [0, 1])])], [batch([row("a b c", [0, 1, 1])])])
    assert counts["Tokens"] == Count(2, 3, 1)
    assert counts["Sentences"] == Count(1, 1, 1)
    assert counts["UAS"] == Count(2, 3, 0, 1)
    assert counts["Words"].f1 == pytest.approx(0.4)
    assert counts["UPOS"].aligned_accuracy == 1.0
    assert (counts["LAS"] + counts["LAS"]).gold == 4


def test_what_cannot_be_compared_is_an_error() -> None:
    good = batch([row("ab c", [0, 1])])
    with pytest.raises(
        DataError, match=r"from token 2, in sentence 1 of the gold standard, there is 'c' .* 'd'"
    ):
        evaluate([good], [batch([row("ab d", [0, 1])])])
    with pytest.raises(DataError, match="has no head"):
        evaluate([good], [batch([row("ab c", [0, 1]) | {"head": None}])])
    with pytest.raises(DataError, match="outside its sentence"):
        evaluate([good], [batch([row("ab c", [0, 3])])])
    with pytest.raises(DataError, match="no characters"):
        evaluate([good], [batch([row("ab c", [0, 1]) | {"tokens": ["ab", "\u00a0"]}])])
    with pytest.raises(DataError, match="goes over the end"):
        evaluate([good], [batch([row("ab c", [0, 1]) | {"mwt": [{"id": "2-3", "form": "c"}]}])])
    with pytest.raises(DataError, match="has no sentences"):
        evaluate([good], [])


def test_columns_that_are_empty_in_some_sentences() -> None:
    first, second = row("ab c", [0, 1]), row("d", [0])
    counts = evaluate([batch([first, second | {"xpos": None}])], [batch([first | {"xpos": None}, second])])
    assert counts["XPOS"] == Count(3, 3, 0, 3)
    assert counts["UPOS"] == Count(3, 3, 3, 3)
