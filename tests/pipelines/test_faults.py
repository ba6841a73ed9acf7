"""kill -9 in the middle: nothing lost, nothing doubled, nothing half under a final name, and it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.pipelines.conftest import SAMPLE, signal_group
from tests.pipelines.test_parse import files

pytestmark = pytest.mark.slow
PROCESSES = ("--direct_running_mode", "multi_processing", "--direct_num_workers", "2")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dozen files, each of which takes a moment."""
    folder = tmp_path_factory.mktemp("large")
    text = Path(SAMPLE).read_bytes() * 80
    for number in range(24):
        (folder / f"{number:02d}.conllu").write_bytes(text)
    return folder


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "covington", *(str(argument) for argument in arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    for _ in range(12000):
        if condition():
            return
        assert process.poll() is None, f"it ended too soon: {process.communicate()[1].decode()}"
        time.sleep(0.02)
    raise AssertionError("it never came so far")


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The worker processes of a command."""
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid,sid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    return [
        int(pid)
        for pid, session, args in rows
        if int(session) == process.pid and "sdk_worker_main" in args and "sh -c" not in args
    ]


def whole_shards(folder: Path) -> int:
    """The number of shards under their final name; every one of them can be read."""
    paths = sorted(folder.glob("shard-*"))
    for path in paths:
        assert pq.read_table(path).num_rows == 42 * 80
    return len(paths)


@pytest.fixture(scope="module")
def expected(large: Path, small_model: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected") / "out"
    assert start("parse", large, "-o", folder, "--model", small_model).wait() == 0
    return files(folder)


@pytest.mark.parametrize("options", [(), PROCESSES])
def test_a_parse_job_that_is_killed_goes_on(
    options: tuple[str, ...], large: Path, small_model: str, expected: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    call = ("parse", large, "-o", folder, "--model", small_model, *options)
    process = start(*call)
    wait_until(lambda: len(list(folder.glob("shard-*"))) >= 1, process)
    signal_group(process, signal.SIGKILL)
    process.wait()
    done = whole_shards(folder)
    assert 1 <= done < 24
    assert not (folder / "_summary.json").exists()
    times = {path: path.stat().st_mtime_ns for path in folder.glob("shard-*")}
    assert start(*call).wait() == 0
    assert files(folder) == expected
    kept = sum(path.stat().st_mtime_ns == at for path, at in times.items())
    assert kept >= done - 4  # those that were written but not yet marked are written again


def test_a_parse_job_that_loses_a_worker_says_so_and_goes_on(
    large: Path, small_model: str, expected: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    call = ("parse", large, "-o", folder, "--model", small_model, *PROCESSES)
    process = start(*call)
    wait_until(lambda: len(children(process)) == 2, process)
    workers = children(process)
    wait_until(lambda: len(list(folder.glob("shard-*"))) >= 1, process)
    os.kill(workers[0], signal.SIGKILL)
    errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert errors.startswith("covington: a worker process ended") and len(errors.splitlines()) == 1
    whole_shards(folder)
    wait_until_gone(process)
    assert start(*call).wait() == 0
    assert files(folder) == expected


@pytest.mark.parametrize("victim", ["job", "worker"])
def test_a_training_that_is_killed_goes_on_to_the_same_bytes(victim: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.conllu"
    corpus.write_bytes(Path(SAMPLE).read_bytes() * 40)
    call = ("train", corpus, "--epochs", "6", "--shards", "3", "--dev", SAMPLE, *PROCESSES)
    assert start(*call, "-o", tmp_path / "whole").wait() == 0
    process = start(*call, "-o", tmp_path / "half")
    wait_until(lambda: len(children(process)) == 2, process)
    workers = children(process)
    wait_until((tmp_path / "half.training" / "epoch-00002.json").exists, process)
    if victim == "job":
        signal_group(process, signal.SIGKILL)
        process.wait()
    else:
        os.kill(workers[0], signal.SIGKILL)
        assert b"a worker process ended" in process.communicate(timeout=60)[1]
        wait_until_gone(process)
    assert not (tmp_path / "half").exists()
    again = start(*call, "-o", tmp_path / "half")
    assert again.communicate()[1].decode().startswith("epoch 1 ")
    assert again.returncode == 0
    assert (tmp_path / "half").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "half.training").exists()


def wait_until_gone(process: subprocess.Popen[bytes]) -> None:
    """The workers that are left end by themselves when the job is over."""
    for _ in range(300):
        if not children(process):
            return
        time.sleep(0.1)
    raise AssertionError("workers were left behind")
