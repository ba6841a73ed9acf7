"""On Apache Flink, embedded and on a cluster of two TaskManagers: rows and models are those of this process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from covington.commands.cli import main
from covington.pipelines import Runner
from tests.engines.fetch import Engine
from tests.engines.jobs import Jobs
from tests.engines.servers import Cluster, wait_until
from tests.support.folders import files
from tests.support.sample import SAMPLE

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


@pytest.mark.parametrize(
    "numbers", [[signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM], [signal.SIGKILL]], ids=str
)
def test_the_job_server_that_the_command_has_started_ends_with_it(
    numbers: list[signal.Signals], jobs: Jobs, flink: Engine, tmp_path: Path
) -> None:
    options = ("--runner", "FlinkRunner", "--flink_job_server_jar", str(flink.job_server_jar))
    with started(jobs, tmp_path, *options, "--parallelism", "1") as command:
        server = [one for two in children(command.pid) for one in children(two)]
        assert [name_of(one) for one in server] == ["java"]
        for number in numbers:
            command.send_signal(number)
            time.sleep(0.2)
        assert command.stderr is not None
        told = command.stderr.read()
    if signal.SIGTERM in numbers:
        assert (command.returncode, told) == (128 + signal.SIGTERM, "covington: stopped\n")
    wait_until(lambda: not name_of(server[0]), "the end of the job server", 20)


SUBMITTED = ["own job server", "job server"]


@pytest.mark.parametrize("submitted", SUBMITTED)
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=str
)
def test_a_job_on_the_cluster_is_cancelled_with_the_command(
    number: signal.Signals,
    submitted: str,
    jobs: Jobs,
    flink: Engine,
    job_server: str,
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    """Flink itself says that it has ended. The jar of the tests is too thin for --flink_submit_uber_jar."""
    before = cluster.jobs()
    options = ["--runner", "FlinkRunner", cluster.master, "--parallelism", "1", *cluster.external]
    if submitted == "job server":
        options += ["--job_endpoint", job_server]
    else:
        options += ["--flink_job_server_jar", str(flink.job_server_jar)]
    with started(jobs, tmp_path, *options) as command:
        [job] = cluster.jobs().keys() - before.keys()
        assert cluster.jobs()[job] == "RUNNING"
        command.send_signal(number)
        assert command.stderr is not None
        assert command.stderr.read() == "covington: stopped\n"
    assert command.returncode == 128 + number
    assert cluster.jobs() == before | {job: "CANCELED"}


def test_a_job_that_cannot_be_cancelled_is_said_to_go_on(
    jobs: Jobs, job_server: str, cluster: Cluster, worker_pool: str, tmp_path: Path
) -> None:
    """Where nobody knows Flink's address: the job runs inside a job server that somebody else has started."""
    workers = ("--environment_type=EXTERNAL", f"--environment_config={worker_pool}")
    options = ("--runner=FlinkRunner", f"--job_endpoint={job_server}", "--flink_master=[local]", *workers)
    with started(jobs, tmp_path, *options, "--parallelism=1") as command:
        command.send_signal(signal.SIGTERM)
        assert command.stderr is not None
        told = command.stderr.read()
    assert (command.returncode, "may go on where it runs" in told) == (128 + signal.SIGTERM, True)


@contextlib.contextmanager
def started(jobs: Jobs, folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The command, with enough to do, when its first shard is done."""
    big = folder / "big.conllu"
    big.write_bytes(Path(SAMPLE).read_bytes() * 5000)  # 91 MB
    # where this process ignores Ctrl-C, as one in the background does, the command must heed it all the same
    heeding = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        " from covington.commands.cli import main; sys.exit(main())"
    )
    call = [sys.executable, "-c", heeding, "parse", str(big), "-o", str(folder / "out")]
    call += ["--model", jobs.model, *options]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True) as command:
        try:
            work = folder / "out" / "_work"
            wait_until(lambda: command.poll() is not None or [*work.glob("done-*")], "the first shard")
            assert command.poll() is None
            yield command
        finally:
            command.kill()


def children(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(one) for path in found for one in path.read_text().split()]


def name_of(process: int) -> str:
    """The name of a program that runs, or nothing."""
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text()
        if state.rpartition(")")[2].split()[0] != "Z":
            return state[state.index("(") + 1 : state.rindex(")")]
    return ""


def test_bad_data_is_one_sentence_there_too(jobs: Jobs, job_server: str, tmp_path: Path) -> None:
    from covington.errors import CovingtonError
    from covington.pipelines import ParseJob

    runner = on_flink(job_server, "--flink_master=[local]", "--parallelism=1", "--environment_type=LOOPBACK")
    with pytest.raises(CovingtonError, match=r"c\.conllu:\d+: sentence bad-\d") as caught:
        ParseJob([jobs.corpus], str(tmp_path / "out"), jobs.model, strict=True).run(runner)
    assert len(str(caught.value).splitlines()) == 1
