"""Training: one shard is the plain trainer, shards are the same on every runner, and it can be taken up again."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest

from covington.commands.cli import main
from covington.engine import epochs
from covington.engine.epochs import Training, best_epoch, dealt, read_all
from covington.errors import CovingtonError, DataError, ModelError, OptionError
from covington.files.storage import remove
from covington.learning import training
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import survey
from covington.model import file as model_file
from covington.model.options import TrainingOptions
from covington.parsing.parser import Parser
from covington.pipelines import Runner
from covington.pipelines.train import TrainJob, TrainParser
from tests.support.sample import SAMPLE

OPTIONS = TrainingOptions(epochs=4)
ONE = Runner(threads=1)


def train(path: Path, runner: Runner | None = ONE, **more: Any) -> bytes:
    """Train on the sample and give back the bytes of the model."""
    work = Training(**({"inputs": (SAMPLE,), "model": str(path), "options": OPTIONS} | more))
    TrainJob(work, runner).run()
    assert not Path(work.folder).exists()
    return path.read_bytes()


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The model of the core's own loop."""
    batches = list(read_all((SAMPLE,)))
    found = survey(batches)
    weights = Weights(found.classes(OPTIONS).count)
    shard = training.prepare(batches, OPTIONS, found)
    for epoch in range(1, OPTIONS.epochs + 1):
        training.train_epoch(weights, shard, epoch)
    path = tmp_path_factory.mktemp("serial") / "model"
    freeze(weights, OPTIONS, found, path, {"epoch": OPTIONS.epochs, "shards": 1})
    return path.read_bytes()


@pytest.fixture(scope="module")
def three_shards(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return train(tmp_path_factory.mktemp("three") / "model", shards=3)


def test_plain_is_the_core(serial: bytes, tmp_path: Path) -> None:
    assert train(tmp_path / "model", None) == serial


def test_one_shard_on_beam_is_the_core(serial: bytes, tmp_path: Path) -> None:
    assert train(tmp_path / "model") == serial


@pytest.mark.parametrize("mode", ["multi_threading", "multi_processing"])
def test_modes_of_the_direct_runner_change_no_byte(mode: str, three_shards: bytes, tmp_path: Path) -> None:
    runner = Runner((f"--direct_running_mode={mode}", "--direct_num_workers=2"))
    assert train(tmp_path / "model", runner, shards=3) == three_shards


def test_shards_without_sentences_learn_nothing(tmp_path: Path) -> None:
    options = TrainingOptions(epochs=2)
    train(tmp_path / "model", shards=60, options=options)  # the sample has fewer sentences
    assert Parser.load(tmp_path / "model").metadata["shards"] == 60


@pytest.mark.parametrize("environment", ["LOOPBACK", "EXTERNAL"])
def test_the_portable_runner_changes_no_byte(
    environment: str, three_shards: bytes, tmp_path: Path, job_service: str, worker_pool: str
) -> None:
    flags = ("--runner=PortableRunner", f"--job_endpoint={job_service}", f"--environment_type={environment}")
    more = (f"--environment_config={worker_pool}",) if environment == "EXTERNAL" else ()
    assert train(tmp_path / "model", Runner((*flags, *more)), shards=3) == three_shards


@pytest.mark.parametrize(("shards", "runner"), [(1, None), (1, ONE), (3, ONE)])
def test_a_training_goes_on_after_its_last_epoch(
    shards: int, runner: Runner | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev = {"dev": (SAMPLE,)}
    wanted = train(tmp_path / "whole", runner, shards=shards, **dev)
    learn = training.train_epoch
    begun: list[int] = []

    def dies_in_the_third(weights: Weights, shard: training.Shard, epoch: int, number: int = 0) -> Any:
        if epoch == 3 and number == shards - 1:
            raise CovingtonError("the power went")
        begun.append(epoch)
        return learn(weights, shard, epoch, number)

    monkeypatch.setattr(training, "train_epoch", dies_in_the_third)
    with pytest.raises(CovingtonError, match="the power went"):
        train(tmp_path / "half", runner, shards=shards, **dev)
    assert not (tmp_path / "half").exists()
    with pytest.raises(OptionError, match="not finished, with other inputs or options"):
        train(tmp_path / "half", runner, shards=shards, options=TrainingOptions(epochs=4, seed=7), **dev)
    monkeypatch.setattr(training, "train_epoch", lambda *given: (begun.append(given[2]), learn(*given))[1])
    begun.clear()
    assert train(tmp_path / "half", runner, shards=shards, **dev) == wanted
    assert min(begun) == 3


def interrupted(path: Path, epoch: int) -> Training:
    """A training in three shards that ends after an epoch, in a process that is no more."""
    work = Training((SAMPLE,), str(path), options=OPTIONS, shards=3)
    work.begin()
    for one in range(1, epoch + 1):
        work.finish_epoch(one, [report for shard in range(3) if (report := work.train_part(one, shard))])
    epochs._resident.weights = None
    return work


@pytest.mark.parametrize(
    ("most_behind", "most_changes", "weights", "changes"),
    [
        (0, 256, ["epoch-00003.weights"], 0),
        (1, 256, ["epoch-00001.weights"], 6),
        (1000, 256, [], 9),
        (1000, 6, ["epoch-00003.weights"], 0),
    ],
)
def test_what_an_epoch_ends_with_is_in_weights_or_in_changes(
    most_behind: int,
    most_changes: int,
    weights: list[str],
    changes: int,
    three_shards: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(epochs, "MOST_BEHIND", most_behind)
    monkeypatch.setattr(epochs, "MOST_CHANGES", most_changes)
    folder = Path(interrupted(tmp_path / "model", 3).folder)
    assert [path.name for path in folder.glob("*.weights")] == weights
    assert len(list(folder.glob("*.changes"))) == changes
    (folder / "epoch-00004-shard-00000-of-00003-abcd.changes").write_bytes(b"of a worker that was killed")
    assert train(tmp_path / "model", shards=3) == three_shards


def test_weights_do_not_change_while_a_shard_copies_them(tmp_path: Path) -> None:
    work = interrupted(tmp_path / "model", 1)
    reports = [report for shard in range(3) if (report := work.train_part(2, shard))]
    resident = epochs._resident
    resident.copies += 1
    mixing = threading.Thread(target=work.finish_epoch, args=(2, reports))
    mixing.start()
    mixing.join(0.5)
    assert mixing.is_alive()
    assert len(work.records()) == 1
    with resident.lock:
        resident.copies -= 1
        resident.lock.notify_all()
    mixing.join()
    assert len(work.records()) == 2


def test_who_has_the_weights_of_an_earlier_epoch_mixes_what_came_since(
    three_shards: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epochs, "MOST_BEHIND", 1000)
    path = str(tmp_path / "model")
    work = interrupted(tmp_path / "model", 1)
    work.train_part(2, 0)  # takes them into memory
    early = epochs._resident.weights, epochs._resident.checksum
    assert early[0] is not None
    epochs._resident.weights = None
    again = Training((SAMPLE,), path, options=OPTIONS, shards=3)  # on another machine
    again.begin()
    for epoch in (2, 3):
        again.finish_epoch(epoch, [one for shard in range(3) if (one := again.train_part(epoch, shard))])
    epochs._resident.weights, epochs._resident.checksum = early
    loads: list[Path] = []
    load = training.load_changes
    monkeypatch.setattr(training, "load_changes", lambda path: (loads.append(path), load(path))[1])
    again.train_part(4, 0)
    assert [re.sub("-shard.*", "", path.name) for path in loads] == 3 * ["epoch-00002"] + 3 * ["epoch-00003"]
    assert train(tmp_path / "model", shards=3) == three_shards


def test_trainings_side_by_side_in_one_process(
    three_shards: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first epoch they have the same changes, and not the same weights."""
    monkeypatch.setattr(epochs, "MOST_BEHIND", 1000)
    works = [
        Training((SAMPLE,), str(tmp_path / mixing), options=OPTIONS, shards=3, mixing=mixing)
        for mixing in ("uniform", "geometric")
    ]
    for work in works:
        work.begin()
    for epoch in range(1, OPTIONS.epochs + 1):
        for work in works:
            work.finish_epoch(epoch, [one for shard in range(3) if (one := work.train_part(epoch, shard))])
    for work in works:
        work.keep_model()
    assert (tmp_path / "geometric").read_bytes() == three_shards
    assert (tmp_path / "uniform").read_bytes() == train(tmp_path / "alone", shards=3, mixing="uniform")


def test_steps_that_a_runner_repeats_change_nothing(three_shards: bytes, tmp_path: Path) -> None:
    work = interrupted(tmp_path / "model", 1)
    reports = [work.train_part(2, shard) for shard in range(3)]
    first = Path(work.changes_path(2, 0)).read_bytes()
    assert work.train_part(2, 0) == reports[0]
    assert Path(work.changes_path(2, 0)).read_bytes() == first
    for _ in range(2):
        work.finish_epoch(2, [report for report in reports if report])
        assert work.train_part(2, 0) is None
    assert train(tmp_path / "model", shards=3) == three_shards


def test_changes_that_are_not_those_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "MOST_BEHIND", 1000)
    work = interrupted(tmp_path / "model", 2)
    first, second = (Path(work.changes_path(1, shard)) for shard in (0, 1))
    kept = first.read_bytes()
    for wrong, message in (
        (second.read_bytes(), "the changes of epoch 1 are not those of its record"),
        (kept[:-1] + bytes([kept[-1] ^ 1]), "damaged"),
    ):
        first.write_bytes(wrong)
        with pytest.raises(ModelError, match=f"{message}.*the training begins anew"):
            train(tmp_path / "model", shards=3)
    first.unlink()
    with pytest.raises(CovingtonError, match=re.escape(first.name)):
        train(tmp_path / "model", shards=3)


def test_weights_that_are_not_those_of_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "MOST_BEHIND", 0)
    work = interrupted(tmp_path / "model", 2)
    training.save_weights(Weights(3), work.weights_path(2))
    with pytest.raises(ModelError, match=r"not the weights of checksum .*the training begins anew"):
        train(tmp_path / "model", shards=3)


def test_what_a_training_holds_is_free_when_it_is_over(tmp_path: Path) -> None:
    """Also where nobody takes its folder away, as in a pipeline of one's own."""
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        _ = pipeline | TrainParser(Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS, shards=2))
    assert epochs._resident.weights is None and not epochs._resident.spare
    assert epochs.prepared.cache_info().currsize == 0


@pytest.mark.parametrize("runner", [None, ONE])
def test_early_stopping_and_the_best_epoch(
    runner: Runner | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    las = iter([50.0, 70.0, 60.0, 70.0, 99.0])
    monkeypatch.setattr(
        epochs, "dev_scores", lambda model, dev, threads: {"dev_uas": 0.0, "dev_las": next(las)}
    )
    work = Training(
        (SAMPLE,), str(tmp_path / "model"), (SAMPLE,), TrainingOptions(epochs=5), patience=2, keep="best"
    )
    told: list[dict[str, Any]] = []
    kept = TrainJob(work, runner).run(told.append)
    assert [record["dev_las"] for record in told] == [50.0, 70.0, 60.0, 70.0]
    assert kept["epoch"] == best_epoch(told) == 2
    monkeypatch.undo()
    train(tmp_path / "other", options=TrainingOptions(epochs=2))
    best, other = (model_file.read(tmp_path / name) for name in ("model", "other"))
    assert best.metadata["epoch"] == other.metadata["epoch"] == 2
    assert best.arrays.keys() == other.arrays.keys()
    for name, array in best.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name])


@pytest.mark.parametrize("runner", [None, ONE])
@pytest.mark.parametrize("which", ["inputs", "dev"])
def test_data_that_change_meanwhile_are_noticed(
    runner: Runner | None, which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("inputs", "dev"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.conllu").write_bytes(Path(SAMPLE).read_bytes())
    learn = training.train_epoch

    def meanwhile(weights: Weights, shard: Any, epoch: int, number: int) -> Any:
        if epoch == 2:
            (tmp_path / which / "b.conllu").write_bytes(Path(SAMPLE).read_bytes())
        return learn(weights, shard, epoch, number)

    monkeypatch.setattr(training, "train_epoch", meanwhile)
    data = {name: (str(tmp_path / name),) for name in {"inputs", which}}
    with pytest.raises(CovingtonError, match="the data have changed"):
        train(tmp_path / "model", runner, **data)
    assert not (tmp_path / "model").exists()
    (tmp_path / which / "b.conllu").unlink()
    monkeypatch.undo()
    train(tmp_path / "model", runner, **data)


def test_mixing_by_updates_is_another_model(three_shards: bytes, tmp_path: Path) -> None:
    assert train(tmp_path / "model", shards=3, mixing="updates") != three_shards


def test_every_sentence_is_in_one_shard() -> None:
    batches = [
        batch.slice(first, 4) for batch in read_all((SAMPLE,)) for first in range(0, batch.num_rows, 4)
    ]
    assert len(batches) > 5
    whole = [row["sent_id"] for batch in batches for row in batch.to_pylist()]
    parts = [
        [row["sent_id"] for batch in dealt(iter(batches), shard, 5) for row in batch.to_pylist()]
        for shard in range(5)
    ]
    assert [sorted(part, key=whole.index) for part in parts] == [whole[shard::5] for shard in range(5)]


def test_the_command_tells_of_every_epoch(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "train",
        SAMPLE,
        "-o",
        str(tmp_path / "m"),
        "--epochs",
        "2",
        "--dev",
        SAMPLE,
        "--shards",
        "2",
        "--json",
    ]
    assert main(arguments) == 0
    output, errors = capfd.readouterr()
    records = [json.loads(line) for line in output.splitlines()]
    assert [record["epoch"] for record in records] == [1, 2]
    assert all(0 < record["dev_las"] <= 100 for record in records)
    assert errors == ""


def test_more_epochs_than_beam_takes_in_one_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "small.conllu"
    small.write_text("".join(Path(SAMPLE).read_text().partition("\n\n")[:2]))
    whole, parts = (
        Training((str(small),), str(tmp_path / name), options=TrainingOptions(epochs=5), shards=2)
        for name in ("whole", "parts")
    )
    TrainJob(whole, Runner(threads=1)).run()
    monkeypatch.setattr("covington.pipelines.train.MOST_EPOCHS", 2)
    told: list[dict[str, Any]] = []
    TrainJob(parts, Runner(threads=1)).run(told.append)
    assert [record["epoch"] for record in told] == [1, 2, 3, 4, 5]
    assert Path(parts.model).read_bytes() == Path(whole.model).read_bytes()
    with pytest.raises(OptionError, match="TrainJob makes several graphs"):
        TrainParser(parts)


def test_a_training_that_is_over_is_not_in_the_way(tmp_path: Path) -> None:
    for last in (1, 2):
        work = Training((SAMPLE,), str(tmp_path / "m"), options=TrainingOptions(epochs=last), shards=2)
        with beam.Pipeline(runner="FnApiRunner") as pipeline:
            _ = pipeline | TrainParser(work)
        assert model_file.read(tmp_path / "m").metadata["epoch"] == last


@pytest.mark.parametrize("prune", [-1.0, float("nan"), float("inf")])
def test_what_cannot_be_pruned(prune: float) -> None:
    with pytest.raises(OptionError, match="prune must be 0 or more"):
        Training((SAMPLE,), "m", prune=prune)


def test_a_damaged_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    work = Training((SAMPLE,), str(tmp_path / "m"), options=TrainingOptions(epochs=2))
    told: list[dict[str, Any]] = []

    def stop(record: dict[str, Any]) -> None:
        told.append(record)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.run_plain(stop)
    path = Path(work.weights_path(1))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="the training begins anew"):
        work.run_plain(told.append)


def test_somebody_elses_folder_is_not_taken(tmp_path: Path) -> None:
    """The files between epochs have a folder of a name that may be taken; what is not ours stays."""
    folder = tmp_path / "model.training"
    folder.mkdir()
    (folder / "train.conllu").write_bytes(Path(SAMPLE).read_bytes())
    with pytest.raises(OptionError, match="is an input"):
        train(tmp_path / "model", inputs=(str(folder),))
    with pytest.raises(OptionError, match=r"train\.conllu is in the way"):
        train(tmp_path / "model")
    assert (folder / "train.conllu").read_bytes() == Path(SAMPLE).read_bytes()


@pytest.mark.parametrize("shards", [1, 2])
def test_an_error_before_the_first_epoch_leaves_nothing(shards: int, tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text("1\ta" + 8 * "\t_" + "\n\n")
    call = ["train", str(tmp_path / "bad.conllu"), "-o", str(tmp_path / "model"), "--shards", str(shards)]
    assert main(call) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.conllu"]


@pytest.mark.parametrize("name", ["training.log", "kept.txt", "sub/kept.json", "epoch-1.weights"])
def test_only_our_own_names_are_ours(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "model.training" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    with pytest.raises(OptionError, match="is in the way"):
        train(tmp_path / "model", None)
    assert mine.read_text() == "precious"


@pytest.mark.parametrize("name", ["note.txt", "epoch-1.weights"])
def test_what_comes_into_the_folder_meanwhile_stays(name: str, tmp_path: Path) -> None:
    work = Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS)
    note = Path(work.folder) / name
    work.run_plain(lambda record: note.write_text("precious") and None)
    assert [path.name for path in Path(work.folder).iterdir()] == [name]


def test_a_folder_that_is_a_link_holds_no_old_epochs(serial: bytes, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "model.training").symlink_to("scratch")
    first = Training(
        (SAMPLE,), str(tmp_path / "model"), options=TrainingOptions(epochs=4, oracle="static", seed=7)
    )
    first.run_plain(lambda record: None)
    assert not list((tmp_path / "scratch").iterdir())
    Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS).run_plain(lambda record: None)
    assert (tmp_path / "model").read_bytes() == serial


def test_a_folder_in_the_folder_stays(tmp_path: Path) -> None:
    work = Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS)
    inside = Path(work.folder) / "mine"
    work.run_plain(lambda record: inside.mkdir(exist_ok=True))
    assert inside.is_dir()


def test_a_foreign_training_json(tmp_path: Path, serial: bytes) -> None:
    (tmp_path / "model.training").mkdir()
    (tmp_path / "model.training" / "training.json").write_text("[]")
    assert train(tmp_path / "model", None) == serial


def test_weights_of_other_classes_do_not_fit() -> None:
    batches = list(read_all((SAMPLE,)))
    found = survey(batches)
    shard = training.prepare(batches, OPTIONS, found)
    with pytest.raises(ModelError, match="do not fit"):
        training.train_epoch(Weights(3), shard, 1)


def test_a_late_worker_leaves_nothing_in_the_next_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It began before the folder was taken and ends after; the other training does not hear of it."""
    one = Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS, shards=2)
    other = Training((SAMPLE,), str(tmp_path / "model"), options=TrainingOptions(epochs=4, seed=2), shards=2)
    one.begin()
    one.look()
    learn = training.train_epoch

    def slowly(*arguments: Any) -> Any:
        other.begin(overwrite=True)
        return learn(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(training, "train_epoch", slowly)
        with pytest.raises(CovingtonError, match="another training has taken"):
            one.train_part(1, 0)
    assert [path.name for path in Path(one.folder).iterdir()] == ["training.json"]
    with pytest.raises(CovingtonError, match="another training has taken"):
        one.finish()
    assert one.changes_path(1, 0) != other.changes_path(1, 0)


def test_a_late_worker_leaves_the_best_model_of_the_next_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is taken while it scores, and the score is better than the other's first."""
    from covington.engine import epochs

    class StopError(Exception):
        pass

    def stop(_: object) -> None:
        raise StopError

    one = Training((SAMPLE,), str(tmp_path / "model"), (SAMPLE,), TrainingOptions(epochs=1))
    other = Training((SAMPLE,), str(tmp_path / "model"), (SAMPLE,), TrainingOptions(epochs=2, seed=2))
    scored: list[str] = []

    def dev_scores(model: str, dev: object, threads: int) -> dict[str, float]:
        scored.append(model)
        if len(scored) == 2:
            return {"dev_uas": 10.0, "dev_las": 10.0}
        with pytest.raises(StopError):
            other.run_plain(stop, overwrite=True)
        return {"dev_uas": 90.0, "dev_las": 90.0}

    monkeypatch.setattr(epochs, "dev_scores", dev_scores)
    with pytest.raises(CovingtonError, match="another training has taken"):
        one.run_plain(stop)
    assert len(scored) == 2
    assert model_file.read(other.model_path(1)).metadata["options"]["seed"] == 2


def test_a_training_whose_folder_was_taken_ends(tmp_path: Path) -> None:
    """Of two trainings of one model the later one goes on, with the same bytes as if it were alone."""
    one = Training((SAMPLE,), str(tmp_path / "model"), options=TrainingOptions(epochs=6))
    other = Training((SAMPLE,), str(tmp_path / "model"), options=TrainingOptions(epochs=6, seed=2))
    alone = train(tmp_path / "alone", None, options=TrainingOptions(epochs=6, seed=2))

    def interrupt(record: dict[str, Any]) -> None:
        if record["epoch"] == 3:
            other.run_plain(lambda _: None, overwrite=True)

    with pytest.raises(CovingtonError, match="another training has taken"):
        one.run_plain(interrupt)
    assert (tmp_path / "model").read_bytes() == alone
    assert not Path(one.folder).exists()
    for step in (lambda: one.train_part(4, 0), lambda: one.finish_epoch(4, []), one.keep_model):
        with pytest.raises(CovingtonError, match="another training has taken"):
            step()


def test_a_training_that_was_killed_while_it_cleared_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left of its folder, the same command trains again to the same bytes."""
    model = tmp_path / "model"
    expected = train(model, None)

    def kill(paths: list[str]) -> None:
        is_all = any(path.endswith("kept.json") for path in paths)
        remove(paths[:2] if is_all else paths)
        if is_all:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("covington.engine.epochs.remove", kill)
        with pytest.raises(KeyboardInterrupt):
            train(model, None)
    assert list(Path(f"{model}.training").iterdir())
    assert train(model, None) == expected


def test_two_trainings_of_one_pipeline_have_two_models(tmp_path: Path) -> None:
    pipeline = beam.Pipeline(runner="FnApiRunner")
    _ = pipeline | "One" >> TrainParser(Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS))
    with pytest.raises(OptionError, match="two transforms of one pipeline"):
        _ = pipeline | "Two" >> TrainParser(Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS))


def test_inputs_are_paths_of_any_kind(serial: bytes, tmp_path: Path) -> None:
    for inputs in (SAMPLE, Path(SAMPLE), [Path(SAMPLE)]):
        assert train(tmp_path / "model", None, inputs=inputs) == serial


def test_dev_data_that_cannot_be_scored_is_told_before_the_first_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headless = tmp_path / "dev.conllu"
    headless.write_text("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n")
    monkeypatch.setattr(training, "train_epoch", None)  # nobody gets that far
    for runner in (None, ONE):
        with pytest.raises(DataError, match="a word has no head"):
            train(tmp_path / "model", runner, dev=(str(headless),))


def test_several_shards_need_a_runner(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="3 shards need a runner"):
        train(tmp_path / "model", None, shards=3)


def test_shards_without_sentences_have_no_say(tmp_path: Path) -> None:
    """However many there are: what the others have learnt is not watered down."""
    for shards in (60, 90):
        train(tmp_path / f"{shards}", shards=shards)
    few, many = (model_file.read(tmp_path / name).arrays for name in ("60", "90"))
    assert all(np.array_equal(few[name], many[name]) for name in few)


def test_trees_with_several_roots(tmp_path: Path) -> None:
    """A model gives sentences as many roots as its training data had, unless one is asked for."""
    text = Path(SAMPLE).read_text(encoding="utf-8")
    many = re.sub(r"\t\d+\tpunct\t", "\t0\tpunct\t", text)
    (tmp_path / "many.conllu").write_text(many, encoding="utf-8")
    for inputs, has_many in (((SAMPLE,), False), ((str(tmp_path / "many.conllu"),), True)):
        train(tmp_path / "model", inputs=inputs)
        parser = Parser.load(tmp_path / "model")
        assert parser.metadata["many_roots"] is has_many
        (batch,) = read_all((SAMPLE,))
        roots = [
            max(
                heads.count(0) for heads in parser.parse(batch, single_root=single).column("head").to_pylist()
            )
            for single in (None, True)
        ]
        assert (roots[0] > 1, roots[1]) == (has_many, 1)


@pytest.mark.parametrize("shards", [1, 2])
def test_an_error_in_telling_is_told(shards: int, tmp_path: Path) -> None:
    def fails(record: dict[str, Any]) -> None:
        raise BrokenPipeError(f"nobody hears of epoch {record['epoch']}")

    work = Training((SAMPLE,), str(tmp_path / "model"), options=OPTIONS, shards=shards)
    with pytest.raises(BrokenPipeError, match="nobody hears of epoch 1"):
        TrainJob(work, None if shards == 1 else ONE).run(fails)
    assert (tmp_path / "model").exists() == (shards == 2)  # shards are not waited for
    train(tmp_path / "model", shards=shards)


def test_dev_and_test_parts_are_learnt_only_if_they_are_named(tmp_path: Path) -> None:
    text = Path(SAMPLE).read_bytes()
    names = [tmp_path / f"xx-ud-{part}.conllu" for part in ("train", "dev", "test")]
    for path in names:
        path.write_bytes(text)
    options = TrainingOptions(epochs=1)
    for inputs in (str(tmp_path), str(tmp_path / "*.conllu")):
        with pytest.raises(OptionError, match=r"xx-ud-dev\.conllu is no training file, by its name"):
            train(tmp_path / "model", None, inputs=(inputs,), options=options)
    train(tmp_path / "model", None, inputs=tuple(map(str, names)), options=options)
