"""Every fault, one test each; `make faults` writes what they return to docs/faults.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import inputs, places, workers
from tests.faults.bench import Bench, CannotBeDoneError, Row

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "fault", [*inputs.FAULTS, *workers.FAULTS, *places.FAULTS], ids=lambda fault: fault.__name__
)
def test_nothing_is_lost(fault: Callable[[Bench], Row], small_model: str, tmp_path: Path) -> None:
    try:
        row = fault(Bench(tmp_path / "bench", small_model))
    except CannotBeDoneError as error:
        pytest.skip(str(error))
    assert row.lost == "nothing"
    print(row)
