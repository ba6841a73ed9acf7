"""Progress of a long run: a bar with speed and remaining time on a terminal, quiet lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import time
from types import TracebackType
from typing import TextIO

_BAR = 24  # characters, on a terminal that is wide enough
_SHORTEST = 5  # bar that is of use
_COLUMNS = 80  # of a terminal that does not say
_REDRAW = 0.1  # seconds between two drawings on a terminal
_LINE = 10.0  # seconds between two lines where the output is not a terminal


class Progress:
    """Counts tokens and the part of the work that is done, and shows both.

    `show` None means: a bar if `stream` is a terminal, nothing otherwise. True asks for lines
    where there is no terminal, False for silence everywhere.
    """

    def __init__(self, label: str, *, show: bool | None = None, stream: TextIO | None = None) -> None:
        self.label = label
        # a copy of the descriptor, so that the bar is seen also while somebody silences standard error
        self.stream = os.fdopen(os.dup(2), "w") if stream is None else stream
        self.terminal = self.stream.isatty()
        self.visible = self.terminal if show is None else show
        self.tokens = 0
        self.fraction: float | None = None
        self._skipped = 0.0  # done before this run began: no part of its speed
        self._started = time.monotonic()
        self._shown = self._started
        self._width = 0

    def start_at(self, fraction: float) -> None:
        """Begin with a part already done, as when a killed run is taken up again."""
        self._skipped = self.fraction = fraction

    def add(self, tokens: int, fraction: float | None = None) -> None:
        """So many more tokens; `fraction` is how much of the whole is done now, where that is known."""
        self.tokens += tokens
        if fraction is not None:
            self.fraction = min(fraction, 1.0)
        now = time.monotonic()
        if self.visible and now - self._shown >= (_REDRAW if self.terminal else _LINE):
            self._shown = now
            self._draw(now)

    def close(self) -> None:
        """Take the bar away; what stays is the summary that the command prints."""
        if self.visible and self.terminal and self._width:
            with contextlib.suppress(OSError):  # of a terminal that is gone
                self.stream.write("\r" + " " * self._width + "\r")
                self.stream.flush()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self._started

    def line(self) -> str:
        """What is shown, without the carriage return."""
        return self._line(time.monotonic())

    def _line(self, now: float) -> str:
        """On a terminal as long as it is wide, less one, and no longer: a line that wraps cannot be drawn over."""
        parts = self._facts(now)
        if not self.terminal:
            return "  ".join(parts)
        width = self._columns() - 1
        room = width - len("  ".join(parts)) - len("  []")
        if self.fraction is not None and room >= _SHORTEST:
            bar = min(room, _BAR)
            full = int(self.fraction * bar)
            parts.insert(1, "[" + "#" * full + "." * (bar - full) + "]")
        return "  ".join(parts)[:width]

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or _COLUMNS
        except OSError:  # what calls itself a terminal, and is none of the system's
            return _COLUMNS

    def _facts(self, now: float) -> list[str]:
        seconds = max(now - self._started, 1e-9)
        parts = [self.label]
        if self.fraction is not None:
            parts.append(f"{100 * self.fraction:.0f} %")
        parts.append(f"{self.tokens:,} words")
        parts.append(f"{self.tokens / seconds:,.0f} words/s")
        done = (self.fraction or 0.0) - self._skipped
        if self.fraction is not None and done > 0:
            parts.append(f"{clock(seconds * (1 - self.fraction) / done)} left")
        return parts

    def _draw(self, now: float) -> None:
        text = self._line(now)
        if self.terminal:
            self.stream.write("\r" + text.ljust(min(self._width, self._columns() - 1)))
            self._width = len(text)
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def many(count: int, thing: str) -> str:
    """So many things.

    >>> many(1, "sentence"), many(4096, "word")
    ('1 sentence', '4,096 words')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def clock(seconds: float) -> str:
    """Seconds as one reads them from a clock.

    >>> clock(59.6), clock(3725)
    ('1:00', '1:02:05')
    """
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
