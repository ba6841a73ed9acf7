"""Every breakdown of the scores, counted again word by word, on trees of all kinds and on what is no tree."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from covington.evaluation.counts import CONTENT_RELATIONS as KNOWN_CONTENT
from covington.evaluation.counts import count
from covington.evaluation.scores import scores
from tests.evaluation.test_evaluation import CONTENT_RELATIONS, random_tree
from tests.support.batches import batch, sentence

LABELS = ["nsubj", "nsubj:pass", "obj", "nmod", "nmod:poss", "case", "punct", "aux", "aux:pass", "dep", "cc"]
Heads = list[int | None]


class Parse(NamedTuple):
    heads: Heads
    labels: list[str]


class Pair(NamedTuple):
    gold: Parse
    system: Parse
    tags: list[str]


def pairs(seed: int, damaged: bool) -> list[Pair]:
    """Gold trees and what a system made of them; damaged ones have missing heads, words under themselves, cycles."""
    chooser = random.Random(seed)
    found = []
    for _ in range(40):
        words = chooser.randint(1, 60 if chooser.random() < 0.1 else 23)
        gold: Heads = list(random_tree(chooser, words))
        if chooser.random() < 0.2:
            gold = [0, *range(1, words)]
        labels = [chooser.choice(LABELS) for _ in range(words)]
        other: Heads = list(random_tree(chooser, words))
        if damaged:
            other = [chooser.choice([None, *range(words + 1)]) for _ in range(words)]
        kept = chooser.choice([0.0, 0.6, 1.0])
        heads = [one if chooser.random() < kept else two for one, two in zip(gold, other, strict=True)]
        if not damaged and kept == 0.6:
            heads = other
        other_labels = (
            labels
            if chooser.random() < 0.3
            else [label if chooser.random() < 0.7 else chooser.choice(LABELS) for label in labels]
        )
        tags = [chooser.choice(["PUNCT", "NOUN", "VERB"]) for _ in range(words)]
        found.append(Pair(Parse(gold, labels), Parse(heads, other_labels), tags))
    return found


def above(heads: Heads, word: int) -> Iterator[int | None]:
    """The heads over a word, up to the root, to nothing, or until they come round."""
    seen = set()
    at: int | None = word
    while at and at not in seen:
        seen.add(at)
        at = heads[at - 1]
        yield at


def root_distance(heads: Heads, word: int) -> str:
    way = list(above(heads, word))
    return "0" if way[-1] != 0 else "≥20" if len(way) >= 20 else str(len(way))


def is_projective(heads: Heads, word: int) -> bool:
    head = heads[word - 1]
    if not head:
        return True
    between = range(min(head, word) + 1, max(head, word))
    return all(0 in (way := list(above(heads, one))) and head in way for one in between)


def arc_length(head: int, word: int) -> str:
    length = abs(head - word)
    return "root" if head == 0 else str(length) if length in (1, 2, 3, 7) else "4–6" if length < 7 else ">7"


def by_hand(corpus: list[Pair]) -> dict[tuple[str, str], Counter[str]]:
    """(breakdown, row) → how many words of gold and system are in it, and how many of these are right."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for gold, system, tags in corpus:
        for word in range(1, len(tags) + 1):
            place = word - 1
            head = gold.heads[place] == system.heads[place]
            both = head and gold.labels[place] == system.labels[place]
            for side, parse in (("gold", gold), ("system", system)):
                found = parse.heads[place]
                keys = [
                    ("by_relation", parse.labels[place]),
                    ("by_upos", tags[place]),
                    ("by_root_distance", root_distance(parse.heads, word)),
                    ("by_sentence_length", sentence_length(len(tags))),
                ]
                if found is not None and found != word:
                    shape = "projective" if is_projective(parse.heads, word) else "non-projective"
                    keys += [("by_arc_length", arc_length(found, word)), ("by_projectivity", shape)]
                for key in keys:
                    row = rows.setdefault(key, Counter())
                    row[side] += 1
                    row[f"{side} head"] += head
                    row[f"{side} both"] += both
    return rows


def sentence_length(words: int) -> str:
    first = (words - 1) // 5 * 5 + 1
    return f"{first}–{first + 4}"


def percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def scored(corpus: list[Pair]) -> dict[str, Any]:
    def rows(side: str) -> list[dict[str, object]]:
        return [
            sentence(" ".join("w" * len(one.tags)), parse.heads, " ".join(parse.labels), " ".join(one.tags))
            for one in corpus
            for parse in [getattr(one, side)]
        ]

    return scores(count(batch(*rows("gold")), batch(*rows("system"))), "system")


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_every_breakdown_is_what_counting_gives(seed: int, damaged: bool) -> None:
    corpus = pairs(seed, damaged)
    found, expected = scored(corpus), by_hand(corpus)
    for name in {name for name, _ in expected}:
        rows = {row["key"]: row for row in found[name] if row["gold"] or row["system"]}
        assert set(rows) == {key for other, key in expected if other == name}
        for key, row in rows.items():
            counts = expected[name, key]
            assert {part: row[part] for part in ("gold", "system")} == {
                part: counts[part] for part in ("gold", "system")
            }, (name, key)
            for score, part, whole in (
                ("precision", "system head", "system"),
                ("recall", "gold head", "gold"),
                ("labelled_precision", "system both", "system"),
                ("labelled_recall", "gold both", "gold"),
            ):
                assert row[score] == pytest.approx(percent(counts[part], counts[whole])), (name, key, score)


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_roots_whole_sentences_and_content_words(seed: int, damaged: bool) -> None:
    corpus = pairs(seed, damaged)
    found = scored(corpus)
    roots = [
        (one == 0, two == 0)
        for gold, system, _ in corpus
        for one, two in zip(gold.heads, system.heads, strict=True)
    ]
    right = sum(one and two for one, two in roots)
    assert found["root_accuracy"] == pytest.approx(percent(right, sum(one for one, _ in roots)))
    assert found["root_precision"] == pytest.approx(percent(right, sum(two for _, two in roots)))
    same_heads = sum(gold.heads == system.heads for gold, system, _ in corpus)
    same = sum(gold == system for gold, system, _ in corpus)
    assert found["exact_match_unlabelled"] == pytest.approx(percent(same_heads, len(corpus)))
    assert found["exact_match"] == pytest.approx(percent(same, len(corpus)))
    words = [
        (one[0] == two[0], one[1], two[1], tag)
        for gold, system, tags in corpus
        for one, two, tag in zip(zip(*gold, strict=True), zip(*system, strict=True), tags, strict=True)
    ]
    spoken = [(head, head and one == two) for head, one, two, tag in words if tag != "PUNCT"]
    without = found["without_punctuation"]
    assert without["uas"] == pytest.approx(percent(sum(head for head, _ in spoken), len(spoken)))
    assert without["las"] == pytest.approx(percent(sum(both for _, both in spoken), len(spoken)))
    content = [[label.split(":")[0] in CONTENT_RELATIONS for label in (one, two)] for _, one, two, _ in words]
    hits = sum(
        head and one == two and known[0] for (head, one, two, _), known in zip(words, content, strict=True)
    )
    assert found["clas"] == pytest.approx(percent(2 * hits, sum(map(sum, content))))


def test_the_content_relations_are_those_of_the_shared_task() -> None:
    assert set(KNOWN_CONTENT) == CONTENT_RELATIONS
