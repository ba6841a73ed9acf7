"""CoNLL-U ⇄ Arrow: read then write gives the same bytes, oddities are evened out, errors are reported."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import threading
from pathlib import Path

import conllu as judge
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import covington
from covington.corpus import reading
from covington.corpus.conllu import reader as conllu
from covington.corpus.rejects import rejects_in
from covington.corpus.writing import formatted
from covington.errors import DataError
from covington.schemas import REJECT, SENTENCE
from tests.support import conllu_texts

GOOD = """\
# newdoc id = d
# sent_id = one
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\tSpaceAfter=No
3.1\t_\t_\t_\t_\t_\t_\t_\t3:dep\t_
4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""


def rows_of(text: bytes | str) -> list[dict[str, object]]:
    data = text.encode() if isinstance(text, str) else text
    batch, rejects = conllu.parse_bytes(data, "here", 0, 1)
    assert rejects.num_rows == 0, rejects.to_pylist()
    batch.validate(full=True)
    return list(batch.to_pylist())


def again(data: bytes) -> bytes:
    batch, rejects = conllu.parse_bytes(data, "here", 0, 1)
    assert rejects.num_rows == 0, rejects.to_pylist()
    batch.validate(full=True)
    return bytes(conllu.format_batch(batch).to_pybytes())


def test_every_column() -> None:
    (row,) = rows_of("\n" + GOOD)
    assert row["sent_id"] == "one"
    assert row["text"] == "Don't go."
    assert row["comments"] == ["newdoc id = d", "__SENT_ID__", "__TEXT__"]
    assert row["tokens"] == ["Do", "n't", "go", "."]
    assert row["lemmas"] == ["do", "not", "go", "."]
    assert row["upos"] == ["AUX", "PART", "VERB", "PUNCT"]
    assert row["xpos"] == ["VB", "RB", "VB", "."]
    assert row["feats"] == ["Mood=Imp", None, None, None]
    assert row["head"] == [3, 3, 0, 3]
    assert row["deprel"] == ["aux", "advmod", "root", "punct"]
    assert row["deps"] == ["3:aux", "3:advmod", "0:root", "3:punct"]
    assert row["misc"] == [None, None, "SpaceAfter=No", None]
    nothing = dict.fromkeys(("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"))
    assert row["mwt"] == [nothing | {"id": "1-2", "form": "Don't", "misc": "SpaceAfter=No"}]
    assert row["empty_nodes"] == [nothing | {"id": "3.1", "form": "_", "deps": "3:dep"}]
    assert (row["source"], row["position"], row["line"]) == ("here", 0, 2)


def test_empty_input() -> None:
    for data in (b"", b"\n", b"\n \r\n\t\n", b"\xef\xbb\xbf"):
        batch, rejects = conllu.parse_bytes(data, "here", 0, 1)
        assert batch.schema == SENTENCE and batch.num_rows == 0
        assert rejects.schema == REJECT and rejects.num_rows == 0
        assert conllu.format_batch(batch).size == 0


def test_shared_task_format_of_2006() -> None:
    """Projective heads and labels stand where CoNLL-U has DEPS and MISC; they come through as they are."""
    text = (
        "1\tHij\thij\tPron\tPron\tper|3|ev\t2\tsu\t2\tsu\n2\tslaapt\tslaap\tV\tV\tintrans\t0\tROOT\t_\t_\n\n"
    )
    (row,) = rows_of(text)
    assert row["deps"] == ["2", None] and row["misc"] == ["su", None]
    assert again(text.encode()) == text.encode()


@given(conllu_texts.oddly_written())
@example(("", b""))
@settings(max_examples=150, deadline=None)
def test_reading_evens_out_and_loses_nothing(texts: tuple[str, bytes]) -> None:
    canonical, odd = texts
    assert again(odd).decode() == canonical
    assert again(canonical.encode()).decode() == canonical


@given(conllu_texts.oddly_written(), st.integers(1, 30), st.integers(1, 3))
@settings(max_examples=75, deadline=None)
def test_reading_in_pieces_is_reading_at_once(texts: tuple[str, bytes], piece: int, batch_size: int) -> None:
    _, odd = texts
    whole, _ = conllu.parse_bytes(odd, "here", 0, 1)
    builder = conllu.SentenceBuilder("here", batch_size)
    pieces = (odd[start : start + piece] for start in range(0, len(odd), piece))
    batches = [builder.take() for _ in reading._fed(builder, pieces) if builder.is_full]
    batches.append(builder.take())
    assert all(batch.num_rows == batch_size for batch in batches[:-1])
    assert pa.Table.from_batches(batches).to_pylist() == whole.to_pylist()


@given(st.lists(conllu_texts.rows(conllu_texts.plain_text), min_size=1, max_size=3))
@settings(max_examples=75, deadline=None)
def test_agrees_with_the_conllu_package(parts: list[list[list[str]]]) -> None:
    text = "".join("\n".join("\t".join(fields) for fields in part) + "\n\n" for part in parts)
    agree(text, rows_of(text))


def agree(text: str, rows: list[dict[str, object]]) -> None:
    """The `conllu` package finds the same words, heads, labels and metadata."""
    keep = {name: (lambda line, i: line[i]) for name in ("feats", "deps", "misc", "xpos", "deprel")}
    judged = judge.parse(text, field_parsers=keep)
    assert len(judged) == len(rows)

    def value(text: str | None) -> str | None:
        return None if text == "_" else text

    for sentence, row in zip(judged, rows, strict=True):
        words = [token for token in sentence if isinstance(token["id"], int)]
        assert [word["form"] for word in words] == row["tokens"]
        assert [word["head"] for word in words] == row["head"]
        for name, column in (("lemma", "lemmas"), ("upos", "upos"), ("xpos", "xpos"), ("feats", "feats")):
            assert [value(word[name]) for word in words] == row[column]
        for name in ("deprel", "deps", "misc"):
            assert [value(word[name]) for word in words] == row[name]
        for separator, column in (("-", "mwt"), (".", "empty_nodes")):
            nodes = [
                token for token in sentence if isinstance(token["id"], tuple) and token["id"][1] == separator
            ]
            found = row[column]
            assert isinstance(found, list)
            assert ["".join(map(str, node["id"])) for node in nodes] == [node["id"] for node in found]
            assert [node["form"] for node in nodes] == [node["form"] for node in found]
        for name in ("sent_id", "text"):
            assert sentence.metadata.get(name) == row[name]


def treebank_files() -> list[Path]:
    return sorted(conllu_texts.TREEBANKS.glob("*/*.conllu*"))


needs_treebanks = pytest.mark.skipif(
    not treebank_files(), reason="the treebanks are not here (COVINGTON_TREEBANKS)"
)


@needs_treebanks
def test_treebanks_come_back_byte_for_byte(tmp_path: Path) -> None:
    for path in treebank_files():
        original = conllu_texts.unpacked(path)
        plain, packed = tmp_path / "out.conllu", tmp_path / "out.parquet"
        covington.write_conllu(covington.read_conllu(path, strict=True), plain)
        assert plain.read_bytes() == original, path
        covington.write_parquet(covington.read_conllu(path, strict=True), packed)
        covington.write_conllu(covington.read_parquet(packed, strict=True), plain)
        assert plain.read_bytes() == original, path


@needs_treebanks
@pytest.mark.parametrize("part", ["dev", pytest.param("", marks=pytest.mark.slow)])
def test_treebanks_agree_with_the_conllu_package(part: str) -> None:
    for path in treebank_files():
        if part in path.name:
            text = conllu_texts.unpacked(path).decode()
            agree(text, rows_of(text))


BAD = {
    "1\ta\t_\t_\t_\t_\t0\troot\t_\n": "expected 10 columns separated by tabs, found 9",
    "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\t_\n": "expected 10 columns separated by tabs, found 11",
    "1 a _ _ _ _ 0 root _ _\n": (
        "expected 10 columns separated by tabs, found 1: is it plain text, or are there blanks instead of tabs?"
    ),
    "1\ta\t\t_\t_\t_\t0\troot\t_\t_\n": "column LEMMA is empty",
    "1\ta\t_\t_\t_\t_\t0\troot\t_\t\r\n": "column MISC is empty",
    "2\ta\t_\t_\t_\t_\t0\troot\t_\t_\n": "ID '2' where 1 was expected",
    "01\ta\t_\t_\t_\t_\t0\troot\t_\t_\n": "ID '01' where 1 was expected",
    "x\ta\t_\t_\t_\t_\t0\troot\t_\t_\n": "ID 'x",
    "1\ta\t_\t_\t_\t_\t2\troot\t_\t_\n": "HEAD 2 is outside the sentence, which has 1 word",
    "1\ta\t_\t_\t_\t_\t-1\troot\t_\t_\n": "HEAD '-1' is not the number of a word",
    "1\ta\t_\t_\t_\t_\t99999\troot\t_\t_\n": "HEAD '99999' is not the number of a word",
    "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n# late\n": "comment '# late' after the first word",
    "# alone\n": "comments without a single word",
    "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n": "a multiword token goes past",
    "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n": "a multiword token goes past the last word",
    "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r2\tb\t_\t_\t_\t_\t1\tobj\t_\t_\n": "a carriage return within a line",
    "# text = a\r1\ta\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n": "a carriage return within a line",
    "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r# late\n": "a carriage return within a line",
    "1\ta\rb\t_\t_\t_\t_\t0\troot\t_\t_\n": "a carriage return within a line",
    "0.1\tab\t_\t_\t_\t_\t_\t_\t_\t_\n": "empty nodes without a single word",
    "2-3\tab\t_\t_\t_\t_\t_\t_\t_\t_\n": "multiword token '2-3' does not fit here: the next word is 1",
    "1.1\tab\t_\t_\t_\t_\t_\t_\t_\t_\n": "empty node '1.1' does not fit here: the last word was 0",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_sentences_are_reported_and_the_rest_is_read(text: str) -> None:
    """File, line, sent_id, reason and raw text; the sentences around it are not touched."""
    bad = "# sent_id = bad\n" + text
    batch, rejects = conllu.parse_bytes((GOOD + bad + "\n" + GOOD).encode(), "here", 10, 100)
    assert batch.column("position").to_pylist() == [10, 12]
    assert batch.drop_columns(["position", "line"]).to_pylist() == 2 * [
        {name: value for name, value in row.items() if name not in ("position", "line")}
        for row in rows_of(GOOD)
    ]
    (reject,) = rejects.to_pylist()
    assert reject["reason"].startswith(BAD[text])
    assert (reject["source"], reject["position"], reject["sent_id"]) == ("here", 11, "bad")
    assert reject["raw"] == bad.encode()
    assert 110 <= reject["line"] <= 110 + bad.count("\n")


def test_the_line_reported_is_the_bad_one() -> None:
    lines = GOOD.splitlines()
    lines[6] = lines[6].replace("\t0\t", "\tzero\t")
    _, rejects = conllu.parse_bytes("\n".join(lines).encode(), "here", 0, 1)
    assert rejects.column("line").to_pylist() == [7]
    past = GOOD.replace("4\t.", "4-5\tx\t_\t_\t_\t_\t_\t_\t_\t_\n4\t.")
    _, rejects = conllu.parse_bytes(past.encode(), "here", 0, 1)
    assert rejects.column("line").to_pylist() == [9]


def test_a_long_sent_id_is_told_in_part() -> None:
    long = "id" * 1_000
    _, rejects = conllu.parse_bytes(f"# sent_id = {long}\n1\ta\n\n".encode(), "here", 0, 1)
    (reject,) = rejects_in(rejects)
    assert reject.sent_id == long == reject.error.sent_id
    assert (
        str(reject.error) == f"here:2: sentence {long[:100]}…: expected 10 columns separated by tabs, found 2"
    )


def test_bytes_that_are_not_utf8() -> None:
    for wrong in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"):
        bad = b"1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n2\tb" + wrong + b"\t_\t_\t_\t_\t0\troot\t_\t_\n"
        batch, rejects = conllu.parse_bytes(bad + b"\n" + GOOD.encode(), "here", 0, 1)
        assert batch.num_rows == 1
        assert rejects.to_pylist() == [
            {
                "source": "here",
                "line": 2,
                "position": 0,
                "sent_id": None,
                "reason": "not valid UTF-8",
                "raw": bad,
            }
        ]


WORD = "{}\ta\t_\t_\t_\t_\t0\troot\t_\t_"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["# a", "# sent_id = b", WORD.format(1), WORD.format(2), ""]),
            st.sampled_from(["\n", "\n", "\r\n", "\r", "\r\r", "\r\r\n"]),
        ),
        max_size=12,
    )
)
@example([("# sent_id = b", "\r"), (WORD.format(1), "\r\r"), ("# a", "\n"), (WORD.format(1), "\n\n")])
@settings(max_examples=400)
def test_no_sentence_is_lost_in_another_where_a_line_ends_in_a_carriage_return(
    lines: list[tuple[str, str]],
) -> None:
    """Cut at blank lines, every piece is one sentence or one reject; none that came out has a return in it."""
    text = "".join(line + end for line, end in lines)
    parts = [part for part in re.split(r"\n(?:\r*\n)+", "\n" + text + "\n\n") if part.strip("\r\n")]
    batch, rejects = conllu.parse_bytes(text.encode(), "here", 0, 1)
    assert batch.num_rows + rejects.num_rows == len(parts) == conllu.sentences_and_lines(text.encode())[0]
    found = {row["position"]: row["reason"] for row in rejects.to_pylist()}
    for position, part in enumerate(parts):
        is_alone = re.search(r"\r(?![\r\n])", part.strip("\n").rstrip("\r")) is not None
        assert found.get(position, "").startswith("a carriage return") == is_alone
    assert b"\r" not in bytes(conllu.format_batch(batch).to_pybytes())


def test_a_reject_with_carriage_returns_has_the_sent_id_and_all_of_the_text() -> None:
    first, second = (f"# sent_id = {name}\n# text = a\n{WORD.format(1)}\n" for name in "ab")
    bad = first.replace("\n", "\r") + "\r" + second
    batch, rejects = conllu.parse_bytes((GOOD + bad + "\n" + GOOD).encode(), "here", 0, 1)
    assert batch.column("position").to_pylist() == [0, 2]
    (reject,) = rejects.to_pylist()
    assert (reject["sent_id"], reject["line"], reject["raw"]) == ("a", 11, bad.encode())


def test_longest_sentence() -> None:
    line = "{}\ta\t_\t_\t_\t_\t0\troot\t_\t_\n"
    fits = "".join(line.format(number) for number in range(1, 65_536))
    (row,) = rows_of(fits)
    assert len(row["tokens"]) == 65_535  # type: ignore[arg-type]
    batch, rejects = conllu.parse_bytes((fits + line.format(65_536) + "\n" + GOOD).encode(), "here", 0, 1)
    assert batch.num_rows == 1
    assert rejects.column("reason").to_pylist() == ["more than 65535 words"]
    assert rejects.column("line").to_pylist() == [65_536]


def test_endless_line_is_rejected_and_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covington.corpus.conllu.overlong.LONGEST", 10_000)
    monkeypatch.setattr("covington.corpus.conllu.overlong.SLACK", 100)
    monkeypatch.setattr("covington.files.compression.PIECE", 1_000)
    path = tmp_path / "x.conllu"
    for filling in ("x" * 50_000, "x\n" * 25_000):
        path.write_text(GOOD + filling + "\n\n" + GOOD)
        rejects: list[pa.RecordBatch] = []
        batches = list(covington.read_conllu(path, rejects=rejects.append))
        assert pa.Table.from_batches(batches).column("position").to_pylist() == [0, 2]
        last_line = path.read_text().count("\n") - GOOD.count("\n") + 1
        assert pa.Table.from_batches(batches).column("line").to_pylist() == [1, last_line]
        (reject,) = pa.Table.from_batches(rejects).to_pylist()
        assert (reject["line"], reject["position"]) == (11, 1)
        path.write_text(GOOD + filling)
        assert sum(batch.num_rows for batch in covington.read_conllu(path, rejects=rejects.append)) == 1


def test_strict_raises_at_the_first(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(GOOD + "# sent_id = two\n1\ta\n\n" + GOOD)
    with pytest.raises(DataError) as raised:
        list(covington.read_conllu(path, strict=True))
    assert str(raised.value) == f"{path}:12: sentence two: expected 10 columns separated by tabs, found 2"
    with pytest.warns(UserWarning, match="could not use 1 sentence: .*:12: sentence two"):
        assert sum(batch.num_rows for batch in covington.read_conllu(path)) == 2


def test_batches_have_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(GOOD * 10)
    assert [batch.num_rows for batch in covington.read_conllu(path, batch_size=4)] == [4, 4, 2]
    with pytest.raises(ValueError, match="at least 1"):
        next(covington.read_conllu(path, batch_size=0))


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.conllu{ending}"
    text = (GOOD * 30_000).encode()
    batch, _ = conllu.parse_bytes(text, "x", 0, 1)
    covington.write_conllu([batch], path)
    once = path.read_bytes()
    covington.write_conllu([batch], path)
    assert path.read_bytes() == once  # no time, no name in it
    assert (once[:6] == text[:6]) == (ending == "")
    back = io.BytesIO()
    covington.write_conllu(covington.read_conllu(path), back)
    assert back.getvalue() == text
    path.write_bytes(once + once)  # several members in one file
    back = io.BytesIO()
    covington.write_conllu(covington.read_conllu(path), back)
    assert back.getvalue() == text + text
    if ending in (".gz", ".xz"):  # and zeros up to the end of a block
        path.write_bytes(once + bytes(64) + once + bytes(512))
        assert sum(batch.num_rows for batch in covington.read_conllu(path)) == 2 * batch.num_rows
    if ending:
        path.write_bytes(once[: len(once) // 2])
        with pytest.raises(DataError, match="damaged or cut short"):
            list(covington.read_conllu(path))
    if ending not in ("", ".zst"):  # the others check what they unpack
        damaged = bytearray(once)
        damaged[len(once) // 2] ^= 255
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged or cut short"):
            list(covington.read_conllu(path))


COPY = "import covington; covington.write_conllu(covington.read_conllu('-'), '-')"


def test_standard_input_and_output_without_seeking() -> None:
    for data in (GOOD.encode() * 3, gzip.compress(GOOD.encode() * 3)):
        done = subprocess.run([sys.executable, "-c", COPY], input=data, capture_output=True, check=True)
        assert done.stdout == GOOD.encode() * 3


def test_split_point() -> None:
    good = GOOD.encode()
    assert conllu.split_point(good) == len(good)
    assert conllu.split_point(good + good[:-1]) == len(good)
    assert conllu.split_point(good + good[:57]) == len(good)
    assert conllu.split_point(good.replace(b"\n", b"\r\n") + b"1") == len(good.replace(b"\n", b"\r\n"))
    assert conllu.split_point(good + b"  \n1\t") == len(good) + 3
    assert conllu.split_point(good[:-1]) == conllu.split_point(b"") == conllu.split_point(b"abc") == 0


def test_threads_read_at_the_same_time() -> None:
    data = (GOOD * 2000).encode()
    expected, _ = conllu.parse_bytes(data, "x", 0, 1)
    results: list[pa.RecordBatch] = []
    threads = [
        threading.Thread(target=lambda: results.append(conllu.parse_bytes(data, "x", 0, 1)[0]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(batch.equals(expected) for batch in results) and len(results) == 4


def batch_of(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"tokens": ["a", "b"], "source": "s", "line": 7} | columns], schema=SENTENCE
    )


def text_of(**columns: object) -> str:
    return bytes(conllu.format_batch(batch_of(**columns)).to_pybytes()).decode()


def test_writing_what_was_not_read() -> None:
    words = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert text_of() == words
    assert text_of(sent_id="x", text="a b") == "# sent_id = x\n# text = a b\n" + words
    assert text_of(text="a\nb\r\n c\rd\r") == "# text = a b   c d \n" + words
    assert text_of(sent_id="x", comments=[]) == "# sent_id = x\n" + words
    assert text_of(sent_id="x", comments=["y = 1"]) == "# sent_id = x\n# y = 1\n" + words
    assert text_of(sent_id="x", comments=["y = 1", "__SENT_ID__"]) == "# y = 1\n# sent_id = x\n" + words
    assert text_of(sent_id="x", comments=["sent_id = x"]) == "# sent_id = x\n" + words
    assert text_of(comments=["__SENT_ID__", None, "#verbatim"]) == "#verbatim\n" + words
    assert text_of(lemmas=["", None], feats=["", "_"], misc=["_", ""]) == words
    assert text_of(mwt=[{"id": "1-2", "misc": ""}]) == "1-2" + "\t_" * 9 + "\n" + words
    assert text_of(empty_nodes=[{"id": "0.1", "form": ""}]) == "0.1" + "\t_" * 9 + "\n" + words
    assert text_of(head=[2, 0]).count("\t2\t") == 1


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"tokens": []}, "no words"),
        ({"tokens": None}, "no words"),
        ({"tokens": ["a"] * 65_536}, "more than 65535"),
        ({"lemmas": ["a"]}, "not of the same length"),
        ({"head": []}, "not of the same length"),
        ({"head": [1, 2, 3]}, "not of the same length"),
        ({"head": [3, 0]}, "outside the sentence"),
        ({"tokens": ["a", ""]}, "a word is empty"),
        ({"tokens": ["a", None]}, "a word is empty"),
        ({"mwt": [{"id": "1-2", "form": ""}]}, "a word is empty"),
        ({"tokens": ["a\tb", "c"]}, "tab or a line break"),
        ({"misc": ["a", "b\n"]}, "tab or a line break"),
        ({"misc": ["a", "b\r"]}, "tab or a line break"),
        ({"tokens": ["a\rb", "c"]}, "tab or a line break"),
        ({"comments": ["a\nb"]}, "tab or a line break"),
        ({"comments": ["a\rb"]}, "tab or a line break"),
        ({"sent_id": "a\rb"}, "tab or a line break"),
        ({"mwt": [{"id": "1-2", "form": "x\ry"}]}, "tab or a line break"),
        ({"comments": ["a\r"]}, "tab or a line break"),
        ({"mwt": [{"id": "1-3", "form": "x"}]}, "ID that does not fit"),
        ({"mwt": [{"id": "3-4", "form": "x"}]}, "ID that does not fit"),
        ({"mwt": [{"id": None, "form": "x"}]}, "ID that does not fit"),
        ({"mwt": [{"id": "1-2", "form": "x"}, {"id": "2-2", "form": "x"}]}, "ID that does not fit"),
        ({"empty_nodes": [{"id": "1.2", "form": "x"}, {"id": "1.1", "form": "x"}]}, "ID that does not fit"),
        ({"empty_nodes": [{"id": "one", "form": "x"}]}, "ID that does not fit"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(columns: dict[str, object], reason: str) -> None:
    with pytest.raises(DataError, match=reason) as raised:
        text_of(**{"sent_id": "id"} | columns)
    named = columns.get("sent_id", "id")
    assert str(raised.value).startswith(f"s:7: sentence {named}: cannot be written as CoNLL-U")


def test_what_cannot_be_written_is_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(batch: pa.RecordBatch) -> tuple[pa.Buffer, dict[int, str]]:
        calls.append(batch.num_rows)
        return conllu.format_rows(batch)

    monkeypatch.setattr("covington.corpus.writing.format_rows", counted)
    rows = [
        batch_of(tokens=["a", word], position=place).to_pylist()[0] for place, word in enumerate("b\tc\n")
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=SENTENCE)
    text, good, bad = formatted(batch)
    assert calls == [4]
    assert text == conllu.format_batch(good)
    assert good.column("position").to_pylist() == [0, 2]
    assert [(reject.source, reject.line, reject.position) for reject in bad] == [("s", 7, 1), ("s", 7, 3)]


def test_arrays_that_lie_about_their_size_are_refused() -> None:
    """Offsets that only a full check finds out, as a damaged or hostile file may have them."""
    good = batch_of(lemmas=["x", "y"])
    index = good.schema.get_field_index("lemmas")
    for middle in (99, -5):
        offsets = pa.py_buffer(np.array([0, middle, 2], np.int32))
        values = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"ab"))
        lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), values)
        with pytest.raises(DataError, match="make no sense"):
            conllu.format_batch(good.set_column(index, good.schema.field(index), lists))


def test_slices_are_written_as_they_are() -> None:
    text = GOOD + GOOD.replace("Do", "Did").replace("one", "two") + GOOD.replace("go", "stay")
    batch, _ = conllu.parse_bytes(text.encode(), "x", 0, 1)
    parts = [conllu.format_batch(batch.slice(row, 1)).to_pybytes() for row in range(3)]
    assert b"".join(parts).decode() == text


def test_tokens_as_objects() -> None:
    batch, _ = conllu.parse_bytes(GOOD.encode(), "x", 0, 1)
    (sentence,) = covington.token_lists(batch)
    assert sentence.metadata["sent_id"] == "one"
    assert [token["form"] for token in sentence.filter(deprel="root")] == ["go"]
