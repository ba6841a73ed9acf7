"""Starts and stops what an engine is made of: a job server, a JobManager, TaskManagers, pools of workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.engines.fetch import ADD_OPENS, Engine

JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
# little memory, and no time spent on code that runs for seconds only
JAVA = (
    "java",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    *(f"--add-opens={one}=ALL-UNNAMED" for one in ADD_OPENS),
)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        return int(free.getsockname()[1])


def wait_until(condition: Callable[[], object], what: str, seconds: float = 400) -> None:
    """Look again and again; what is waited for is named when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.05)


class Process:
    """A program that leads a session of its own, with a log; killed with all its children."""

    def __init__(self, command: Sequence[str | Path], log: Path, more: dict[str, str] | None = None) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdout=output,
                stderr=output,
                cwd=log.parent,  # and not where the source is: workers shall import what is installed
                env=os.environ | (more or {}),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        def look() -> object:
            if not self.is_alive():
                raise RuntimeError(f"{what}: the process ended, see its log: {self.log.read_text()[-2000:]}")
            return condition()

        wait_until(look, what)


class Pool(Process):
    """Workers of one environment, at an address of this machine."""

    def __init__(self, python: Path, address: str, log: Path) -> None:
        script = Path(__file__).with_name("pool.py")
        # the pool starts `python` from its PATH
        super().__init__((python, script, address), log, {"PATH": f"{python.parent}:{os.environ['PATH']}"})
        self.address = address
        self.wait_for(lambda: answers(address), f"the pool at {address}")


def answers(address: str) -> bool:
    """Whether somebody listens at an address."""
    host, _, port = address.partition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


class JobServer(Process):
    """Beam's job server for an engine."""

    def __init__(self, engine: Engine, folder: Path, *options: str) -> None:
        self.address = f"localhost:{free_port()}"
        here = ("--job-host=localhost", f"--job-port={self.address.partition(':')[2]}")
        more = ("--artifact-port=0", "--expansion-port=0", f"--artifacts-dir={folder / 'artifacts'}")
        command = (*JAVA, "-Xmx1g", "-cp", engine.classpath, engine.job_server, *here, *more, *options)
        super().__init__(command, folder / "job-server.log")
        self.wait_for(lambda: answers(self.address), "the job server")


class Cluster:
    """A JobManager and two TaskManagers, each with a pool of workers beside it, as on two machines.

    The pools have one name and one port, as they would on two machines; each TaskManager has a table of hosts of
    its own, in which that name is another address of this machine.
    """

    def __init__(self, flink: Engine, python: Path, folder: Path) -> None:
        self._flink, self._python, self._folder = flink, python, folder
        self.rest, self._pool_port = free_port(), free_port()
        self._configure()
        self._job_manager = self._java(JOB_MANAGER, "job-manager", "-Xmx512m")
        self._task_managers: dict[int, Process] = {}
        self._pools: dict[int, Pool] = {}
        for number in (1, 2):
            self.start_pool(number)
            self.start_task_manager(number)
        self.wait_for_task_managers(2)

    @property
    def external(self) -> tuple[str, ...]:
        """The options of a job whose workers come from the pools."""
        return ("--environment_type=EXTERNAL", f"--environment_config=workers:{self._pool_port}")

    @property
    def master(self) -> str:
        return f"--flink_master=localhost:{self.rest}"

    def start_task_manager(self, number: int) -> None:
        hosts = self._folder / f"hosts-{number}"
        names = ("127.0.0.1 localhost", f"127.0.0.1 {socket.gethostname()}", f"127.0.0.{number} workers")
        hosts.write_text("\n".join(names) + "\n")
        memory = ("-Xmx384m", "-XX:MaxDirectMemorySize=320m", f"-Djdk.net.hosts.file={hosts}")
        self._task_managers[number] = self._java(TASK_MANAGER, f"task-manager-{number}", *memory)

    def kill_task_manager(self, number: int) -> None:
        """A lost machine: the TaskManager and its workers are gone at once."""
        self._task_managers.pop(number).kill()
        self.kill_pool(number)

    def start_pool(self, number: int) -> None:
        address = f"127.0.0.{number}:{self._pool_port}"
        self._pools[number] = Pool(self._python, address, self._folder / f"pool-{number}.log")

    def kill_pool(self, number: int) -> None:
        self._pools.pop(number).kill()

    def mend(self) -> None:
        """Start again what was killed."""
        for number in (1, 2):
            if number not in self._pools:
                self.start_pool(number)
            if number not in self._task_managers:
                self.start_task_manager(number)
        self.wait_for_task_managers(2)

    def wait_for_task_managers(self, count: int) -> None:
        wait_until(lambda: self.overview().get("taskmanagers") == count, f"{count} TaskManagers")

    def overview(self) -> dict[str, Any]:
        address = f"http://localhost:{self.rest}/overview"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            return dict(json.load(answer))
        return {}

    def jobs(self) -> dict[str, str]:
        """The state of every job that the cluster knows."""
        with urllib.request.urlopen(f"http://localhost:{self.rest}/jobs", timeout=20) as answer:
            return {job["id"]: job["status"] for job in json.load(answer)["jobs"]}

    def stop(self) -> None:
        for process in (*self._task_managers.values(), *self._pools.values(), self._job_manager):
            process.kill()

    def _java(self, main: str, name: str, *options: str) -> Process:
        command = (*JAVA, *options, "-cp", self._flink.classpath, main, "--configDir", self._folder / "conf")
        return Process(command, self._folder / f"{name}.log")

    def _configure(self) -> None:
        (self._folder / "conf").mkdir(parents=True)
        (self._folder / "tmp").mkdir()
        settings = {
            "jobmanager.rpc.address": "localhost",
            "jobmanager.rpc.port": free_port(),
            "jobmanager.bind-host": "localhost",
            "rest.address": "localhost",
            "rest.bind-address": "localhost",
            "rest.port": self.rest,
            "io.tmp.dirs": self._folder / "tmp",
            # a lost TaskManager is noticed by its closed connections at once, and its work is done again by the other
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 30,
            "restart-strategy.fixed-delay.delay": "1 s",
            "heartbeat.interval": 1000,
            "heartbeat.timeout": 30000,
            "slot.request.timeout": 120000,
            "classloader.resolve-order": "parent-first",
            "taskmanager.host": "localhost",
            "taskmanager.bind-host": "localhost",
            "taskmanager.numberOfTaskSlots": 2,  # so that one alone can go on with the work of both
            "cluster.evenly-spread-out-slots": "true",
            # what Flink's start script works out from the memory of the machine
            "taskmanager.cpu.cores": 1.0,
            "taskmanager.memory.framework.heap.size": "128m",
            "taskmanager.memory.framework.off-heap.size": "128m",
            "taskmanager.memory.task.heap.size": "256m",
            "taskmanager.memory.task.off-heap.size": "0m",
            "taskmanager.memory.network.min": "64m",
            "taskmanager.memory.network.max": "64m",
            "taskmanager.memory.managed.size": "128m",
            "taskmanager.memory.jvm-metaspace.size": "256m",
            "taskmanager.memory.jvm-overhead.min": "128m",
            "taskmanager.memory.jvm-overhead.max": "128m",
        }
        lines = "".join(f"{key}: {value}\n" for key, value in settings.items())
        for name in ("config.yaml", "flink-conf.yaml"):  # the name changed with Flink 1.19
            (self._folder / "conf" / name).write_text(lines)
