"""Runs a fuzzer for a number of executions, keeps the input that broke it, and says how fast it went."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.fuzz.mutations import mutate

#: Gets damaged bytes; raises if the program did anything but refuse or read them.
Target = Callable[[bytes, random.Random], object]


def fuzz(
    target: Target, seeds: Sequence[bytes], executions: int, seed: int, keep: Path | None = None
) -> dict[str, int]:
    """Damage the seeds again and again; how often the target gave each answer."""
    random_ = random.Random(seed)
    answers: dict[str, int] = {}
    for _ in range(executions):
        data = mutate(random_, random_.choice(seeds), random_.choice(seeds))
        if keep is not None:
            keep.write_bytes(data)  # so that a crash of the whole process leaves its cause behind
        try:
            answer = str(target(data, random_))
        except Exception as error:
            place = Path(tempfile.gettempdir()) / f"covington-fuzz-{seed}.bin"
            place.write_bytes(data)
            raise AssertionError(
                f"{type(error).__name__}: {error} (seed {seed}, input kept in {place})"
            ) from error
        answers[answer] = answers.get(answer, 0) + 1
    return answers


def main(name: str, target: Target, seeds: Sequence[bytes]) -> None:
    """The command line of one fuzzer."""
    parser = argparse.ArgumentParser(prog=name, description=target.__doc__)
    parser.add_argument("--executions", type=int, default=10_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write every input here before it is tried")
    arguments = parser.parse_args()
    started = time.perf_counter()
    answers = fuzz(target, seeds, arguments.executions, arguments.seed, arguments.keep)
    seconds = time.perf_counter() - started
    found = ", ".join(f"{count:,} {answer}" for answer, count in sorted(answers.items()))
    print(
        f"{name}: {arguments.executions:,} executions, seed {arguments.seed}, {seconds:,.0f} s: {found}; nothing open"
    )
