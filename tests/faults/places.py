"""Faults of places: a disk that is full, a folder that is not empty, a model that is replaced."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.faults.bench import Bench, CannotBeDoneError, Command, Row
from tests.faults.inputs import NOTHING, short
from tests.support.folders import results
from tests.support.sample import SAMPLE


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    """A filesystem of a few kilobytes."""
    place.mkdir(parents=True)
    made = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={size}", "none", place), capture_output=True, text=True
    )
    if made.returncode:
        raise CannotBeDoneError(f"a small disk cannot be made here: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(("umount", place), check=True)


def enlarge(place: Path) -> None:
    subprocess.run(("mount", "-o", "remount,size=400m", place), check=True)


def the_disk_is_full(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    kept = Path(bench.model).stat().st_size  # of the model, which a job keeps beside its shards
    room = kept + sum(map(len, wanted.values())) * 2 // 3
    with small_disk(bench.folder / "disk", str(room)):
        there = replace_output(bench, bench.folder / "disk" / "parsed")
        done = there.parse().done()
        assert done.code == 1 and "No space left on device" in done.sentence, done
        whole = there.shards()
        assert 0 < whole < bench.count
        enlarge(bench.folder / "disk")
        assert there.parse().done().code == 0
        assert results(there.output) == wanted
        happened = (
            f"ended with 1: “{short(done.sentence)}”; {whole} of {bench.count} shards were done and kept;"
        )
        return Row(
            "the disk is full during a parse",
            f"{happened} with room, the same command went on",
            NOTHING,
            there.counts(),
        )


def replace_output(bench: Bench, output: Path) -> Bench:
    """The same bench with its output elsewhere."""

    class Elsewhere(Bench):
        @property
        def output(self) -> Path:
            return output

    return Elsewhere(bench.folder, bench.model, bench.count, bench.times)


def the_disk_is_full_in_training(bench: Bench) -> Row:
    bench.folder.mkdir(parents=True, exist_ok=True)
    call = ("train", SAMPLE, "--dev", SAMPLE, "--epochs", "3", "--shards", "2", "--threads", "1")
    assert Command((*call, "-o", bench.folder / "whole")).done().code == 0
    size = (bench.folder / "whole").stat().st_size
    with small_disk(bench.folder / "disk", str(size)):
        model = bench.folder / "disk" / "model"
        done = Command((*call, "-o", model)).done()
        last = done.said.strip().splitlines()[-1].removeprefix("covington: ")
        assert done.code == 1 and "No space left on device" in last and "Traceback" not in done.said, done
        assert not model.exists()
        enlarge(bench.folder / "disk")
        assert Command((*call, "-o", model)).done().code == 0
        assert model.read_bytes() == (bench.folder / "whole").read_bytes()
    happened = f"ended with 1: “{short(last)}”; with room, the same command went on"
    return Row("the disk is full during training", happened, NOTHING, "the model has the same bytes")


def the_folder_is_not_empty(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    bench.output.mkdir()
    (bench.output / "mine.txt").write_text("precious")
    (bench.output / "shard-00000-of-00099.parquet").write_text("of an earlier job")
    done = bench.parse().done()
    assert done.code == 2 and "--overwrite" in done.sentence, done
    assert len(results(bench.output)) == 2
    assert bench.parse("--threads", "1", "--overwrite").done().code == 0
    found = results(bench.output)
    assert found.pop("mine.txt") == b"precious" and found == wanted
    happened = f"ended with 2: “{short(done.sentence)}”; with it, shards were replaced, other files kept"
    return Row("the output folder is not empty", happened, NOTHING, bench.counts())


def the_model_is_replaced(bench: Bench, in_place: bool = False) -> Row:
    wanted = bench.make_corpus().expected()
    model, other = bench.folder / "model.covington", bench.folder / "other.covington"
    shutil.copyfile(bench.model, model)
    assert Command(("train", SAMPLE, "-o", other, "--epochs", "1")).done().code == 0
    there = replace(bench, model=str(model))

    def act() -> None:
        if in_place:
            model.write_bytes(other.read_bytes())
        else:
            other.replace(model)

    flags = ("--direct_running_mode", "multi_processing", "--direct_num_workers", "2")
    done = there.parse(*flags).when(there.begun, act).done()
    assert done.code == 0, done
    assert results(there.output) == wanted
    again = there.parse().done()
    assert again.code == 2, again  # a finished folder is not parsed over with another model
    happened = "done; all shards are of the model that it began with"
    how = "overwritten in place" if in_place else "replaced"
    return Row(f"the model is {how} while workers run", happened, NOTHING, there.counts())


def the_model_is_overwritten(bench: Bench) -> Row:
    return the_model_is_replaced(bench, in_place=True)


FAULTS = (
    the_disk_is_full,
    the_disk_is_full_in_training,
    the_folder_is_not_empty,
    the_model_is_replaced,
    the_model_is_overwritten,
)
