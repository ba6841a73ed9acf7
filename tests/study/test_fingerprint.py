"""What a kept result depends on is what runs when it is made: no less, and nothing that only shows or starts things."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import covington
from covington import models
from covington.errors import JobError
from covington.study import comparison, comparison_run, fingerprint

MADE_BY = comparison_run.__name__
RUN = """
import sys
from pathlib import Path
from covington.study.comparison_run import Run, train_and_score
from covington.model.options import TrainingOptions
from covington.corpus.treebanks import Treebank

files = (sys.argv[1],)
options = TrainingOptions(epochs=1)
found = train_and_score(Run(Treebank("x", files, files, files), "x", options, True, "key"), Path(sys.argv[2]))
assert found["test"]["counts"]
print(*{module.__file__ for name, module in sys.modules.items() if name.startswith("covington.")}, sep="\\n")
"""


def test_all_that_a_run_loads_counts_and_nothing_else(tmp_path: Path) -> None:
    """Also what is imported only when a function is called."""
    command = [sys.executable, "-c", RUN, str(models.sample()), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert {*done.stdout.split("\n")[:-1]} == {str(file) for file in fingerprint.imported(MADE_BY)}


def test_what_trains_and_scores_counts_and_what_shows_does_not() -> None:
    root = Path(str(covington.__file__)).parent
    names = {
        ".".join([*file.parent.relative_to(root).parts, file.name.partition(".")[0]])
        for file in fingerprint.imported(MADE_BY)
        if file.is_relative_to(root)
    }
    assert {"learning.perceptron.learner", "parsing.decoder", "evaluation.counts"} <= names
    assert {"corpus.conllu.reader", "study.comparison_run"} <= names
    assert not {name.partition(".")[0] for name in names} & {"display", "commands", "engine"}
    assert not names & {"base.signals", "base.machine", "base.text", "base.progress", "study.comparison"}
    assert "conform" in {file.name.partition(".")[0] for file in fingerprint.imported(MADE_BY)}
    assert str(Path(str(covington.__file__))) not in {str(file) for file in fingerprint.imported(MADE_BY)}


def test_what_is_loaded_here_makes_no_difference() -> None:
    before = comparison.code_fingerprint()
    importlib.import_module("covington.display.trace_page")
    fingerprint.imported.cache_clear()
    assert comparison.code_fingerprint() == before


def test_a_module_that_cannot_be_imported_is_one_sentence() -> None:
    with pytest.raises(JobError, match="No module named"):
        fingerprint.imported("covington.none")
