"""How fast CoNLL-U and Parquet are read and written, how that compares with `conllu`, and how flat memory stays.

    python benchmarks/reading.py [--treebanks DIR] [--memory-gigabytes 2]

Times are of one core: processor time of this process, the best of several rounds, files in the page cache.
`--memory-gigabytes` writes a file of that size to a temporary folder, reads it batch by batch, and tells the
largest resident memory after a tenth of it and at its end.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import conllu as conllu_package
import pyarrow as pa

import covington
from covington import conllu

ROUNDS = 5


def main(argv: list[str] | None = None) -> None:
    default = os.environ.get("COVINGTON_TREEBANKS") or Path(__file__).parents[2] / "shared" / "treebanks"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--treebanks", type=Path, default=Path(default), metavar="DIR")
    parser.add_argument("--memory-gigabytes", type=float, default=0.0, metavar="N")
    arguments = parser.parse_args(argv)
    files = sorted(arguments.treebanks.glob("*/*-train.conllu*"))
    if not files:
        sys.exit(f"no */*-train.conllu files in {arguments.treebanks}")
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        print("million tokens per second, one core; `conllu` is the Python package of that name")
        print(
            f"{'file':34} {'tokens':>8} {'read':>6} {'write':>6} {'read Parquet':>12} {'conllu':>7} {'ratio':>6}"
        )
        for file in files:
            measure(file, Path(folder))
        if arguments.memory_gigabytes:
            measure_memory(files[0], Path(folder), arguments.memory_gigabytes)


def measure(file: Path, folder: Path) -> None:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    plain, parquet = folder / "x.conllu", folder / "x.parquet"
    plain.write_bytes(text)
    batches = list(covington.read_conllu(plain, strict=True))
    covington.write_parquet(batches, parquet)
    tokens = sum(len(batch["tokens"].flatten()) for batch in batches)
    reading = speed(tokens, lambda: exhaust(covington.read_conllu(plain)))
    writing = speed(tokens, lambda: exhaust(conllu.format_batch(batch) for batch in batches))
    from_parquet = speed(tokens, lambda: exhaust(covington.read_parquet(parquet)))
    sample = b"\n\n".join(text.split(b"\n\n")[:1000]).decode() + "\n\n"
    sample_tokens = len(conllu.parse_bytes(sample.encode(), "", 0, 1)[0]["tokens"].flatten())
    package = speed(sample_tokens, lambda: conllu_package.parse(sample), rounds=1)
    print(
        f"{file.name:34} {tokens:8,} {reading:6.2f} {writing:6.2f} {from_parquet:12.2f} {package:7.3f}"
        f" {reading / package:6.0f}",
        flush=True,
    )


def speed(tokens: int, work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Million tokens per second of processor time, in the best round."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return tokens / best / 1e6


def exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def measure_memory(file: Path, folder: Path, gigabytes: float) -> None:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    place = folder / "big.conllu"
    with place.open("wb") as big:
        while big.tell() < gigabytes * 1e9:
            big.write(text)
    size = place.stat().st_size
    del text
    started, tokens, done, early = time.process_time(), 0, 0, 0.0
    for batch in covington.read_conllu(place):
        tokens += len(batch["tokens"].flatten())
        done += batch.num_rows
        if not early and done > 50_000:
            early = resident()
    seconds = time.process_time() - started
    print(
        f"{size / 1e9:.1f} GB, {tokens:,} tokens in {seconds:.0f} s: {tokens / seconds / 1e6:.2f} million tokens/s,"
        f" resident memory {early:.0f} MB after 50,000 sentences, {resident():.0f} MB at the end"
    )


def resident() -> float:
    """Resident memory of this process now, in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
