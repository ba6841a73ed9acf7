"""The parse pipeline: a corpus to a folder of shards, on one machine or many.

A job that was killed and is started again with the same options resumes where it stopped; one that is finished does
nothing and reports what it has made.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import apache_beam as beam

from covington import models
from covington._version import __version__
from covington.base.progress import Progress
from covington.engine.blocks import BLOCK_BYTES
from covington.engine.model import Model
from covington.engine.shards import EarlierReport, Report
from covington.engine.work import (
    DEFAULTS,
    FORMATS,
    JOB,
    SEEN_BY_ALL,
    SUMMARY,
    WORK,
    ParseOptions,
    check_job,
    close_folder,
    done_shards,
    finished_report,
    first_reject,
    is_ours,
    name_job,
    read_mark,
)
from covington.errors import CovingtonError, OptionError
from covington.files.listing import is_local, keep_apart, real
from covington.files.storage import (
    InputFile,
    absolute,
    check_output,
    exists,
    files_in,
    join,
    read_json,
    remove,
    remove_folder,
    write_json,
)
from covington.pipelines.runner import LOCAL, Runner
from covington.pipelines.transforms import ParseSentences, ReadSentences, WriteSentences


@dataclass(frozen=True)
class ParseJob:
    """What to parse, with which model, to where."""

    inputs: Sequence[str]
    folder: str
    model: str = models.DEFAULT
    format: str = "parquet"
    options: ParseOptions = DEFAULTS
    overwrite: bool = False
    strict: bool = False
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", absolute(os.fspath(self.folder)))
        names = [self.inputs] if isinstance(self.inputs, (str, os.PathLike)) else self.inputs
        object.__setattr__(self, "inputs", [os.fspath(name) for name in names])
        check_output(self.folder)

    def run(self, runner: Runner = LOCAL, progress: Progress | None = None) -> Report:
        """Parse all there is; the report that comes back adds up, or an error is raised.

        Of a job that is finished, without `overwrite`, it is an EarlierReport, and nothing is parsed.
        """
        runner.check()
        if self.format not in FORMATS:
            raise OptionError(f"the format must be one of {', '.join(FORMATS)}, not {self.format}")
        model = Model.pin(self.model)
        reading = ReadSentences(self.inputs, self.block_bytes, strict=self.strict)
        reading.files = self._without_own(reading.files)
        keep_apart([file.name for file in reading.files], [self.folder])
        description = self._description(model, reading)
        if (earlier := self._finished(description)) is not None:
            return earlier
        job, done = self._begin(description)
        if self.strict:  # what was rejected is read again, to end with it
            done = {number: report for number, report in done.items() if not report.rejects}
        reading.skip = frozenset(done)
        kept = model.kept_in(join(self.folder, WORK))
        total = join(self.folder, WORK, f"total-{secrets.token_hex(6)}.json")

        def build(pipeline: beam.Pipeline) -> None:
            (
                pipeline
                | "ReadSentences" >> reading
                | "ParseSentences" >> ParseSentences(kept, self.options)
                | "WriteSentences" >> WriteSentences(self.folder, self.format, job, self.strict)
                | "KeepTotal" >> beam.Map(lambda report: write_json(total, report.to_dict()))
            )

        with _Watch(self.folder, Report.sum(done.values()), progress):
            runner.run(build)
        check_job(self.folder, job)
        kept_total = read_json(total)
        if kept_total is None:
            raise CovingtonError(f"what the workers have written is not in {self.folder}: {SEEN_BY_ALL}")
        report = Report.from_dict(kept_total) + Report.sum(done.values())
        return close_folder(report, self.folder)

    def _without_own(self, files: list[InputFile]) -> list[InputFile]:
        """The inputs without what an earlier run of this job has written, if its folder is in that of an input."""
        folder = real(self.folder)
        if any(f"{real(name)}/".startswith(f"{folder}/") for name in self.inputs):
            return files
        others = [file for file in files if not is_ours(real(file.path), folder)]
        return others or files

    def _description(self, model: Model, reading: ReadSentences) -> dict[str, object]:
        """What must be the same for a job to go on where another one stopped."""
        return {
            "version": __version__,
            "inputs": [[file.name, file.path, file.size, file.modified] for file in reading.files],
            "model": model.checksum,
            "format": self.format,
            "options": asdict(self.options) | {"threads": None},
            "block_bytes": self.block_bytes,
        }

    def _finished(self, description: dict[str, object]) -> EarlierReport | None:
        """The report of an earlier run of this job that has made all there is to make."""
        if self.overwrite or not self._is_same(description):
            return None
        report = finished_report(self.folder)
        if report is None:
            return None
        if self.strict and report.rejects:
            raise first_reject(self.folder)
        remove_folder(join(self.folder, WORK))  # it is still there if that run was killed at its very end
        return EarlierReport(**vars(report))

    def _is_same(self, description: dict[str, object]) -> bool:
        """Whether the folder was begun by a run of this job."""
        return bool(read_json(join(self.folder, JOB)) == description)

    def _begin(self, description: dict[str, object]) -> tuple[str, dict[int, Report]]:
        """Make the folder ready; returns the name of the job, and the shards that an earlier run of it has done."""
        if is_local(self.folder) and Path(self.folder).is_file():
            raise OptionError(f"{self.folder} is a file, so it cannot be the folder for the output")
        begun, summary, work = (join(self.folder, name) for name in (JOB, SUMMARY, WORK))
        is_finished = exists(summary)
        if self._is_same(description) and not (is_finished and self.overwrite):
            named = read_json(join(work, "job.json"))  # of workers that may still be writing their last shard
            job = named["job"] if named else secrets.token_hex(8)
            name_job(self.folder, job)
            return job, done_shards(self.folder)
        present = files_in(self.folder)
        if present and not self.overwrite:
            state = "is not empty"
            if begun in present:
                kind = "the results of a job" if is_finished else "a job that was not finished,"
                state = f"holds {kind} with other inputs or options"
            raise OptionError(f"{self.folder} {state}; --overwrite replaces what is there")
        remove([summary])  # first, for it says that all the others are there
        remove([path for path in present if is_ours(path, self.folder)])
        job = secrets.token_hex(8)
        write_json(begun, description, work)
        name_job(self.folder, job)
        return job, {}


class _Watch:
    """Looks for the marks of finished shards, on whatever machine they were made, and moves the bar."""

    def __init__(self, folder: str, before: Report, progress: Progress | None) -> None:
        self._work = join(folder, WORK)
        self._progress = progress if progress is not None and progress.visible else None
        self._seen = before.shards
        self._of = before.of
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._pause = 0.5 if is_local(folder) else 10.0  # seconds
        if self._progress and self._of:
            self._progress.start_at(self._seen / self._of)

    def __enter__(self) -> None:
        if self._progress:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._progress:
            self._thread.join()

    def _look(self) -> None:
        assert self._progress
        known = {path for path in files_in(self._work) if "/done-" in path} if self._seen else set[str]()
        while not self._stop.wait(self._pause):
            with contextlib.suppress(CovingtonError):  # of a request that failed; there will be others
                marks = {path for path in files_in(self._work) if "/done-" in path}
                self._progress.add(0)  # the clock goes on
                for path in sorted(marks - known):
                    if self._stop.is_set():
                        return
                    report = read_mark(path)[1]
                    known.add(path)
                    self._seen += 1
                    self._progress.add(report.tokens, self._seen / report.of)
