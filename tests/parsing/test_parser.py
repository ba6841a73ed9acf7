"""The parser as people use it: Arrow in and out, the same whatever the batch, and safe whatever the model."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import covington
from covington import models
from covington.corpus.columns import word_counts
from covington.errors import DataError, ModelError, OptionError
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.learning.training import prepare, train_epoch
from covington.model import file as model_file
from covington.model.options import TrainingOptions
from covington.parsing.parser import ARRAYS, Parser, Statistics
from tests.support.batches import batch, sentence

DENSE = 0x80000000  # set in the place of a row with a weight for every class

SAMPLE = pa.Table.from_batches(list(covington.read_conllu(models.sample()))).combine_chunks().to_batches()[0]


def train(path: Path, options: TrainingOptions) -> Weights:
    found = survey([SAMPLE])
    shard, weights = prepare([SAMPLE], options, found), Weights(found.classes(options).count)
    for epoch in range(1, options.epochs + 1):
        train_epoch(weights, shard, epoch)
    freeze(weights, options, found, path)
    return weights


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parser") / "sample.covington"
    train(path, TrainingOptions(epochs=4))
    return path


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    return Parser.load(model)


def columns(parsed: pa.RecordBatch) -> list[object]:
    return [parsed.column("head").to_pylist(), parsed.column("deprel").to_pylist()]


def test_two_tags_can_be_one(tmp_path: Path) -> None:
    """Words that differ by XPOS alone are told apart, and a column that is missing when parsing is no error."""
    fine = [{**sentence("a b", [2, 0], upos="X X"), "xpos": ["in", "out"]}]
    fine.append({**sentence("a b", [0, 1], upos="X X"), "xpos": ["out", "in"]})
    options, data = TrainingOptions(templates="paper", tag="upos+xpos", epochs=5), batch(*fine)
    found = survey([data])
    shard, weights = prepare([data], options, found), Weights(found.classes(options).count)
    for epoch in range(1, 6):
        train_epoch(weights, shard, epoch)
    freeze(weights, options, found, tmp_path / "model")
    parser = Parser.load(tmp_path / "model")
    assert parser.parse(data).column("head").to_pylist() == [[2, 0], [0, 1]]
    coarse = parser.parse(
        data.set_column(data.schema.get_field_index("xpos"), "xpos", pa.nulls(2, pa.list_(pa.string())))
    )
    assert len({tuple(heads) for heads in coarse.column("head").to_pylist()}) == 1
    with pytest.raises(DataError, match="no tags in column"):
        survey([batch(sentence("a b", [2, 0]))]).templates(options)


def test_what_was_left_out_in_training_changes_no_tree(tmp_path: Path) -> None:
    train(tmp_path / "model", TrainingOptions(epochs=2, without="xpos+feats+lemmas"))
    parser = Parser.load(tmp_path / "model")
    assert parser.metadata["columns"] == ["upos"]
    statistics = Statistics()
    bare = SAMPLE.select(["tokens", "upos"])
    assert columns(parser.parse(bare, statistics=statistics)) == columns(parser.parse(SAMPLE))
    assert statistics.filled == {"upos": statistics.tokens}


@pytest.mark.parametrize(
    "options", [{"without": "upos"}, {"without": "xpos", "tag": "upos+xpos"}, {"without": "+"}]
)
def test_what_cannot_be_left_out(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="without"):
        TrainingOptions(**options)  # type: ignore[arg-type]


def test_it_learns_what_it_was_shown(parser: Parser) -> None:
    parsed, statistics = parser.parse(SAMPLE), Statistics()
    gold, found = (
        np.concatenate([np.array(row) for row in rows.column("head").to_pylist()])
        for rows in (SAMPLE, parsed)
    )
    assert (gold == found).mean() > 0.9
    parser.parse(SAMPLE, gold=True, statistics=statistics)
    assert (statistics.sentences, statistics.tokens) == (SAMPLE.num_rows, len(gold))
    assert statistics.taken["Shift"] == statistics.tokens  # every word is shifted once
    assert statistics.repairs_to_gold + statistics.repairs_harmful <= statistics.non_monotonic


def test_what_a_trace_does_is_not_counted(parser: Parser) -> None:
    statistics = Statistics()
    assert parser.trace(SAMPLE)
    parser.parse(SAMPLE.slice(0, 0), statistics=statistics)
    assert dataclasses.replace(statistics, filled={}, unknown={}, taken={}) == Statistics()
    assert statistics.transitions == 0


def test_alone_in_a_batch_and_on_many_threads(parser: Parser) -> None:
    whole = columns(parser.parse(SAMPLE))
    alone = [columns(parser.parse(SAMPLE.slice(row, 1))) for row in range(SAMPLE.num_rows)]
    assert whole == [[heads for (heads,), _ in alone], [labels for _, (labels,) in alone]]
    for threads in (2, 3, 7, 100):
        assert columns(parser.parse(SAMPLE, threads=threads)) == whole


def test_all_other_columns_stay(parser: Parser) -> None:
    parsed = parser.parse(SAMPLE)
    for name in set(SAMPLE.schema.names) - {"head", "deprel"}:
        assert parsed.column(name).equals(SAMPLE.column(name))
    assert parsed.column("model").to_pylist() == [parser.checksum] * SAMPLE.num_rows


def test_trees_have_one_root_and_no_cycle(parser: Parser) -> None:
    for heads in parser.parse(SAMPLE).column("head").to_pylist():
        assert heads.count(0) == 1
        for word in range(1, len(heads) + 1):
            for _ in heads:
                word = heads[word - 1] if word else 0
            assert word == 0


def test_long_sentences_come_back_with_a_flag(parser: Parser) -> None:
    lengths = word_counts(SAMPLE)
    parsed = parser.parse(SAMPLE, max_length=8)
    whole = parser.parse(SAMPLE)
    for row, length in enumerate(lengths):
        assert parsed.column("flags")[row].as_py() == (["too-long"] if length > 8 else [])
        expected = [None] * length if length > 8 else whole.column("head")[row].as_py()
        assert parsed.column("head")[row].as_py() == expected
        assert (parsed.column("deprel")[row].as_py()[0] is None) == (length > 8)


def test_parsing_loads_nothing_of_training() -> None:
    code = (
        "import sys, covington.parsing.parser; print(*(name for name in sys.modules if 'covington' in name))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "covington.parsing.decoder" in found.stdout.split()
    assert "covington.learning" not in found.stdout


@pytest.mark.parametrize("label", ["\ud800", "a\tb", "a\nb"])
def test_labels_that_cannot_be_written_are_refused(label: str, model: Path) -> None:
    found = model_file.read(model)
    labels = [label, *found.metadata["labels"][1:]]
    bad = dataclasses.replace(found, metadata=found.metadata | {"labels": labels, "root_label": labels[1]})
    with pytest.raises(ModelError, match="not a parser's model"):
        Parser(bad)


def test_tags_do_not_depend_on_the_rest_of_the_batch(tmp_path: Path) -> None:
    """Two columns together: what a sentence without one of them gets is the same alone and beside others."""
    train(tmp_path / "both", TrainingOptions(epochs=2, tag="upos+xpos"))
    parser = Parser.load(tmp_path / "both")
    whole = parser.parse(SAMPLE)
    for row in range(SAMPLE.num_rows):
        assert columns(parser.parse(SAMPLE.slice(row, 1))) == columns(whole.slice(row, 1))


def test_flags_and_their_count(parser: Parser) -> None:
    lists = pa.list_(pa.string())
    batch = SAMPLE.set_column(SAMPLE.schema.get_field_index("upos"), "upos", pa.nulls(SAMPLE.num_rows, lists))
    statistics = Statistics()
    parsed = parser.parse(batch, max_length=8, statistics=statistics)
    for length, flags in zip(word_counts(SAMPLE), parsed.column("flags").to_pylist(), strict=True):
        assert flags == (["too-long"] if length > 8 else ["untagged"])
    assert statistics.untagged + statistics.unparsed == SAMPLE.num_rows
    parser.parse(SAMPLE, statistics=statistics)
    assert statistics.untagged + statistics.unparsed == SAMPLE.num_rows


def test_confidence_is_the_margin_of_the_arc(parser: Parser) -> None:
    parsed = parser.parse(SAMPLE, confidence=True)
    assert columns(parsed) == columns(parser.parse(SAMPLE))
    margins = [margin for row in parsed.column("confidence").to_pylist() for margin in row]
    assert any(margin is None for margin in margins)  # words that no transition attached
    assert all(margin >= 0 for margin in margins if margin is not None)
    assert parser.parse(SAMPLE).column("confidence").null_count == SAMPLE.num_rows


def test_empty_batches_and_empty_sentences(parser: Parser) -> None:
    assert parser.parse(SAMPLE.slice(0, 0)).num_rows == 0
    nothing = pa.RecordBatch.from_pydict({"tokens": pa.array([[], []], pa.list_(pa.string()))})
    assert parser.parse(nothing).column("head").to_pylist() == [[], []]


@pytest.mark.parametrize("length", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_sentences_of_a_thousand_and_of_ten_thousand_words(parser: Parser, length: int) -> None:
    words = [f"w{number % 50}" for number in range(length)]
    long = pa.RecordBatch.from_pydict({"tokens": [words], "upos": [["NOUN", "VERB"] * (length // 2)]})
    heads = parser.parse(long).column("head")[0].as_py()
    assert len(heads) == length
    assert heads.count(0) == 1


def test_columns_that_are_not_there_are_simply_absent(parser: Parser) -> None:
    only = SAMPLE.select(["tokens", "upos"])
    assert parser.parse(only).num_rows == SAMPLE.num_rows
    with pytest.raises(DataError, match="no column 'tokens'"):
        parser.parse(SAMPLE.select(["upos"]))
    uneven = pa.RecordBatch.from_pydict({"tokens": [["a", "b"]], "upos": [["X", "X", "X"]]})
    with pytest.raises(DataError, match="'upos' has 3 values for 2 words"):
        parser.parse(uneven)


@pytest.mark.parametrize("number", [0, 1 << 31])
@pytest.mark.parametrize("name", ["epochs", "explore_from"])
def test_numbers_that_no_training_counts_to_are_refused(name: str, number: int) -> None:
    with pytest.raises(OptionError, match="from 1 to"):
        TrainingOptions.from_dict({name: number})


def test_a_parser_is_not_sent_anywhere(parser: Parser) -> None:
    with pytest.raises(TypeError, match="send the path"):
        pickle.dumps(parser)
    with pytest.raises(OptionError):
        parser.parse(SAMPLE, threads=0)


@pytest.mark.parametrize(
    ("heads", "labels", "message"),
    [
        ([2, 9], "a root", "head 9 of word 2 is out of range"),
        ([2, 1], "a a", "on a cycle"),
        ([2, None], "a root", "word 2 has no head"),
        ([1, 0], "a root", "on a cycle"),
    ],
)
def test_what_is_no_tree_is_not_learnt(heads: list[int | None], labels: str, message: str) -> None:
    bad = batch(
        sentence("a b", [2, 0], "a root", "X Y"), sentence("a b", heads, labels, "X Y", sent_id="bad-1")
    )
    with pytest.raises(DataError, match=message) as error:
        prepare([bad], TrainingOptions(templates="paper"), survey([bad]))
    assert "sentence bad-1" in str(error.value) and "column 'head'" in str(error.value)


def test_labels_must_be_there_and_known() -> None:
    good = batch(sentence("a b", [2, 0], "a root", "X Y"))
    odd = batch(sentence("a b", [2, 0], "b root", "X Y", sent_id="odd-1"))
    with pytest.raises(DataError, match=r"odd-1.*no label that the model knows"):
        prepare([odd], TrainingOptions(templates="paper"), survey([good]))
    with pytest.raises(DataError, match="no labels"):
        survey([good.drop_columns(["deprel"])])
    with pytest.raises(DataError, match="no tags in column 'xpos'"):
        survey([good]).templates(TrainingOptions(tag="xpos"))


@pytest.mark.parametrize("repairs", ["own", "shared"])
def test_one_seed_one_model(tmp_path: Path, repairs: str) -> None:
    options = TrainingOptions(epochs=2, repairs=repairs)
    for name in "ab":
        train(tmp_path / name, options)
    train(tmp_path / "c", TrainingOptions(epochs=2, repairs=repairs, seed=2))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() != (tmp_path / "c").read_bytes()


@pytest.mark.parametrize("seed", range(20))
def test_a_forged_model_does_no_harm(model: Path, tmp_path: Path, seed: int) -> None:
    """Arrays of noise with a right checksum: they are refused, or the parse may be nonsense, but it is one."""
    random = np.random.default_rng(seed)
    true = model_file.read(model)
    forged = {name: true.arrays[name].copy() for name in ARRAYS}
    for name in random.choice(ARRAYS, size=random.integers(1, len(ARRAYS) + 1), replace=False):
        noise = random.integers(0, 256, forged[name].nbytes, dtype=np.uint8).view(forged[name].dtype)
        keep = random.random(noise.shape) < random.choice([0.0, 0.5, 0.99])
        forged[name] = np.where(keep, forged[name].ravel(), noise).reshape(forged[name].shape)
    if seed % 4 == 0:
        forged["rows"] = forged["rows"][: 2 * len(true.metadata["labels"]) + random.integers(0, 50)]
    model_file.write(tmp_path / "forged", true.metadata, forged)
    try:
        parser = Parser.load(tmp_path / "forged")
    except ModelError as error:
        assert any(
            what in str(error)
            for what in ("do not lie where the tables say", "do not fit", "buckets of some template")
        )
    else:
        _check_single_roots(parser.parse(SAMPLE))


def _check_single_roots(parsed: pa.RecordBatch) -> None:
    assert all(heads.count(0) == 1 for heads in parsed.column("head").to_pylist())


def test_forged_weights_and_fingerprints_give_trees(model: Path, tmp_path: Path) -> None:
    """What points nowhere wrong is used: weights of noise in dense rows, filters that let everything pass."""
    true = model_file.read(model)
    forged = {name: true.arrays[name].copy() for name in ARRAYS}
    rows = forged["common"][:, 7:14][forged["common"][:, :7] != 0]
    dense = rows[rows >= DENSE] - DENSE
    assert len(dense)
    forged["rows"][dense] = 0xFEDC1234
    forged["common"][:, 14:] = 0xFFFFFFFF
    forged["gate_filter"][:] = 0xFFFFFFFFFFFFFFFF
    model_file.write(tmp_path / "forged", true.metadata, forged)
    _check_single_roots(Parser.load(tmp_path / "forged").parse(SAMPLE))


def test_columns_of_other_classes_are_refused(model: Path, tmp_path: Path) -> None:
    true = model_file.read(model)
    first_right = 2 + len(true.metadata["labels"])
    repairs = [2 * first_right - 2, 2 * first_right - 1]

    def load(classes: list[int]) -> None:
        forged = {**true.arrays, "classes": np.array(classes, dtype=np.uint16)}
        model_file.write(tmp_path / "forged", true.metadata, forged)
        Parser.load(tmp_path / "forged")

    with pytest.raises(
        ModelError, match="do not lie where the tables say"
    ):  # the rows are not for these columns
        load([0, 1, 2, first_right, *repairs])
    for classes in (
        [],
        [0, 1, 2, *repairs],  # nothing to the right
        [0, 2, first_right, *repairs],  # no NoArc
        [1, 0, 2, first_right, *repairs],
        [0, 1, 2, 2, first_right, *repairs],
        [0, 1, 2, first_right],
        [0, 1, 2, first_right, *repairs, repairs[1] + 1],
    ):
        with pytest.raises(ModelError, match="do not fit"):
            load(classes)


@pytest.mark.parametrize("what", ["dense row", "sparse row", "sparse count", "sparse class", "rare class"])
def test_every_row_is_followed_before_it_is_used(model: Path, tmp_path: Path, what: str) -> None:
    true = model_file.read(model)
    forged = {name: true.arrays[name].copy() for name in ARRAYS}
    common, units, columns = forged["common"], len(forged["rows"]), len(forged["classes"])
    buckets, places = np.nonzero(common[:, :7])
    rows = common[buckets, 7 + places]
    dense, sparse = np.nonzero(rows >= DENSE)[0][-1], np.nonzero(rows < DENSE)[0][-1]
    if what == "dense row":
        common[buckets[dense], 7 + places[dense]] = DENSE + units - 1
    elif what == "sparse row":
        common[buckets[sparse], 7 + places[sparse]] = units
    elif what == "sparse count":
        forged["rows"][rows[sparse], 0] = 0xFFFF
    elif what == "sparse class":
        forged["rows"][rows[sparse], 1] = columns
    else:
        forged["rare"].view(np.uint8)[-1, 4 * (5 + 5 * 4 // 2) - 2] = (
            columns  # the last pair of the last place
        )
    model_file.write(tmp_path / "forged", true.metadata, forged)
    with pytest.raises(ModelError, match="do not lie where the tables say"):
        Parser.load(tmp_path / "forged")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", []),
        ("labels", ["a"] * 3),
        ("root_label", "none"),
        ("templates", ["Q9.w"]),
        ("templates", 5),
        ("options", {"oracle": "best"}),
        ("options", []),
        ("scale", None),
        ("scale", 10**400),
    ],
)
def test_metadata_that_does_not_fit_is_refused(model: Path, tmp_path: Path, key: str, value: object) -> None:
    true = model_file.read(model)
    model_file.write(tmp_path / "forged", {**true.metadata, key: value}, true.arrays)
    with pytest.raises(ModelError):
        Parser.load(tmp_path / "forged").parse(SAMPLE)
