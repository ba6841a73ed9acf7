"""What the commands that run pipelines have in common: Beam's options, and how a lost worker ends."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

from covington.base.signals import StoppedError, briefly, exit_code
from covington.errors import WorkerLostError

Result = TypeVar("Result")


def add_beam_arguments(parser: argparse.ArgumentParser) -> None:
    """The Beam options in common use; all others are taken too, if they stand after the inputs."""
    parser.set_defaults(takes_beam_options=True)
    parser.add_argument("-v", "--verbose", action="store_true", help="show Beam's log")
    group = parser.add_argument_group(
        "Beam options", "these, and after the inputs all others that the runner knows"
    )
    group.add_argument("--runner", metavar="NAME", help="DirectRunner (this machine), FlinkRunner, ...")
    group.add_argument(
        "--direct_running_mode", metavar="MODE", help="in_memory, multi_threading, multi_processing"
    )
    group.add_argument(
        "--direct_num_workers", metavar="N", help="workers of the local runner; 0 is one per core"
    )


def beam_flags(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The Beam options of a command, as they were given."""
    named = ("runner", "direct_running_mode", "direct_num_workers")
    given = [(name, getattr(arguments, name)) for name in named if getattr(arguments, name) is not None]
    return (*(f"--{name}={value}" for name, value in given), *arguments.beam_options)


def prepare(arguments: argparse.Namespace) -> None:
    """Tell the filesystems of Beam's options, and keep Beam silent unless -v was given.

    To be called before Beam is imported, for it warns while that is done.
    """
    from covington.files import remote

    remote.set_options(beam_flags(arguments))
    if not arguments.verbose:
        logging.getLogger().setLevel(logging.CRITICAL)
        os.environ.setdefault(
            "GRPC_VERBOSITY", "NONE"
        )  # it writes to standard error itself, past all loggers


def finished(job: Callable[[], Result], clean_up: Callable[[], object] = lambda: None) -> Result:
    """Run a job; if it is stopped or loses a worker, say so and end this process at once.

    Beam's threads would keep it alive for ever, or bring it down while it waits for them. What Beam has
    started, as a job server, ends before.
    """
    try:
        return job()
    except WorkerLostError as error:
        _end(str(error), 1, clean_up)
    except KeyboardInterrupt as error:
        goes_on = isinstance(error, StoppedError) and error.goes_on
        _end(
            f"stopped{', but the job may go on where it runs: cancel it there' * goes_on}",
            exit_code(error),
            clean_up,
        )


def _end(message: str, code: int, clean_up: Callable[[], object]) -> NoReturn:
    """End this process, though standard error may be gone with its terminal, or somebody presses Ctrl-C once more."""
    try:
        with contextlib.suppress(OSError):
            clean_up()
            print(f"covington: {message}", file=sys.stderr, flush=True)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Beam complains of while it ends is of no use
        briefly(atexit._run_exitfuncs)
    finally:
        os._exit(code)
