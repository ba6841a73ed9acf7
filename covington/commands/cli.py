"""The `covington` command: finds the subcommand, prints errors as one sentence, sets the exit code."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from covington import models
from covington._version import __version__
from covington.base.progress import many
from covington.base.signals import exit_code, stopping
from covington.base.text import printable
from covington.errors import CovingtonError, DataError, OptionError
from covington.files.listing import is_local, keep_apart, local_files, passed_over, real

# name → the line shown by `covington --help`; the module is covington.commands.<name>, loaded when called
COMMANDS = {
    "parse": "parse text, CoNLL-U or Parquet to Parquet or CoNLL-U",
    "train": "train a model on treebanks, on one machine or in shards",
    "evaluate": "score one or several parses against gold trees",
    "convert": "turn CoNLL-U into Parquet, or Parquet into CoNLL-U",
    "info": "print what is in a model file",
    "bounds": "compare the loss bounds with the exact loss",
    "compare": "train and compare the five oracles",
    "draw": "draw dependency trees",
    "demo": "parse the bundled sample and show what was found",
    "trace": "show the transitions of a sentence, step by step",
}

# of this process and of those it starts, unless the caller has chosen: Arrow's usual allocator keeps tens of megabytes
# of what a stream has given back
ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system"}

# commands whose files may be on any filesystem that Beam knows
ELSEWHERE = ("parse", "train", "evaluate")

# arguments that name files, in all commands
READ = ("input", "inputs", "gold", "system", "treebank", "dev")  # of compare, a system is no file
SHOWN = 5  # kinds of files that were passed over
FOLDERS = (
    "input",
    "inputs",
    "gold",
    "system",
    "dev",
)  # of these, any that is a folder stands for all its files
WRITTEN = ("json", "html", "markdown", "rejects")  # besides the output


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; 0 when all is well, 1 for bad data, 2 for a wrong call."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    closed = _open_streams()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
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
        with stopping():
            return int(_run(parser, commands.choices, arguments, closed))
    except OptionError as error:
        return _complain(error, 2)
    except CovingtonError as error:
        return _complain(error, 1)
    except BrokenPipeError:
        _let_go(sys.stdout)
        return 1
    except OSError as error:
        return _complain(f"{error.filename or 'input/output'}: {error.strerror or error}", 1)
    except MemoryError:
        return _complain("there is not enough memory", 1)
    except KeyboardInterrupt as error:
        try:
            sys.stdout.flush()
        except OSError:  # of a terminal that is gone
            _let_go(sys.stdout)
        return _complain("stopped", exit_code(error))


def _open_streams() -> set[str]:
    """Open what the caller has closed, so that nothing else gets its number; returns the names of what it was."""
    names = ("stdin", "stdout", "stderr")
    closed = {name for name in names if getattr(sys, name) is None}
    if closed:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(names):
            pass
        os.close(descriptor)
        for name in closed:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    return closed


def _run(
    parser: argparse.ArgumentParser,
    commands: Mapping[str, argparse.ArgumentParser],
    arguments: list[str],
    closed: set[str],
) -> int:
    """Known arguments go to the command; what is left over is Beam's, for commands that take it."""
    parsed, rest = parser.parse_known_args(arguments)
    command = commands[parsed.command]
    known = [option for action in command._actions for option in action.option_strings]
    for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
        if meant := difflib.get_close_matches(option, known, 1, 0.83):
            raise OptionError(f"there is no option {option}; did you mean {meant[0]}?")
    if rest and not getattr(parsed, "takes_beam_options", False):
        command.error(f"unrecognized arguments: {' '.join(rest)}")
    parsed.beam_options = rest
    _check_names(parsed, closed)
    for name in _names(parsed, FOLDERS) if parsed.command != "compare" else ():  # its systems are no files
        _tell_passed_over(name)
    return int(parsed.run(parsed))


def _check_names(parsed: argparse.Namespace, closed: set[str]) -> None:
    """Look at names before any work: none is empty, and nothing is written over what is read or written."""
    read = _names(parsed, [name for name in READ if (parsed.command, name) != ("compare", "system")])
    written = _names(parsed, WRITTEN)
    results = _names(parsed, ("output",))
    if "" in (*read, *written, *results):
        raise OptionError("a file has an empty name")
    if parsed.command not in ELSEWHERE:
        for name in (*read, *written, *results, *_names(parsed, ("model", "work"))):
            if not is_local(name):
                raise OptionError(
                    f"{name} is not on this machine; only parse, train and evaluate go elsewhere"
                )
    for name in _names(parsed, ("name",)):
        if (shown := name.encode(errors="surrogateescape").decode(errors="backslashreplace")) != name:
            raise OptionError(f"the name {shown} is not in UTF-8")
    for names, stream, name in ((read, "stdin", "input"), ((*written, *results), "stdout", "output")):
        if "-" in names and stream in closed:
            raise OptionError(f"standard {name} is closed")
    if "-" in _names(parsed, ("rejects",)):
        raise OptionError("rejects are a Parquet file, which cannot go to standard output")
    for name in written:
        if name != "-" and Path(name).is_dir():
            raise OptionError(f"{name} is a folder, not a file to write")
        if [real(other) for other in (*written, *results)].count(real(name)) > 1:
            raise OptionError(f"two things cannot both be written to {name}")
    if parsed.command not in ("parse", "train"):  # these look after their main result themselves
        written += results
    if written:
        models_read = [name for name in _names(parsed, ("model",)) if not models.is_name(name)]
        keep_apart([*models_read, *(file for name in read for file in _files(name))], written)


def _names(parsed: argparse.Namespace, arguments: Sequence[str]) -> list[str]:
    values = [getattr(parsed, argument, None) for argument in arguments]
    lists = [value if isinstance(value, list) else [value] for value in values]
    return [name for names in lists for name in names if isinstance(name, str)]


def _files(name: str) -> list[str]:
    """The files of this machine that are meant; if there are none, the command has something to say of it."""
    if name == "-" or not is_local(name):
        return []
    try:
        return local_files(name)
    except DataError:
        return []


def _tell_passed_over(name: str) -> None:
    """Say which files of a folder are no input, so that nobody takes a part of a corpus for the whole."""
    if not name or not is_local(name) or not Path(name).is_dir():
        return
    if kinds := passed_over(name):
        shown = [f"{count:,} {kind}" for kind, count in kinds.items()]
        listed = ", ".join([*shown[:SHOWN], *(["and others"] if len(shown) > SHOWN else [])])
        files = many(sum(kinds.values()), "file")
        _complain(f"{name}: passed over {files}, not CoNLL-U or Parquet by name: {listed}", 0)


def _complain(message: object, code: int) -> int:
    try:
        print(f"covington: {printable(str(message))}", file=sys.stderr, flush=True)
    except OSError:  # of a terminal that is gone
        _let_go(sys.stderr)
    return code


def _let_go(stream: TextIO) -> None:
    """What is still to be written goes nowhere, or the interpreter would end with a code of its own."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
