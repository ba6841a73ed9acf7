"""The table of the loss study as Markdown and as a page."""

from __future__ import annotations

from typing import Any

from covington.display import report
from covington.display.plots import Series, bar_plot
from covington.study.bounds import BOUNDS, average

TITLE = "Bounds and exact loss"
HEADER = (
    *("Treebank", "lower", "loss", "pc-upper", "upper"),
    *("lower: rel. diff.", "pc-upper: rel. diff.", "upper: rel. diff."),
)
HOW_TO_READ = (
    "Average value of the three loss expressions and of the exact loss, and average relative difference "
    "|bound − loss| / loss, over the configurations met in training. The bound that is closer to the loss is "
    "marked, lower against pc-upper."
)


def rows_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result["treebanks"]
    return [*rows, average(rows)] if len(rows) > 1 else rows


def cells(row: dict[str, Any]) -> list[str]:
    """Five decimals, as in the paper: the differences are small."""
    values = [row["lower"], row["loss"], row["pc_upper"], row["upper"]]
    return [row["name"], *(f"{v:.5f}" for v in (*values, *(row["relative_difference"][b] for b in BOUNDS)))]


def closer(row: dict[str, Any]) -> list[int]:
    """The columns of the bound that is closer to the loss; both where they are equally close."""
    columns = []
    for *distances, places in (
        (abs(row["lower"] - row["loss"]), abs(row["pc_upper"] - row["loss"]), (1, 3)),
        (row["relative_difference"]["lower"], row["relative_difference"]["pc_upper"], (5, 6)),
    ):
        # means of as many transitions as anyone looks at differ by more, if they differ at all
        lower, pc_upper = (round(distance, 9) for distance in distances)
        columns += [places[0]] * (lower <= pc_upper) + [places[1]] * (pc_upper <= lower)
    return columns


def remarks(result: dict[str, Any]) -> list[str]:
    """What one has to know about the numbers: how they were made, and where one is missing."""
    options = result["options"]
    lines = [
        f"Root {options['root']}, oracle {options['oracle']}, templates {options['templates']}, seed "
        f"{options['seed']}; wrong predictions followed with probability {options['explore']:g} from epoch "
        f"{options['explore_from']} on."
    ]
    for row in result["treebanks"]:
        line = (
            f"{row['name']}: {row['transitions']:,} transitions; {row['searched']:,} losses needed a search, of at "
            f"most {row['most_nodes']:,} configurations; {row['seconds']:.1f} s."
        )
        if row["not_known"]:
            line += (
                f" The loss of {row['not_known']:,} configurations was not found within "
                f"{result['node_limit']:,} configurations; they are left out of every average."
            )
        left_out = row["without_relative_difference"]["upper"]
        if left_out:
            line += f" Loss 0 but upper above 0: {left_out:,} times, left out of the relative differences."
        if not row["in_order"]:
            line += " Not everywhere lower ≤ loss ≤ pc-upper ≤ upper"
            line += (
                ": with an implicit root a gold root arc can come back."
                if options["root"] == "implicit"
                else "!"
            )
        lines.append(line)
    return lines


def as_markdown(result: dict[str, Any]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---" + "|---:" * (len(HEADER) - 1) + "|"]
    for row in rows_of(result):
        marked = closer(row)
        texts = [f"**{cell}**" if column in marked else cell for column, cell in enumerate(cells(row))]
        lines.append("| " + " | ".join(texts) + " |")
    return "\n".join([*lines, "", *remarks(result)]) + "\n"


def as_html(result: dict[str, Any]) -> str:
    rows = rows_of(result)
    best = [(number, column) for number, row in enumerate(rows) for column in closer(row)]
    body = [
        report.section("Table", report.table(HEADER, map(cells, rows), best=best), note=HOW_TO_READ),
        report.section("How it was made", *map(report.paragraph, remarks(result))),
    ]
    named = []
    for row in result["treebanks"]:
        by_loss = row["by_loss"]
        losses = [entry["loss"] for entry in by_loss]
        share = [100 * entry["configurations"] / row["transitions"] for entry in by_loss]
        named.append(
            (
                f"{row['name']}: configurations by loss",
                bar_plot(
                    [Series("share", share)], losses, x_label="exact loss", y_label="% of configurations"
                ),
            )
        )
        series = [Series(bound.replace("_", "-"), [entry[bound] for entry in by_loss]) for bound in BOUNDS]
        named.append(
            (
                f"{row['name']}: distance of the bounds by loss",
                bar_plot(series, losses, x_label="exact loss", y_label="mean |bound − loss|"),
            )
        )
    body.append(report.section("Where the bounds differ", report.plots(named)))
    return report.page(TITLE, "lower ≤ loss ≤ pc-upper ≤ upper, on configurations met in training", body)
