"""Runs fuzzers: python -m tests.fuzz [FUZZER ...] [--executions N] [--ledger FILE] [--grow]

With a ledger, N counts the executions of all runs, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.fuzz import FUZZERS
from tests.fuzz.runner import Ledger, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("fuzzers", nargs="*", metavar="FUZZER", help=f"{', '.join(FUZZERS)} (all)")
    parser.add_argument("--executions", type=int, default=10_000, metavar="N", help="of each (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="JSON file that counts over several runs")
    parser.add_argument(
        "--grow", action="store_true", help="keep inputs with new answers in tests/fuzz/corpus"
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write every input here before it is tried")
    arguments = parser.parse_args()
    for name in arguments.fuzzers or FUZZERS:
        if name not in FUZZERS:
            parser.error(f"there is no fuzzer {name}; there are {', '.join(FUZZERS)}")
        ledger = Ledger.read(arguments.ledger)
        fuzzer = FUZZERS[name]
        answers = run(fuzzer, arguments.executions, arguments.seed, ledger, arguments.grow, arguments.keep)
        read = sum(
            count for answer, count in answers.items() if not answer.startswith(("refused", "rejected"))
        )
        print(
            f"{name}: {sum(answers.values()):,} executions now, {ledger.executions(name):,} in all;"
            f" {read:,} read, the others refused for {len(answers)} kinds of reasons; nothing open",
            flush=True,
        )


if __name__ == "__main__":
    main()
