"""The `covington` command: finds the subcommand, prints errors as one sentence, sets the exit code."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from covington import __version__
from covington.errors import CovingtonError, DataError, OptionError
from covington.listing import is_local, keep_apart, local_files

# name → the line shown by `covington --help`; the module is covington.commands.<name>, loaded when called
COMMANDS = {
    "parse": "parse CoNLL-U or Parquet to Parquet or CoNLL-U",
    "train": "train a model on treebanks, on one machine or in shards",
    "evaluate": "score one or several parses against gold trees",
    "convert": "turn CoNLL-U into Parquet, or Parquet into CoNLL-U",
    "info": "print what is in a model file",
    "bounds": "compare the loss bounds with the exact loss",
    "compare": "train and compare the five oracles",
    "draw": "draw dependency trees",
    "trace": "show the transitions of a sentence, step by step",
}

# arguments that name files, in all commands
READ = ("input", "inputs", "gold", "system", "treebank", "dev", "model")
WRITTEN = ("output", "json", "html", "markdown", "rejects")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; 0 when all is well, 1 for bad data, 2 for a wrong call."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # it was closed by who called
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # of a terminal that has no arcs to draw with
    parser = argparse.ArgumentParser(
        prog="covington",
        description="Dependency trees for whole corpora.",
        epilog="Every command has its own --help, with an example.",
    )
    parser.add_argument("--version", action="version", version=f"covington {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((name for name in arguments if not name.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name == wanted:
            module = importlib.import_module(f"covington.commands.{name}")
            command = commands.add_parser(
                name,
                help=summary,
                description=module.__doc__,
                epilog=f"example:\n{module.EXAMPLE}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        else:
            commands.add_parser(name, help=summary, add_help=False)
    try:
        return int(_run(parser, arguments))
    except OptionError as error:
        return _complain(error, 2)
    except CovingtonError as error:
        return _complain(error, 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(f"{error.filename or 'input/output'}: {error.strerror or error}", 1)
    except KeyboardInterrupt:
        return _complain("stopped", 130)


def _run(parser: argparse.ArgumentParser, arguments: list[str]) -> int:
    """Known arguments go to the command; what is left over is Beam's, for commands that take it."""
    parsed, rest = parser.parse_known_args(arguments)
    if rest and not getattr(parsed, "takes_beam_options", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    parsed.beam_options = rest
    _check_names(parsed)
    return int(parsed.run(parsed))


def _check_names(parsed: argparse.Namespace) -> None:
    """No command writes over a file that it reads, whatever names the two are given by."""
    read, written = _names(parsed, READ), _names(parsed, WRITTEN)
    if "" in (*read, *written):
        raise OptionError("a file has an empty name")
    for names, stream, name in ((read, sys.stdin, "input"), (written, sys.stdout, "output")):
        if "-" in names and stream is None:
            raise OptionError(f"standard {name} is closed")
    if written:
        keep_apart((file for name in read for file in _files(name)), written)


def _names(parsed: argparse.Namespace, arguments: Sequence[str]) -> list[str]:
    values = [getattr(parsed, argument, None) for argument in arguments]
    lists = [value if isinstance(value, list) else [value] for value in values]
    return [name for names in lists for name in names if isinstance(name, str)]


def _files(name: str) -> list[str]:
    """The files of this machine that are meant; if there are none, the command has something to say of it."""
    try:
        return local_files(name) if is_local(name) and name != "-" else []
    except DataError:
        return []


def _complain(message: object, code: int) -> int:
    print(f"covington: {message}", file=sys.stderr)
    return code
