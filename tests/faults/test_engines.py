"""Every fault of a Flink cluster, one test each; run by `make test-flink FULL=1`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines import fetch
from tests.faults.bench import Bench, Row
from tests.faults.engines import FAULTS, Engine

pytestmark = [pytest.mark.engines, pytest.mark.slow]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    try:
        started = Engine(tmp_path_factory.mktemp("engine"))
    except fetch.UnavailableError as error:
        pytest.skip(str(error))
    yield started
    started.stop()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_nothing_is_lost(
    fault: Callable[[Bench, Engine], Row], engine: Engine, small_model: str, tmp_path: Path
) -> None:
    row = fault(Bench(tmp_path / "bench", small_model), engine)
    assert row.lost == "nothing"
    print(row)
