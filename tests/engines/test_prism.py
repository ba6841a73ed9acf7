"""On Prism, Beam's local runner in Go: rows and models are those of this process."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from covington.pipelines import Runner
from tests.engines import fetch
from tests.engines.conftest import had
from tests.engines.jobs import Jobs

pytestmark = [
    pytest.mark.engines,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(scope="session")
def prism() -> Path:
    # at the end of the process it tells of what it ends, when nobody listens any longer
    logging.getLogger("apache_beam.utils.subprocess_server").setLevel(logging.ERROR)
    return had(fetch.prism)


@pytest.mark.parametrize("job", ["parse", "train", "evaluate"])
@pytest.mark.parametrize("environment", ["LOOPBACK", "EXTERNAL"])
def test_rows_and_models_are_the_same(
    job: str,
    environment: str,
    jobs: Jobs,
    expected: dict[str, Any],
    prism: Path,
    worker_pool: str,
    tmp_path: Path,
) -> None:
    flags = ("--runner=PrismRunner", f"--prism_location={prism}", f"--environment_type={environment}")
    workers = (f"--environment_config={worker_pool}",) if environment == "EXTERNAL" else ()
    assert getattr(jobs, job)(Runner((*flags, *workers)), tmp_path) == expected[job]
