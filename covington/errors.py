"""Errors that name the place: file, line, sentence and what is wrong, in one sentence."""

from __future__ import annotations

_SHOWN = 100  # characters of a sent_id


class CovingtonError(ValueError):
    """Something the user can put right; the command line prints it and exits with 1."""


class DataError(CovingtonError):
    """A sentence that cannot be used, with where it stands: in a line of text, or in a row of a table, from 1."""

    def __init__(
        self,
        reason: str,
        *,
        source: str | None = None,
        line: int | None = None,
        row: int | None = None,
        sent_id: str | None = None,
    ) -> None:
        place = ":".join(str(part) for part in (source, line) if part is not None)
        in_table = f"row {row}" if row is not None else ""
        sentence = f"sentence {_shortened(sent_id)}" if sent_id is not None else ""
        super().__init__(": ".join(part for part in (place, in_table, sentence, reason) if part))
        self.reason, self.source, self.line, self.row, self.sent_id = reason, source, line, row, sent_id

    def __reduce__(self) -> tuple[object, ...]:
        return _data_error, (self.reason, self.source, self.line, self.row, self.sent_id)


def _data_error(
    reason: str, source: str | None, line: int | None, row: int | None, sent_id: str | None
) -> DataError:
    return DataError(reason, source=source, line=line, row=row, sent_id=sent_id)


def _shortened(sent_id: str) -> str:
    return sent_id if len(sent_id) <= _SHOWN else sent_id[:_SHOWN] + "…"


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
