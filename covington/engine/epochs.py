"""Training epoch by epoch and shard by shard, with everything that passes between them in files.

Iterative parameter mixing: in every epoch each shard of the corpus is learnt from the same weights, then
the weights of all shards are mixed. A shard holds the sentences whose number, counted over all inputs,
leaves the same remainder when divided by the number of shards. Nothing here depends on where it runs, so
every runner gives the same bytes; and all steps leave their result under a name of its own, so a training
that was killed goes on after its last complete epoch.

What an epoch ends with is in a file of weights, or it is what the epoch before ended with and the changes of all
shards: whoever has the weights of an earlier epoch needs nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from covington._version import __version__
from covington.base.checksum import Checksum
from covington.base.machine import cores
from covington.corpus.treebanks import is_part
from covington.engine import blocks
from covington.engine.work import read_task, tasks
from covington.errors import CovingtonError, DataError, JobError, ModelError, OptionError
from covington.evaluation.counts import Counts, count
from covington.files.listing import keep_apart
from covington.files.storage import (
    absolute,
    check_output,
    copy_file,
    exists,
    fetched,
    files_in,
    is_folder,
    join,
    list_inputs,
    put,
    read_json,
    remove,
    remove_empty_folder,
    write_json,
)
from covington.learning import training
from covington.learning.perceptron.freezing import freeze
from covington.learning.perceptron.mixing import mix
from covington.learning.perceptron.weights import Weights
from covington.learning.survey import Survey, survey
from covington.learning.training import EpochReport
from covington.model.options import MIXING, TrainingOptions
from covington.parsing.parser import Parser

KEEP = ("best", "last")
MOST_SHARDS = 10_000
MOST_BEHIND = 8  # weights are written anew when the changes since have so many times their rows,
MOST_CHANGES = 256  # or are in so many files
# names of the files between epochs, and of those that are being written
_NAME = (
    r"(training|survey|kept)\.json|epoch-\d{5,}\.(weights|json|covington)"
    r"|epoch-\d{5,}-shard-\d{5}-of-\d{5}-\w+\.changes"
)
_OURS = re.compile(rf"({_NAME})|\.({_NAME})\.[0-9a-f]+\.part")
_STATE = re.compile(r"epoch-(\d{5,})(\.weights|-shard-\d{5}-of-\d{5}-\w+\.changes)")


@dataclass
class _Resident:
    """The mixed weights that this process had last, so that they are not read again, and room for shards' own."""

    lock: threading.Condition = field(default_factory=threading.Condition)
    weights: Weights | None = None
    checksum: str = ""  # as the record of their epoch has it
    copies: int = 0  # that are being made of them, during which they must not change
    spare: list[Weights] = field(default_factory=list)  # of shards that are done


_resident = _Resident()


@dataclass(frozen=True)
class Training:
    """What to learn from, how, and where the model and the files between epochs go."""

    inputs: tuple[str, ...]
    model: str
    dev: tuple[str, ...] = ()
    options: TrainingOptions = field(default_factory=TrainingOptions)
    shards: int = 1
    mixing: str = "geometric"
    keep: str | None = None  # "best" by dev LAS, or "last"; best where there is dev data
    patience: int | None = None  # stop after so many epochs without a better dev LAS
    prune: float = 0.0  # averaged weights below this are left out of the model
    threads: int = field(default=0, compare=False)  # that score the dev data; 0 is one per core
    # whose the folder is, as its training.json says; another run of the same training has another name
    job: str = field(default_factory=partial(secrets.token_hex, 8), compare=False)

    def __post_init__(self) -> None:
        name = os.fspath(self.model)
        if name == "-" or name.endswith("/"):
            raise OptionError(f"{name} is not the name of a file, as a model needs one")
        object.__setattr__(self, "model", absolute(name))  # workers may run in other folders
        check_output(self.model)
        for name in ("inputs", "dev"):
            given = getattr(self, name)
            paths = [given] if isinstance(given, (str, os.PathLike)) else given
            object.__setattr__(self, name, tuple(absolute(os.fspath(path)) for path in paths))
        if not 0 <= self.prune < float("inf"):
            raise OptionError(f"prune must be 0 or more, not {self.prune}")
        if not 1 <= self.shards <= MOST_SHARDS:
            raise OptionError(f"shards must be at least 1 and at most {MOST_SHARDS:,}, not {self.shards}")
        if self.mixing not in MIXING:
            raise OptionError(f"mixing {self.mixing!r} is none of {', '.join(MIXING)}")
        if self.keep not in (*KEEP, None):
            raise OptionError(f"keep {self.keep!r} is none of {', '.join(KEEP)}")
        if not self.dev and (self.keep == "best" or self.patience is not None):
            raise OptionError("the best epoch is known by its score on dev data: give --dev")
        if self.patience is not None and self.patience < 1:
            raise OptionError(f"patience must be at least 1, not {self.patience}")

    # files between the epochs

    @property
    def folder(self) -> str:
        return f"{self.model}.training"

    def weights_path(self, epoch: int) -> str:
        """The mixed weights after an epoch, if they were written as a whole."""
        return join(self.folder, f"epoch-{epoch:05d}.weights")

    def changes_path(self, epoch: int, shard: int, job: str = "") -> str:
        """What one shard has learnt in an epoch, in this job or another of the same training."""
        name = f"epoch-{epoch:05d}-shard-{shard:05d}-of-{self.shards:05d}-{job or self.job}.changes"
        return join(self.folder, name)

    def model_path(self, epoch: int) -> str:
        """The model of an epoch that may be the best one."""
        return join(self.folder, f"epoch-{epoch:05d}.covington")

    def record_path(self, epoch: int) -> str:
        """The facts about an epoch; once they are there, the epoch is complete."""
        return join(self.folder, f"epoch-{epoch:05d}.json")

    def records(self, after: int = 0) -> list[dict[str, Any]]:
        """The facts about all complete epochs, in order, but for the first ones."""
        found: list[dict[str, Any]] = []
        while (record := read_json(self.record_path(after + len(found) + 1))) is not None:
            found.append(record)
        return found

    # the steps

    def begin(self, overwrite: bool = False) -> None:
        """Make the folder for the files between epochs, or find it as an earlier run of this training left it."""
        learnt, judged = list_inputs(self.inputs), list_inputs(self.dev) if self.dev else []
        keep_apart([file.name for file in (*learnt, *judged)], [self.model, self.folder])
        self._check_parts([file.path for file in learnt])
        if is_folder(self.model):
            raise OptionError(f"{self.model} is a folder, so the model cannot have this name")
        description = self._description()
        path = join(self.folder, "training.json")
        earlier = read_json(path)
        if isinstance(earlier, dict) and earlier | {"job": None} == description | {"job": None}:
            write_json(path, description | {"job": self.job})  # whoever had it before notices
            return
        strange = [path for path in files_in(self.folder) if not self._is_ours(path)]
        if strange:
            raise OptionError(
                f"{strange[0]} is in the way: {self.folder} is the folder for the files between epochs"
            )
        is_over = exists(join(self.folder, "kept.json"))
        if earlier is not None and not overwrite and not is_over and self.records():
            raise OptionError(
                f"{self.folder} holds a training that was not finished, with other inputs or options;"
                " --overwrite begins anew"
            )
        self._clear()
        write_json(path, description | {"job": self.job})

    def _check_parts(self, paths: list[str]) -> None:
        """Refuse to learn the dev and test parts of a treebank, unless they are named one by one."""
        names = {path: path.rpartition("/")[2] for path in paths}
        if not any(is_part(name, "train") for name in names.values()):
            return
        for path, name in names.items():
            if path not in self.inputs and (is_part(name, "dev") or is_part(name, "test")):
                raise OptionError(f"{path} is no training file, by its name: name the files to learn from")

    def check_job(self) -> None:
        """See to it that the folder still belongs to this training."""
        found = read_json(join(self.folder, "training.json"))
        if found is None:
            raise CovingtonError(
                f"{self.folder} is gone: another training has taken or finished it, or this worker does not see it"
            )
        if not isinstance(found, dict) or found.get("job") != self.job:
            raise CovingtonError(f"another training has taken {self.folder} meanwhile")

    def _clear(self) -> None:
        """Take our files away; the one that says whose they are goes first, so that the rest is never taken for any."""
        remove([join(self.folder, "training.json")])
        remove([path for path in files_in(self.folder) if self._is_ours(path)])
        if left := files_in(self.folder):
            if any(map(self._is_ours, left)):
                raise CovingtonError(f"{left[0]} cannot be deleted")
        else:
            remove_empty_folder(self.folder)

    def _is_ours(self, path: str) -> bool:
        """Whether a file in the folder is one that a training made."""
        return _OURS.fullmatch(path[len(self.folder) + 1 :]) is not None

    def look(self) -> Survey:
        """Find out what labels and columns the corpus has; done once, before the first epoch."""
        path = join(self.folder, "survey.json")
        known = read_json(path)
        if known is not None:
            return Survey.from_dict(known)
        found = survey(read_all(self.inputs))
        if not found.sentences:
            raise DataError("there are no sentences to learn from", source=", ".join(self.inputs))
        found.label_list  # noqa: B018 (an error here is better than an error in a worker)
        found.templates(self.options)
        # gold against itself: what cannot be scored is told before the first epoch
        if self.dev and not Counts.sum(count(gold, gold) for gold in read_all(self.dev)).words:
            raise DataError("there are no sentences to score the model on", source=", ".join(self.dev))
        self.check_job()
        write_json(path, found.to_dict())
        return found

    def train_part(self, epoch: int, shard: int) -> EpochReport | None:
        """One epoch over one shard, from the mixed weights of the epoch before to a file; None if that is over."""
        self.check_job()
        if exists(self.record_path(epoch)) or self.has_stopped(epoch):
            return None
        weights = self._copy_before(epoch)
        report = training.train_epoch(weights, self._prepared(shard), epoch, shard)
        self.check_job()
        if not exists(self.changes_path(epoch, shard)):  # a step that is repeated leaves what others may read
            put(lambda path: training.save_changes(weights, path), self.changes_path(epoch, shard))
        with _resident.lock:
            _resident.spare.append(weights)
        return report

    def finish_epoch(self, epoch: int, reports: list[EpochReport]) -> None:
        """Mix the shards' weights, score them on the dev data, and record that the epoch is complete."""
        self.check_job()
        if exists(self.record_path(epoch)) or self.has_stopped(epoch):
            return
        with _resident.lock:
            weights = self._weights_before(epoch)
            before = self._record(epoch - 1)
            checksum, rows = self._mix(weights, before["weights"], epoch, self.job)
            since = before.get("changes", {"rows": 0, "files": 0})
            changes = {"job": self.job, "rows": since["rows"] + rows, "files": since["files"] + self.shards}
            self._complete(epoch, weights, reports, {"weights": checksum, "changes": changes})
            self._stay(epoch, weights)

    def run_plain(self, tell: Callable[[dict[str, Any]], object], overwrite: bool = False) -> dict[str, Any]:
        """All of it in this process, without Beam, for one shard; `tell` gets the facts about every epoch."""
        if self.shards != 1:
            raise OptionError(f"{self.shards} shards need a runner")
        self.begin(overwrite)
        with self.clearing_up_a_false_start():
            self.look()
            done = self.records()
            for record in done:
                tell(told(record))
            epoch = len(done)
            with _resident.lock:
                weights = self._weights_before(epoch + 1)
            while epoch < self.options.epochs and not self.has_stopped(epoch + 1):
                epoch += 1
                report = training.train_epoch(weights, self._prepared(0), epoch, 0)
                tell(told(self._complete(epoch, weights, [report])))
            self.keep_model()
            return self.finish()

    @contextlib.contextmanager
    def clearing_up_a_false_start(self) -> Iterator[None]:
        """An error before the first epoch is complete leaves no folder behind: there is nothing to go on with."""
        try:
            yield
        except CovingtonError:
            with contextlib.suppress(CovingtonError, OSError):
                self.check_job()
                if not self.records():
                    self._clear()
            raise

    def keep_model(self) -> dict[str, Any]:
        """Put the model of the best or the last epoch in its place; returns the facts about that epoch."""
        self.check_job()
        records = self.records()
        if len(records) < self.options.epochs and not self.has_stopped(len(records) + 1):
            raise JobError(f"{self.folder} has {len(records)} of {self.options.epochs} epochs")
        best = best_epoch(records) if self.dev and self.keep != "last" else len(records)
        if self.dev and self.keep != "last":
            with fetched(self.model_path(best)) as path:
                copy_file(str(path), self.model)
        else:
            with _resident.lock:
                self._freeze(self._weights_before(best + 1), records[-1], self.model)
        kept = told(records[best - 1])
        write_json(join(self.folder, "kept.json"), kept)
        _let_go()
        return kept

    def finish(self) -> dict[str, Any]:
        """Take the files between epochs away; returns the facts about the epoch whose model was kept."""
        self.check_job()
        kept: dict[str, Any] = read_json(join(self.folder, "kept.json"))
        self._clear()
        return kept

    def has_stopped(self, epoch: int) -> bool:
        """Whether training was over before this epoch, because the dev scores no longer rose."""
        if self.patience is None:
            return False
        records = self.records()[: epoch - 1]
        return bool(records) and len(records) - best_epoch(records) >= self.patience

    def _copy_before(self, epoch: int) -> Weights:
        """The weights that an epoch begins with, for a shard; other shards copy them at the same time."""
        with _resident.lock:
            before = self._weights_before(epoch)
            self._stay(epoch - 1, before)
            spare = _resident.spare.pop() if _resident.spare else None
            _resident.copies += 1
        try:
            return before.for_a_shard(spare)
        finally:
            with _resident.lock:
                _resident.copies -= 1
                _resident.lock.notify_all()

    def _weights_before(self, epoch: int) -> Weights:
        """The weights that an epoch begins with, which are the caller's to change."""
        try:
            return self._weights_of(self._record(epoch - 1))
        except ModelError as error:
            raise ModelError(f"{error}; without {self.folder} the training begins anew") from None

    def _weights_of(self, record: dict[str, Any]) -> Weights:
        """The weights that an epoch ended with: in memory, in a file, or those of the epoch before with its changes."""
        epoch = record["epoch"]
        if epoch == 0:
            return Weights(self.look().classes(self.options).count)
        if _resident.weights is not None and _resident.checksum == record["weights"]:
            weights, _resident.weights = _resident.weights, None
            return weights
        if "changes" not in record:
            with fetched(self.weights_path(epoch)) as path:
                return training.load_weights(path, record["weights"])
        before = self._record(epoch - 1)
        weights = self._weights_of(before)
        checksum, _ = self._mix(weights, before["weights"], epoch, record["changes"]["job"])
        if checksum != record["weights"]:
            raise ModelError(f"the changes of epoch {epoch} are not those of its record")
        return weights

    def _mix(self, weights: Weights, before: str, epoch: int, job: str) -> tuple[str, int]:
        """Mix the changes of an epoch into the weights before it; returns their new checksum and the changed rows."""
        paths = [self.changes_path(epoch, shard, job) for shard in range(self.shards)]
        with contextlib.ExitStack() as stack:
            parts = [training.load_changes(stack.enter_context(fetched(path))) for path in paths]
            _resident.lock.wait_for(lambda: not _resident.copies)
            mix(weights, parts, self.mixing)
        checksum = Checksum()
        checksum.update("".join([self.mixing, before, *(part.checksum for part in parts)]).encode())
        return checksum.hexdigest(), sum(map(len, parts))

    def _stay(self, epoch: int, weights: Weights) -> None:
        """Keep the weights after an epoch at hand for whoever needs them next in this process."""
        if epoch > 0:
            _resident.weights, _resident.checksum = weights, self._record(epoch)["weights"]

    def _record(self, epoch: int) -> dict[str, Any]:
        """The facts about a complete epoch; those of epoch 0 are what all begins with."""
        if epoch == 0:
            return {"epoch": 0, "weights": ""}
        record = read_json(self.record_path(epoch))
        if record is None:
            raise JobError(f"{self.record_path(epoch)} is gone")
        return dict(record)

    def _prepared(self, shard: int) -> training.Shard:
        return prepared(self, shard, json.dumps(self._unchanged()))

    def _unchanged(self) -> dict[str, Any]:
        """The description of this training, if its data are still what they were when it began."""
        description = self._description()
        begun = read_json(join(self.folder, "training.json"))
        if isinstance(begun, dict) and begun["inputs"] != description["inputs"]:
            raise DataError(
                f"the data have changed since {self.folder} was begun: put them back, or begin anew with --overwrite"
            )
        return description

    def _complete(
        self, epoch: int, weights: Weights, reports: list[EpochReport], mixed: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Write down what an epoch ends with, as weights or as the facts about the changes, and score it."""
        record: dict[str, Any] = {
            "epoch": epoch,
            "steps": sum(report.steps for report in reports),
            "updates": sum(report.updates for report in reports),
        }
        self.check_job()
        if (
            mixed is not None
            and mixed["changes"]["rows"] <= MOST_BEHIND * len(weights)
            and mixed["changes"]["files"] <= MOST_CHANGES
        ):
            record |= mixed
        else:
            record["weights"] = put(
                lambda path: training.save_weights(weights, path), self.weights_path(epoch)
            )
        if self.dev:
            # the model is frozen before its score is known, so that the score is the model's own
            self._unchanged()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model"
                self._freeze(weights, record, str(path))
                record |= dev_scores(str(path), self.dev, self.threads)
                self.check_job()  # scoring takes its time; what follows removes a model
                earlier = self.records()
                if not earlier or record["dev_las"] > earlier[best_epoch(earlier) - 1]["dev_las"]:
                    copy_file(str(path), self.model_path(epoch))
                    if earlier:
                        remove([self.model_path(best_epoch(earlier))])
        self.check_job()
        write_json(self.record_path(epoch), record)
        if "changes" not in record:
            remove(self._superseded(epoch))
        return record

    def _superseded(self, epoch: int) -> list[str]:
        """Weights and changes that nobody needs who has the weights of an epoch."""
        found = [(path, _STATE.fullmatch(path[len(self.folder) + 1 :])) for path in files_in(self.folder)]
        return [
            path
            for path, match in found
            if match and int(match[1]) <= epoch and path != self.weights_path(epoch)
        ]

    def _freeze(self, weights: Weights, record: dict[str, Any], target: str) -> None:
        facts = {"epoch": record["epoch"], "shards": self.shards}
        if self.shards > 1:
            facts["mixing"] = self.mixing
        put(lambda path: freeze(weights, self.options, self.look(), path, facts, self.prune), target)

    def _description(self) -> dict[str, Any]:
        files = [list_inputs(inputs) for inputs in (self.inputs, self.dev) if inputs]
        return {
            "version": __version__,
            "inputs": [[[file.path, file.size, file.modified] for file in part] for part in files],
            "options": self.options.to_dict(),
            "shards": self.shards,
            "mixing": self.mixing,
            "keep": self.keep,
            "patience": self.patience,
            "prune": self.prune,
        }


def _let_go() -> None:
    """Free what this process holds of trainings; who goes on with one reads it again."""
    with _resident.lock:
        _resident.weights = None
        _resident.spare.clear()
    prepared.cache_clear()


def told(record: dict[str, Any]) -> dict[str, Any]:
    """The facts about an epoch that are of interest to others."""
    return {name: fact for name, fact in record.items() if name not in ("weights", "changes")}


def best_epoch(records: list[dict[str, Any]]) -> int:
    """The number of the epoch with the best dev LAS, the first of several."""
    return int(max(records, key=lambda record: (record["dev_las"], -record["epoch"]))["epoch"])


def read_all(inputs: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """All sentences of some inputs in order; treebanks must be sound, so the first bad one is an error."""
    found = [one for file in list_inputs(inputs) for piece in blocks.cut(file) for one in blocks.count(piece)]
    for task in tasks(found):
        for shard in read_task(task, strict=True):
            yield shard.sentences


@lru_cache(maxsize=MOST_SHARDS)
def prepared(work: Training, shard: int, description: str) -> training.Shard:
    """The encoded sentences of one shard; they stay in the process while the description of the work is the same."""
    return training.prepare(dealt(read_all(work.inputs), shard, work.shards), work.options, work.look())


def dealt(batches: Iterator[pa.RecordBatch], shard: int, shards: int) -> Iterator[pa.RecordBatch]:
    """Every sentence whose number leaves the remainder `shard`."""
    first = 0
    for batch in batches:
        yield (
            batch if shards == 1 else batch.take(np.arange((shard - first) % shards, batch.num_rows, shards))
        )
        first += batch.num_rows


def dev_scores(model: str, dev: tuple[str, ...], threads: int = 1) -> dict[str, float]:
    """UAS and LAS of a model on dev data, in percent; with 0 threads, one per core."""
    parser = Parser.load(model)
    total = Counts.sum(count(gold, parser.parse(gold, threads=threads or cores())) for gold in read_all(dev))
    return {f"dev_{name}": score for name, score in total.attachment_scores.items()}
