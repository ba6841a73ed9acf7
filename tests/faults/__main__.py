"""Makes every fault, one after the other, and writes the table of docs/faults.md.

make faults
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from covington.engine.epochs import Training
from covington.model.options import TrainingOptions
from tests.engines import fetch
from tests.faults import engines, inputs, places, workers
from tests.faults.bench import Bench, CannotBeDoneError, Row
from tests.support.sample import SAMPLE

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
BEGIN, END = "<!-- faults: `make faults` writes from here -->", "<!-- to here -->"
HEAD = ("| fault | what happened | lost | sentences |", "|---|---|---|---|")


def small_model(folder: Path, name: str = "small.covington", epochs: int = 3) -> str:
    """A model trained on the sample."""
    work = Training((SAMPLE,), str(folder / name), options=TrainingOptions(epochs=epochs))
    work.run_plain(lambda record: None)
    return work.model


def rows(folder: Path, names: Sequence[str]) -> Iterator[Row]:
    """Make the faults; one that cannot be made here gives a row that says so."""
    model = small_model(folder)
    number = 0
    for fault in (*inputs.FAULTS, *workers.FAULTS, *places.FAULTS):
        if names and fault.__name__ not in names:
            continue
        number += 1
        try:
            yield fault(Bench(folder / str(number), model))
        except CannotBeDoneError as error:
            yield Row(fault.__name__.replace("_", " "), f"not tried: {error}", "", "")
    of_flink = [fault for fault in engines.FAULTS if not names or fault.__name__ in names]
    if not of_flink:
        return
    try:
        engine = engines.Engine(folder / "engine")
    except fetch.UnavailableError as error:
        yield Row("faults of a Flink cluster", f"not tried: {error}", "", "")
        return
    try:
        for of_engine in of_flink:
            number += 1
            yield of_engine(Bench(folder / str(number), model), engine)
    finally:
        engine.stop()


def main(names: Sequence[str]) -> int:
    if not names:
        write({})
    with tempfile.TemporaryDirectory(prefix="covington-faults-") as folder:
        for row in rows(Path(folder), names):
            line = f"| {row.fault} | {row.happened} | {row.lost} | {row.counts} |"
            print(line, flush=True)
            write(known() | {row.fault: line})
    return 0


def known() -> dict[str, str]:
    """The rows that the page has, by their fault."""
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in table.splitlines() if line.startswith("| ") and line != HEAD[0]]
    return {line[2:].partition(" | ")[0]: line for line in lines}


def write(table: dict[str, str]) -> None:
    """Put rows into the page, between the marks."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *HEAD, *table.values(), "", END + after]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
