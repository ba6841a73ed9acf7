"""Parquet: ours comes back whole and the same every time, others' is understood or refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

import covington
from covington.corpus.conllu import reader as conllu
from covington.corpus.parquet import row_groups as parquet_groups
from covington.corpus.parquet.tables import sound_rows
from covington.errors import DataError
from covington.schemas import PARSE, SENTENCE
from tests.corpus.test_conllu import GOOD
from tests.support import conllu_texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.parquet"


def good(times: int = 1) -> pa.RecordBatch:
    return conllu.parse_bytes((GOOD * times).encode(), "here", 0, 1)[0]


def read(path: Path, **options: object) -> pa.Table:
    return pa.Table.from_batches(covington.read_parquet(path, strict=True, **options))  # type: ignore[arg-type]


@given(conllu_texts.oddly_written())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_there_and_back(path: Path, texts: tuple[str, bytes]) -> None:
    batch, _ = conllu.parse_bytes(texts[1], "here", 0, 1)
    covington.write_parquet([batch], path)
    back = b"".join(
        conllu.format_batch(part).to_pybytes() for part in covington.read_parquet(path, strict=True)
    )
    assert back.decode() == texts[0]


def test_a_row_group_is_let_go_before_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_groups, "ROW_GROUP", 500)
    part = good(500)
    before = pa.total_allocated_bytes()
    # copies that lie in Arrow's own memory, which can be counted
    groups = parquet_groups.grouped(part.take(list(range(500))) for _ in range(4))
    found = 0
    for table in groups:
        size, found = table.nbytes, found + 1
        del table
        assert pa.total_allocated_bytes() - before < size / 4
    assert found == 4


def test_bytes_do_not_depend_on_the_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_groups, "ROW_GROUP", 100)
    batch = good(250)
    covington.write_parquet([batch], path)
    once = path.read_bytes()
    covington.write_parquet((batch.slice(start, 7) for start in range(0, 250, 7)), path)
    assert path.read_bytes() == once
    covington.write_parquet(pa.Table.from_batches([batch]), path)
    assert path.read_bytes() == once
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(group).num_rows for group in range(3)] == [100, 100, 50]
    column = file.metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"
    assert file.schema.column(3).path == "tokens.list.element"  # as the Parquet standard wants lists named
    group = file.metadata.row_group(1)
    columns = {group.column(k).path_in_schema: group.column(k) for k in range(group.num_columns)}
    assert columns["position"].statistics.min == batch["position"][100].as_py()  # so that rows can be skipped
    assert columns["tokens.list.element"].statistics is None
    assert columns["tokens.list.element"].has_dictionary_page
    assert not columns["position"].has_dictionary_page
    assert file.schema_arrow.metadata[b"covington.schema"] == b"1"


def test_row_groups_end_by_bytes_too_whatever_the_batches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long texts, comments, multiword tokens and many short words all count."""
    long, words = "x" * 300, GOOD.splitlines()[4]
    texts = [
        GOOD.replace("Don't go.", long),
        GOOD.replace("newdoc id = d", long),
        GOOD.replace("1-2\tDon't", f"1-2\t{long}"),
        "".join(words.replace("1", str(number), 1) + "\n" for number in range(1, 30)) + "\n",
        GOOD,
    ]
    batch = conllu.parse_bytes("".join([*texts * 15, *[GOOD] * 25]).encode(), "here", 0, 1)[0]
    monkeypatch.setattr(parquet_groups, "ROW_GROUP", 12)
    monkeypatch.setattr(parquet_groups, "GROUP_BYTES", 6_000)
    covington.write_parquet([batch], path)
    once, metadata = path.read_bytes(), pq.read_metadata(path)
    groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    assert sum(groups) == 100 and 12 in groups and min(groups) < 12
    start = 0
    for rows in groups:
        alone = pa.concat_batches([batch.slice(start, rows)])  # without what lies around it
        assert alone.nbytes < 6_000 + 3_000 and (alone.nbytes > 5_500 or rows == 12 or start + rows == 100)
        start += rows
    for size in (1, 3, 40):
        covington.write_parquet((batch.slice(start, size) for start in range(0, 100, size)), path)
        assert path.read_bytes() == once


def test_arrays_that_lie_are_not_written(path: Path) -> None:
    texts = pa.StringArray.from_buffers(
        4, pa.py_buffer(np.array([0, 1, 1 << 30, 2, 2], np.int32)), pa.py_buffer(b"ab")
    )
    words = pa.ListArray.from_arrays(pa.array([0, 4], pa.int32()), texts)
    batch = good()
    with pytest.raises(DataError, match="make no sense"):
        covington.write_parquet([batch.set_column(3, batch.schema.field("tokens"), words)], path)
    assert not path.exists()


def test_no_sentences(path: Path) -> None:
    covington.write_parquet([], path)
    assert list(covington.read_parquet(path)) == []
    assert pq.read_schema(path).equals(SENTENCE)


def test_columns_of_the_parser_come_along(path: Path) -> None:
    batch = good()
    values: list[object] = ["checksum", ["too-long"], [0.5, None, 1.0, 2.0]]
    for field, value in zip(PARSE, values, strict=True):
        batch = batch.append_column(field, pa.array([value], field.type))
    covington.write_parquet([batch], path)
    (row,) = read(path).to_pylist()
    assert [row[field.name] for field in PARSE] == values


OTHERS = {
    "large": pa.large_list(pa.large_string()),
    "dictionary": pa.list_(pa.dictionary(pa.int32(), pa.string())),
    "view": pa.list_view(pa.string()),
    "large view": pa.large_list_view(pa.large_string()),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_types(path: Path, kind: str) -> None:
    words = pa.array([["a", "_"], ["b"]]).cast(pa.list_(pa.string()))
    lemmas = pa.array([["x", "_"], None], pa.list_(pa.string()))
    columns = {"tokens": words, "lemmas": lemmas}
    if kind in ("dictionary", "view", "large view"):
        columns = {name: pa.array(column.to_pylist(), OTHERS[kind]) for name, column in columns.items()}
    elif kind == "large":
        columns = {name: column.cast(OTHERS[kind]) for name, column in columns.items()}
    pq.write_table(pa.table(columns), path)
    table = read(path)
    assert table.column("tokens").to_pylist() == [["a", "_"], ["b"]]
    assert table.column("lemmas").to_pylist() == [["x", None], None]
    assert table.column("source").to_pylist() == [str(path)] * 2
    assert table.column("position").to_pylist() == [0, 1]
    assert table.schema.equals(SENTENCE)


@pytest.mark.parametrize("values", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_lists_of_a_fixed_size(path: Path, values: pa.DataType) -> None:
    pairs = pa.list_(values, 2)
    columns = {
        "tokens": pa.array([["a", "_"], ["b", "c"]], pairs),
        "lemmas": pa.array([["x", "_"], ["_", None]], pairs),
        "head": pa.array([["2", "0"], ["_", "1"]], pairs),
    }
    pq.write_table(pa.table(columns), path)
    table = read(path)
    assert table.schema.equals(SENTENCE)
    assert table.column("tokens").to_pylist() == [["a", "_"], ["b", "c"]]
    assert table.column("lemmas").to_pylist() == [["x", None], [None, None]]
    assert table.column("head").to_pylist() == [[2, 0], [None, 1]]
    pq.write_table(pa.table(columns | {"lemmas": pa.array([["x", "y"], None], pairs)}), path)
    with pytest.raises(
        DataError, match=r"cannot be read as Parquet .*size"
    ):  # Arrow reads no null among them
        read(path)


@pytest.mark.parametrize(
    "heads",
    [
        pa.array([["2", "0"], ["_"]]),
        pa.array([["2", "0"], [""]], pa.large_list(pa.large_string())),
        pa.array([[2, 0], [None]]),
        pa.array([[2, 0], [None]], pa.list_(pa.int16())),
        pa.array([["2", "0"], [None]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    ],
    ids=lambda heads: str(heads.type),
)
def test_heads_as_text_or_numbers(path: Path, heads: pa.Array) -> None:
    pq.write_table(pa.table({"tokens": [["a", "b"], ["c"]], "head": heads}), path)
    assert read(path).column("head").to_pylist() == [[2, 0], [None]]


def test_multiword_tokens_with_fewer_fields(path: Path) -> None:
    nodes = [[{"id": "1-2", "form": "ab", "feats": "_", "misc": "X=Y"}], []]
    columns = {
        "sent_id": ["one", None],
        "comments": [["__SENT_ID__", "newpar"], []],
        "tokens": [["a", "b"], ["c"]],
    }
    pq.write_table(pa.table(columns | {"mwt": nodes}), path)
    text = b"".join(
        conllu.format_batch(batch).to_pybytes() for batch in covington.read_parquet(path)
    ).decode()
    assert text.startswith("# sent_id = one\n# newpar\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\tX=Y\n1\ta\t")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"words": [["a"]]}, "no column 'tokens'.*the columns are: words"),
        ({"tokens": ["a b"]}, "column 'tokens' is string where list"),
        ({"tokens": [["a"]], "upos": [[3]]}, "column 'upos' .* class labels"),
        ({"tokens": [["a"]], "head": [["x"]]}, "a head is not the number of a word"),
        ({"tokens": [["a"]], "head": [[-1]]}, "a head is not the number of a word"),
        ({"tokens": [["a"]], "head": [[0.5]]}, "column 'head'"),
        ({"tokens": [["a"]], "head": [5]}, "column 'head'"),
        ({"tokens": [["a"]], "mwt": [{"id": ["1-2"]}]}, "column 'mwt'"),
    ],
)
def test_what_is_missing_or_wrong_is_told(path: Path, columns: dict[str, object], reason: str) -> None:
    pq.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match=reason) as raised:
        read(path)
    assert str(path) in str(raised.value)


def test_fields_of_one_name_are_told(path: Path) -> None:
    ids = pa.array(["1-2"])
    nodes = pa.ListArray.from_arrays(
        pa.array([0, 1], pa.int32()), pa.StructArray.from_arrays([ids, ids], ["id", "id"])
    )
    pq.write_table(pa.table({"tokens": [["a", "b"]], "mwt": nodes}), path)
    with pytest.raises(DataError, match=r"column 'mwt' .*two fields of a struct have the same name"):
        read(path)


@pytest.mark.parametrize(
    ("heads", "bad"),
    [
        ([[2, 0], [-1, 0], None, [0, 65_536], [0, None]], [1, 3]),
        (
            [["2", "0"], ["x", "0"], ["_", ""], ["0", "99999"], ["0", "1.0"], ["00", "-1"], [None, "02"]],
            [1, 3, 4, 5],
        ),
        (pa.array([[2, 0], [0, 2**64 - 1], None, [0, 2]], pa.list_(pa.uint64())), [1]),
        (
            pa.array([["2", "0"], ["x", "0"], [None, "_"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
            [1],
        ),
        (pa.array([["2", "0"], ["x", "0"], None, ["1", "0"]], pa.list_(pa.string_view())), [1]),
    ],
)
def test_heads_that_are_no_numbers_of_words_are_rejected(
    path: Path, heads: list[object] | pa.Array, bad: list[int]
) -> None:
    pq.write_table(pa.table({"tokens": [["a", "b"]] * len(heads), "head": heads}), path)
    rejects: list[pa.RecordBatch] = []
    kept = pa.Table.from_batches(covington.read_parquet(path, rejects=rejects.append))
    assert kept.column("position").to_pylist() == [row for row in range(len(heads)) if row not in bad]
    told = pa.Table.from_batches(rejects).to_pylist()
    assert [row["position"] for row in told] == bad
    assert {row["reason"] for row in told} == {"a head is not the number of a word"}
    given = heads.to_pylist() if isinstance(heads, pa.Array) else heads
    assert [json.loads(row["raw"])["head"] for row in told] == [given[row] for row in bad]


def test_all_sentences_of_a_file_have_the_same_columns(path: Path) -> None:
    plain = good()
    parsed = plain.append_column("model", pa.repeat("m", plain.num_rows))
    with pytest.raises(DataError, match="the same columns, not some with model"):
        covington.write_parquet([plain, parsed], path)
    assert not path.exists()
    covington.write_parquet([plain, parsed], path, parsed=["model"])
    assert pq.read_table(path).column("model").null_count == plain.num_rows


def test_rows_that_do_not_fit_are_rejected(path: Path) -> None:
    rows = {
        "sent_id": ["good", "short", "none", "far", "null", "good too", "no word"],
        "tokens": [["a"], ["a", "b"], [], ["a"], None, ["a"], ["a", None]],
        "lemmas": [["a"], ["a"], [], ["a"], None, None, None],
        "head": [[0], [0, 1], [], [2], None, [0], [0, 1]],
    }
    pq.write_table(pa.table(rows), path)
    rejects: list[pa.RecordBatch] = []
    kept = pa.Table.from_batches(covington.read_parquet(path, rejects=rejects.append))
    assert kept.column("sent_id").to_pylist() == ["good", "good too"]
    assert kept.column("position").to_pylist() == [0, 5]
    told = [
        (row["sent_id"], row["position"], row["reason"]) for row in pa.Table.from_batches(rejects).to_pylist()
    ]
    assert told == [
        ("short", 1, "'lemmas' has not as many entries as 'tokens'"),
        ("none", 2, "it has no words"),
        ("far", 3, "a head is outside the sentence"),
        ("null", 4, "it has no words"),
        ("no word", 6, "a word is null"),
    ]
    with pytest.raises(DataError, match="sentence short"):
        read(path)


def test_the_row_is_told(path: Path) -> None:
    pq.write_table(pa.table({"sent_id": ["one", "two"], "tokens": [["a"], []]}), path)
    with pytest.raises(DataError) as raised:
        read(path)
    assert str(raised.value) == f"{path}: row 2: sentence two: it has no words"
    with pytest.warns(UserWarning, match=r"could not use 1 sentence: .*x\.parquet: row 2: sentence two"):
        list(covington.read_parquet(path))


@pytest.mark.parametrize("kind", ["ours", "fewer columns"])
def test_sentences_without_a_place_have_that_of_their_row(path: Path, kind: str) -> None:
    rows = [
        {"tokens": ["a"], "source": "s", "position": 7, "line": 70},
        {"tokens": ["a"], "source": None, "position": 8, "line": 80},
        {"tokens": ["a"], "source": "s", "position": None, "line": 90},
    ]
    schema = SENTENCE if kind == "ours" else pa.schema([SENTENCE.field(name) for name in rows[0]])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    places = [[row[name] for name in ("source", "position", "line")] for row in read(path).to_pylist()]
    assert places == [["s", 7, 70], [str(path), 1, None], ["s", 2, 90]]


def test_an_empty_row_group_does_not_slow_the_others_down(path: Path) -> None:
    table = pa.table({"tokens": [["a"]] * 100})
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table, table.slice(0, 0), table):
            writer.write_table(part)
    assert [batch.num_rows for batch in covington.read_parquet(path, batch_size=150)] == [150, 50]


def test_a_position_without_a_source_is_none(path: Path) -> None:
    pq.write_table(pa.table({"tokens": [["a"]], "position": [7], "line": [70]}), path)
    (row,) = read(path).to_pylist()
    assert (row["source"], row["position"], row["line"]) == (str(path), 0, None)


def test_damaged_pages_are_noticed(path: Path) -> None:
    covington.write_parquet([good(200)], path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="Parquet"):
        read(path)


STORED = {
    "string": (pa.binary(), pa.string()),
    "large string": (pa.large_binary(), pa.large_string()),
    "string view": (pa.binary_view(), pa.string_view()),
    "binary": (pa.binary(), pa.binary()),
    "large binary": (pa.large_binary(), pa.large_binary()),
    "binary view": (pa.binary_view(), pa.binary_view()),
    "dictionary": (pa.binary(), pa.string()),
}


def stored(values: list[bytes | None], kind: str) -> pa.Array:
    """Bytes as texts of a kind, whether they are UTF-8 or not."""
    of_bytes, of_texts = STORED[kind]
    plain = pa.array(values, of_bytes)
    texts = pa.Array.from_buffers(of_texts, len(plain), plain.buffers())
    if kind != "dictionary":
        return texts
    return pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int32()), texts)


def in_lists(values: list[bytes], kind: str) -> pa.Array:
    """One value in each list."""
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), stored(values, kind))


def a_column(name: str, values: list[bytes], kind: str) -> pa.Array:
    if name == "sent_id":
        return stored(values, kind)
    if name == "mwt":
        fields = [stored([b"1-1"] * len(values), kind), stored(values, kind)]
        nodes = pa.StructArray.from_arrays(fields, ["id", "form"])
        return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), nodes)
    return in_lists(values, kind)


@pytest.mark.parametrize("wrong", [b"a\xffb", b"\xed\xa0\x80"])
@pytest.mark.parametrize("name", ["tokens", "lemmas", "sent_id", "comments", "head", "mwt"])
@pytest.mark.parametrize("kind", STORED)
def test_a_text_that_is_not_utf8_is_one_reject(kind: str, name: str, wrong: bytes, path: Path) -> None:
    """All kinds of columns, in a row group of several batches; the other rows are as they would be without it."""
    if name == "mwt" and kind.endswith("view"):
        pytest.skip("Arrow does not write views in structs")
    right = b"1" if name == "head" else "\N{LATIN SMALL LETTER E WITH ACUTE}".encode()
    values = [right, right, wrong, right, right, right]
    rest = {"tokens": in_lists([b"w%d" % row for row in range(6)], kind)}
    pq.write_table(pa.table(rest | {name: a_column(name, [right] * 6, kind)}), path)
    expected = read(path).to_pylist()
    pq.write_table(pa.table(rest | {name: a_column(name, values, kind)}), path)
    rejects: list[pa.RecordBatch] = []
    found = list(covington.read_parquet(path, batch_size=4, rejects=rejects.append))
    assert pa.Table.from_batches(found).to_pylist() == [row for row in expected if row["position"] != 2]
    (reject,) = pa.Table.from_batches(rejects).to_pylist()
    assert (reject["position"], reject["line"], reject["reason"]) == (2, None, "not valid UTF-8")
    assert wrong.decode(errors="backslashreplace") in str(json.loads(reject["raw"])[name]).replace(
        "\\\\", "\\"
    )
    with pytest.raises(DataError, match=r"row 3: .*not valid UTF-8"):
        read(path)


def test_what_is_wrong_besides_is_still_told(path: Path) -> None:
    """Another row has a reason of its own; a column of a wrong type is one of the file."""
    rows = pa.array([[b"a"], [b"\xff"], [], [b"b"]])
    pq.write_table(pa.table({"tokens": rows}), path)
    rejects: list[pa.RecordBatch] = []
    assert [batch.num_rows for batch in covington.read_parquet(path, rejects=rejects.append)] == [2]
    found = pa.Table.from_batches(rejects)
    assert found.column("reason").to_pylist() == ["not valid UTF-8", "it has no words"]
    assert found.column("position").to_pylist() == [1, 2]
    pq.write_table(pa.table({"tokens": rows, "lemmas": [[1]] * 4}), path)
    with pytest.raises(DataError, match=r"column '(lemmas|tokens)'"):
        read(path)


def test_arrays_that_lie_are_not_followed_to_their_texts() -> None:
    """A list that goes past its texts, one of which is not UTF-8."""
    texts = pa.array([b"\xff", b"a"]).view(pa.string())
    ends = pa.py_buffer(np.array([0, 1_000_000, 2], np.int32))
    batch = pa.record_batch(
        {"tokens": pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, ends], children=[texts])}
    )
    with pytest.raises(DataError, match="damaged data"):
        sound_rows(batch, "x", 0)


@pytest.mark.parametrize("version", ["2", "2" * 5_000, "two"])
def test_a_newer_schema_is_refused(path: Path, version: str) -> None:
    table = pa.Table.from_batches([good()]).replace_schema_metadata({"covington.schema": version})
    pq.write_table(table, path)
    with pytest.raises(DataError, match=f"version {version[:20]}, this"):
        read(path)


@pytest.mark.parametrize("name", ["tokens", "sent_id"])
def test_columns_of_one_name_are_refused(path: Path, name: str) -> None:
    words = pa.array([["a"]])
    table = pa.table(
        [words, words, pa.array(["x"]), pa.array(["y"])], names=["tokens", "tokens", "sent_id", "sent_id"]
    )
    pq.write_table(table.select([0, 1] if name == "tokens" else [0, 2, 3]), path)
    with pytest.raises(DataError, match=f"two columns '{name}'"):
        read(path)


def test_batch_size(path: Path) -> None:
    covington.write_parquet([good(10)], path)
    assert [batch.num_rows for batch in covington.read_parquet(path, batch_size=4)] == [4, 4, 2]


def test_lists_that_are_never_null(path: Path) -> None:
    """Whether a table has no such column, or nulls in it, in types of ours or in others."""
    tables = [
        pa.table({"tokens": [["a"], ["b"]]}),
        pa.table({"tokens": [["a"], ["b"]], "comments": [None, ["x"]]}),
        pa.Table.from_pylist([{"tokens": ["a"]}, {"tokens": ["b"], "comments": ["x"]}], schema=SENTENCE),
    ]
    for number, table in enumerate(tables):
        pq.write_table(table, path)
        (batch,) = covington.read_parquet(path)
        for name in ("comments", "mwt", "empty_nodes"):
            assert batch.column(name).null_count == 0
        assert batch.column("comments").to_pylist() == [[], ["x"] if number else []]
        assert batch.column("mwt").to_pylist() == batch.column("empty_nodes").to_pylist() == [[], []]
