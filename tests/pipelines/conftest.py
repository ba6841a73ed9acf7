"""The servers of Beam's portable runner."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def job_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Beam's Python job service, run as a process of its own."""
    with served(
        "apache_beam.runners.portability.local_job_service_main", "--port", tmp_path_factory
    ) as address:
        yield address


@pytest.fixture(scope="session")
def worker_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an external pool of workers."""
    with served("apache_beam.runners.worker.worker_pool_main", "--service_port", tmp_path_factory) as address:
        yield address


@contextlib.contextmanager
def served(module: str, option: str, folders: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    log = folders.mktemp("server") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, option, str(port)],
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            start_new_session=True,
        )
    try:
        wait_for(port, process, log)
        yield f"localhost:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal_group(process, signal.SIGKILL)
        process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("localhost", port), timeout=1):
            return
        assert process.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"nobody answers at port {port}: {log.read_text()}")


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a process that leads a session of its own, with all its children."""
    os.killpg(process.pid, number)
