"""A comparison as Markdown and as an HTML page: results, differences, error analysis, learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covington.display import report
from covington.display.plots import Series, line_plot, score_text, signed
from covington.study.comparison_results import ANALYSIS

Summary = dict[str, Any]


def results_note(summary: Summary) -> str:
    seeds = f"mean ± deviation of {summary['seeds']} seeds" if summary["seeds"] > 1 else "one seed"
    note = f"UAS and LAS on the {summary['part']} sets, punctuation included, {seeds}."
    if not any(system["kind"] == "static" for system in summary["systems"]):
        return f"{note} The next table says which differences are significant."
    return (
        f"{note} Significant improvements (paired approximate randomisation, α = {summary['alpha']}) are marked * if"
        " only over the static oracle, † if over the opposite dynamic oracle too."
    )


def _score(row: dict[str, Any], score: str) -> str:
    deviation = row.get(f"{score}_deviation")
    return f"{row[score]:.2f}" + (f" ±{deviation:.2f}" if deviation is not None else "")


def _marked(row: dict[str, Any], score: str) -> str:
    return f"{_score(row, score)}{row['marks'][score]}"


def results_table(summary: Summary, score: str) -> tuple[list[str], list[list[str]], set[tuple[int, int]]]:
    """Treebanks down, systems across, for UAS or LAS; and which cells are best."""
    header = [score.upper(), *(system["name"] for system in summary["systems"])]
    body, best = [], set()
    for line, table in enumerate(summary["treebanks"]):
        body.append([table["treebank"], *(_marked(row, score) for row in table["rows"])])
        best |= {(line, column) for column in _best(table["rows"], score)}
    if len(summary["treebanks"]) > 1:
        body.append(["average", *(_score(row, score) for row in summary["average"])])
        best |= {(len(body) - 1, column) for column in _best(summary["average"], score)}
    return header, body, best


def _best(rows: Sequence[dict[str, Any]], score: str) -> list[int]:
    """The columns of the highest score, as shown; none where there is nothing to choose from."""
    shown = [round(row[score], 2) for row in rows]
    return [place for place, value in enumerate(shown, 1) if value == max(shown)] if len(rows) > 1 else []


def differences_table(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Every system against the baseline, also where it loses."""
    body = []
    for table in summary["treebanks"]:
        for row in table["rows"]:
            test = row["versus"].get(summary["baseline"])
            if test is not None:
                body.append(
                    [
                        table["treebank"],
                        f"{row['system']} − {summary['baseline']}",
                        *(signed(test["uas"]), f"{test['uas_p']:.4f}"),
                        *(signed(test["las"]), f"{test['las_p']:.4f}"),
                    ]
                )
    return ["treebank", "systems", "ΔUAS", "p", "ΔLAS", "p"], body


def analysis_table(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """The error analysis per treebank and system, and on average."""
    lines = [(table["treebank"], row) for table in summary["treebanks"] for row in table["rows"]]
    if len(summary["treebanks"]) > 1:
        lines += [("average", row) for row in summary["average"]]
    body = [
        [
            name,
            row["system"],
            *(score_text(row["analysis"][key]) for _, key, _ in ANALYSIS),
            f"{row['training_seconds']:.1f}",
        ]
        for name, row in lines
    ]
    return ["treebank", "system", *(title for title, _, _ in ANALYSIS), "CPU s"], body


def analysis_note() -> str:
    meanings = [f"{title}: {meaning}" for title, _, meaning in ANALYSIS]
    return "Percent. " + "; ".join([*meanings, "CPU s: processor time of the training"]) + "."


def as_markdown(summary: Summary, command: str) -> str:
    """Tables for a document, with the command that made them."""
    parts = [
        f"`{command}`",
        results_note(summary).replace("*", "\\*"),
        *(_markdown_results(*results_table(summary, score)) for score in ("uas", "las")),
        f"Differences from {summary['baseline']}, with the probability of such a difference by chance:",
        _markdown(*differences_table(summary), text=2),
        analysis_note(),
        _markdown(*analysis_table(summary), text=2),
        "Options: " + "; ".join(f"{s['name']}: {_options(s['options'])}" for s in summary["systems"]) + ".",
    ]
    return "\n\n".join(parts) + "\n"


def _markdown_results(header: list[str], body: list[list[str]], best: set[tuple[int, int]]) -> str:
    marked = [
        [
            _bold(cell) if (line, column) in best else cell.replace("*", "\\*")
            for column, cell in enumerate(row)
        ]
        for line, row in enumerate(body)
    ]
    return _markdown(header, marked)


def _bold(cell: str) -> str:
    """Bold, but for the mark of significance."""
    number = cell.rstrip("*†")
    return f"**{number}**" + cell[len(number) :].replace("*", "\\*")


def _options(options: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]], text: int = 1) -> str:
    rule = ["---"] * text + ["---:"] * (len(header) - text)
    return "\n".join("| " + " | ".join(_safe(cell) for cell in row) + " |" for row in (header, rule, *body))


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def as_html(summary: Summary, command: str) -> str:
    """The same with plots: learning curves and precision by arc length, per treebank."""
    results = []
    for score in ("uas", "las"):
        header, body, best = results_table(summary, score)
        results.append(report.table(header, body, best=best))
    differences = report.table(*differences_table(summary), text_columns=(1,))
    analysis = report.table(*analysis_table(summary), text_columns=(1,))
    sections = [
        report.section("Results", *results, note=results_note(summary)),
        report.section(
            f"Differences from {summary['baseline']}",
            differences,
            note="p: how likely such a difference is by chance (paired approximate randomisation over sentences).",
        ),
        report.section("Precision by arc length", report.plots(_length_plots(summary)), note="Unlabelled."),
        report.section("Error analysis", analysis, note=analysis_note()),
    ]
    curves = _curve_plots(summary)
    if curves:
        note = "LAS on the development set after each epoch, mean over seeds."
        sections.insert(3, report.section("Learning curves", report.plots(curves), note=note))
    options = report.table(
        ["system", "options"],
        [[system["name"], _options(system["options"])] for system in summary["systems"]],
        text_columns=(1,),
    )
    sections.append(report.section("How this was made", report.command(command), options))
    treebanks = len(summary["treebanks"])
    subtitle = f"{len(summary['systems'])} systems, {treebanks} treebank{'s' * (treebanks > 1)}, "
    subtitle += f"{summary['seeds']} seed{'s' * (summary['seeds'] > 1)}"
    return report.page("Comparison", subtitle, sections)


def _length_plots(summary: Summary) -> list[tuple[str, str]]:
    drawn = []
    for table in summary["treebanks"]:
        keys = [row["key"] for row in table["rows"][0]["precision_by_arc_length"] if row["key"] != "root"]
        series = []
        for row in table["rows"]:
            found = {bin_["key"]: bin_["precision"] for bin_ in row["precision_by_arc_length"]}
            series.append(Series(row["system"], [found.get(key) for key in keys]))
        drawn.append((table["treebank"], line_plot(series, keys, x_label="arc length", y_label="precision")))
    return drawn


def _curve_plots(summary: Summary) -> list[tuple[str, str]]:
    drawn = []
    for table in summary["treebanks"]:
        longest = max(len(row["curve"]) for row in table["rows"])
        if longest == 0:
            continue
        epochs = [str(epoch) for epoch in range(1, longest + 1)]
        series = [
            Series(
                row["system"],
                [point["las"] for point in row["curve"]] + [None] * (longest - len(row["curve"])),
            )
            for row in table["rows"]
        ]
        drawn.append((table["treebank"], line_plot(series, epochs, x_label="epoch", y_label="LAS")))
    return drawn
