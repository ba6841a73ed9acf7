"""Blocks are whole sentences, lose nothing, and hold what was counted."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from covington.corpus.conllu.blanks import blank_line
from covington.corpus.conllu.reader import parse_bytes, sentences_and_lines
from covington.engine import blocks
from covington.errors import CovingtonError
from covington.files.storage import list_inputs

BOM = b"\xef\xbb\xbf"
LINES = [b"1\tx\t_\t_\t_\t_\t0\troot\t_\t_", b"# c", b"", b"", b" ", b"\t", b"2\ty", b"\xff", b"zz", BOM]
texts = st.builds(
    lambda lines, end: b"".join(line + newline for line, newline in lines) + end,
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from([b"\n", b"\n", b"\r\n"])), max_size=40),
    st.sampled_from([b"", b"zz", b"\n", b"# c"]),
)


@settings(deadline=None)
@given(text=texts)
def test_counting_agrees_with_reading(text: bytes) -> None:
    sentences, rejects = parse_bytes(text, "text")
    assert sentences_and_lines(text) == (sentences.num_rows + rejects.num_rows, text.count(b"\n"))


@given(text=texts, start=st.integers(0, 30))
def test_blank_lines_are_found(text: bytes, start: int) -> None:
    found = re.compile(rb"\n[ \t\r]*\n").search(text, start)
    assert blank_line(text, start) == (found and found.span())


def test_a_piece_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere every fetch is a request, and of a little it brings a lot."""
    (tmp_path / "a.conllu").write_bytes(b"1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 50_000)
    (file,) = list_inputs([str(tmp_path / "a.conllu")])
    pieces = blocks.cut(file, 1 << 19)
    fetched: list[int] = []
    read = blocks.read_range

    def noted(path: str, start: int, end: int) -> bytes:
        fetched.append(end - start)
        return read(path, start, end)

    monkeypatch.setattr(blocks, "read_range", noted)
    assert sum(one.sentences for piece in pieces for one in blocks.count(piece, 1 << 19)) == 50_000
    assert len(fetched) == len(pieces) > 2
    assert sum(fetched) < file.size + len(pieces) * (blocks._LOOK + 1)


def test_a_footer_is_read_once_to_count_its_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"tokens": [["a"]] * 100})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    (file,) = list_inputs([str(tmp_path / "a.parquet")])
    pieces = blocks.cut(file)
    opened: list[object] = []
    open_file = pq.ParquetFile
    monkeypatch.setattr(blocks.pq, "ParquetFile", lambda raw: opened.append(raw) or open_file(raw))
    counts = [one for piece in pieces for one in blocks.count(piece)]
    assert [one.sentences for one in counts] == [3] * 33 + [1]
    assert [(one.piece.start, one.piece.end) for one in counts] == [(group, group + 1) for group in range(34)]
    assert len(opened) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=texts, size=st.sampled_from([1, 3, 7, 16, 50, 1000]), look=st.sampled_from([1, 5, 1 << 16]))
def test_blocks_lose_nothing(
    text: bytes, size: int, look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_LOOK", look)
    path = tmp_path / "a.conllu"
    path.write_bytes(text)
    planned = blocks.plan(list_inputs([str(path)]), size)
    data = [blocks.read_block(block) for block in planned]
    assert b"".join(data) == text
    assert sum(block.sentences for block in planned) == sentences_and_lines(text)[0]
    together = _rows([parse_bytes(text, str(path))])
    apart = _rows(
        [
            parse_bytes(part, block.source, block.position, block.line)
            for part, block in zip(data, planned, strict=True)
        ]
    )
    assert apart == together


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(text=texts, size=st.sampled_from([1, 16, 1000]))
def test_compressed_blocks_lose_nothing(
    ending: str, compress: object, text: bytes, size: int, tmp_path: Path
) -> None:
    path = tmp_path / f"a.conllu.{ending}"
    path.write_bytes(compress(text))  # type: ignore[operator]
    planned = blocks.plan(list_inputs([str(path)]), size)
    data = list(blocks.decompressed_blocks(planned[0].piece, size)) if planned else []
    assert b"".join(data) == text
    assert [len(part) for part in data] == [block.end - block.start for block in planned]
    assert sum(block.sentences for block in planned) == sentences_and_lines(text)[0]


def test_a_compressed_file_cut_short_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress(b"1\tx\n\n" * 1000)[:-20])
    with pytest.raises(CovingtonError, match="damaged or cut short"):
        blocks.plan(list_inputs([str(path)]))


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(b"1\tx\n\n" * 1000)
    planned = blocks.plan(list_inputs([str(path)]), 500)
    path.write_bytes(b"1\tx\n\n" * 10)
    with pytest.raises(CovingtonError, match="changed while it was being read"):
        blocks.read_block(planned[-1])


def test_empty_files_have_no_blocks(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_bytes(b"")
    assert blocks.plan(list_inputs([str(tmp_path / "a.conllu")])) == []


def test_positions_start_anew_in_every_file(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.conllu").write_bytes(b"1\tx\n\n" * 10)
    planned = blocks.plan(list_inputs([str(tmp_path)]), 15)
    assert [(block.source[-8], block.position, block.line) for block in planned][:2] == [
        ("a", 0, 1),
        ("a", 4, 9),
    ]
    assert next(block.position for block in planned if block.source.endswith("b.conllu")) == 0
    assert [block.shard for block in planned] == list(range(len(planned)))


def _rows(parts: list[tuple[pa.RecordBatch, pa.RecordBatch]]) -> tuple[list[object], list[object]]:
    sentences = [row for good, _ in parts for row in good.to_pylist()]
    rejects = [row for _, bad in parts for row in bad.to_pylist()]
    return sentences, rejects
