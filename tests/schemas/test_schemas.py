"""The schema page tells the truth: every column is on it, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import covington
from covington import models, schemas
from covington.engine.shards import Report
from covington.parsing.parser import Statistics
from covington.schemas import PARSE, REJECT, SENTENCE

README = Path(schemas.__file__).with_name("README.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (\w+)\n[^#]*?```python\n(.*?)```", README, re.DOTALL | re.MULTILINE))


def test_every_column_is_explained() -> None:
    for field in (*SENTENCE, *PARSE, *REJECT):
        kind = (
            "list of struct"
            if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type)
            else (
                f"list of {_name(field.type.value_type)}"
                if pa.types.is_list(field.type)
                else _name(field.type)
            )
        )
        assert f"| `{field.name}` | {kind} |" in README


def _name(type_: pa.DataType) -> str:
    return {"float": "float32"}.get(str(type_), str(type_))


def test_every_count_of_the_summary_is_explained() -> None:
    told = re.findall(
        r"`([\w.]+)`", README.partition("## The summary")[2].partition("##")[0].partition("|---")[2]
    )
    counts = {
        *Report().to_dict(),
        *Report(statistics=Statistics()).to_dict()["statistics"],
        "version",
        "model",
    }
    counts |= {"seconds", "output"}
    counts -= {"statistics"}
    assert counts <= {name.rpartition(".")[2] for name in told}


def test_the_version_is_told() -> None:
    assert f"describes version {schemas.VERSION}" in README
    assert SENTENCE.metadata == REJECT.metadata == {b"covington.schema": str(schemas.VERSION).encode()}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    covington.write_parquet(covington.read_conllu(models.sample()), "corpus.parquet")
    return tmp_path / "corpus.parquet"


@pytest.mark.parametrize("name", ["DuckDB", "Polars", "pandas", "Arrow"])
def test_examples_run(corpus: Path, name: str) -> None:
    scope: dict[str, object] = {}
    exec(EXAMPLES[name], scope)
    if name == "DuckDB":
        found = scope["relations"].fetchall()  # type: ignore[attr-defined]
        arcs = sum(
            head not in (0, None)
            for heads in pq.read_table(corpus).column("head").to_pylist()
            for head in heads
        )
        assert sum(row[1] for row in found) == arcs
    if name == "Polars":
        assert len(scope["subjects"]) > 5  # type: ignore[arg-type]
    if name == "pandas":
        assert len(scope["words"]) == sum(map(len, pq.read_table(corpus).column("tokens").to_pylist()))  # type: ignore[arg-type]
