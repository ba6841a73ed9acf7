"""Every number of the evaluation's tables and plots stands under its own title, in its own row."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Any

import pytest

from covington.display import evaluation_report
from covington.display.evaluation_report import as_html, as_text, best_cells
from tests.evaluation.test_evaluation_counts import Pair, by_hand, pairs, percent, scored

# What is no tree has another number for every score.
CORPORA = {"one": pairs(2, damaged=True), "two": pairs(6, damaged=True)}


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    systems = [{**scored(corpus), "name": name} for name, corpus in CORPORA.items()]
    test = {"system": "two", "other": "one", "uas": 1.25, "uas_p": 0.01, "las": -2.5, "las_p": 0.02}
    return {"gold": "gold.conllu", "systems": systems, "significance": [test]}


@pytest.fixture(scope="module")
def page(result: dict[str, Any]) -> str:
    return as_html(result)


def lines(text: str) -> list[list[str]]:
    """The cells of the tables on the terminal: two blanks or more lie between them."""
    return [re.split(r" {2,}", line) for line in text.splitlines() if "  " in line]


def tables(page: str, title: str) -> list[list[list[str]]]:
    """The cells of the tables under a heading, without the header."""
    section = page.split(f"<h2>{title}</h2>")[1].split("</section>")[0]
    return [
        [
            [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", table)
        ]
        for table in re.findall(r"<tbody>(.*?)</tbody>", section)
    ]


def points(page: str, title: str) -> list[str]:
    """What a plot says about each of its points."""
    return re.findall(r"<title>(.*?)</title>", page.split(f"<h3>{title}</h3>")[1].split("<h3>")[0])


def shown(number: float | None, decimals: int = 2) -> str:
    return "–" if number is None else f"{number:.{decimals}f}"


def test_every_column_shows_its_own_score(result: dict[str, Any], page: str) -> None:
    expected = [
        [
            *(one["name"], *(shown(one[key]) for key in ("uas", "las", "label_accuracy", "clas"))),
            *(shown(one[key]) for key in ("exact_match", "root_accuracy")),
            *(shown(one["without_punctuation"][key]) for key in ("uas", "las")),
            *(shown(one["conll18"][key]) for key in ("las", "clas")),
        ]
        for one in result["systems"]
    ]
    assert all(len(set(row)) == len(row) for row in expected)  # no two scores can be taken for each other
    header, *rows = lines(as_text(result))[:3]
    assert header == [
        *("system", "UAS", "LAS", "label", "CLAS", "exact", "root"),
        *("UAS no punct.", "LAS no punct.", "LAS CoNLL18", "CLAS CoNLL18"),
    ]
    assert rows == expected
    first = re.findall(r"<tbody>(.*?)</tbody>", page)[0]
    assert re.findall(r"<td[^>]*>(.*?)</td>", first) == [cell for row in expected for cell in row]


def test_precision_stands_before_recall(result: dict[str, Any], page: str) -> None:
    found = lines(as_text(result))
    for header, keys, name in (
        (3, ["root", "1", "2", "3", "4–6", "7", ">7"], "by_arc_length"),
        (6, ["projective", "non-projective"], "by_projectivity"),
    ):
        assert found[header][1:] == keys
        for place, (system, corpus) in enumerate(CORPORA.items(), header + 1):
            rows = by_hand(corpus)
            scores = [[shown(score, 1) for score in both(rows[name, key])] for key in keys]
            assert found[place] == [system, *(" / ".join(pair) for pair in scores)]
    (shapes,) = tables(page, "Projective and non-projective arcs")
    assert shapes == [
        [system, key, *(f"{row[side]:,}" for side in ("gold", "system")), *map(shown, both(row))]
        for system, corpus in CORPORA.items()
        for key in ("projective", "non-projective")
        for row in [by_hand(corpus)["by_projectivity", key]]
    ]


def both(row: Counter[str]) -> tuple[float | None, float | None]:
    """Precision and recall."""
    return percent(row["system head"], row["system"]), percent(row["gold head"], row["gold"])


def test_the_significance_is_that_of_the_first_less_the_second(result: dict[str, Any], page: str) -> None:
    expected = ["two − one", "+1.25", "0.0100", "−2.50", "0.0200"]
    assert lines(as_text(result))[-1] == expected
    assert tables(page, "Significance") == [[expected]]


def test_the_size_is_that_of_gold(result: dict[str, Any]) -> None:
    words = sum(len(one.tags) for one in CORPORA["one"])
    assert as_text(result).startswith(f"40 sentences, {words} words of gold.conllu\n")


def labelled(corpus: list[Pair]) -> dict[str, tuple[int, str]]:
    """Of each label: how often gold has it, and 2 × right / (gold + system) in percent."""
    rows = {key: row for (name, key), row in by_hand(corpus).items() if name == "by_relation"}
    return {
        key: (row["gold"], f"{200 * row['gold both'] / (row['gold'] + row['system']):.2f}")
        for key, row in rows.items()
    }


def relabelled(corpus: list[Pair], old: str, new: str, *, gold: bool) -> list[Pair]:
    """Another label on one side: one that only the other side has, or only this one."""
    found = []
    for one in corpus:
        side = one.gold if gold else one.system
        other = side._replace(labels=[new if label == old else label for label in side.labels])
        found.append(one._replace(gold=other) if gold else one._replace(system=other))
    return found


def test_relations_are_judged_by_f1_and_the_most_frequent_come_first() -> None:
    corpus = relabelled(relabelled(CORPORA["one"], "cc", "lost", gold=True), "dep", "new", gold=False)
    other = relabelled(corpus, "new", "newer", gold=False)
    systems = [{**scored(pairs), "name": name} for name, pairs in (("one", corpus), ("two", other))]
    page = as_html({"gold": "gold", "systems": systems, "significance": []})
    one, two = labelled(corpus), labelled(other)
    assert one["lost"][0] > 0 and one["lost"][1] == one["new"][1] == "0.00" and one["new"][0] == 0
    keys = sorted({**one, **two}, key=lambda key: (-one.get(key, two.get(key, (0, "")))[0], key))
    assert tables(page, "By relation") == [
        [
            [key, str({**two, **one}[key][0]), *(scores.get(key, (0, "–"))[1] for scores in (one, two))]
            for key in keys
        ]
    ]


def test_parts_of_speech_are_judged_by_las(result: dict[str, Any], page: str) -> None:
    one, two = ({k: r for (n, k), r in by_hand(c).items() if n == "by_upos"} for c in CORPORA.values())
    (rows,) = tables(page, "By part of speech")
    assert {row[0]: row[2:] for row in rows} == {
        key: [shown(percent(rows[key]["gold both"], rows[key]["gold"])) for rows in (one, two)] for key in one
    }


def test_confusions_name_gold_first(result: dict[str, Any], page: str) -> None:
    labels, _, *_ = tables(page, "Confusions")
    found = Counter(
        (gold, given)
        for one in CORPORA["one"]
        for gold, given in zip(one.gold.labels, one.system.labels, strict=True)
        if gold != given
    )
    assert {(gold, given): int(words) for gold, given, words in labels} == dict(
        sorted(found.items(), key=lambda item: (-item[1], item[0]))[:30]
    )
    assert any(found[two, one] != times for (one, two), times in found.items())


def test_heads_taken_for_others_name_gold_first() -> None:
    """Gold has the root where the system has none, never the other way round."""
    corpus = [one for one in CORPORA["one"] if None in one.system.heads]
    page = as_html({"gold": "gold", "systems": [scored(corpus)], "significance": []})
    _, heads = tables(page, "Confusions")
    assert all(gold != "none" for _, gold, _, _ in heads)
    assert any(given == "none" for _, _, given, _ in heads)


@pytest.mark.parametrize(
    ("title", "breakdown", "part", "whole"),
    [
        ("Precision by arc length", "by_arc_length", "system head", "system"),
        ("Recall by arc length", "by_arc_length", "gold head", "gold"),
        ("LAS by sentence length", "by_sentence_length", "gold both", "gold"),
    ],
)
def test_plots_show_what_their_titles_say(
    page: str, title: str, breakdown: str, part: str, whole: str
) -> None:
    in_gold = {
        key for (name, key), row in by_hand(CORPORA["one"]).items() if name == breakdown and row["gold"]
    }
    expected = []
    for system, corpus in CORPORA.items():
        for (name, key), row in by_hand(corpus).items():
            score = percent(row[part], row[whole])
            if name == breakdown and key in in_gold - {"root"} and score is not None:
                expected.append((f"{system}, {key}", score))
    found = [text.rpartition(": ") for text in points(page, title)]
    numbers = {unescape(name): float(number) for name, _, number in found}
    assert numbers == {name: pytest.approx(score, abs=0.006) for name, score in expected}


def test_bins_of_fewer_than_twenty_gold_arcs_are_left_out(result: dict[str, Any]) -> None:
    """The bin of words at no distance from the root, of which gold has none, does not end the curve."""
    rows = result["systems"][0]["by_root_distance"]
    assert rows[0]["key"] == "0" and rows[0]["gold"] == 0 < rows[0]["system"]
    golds = [0, 21, 20, 19, *(1 for _ in rows[4:])]
    system = {
        **result["systems"][0],
        "by_root_distance": [
            {**row, "gold": gold, "system": 30, "precision": 50.0}
            for row, gold in zip(rows, golds, strict=True)
        ],
    }
    page = as_html({**result, "systems": [system]})
    found = [text.split(": ")[0] for text in points(page, "Precision by distance to the root")]
    assert found == [f"one, {row['key']}" for row in rows[1:3]]


def test_recall_of_arcs_that_a_system_never_makes_is_shown(result: dict[str, Any]) -> None:
    rows = [
        {**row, "system": 0, "precision": None, "recall": 0.0} if row["key"] == ">7" else row
        for row in result["systems"][0]["by_arc_length"]
    ]
    page = as_html({**result, "systems": [{**result["systems"][0], "by_arc_length": rows}]})
    assert "one, &gt;7: 0" in points(page, "Recall by arc length")
    assert not any("&gt;7" in text for text in points(page, "Precision by arc length"))


def test_the_best_of_every_column_stand_out() -> None:
    rows = [["a", 1.0, 5.0, None, None], ["b", 3.0, 5.0, 2.0, None], ["c", 2.0, 4.0, 7.0, None]]
    assert sorted(best_cells(rows)) == [(0, 2), (1, 1), (1, 2), (2, 3)]
    assert best_cells(rows[:2]) == [(1, 1), (0, 2), (1, 2), (1, 3)]
    assert best_cells(rows[:1]) == []


def test_lengths_that_no_sentence_has_keep_their_place() -> None:
    assert evaluation_report._without_gaps(["6–10", "16–20", ">100"])[:3] == ["6–10", "11–15", "16–20"]
    assert evaluation_report._without_gaps([">100"]) == [">100"]
    assert evaluation_report._without_gaps([]) == []
