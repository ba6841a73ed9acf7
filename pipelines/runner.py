"""Runs a pipeline: in this process by default, without network, or on any runner that Beam knows."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, cast

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    DirectOptions,
    JobServerOptions,
    PipelineOptions,
    StandardOptions,
    WorkerOptions,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator

from covington import errors
from covington.base.machine import cores
from covington.base.signals import StoppedError, keeping_ctrl_c, number_of, received, terminal_closed
from covington.errors import CovingtonError, JobError, OptionError, WorkerLostError
from covington.pipelines import ends_with_parent
from covington.pipelines.ending import ending

# Beam's own DirectRunner tries Prism first, a binary that it fetches from the network; these names
# mean the runner inside this process instead, which is the one that reads --direct_* options.
LOCAL_RUNNERS = frozenset(
    {"directrunner", "switchingdirectrunner", "bundlebaseddirectrunner", "fnapirunner", "localrunner"}
)

_LOOKS_EVERY = 10  # milliseconds
_NO_PROXY = "no_grpc_proxy"  # the variable that gRPC looks at first, in small letters alone
_HERE = ("localhost", "127.0.0.1", "::1")

_WHILE_RUNNING = re.compile(r" \[while running '.*?'\]$")
_RAISED = re.compile(r"^covington\.errors\.(\w+): (.+?)(?: \[while running '.*?'\])?$", re.MULTILINE)
_TOLD = re.compile(r'^\s*details = "(.+)"$', re.MULTILINE)
_STATUS = re.compile(r"^\s*status = (?:StatusCode\.)?(\w+)$", re.MULTILINE)
_JAVA_CLASS = re.compile(r"\b(?:[a-z]\w*\.){2,}([A-Z]\w*)")
_CAUSE = re.compile(r"^Caused by: (.*\S)", re.MULTILINE)  # in Java's traces, the innermost one last
_TWICE = re.compile(r"\b(\w+: )\1+")
_STOPPED = re.compile(r"^KeyboardInterrupt\b", re.MULTILINE)
_ORDINARY = re.compile(
    r"^((?:\w+\.)*\w*(?:Error|Exception|Interrupt)): (.+?)(?: \[while running '.*?'\])?$", re.MULTILINE
)


@dataclass(frozen=True)
class Runner:
    """Where a pipeline runs: Beam's options as they were given, and the threads to use locally."""

    flags: tuple[str, ...] = ()
    threads: int = 0  # 0 is one per core
    verbose: bool = False

    @property
    def options(self) -> PipelineOptions:
        """Beam's options, with all cores in use when nothing else was asked of the local runner."""
        options = PipelineOptions(list(self.flags))
        if not self.is_local:
            return options
        direct = options.view_as(DirectOptions)
        if not _given(self.flags, "direct_num_workers"):
            direct.direct_num_workers = self.threads or cores()
        if not _given(self.flags, "direct_running_mode"):
            # threads of one process: the work is done outside the interpreter lock, the model is shared
            several = direct.direct_num_workers != 1
            direct.direct_running_mode = "multi_threading" if several else "in_memory"
        return options

    @property
    def is_local(self) -> bool:
        name = PipelineOptions(list(self.flags)).view_as(StandardOptions).runner
        if name is None:
            return True
        name = name.rpartition(".")[2].lower()
        return bool({name, f"{name}runner"} & LOCAL_RUNNERS)  # Beam completes names so

    @property
    def _is_elsewhere(self) -> bool:
        """Whether a job could go on without this process; Prism is started by it and ends with it."""
        name = PipelineOptions(list(self.flags)).view_as(StandardOptions).runner or ""
        return not self.is_local and "prism" not in name.lower()

    def check(self) -> None:
        """Refuse options that neither covington nor Beam knows, before anything is read."""
        parsers: list[argparse.ArgumentParser] = []
        try:
            with _quiet_exit():
                PipelineOptions(list(self.flags)).get_all_options(add_extra_args_fn=parsers.append)
                _, unknown = parsers[0].parse_known_args(list(self.flags))
        except _WrongCallError as error:
            raise OptionError(str(error)) from None
        for before, word in pairwise(["", *unknown]):  # Beam would pass over such a word
            if not word.startswith("-") and ("=" in before or not before.startswith("--")):
                raise OptionError(f"{word} stands apart: inputs must follow one another")
        # the options of a cluster are checked by the cluster, which may know more than Beam's Python side
        if unknown and self.is_local:
            raise OptionError(f"unrecognized arguments: {' '.join(unknown)}")
        options = PipelineOptions(list(self.flags))
        if self.threads and (not self.is_local or _given(self.flags, "direct_num_workers")):
            raise OptionError("--threads and another runner, or --direct_num_workers, do not go together")
        if self.is_local:
            workers = options.view_as(DirectOptions).direct_num_workers
            if workers < 0:
                raise OptionError(f"--direct_num_workers must be 0 or more, not {workers}")
        name = options.view_as(StandardOptions).runner
        try:
            runner = _local_runner(options) if self.is_local else beam.runners.runner.create_runner(name)
            complaints = PipelineOptionsValidator(options, runner).validate()
        except Exception as error:
            raise OptionError(
                f"Beam cannot use the runner {name or 'DirectRunner'}: {str(error).splitlines()[0]}"
            ) from None
        if complaints:
            raise OptionError("; ".join(" ".join(one.split()) for one in complaints))

    def run(self, build: Callable[[beam.Pipeline], object]) -> None:
        """Build the graph, run it to its end, and turn what went wrong into one sentence."""
        _without_proxy()
        if self.verbose:
            logging.basicConfig(level=logging.INFO)
            logging.getLogger("apache_beam").setLevel(logging.INFO)
        options = self.options
        if not self.is_local:
            _tie_job_server(options)
        if not self.verbose:
            # the Java engines read this option too, and know no level above ERROR
            level = "CRITICAL" if self.is_local else "ERROR"
            options.view_as(WorkerOptions).default_sdk_harness_log_level = level
        end = (
            ending(options) if self._is_elsewhere else None
        )  # before the pipeline makes a copy of the options
        pipeline = beam.Pipeline(runner=_local_runner(options) if self.is_local else None, options=options)
        build(pipeline)
        mode = options.view_as(DirectOptions).direct_running_mode
        try:
            with contextlib.nullcontext() if self.verbose else _silence(), _quick_ends():
                if self.is_local and mode == "multi_processing":
                    _run_watched(pipeline)
                else:
                    _run(pipeline, end)
        except Exception as error:
            if (number := received()) is not None:
                raise StoppedError(number) from None
            if _STOPPED.search(str(error)):
                raise KeyboardInterrupt from None  # in a worker that is a thread of this process
            if self.verbose:
                logging.getLogger(__name__).exception("the job failed")
            raise understood(error) from None


#: In this process, on all cores.
LOCAL = Runner()


def understood(error: BaseException) -> CovingtonError:
    """The covington error inside what a runner raised; runners hand it on as the text of a traceback."""
    text = str(error)
    if isinstance(error, CovingtonError):
        return type(error)(_WHILE_RUNNING.sub("", text))
    for name, message in _RAISED.findall(text)[-1:]:
        return cast(CovingtonError, getattr(errors, name, CovingtonError)(message))
    told = _TOLD.findall(text)
    if told:  # what gRPC makes of a server that does not answer
        return JobError(f"the job failed: {told[-1]} (-v shows the whole story)")
    status = _STATUS.findall(text)
    if status:
        return JobError(f"the job server answered {status[-1]} and nothing more; its own log says why")
    ordinary = _ORDINARY.findall(text)
    if ordinary:
        return JobError(f"the job failed: {ordinary[-1][1].strip()} (-v shows the whole story)")
    last = text.strip().splitlines()[-1:] or [type(error).__name__]
    said = ": ".join(_CAUSE.findall(text)[-2:]) or last[0].strip()  # what went wrong, and why
    plain = _TWICE.sub(r"\1", _JAVA_CLASS.sub(r"\1", said))
    return JobError(f"the job failed: {plain} (-v shows the whole story)")


def _run(pipeline: beam.Pipeline, end: Callable[[Any], bool] | None = None) -> None:
    """Run to the end; a job that runs elsewhere is ended with the command, by what is given for that."""
    result = None
    try:
        with keeping_ctrl_c() if end is not None else contextlib.nullcontext():
            result = pipeline.run()
        state = result.wait_until_finish()
    except KeyboardInterrupt as error:
        if end is None:
            raise
        goes_on = True
        with contextlib.suppress(KeyboardInterrupt):  # once more
            goes_on = terminal_closed(error) or not end(result)  # a job on a cluster needs no terminal
        raise StoppedError(number_of(error), goes_on) from None
    if state is not None and state != "DONE":
        raise JobError(f"the job ended in the state {state}")


def _tie_job_server(options: PipelineOptions) -> None:
    """Have a job server in Java, if Beam starts one, end with this process, also where this process is killed.

    Beam makes its command of the launcher, the properties and the jar, in this order.
    """
    if not hasattr(os, "setsid"):
        return
    server = options.view_as(JobServerOptions)
    tied = [os.fspath(ends_with_parent.__file__), str(os.getpid()), server.job_server_java_launcher]
    server.job_server_jvm_properties = [*tied, *server.job_server_jvm_properties]
    server.job_server_java_launcher = sys.executable


def _run_watched(pipeline: beam.Pipeline) -> None:
    """Run with worker processes; Beam waits for ever for one that was killed, so somebody must look."""
    over = threading.Event()
    failure: list[BaseException] = []
    lost: list[str] = []

    def work() -> None:
        try:
            _run(pipeline)
        except BaseException as error:  # handed to the waiting thread, which raises it
            failure.append(error)
        finally:
            over.set()

    def hook(arguments: threading.ExceptHookArgs) -> None:
        message = str(arguments.exc_value)
        if "Worker subprocess exited" in message:
            lost.append(message)
            over.set()
        else:
            previous(arguments)

    previous, threading.excepthook = threading.excepthook, hook
    try:
        with _ended_with_us():
            threading.Thread(target=work, daemon=True, name="covington-pipeline").start()
            over.wait()
            if lost:
                code = int(lost[0].rpartition(" ")[2])
                code = code if code >= 0 else 128 - code  # of a signal, as shells tell it
                raise WorkerLostError(
                    f"a worker process ended with code {code}; start the same command again"
                )
    finally:
        threading.excepthook = previous
    if failure:
        raise failure[0]


@contextlib.contextmanager
def _ended_with_us() -> Iterator[None]:
    """If the block is left by an error, Beam's worker processes end with it; alone they would take minutes."""
    from apache_beam.runners.portability import local_job_service

    workers: list[subprocess.Popen[bytes]] = []

    def start(command: str, **options: Any) -> subprocess.Popen[bytes]:
        workers.append(subprocess.Popen(f"exec {command}", **options))  # without a shell in between
        return workers[-1]

    local_job_service.subprocess = SimpleNamespace(Popen=start)
    try:
        yield
    except BaseException:
        for worker in workers:
            worker.kill()
        raise
    finally:
        local_job_service.subprocess = subprocess


def _local_runner(options: PipelineOptions) -> beam.runners.runner.PipelineRunner:
    """The runner in this process; worker processes get the options through its provision info."""
    from apache_beam.portability.api import beam_provision_api_pb2
    from apache_beam.runners.portability.fn_api_runner import fn_runner
    from apache_beam.runners.portability.portable_runner import JobServiceHandle

    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    information = beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded)
    return fn_runner.FnApiRunner(provision_info=fn_runner.ExtendedProvisionInfo(information))


class _Together:
    """A context for all jobs that run in this process at a time: the first one enters it, the last one leaves it."""

    def __init__(self, context: Callable[[], AbstractContextManager[None]]) -> None:
        self._context, self._lock, self._inside = context, threading.Lock(), 0
        self._exit = contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._exit.enter_context(self._context())
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._exit.close()


@_Together
@contextlib.contextmanager
def _quick_ends() -> Iterator[None]:
    """At the end of every bundle Beam waits until a thread wakes up that looks at it five times a second.

    Meanwhile it looks more often, in threads of this process.
    """
    from apache_beam.runners.worker import statesampler

    before = statesampler.StateSampler
    statesampler.StateSampler = partial(before, sampling_period_ms=_LOOKS_EVERY)
    try:
        yield
    finally:
        statesampler.StateSampler = before


def _given(flags: Sequence[str], name: str) -> bool:
    return any(flag == f"--{name}" or flag.startswith(f"--{name}=") for flag in flags)


def _without_proxy() -> None:
    """Workers talk to this process by way of localhost, which gRPC would look for behind a proxy of the network."""
    given = os.environ.get(_NO_PROXY) or os.environ.get("no_proxy") or ""
    os.environ[_NO_PROXY] = ",".join(dict.fromkeys([*filter(None, given.split(",")), *_HERE]))


@_Together
@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Beam's workers log, and print tracebacks on the standard error of this process and of its children.

    What they have to say comes back with the job's own error, and the rest is of no use to who parses a corpus (-v lets
    Beam speak). Some of them find out only when the job is over that it is, and nobody needs to read that either.
    """
    from apache_beam.runners.worker import sdk_worker

    sdk_worker.print = _say_nothing
    others = set(threading.enumerate())
    log = logging.getLogger("apache_beam")
    before = log.level
    log.setLevel(logging.CRITICAL)
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with contextlib.redirect_stderr(_nowhere()):
            os.dup2(_nowhere().fileno(), 2)
            yield
    finally:
        log.setLevel(before)
        _let_go_of().update(set(threading.enumerate()) - others)
        os.dup2(kept, 2)
        os.close(kept)


def _say_nothing(*_: object, **__: object) -> None:
    pass


@cache
def _let_go_of() -> weakref.WeakSet[threading.Thread]:
    """Threads of jobs that are over; their exceptions are of no interest."""
    threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
    previous = threading.excepthook

    def hook(arguments: threading.ExceptHookArgs) -> None:
        if arguments.thread not in threads:
            previous(arguments)

    threading.excepthook = hook
    return threads


@cache
def _nowhere() -> TextIO:
    """Never closed: a thread that is writing to it when the job is over would complain aloud."""
    return Path(os.devnull).open("w")


class _WrongCallError(Exception):
    pass


@contextlib.contextmanager
def _quiet_exit() -> Iterator[None]:
    """argparse ends the process where an option has a wrong value; here that is an exception."""
    error, argparse.ArgumentParser.error = argparse.ArgumentParser.error, _raise_wrong_call  # type: ignore
    try:
        yield
    finally:
        argparse.ArgumentParser.error = error  # type: ignore[method-assign]


def _raise_wrong_call(_parser: argparse.ArgumentParser, message: str) -> None:
    raise _WrongCallError(message)
