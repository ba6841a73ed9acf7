"""Input that is meant to do harm: sizes that do not fit, files that unfold without end, markup in every field."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import covington
from covington import models
from covington.commands.cli import main
from covington.corpus.conllu import overlong as endless
from covington.corpus.parquet.footer import is_told, row_group_size, row_groups
from covington.corpus.parquet.tables import rows_at_a_time
from covington.corpus.parquet.unfolding import unfolded
from covington.corpus.rejects import reason
from covington.engine import blocks
from covington.engine.work import read_task, tasks
from covington.errors import DataError
from covington.files.compression import XZ_MEMORY, decompressed
from covington.files.storage import list_inputs

WORD = "\t_\t_\t_\t_\t0\troot\t_\t_\n"
GOOD = b"# sent_id = good\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
SCRIPT = "<script>alert(1)</script>"
MEGABYTES = 800  # that a command may take for any of this: model, Arrow and Beam are a third of it

Pack = Callable[[bytes], bytes]
PACKERS: dict[str, Pack] = {
    "gz": lambda data: gzip.compress(data, 1),
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
}


def sentence(words: int) -> bytes:
    return "".join(f"{number}\tw{WORD}" for number in range(1, words + 1)).encode() + b"\n"


# the same outcome by every way, with limits that are small enough to be quick


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten kilobytes are too long for a sentence, and files are read a kilobyte at a time."""
    for module in ("corpus.conllu.overlong", "engine.blocks"):
        monkeypatch.setattr(f"covington.{module}.LONGEST", 10_000)
        monkeypatch.setattr(f"covington.{module}.SLACK", 100)
        monkeypatch.setattr(f"covington.{module}.KEPT", 1_000)
    for module in ("files.compression", "engine.blocks"):
        monkeypatch.setattr(f"covington.{module}.PIECE", 1_000)
    monkeypatch.setattr("covington.engine.blocks._BLANKS", 3_000)


STRETCHES = {
    "zeros": b"\0" * 50_000,
    "one line": b"x" * 50_000,
    "lines": b"x\r\n" * 20_000,
    "words": sentence(2_000)[:-1],
    "blanks in a line": b"x" * 20_000 + b"\n" + b" " * 20_000 + b"x" * 20_000,
}


def rows_and_rejects(
    path: Path, size: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, str, bytes]]]:
    files = list_inputs([str(path)])
    counts = [one for file in files for piece in blocks.cut(file, size) for one in blocks.count(piece, size)]
    shards = [shard for task in tasks(counts) for shard in read_task(task, size)]
    good = [(row["position"], row["line"]) for shard in shards for row in shard.sentences.to_pylist()]
    bad = [
        (row["position"], row["line"], row["reason"], row["raw"])
        for shard in shards
        for row in shard.rejects.to_pylist()
    ]
    return good, bad


@pytest.mark.parametrize("stretch", list(STRETCHES))
@pytest.mark.parametrize("before", [0, 1, 60])
@pytest.mark.parametrize("after", [0, 40])
def test_what_is_endless_is_one_reject_by_every_way(
    stretch: str, before: int, after: int, small: None, tmp_path: Path
) -> None:
    text = GOOD * before + STRETCHES[stretch] + (b"\n \r\n\n" + GOOD * after if after else b"")
    plain, packed = tmp_path / "a.conllu", tmp_path / "b.conllu.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    lines_after = text.count(b"\n") - 3 * after + 1
    good = [(number, 3 * number + 1) for number in range(before)]
    good += [(before + 1 + number, lines_after + 3 * number) for number in range(after)]
    bad = [(before, 3 * before + 1, endless.REASON, STRETCHES[stretch][: endless.KEPT])]
    for path in (plain, packed):
        for size in (500, 2_000):
            assert rows_and_rejects(path, size) == (good, bad)
        rejects: list[pa.RecordBatch] = []
        batches = list(covington.read_conllu(path, rejects=rejects.append))
        read = [(row["position"], row["line"]) for batch in batches for row in batch.to_pylist()]
        assert read == good
        assert [
            (row["position"], row["line"], row["reason"], row["raw"])
            for batch in rejects
            for row in batch.to_pylist()
        ] == bad


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \t\n", b" " * 70 + b"\n", b" " * 5_000 + b"\n"])
def test_blank_lines_without_end_are_no_sentences(blank: bytes, small: None, tmp_path: Path) -> None:
    lines = 60_000 // len(blank)
    text = GOOD + blank * lines + GOOD + b"bad\n\n" + blank * lines
    good, bad = (
        [(0, 1), (1, lines + 4)],
        [(2, lines + 7, reason("columns", b"", 1, 0), b"bad\n")],
    )
    for path, data in ((tmp_path / "a.conllu", text), (tmp_path / "a.conllu.gz", gzip.compress(text))):
        path.write_bytes(data)
        for size in (500, 2_000, 1 << 20):
            assert rows_and_rejects(path, size) == (good, bad)


def test_a_table_that_unfolds_is_read_in_small_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"

    def at_a_time(*lengths: int) -> int:
        written(*lengths)
        with path.open("rb") as file:
            return rows_at_a_time(file, pq.read_metadata(path), "a", 4096)

    def written(*lengths: int) -> None:
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        words = pa.repeat(pa.scalar("w"), int(offsets[-1]))
        pq.write_table(pa.table({"tokens": pa.ListArray.from_arrays(offsets, words)}), path)

    assert at_a_time(*[20] * 100) == 4096
    assert at_a_time(*[60_000] * 100) == 69
    long = pa.array([f"{number} " + "x" * 200_000 for number in range(2_000)])
    pq.write_table(
        pa.table({"tokens": [["w"]] * 2_000, "text": long, "other": long}), path, use_dictionary=False
    )
    with path.open("rb") as file:  # columns that nobody reads do not count
        assert rows_at_a_time(file, pq.read_metadata(path), "a", 4096) == (1 << 27) // 200_000
    written(3, 1_000_000, 4)
    rejects: list[pa.RecordBatch] = []
    (batch,) = covington.read_parquet(path, rejects=rejects.append)
    assert batch.column("position").to_pylist() == [0, 2]
    (reject,) = rejects[0].to_pylist()
    assert reject["reason"] == "more than 65535 words" and len(json.loads(reject["raw"])["tokens"]) == 1_000
    written(3, 5_000_000)
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="5,000,003 words in 2 sentences, more than 65535 in each"):
        list(covington.read_parquet(path))
    assert main(["parse", str(path), "-o", str(tmp_path / "out")]) == 1


def repeating(rows: int, times: int, text: str, column: str) -> pa.Table:
    """A table that has one text, which stands in every row, and several times where the column has lists."""
    values: pa.Array = pa.DictionaryArray.from_arrays(np.zeros(rows * times, np.int32), pa.array([text]))
    if column != "text":
        values = pa.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * times, values)
    return pa.table({"tokens": [["w"]] * rows, column: values})


@pytest.mark.parametrize("column", ["text", "comments"])
@pytest.mark.parametrize("writer", ["Arrow", "DuckDB"])
def test_a_text_that_is_stored_once_is_unfolded_in_small_parts(
    column: str, writer: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    table = repeating(1_000, 1, "x" * 300_000, column)
    if writer == "Arrow":
        pq.write_table(table, path)
    else:  # says nothing of it in the footer
        long = "repeat('x', 300_000)" if column == "text" else "[repeat('x', 300_000)]"
        first = "NULL" if column == "text" else "[]"
        duckdb.sql(
            f"COPY (SELECT ['w'] AS tokens, CASE WHEN range = 0 THEN {first} ELSE {long} END AS {column}"
            f" FROM range(1_000)) TO '{path}' (ROW_GROUP_SIZE 2_048)"
        )
    assert path.stat().st_size < 100_000
    with path.open("rb") as file:
        assert rows_at_a_time(file, pq.read_metadata(path), "a", 4096) == (1 << 27) // 300_000
    assert sum(batch.num_rows for batch in covington.read_parquet(path)) == 1_000


def test_a_row_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(repeating(2, 60_000, "x" * 50_000, "comments"), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match="unfolds to 5,722 MB in 2 sentences, more than 2 GB in each"):
        list(covington.read_parquet(path))
    assert main(["parse", str(path), "-o", str(tmp_path / "out")]) == 1


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_the_longest_text_of_a_dictionary(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    words = pa.array([["a", "longest" * 10, "ab"], ["longer"]])
    pq.write_table(pa.table({"tokens": words}), path, compression=codec)
    with path.open("rb") as file:
        ((tokens,),) = row_groups(file, 1, "a", frozenset({"tokens"}))
        older = replace(tokens, unfolded=None)
        assert row_group_size(file, [older]) == (4, 4 * 70)
        assert unfolded(file, pq.read_metadata(path), 0, {"tokens"}, 1) == 1 + 70 + 2 + 6
        assert is_told([tokens]) == (tokens.unfolded is not None) and not is_told([older])
        for nowhere in (-5, 0, 1 << 40, 1 << 70):
            assert row_group_size(file, [replace(older, dictionary=nowhere)]) == (4, tokens.size)


def test_one_long_word_does_not_make_all_parts_small(tmp_path: Path) -> None:
    """In a file that does not say how often it stands there."""
    path = tmp_path / "a.parquet"
    word = "CASE WHEN range = 7 THEN repeat('x', 50_000) ELSE 'w' END"
    node = f"{{'id': '1-2', 'form': {word}}}"
    duckdb.sql(
        f"COPY (SELECT [{word}, 'w', 'v'] AS tokens, [{node}] AS mwt FROM range(20_000)) TO '{path}'"
        " (ROW_GROUP_SIZE 20_480)"
    )
    with path.open("rb") as file:
        metadata = pq.read_metadata(path)
        assert rows_at_a_time(file, metadata, "a", 16_384) == 16_384
        groups = range(metadata.num_row_groups)
        counted = sum(unfolded(file, metadata, group, {"tokens", "mwt"}, 1_000) for group in groups)
    assert counted == 2 * 49_999 + 20_000 * (1 + 1 + 1 + 3 + 1)


def test_members_of_one_byte_are_joined() -> None:
    """A sentence that comes in small pieces is begun anew with each of them."""
    text = GOOD * 4_000
    members = {byte: gzip.compress(bytes([byte])) for byte in set(text)}
    packed = b"".join(members[byte] for byte in text)
    pieces = list(decompressed(io.BytesIO(packed), "a.conllu.gz"))
    assert b"".join(pieces) == text
    assert min(map(len, pieces[:-1])) == 1 << 16


def test_xz_data_that_wants_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.xz"
    filters: list[dict[str, Any]] = [{"id": lzma.FILTER_LZMA2, "dict_size": 2 * XZ_MEMORY, "preset": 0}]
    path.write_bytes(lzma.compress(GOOD, filters=filters))
    with pytest.raises(DataError, match=r"damaged or cut short \(Memory usage limit exceeded\)"):
        list(covington.read_conllu(path))
    path.write_bytes(lzma.compress(GOOD, preset=9) + b"\0\0\0\0" + lzma.compress(GOOD))
    assert sum(batch.num_rows for batch in covington.read_conllu(path)) == 2
    for damaged in (path.read_bytes()[:-9], path.read_bytes() + b"more", path.read_bytes()[:40]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged or cut short"):
            list(covington.read_conllu(path))


# pages


def test_markup_in_every_field_stays_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = "\t".join([SCRIPT, SCRIPT, SCRIPT, SCRIPT, f"A={SCRIPT}"])
    text = f"# sent_id = {SCRIPT}\n# text = {SCRIPT}\n1\t{line}\t0\t{SCRIPT}\t_\t{SCRIPT}\n"
    name = f"{SCRIPT.replace('/', '')}.conllu"
    Path(name).write_text(f"{text}2\t{line}\t1\t{SCRIPT}\t_\t_\n\n", encoding="utf-8")
    Path("other.conllu").write_text(f"{text}2\t{line}\t1\tx\t_\t_\n\n", encoding="utf-8")
    calls = [
        [
            "evaluate",
            name,
            "other.conllu",
            name,
            "--html",
            "evaluate.html",
            "--trials",
            "10",
            "--name",
            SCRIPT,
        ],
        ["draw", name, "--gold", "other.conllu", "-o", "draw.html"],
        ["draw", name, "-o", "draw.svg"],
        ["trace", name, "--html", "trace.html"],
        ["bounds", name, "--transitions", "10", "--html", "bounds.html"],
    ]
    for call in calls:
        assert main(call) == 0, call
        page = Path(call[-1] if call[0] != "evaluate" else "evaluate.html").read_text(encoding="utf-8")
        assert "alert(1)" in page, call
        assert "<script>alert" not in page.replace(" ", ""), call


# the real sizes


def limited(*arguments: str | Path) -> tuple[int, str]:
    """The exit code of a command and what it said; its memory is checked."""
    program = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'covington', *sys.argv[1:]], capture_output=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(json.dumps([done.returncode, done.stderr.decode(), peak]))"
    )
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=True)
    code, errors, kilobytes = json.loads(done.stdout)
    assert "Traceback" not in errors, errors
    assert kilobytes >> 10 < MEGABYTES, f"{kilobytes >> 10} MB: {errors}"
    return int(code), str(errors)


def reasons(path: Path) -> list[str]:
    found: list[str] = pq.read_table(path).column("reason").to_pylist()
    return found


TOO_LARGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "70,000 words": (lambda: sentence(70_000), "more than 65535 words"),
    "a million words": (lambda: sentence(1_000_000), "more than 65535 words"),
    "a token of 100 MB": (lambda: b"1\t" + b"w" * 100_000_000 + WORD.encode() + b"\n", endless.REASON),
    "a sentence of 65 MB": (
        lambda: b"".join(b"%d\t" % n + b"w" * 1_000_000 + WORD.encode() for n in range(1, 69)) + b"\n",
        endless.REASON,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", list(TOO_LARGE))
def test_sentences_that_do_not_fit_are_rejected(size: str, tmp_path: Path) -> None:
    make, reason = TOO_LARGE[size]
    path = tmp_path / "a.conllu"
    path.write_bytes(GOOD + make() + GOOD)
    assert limited("parse", path, "-o", tmp_path / "out.conllu")[0] == 0
    assert reasons(tmp_path / "out.conllu.rejects.parquet") == [reason]
    assert limited("parse", path, "-o", tmp_path / "out", "--threads", "1")[0] == 0
    assert reasons(tmp_path / "out" / "_rejects") == [reason]
    assert limited("convert", path, "-o", tmp_path / "out.parquet")[0] == 0
    code, told = limited("evaluate", path, path)
    assert code == 1 and reason in told and told.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["comments", "words"])
def test_sentences_that_just_fit_do_not_add_up(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    with path.open("wb") as file:
        for number in range(1_500):
            file.write(
                b"# %d " % number + b"x" * 1_000_000 + b"\n" + GOOD
                if kind == "comments"
                else sentence(30_000)
            )
    assert limited("convert", path, "-o", tmp_path / "out.parquet")[0] == 0


ENDLESS = {"zeros": b"\0", "one line": b"x", "lines": b"1\tx\n"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packer", "filling"), [("gz", "zeros"), ("bz2", "one line"), ("xz", "one line"), ("zst", "lines")]
)
def test_a_small_file_that_unfolds_to_a_gigabyte(packer: str, filling: str, tmp_path: Path) -> None:
    pack = PACKERS[packer]
    path = tmp_path / f"a.conllu.{packer}"
    part = pack(ENDLESS[filling] * ((64 << 20) // len(ENDLESS[filling])))
    path.write_bytes(pack(GOOD) + part * 16 + pack(b"\n\n" + GOOD))
    code, told = limited("parse", path, "-o", tmp_path / "out", "--threads", "1")
    assert code == 0, told
    assert reasons(tmp_path / "out" / "_rejects") == [endless.REASON]
    if packer == "gz":
        assert limited("parse", path, "-o", tmp_path / "out.conllu")[0] == 0
        assert limited("convert", path, "-o", tmp_path / "out.parquet")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("blank", [b"\n", b" \r\n"], ids=repr)
def test_a_gigabyte_of_blank_lines_is_nothing(blank: bytes, tmp_path: Path) -> None:
    pack, lines = PACKERS["gz"], (64 << 20) // len(blank)
    path, out = tmp_path / "a.conllu.gz", tmp_path / "out"
    path.write_bytes(pack(GOOD) + pack(blank * lines) * 16 + pack(GOOD + b"bad\n\n"))
    code, told = limited("parse", path, "-o", out, "--threads", "1")
    assert code == 0, told
    after = 16 * lines + 4
    places = [pq.read_table(folder).select(["position", "line"]) for folder in (out, out / "_rejects")]
    assert [list(row.values()) for table in places for row in table.to_pylist()] == [
        [0, 1],
        [1, after],
        [2, after + 3],
    ]
    if blank == b"\n":
        assert limited("parse", path, "-o", tmp_path / "out.conllu")[0] == 0


@pytest.mark.slow
def test_more_labels_than_there_can_be(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    with path.open("wb") as file:
        for number in range(0, 70_000, 2):
            file.write(
                b"1\ta\t_\tX\t_\t_\t0\tl%d\t_\t_\n2\tb\t_\tX\t_\t_\t1\tl%d\t_\t_\n\n" % (number, number + 1)
            )
    code, told = limited("train", path, "-o", tmp_path / "a.covington", "--epochs", "1")
    assert code == 1 and "labels are too many" in told and told.count("\n") == 1


def test_the_sample_is_none_of_this() -> None:
    assert len(Path(models.sample()).read_bytes()) < endless.LONGEST
