"""The example of docs/evaluation.md runs, and its drawing is what the command draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from covington.commands.cli import main

DOCS = Path(__file__).parents[2] / "docs"
GOLD = """\
1	A	a	DET	_	_	2	det	_	_
2	hearing	hearing	NOUN	_	_	4	nsubj:pass	_	_
3	is	be	AUX	_	_	4	aux:pass	_	_
4	scheduled	schedule	VERB	_	_	0	root	_	_
5	on	on	ADP	_	_	7	case	_	_
6	the	the	DET	_	_	7	det	_	_
7	issue	issue	NOUN	_	_	2	nmod	_	_
8	today	today	NOUN	_	_	4	obl:tmod	_	SpaceAfter=No
9	.	.	PUNCT	_	_	4	punct	_	_

"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    head = "# sent_id = hearing\n# text = A hearing is scheduled on the issue today.\n"
    (tmp_path / "gold.conllu").write_text(head + GOLD, encoding="utf-8")
    (tmp_path / "parsed.conllu").write_text(head + GOLD.replace("2\tnmod", "4\tobl"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_example_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (DOCS / "evaluation.md").read_text(encoding="utf-8"), re.DOTALL
    )
    exec(code, {})
    assert float(capsys.readouterr().out) == pytest.approx(100 * 8 / 9)


def test_the_drawings_are_up_to_date(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "parsed.conllu", "--gold", "gold.conllu"]) == 0
    drawn = capsys.readouterr().out.split("today.\n")[1]
    assert drawn in (DOCS / "evaluation.md").read_text(encoding="utf-8")
    assert main(["draw", "parsed.conllu", "--gold", "gold.conllu", "-o", "tree.svg"]) == 0
    assert (folder / "tree.svg").read_bytes() == (DOCS / "tree.svg").read_bytes()
