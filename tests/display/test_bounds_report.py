"""The table of the loss study: which bound is marked, what is averaged, and what is said beside it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from covington.display import bounds_report


def row(
    name: str, values: tuple[float, float, float, float], relative: tuple[float, float, float]
) -> dict[str, Any]:
    """A row as the study gives it: lower, loss, pc-upper, upper; relative differences of the three bounds."""
    return {
        "name": name,
        **dict(zip(("lower", "loss", "pc_upper", "upper"), values, strict=True)),
        "relative_difference": dict(zip(("lower", "pc_upper", "upper"), relative, strict=True)),
        "without_relative_difference": {"lower": 0, "pc_upper": 0, "upper": 0},
        "transitions": 200,
        "searched": 7,
        "most_nodes": 9,
        "not_known": 0,
        "seconds": 1.0,
        "in_order": True,
        "by_loss": [
            {"loss": "0", "configurations": 150, "lower": 0.0, "pc_upper": 0.5, "upper": 0.75},
            {"loss": "1", "configurations": 50, "lower": 0.25, "pc_upper": 0.125, "upper": 1.5},
        ],
    }


def result(*rows: dict[str, Any], root: str = "explicit") -> dict[str, Any]:
    options = {"root": root, "oracle": "lower", "templates": "paper", "seed": 1, "explore": 0.1}
    return {"treebanks": list(rows), "node_limit": 1_000, "options": {**options, "explore_from": 1}}


LOWER = row("A", (0.5, 1.0, 2.0, 1.0), (0.125, 0.25, 0.0))
PC_UPPER = row("B", (0.5, 1.0, 1.25, 3.0), (0.5, 0.25, 0.75))


@pytest.mark.parametrize(
    ("lower", "pc_upper", "relative", "marked"),
    [
        (0.5, 2.0, (0.125, 0.25, 0.0), {"lower", "lower: rel. diff."}),
        (0.5, 1.25, (0.5, 0.25, 0.0), {"pc-upper", "pc-upper: rel. diff."}),
        (0.5, 1.25, (0.125, 0.25, 0.0), {"pc-upper", "lower: rel. diff."}),
        (0.5, 1.5, (0.25, 0.25, 0.5), {"lower", "pc-upper", "lower: rel. diff.", "pc-upper: rel. diff."}),
    ],
)
def test_the_closer_bound_is_marked(
    lower: float, pc_upper: float, relative: tuple[float, float, float], marked: set[str]
) -> None:
    columns = bounds_report.closer(row("x", (lower, 1.0, pc_upper, 1.0), relative))
    assert {bounds_report.HEADER[column] for column in columns} == marked
    assert len(columns) == len(marked)


@pytest.mark.parametrize("transitions", [7, 300, 12_345])
@pytest.mark.parametrize("less", range(1, 6))
def test_bounds_that_miss_the_loss_by_the_same_are_equally_close(transitions: int, less: int) -> None:
    """One below the loss and one above it by the same sum: means of these need not be equal to the last bit."""
    means = tuple(total / transitions for total in (6 - less, 6, 6 + less, 30))
    assert bounds_report.closer(row("x", means, (0.5, 0.25, 1.0))) == [1, 3, 6]
    further = tuple(total / transitions for total in (6 - less, 6, 7 + less, 30))
    assert bounds_report.closer(row("x", further, (0.5, 0.25, 1.0))) == [1, 6]


def test_the_table_and_its_average() -> None:
    lines = bounds_report.as_markdown(result(LOWER, PC_UPPER)).splitlines()
    assert lines[2:5] == [
        "| A | **0.50000** | 1.00000 | 2.00000 | 1.00000 | **0.12500** | 0.25000 | 0.00000 |",
        "| B | 0.50000 | 1.00000 | **1.25000** | 3.00000 | 0.50000 | **0.25000** | 0.75000 |",
        "| Average | **0.50000** | 1.00000 | 1.62500 | 2.00000 | 0.31250 | **0.25000** | 0.37500 |",
    ]
    assert "Average" not in bounds_report.as_markdown(result(LOWER))


def test_the_page_marks_the_same_cells() -> None:
    page = bounds_report.as_html(result(LOWER, PC_UPPER))
    marked = re.findall(r'<td class="best">([^<]*)</td>', page)
    assert marked == ["0.50000", "0.12500", "1.25000", "0.25000", "0.50000", "0.25000"]


def test_the_plots_show_shares_and_distances() -> None:
    page = bounds_report.as_html(result(LOWER))
    shares, distances = page.split("<h3>")[1:]
    assert "configurations by loss" in shares and "distance of the bounds" in distances
    assert re.findall(r"<title>([^<]*)</title>", shares) == ["share, 0: 75", "share, 1: 25"]
    assert sorted(re.findall(r"<title>([^<]*)</title>", distances)) == sorted(
        [
            *("lower, 0: 0", "pc-upper, 0: 0.50", "upper, 0: 0.75"),
            *("lower, 1: 0.25", "pc-upper, 1: 0.12", "upper, 1: 1.50"),
        ]
    )


@pytest.mark.parametrize(
    ("change", "root", "said"),
    [
        ({"not_known": 3}, "explicit", "The loss of 3 configurations was not found within 1,000"),
        (
            {"without_relative_difference": {"lower": 0, "pc_upper": 0, "upper": 4}},
            "explicit",
            "Loss 0 but upper above 0: 4 times",
        ),
        ({"in_order": False}, "implicit", "upper: with an implicit root a gold root arc can come back."),
        ({"in_order": False}, "explicit", "upper!"),
    ],
)
def test_what_is_missing_or_out_of_order_is_said(change: dict[str, Any], root: str, said: str) -> None:
    (_, plain) = bounds_report.remarks(result(LOWER, root=root))
    (_, line) = bounds_report.remarks(result({**LOWER, **change}, root=root))
    assert plain == "A: 200 transitions; 7 losses needed a search, of at most 9 configurations; 1.0 s."
    assert line.startswith(f"{plain} ") and said in line
