"""The steps of .ci/run see the environment of a fresh machine, and not what happens to be set on this one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

CI = Path(__file__).parents[1] / ".ci"
PASSED = {"PIP_CERT": 'with "quotes", $HOME, `id` and\nPIP_FALSE=a second line', "no_proxy": "localhost"}
DROPPED = {"PYTHONUNBUFFERED": "1", "PYTHONPATH": "/x", "OMP_NUM_THREADS": "1", "PIP": "x", "A": "b\nPIP_A=c"}


def test_only_what_a_fresh_machine_has_is_passed_on() -> None:
    given = {"PATH": os.environ["PATH"], "HOME": "/somewhere/empty", "LANG": "C.UTF-8"} | PASSED
    command = [CI / "fresh", "env", "-0"]
    found = subprocess.run(command, env=given | DROPPED, capture_output=True, check=True, text=True).stdout
    assert dict(entry.split("=", 1) for entry in found.split("\0") if entry) == given


def test_arguments_and_exit_code_are_those_of_the_command() -> None:
    command = [str(CI / "fresh"), "sh", "-c", 'printf "%s|" "$@"; exit 3', "sh", "a b", "", "*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "a b||*|")


def test_every_step_of_a_change_runs_there() -> None:
    lines = (CI / "run").read_text(encoding="utf-8").splitlines()
    makes = [line for line in lines if "make" in line.split("#")[0].split()]
    assert makes and all(".ci/fresh make" in line for line in makes)
