"""What a model reads of a corpus: columns and tags, against a slow twin, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.corpus.columns import word_counts
from covington.errors import ModelError
from covington.features import encoding
from covington.features.templates import SETS, parse_templates
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import Survey, survey
from covington.model import inventory
from covington.model.file import read, write
from covington.model.inventory import Inventory, columns_read, tags_met
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from tests.support.batches import batch, sentence

PAPER, RICH = ([template.name for template in parse_templates(SETS[name])] for name in ("paper", "rich"))
ALL = ("upos", "xpos", "feats", "lemmas")

values = st.none() | st.sampled_from(["NOUN", "VERB", "NN", "é", "", "a=b|c"])
rows = st.lists(
    st.lists(st.fixed_dictionaries(dict.fromkeys(ALL, values)), min_size=1, max_size=4), max_size=5
)
known = st.sets(values.filter(lambda value: value is not None), max_size=4)


def made(found: list[list[dict[str, str | None]]]) -> pa.RecordBatch:
    return batch(
        *(
            sentence(" ".join("w" * len(words)), [None] * len(words))
            | {name: [word[name] for word in words] for name in ALL}
            for words in found
        )
    )


@given(rows, known, known, st.sampled_from(encoding.TAGS), st.data())
def test_what_is_there_is_counted(
    found: list[list[dict[str, str | None]]], upos: set[str], xpos: set[str], tag: str, data: st.DataObject
) -> None:
    tags = {"upos": upos, "xpos": xpos}
    for name in data.draw(st.sets(st.sampled_from([*tags]))):
        del tags[name]
    whole = made(found)
    first = data.draw(st.integers(0, len(found)))
    part, rest = whole.slice(first), found[first:]
    looked = Inventory(ALL, {name: sorted(one) for name, one in tags.items()}, tag).coverage(
        part, word_counts(part)
    )
    words = [word for row in rest for word in row]
    assert looked.filled == {name: sum(word[name] is not None for word in words) for name in ALL}
    assert looked.unknown == {
        name: sum(word[name] is not None and word[name] not in tags[name] for word in words) for name in tags
    }

    def is_tagged(word: dict[str, str | None]) -> bool:
        return any(
            word[name] is not None and (name not in tags or word[name] in tags[name])
            for name in tag.split("+")
        )

    assert looked.untagged.tolist() == [not any(map(is_tagged, row)) for row in rest]


def test_columns_that_are_not_there_have_nothing() -> None:
    data = batch(sentence("a b", [2, 0], upos="X Y")).select(["tokens", "upos"])
    looked = Inventory(("upos", "xpos"), {"upos": ["X"], "xpos": ["NN"]}, "upos+xpos").coverage(
        data, word_counts(data)
    )
    assert looked.filled == {"upos": 2, "xpos": 0}
    assert looked.unknown == {"upos": 1, "xpos": 0}
    assert not looked.untagged.any()


@pytest.mark.parametrize(
    ("templates", "tag", "columns"),
    [
        (PAPER, "upos", ["upos"]),
        (PAPER, "xpos", ["xpos"]),
        (PAPER, "upos+xpos", ["upos", "xpos"]),
        (RICH, "upos", [*ALL]),
        (["L0.w", "L0.e"], "upos", ["lemmas"]),
    ],
)
def test_the_columns_are_those_that_templates_ask_for(
    templates: list[str], tag: str, columns: list[str]
) -> None:
    assert columns_read(templates, tag) == columns


def test_what_has_too_many_values_has_no_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "MOST_TAGS", 2)
    met = {"upos": ["B", "A"], "xpos": ["a", "b", "c"]}
    assert tags_met(met, ["upos", "xpos", "feats"]) == {"upos": ["A", "B"]}
    assert tags_met(met, ["xpos"]) == {}


def test_a_model_says_what_it_reads(tmp_path: Path) -> None:
    one, other = (batch(sentence("a b", [2, 0], upos=upos)) for upos in ("X NOUN", "NOUN VERB"))
    options, found = TrainingOptions(epochs=1), survey([one, other])
    freeze(Weights(found.classes(options).count), options, found, tmp_path / "model")
    model = read(tmp_path / "model")
    assert model.metadata["columns"] == ["upos"]
    assert model.metadata["tags"] == {"upos": ["NOUN", "VERB", "X"]}
    assert Survey.from_dict(found.to_dict()) == found
    for columns, tags in (
        (["upos"], {"xpos": ["A"]}),
        (["xpos"], {}),
        (["upos", "head"], {}),
        (["upos"], {"upos": 3}),
        (["upos"], [["upos"]]),
        ([["upos"]], {}),
        (None, None),
    ):
        metadata = model.metadata | {"columns": columns, "tags": tags}
        write(tmp_path / "broken", metadata, dict(model.arrays))
        with pytest.raises(ModelError, match="not a parser's model"):
            Parser.load(tmp_path / "broken")
