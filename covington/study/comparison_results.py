"""From finished runs to the paper's table: means, deviations, significance marks and the error analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

import numpy as np

from covington.corpus.treebanks import Treebank
from covington.evaluation import significance
from covington.evaluation.counts import (
    ARC_LENGTH_GROUPS,
    GOLD,
    GOLD_HEAD,
    SYSTEM,
    SYSTEM_HEAD,
    Breakdown,
    Counts,
    percent,
)
from covington.evaluation.scores import scores
from covington.parsing.parser import Statistics
from covington.study.comparison import System
from covington.study.comparison_run import Run

ALPHA = 0.05

#: The columns of the error analysis: title, key, and what it is.
ANALYSIS = (
    ("non-monotonic", "non_monotonic", "of the arc transitions, those that take an arc away"),
    ("creating gold", "creating_gold", "of these, those that build a gold arc"),
    ("harmful", "harmful", "of these, those that take a gold arc away and build a wrong one"),
    ("P >7", "precision_long", "precision on arcs longer than 7"),
    ("R >7", "recall_long", "recall on arcs longer than 7"),
    ("P proj.", "precision_projective", "precision on projective arcs"),
    ("R proj.", "recall_projective", "recall on projective arcs"),
    ("P non-proj.", "precision_non_projective", "precision on non-projective arcs"),
    ("R non-proj.", "recall_non_projective", "recall on non-projective arcs"),
    ("trans./word", "transitions_per_word", "transitions per word"),
)


def summarise(
    treebanks: Sequence[Treebank],
    systems: Sequence[System],
    runs: Sequence[Run],
    results: Mapping[str, dict[str, Any]],
    *,
    part: str = "test",
    baseline: str | None = None,
    trials: int = significance.TRIALS,
) -> dict[str, Any]:
    """Everything the Markdown, the JSON and the page are made of."""
    named = {system.name: system for system in systems}
    reference = baseline or next((s.name for s in systems if s.kind == "monotonic"), systems[0].name)
    tables = []
    for treebank in treebanks:
        found = {
            system.name: [
                results[run.key] for run in runs if run.treebank == treebank and run.system == system.name
            ]
            for system in systems
        }
        tables.append({"treebank": treebank.name, "rows": _rows(named, found, part, trials)})
    return {
        "part": part,
        "seeds": len({run.options.seed for run in runs}),
        "alpha": ALPHA,
        "baseline": reference,
        "systems": [
            {"name": system.name, "kind": system.kind, "options": _without_seed(system)} for system in systems
        ],
        "treebanks": tables,
        "average": [_average(system.name, tables) for system in systems],
    }


def _without_seed(system: System) -> dict[str, Any]:
    return {name: value for name, value in system.options.to_dict().items() if name != "seed"}


def _rows(
    named: Mapping[str, System], found: Mapping[str, list[dict[str, Any]]], part: str, trials: int
) -> list[dict[str, Any]]:
    """One row per system on one treebank."""
    sentences = {
        name: np.sum([np.array(result[part]["sentences"], np.int64) for result in results], axis=0)
        for name, results in found.items()
    }
    rows = []
    for name, results in found.items():
        counts = [Counts.from_dict(result[part]["counts"]) for result in results]
        single = [one.attachment_scores for one in counts]
        versus = {
            other: asdict(significance.compare(sentences[name], sentences[other], trials=trials))
            for other in found
            if other != name
        }
        rows.append(
            {
                "system": name,
                **{score: fmean(one[score] for one in single) for score in ("uas", "las")},
                **{
                    f"{score}_deviation": stdev([one[score] for one in single]) if len(single) > 1 else None
                    for score in ("uas", "las")
                },
                "runs": [
                    {"seed": result["options"]["seed"], "key": result["key"], **one}
                    for result, one in zip(results, single, strict=True)
                ],
                "marks": {score: mark(named, name, versus, score) for score in ("uas", "las")},
                "versus": versus,
                "analysis": _analysis(counts, [result[part]["statistics"] for result in results]),
                "training_seconds": fmean(result["training_seconds"] for result in results),
                "curve": _mean_curve([result["curve"] for result in results]),
                "precision_by_arc_length": scores(Counts.sum(counts), name)["by_arc_length"],
            }
        )
    return rows


def mark(
    named: Mapping[str, System], name: str, versus: Mapping[str, Mapping[str, float]], score: str
) -> str:
    """The paper's mark of a dynamic oracle: * better than static, † than all opposite dynamic ones too."""
    kinds = {other: named[other].kind for other in versus}
    opposite = {"monotonic": "non-monotonic", "non-monotonic": "monotonic"}.get(named[name].kind)
    if opposite is None:
        return ""

    def better_than(kind: str) -> bool:
        tests = [test for other, test in versus.items() if kinds[other] == kind]
        return bool(tests) and all(test[score] > 0 and test[f"{score}_p"] <= ALPHA for test in tests)

    if better_than("static") and better_than(opposite):
        return "†"
    return "*" if better_than("static") else ""


def _analysis(counts: Sequence[Counts], statistics: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The numbers of the paper's error analysis, over all seeds."""
    total = Counts.sum(counts)
    did = sum((Statistics(**one) for one in statistics), Statistics())
    long = total.arc_length.grouped({">7": ARC_LENGTH_GROUPS[">7"]})
    return {
        "non_monotonic": percent(did.non_monotonic, did.arcs),
        "creating_gold": percent(did.repairs_to_gold, did.non_monotonic),
        "harmful": percent(did.repairs_harmful, did.non_monotonic),
        "precision_long": _precision(long, 0),
        "recall_long": _recall(long, 0),
        "precision_projective": _precision(total.projectivity, 0),
        "recall_projective": _recall(total.projectivity, 0),
        "precision_non_projective": _precision(total.projectivity, 1),
        "recall_non_projective": _recall(total.projectivity, 1),
        "transitions_per_word": did.transitions / did.tokens if did.tokens else None,
    }


def _precision(breakdown: Breakdown, row: int) -> float | None:
    return percent(breakdown.counts[row, SYSTEM_HEAD], breakdown.counts[row, SYSTEM])


def _recall(breakdown: Breakdown, row: int) -> float | None:
    return percent(breakdown.counts[row, GOLD_HEAD], breakdown.counts[row, GOLD])


def _mean_curve(curves: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The mean over seeds after each epoch."""
    return [
        {score: fmean(point[score] for point in points) for score in ("uas", "las")}
        for points in zip(*curves, strict=True)
    ]


def _average(name: str, tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [row for table in tables for row in table["rows"] if row["system"] == name]
    return {
        "system": name,
        **{score: fmean(row[score] for row in rows) for score in ("uas", "las", "training_seconds")},
        "analysis": {key: _mean([row["analysis"][key] for row in rows]) for _, key, _ in ANALYSIS},
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
