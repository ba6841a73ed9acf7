"""A small model, a corpus with good and bad sentences, and the servers of Beam's portable runner."""

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

from covington import models
from covington.engine.epochs import Training
from covington.model.options import TrainingOptions

SAMPLE = str(models.sample())


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a model trained on the sample."""
    path = str(tmp_path_factory.mktemp("model") / "small.covington")
    Training((SAMPLE,), path, options=TrainingOptions(epochs=3)).run_plain(lambda record: None)
    return path


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three files: 40 times the sample, one compressed, one with bad sentences in it."""
    import gzip

    folder = tmp_path_factory.mktemp("corpus")
    text = Path(SAMPLE).read_bytes()
    (folder / "a.conllu").write_bytes(text * 40)
    (folder / "b.conllu.gz").write_bytes(gzip.compress(text * 3, mtime=0))
    (folder / "c.conllu").write_bytes(with_bad_sentences(text))
    return folder


def with_bad_sentences(text: bytes) -> bytes:
    """A bad sentence after every tenth good one, and some more blank lines than needed."""
    sentences = text.strip().split(b"\n\n")
    parts = []
    for number, sentence in enumerate(sentences):
        parts.append(sentence)
        if number % 10 == 9:
            parts.append(b"# sent_id = bad-%d\n1\tno\ttabs" % number)
        if number == 20:
            parts[-1] += b"\n \n"
    return b"\n\n".join(parts) + b"\n"


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
