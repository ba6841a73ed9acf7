"""Faults of the input: files that vanish, shrink, are replaced, cannot be read, are empty; ids that come twice."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tests.faults.bench import Bench, CannotBeDoneError, Command, Row
from tests.support.folders import results, rows

NOTHING = "nothing"


def _changed_during_the_run(bench: Bench, fault: str, change: str, says: str) -> Row:
    """The last file is changed when the first shard is there; it is put back, and the command goes on."""
    wanted = bench.make_corpus().expected()
    last = bench.file(bench.count - 1)
    times = last.stat()
    kept = bench.folder / "kept"
    shutil.copyfile(last, kept)

    def act() -> None:
        if change == "removed":
            last.unlink()
        elif change == "shrunk":
            os.truncate(last, times.st_size // 2)
        else:  # replaced by as many bytes and sentences, as nobody would notice by counting
            other = bench.folder / "other"
            other.write_bytes(kept.read_bytes().replace(b"NOUN", b"VERB"))
            other.replace(last)

    done = bench.parse().when(bench.begun, act).done()
    assert done.code == 1 and says in done.sentence, done
    there = bench.shards()
    assert there < bench.count and not (bench.output / "_summary.json").exists()
    shutil.copyfile(kept, last)
    os.utime(last, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert bench.parse().done().code == 0
    assert results(bench.output) == wanted
    happened = f"ended with 1: “{short(done.sentence)}”; {there} of {bench.count} shards were done and kept;"
    return Row(fault, f"{happened} put back, the same command went on", NOTHING, bench.counts())


def a_file_disappears(bench: Bench) -> Row:
    return _changed_during_the_run(
        bench, "an input file disappears during the run", "removed", "No such file or directory"
    )


def a_file_shrinks(bench: Bench) -> Row:
    return _changed_during_the_run(
        bench, "an input file shrinks during the run", "shrunk", "changed while it was being read"
    )


def a_file_is_replaced(bench: Bench) -> Row:
    return _changed_during_the_run(
        bench,
        "an input file is replaced during the run by one of the same length",
        "replaced",
        "changed while it was being read",
    )


def a_stream_shrinks(bench: Bench) -> Row:
    bench.count, bench.times = 2, 400
    bench.make_corpus()
    output, last = bench.folder / "one.conllu", bench.file(1)
    call = ("parse", bench.corpus, "-o", output, "--model", bench.model, "--threads", "1")
    done = (
        Command(call)
        .when(
            lambda: any(path.name.startswith(".one.conllu.") for path in bench.folder.iterdir()),
            lambda: os.truncate(last, last.stat().st_size // 2),
        )
        .done()
    )
    assert done.code == 1 and "changed while it was being read" in done.sentence, done
    assert not output.exists()
    happened = f"ended with 1: “{short(done.sentence)}”; there is no output under its name"
    return Row("an input file shrinks while it is parsed to one file", happened, NOTHING, "")


def a_file_cannot_be_read(bench: Bench) -> Row:
    wanted = bench.make_corpus().expected()
    bench.file(3).chmod(0)
    prefix: tuple[str, ...] = ()
    if os.access(bench.file(3), os.R_OK):  # root reads everything, unless it gives that right away
        if shutil.which("setpriv") is None:
            raise CannotBeDoneError("root can read every file, and setpriv is not on this machine")
        prefix = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    done = bench.parse(prefix=prefix).done()
    assert done.code == 1 and "may not be read" in done.sentence, done
    bench.file(3).chmod(0o644)
    assert bench.parse().done().code == 0
    assert results(bench.output) == wanted
    happened = f"ended with 1: “{short(done.sentence)}”; made readable, the same command did it all"
    return Row("an input file that cannot be read", happened, NOTHING, bench.counts())


def a_file_is_empty(bench: Bench) -> Row:
    bench.make_corpus()
    bench.file(0).write_bytes(b"")
    bench.file(5).write_bytes(b"\n\n \n")
    assert bench.parse().done().code == 0
    return Row(
        "a file of zero bytes, and one of blank lines",
        "done, 0 sentences from these",
        NOTHING,
        bench.counts(),
    )


def ids_come_twice(bench: Bench) -> Row:
    bench.make_corpus()
    for number in range(2, bench.count):
        bench.file(number).write_bytes(bench.file(0).read_bytes())
    assert bench.parse().done().code == 0
    found = [(row["source"], row["position"]) for row in rows(bench.output)]
    assert len(set(found)) == len(found)
    happened = "all are kept; `source` and `position` tell them apart"
    return Row(f"every sent_id comes {bench.count - 1} times", happened, NOTHING, bench.counts())


def short(sentence: str) -> str:
    """A sentence without the folders of this machine, and without what an engine calls the job."""
    plain = " ".join(Path(part).name if part.startswith("/") else part for part in sentence.split(" "))
    return re.sub(r"BeamApp-\S+", "BeamApp", plain)


FAULTS = (
    a_file_disappears,
    a_file_shrinks,
    a_file_is_replaced,
    a_stream_shrinks,
    a_file_cannot_be_read,
    a_file_is_empty,
    ids_come_twice,
)
