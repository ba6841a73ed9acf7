"""Ends a job that runs elsewhere, with its command; on Flink by Flink's own REST interface.

Beam's job server only lets go of a job on a cluster when it is asked to cancel it, and the job runs on to its end.
"""

from __future__ import annotations

import json
import secrets
import time
import urllib.request
from collections.abc import Callable, Collection
from http.client import HTTPException
from typing import Any

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
    StandardOptions,
)

from covington.base.signals import briefly
from covington.errors import JobError

_EMBEDDED = (
    "[auto]",
    "[local]",
)  # a cluster inside the job server, whose REST interface is nowhere announced
_ENDED = frozenset({"CANCELED", "FAILED", "FINISHED"})
_TO_ANSWER = 2.0  # seconds
_TO_APPEAR = 5.0  # seconds from the submission of a job to its place in the list
_TO_END = 20.0  # seconds; the workers are waited for
_INTERVAL = 0.2  # seconds
_TROUBLE = (OSError, HTTPException, ValueError, KeyError)  # refused, cut off, or not what Flink answers

# like Flink's own client, which knows no proxy
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class FlinkCluster:
    """A Flink cluster that has a REST interface at an address."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    @staticmethod
    def of(options: PipelineOptions) -> FlinkCluster | None:
        """The cluster that the options name, if they name one."""
        master = str(options.view_as(FlinkRunnerOptions).flink_master).strip()
        if not master or master in _EMBEDDED:
            return None
        return FlinkCluster(master if master.startswith(("http://", "https://")) else f"http://{master}")

    def jobs(self, name: str) -> dict[str, str]:
        """The state of each job of a name."""
        found = self._ask("GET", "/jobs/overview")["jobs"]
        return {str(job["jid"]): str(job["state"]) for job in found if job["name"] == name}

    def cancel(self, name: str, earlier: Collection[str] = ()) -> bool:
        """Cancel the jobs of a name, but for earlier ones, and wait for their end; False if there are none.

        If they do not end, that is a JobError.
        """
        begun = time.monotonic()
        trouble: object = "there was no time"
        while (waited := time.monotonic() - begun) < _TO_END:
            try:
                states = {job: state for job, state in self.jobs(name).items() if job not in earlier}
                if not states and waited > _TO_APPEAR:
                    return False
                if states and _ENDED.issuperset(states.values()):
                    return True
                for job, state in states.items():
                    trouble = f"{job} is {state}"
                    if state not in _ENDED and state != "CANCELLING":
                        self._ask("PATCH", f"/jobs/{job}?mode=cancel")
            except _TROUBLE as error:
                trouble = error
            time.sleep(_INTERVAL)
        raise JobError(f"Flink at {self._address} has not ended the job {name}: {trouble}")

    def _ask(self, method: str, path: str) -> Any:
        request = urllib.request.Request(self._address + path, method=method)
        with _opener.open(request, timeout=_TO_ANSWER) as answer:
            return json.loads(answer.read() or b"null")


def ending(options: PipelineOptions) -> Callable[[Any], bool]:
    """What ends the job that is going to be submitted with these options.

    It takes Beam's result, or None if the submission was interrupted, and returns whether the job is known to have
    ended. On a Flink cluster the job gets a name of its own, if it has none, by which it is found again.
    """
    name = (options.view_as(StandardOptions).runner or "").rpartition(".")[2].lower().removesuffix("runner")
    has_server = options.view_as(PortableOptions).job_endpoint is not None
    # it is submitted by this process, or by a job server that ends with it
    is_submitted_here = name in ("flink", "spark") and not has_server
    is_driven_here = is_submitted_here and not options.view_as(SparkRunnerOptions).spark_submit_uber_jar
    cluster = FlinkCluster.of(options) if name in ("flink", "portable") else None
    if cluster is None:

        def end(result: Any) -> bool:
            was_cancelled = result is not None and briefly(result.cancel)
            return is_driven_here or (was_cancelled and not has_server)

        return end

    job = options.view_as(GoogleCloudOptions)
    job_name, earlier = job.job_name, frozenset[str]()
    if job_name is None:
        job_name = job.job_name = f"covington-{secrets.token_hex(6)}"
    else:
        try:
            earlier = frozenset(cluster.jobs(job_name))
        except _TROUBLE:
            return lambda result: False  # nobody could tell it from others of its name

    def end_on_flink(result: Any) -> bool:
        if result is not None:
            briefly(result.cancel)
        try:
            return cluster.cancel(job_name, earlier) or (result is None and is_submitted_here)
        except JobError:
            return False

    return end_on_flink
