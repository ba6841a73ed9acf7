"""What goes to standard output by its name follows what was printed, and nothing of either is lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from covington import models

CALLS = {
    "evaluate": "evaluate a.conllu a.conllu --json {json} --html {html}",
    "bounds": "bounds a.conllu --transitions 50 --json {json} --html {html}",
    "trace": "trace a.conllu --model en_ewt --json {json} --html {html}",
    "compare": "compare . --on dev --system monotonic --set epochs=1 --seeds 1 --no-curve --work work"
    " --markdown {table} --json {json} --html {html}",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A treebank of a few sentences; a.conllu is the same sentences as one file."""
    sentences = models.sample().read_text(encoding="utf-8").split("\n\n")[:12]
    for name in ("a.conllu", "x-ud-train.conllu", "x-ud-dev.conllu"):
        (tmp_path / name).write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    return tmp_path


def run(call: str, folder: Path) -> bytes:
    """What a command leaves in the file that the shell has opened for its standard output."""
    # set, it lets Python hold nothing back, and hides what this is about
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with (folder / "printed").open("wb") as printed:
        command = [sys.executable, "-m", "covington", *call.split()]
        subprocess.run(command, stdout=printed, cwd=folder, env=environment, check=True)
    return (folder / "printed").read_bytes()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("command", CALLS)
def test_json_follows_the_table(command: str, name: str, folder: Path) -> None:
    if not Path(name).parent.exists():
        pytest.skip(f"no {name} on this system")
    call = CALLS[command]
    table = run(call.format(table="-", json="a.json", html="a.html"), folder)
    expected = (folder / "a.json").read_bytes()
    assert table
    assert json.loads(expected)
    found = run(call.format(table="-", json=name, html="a.html"), folder)
    assert json.loads(found[found.index(b"{\n") :])
    assert untimed(found) == untimed(table + expected)


def untimed(text: bytes) -> bytes:
    """Without numbers and what stands around them: some are seconds, which differ from run to run."""
    return re.sub(rb"[-+0-9 .,e]", b"", text)


def test_what_is_printed_after_it_does_not_go_over_it(folder: Path) -> None:
    call = CALLS["evaluate"]
    run(call.format(json="a.json", html="a.html"), folder)
    expected = (folder / "a.json").read_bytes() + (folder / "a.html").read_bytes()
    assert run(call.format(json="/dev/stdout", html="-"), folder) == expected
