"""Train several systems on several treebanks with several seeds, and keep what each run found.

A run is one system, one treebank and one seed. What it found is a JSON file in the work folder, named by a
hash of its options, its data and the code that made it: a comparison that is stopped goes on where it
was, and one with more systems or seeds only makes what is missing.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from covington.corpus.treebanks import Treebank
from covington.errors import DataError, JobError, OptionError
from covington.files.atomic import atomic_file
from covington.model.options import TrainingOptions
from covington.study.comparison_run import Run, train_and_score
from covington.study.fingerprint import fingerprint
from covington.transition.names import ORACLES

FORMAT = 1  # of the files of finished runs


@dataclass(frozen=True)
class System:
    """A name and the training options that make it (all but the seed)."""

    name: str
    options: TrainingOptions

    @property
    def kind(self) -> str:
        """static, monotonic or non-monotonic: what the paper's significance marks are about."""
        return self.options.oracle if self.options.monotonic else "non-monotonic"


def systems(named: Sequence[str], settings: Sequence[str]) -> list[System]:
    """Systems such as `fast=oracle:upper,accept:all`, or bare oracles; settings such as `epochs=5` go to all."""
    common = dict(_setting(text, "=") for text in settings)
    found = []
    for text in named or ORACLES:
        name, _, rest = text.partition("=")
        own = dict(_setting(part, ":") for part in rest.split(",")) if rest else {"oracle": name}
        if "seed" in {**common, **own}:
            raise OptionError("seeds are not an option of a system: --seeds says how many there are")
        found.append(System(name, options_from({"templates": "paper", **common, **own})))
    if len({system.name for system in found}) < len(found):
        raise OptionError("two systems have the same name")
    return found


def _setting(text: str, separator: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name:
        raise OptionError(f"{text!r} is not of the form NAME{separator}VALUE")
    return name, value


def options_from(texts: Mapping[str, str]) -> TrainingOptions:
    """Training options from strings, each turned into the type that its default has."""
    defaults: dict[str, Any] = {field.name: field.default for field in fields(TrainingOptions)}
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in defaults:
            raise OptionError(f"no training option {name!r}; there are {', '.join(defaults)}")
        kind = type(defaults[name])
        try:
            values[name] = kind(text)
        except ValueError:
            raise OptionError(f"training option {name} cannot be {text!r}") from None
    return TrainingOptions.from_dict(values)


def plan(
    treebanks: Sequence[Treebank], chosen: Sequence[System], seeds: int, *, curve: bool = True
) -> list[Run]:
    """Every system on every treebank with every seed, largest treebanks first, so that no core waits long."""
    code = code_fingerprint()
    data = {treebank: _hashes([*treebank.train, *treebank.dev, *treebank.test]) for treebank in treebanks}
    sizes = {t: sum(Path(file).stat().st_size for file in t.train) for t in treebanks}
    runs = []
    for treebank in sorted(treebanks, key=lambda treebank: -sizes[treebank]):
        for seed in range(1, seeds + 1):
            for system in chosen:
                options = TrainingOptions.from_dict({**system.options.to_dict(), "seed": seed})
                identity = [FORMAT, code, data[treebank], options.to_dict(), curve]
                key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:20]
                runs.append(Run(treebank, system.name, options, curve, key))
    return runs


def _hashes(files: Sequence[str]) -> list[str]:
    return [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]


def code_fingerprint() -> str:
    """A hash of the code that a run's result depends on: of the module that makes one, and of all that it imports."""
    return fingerprint(train_and_score.__module__)


def execute(run: Run, folder: Path) -> dict[str, Any]:
    """Make a run, and write what it found to the work folder."""
    result = train_and_score(run, folder)
    with atomic_file(folder / f"{run.key}.json") as file:
        file.write(json.dumps(result, ensure_ascii=False).encode())
    return result


def load(run: Run, folder: Path) -> dict[str, Any] | None:
    """What a finished run found, or None if it has not been made."""
    path = folder / f"{run.key}.json"
    if not path.exists():
        return None
    try:
        result: dict[str, Any] = json.loads(path.read_bytes())
        matches = result["key"] == run.key
    except (ValueError, KeyError, TypeError):
        matches = False
    if not matches:
        raise DataError("not the result of this run; delete it to make it again", source=str(path))
    return result | {"system": run.system}  # another comparison may have had another name for it


def make(
    runs: Sequence[Run], folder: Path, jobs: int, told: Callable[[dict[str, Any], bool], None]
) -> dict[str, dict[str, Any]]:
    """All results by key: those in the folder, and the missing ones, made in `jobs` processes.

    `told` hears of every result, and whether it was there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    missing: list[Run] = []
    for run in {run.key: run for run in runs}.values():
        known = load(run, folder)
        if known is None:
            missing.append(run)
        else:
            results[run.key] = known
            told(known, True)
    if not missing:
        return results
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(jobs, len(missing)), context, initializer=_end_with_parent) as pool:
        pending: set[Future[dict[str, Any]]] = {pool.submit(execute, run, folder) for run in missing}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    results[result["key"]] = result
                    told(result, False)
        except BrokenProcessPool:
            raise JobError(
                "a process of the comparison was killed, perhaps for want of memory; what is finished is kept, so"
                " the same command goes on from there, with fewer --jobs if need be"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()  # what is half done is of no use, and would be waited for
            raise
    return results


def _end_with_parent() -> None:
    """In a worker: end when the command is killed, instead of training on for nobody."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
