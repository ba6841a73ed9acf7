"""Epochs, the optimiser's rules, and models that are the same bytes whatever trained them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from covington.errors import DataError, ModelError, OptionError
from covington.model import file as model_file
from covington.network.floats import Floats, draw_key
from covington.network.layers import Layers
from covington.network.network import Network, calibrated, model_of, train_network
from covington.network.options import NetworkOptions
from covington.network.training import Adam, Training, batch_words, batches_of, score, train
from covington.network.vocabulary import Corpus, Survey, Vocabulary, encode
from tests.network.samples import SMALL, treebank
from tests.network.test_floats import KERNELS


def prepared(sentences: int, **options: Any) -> tuple[NetworkOptions, Vocabulary, Corpus]:
    chosen = NetworkOptions(**{**SMALL, **options})
    survey = Survey()
    batch = treebank(sentences)
    survey.add(batch)
    vocabulary = survey.vocabulary()
    return chosen, vocabulary, encode([batch], vocabulary, chosen.buckets)


def trained(
    options: NetworkOptions, vocabulary: Vocabulary, corpus: Corpus, kernels: Floats | None = None
) -> Any:
    training = Training.begin(options, vocabulary)
    if kernels is not None:
        training.layers = Layers(options, vocabulary, kernels)
        training.adam = Adam(training.layers, training.parameters)
    reports = [training.run_epoch(corpus) for _ in range(options.epochs)]
    return training, reports


def all_bytes(arrays: dict[str, Any]) -> bytes:
    return b"".join(arrays[name].tobytes() for name in sorted(arrays))


def test_every_sentence_once() -> None:
    options, _, corpus = prepared(90)
    for epoch in (1, 2):
        batches = batches_of(corpus, 30, draw_key(options.seed, epoch))
        words = np.concatenate([batch.words for batch in batches])
        assert sorted(words.tolist()) == list(range(corpus.words))
        assert max(len(batch.words) for batch in batches) < 30 + 9
        for batch in batches:
            for place, number in enumerate(batch.sentences):
                rows = [batch.starts[time] + place for time in range(batch.lengths[place])]
                first = corpus.offsets[number]
                assert batch.words[rows].tolist() == list(range(first, first + batch.lengths[place]))
    one, other = (batches_of(corpus, 30, draw_key(1, epoch))[0].words.tolist() for epoch in (1, 2))
    assert one != other


def test_batch_sizes() -> None:
    assert batch_words(NetworkOptions(), 20_000) == 100
    assert batch_words(NetworkOptions(), 4_000_000) == 400
    assert 100 < batch_words(NetworkOptions(), 60_000) < 400
    assert batch_words(NetworkOptions(batch=7), 60_000) == 7


@pytest.mark.parametrize("options", [{}, {"target": "paper", "given": 50}, {"oracle": "static"}], ids=str)
def test_models_are_the_same_bytes_from_every_kernel(options: dict[str, Any]) -> None:
    parts = prepared(30, **options)
    models = []
    for kernels in KERNELS:
        training, _ = trained(*parts, kernels)
        models.append(all_bytes(training.parameters))
    assert len(models) >= 1 and len(set(models)) == 1
    again, _ = trained(*parts)
    assert all_bytes(again.parameters) == models[0]
    other, _ = trained(NetworkOptions(**{**parts[0].to_dict(), "seed": 2}), *parts[1:])
    assert all_bytes(other.parameters) != models[0]


def test_learning() -> None:
    """A small treebank is learnt nearly by heart, and its integers say what its floats say."""
    options, vocabulary, corpus = prepared(
        40,
        state=32,
        slot=64,
        label=32,
        bottleneck=32,
        form=16,
        subword=16,
        epochs=60,
        batch=10,
        dropout=0.0,
        word_dropout=0.0,
    )
    training, reports = trained(options, vocabulary, corpus)
    assert reports[-1].right / reports[-1].steps > 0.95
    scores = training.scores(corpus)
    assert scores["las"] > 95 and scores["upos"] > 99 and scores["feats"] > 95
    found = Network(*model_of(training.parameters, vocabulary, options)).annotate(treebank(40), retag=True)
    heads = np.concatenate([np.array(row or [], np.int32) for row in found.column("head").to_pylist()])
    assert (heads == corpus.heads).mean() > 0.95


def test_calibration() -> None:
    """On sentences that were not learnt from, the mean confidence is near the share of right arcs; trees stay."""
    options, vocabulary, corpus = prepared(30, epochs=12, batch=20, target="paper", given=0)
    training, _ = trained(options, vocabulary, corpus)
    metadata, arrays = model_of(training.parameters, vocabulary, options)
    unseen = treebank(200, seed=9)
    after = calibrated(metadata, arrays, [unseen.slice(0, 120), unseen.slice(120)])

    def distance(model: dict[str, Any]) -> float:
        found = Network(metadata, model).annotate(unseen, retag=True, confidence=True)
        pairs = zip(
            *(
                c.flatten().to_pylist()
                for c in (found.column("confidence"), found.column("head"), unseen.column("head"))
            ),
            strict=True,
        )
        built = [(chance, head == gold) for chance, head, gold in pairs if chance is not None]
        chances, right = zip(*built, strict=True)
        return abs(float(np.mean(chances)) - float(np.mean(right)))

    assert distance(after) < 0.05 < distance(arrays)
    one, other = (Network(metadata, model).annotate(unseen, retag=True) for model in (arrays, after))
    assert one.equals(other)
    assert (np.diff(after["confidence"]) >= 0).all() and (np.diff(arrays["confidence"]) >= 0).all()
    assert calibrated(metadata, arrays, [])["confidence"].tolist() == arrays["confidence"].tolist()


def test_the_best_epoch_is_kept() -> None:
    options, vocabulary, corpus = prepared(30, epochs=6)
    seen: list[int] = []
    best, reports = train(corpus, corpus, options, vocabulary, lambda report: seen.append(report.epoch))
    assert seen == [report.epoch for report in reports] == [1, 2, 3, 4, 5, 6]
    scores = [report.dev["las"] for report in reports if report.dev]
    layers = Layers(options, vocabulary)
    assert score(corpus, vocabulary, *layers.predict(best, corpus))["las"] == max(scores)
    last, reports = train(corpus, None, options, vocabulary)
    assert reports[-1].dev is None
    assert all_bytes(last) == all_bytes(trained(options, vocabulary, corpus)[0].parameters)


def test_options() -> None:
    assert NetworkOptions.from_dict(NetworkOptions(given=30).to_dict()) == NetworkOptions(given=30)
    for wrong in (
        {"state": 0},
        {"oracle": "delphi"},
        {"dropout": 1.5},
        {"epochs": 0},
        {"rate": 0.0},
        {"given": 101},
    ):
        with pytest.raises(OptionError):
            NetworkOptions(**wrong)


def test_data_that_cannot_be_learnt_from() -> None:
    batch = treebank(5)
    survey = Survey()
    survey.add(batch.drop_columns(["deprel"]))
    with pytest.raises(DataError, match="deprel"):
        survey.vocabulary()
    survey = Survey()
    survey.add(batch.select(["tokens", "head", "deprel"]))
    with pytest.raises(DataError, match="no tags"):
        survey.vocabulary()
    survey = Survey()
    survey.add(batch)
    vocabulary = survey.vocabulary()
    with pytest.raises(DataError, match="not a tree"):
        encode([batch.drop_columns(["head"])], vocabulary, 97)
    half = Survey(), Survey()
    half[0].add(batch.slice(0, 2))
    half[1].add(batch.slice(2))
    both = (half[0] + half[1]).vocabulary()
    assert both.groups == vocabulary.groups and both.labels == vocabulary.labels
    assert both.forms.tolist() == vocabulary.forms.tolist()


def test_resumed_training(tmp_path: Any) -> None:
    """Through a file after every epoch: the same bytes as in one go."""
    options, vocabulary, corpus = prepared(25)
    whole, _ = trained(options, vocabulary, corpus)
    training = Training.begin(options, vocabulary)
    for _ in range(options.epochs):
        training.run_epoch(corpus)
        model_file.write(tmp_path / "state", *training.state())
        found = model_file.read(tmp_path / "state")
        training = Training.resumed(found.metadata, found.arrays)
    assert all_bytes(training.parameters) == all_bytes(whole.parameters)
    metadata, arrays = training.state()
    for name in arrays:
        for damaged in (arrays[name][:-1], arrays[name].astype(np.float64)):
            with pytest.raises(ModelError):
                Training.resumed(metadata, {**arrays, name: damaged})
        with pytest.raises(ModelError):
            Training.resumed(metadata, {key: values for key, values in arrays.items() if key != name})
    for name in metadata:
        with pytest.raises(ModelError):
            Training.resumed({**metadata, name: None}, arrays)


def test_mixed_shards() -> None:
    """One shard mixed is plain training; of two, every number lies between theirs."""
    options, vocabulary, corpus = prepared(25)
    whole, _ = trained(options, vocabulary, corpus)
    training = Training.begin(options, vocabulary)
    for _ in range(options.epochs):
        part = Training.resumed(*training.state())
        part.run_epoch(corpus, 0, corpus.words)
        training.mix([part], [corpus.words])
    assert all_bytes(training.parameters) == all_bytes(whole.parameters)
    parts = [Training.resumed(*training.state()) for _ in range(2)]
    for shard, part in enumerate(parts):
        part.run_epoch(corpus, shard, 2 * corpus.words)
    assert all_bytes(parts[0].parameters) != all_bytes(parts[1].parameters)
    training.mix(parts, [3, 1])
    for name, values in training.parameters.items():
        one, other = (part.parameters[name].astype(np.float64) for part in parts)
        np.testing.assert_allclose(values, 0.75 * one + 0.25 * other, atol=1e-6)
    with pytest.raises(OptionError):
        training.mix(parts, [0, 0])


def test_train_network() -> None:
    """From batches to a model that is calibrated; the same bytes again, and dev may have what was not trained on."""
    options = NetworkOptions(**SMALL)
    sentences, dev = treebank(30), treebank(12, seed=8, longest=15)
    reports: list[Any] = []
    metadata, arrays = train_network(
        [sentences.slice(0, 20), sentences.slice(20)], [dev], options, reports.append
    )
    assert [report.epoch for report in reports] == [1, 2, 3] and all(report.dev for report in reports)
    assert all_bytes(train_network([sentences], [dev], options)[1]) == all_bytes(arrays)
    assert arrays["confidence"].tolist() != train_network([sentences], [], options)[1]["confidence"].tolist()
    assert Network(metadata, arrays).annotate(dev).num_rows == 12
    assert metadata["many_roots"] is False
