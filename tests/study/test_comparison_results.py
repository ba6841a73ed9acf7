"""The tables of a comparison, counted again from runs that were never made: parses by chance, statistics by chance."""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from covington.corpus.treebanks import Treebank
from covington.display import comparison_report
from covington.evaluation.counts import count, sentence_scores
from covington.model.options import TrainingOptions
from covington.study.comparison import Run, System
from covington.study.comparison_results import summarise
from covington.transition.names import TRANSITIONS
from tests.evaluation.test_evaluation import random_tree
from tests.evaluation.test_evaluation_counts import LABELS, Pair, Parse, by_hand, pairs, percent
from tests.support.batches import batch, sentence

SYSTEMS = [System(name, TrainingOptions(oracle=name)) for name in ("static", "monotonic", "upper")]
BANKS = [Treebank(name, ("train",), ("dev",), ("test",)) for name in ("UD_A", "UD_B")]
RIGHT = {"static": 0.2, "monotonic": 0.4, "upper": 0.8}  # how many sentences keep their gold heads
SEEDS = 3


def parsed(gold: list[Pair], chooser: random.Random, right: float) -> list[Pair]:
    """The same sentences as another system parses them."""
    found = []
    for tree, _, tags in gold:
        heads = tree.heads if chooser.random() < right else list(random_tree(chooser, len(tags)))
        labels = [label if chooser.random() < 0.8 else chooser.choice(LABELS) for label in tree.labels]
        found.append(Pair(tree, Parse(heads, labels), tags))
    return found


def side(corpus: list[Pair], name: str) -> Any:
    return batch(
        *(
            sentence(" ".join("w" * len(one.tags)), parse.heads, " ".join(parse.labels), " ".join(one.tags))
            for one in corpus
            for parse in [getattr(one, name)]
        )
    )


def statistics(chooser: random.Random) -> dict[str, Any]:
    names = ("sentences", "tokens", "unparsed", "non_monotonic", "repairs_to_gold", "repairs_harmful")
    taken = {name: chooser.randint(100, 999) for name in TRANSITIONS}
    arcs = taken["LeftArc"] + taken["RightArc"]
    return {"taken": taken, "arcs": arcs, **{name: chooser.randint(100, 999) for name in names}}


class Made:
    """Runs, what each is said to have found, and the parses that this was counted from."""

    def __init__(self) -> None:
        chooser = random.Random(4)
        self.runs: list[Run] = []
        self.results: dict[str, dict[str, Any]] = {}
        self.corpora: dict[tuple[str, str, str], list[list[Pair]]] = {}
        for bank in BANKS:
            golds = {part: pairs(chooser.randint(0, 99), damaged=False) for part in ("dev", "test")}
            for seed in range(1, SEEDS + 1):
                for system in SYSTEMS:
                    key = f"{bank.name} {system.name} {seed}"
                    options = TrainingOptions(oracle=system.name, seed=seed)
                    self.runs.append(Run(bank, system.name, options, True, key))
                    self.results[key] = {
                        "key": key,
                        "options": options.to_dict(),
                        "training_seconds": chooser.random(),
                        "curve": [{"uas": chooser.random(), "las": chooser.random()} for _ in range(2)],
                    }
                    for part, gold in golds.items():
                        corpus = parsed(gold, chooser, RIGHT[system.name])
                        self.corpora.setdefault((bank.name, system.name, part), []).append(corpus)
                        both = side(corpus, "gold"), side(corpus, "system")
                        self.results[key][part] = {
                            "counts": count(*both).to_dict(),
                            "sentences": sentence_scores(*both).tolist(),
                            "statistics": statistics(chooser),
                        }

    @cache  # noqa: B019 - one for all tests
    def summary(self, part: str = "test", baseline: str | None = None) -> dict[str, Any]:
        return summarise(BANKS, SYSTEMS, self.runs, self.results, part=part, baseline=baseline, trials=200)

    def of(self, bank: str, system: str) -> list[dict[str, Any]]:
        return [
            self.results[run.key] for run in self.runs if (run.treebank.name, run.system) == (bank, system)
        ]


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


def attachment(corpus: list[Pair]) -> dict[str, float]:
    words = [
        (one[0] == two[0], one == two)
        for gold, system, _ in corpus
        for one, two in zip(zip(*gold, strict=True), zip(*system, strict=True), strict=True)
    ]
    return {
        "uas": 100 * sum(head for head, _ in words) / len(words),
        "las": 100 * sum(both for _, both in words) / len(words),
    }


def rows(summary: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (table["treebank"], row["system"], row) for table in summary["treebanks"] for row in table["rows"]
    ]


@pytest.mark.parametrize("part", ["dev", "test"])
def test_means_and_deviations_are_those_of_the_seeds(made: Made, part: str) -> None:
    for bank, system, row in rows(made.summary(part)):
        single = [attachment(corpus) for corpus in made.corpora[bank, system, part]]
        for score in ("uas", "las"):
            values = [one[score] for one in single]
            mean = sum(values) / SEEDS
            assert row[score] == pytest.approx(mean)
            variance = sum((value - mean) ** 2 for value in values) / (SEEDS - 1)
            assert row[f"{score}_deviation"] == pytest.approx(variance**0.5)
            assert [run[score] for run in row["runs"]] == pytest.approx(values)
        for epoch, point in enumerate(row["curve"]):
            for score in ("uas", "las"):
                values = [result["curve"][epoch][score] for result in made.of(bank, system)]
                assert point[score] == pytest.approx(sum(values) / SEEDS)
        seconds = [result["training_seconds"] for result in made.of(bank, system)]
        assert row["training_seconds"] == pytest.approx(sum(seconds) / SEEDS)


def test_one_seed_has_no_deviation(made: Made) -> None:
    first = [run for run in made.runs if run.options.seed == 1]
    summary = summarise(BANKS, SYSTEMS, first, made.results, trials=10)
    assert {row["uas_deviation"] for _, _, row in rows(summary)} == {None}
    assert "one seed." in comparison_report.results_note(summary)
    assert "±" not in comparison_report.as_markdown(summary, "x").replace("mean ±", "")


def test_two_seeds_have_a_deviation(made: Made) -> None:
    """Half the difference on either side of the mean, and one degree of freedom."""
    two = [run for run in made.runs if run.options.seed < 3]
    summary = summarise(BANKS, SYSTEMS, two, made.results, trials=1)
    for bank, system, row in rows(summary):
        one, other = (attachment(corpus)["uas"] for corpus in made.corpora[bank, system, "test"][:2])
        assert row["uas_deviation"] == pytest.approx(abs(one - other) / 2**0.5)
    assert "mean ± deviation of 2 seeds." in comparison_report.results_note(summary)


def flat(counts: dict[str, Any]) -> Counter[str]:
    """All counts by name, those of transitions among them."""
    return Counter({name: count for name, count in counts.items() if name != "taken"} | counts["taken"])


def analysis(corpora: list[list[Pair]], did: Counter[str]) -> dict[str, float | None]:
    """The error analysis, counted arc by arc over the parses of all seeds."""
    arcs = by_hand([one for corpus in corpora for one in corpus])

    def both(name: str, key: str) -> tuple[float | None, float | None]:
        row = arcs[name, key]
        return percent(row["system head"], row["system"]), percent(row["gold head"], row["gold"])

    long, plain, crossing = (
        both("by_arc_length", ">7"),
        both("by_projectivity", "projective"),
        both("by_projectivity", "non-projective"),
    )
    transitions = sum(did[name] for name in TRANSITIONS)
    return {
        "non_monotonic": percent(did["non_monotonic"], did["arcs"]),
        "creating_gold": percent(did["repairs_to_gold"], did["non_monotonic"]),
        "harmful": percent(did["repairs_harmful"], did["non_monotonic"]),
        **dict(zip(("precision_long", "recall_long"), long, strict=True)),
        **dict(zip(("precision_projective", "recall_projective"), plain, strict=True)),
        **dict(zip(("precision_non_projective", "recall_non_projective"), crossing, strict=True)),
        "transitions_per_word": transitions / did["tokens"],
    }


@pytest.mark.parametrize("part", ["dev", "test"])
def test_the_error_analysis_is_what_counting_gives(made: Made, part: str) -> None:
    summary = made.summary(part)
    for bank, system, row in rows(summary):
        did = sum((flat(result[part]["statistics"]) for result in made.of(bank, system)), Counter[str]())
        expected = analysis(made.corpora[bank, system, part], did)
        assert row["analysis"] == pytest.approx(expected)
        arcs = by_hand([one for corpus in made.corpora[bank, system, part] for one in corpus])
        for bin_ in row["precision_by_arc_length"]:
            found = arcs["by_arc_length", bin_["key"]]
            assert bin_["precision"] == pytest.approx(percent(found["system head"], found["system"]))
    for average in summary["average"]:
        same = [row for _, system, row in rows(summary) if system == average["system"]]
        for score in ("uas", "las", "training_seconds"):
            assert average[score] == pytest.approx((same[0][score] + same[1][score]) / 2)
        for key, value in average["analysis"].items():
            assert value == pytest.approx((same[0]["analysis"][key] + same[1]["analysis"][key]) / 2)


def test_what_no_seed_did_has_no_share(made: Made) -> None:
    """One treebank without any repair, or without a word: the average is that of the other."""
    results = {key: dict(result) for key, result in made.results.items()}
    for run in made.runs:
        if run.treebank == BANKS[0]:
            did = {**results[run.key]["test"]["statistics"], "non_monotonic": 0, "tokens": 0}
            results[run.key]["test"] = {**results[run.key]["test"], "statistics": did}
    summary = summarise(BANKS, SYSTEMS, made.runs, results, trials=10)
    without, other = (table["rows"][0]["analysis"] for table in summary["treebanks"])
    for key in ("creating_gold", "harmful", "transitions_per_word"):
        assert without[key] is None
        assert summary["average"][0]["analysis"][key] == other[key]
    assert without["non_monotonic"] == 0.0


def test_every_system_is_tested_against_every_other(made: Made) -> None:
    """On the sums over seeds, so that the difference is that of the means."""
    summary = made.summary()
    means = {(bank, system): row for bank, system, row in rows(summary)}
    for (bank, system), row in means.items():
        assert set(row["versus"]) == {"static", "monotonic", "upper"} - {system}
        for other, test in row["versus"].items():
            for score in ("uas", "las"):
                assert test[score] == pytest.approx(row[score] - means[bank, other][score])
    assert means["UD_A", "upper"]["marks"] == {"uas": "†", "las": "†"}
    assert means["UD_A", "static"]["marks"] == {"uas": "", "las": ""}


def test_the_baseline_is_monotonic_unless_another_is_named(made: Made) -> None:
    assert made.summary()["baseline"] == "monotonic"
    assert made.summary("test", "static")["baseline"] == "static"
    others = [system for system in SYSTEMS if system.name != "monotonic"]
    assert summarise(BANKS, others, made.runs, made.results, trials=1)["baseline"] == "static"


def test_the_tables_show_each_number_in_its_place(made: Made) -> None:
    summary = made.summary()
    averages = {row["system"]: row for row in summary["average"]}
    for score in ("uas", "las"):
        header, body, best = comparison_report.results_table(summary, score)
        assert header == [score.upper(), "static", "monotonic", "upper"]
        assert best == {(0, 3), (1, 3), (2, 3)}
        for line, table in zip(body, summary["treebanks"], strict=False):
            assert line == [
                table["treebank"],
                *(f"{r[score]:.2f} ±{r[f'{score}_deviation']:.2f}{r['marks'][score]}" for r in table["rows"]),
            ]
        assert body[2] == ["average", *(f"{averages[name][score]:.2f}" for name in header[1:])]
    found = {(bank, system): row for bank, system, row in rows(summary)}
    _, differences = comparison_report.differences_table(summary)
    assert differences == [
        [
            bank,
            f"{name} − monotonic",
            *(f"{test['uas']:+.2f}".replace("-", "−"), f"{test['uas_p']:.4f}"),
            *(f"{test['las']:+.2f}".replace("-", "−"), f"{test['las_p']:.4f}"),
        ]
        for (bank, name), row in found.items()
        if name != "monotonic"
        for test in [row["versus"]["monotonic"]]
    ]


def test_the_table_of_the_error_analysis(made: Made) -> None:
    summary = made.summary()
    header, body = comparison_report.analysis_table(summary)
    assert header == [
        *("treebank", "system", "non-monotonic", "creating gold", "harmful", "P >7", "R >7"),
        *("P proj.", "R proj.", "P non-proj.", "R non-proj.", "trans./word", "CPU s"),
    ]
    keys = [
        *("non_monotonic", "creating_gold", "harmful", "precision_long", "recall_long"),
        *("precision_projective", "recall_projective", "precision_non_projective", "recall_non_projective"),
        "transitions_per_word",
    ]
    lines = [*rows(summary), *(("average", row["system"], row) for row in summary["average"])]
    assert body == [
        [name, system, *(f"{row['analysis'][key]:.2f}" for key in keys), f"{row['training_seconds']:.1f}"]
        for name, system, row in lines
    ]
    alone = {**summary, "treebanks": summary["treebanks"][:1]}
    assert comparison_report.analysis_table(alone)[1] == body[: len(SYSTEMS)]  # one treebank has no average


@pytest.mark.parametrize(("mark", "written"), [("*", "\\*"), ("†", "†"), ("", "")])
@pytest.mark.parametrize(
    ("values", "best"),
    [
        ((80.0, 81.0, 79.0), [2]),
        ((80.001, 80.004, 79.0), [1, 2]),
        ((79.0, 80.0, 80.0), [2, 3]),
        ((80.0,), []),
    ],
)
def test_the_best_as_shown_are_bold_but_not_their_marks(
    values: tuple[float, ...], best: list[int], mark: str, written: str
) -> None:
    systems = [{"name": f"s{number}", "options": {}} for number in range(len(values))]
    cells = [
        {"system": one["name"], "uas": v, "marks": {"uas": mark}}
        for one, v in zip(systems, values, strict=True)
    ]
    summary = {"systems": systems, "treebanks": [{"treebank": "x", "rows": cells}], "average": cells}
    header, body, found = comparison_report.results_table(summary, "uas")
    assert found == {(0, column) for column in best}
    text = comparison_report._markdown_results(header, body, found)
    line = text.splitlines()[2].split(" | ")
    shown = [
        f"**{value:.2f}**{written}" if place in best else f"{value:.2f}{written}"
        for place, value in enumerate(values, 1)
    ]
    assert line == ["| x", *shown[:-1], f"{shown[-1]} |"]


def test_uas_and_las_may_have_another_best() -> None:
    """In every line, that of the averages too."""
    systems = [{"name": name} for name in ("one", "two")]
    marks = {"uas": "", "las": ""}
    cells = [{"uas": 80.0, "las": 60.0, "marks": marks}, {"uas": 79.0, "las": 61.0, "marks": marks}]
    tables = [{"treebank": name, "rows": cells} for name in ("x", "y")]
    summary = {"systems": systems, "treebanks": tables, "average": cells}
    assert comparison_report.results_table(summary, "uas")[2] == {(0, 1), (1, 1), (2, 1)}
    assert comparison_report.results_table(summary, "las")[2] == {(0, 2), (1, 2), (2, 2)}


def test_the_plots_of_the_page(made: Made) -> None:
    summary = made.summary()
    page = comparison_report.as_html(summary, "covington compare")
    for title, expected in (
        (
            "Precision by arc length",
            {
                (bank, system, bin_["key"]): bin_["precision"]
                for bank, system, row in rows(summary)
                for bin_ in row["precision_by_arc_length"]
                if bin_["key"] != "root"
            },
        ),
        (
            "Learning curves",
            {
                (bank, system, str(epoch)): point["las"]
                for bank, system, row in rows(summary)
                for epoch, point in enumerate(row["curve"], 1)
            },
        ),
    ):
        section = page.split(f"<h2>{title}</h2>")[1].split("</section>")[0]
        found = {}
        for part in section.split("<h3>")[1:]:
            bank = part.split("</h3>")[0]
            for system, key, value in re.findall(r"<title>(.*?), (.*?): (.*?)</title>", part):
                found[bank, system, key.replace("&gt;", ">")] = float(value)
        assert found == {key: pytest.approx(value, abs=0.006) for key, value in expected.items()}
    assert "3 systems, 2 treebanks, 3 seeds" in page
