"""On Apache Flink, embedded and on a cluster of two TaskManagers: rows and models are those of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from covington.commands.cli import main
from covington.pipelines import Runner
from tests.engines.fetch import Engine
from tests.engines.jobs import Jobs
from tests.engines.servers import Cluster
from tests.pipelines.test_parse import files

pytestmark = [
    pytest.mark.engines,
    # Beam's worker threads complain when the job is over and the engine hangs up
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
JOBS = ("parse", "train", "evaluate")


def mostly(first: str) -> list[object]:
    """One job for every change; the others when there is time, with `make test-flink FULL=1`."""
    return [first, *(pytest.param(job, marks=pytest.mark.slow) for job in JOBS if job != first)]


def on_flink(job_server: str, *flags: str) -> Runner:
    return Runner(("--runner=FlinkRunner", f"--job_endpoint={job_server}", *flags))


@pytest.mark.parametrize("job", JOBS)
def test_embedded_with_workers_in_the_submitting_process(
    job: str, jobs: Jobs, expected: dict[str, Any], job_server: str, tmp_path: Path
) -> None:
    runner = on_flink(job_server, "--flink_master=[local]", "--parallelism=2", "--environment_type=LOOPBACK")
    assert getattr(jobs, job)(runner, tmp_path) == expected[job]


@pytest.mark.parametrize("job", mostly("parse"))
def test_embedded_with_a_pool_of_workers_from_the_wheel(
    job: str, jobs: Jobs, expected: dict[str, Any], job_server: str, worker_pool: str, tmp_path: Path
) -> None:
    workers = ("--environment_type=EXTERNAL", f"--environment_config={worker_pool}")
    runner = on_flink(job_server, "--flink_master=[local]", "--parallelism=2", *workers)
    assert getattr(jobs, job)(runner, tmp_path) == expected[job]


@pytest.mark.parametrize("job", JOBS)
def test_two_task_managers_with_pools_of_workers_from_the_wheel(
    job: str, jobs: Jobs, expected: dict[str, Any], job_server: str, cluster: Cluster, tmp_path: Path
) -> None:
    runner = on_flink(job_server, cluster.master, "--parallelism=2", *cluster.external)
    assert getattr(jobs, job)(runner, tmp_path) == expected[job]


@pytest.mark.parametrize("job", mostly("train"))
def test_the_cluster_with_workers_in_the_submitting_process(
    job: str, jobs: Jobs, expected: dict[str, Any], job_server: str, cluster: Cluster, tmp_path: Path
) -> None:
    # one slot: workers of two TaskManagers in one process get in each other's way, see docs/runners/flink.md
    runner = on_flink(job_server, cluster.master, "--parallelism=1", "--environment_type=LOOPBACK")
    assert getattr(jobs, job)(runner, tmp_path) == expected[job]


def test_the_command_starts_flink_by_itself(
    jobs: Jobs, flink: Engine, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    call = ["parse", jobs.corpus, "--model", jobs.model]
    on = [
        "--runner",
        "FlinkRunner",
        "--flink_job_server_jar",
        str(flink.job_server_jar),
        "--parallelism",
        "2",
    ]
    assert main([*call, "-o", str(tmp_path / "flink"), *on]) == 0
    assert main([*call, "-o", str(tmp_path / "here")]) == 0
    assert files(tmp_path / "flink") == files(tmp_path / "here")
    assert "1,848 sentences" in capfd.readouterr().err


def test_bad_data_is_one_sentence_there_too(jobs: Jobs, job_server: str, tmp_path: Path) -> None:
    from covington.errors import CovingtonError
    from covington.pipelines import ParseJob

    runner = on_flink(job_server, "--flink_master=[local]", "--parallelism=1", "--environment_type=LOOPBACK")
    with pytest.raises(CovingtonError, match=r"c\.conllu:\d+: sentence bad-\d") as caught:
        ParseJob([jobs.corpus], str(tmp_path / "out"), jobs.model, strict=True).run(runner)
    assert len(str(caught.value).splitlines()) == 1
