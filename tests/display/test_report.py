"""The evaluation page in a real browser: plots drawn, nothing wider than a phone, data stays text."""

from __future__ import annotations

from pathlib import Path

import pytest

from covington.commands.evaluate import evaluate
from covington.display import report
from covington.display.evaluation_report import as_html, text_table
from covington.display.plots import Series, bar_plot, line_plot, nice_ticks, number_text
from tests.evaluation.test_evaluation import files  # noqa: F401
from tests.support.browser import measure, picture

LOOK = """
const plots=[...document.querySelectorAll('.plot>svg')];
const clashes=plots.flatMap(p=>{const t=[...p.querySelectorAll('text')];
 return t.flatMap((x,i)=>t.slice(0,i).filter(y=>{const a=x.getBoundingClientRect(),b=y.getBoundingClientRect();
 return a.left<b.right-1&&b.left<a.right-1&&a.top<b.bottom-1&&b.top<a.bottom-1})
 .map(y=>[x.textContent,y.textContent]))});
const spilled=plots.flatMap(p=>{const box=p.getBoundingClientRect();
 return [...p.querySelectorAll('text')].map(x=>x.getBoundingClientRect())
 .filter(t=>t.left<box.left-1||t.right>box.right+1||t.bottom>box.bottom+1)});
return {plots:plots.length,lines:document.querySelectorAll('polyline').length,clashes,
 spilled:spilled.length,scripts:document.querySelectorAll('script').length,title:document.title,
 fits:document.documentElement.scrollWidth<=innerWidth,links:document.querySelectorAll('[src],link').length};
"""


@pytest.fixture
def page(files: tuple[str, str, str], tmp_path: Path) -> Path:  # noqa: F811
    path = tmp_path / "evaluation.html"
    names = ["non-monotonic", "<script>alert(1)</script>"]
    path.write_text(as_html(evaluate(files[0], list(files[1:]), names, 100, 1)), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [(1200, 900), (500, 900)])
def test_the_page_in_a_browser(page: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    found = measure(page, LOOK, tmp_path, size)
    assert found["plots"] == 6 and found["lines"] == 10
    assert found["clashes"] == [] and found["spilled"] == 0
    assert found["fits"], "the page must not scroll sideways"
    assert found["scripts"] == 1  # the probe itself: a system's name stays text
    assert found["links"] == 0
    assert picture(page, tmp_path, (size[0], 2600)).stat().st_size > 20_000
    assert picture(page, tmp_path, (size[0], 2600), dark=True).stat().st_size > 20_000


def test_tables_escape_and_format() -> None:
    table = report.table(["<a>", "n"], [["<b>", 1234.5], ["x", None], ["y", 12345]], best=[(0, 1)])
    assert "&lt;a&gt;" in table and "&lt;b&gt;" in table and "<b>" not in table
    assert '<td class="best">1,234.50</td>' in table and "<td>–</td>" in table and "<td>12,345</td>" in table


def test_plots_take_gaps_and_single_points() -> None:
    for plot in (line_plot, bar_plot):
        drawn = plot(
            [Series("a", [None, 2.0]), Series("b", [1.0, None])], ["x", "y"], x_label="x", y_label="y"
        )
        assert drawn.count("<title>") == 2
        assert "nan" not in plot([Series("a", [None])], ["x"], x_label="x", y_label="y")
        assert "nan" not in plot([], [], x_label="x", y_label="y")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (84.1, 85.2), (-3, 7), (5, 5), (0, 12345)])
def test_ticks_are_round_and_cover_the_range(low: float, high: float) -> None:
    ticks = nice_ticks(low, high)
    assert ticks[0] <= low and ticks[-1] >= high and 3 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


def test_numbers_are_written_for_people() -> None:
    assert [number_text(n) for n in (None, 3.0, 100.0, 85.123, 12345.0)] == [
        "–",
        "3",
        "100.00",
        "85.12",
        "12,345",
    ]


def test_text_tables_line_up() -> None:
    assert text_table(["a", "b"], [["xx", 1.5], ["y", 10]]) == "a      b\n────────\nxx  1.50\ny     10"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    report.write(str(target), "täxt")
    assert target.read_text(encoding="utf-8") == "täxt"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
