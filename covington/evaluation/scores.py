"""From counts to the scores people read: one JSON object per system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from covington.evaluation.counts import (
    ALL,
    ARC_LENGTH_GROUPS,
    BOTH,
    DEEPEST,
    EXACT,
    EXACT_HEADS,
    GOLD,
    HEADS,
    LABELS,
    LONGEST_ARC,
    LONGEST_SENTENCE,
    NO_PUNCTUATION,
    SENTENCE_STEP,
    SENTENCES,
    UNIVERSAL,
    WORDS,
    Breakdown,
    Counts,
    percent,
)
from covington.evaluation.tree_shape import IntArray


def scores(counts: Counts, name: str, confusions: int = 30) -> dict[str, Any]:
    """Every score of one system, in percent; `confusions` is how many of the frequent ones are listed."""
    row, spoken = counts.attachment[ALL], counts.attachment[NO_PUNCTUATION]
    if spoken[WORDS] == row[WORDS]:  # no word is tagged PUNCT: nobody knows which ones are punctuation
        spoken = np.zeros_like(spoken)
    found = {
        "name": name,
        **_attachment(row),
        "tokens": int(row[WORDS]),
        "sentences": int(row[SENTENCES]),
        "clas": _f1(counts.content[2], counts.content[0], counts.content[1]),
        "root_accuracy": percent(counts.roots[2], counts.roots[0]),
        "root_precision": percent(counts.roots[2], counts.roots[1]),
        "without_punctuation": {
            **_attachment(spoken),
            "tokens": int(spoken[WORDS]),
        },
        "conll18": {
            "uas": percent(row[HEADS], row[WORDS]),
            "las": percent(row[UNIVERSAL], row[WORDS]),
            "clas": _f1(counts.content[3], counts.content[0], counts.content[1]),
        },
        "by_arc_length": counts.arc_length.grouped(ARC_LENGTH_GROUPS).rows(),
        "by_arc_length_fine": named(counts.arc_length, arc_length_name).rows(),
        "by_root_distance": named(counts.root_distance, root_distance_name).rows(),
        "by_relation": counts.relation.rows(),
        "by_upos": counts.upos.rows(),
        "by_projectivity": counts.projectivity.rows(),
        "by_sentence_length": named(counts.sentence_length, sentence_length_name).rows(),
        "sentences_by_length": {
            sentence_length_name(number): int(count)
            for number, count in enumerate(counts.sentences_by_length)
            if count
        },
        "label_confusions": _confusions(counts.label_confusions, ("gold", "system"), confusions),
        "head_confusions": _confusions(
            counts.head_confusions, ("upos", "gold_head", "system_head"), confusions
        ),
    }
    return found if _is_labelled(counts) else _without_labels(found)


def _is_labelled(counts: Counts) -> bool:
    """Has any word of gold a label?"""
    relation = counts.relation
    return any(key != "_" and gold for key, gold in zip(relation.keys, relation.counts[:, GOLD], strict=True))


def _without_labels(found: dict[str, Any]) -> dict[str, Any]:
    """The scores, but for those that nobody knows if gold has no labels."""
    unknown = dict.fromkeys(("las", "label_accuracy", "exact_match"))
    return {
        **found,
        **unknown,
        "clas": None,
        "without_punctuation": {**found["without_punctuation"], **unknown},
        "conll18": {**found["conll18"], "las": None, "clas": None},
    }


def _attachment(row: IntArray) -> dict[str, float | None]:
    return {
        "uas": percent(row[HEADS], row[WORDS]),
        "las": percent(row[BOTH], row[WORDS]),
        "label_accuracy": percent(row[LABELS], row[WORDS]),
        "exact_match": percent(row[EXACT], row[SENTENCES]),
        "exact_match_unlabelled": percent(row[EXACT_HEADS], row[SENTENCES]),
    }


def _f1(right: np.int64, gold: np.int64, system: np.int64) -> float | None:
    return percent(2 * right, gold + system)


def named(breakdown: Breakdown, name: Callable[[int], str]) -> Breakdown:
    """The same rows under the names that `name` gives to their numbers."""
    return Breakdown(tuple(name(number) for number in range(len(breakdown.keys))), breakdown.counts)


def arc_length_name(number: int) -> str:
    """0 is an arc from the root, the last number everything longer."""
    if number == 0:
        return "root"
    return f"≥{number}" if number == LONGEST_ARC else str(number)


def root_distance_name(number: int) -> str:
    """The last number is everything deeper."""
    return f"≥{number}" if number == DEEPEST else str(number)


def sentence_length_name(number: int) -> str:
    """The words of the sentences in a bin, such as 6–10."""
    low = number * SENTENCE_STEP + 1
    return f">{LONGEST_SENTENCE}" if low > LONGEST_SENTENCE else f"{low}–{low + SENTENCE_STEP - 1}"


def _confusions(found: Counter[tuple[str, ...]], keys: tuple[str, ...], most: int) -> list[dict[str, Any]]:
    frequent = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [{**dict(zip(keys, names, strict=True)), "count": times} for names, times in frequent]
