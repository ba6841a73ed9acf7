"""The README and the examples in docstrings do what they say."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

from covington import models
from covington.commands.cli import main

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
WITH_EXAMPLES = [
    ".".join(
        ["covington", *(part for part in file.relative_to(ROOT).with_suffix("").parts if part != "covington")]
    )
    for folder in ("covington", "models", "pipelines", "schemas")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]
needs_model = pytest.mark.skipif(models.DEFAULT not in models.names(), reason="no bundled model yet")


@needs_model
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert found.attempted > 0
    assert found.failed == 0


@needs_model
def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python or of commands, from top to bottom in one folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.conllu").write_bytes(models.sample().read_bytes())
    blocks = re.findall(r"^```(python|console)\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, "README.md", "exec"), {"__name__": "readme"})
            continue
        for line in text.splitlines():
            prompt, command, *arguments = shlex.split(line)
            assert (prompt, command) == ("$", "covington")
            assert main(arguments) == 0, line


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (README.parent / page).read_text()
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (README.parent / target).exists(), target


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("parse", "train"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        shown = capsys.readouterr().out
        assert "example:" in shown and f"covington {command}" in shown


def test_the_sample_is_what_it_claims_to_be() -> None:
    import covington
    from covington.evaluation.tree_shape import projective

    batch = next(covington.read_conllu(str(models.sample()), strict=True))
    assert batch.num_rows == 42
    assert len({sent_id[:2] for sent_id in batch.column("sent_id").to_pylist()}) == 14
    assert sum(len(tokens or []) for tokens in batch.column("mwt").to_pylist()) == 18
    assert sum(len(nodes or []) for nodes in batch.column("empty_nodes").to_pylist()) == 1
    lengths = batch.column("head").value_lengths().to_numpy()
    heads = batch.column("head").flatten().to_numpy().astype("int64")
    assert (~projective(heads, lengths)).any()
