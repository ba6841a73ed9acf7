"""Jobs end quietly, also where a part of them ends later than the job, and soon after their work is done."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions
from apache_beam.runners.worker import statesampler
from apache_beam.runners.worker.sdk_worker import SdkHarness

from covington.base import signals
from covington.base.signals import StoppedError
from covington.errors import JobError, OptionError
from covington.pipelines import ending as ending_module
from covington.pipelines import ends_with_parent, runner
from covington.pipelines.ending import ending
from covington.pipelines.runner import Runner

release = threading.Event()
late: list[threading.Thread] = []
periods: list[int] = []
meanwhile: list[int] = []


def _fail_late() -> None:
    release.wait()
    raise RuntimeError("too late")


def _leave_behind(_: int) -> None:
    late.append(threading.Thread(target=_fail_late))
    late[-1].start()
    raise ValueError("no good")


def _ask_for_period(_: int) -> None:
    periods.append(statesampler.get_current_tracker().sampling_period_ms)


def _ask_for_level(_: int) -> None:
    meanwhile.append(logging.getLogger("host").getEffectiveLevel())


def _fail() -> None:
    raise RuntimeError("too late")


@pytest.mark.parametrize("threads", [1, 2])
def test_what_fails_after_the_job_says_nothing(threads: int, capfd: pytest.CaptureFixture[str]) -> None:
    release.clear()
    with pytest.raises(JobError, match="no good"):
        Runner(threads=threads).run(lambda pipeline: pipeline | beam.Create([1]) | beam.Map(_leave_behind))
    release.set()
    while late:
        late.pop().join()
    harness = SimpleNamespace(_responses=queue.Queue())
    SdkHarness._execute(harness, _fail, SimpleNamespace(instruction_id="1"))
    assert "too late" in harness._responses.get().error
    assert capfd.readouterr().err == ""


OTHER_THREAD = """
import threading
import apache_beam as beam
from covington.pipelines.runner import Runner

def fail():
    raise RuntimeError("heard")

Runner(threads=1).run(lambda pipeline: pipeline | beam.Create([1]))
thread = threading.Thread(target=fail)
thread.start()
thread.join()
"""


def test_other_threads_are_heard() -> None:
    done = subprocess.run([sys.executable, "-c", OTHER_THREAD], capture_output=True, text=True, check=True)
    assert "RuntimeError: heard" in done.stderr


def test_a_proxy_of_the_network_is_not_asked_for_this_machine() -> None:
    """gRPC would look for localhost behind it, and Beam would wait for a minute, in vain."""
    proxy = {
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "example.org",
    }
    program = """
import os
import apache_beam as beam
from covington.pipelines.runner import Runner

Runner(threads=2).run(lambda pipeline: pipeline | beam.Create([1]))
print(os.environ["no_grpc_proxy"])
"""
    others = {name: value for name, value in os.environ.items() if name != "no_grpc_proxy"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=others | proxy, capture_output=True, text=True, check=True)
    assert done.stdout == "example.org,localhost,127.0.0.1,::1\n"


@pytest.mark.parametrize(
    "name", ["DirectRunner", "direct", "Direct", "apache_beam.runners.DirectRunner", "fnapi"]
)
def test_all_names_of_the_local_runner_mean_it(name: str) -> None:
    assert Runner(("--runner", name)).is_local
    assert not Runner(("--runner", name))._is_elsewhere
    assert not Runner(("--runner", "Prism")).is_local
    assert not Runner(("--runner", "PrismRunner"))._is_elsewhere
    assert Runner(("--runner", "FlinkRunner"))._is_elsewhere


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--runner=FlinkRunner", "--environment_type=PROCESS"), "process_command"),
        (("--runner=PortableRunner", "--environment_type=EXTERNAL"), "external_service_address"),
        (("--type_check_additional=everything",), "type_check_additional|everything"),
    ],
)
def test_what_beam_itself_refuses_is_one_sentence(flags: tuple[str, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        Runner(flags).check()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["FlinkRunner", "SparkRunner"])
def test_beam_starts_its_job_server_by_the_launcher_and_the_properties_of_the_options(
    name: str, tmp_path: Path
) -> None:
    """What `_tie_job_server` relies on."""
    jar = tmp_path / "server.jar"
    jar.touch()
    kind = name.removesuffix("Runner").lower()
    given = ("--job_server_java_launcher=/opt/java", "--job_server_jvm_property=-Xmx1g")
    options = PipelineOptions([f"--{kind}_job_server_jar={jar}", *given])
    runner._tie_job_server(options)
    server = beam.runners.runner.create_runner(name).default_job_server(options)._job_server
    command, _ = server.subprocess_cmd_and_endpoint()
    script = [sys.executable, ends_with_parent.__file__, str(os.getpid()), "/opt/java", "-Xmx1g"]
    assert command[: len(script)] == script
    at = command.index("-jar")
    assert command[at + 1] == str(jar)
    assert all(word.startswith("-") for word in command[len(script) : at])


PARENT = """
import os, subprocess, sys
from covington.pipelines import ends_with_parent
script = [sys.executable, ends_with_parent.__file__, str(os.getpid())]
print("ready", flush=True)
sys.exit(subprocess.run([*script, *sys.argv[1:]]).returncode)
"""
CHILD = """
import os, signal, sys, time
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def _is_there(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("ignored", [[], ["SIGTERM", "SIGINT"]])
def test_a_program_that_is_tied_ends_with_its_parent(ignored: list[str]) -> None:
    call = [sys.executable, "-c", PARENT, sys.executable, "-c", CHILD, *ignored]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stderr is not None
        assert parent.stdout.readline() == "ready\n"
        child = int(parent.stdout.readline())
        assert _is_there(child)
        parent.kill()
        assert parent.stderr.read() == ""  # read to the end: nobody has it open any longer
    assert not _is_there(child)


def test_a_program_that_is_tied_ends_as_it_wants() -> None:
    call = [sys.executable, "-c", PARENT, "sh", "-c"]
    assert subprocess.run([*call, "exit 7"], stdout=subprocess.DEVNULL, check=False).returncode == 7
    assert subprocess.run([*call, "kill -9 $$"], stdout=subprocess.DEVNULL, check=False).returncode == 137


def test_what_flink_refuses_is_told_with_its_cause() -> None:
    """As Flink 1.19 answers where its port for files cannot be reached."""
    error = RuntimeError(
        "Pipeline covington-1_2 failed in state FAILED: org.apache.flink.runtime.rest.util.RestClientException:"
        " [org.apache.flink.runtime.rest.handler.RestHandlerException: Could not upload job files.\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        "Caused by: org.apache.flink.util.FlinkException: Could not upload job files.\n"
        "\tat org.apache.flink.runtime.client.ClientUtils.uploadJobGraphFiles(ClientUtils.java:86)\n"
        "\t... 10 more\n"
        "Caused by: java.io.IOException: Could not connect to BlobServer at address localhost/127.0.0.1:50999\n"
        "\tat org.apache.flink.runtime.blob.BlobClient.<init>(BlobClient.java:103)\n"
        "\t... 11 more\n"
        "Caused by: java.net.BindException: Permission denied\n"
        "\tat java.base/sun.nio.ch.Net.connect0(Native Method)\n"
        "\t... 13 more\n"
        "]"
    )
    assert str(runner.understood(error)) == (
        "the job failed: IOException: Could not connect to BlobServer at address localhost/127.0.0.1:50999:"
        " BindException: Permission denied (-v shows the whole story)"
    )


def test_the_logs_of_others_go_on() -> None:
    levels = {name: logging.getLogger(name).level for name in (None, "apache_beam", "host")}
    meanwhile.clear()
    Runner(threads=1).run(lambda pipeline: pipeline | beam.Create([1]) | beam.Map(_ask_for_level))
    assert meanwhile == [logging.getLogger("host").getEffectiveLevel()]
    assert {name: logging.getLogger(name).level for name in levels} == levels


@pytest.mark.parametrize(
    ("error", "cancelled"),
    [
        (KeyboardInterrupt(), True),
        (StoppedError(signal.SIGTERM), True),
        (StoppedError(signal.SIGHUP), False),
    ],
)
def test_a_job_elsewhere_is_cancelled_with_the_command(error: KeyboardInterrupt, cancelled: bool) -> None:
    """But goes on when the terminal closes."""
    told: list[bool] = []

    def wait() -> None:
        raise error

    result = SimpleNamespace(wait_until_finish=wait, cancel=lambda: told.append(True))
    pipeline: Any = SimpleNamespace(run=lambda: result)
    dataflow = ending(PipelineOptions(["--runner=DataflowRunner"]))
    for end in (dataflow, None):
        with pytest.raises(KeyboardInterrupt) as caught:
            runner._run(pipeline, end)
        assert signals.exit_code(caught.value) == signals.exit_code(error)
        assert getattr(caught.value, "goes_on", False) == (end is not None and not cancelled)
    assert told == [True] * cancelled


@pytest.mark.parametrize(
    ("flags", "ended", "ended_early"),
    [
        ("--runner=FlinkRunner", True, True),  # inside the job server, which ends
        ("--runner=FlinkRunner --flink_master=[local] --job_endpoint=localhost:1", False, False),
        ("--runner=PortableRunner --job_endpoint=localhost:1", False, False),
        ("--runner=SparkRunner", True, True),
        ("--runner=SparkRunner --job_endpoint=localhost:1", False, False),
        ("--runner=SparkRunner --spark_submit_uber_jar --spark_rest_url=x", True, False),
        ("--runner=DataflowRunner", True, False),
    ],
)
def test_a_job_has_ended_if_that_is_known(flags: str, ended: bool, ended_early: bool) -> None:
    end = ending(PipelineOptions(flags.split()))
    assert end(SimpleNamespace(cancel=lambda: None)) == ended
    assert end(None) == ended_early  # while it was submitted


class FlinkCalled:
    """What Flink's REST interface answers, and what it was asked for."""

    def __init__(self, *states: str, deaf: bool = False) -> None:
        self.jobs = [{"jid": str(n), "name": "mine", "state": state} for n, state in enumerate(states)]
        self.jobs.append({"jid": "other", "name": "theirs", "state": "RUNNING"})
        self.cancelled: list[str] = []
        called, asked = self, set[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                assert self.path == "/jobs/overview"
                self.answer(200, {"jobs": called.jobs})
                for job in called.jobs:
                    job["state"] = "CANCELED" if job["state"] == "CANCELLING" else job["state"]

            def do_PATCH(self) -> None:
                assert self.path.endswith("?mode=cancel")
                name = self.path.removeprefix("/jobs/").partition("?")[0]
                if name not in asked:  # the first time it is too busy
                    asked.add(name)
                    return self.answer(503, None)
                called.cancelled.append(name)
                for job in called.jobs:
                    if job["jid"] == name and not deaf:
                        job["state"] = "CANCELLING"
                return self.answer(202, {})

            def answer(self, status: int, value: object) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("localhost", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.master = f"--flink_master=localhost:{self.server.server_port}"


@pytest.mark.parametrize("name", ["mine", None])
def test_a_job_on_flink_is_cancelled_by_its_name(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending_module, "_TO_APPEAR", 0.5)
    flink = FlinkCalled("RUNNING")  # of that name, but earlier
    named = [f"--job_name={name}"] if name else []
    options = PipelineOptions(["--runner=FlinkRunner", "--job_endpoint=localhost:1", flink.master, *named])
    end = ending(options)
    ours = options.view_as(GoogleCloudOptions).job_name
    assert (ours == "mine") == (name is not None) and ours
    assert not end(None)  # it may still come
    flink.jobs += [
        {"jid": "a", "name": ours, "state": "FINISHED"},
        {"jid": "b", "name": ours, "state": "RUNNING"},
    ]
    assert end(SimpleNamespace(cancel=_fail))
    assert flink.cancelled == ["b"]
    flink.server.shutdown()


def test_a_job_that_flink_does_not_end_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending_module, "_TO_END", 1.0)
    flink = FlinkCalled(deaf=True)
    flags = ["--runner=FlinkRunner", flink.master]
    options = PipelineOptions(flags)
    end = ending(options)
    flink.jobs[0]["name"] = options.view_as(GoogleCloudOptions).job_name
    assert not end(SimpleNamespace(cancel=lambda: None))
    assert set(flink.cancelled) == {"other"}
    flink.server.shutdown()
    flink.server.server_close()
    assert not end(SimpleNamespace(cancel=lambda: None))
    assert not ending(PipelineOptions([*flags, "--job_name=mine"]))(SimpleNamespace(cancel=lambda: None))


def test_who_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_PATIENCE", 0.01)
    never, done = threading.Event(), threading.Event()
    assert not signals.briefly(never.wait)
    monkeypatch.setattr(signals, "_PATIENCE", 60)
    assert not signals.briefly(_fail)
    assert signals.briefly(done.set) and done.is_set()
    never.set()


def test_two_jobs_at_a_time_leave_all_as_it_was() -> None:
    """The first to begin may be the first to end."""
    place = Path("/proc/self/fd/2")
    before = place.readlink(), sys.stderr, statesampler.StateSampler
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    for one in (first, second):
        one.enter_context(runner._silence())
        one.enter_context(runner._quick_ends())
    first.close()
    assert place.readlink() == Path(os.devnull)
    second.close()
    assert (place.readlink(), sys.stderr, statesampler.StateSampler) == before


@pytest.mark.parametrize("threads", [1, 2])
def test_the_end_of_a_bundle_is_soon(threads: int) -> None:
    usual = statesampler.StateSampler
    periods.clear()
    Runner(threads=threads).run(lambda pipeline: pipeline | beam.Create([1]) | beam.Map(_ask_for_period))
    assert periods == [10]  # milliseconds; Beam's own 200 are a tenth of a short epoch of training
    assert statesampler.StateSampler is usual
