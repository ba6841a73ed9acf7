"""The engines, started once for all tests; a test whose engine cannot be had is skipped and says why."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.engines import fetch
from tests.engines.jobs import HERE, Jobs
from tests.engines.servers import Cluster, JobServer, Pool, free_port

Found = TypeVar("Found")


def had(get: Callable[[], Found]) -> Found:
    try:
        return get()
    except fetch.UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def jobs(corpus: Path, small_model: str) -> Jobs:
    return Jobs(str(corpus), small_model)


@pytest.fixture(scope="session")
def expected(jobs: Jobs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the jobs give in this process."""
    folder = tmp_path_factory.mktemp("expected")
    return {
        "parse": jobs.parse(HERE, folder / "parsed"),
        "train": jobs.train(HERE, folder),
        "evaluate": jobs.evaluate(HERE, folder),
    }


@pytest.fixture(scope="session")
def worker_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that knows covington from a wheel only."""
    python = fetch.wheel()
    found = subprocess.run(
        (python, "-c", "import covington; print(covington.__file__)"),
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(python.parents[1])
    return python


@pytest.fixture(scope="session")
def worker_pool(worker_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a pool of workers that runs from the wheel."""
    pool = Pool(worker_python, f"127.0.0.1:{free_port()}", tmp_path_factory.mktemp("pool") / "log")
    yield pool.address
    pool.kill()


@pytest.fixture(scope="session")
def flink() -> fetch.Engine:
    return had(fetch.flink)


@pytest.fixture(scope="session")
def job_server(flink: fetch.Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Beam's job server for Flink."""
    server = JobServer(flink, tmp_path_factory.mktemp("job-server"))
    yield server.address
    server.kill()


@pytest.fixture(scope="session")
def cluster(
    flink: fetch.Engine, worker_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A stand-alone cluster of two TaskManagers."""
    started = Cluster(flink, worker_python, tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()
