"""Errors that name the place: file, line, sentence and what is wrong, in one sentence."""

from __future__ import annotations


class CovingtonError(ValueError):
    """Something the user can put right; the command line prints it and exits with 1."""


class DataError(CovingtonError):
    """A sentence that cannot be used, with where it stands."""

    def __init__(
        self,
        reason: str,
        *,
        source: str | None = None,
        line: int | None = None,
        sent_id: str | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (source, line) if part is not None)
        sentence = f"sentence {sent_id}" if sent_id is not None else ""
        super().__init__(": ".join(part for part in (place, sentence, reason) if part))
        self.reason, self.source, self.line, self.sent_id = reason, source, line, sent_id

    def __reduce__(self) -> tuple[object, ...]:
        return _data_error, (self.reason, self.source, self.line, self.sent_id)


def _data_error(reason: str, source: str | None, line: int | None, sent_id: str | None) -> DataError:
    return DataError(reason, source=source, line=line, sent_id=sent_id)


class ModelError(CovingtonError):
    """A model file that is damaged, of another version, or not a model."""


class OptionError(CovingtonError):
    """Options that do not go together or are out of range; the command line exits with 2."""


class SearchLimitError(CovingtonError):
    """The exact loss was not found within the number of configurations that may be looked at."""


class NothingReadError(CovingtonError):
    """Of all sentences that went in, not one could be read; an output would be empty."""


class JobError(CovingtonError):
    """A job that failed for a reason outside the parser."""


class WorkerLostError(JobError):
    """A worker process of the local runner ended before its work was done."""
