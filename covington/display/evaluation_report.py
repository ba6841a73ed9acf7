"""The scores of one or several systems as a table for the terminal and as an HTML page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from covington.base.progress import many
from covington.display import report
from covington.display.plots import Series, bar_plot, line_plot, score_text, signed, value_range
from covington.evaluation.counts import LONGEST_SENTENCE, SENTENCE_STEP
from covington.evaluation.scores import sentence_length_name

Scores = dict[str, Any]

COMMON = 20  # arcs of a bin that a fine curve shows

#: Title of a column, and where its number is found in the scores of a system.
COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("UAS", ("uas",)),
    ("LAS", ("las",)),
    ("label", ("label_accuracy",)),
    ("CLAS", ("clas",)),
    ("exact", ("exact_match",)),
    ("root", ("root_accuracy",)),
    ("UAS no punct.", ("without_punctuation", "uas")),
    ("LAS no punct.", ("without_punctuation", "las")),
    ("LAS CoNLL18", ("conll18", "las")),
    ("CLAS CoNLL18", ("conll18", "clas")),
)

READING = (
    "UAS: words with the right head; LAS: with the right label too; labels whole, punctuation included. "
    "label: right label whatever the head. CLAS: F1 over content words. exact: sentences all right. "
    "root: root words found. no punct.: without words that gold tags PUNCT, – if it has none. "
    "CoNLL18: as in the shared task of 2018, subtypes of labels cut off."
)


def value(scores: Scores, path: tuple[str, ...]) -> float | None:
    """A number inside the scores, by its keys."""
    found: Any = scores
    for key in path:
        found = found[key]
    assert found is None or isinstance(found, float)
    return found


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns in line: names to the left, numbers to the right."""
    cells = [[*header], *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "─" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])


def _text(cell: object) -> str:
    if cell is None or isinstance(cell, float):
        return score_text(cell)
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def as_text(result: dict[str, Any]) -> str:
    """What the command prints."""
    systems: list[Scores] = result["systems"]
    summary = text_table(
        ["system", *(title for title, _ in COLUMNS)],
        [[system["name"], *(value(system, path) for _, path in COLUMNS)] for system in systems],
    )
    keys = ["root", "1", "2", "3", "4–6", "7", ">7"]
    lengths = text_table(
        ["precision / recall by arc length", *keys],
        [
            [system["name"], *(_pair(_row(system["by_arc_length"], key)) for key in keys)]
            for system in systems
        ],
    )
    kinds = ["projective", "non-projective"]
    shapes = text_table(
        ["precision / recall of arcs", *kinds],
        [
            [system["name"], *(_pair(_row(system["by_projectivity"], key)) for key in kinds)]
            for system in systems
        ],
    )
    parts = [_size(result), summary, lengths, shapes]
    if result["significance"]:
        parts.append(text_table(SIGNIFICANCE_HEADER, _significance_rows(result)))
    return "\n\n".join(parts) + "\n"


SIGNIFICANCE_HEADER = ["paired randomisation", "ΔUAS", "p", "ΔLAS", "p"]


def _significance_rows(result: dict[str, Any]) -> list[list[object]]:
    return [
        [
            f"{test['system']} − {test['other']}",
            signed(test["uas"]),
            f"{test['uas_p']:.4f}",
            *(("–", "–") if test["las"] is None else (signed(test["las"]), f"{test['las_p']:.4f}")),
        ]
        for test in result["significance"]
    ]


def _size(result: dict[str, Any]) -> str:
    first = result["systems"][0]
    return f"{many(first['sentences'], 'sentence')}, {many(first['tokens'], 'word')} of {result['gold']}"


def _row(rows: list[dict[str, Any]], key: str) -> dict[str, Any] | None:
    return next((row for row in rows if row["key"] == key), None)


def _pair(row: dict[str, Any] | None) -> str:
    if row is None:
        return "–"
    return f"{_one_decimal(row['precision'])} / {_one_decimal(row['recall'])}"


def _one_decimal(number: float | None) -> str:
    return "–" if number is None else f"{number:.1f}"


def as_html(result: dict[str, Any]) -> str:
    """The same and more as a page: curves, tables by label and tag, confusions."""
    systems: list[Scores] = result["systems"]
    body = [_summary(systems)]
    if result["significance"]:
        note = (
            "Paired approximate randomisation over sentences; p: how likely such a difference is by chance."
        )
        body.append(
            report.section(
                "Significance", report.table(SIGNIFICANCE_HEADER, _significance_rows(result)), note=note
            )
        )
    body.append(_curves(systems))
    body.append(_shapes(systems))
    body.append(
        _by_key(systems, "By relation", "by_relation", "relation", _labelled_f1, "F1 with head and label")
    )
    body.append(
        _by_key(systems, "By part of speech", "by_upos", "UPOS", lambda r: r["labelled_recall"], "LAS")
    )
    body.append(_confusions(systems))
    return report.page("Evaluation", _size(result), body)


def _summary(systems: list[Scores]) -> str:
    rows = [[system["name"], *(value(system, path) for _, path in COLUMNS)] for system in systems]
    table = report.table(["system", *(title for title, _ in COLUMNS)], rows, best=best_cells(rows))
    shown = [("UAS", "uas"), ("LAS", "las"), ("CLAS", "clas"), ("exact match", "exact_match")]
    cards = report.cards([(title, score_text(systems[0][key])) for title, key in shown])
    return (cards if len(systems) == 1 else "") + table + report.paragraph(READING)


def best_cells(rows: Sequence[Sequence[object]]) -> list[tuple[int, int]]:
    """The highest number of each column, when there is more than one row to choose from."""
    best: list[tuple[int, int]] = []
    for column in range(1, len(rows[0]) if len(rows) > 1 else 0):
        numbers = [row[column] for row in rows]
        top = max((number for number in numbers if isinstance(number, float)), default=None)
        best.extend(
            (place, column) for place, number in enumerate(numbers) if number == top and top is not None
        )
    return best


def _curve(systems: list[Scores], where: str, measure: str, keys: list[str], least: int = 0) -> list[Series]:
    """A measure of all systems; no point where one has fewer arcs than `least`."""
    series = []
    for system in systems:
        found = {row["key"]: row[measure] for row in system[where] if row["system"] >= least}
        series.append(Series(system["name"], [found.get(key) for key in keys]))
    return series


def _common(systems: list[Scores], where: str) -> list[str]:
    """The bins of a fine curve up to the first that is rare in gold.

    Arcs from the root have no length, and at no distance from it are only words of a system that hang from none.
    """
    rows = [row for row in systems[0][where] if row["key"] not in ("root", "0")]
    return [row["key"] for row in itertools.takewhile(lambda row: row["gold"] >= COMMON, rows)]


def _without_gaps(lengths: list[str]) -> list[str]:
    """All lengths of sentences from the first to the last, also those that no sentence has."""
    names = [sentence_length_name(number) for number in range(LONGEST_SENTENCE // SENTENCE_STEP + 1)]
    places = [names.index(length) for length in lengths]
    return names[min(places) : max(places) + 1] if places else []


def _curves(systems: list[Scores]) -> str:
    groups = [row["key"] for row in systems[0]["by_arc_length"] if row["gold"] and row["key"] != "root"]
    fine, depths = (_common(systems, where) for where in ("by_arc_length_fine", "by_root_distance"))
    histogram = systems[0]["sentences_by_length"]
    lengths = _without_gaps([*histogram])
    precision, recall = (_curve(systems, "by_arc_length", score, groups) for score in ("precision", "recall"))
    both = value_range([*precision, *recall], from_zero=False)  # side by side, so on one scale
    arc, words = "arc length", "words in the sentence"
    drawn = [
        ("Precision by arc length", line_plot(
            precision, groups, x_label=arc, y_label="precision", y_range=both)),
        ("Recall by arc length", line_plot(
            recall, groups, x_label=arc, y_label="recall", y_range=both)),
        ("Precision, every length", line_plot(
            _curve(systems, "by_arc_length_fine", "precision", fine, COMMON), fine, x_label=arc,
            y_label="precision")),
        ("Precision by distance to the root", line_plot(
            _curve(systems, "by_root_distance", "precision", depths, COMMON), depths, x_label="arcs to the root",
            y_label="precision")),
        ("LAS by sentence length", line_plot(
            _curve(systems, "by_sentence_length", "labelled_recall", lengths), lengths, x_label=words,
            y_label="LAS")),
        ("How long the sentences are", bar_plot(
            [Series("sentences", [float(histogram.get(length, 0)) for length in lengths])], lengths,
            x_label=words, y_label="sentences")),
    ]  # fmt: skip
    note = (
        "Precision: of the arcs of this length in the system's trees, how many are right. "
        "Recall: of those in gold, how many were found. Labels do not count; arcs from the root have no length. "
        f"Fine curves end where gold has fewer than {COMMON} arcs, and have no point where a system has."
    )
    return report.section("Where the errors are", report.plots(drawn), note=note)


def _shapes(systems: list[Scores]) -> str:
    rows = []
    for system in systems:
        for key in ("projective", "non-projective"):
            row = _row(system["by_projectivity"], key)
            if row is not None:
                rows.append(
                    [system["name"], key, row["gold"], row["system"], row["precision"], row["recall"]]
                )
    table = report.table(
        ["system", "arcs", "in gold", "in system", "precision", "recall"], rows, text_columns=(1,)
    )
    return report.section("Projective and non-projective arcs", table)


def _labelled_f1(row: dict[str, Any]) -> float | None:
    precision, recall = row["labelled_precision"], row["labelled_recall"]
    if precision is None or recall is None:
        return 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _by_key(
    systems: list[Scores],
    title: str,
    where: str,
    name: str,
    measure: Callable[[dict[str, Any]], float | None],
    note: str,
) -> str:
    keys = sorted(
        {row["key"]: row["gold"] for s in systems for row in s[where]}.items(), key=lambda i: (-i[1], i[0])
    )
    tables = [{row["key"]: measure(row) for row in system[where]} for system in systems]
    rows = [[key, count, *(table.get(key) for table in tables)] for key, count in keys]
    header = [name, "in gold", *(system["name"] for system in systems)]
    return report.section(title, report.table(header, rows), note=f"{note}, most frequent first.")


def _confusions(systems: list[Scores]) -> str:
    parts = []
    for system in systems:
        labels = report.table(
            ["gold label", "given label", "words"],
            [[row["gold"], row["system"], row["count"]] for row in system["label_confusions"]],
            text_columns=(1,),
        )
        heads = report.table(
            ["word", "gold head", "given head", "words"],
            [[r["upos"], r["gold_head"], r["system_head"], r["count"]] for r in system["head_confusions"]],
            text_columns=(1, 2),
        )
        parts.append(
            report.details(
                f"{system['name']}: labels taken for others, and wrong heads by part of speech", labels, heads
            )
        )
    return report.section("Confusions", *parts)
