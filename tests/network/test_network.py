"""The annotator: the same numbers from every kernel and from the twin, whole batches, and damaged models refused."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covington.errors import ModelError, OptionError
from covington.model import file as model_file
from covington.network.network import Network, model_of
from covington.network.quantise import expected
from tests.network.integer_twin import IntegerTwin
from tests.network.samples import network, sentence, treebank

KERNELS = []
for _name in ("plain", "avx2", "avxvnni", "vnni", "neon"):
    with contextlib.suppress(OptionError):  # where this processor has no such kernels
        _options, _vocabulary, *_, _parameters = network(treebank(3))
        if Network(*model_of(_parameters, _vocabulary, _options), kernel=_name).kernel == _name:
            KERNELS.append(_name)

SIZES: list[dict[str, Any]] = [
    {},
    {"oracle": "monotonic"},
    {"form": 20, "subword": 13, "state": 20, "tag": 7, "bottleneck": 33, "slot": 64, "label": 40},
    {"form": 100, "subword": 64, "state": 128, "tag": 48, "bottleneck": 128, "slot": 192, "label": 192},
]


def wild(arrays: dict[str, Any], seed: int) -> dict[str, Any]:
    """Numbers from all of their range, so that every sum is as large as it can be."""
    draw = np.random.default_rng(seed)
    found = dict(arrays)
    for name, values in arrays.items():
        if values.dtype == np.int8:
            found[name] = draw.choice(np.array([-127, -126, -1, 0, 1, 126, 127], np.int8), values.shape)
        elif name.endswith("_scale"):
            found[name] = np.full(values.shape, 10.0 ** draw.integers(-6, 1), np.float32)
        elif values.dtype == np.int16:
            largest = 2047 if name.endswith("_tables") else int(np.abs(values).max())
            found[name] = draw.integers(-largest, largest + 1, values.shape).astype(np.int16)
    if seed == 3:  # ties: Shift scores as LeftArc does, NoArc as RightArc, and relations in pairs
        found["action_weights"][2:] = found["action_weights"][:2]
        found["action_bias"] = np.zeros(4, np.int32)
        found["label_weights"][:, 1::2] = found["label_weights"][
            :, : found["label_weights"].shape[1] // 2 * 2 : 2
        ]
        found["label_bias"] = np.zeros_like(found["label_bias"])
    return found


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_every_kernel_and_the_twin_agree(sizes: dict[str, Any], seed: int) -> None:
    """Tags, heads and relations, number for number; seed 0 is a network, the others are wild, 3 has ties."""
    batch = treebank(14, seed)
    options, vocabulary, corpus, _, parameters = network(batch, **sizes)
    metadata, arrays = model_of(parameters, vocabulary, options)
    if seed:
        arrays = wild(arrays, seed)
    root = vocabulary.labels.index(vocabulary.root_label)
    twin = IntegerTwin(arrays, vocabulary.group_ends, root, options.monotonic)
    annotated = {
        name: [Network(metadata, arrays, name).annotate(batch, retag=retag) for retag in (True, False)]
        for name in KERNELS
    }
    assert "plain" in annotated
    for name, (retagged, kept) in annotated.items():
        assert retagged.equals(annotated["plain"][0]), name
        assert kept.equals(annotated["plain"][1]), name
    values = {group.column: group.values for group in vocabulary.groups}
    for number in range(corpus.sentences):
        read = sentence(corpus, number)
        words = list(zip(read.forms, read.subwords, strict=True))
        row = annotated["plain"][0].slice(number, 1).to_pylist()[0]
        if words:
            tags, heads, labels = twin.run(words)
            assert row["head"] == heads
            assert row["deprel"] == [vocabulary.labels[label] for label in labels]
            assert row["upos"] == [values["upos"][mine[0]] for mine in tags]
            assert row["xpos"] == [values["xpos"][mine[1]] for mine in tags]
            bare = all(text is None for text in batch.column("feats")[number].as_py())
            tags, heads, labels = twin.run(
                words, [[*mine[:2], *([-1] * (len(mine) - 2) if bare else mine[2:])] for mine in read.tags]
            )
            row = annotated["plain"][1].slice(number, 1).to_pylist()[0]
            assert row["head"] == heads
            assert row["deprel"] == [vocabulary.labels[label] for label in labels]
        else:
            assert row["head"] == []


def test_batches_threads_and_order_change_nothing() -> None:
    batch = treebank(150, longest=40)
    options, vocabulary, *_, parameters = network(batch, state=16)
    annotator = Network(*model_of(parameters, vocabulary, options))
    whole = annotator.annotate(batch, retag=True, confidence=True)
    assert annotator.annotate(batch, retag=True, confidence=True).equals(whole)
    for threads in (2, 3):
        assert annotator.annotate(batch, retag=True, confidence=True, threads=threads).equals(whole)
    for size in (1, 7, 64):
        parts = [
            annotator.annotate(batch.slice(k, size), retag=True, confidence=True) for k in range(0, 150, size)
        ]
        assert pa.Table.from_batches(parts).combine_chunks().to_batches()[0].equals(whole)
    chances = [
        chance for row in whole.column("confidence").to_pylist() for chance in row if chance is not None
    ]
    assert chances and all(0.5 <= chance <= 1 for chance in chances)


def test_a_word_in_the_cache_is_that_word() -> None:
    """Words that share a place in the cache, or are too long for it, come out as without it."""
    batch = treebank(3)
    options, vocabulary, *_, parameters = network(batch)
    model = model_of(parameters, vocabulary, options)
    many = [f"w{number}" for number in range(20_000)] + ["y" * 29, "y" * 28, "y" * 300, "", "w1"]
    words = pa.record_batch({"tokens": pa.array([many[k : k + 50] for k in range(0, len(many), 50)] * 2)})
    annotator = Network(*model)
    once = annotator.annotate(words)
    again = annotator.annotate(words.slice(words.num_rows // 2))
    assert again.equals(once.slice(words.num_rows // 2))
    assert Network(*model).annotate(words.slice(words.num_rows // 2)).equals(again)


def test_what_is_given_is_kept() -> None:
    """Sentence by sentence and column by column; an unknown tag too."""
    batch = treebank(30)
    options, vocabulary, *_, parameters = network(batch)
    annotator = Network(*model_of(parameters, vocabulary, options))
    kept = annotator.annotate(batch)
    for column in ("upos", "xpos", "feats"):
        for old, new in zip(batch.column(column).to_pylist(), kept.column(column).to_pylist(), strict=True):
            if column == "feats" and any(old):
                assert new == old
            for before, after in zip(old, new, strict=True):
                assert before is None or after == before
    bare = batch.select(["tokens"])
    assert (
        annotator.annotate(bare)
        .select(["head", "upos"])
        .equals(annotator.annotate(batch, retag=True).select(["head", "upos"]))
    )
    odd = pa.record_batch({"tokens": [["a", "cat"]], "upos": [["NEW", None]]})
    assert annotator.annotate(odd).column("upos").to_pylist()[0][0] == "NEW"
    with pytest.raises(OptionError):
        annotator.annotate(batch, threads=0)


def test_empty_batches() -> None:
    options, vocabulary, *_, parameters = network(treebank(5))
    annotator = Network(*model_of(parameters, vocabulary, options))
    for tokens in ([], [[]], [[], ["a"], []]):
        batch = pa.record_batch({"tokens": pa.array(tokens, pa.list_(pa.string()))})
        found = annotator.annotate(batch, confidence=True)
        assert [len(row) for row in found.column("head").to_pylist()] == [len(row) for row in tokens]


def test_a_long_sentence() -> None:
    options, vocabulary, *_, parameters = network(treebank(5), oracle="static")
    annotator = Network(*model_of(parameters, vocabulary, options))
    heads = annotator.annotate(pa.record_batch({"tokens": [["cat", "sat"] * 300]})).column("head")[0].as_py()
    assert len(heads) == 600 and heads.count(0) == 1


def test_sentences_that_are_too_long() -> None:
    options, vocabulary, *_, parameters = network(treebank(5))
    annotator = Network(*model_of(parameters, vocabulary, options))
    batch = pa.record_batch({"tokens": [["a", "cat"], ["a"] * 9, ["mat"]], "upos": [None, ["X"] * 9, None]})
    found = annotator.annotate(batch, max_length=8)
    assert found.column("head").to_pylist()[1] == [None] * 9 == found.column("deprel").to_pylist()[1]
    assert found.column("upos").to_pylist()[1] == ["X"] * 9
    assert found.column("xpos").to_pylist()[1] == found.column("feats").to_pylist()[1] == [None] * 9
    whole = annotator.annotate(batch)
    assert found.take([0, 2]).equals(whole.take([0, 2]))


def test_kernels_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    options, vocabulary, *_, parameters = network(treebank(5))
    model = model_of(parameters, vocabulary, options)
    for name in KERNELS:
        monkeypatch.setenv("COVINGTON_KERNEL", name)
        assert Network(*model).kernel == name
    monkeypatch.setenv("COVINGTON_KERNEL", "abacus")
    with pytest.raises(OptionError, match="abacus"):
        Network(*model)


def test_model_file(tmp_path: Any) -> None:
    """Through a file and back, with the same bytes each time."""
    batch = treebank(20)
    options, vocabulary, *_, parameters = network(batch)
    metadata, arrays = model_of(parameters, vocabulary, options)
    checksum = model_file.write(tmp_path / "one", metadata, arrays)
    assert model_file.write(tmp_path / "two", *model_of(parameters, vocabulary, options)) == checksum
    found = model_file.read(tmp_path / "one")
    assert (
        Network(found.metadata, found.arrays)
        .annotate(batch)
        .equals(Network(metadata, arrays).annotate(batch))
    )


def damaged_arrays(arrays: dict[str, Any], name: str, kind: str) -> dict[str, Any]:
    found = {key: values.copy() for key, values in arrays.items()}
    if kind == "missing":
        del found[name]
    elif kind == "type":
        found[name] = found[name].astype(np.float64)
    elif kind == "shape":
        found[name] = np.concatenate((found[name], found[name][:1]))
    elif kind == "flat":
        found[name] = found[name].reshape(1, -1) if found[name].ndim == 1 else found[name].reshape(-1)
    else:
        values = {"nan": np.nan, "infinite": -np.inf, "huge": 1e30, "large": 32767, "low": -128}
        found[name].reshape(-1)[-1] = values[kind]
    return found


def test_damaged_arrays_are_refused() -> None:
    options, vocabulary, *_, parameters = network(treebank(8))
    metadata, arrays = model_of(parameters, vocabulary, options)
    tried = 0
    for name, (dtype, _) in expected(options, vocabulary).items():
        kinds = ["missing", "type", "shape", "flat"]
        kinds += {"float32": ["nan", "infinite", "huge"], "int8": ["low"], "int16": ["large"]}.get(dtype, [])
        for kind in kinds:
            with pytest.raises(ModelError):
                Network(metadata, damaged_arrays(arrays, name, kind))
            tried += 1
    assert tried > 150
    twice = dict(arrays, form_hashes=np.zeros_like(arrays["form_hashes"]))
    with pytest.raises(ModelError, match="twice"):
        Network(metadata, twice)


@settings(max_examples=40)
@given(st.data())
def test_arrays_of_any_bytes_are_refused_or_harmless(data: st.DataObject) -> None:
    """Bytes drawn at random in an array: a ModelError, or a network that annotates, the same from each kernel."""
    options, vocabulary, *_, parameters = network(treebank(4))
    metadata, arrays = model_of(parameters, vocabulary, options)
    name = data.draw(st.sampled_from(sorted(arrays)))
    draw = np.random.default_rng(data.draw(st.integers(0, 1000)))
    noise = np.frombuffer(draw.bytes(arrays[name].nbytes), arrays[name].dtype).reshape(arrays[name].shape)
    some = draw.random(arrays[name].shape) < data.draw(st.sampled_from([0.01, 0.5, 1.0]))
    changed = {**arrays, name: np.where(some, noise, arrays[name])}
    try:
        found = [
            Network(metadata, changed, kernel).annotate(treebank(3), retag=True, confidence=True)
            for kernel in KERNELS
        ]
    except ModelError:
        return
    assert all(one.equals(found[0]) for one in found)


WILD = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=100)
@given(st.data())
def test_damaged_metadata_is_refused_or_harmless(data: st.DataObject) -> None:
    """One value of the metadata replaced by another: a ModelError, or a network that still annotates."""
    options, vocabulary, *_, parameters = network(treebank(4))
    metadata, arrays = model_of(parameters, vocabulary, options)
    changed = json.loads(json.dumps(metadata))
    place: Any = changed
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if isinstance(inner, (dict, list)) and inner and data.draw(st.booleans()):
            place = inner
            continue
        place[key] = data.draw(WILD)
        break
    try:
        annotator = Network(changed, arrays)
    except ModelError:
        return
    annotator.annotate(treebank(3), retag=True)
