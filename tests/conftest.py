"""Settings of all tests, a small model, and a corpus with good and bad sentences."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import settings

from covington.corpus.reading import read_sentences
from covington.engine.epochs import Training
from covington.learning.text_model import TextTraining
from covington.model.options import TrainingOptions
from covington.network.options import NetworkOptions
from tests.support.sample import SAMPLE, with_bad_sentences

# A busy machine is no error: examples may take their time.
settings.register_profile("covington", deadline=None)
settings.load_profile("covington")


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a model trained on the sample."""
    path = str(tmp_path_factory.mktemp("model") / "small.covington")
    Training((SAMPLE,), path, options=TrainingOptions(epochs=3)).run_plain(lambda record: None)
    return path


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three files: 40 times the sample, one compressed, one with bad sentences in it."""
    folder = tmp_path_factory.mktemp("corpus")
    text = Path(SAMPLE).read_bytes()
    (folder / "a.conllu").write_bytes(text * 40)
    (folder / "b.conllu.gz").write_bytes(gzip.compress(text * 3, mtime=0))
    (folder / "c.conllu").write_bytes(with_bad_sentences(text))
    return folder


@pytest.fixture(scope="session")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a small model that reads text, trained on the sample."""
    path = str(tmp_path_factory.mktemp("model") / "text.covington")
    sizes = dict.fromkeys(("form", "subword", "state", "tag", "bottleneck", "slot", "label"), 32)
    options = NetworkOptions(epochs=60, rate=0.01, buckets=1024, dropout=0.0, word_dropout=0.0, **sizes)
    TextTraining(list(read_sentences(SAMPLE)), [], options).run(path)
    return path
