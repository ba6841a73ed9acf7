"""The source distribution installs where only what Beam's worker image has is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.pipelines.conftest import SAMPLE

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
STOCK = ("apache-beam", "pyarrow", "numpy", "Cython", "setuptools")


def run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_sdist_builds_without_isolation_in_a_worker_image(tmp_path: Path, small_model: str) -> None:
    source = tmp_path / "source"
    run("git", "clone", "--quiet", ROOT, source, cwd=tmp_path)
    # where a job is submitted, Cython need not be there: setup.py names it nowhere
    run(sys.executable, "setup.py", "-q", "sdist", "-d", tmp_path / "dist", cwd=source)
    [sdist] = (tmp_path / "dist").glob("covington-*.tar.gz")

    venv.create(tmp_path / "worker", with_pip=True)
    python = tmp_path / "worker" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--upgrade", *STOCK, cwd=tmp_path)  # a new venv brings an old setuptools
    run(*pip, "--no-build-isolation", "--no-deps", sdist, cwd=tmp_path)
    output = tmp_path / "out"
    run(python, "-m", "covington", "parse", SAMPLE, "-o", output, "--model", small_model, cwd=tmp_path)
    assert (output / "_summary.json").exists()
    names = run(
        python,
        "-c",
        "from covington import models; print(models.names(), models.sample().exists())",
        cwd=tmp_path,
    )
    assert names.strip().endswith("True")
