"""Does the installed package work, far from its source? Parses, evaluates, trains and draws the sample."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

import covington
from covington import models
from covington.commands.cli import main


def check() -> None:
    """Run every compiled part once; an exception or an exit code is a failure."""
    place = Path(covington.__file__).resolve()
    installed = Path(sysconfig.get_paths()["platlib"]).resolve()
    assert place.is_relative_to(installed), f"{place} is not the installed package"
    sample = str(models.sample())
    calls = [
        ["demo", "parsed"],
        ["parse", sample, "-o", "parsed.conllu"],
        ["evaluate", sample, "parsed.conllu", "parsed", "--json", "scores.json"],
        ["train", sample, "-o", "small.covington", "--epochs", "1"],
        ["info", "small.covington"],
        ["bounds", sample, "--transitions", "200", "--json", "bounds.json"],
    ]
    for call in calls:
        assert main(call) == 0, call
    one, two = json.loads(Path("scores.json").read_text())["systems"]
    assert one["sentences"] == two["sentences"] == 42
    assert one["las"] == two["las"] > 50
    print(f"{place.parent} works under Python {sys.version.split()[0]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check()
