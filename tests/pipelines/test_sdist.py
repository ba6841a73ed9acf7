"""The source distribution installs where only what Beam's worker image has is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.engines import fetch
from tests.support.sample import SAMPLE

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_sdist_builds_without_isolation_in_a_worker_image(tmp_path: Path, small_model: str) -> None:
    python = fetch.wheel()  # the engines' workers run in this environment too
    output = tmp_path / "out"
    run(python, "-m", "covington", "parse", SAMPLE, "-o", output, "--model", small_model, cwd=tmp_path)
    assert (output / "_summary.json").exists()
    program = "from covington import models; print(models.__file__, models.names(), models.sample().exists())"
    told = run(python, "-c", program, cwd=tmp_path).strip()
    assert told.startswith(str(python.parents[1])) and told.endswith("True")
