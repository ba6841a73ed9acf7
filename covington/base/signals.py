"""Being told to end, by Ctrl-C, by a scheduler or by a terminal that closes: all end as tidily as Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_PATIENCE = 10.0  # seconds
_ALSO = ("SIGTERM", "SIGHUP")  # by name: not every system has both
_received: list[int] = []


class StoppedError(KeyboardInterrupt):
    """A signal that is not Ctrl-C's, or an end where what was begun may go on elsewhere."""

    def __init__(self, number: int, goes_on: bool = False) -> None:
        super().__init__(number)
        self.number, self.goes_on = number, goes_on


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """Until the end of the block, signals raise what Ctrl-C raises; those that the caller ignores stay ignored."""
    numbers = [getattr(signal, name) for name in _ALSO if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():  # others cannot have handlers
        numbers = []
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    _received.clear()
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def received() -> int | None:
    """The signal that has raised StoppedError; where that was in the middle of a bundle, Beam gives it another name."""
    return _received[-1] if _received else None


def exit_code(error: KeyboardInterrupt) -> int:
    """As shells tell it: 128 and the number of the signal."""
    return 128 + number_of(error)


def number_of(error: KeyboardInterrupt) -> int:
    """The signal that an error is of."""
    return int(error.number if isinstance(error, StoppedError) else signal.SIGINT)


@contextlib.contextmanager
def keeping_ctrl_c() -> Iterator[None]:
    """What the block makes of Ctrl-C is undone: Beam would end its job server before the job can be cancelled."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if is_main and before is not None:
            signal.signal(signal.SIGINT, before)


def terminal_closed(error: KeyboardInterrupt) -> bool:
    """Whether it is not that somebody wants an end, but that nobody is there any longer."""
    return number_of(error) == getattr(signal, "SIGHUP", None)


def briefly(work: Callable[[], object]) -> bool:
    """Do something that may fail, or not answer, while nobody has time to wait; returns whether it was done."""
    done: list[bool] = []

    def attempt() -> None:
        with contextlib.suppress(Exception):
            work()
            done.append(True)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return bool(done)


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise StoppedError(number)
