"""On Apache Spark, embedded in the job server: rows and models are those of this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from covington.pipelines import Runner
from tests.engines import fetch
from tests.engines.conftest import had
from tests.engines.jobs import Jobs
from tests.engines.servers import JobServer

pytestmark = [
    pytest.mark.engines,
    # Beam's worker threads complain when the job is over and the engine hangs up
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Beam's job server for Spark."""
    server = JobServer(had(fetch.spark), tmp_path_factory.mktemp("spark"), "--spark-master-url=local[2]")
    yield server.address
    server.kill()


@pytest.mark.parametrize("job", ["parse", "train", "evaluate"])
@pytest.mark.parametrize("environment", ["LOOPBACK", "EXTERNAL"])
def test_rows_and_models_are_the_same(
    job: str,
    environment: str,
    jobs: Jobs,
    expected: dict[str, Any],
    spark: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    flags = ["--runner=SparkRunner", f"--job_endpoint={spark}", f"--environment_type={environment}"]
    if environment == "EXTERNAL":
        flags.append(f"--environment_config={request.getfixturevalue('worker_pool')}")
    assert getattr(jobs, job)(Runner(tuple(flags)), tmp_path_factory.mktemp(job)) == expected[job]
