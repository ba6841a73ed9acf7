"""Which sentences face each other, small enough to be looked at: spans, cuts, ranks, long sentences."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covington.corpus.parquet.tables import write_parquet
from covington.corpus.reading import read_conllu
from covington.engine import blocks, work
from covington.engine.pairing import Outline, Run, ranked, read_runs, stretches
from covington.engine.tally import Tally, compare, outlined, tally
from covington.errors import DataError
from covington.files.storage import list_inputs
from tests.evaluation.test_evaluation import as_conllu, noisy_copy, random_corpus
from tests.pipelines.test_evaluate import (
    LAYOUTS,
    Texts,
    as_compressed,
    as_one_file,
    batch_of,
    plain,
    same,
    sentences,
    with_word,
    written,
)

SENTENCES = 60
BLOCK = 2_000
GOLD = sentences(as_conllu(random_corpus(8, SENTENCES)[0]))
SYSTEM = sentences(noisy_copy("".join(GOLD), random.Random(3)))


def outlines_of(*paths: str, block_bytes: int = BLOCK) -> list[Outline]:
    return outlined(list_inputs(list(paths)), block_bytes)


def ids(runs: tuple[Run, ...], block_bytes: int = BLOCK) -> list[str]:
    return [name for batch in read_runs(runs, block_bytes) for name in batch.column("sent_id").to_pylist()]


def in_pieces(batch: pa.RecordBatch, parts: list[list[int]], folder: Path) -> str:
    """A Parquet file for each list of rows."""
    folder.mkdir(parents=True)
    for number, rows in enumerate(parts):
        write_parquet([batch.take(rows)], folder / f"{number}.parquet")
    return str(folder)


def test_rows_with_gaps_between_them_are_put_between_each_other(tmp_path: Path) -> None:
    """Each file has every third sentence: nothing stands together, and all of it is in order."""
    parts = [list(range(first, SENTENCES, 3)) for first in (2, 0, 1)]
    runs = ranked(outlines_of(in_pieces(batch_of(SYSTEM), parts, tmp_path / "thirds")))
    assert [(run.rank, run.sentences) for run in runs] == [(rank, 1) for rank in range(SENTENCES)]
    assert ids(tuple(runs)) == [f"s{number}" for number in range(SENTENCES)]


def test_rows_that_stand_together_are_one_run(tmp_path: Path) -> None:
    parts = [[*range(20), *range(30, 40)], [*range(40, 60), *range(20, 30)]]
    runs = ranked(outlines_of(in_pieces(batch_of(SYSTEM), parts, tmp_path / "parts")))
    assert [(run.rank, run.sentences, Path(run.block.source).name, run.row) for run in runs] == [
        (0, 20, "0.parquet", 0),
        (20, 10, "1.parquet", 20),
        (30, 10, "0.parquet", 20),
        (40, 20, "1.parquet", 0),
    ]


def test_one_file_may_hold_sentences_of_several_sources(tmp_path: Path) -> None:
    """They are in the order of the sources and of the positions in each, whatever the order of the rows."""
    places = [
        ("c", 7),
        ("c", 8),
        ("b", 4),
        ("b", 5),
        ("b", 6),
        ("a", 2),
        ("a", 3),
        ("c", 0),
        ("a", 0),
        ("a", 1),
    ]
    table = pa.table(batch_of(SYSTEM[: len(places)]))
    for name, values in zip(("source", "position"), zip(*places, strict=True), strict=True):
        column = table.column_names.index(name)
        table = table.set_column(column, name, pa.array(values, table.schema.field(name).type))
    pq.write_table(table, tmp_path / "mixed.parquet")
    runs = ranked(outlines_of(str(tmp_path / "mixed.parquet")))
    order = sorted(range(len(places)), key=places.__getitem__)
    assert ids(tuple(runs)) == [f"s{number}" for number in order]


def test_the_row_that_stands_twice_is_named(tmp_path: Path) -> None:
    parts = [list(range(20)), [*range(20, SENTENCES), 5]]
    with pytest.raises(DataError, match=r"1\.parquet: sentence s5: is sentence 6 of .* stands twice"):
        ranked(outlines_of(in_pieces(batch_of(SYSTEM), parts, tmp_path / "parts")))


@pytest.mark.parametrize("column", ["source", "position"])
@pytest.mark.parametrize("missing", [True, False])
def test_rows_that_do_not_say_where_they_stand_are_in_order(
    column: str, missing: bool, tmp_path: Path
) -> None:
    """No such column, or one null in it: then neither column counts."""
    table = pa.table(batch_of(SYSTEM).take(list(reversed(range(SENTENCES)))))
    place = table.column_names.index(column)
    if missing:
        table = table.remove_column(place)
    else:
        values = [None, *table.column(column).to_pylist()[1:]]
        table = table.set_column(place, column, pa.array(values, table.schema.field(column).type))
    pq.write_table(table, tmp_path / "other.parquet")
    runs = ranked(outlines_of(str(tmp_path / "other.parquet")))
    assert ids(tuple(runs)) == [f"s{number}" for number in reversed(range(SENTENCES))]


def test_a_large_row_group_is_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its own rows of the columns that say where they stand."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    order = list(range(SENTENCES))
    random.Random(1).shuffle(order)
    path = in_pieces(batch_of(SYSTEM), [order], tmp_path / "one")
    side = outlines_of(path)
    assert len(side) == -(-SENTENCES // 7)
    assert ids(tuple(ranked(side))) == [f"s{number}" for number in range(SENTENCES)]
    right = list_inputs([as_one_file(tmp_path, GOLD)])
    same(tally(right, list_inputs([path]), rows=True), plain(GOLD, SYSTEM))


def test_a_large_row_group_in_order_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    path = in_pieces(batch_of(SYSTEM), [list(range(SENTENCES))], tmp_path / "one")
    read, rows = [], work.parquet.rows

    def counted(*arguments: object, **options: bool) -> Iterator[pa.RecordBatch]:
        for batch in rows(*arguments, **options):  # type: ignore[arg-type]
            read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(work.parquet, "rows", counted)
    right = list_inputs([as_one_file(tmp_path, GOLD)])
    same(tally(right, list_inputs([path]), rows=True, block_bytes=BLOCK, stretch=5), plain(GOLD, SYSTEM))
    assert sum(read) == SENTENCES


def test_two_files_are_compared_as_they_stand(tmp_path: Path) -> None:
    """A file that was made of b.conllu and then of a.conllu, as text and as a table."""
    for side, texts in (("gold", GOLD), ("system", SYSTEM)):
        (tmp_path / side).mkdir()
        for name, part in (("b", texts[:7]), ("a", texts[7:])):
            (tmp_path / side / f"{name}.conllu").write_text("".join(part), encoding="utf-8")
    both = [batch for name in "ba" for batch in read_conllu(tmp_path / "system" / f"{name}.conllu")]
    write_parquet(both, tmp_path / "both.parquet")
    system, right = list_inputs([str(tmp_path / "both.parquet")]), plain(GOLD, SYSTEM)
    same(tally(list_inputs([as_one_file(tmp_path, GOLD)]), system, rows=True), right)
    # against several files the order is that of the sources
    assert tally(list_inputs([str(tmp_path / "gold")]), system).counts.to_dict() == right.counts.to_dict()


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_stretches_hold_every_sentence_once_on_both_sides(layout: str, tmp_path: Path) -> None:
    texts = [*SYSTEM] * 3 if layout == "files" else SYSTEM  # its files are cut at fixed places
    golds = [*GOLD] * 3 if layout == "files" else GOLD
    gold = outlines_of(as_one_file(tmp_path / "gold", golds))
    system = outlines_of(LAYOUTS[layout](tmp_path / "system", texts))
    found = list(stretches(gold, system, least=10))
    lengths = [[sum(run.sentences for run in side) for side in (one.gold, one.system)] for one in found]
    assert all(left == right for left, right in lengths)
    assert [one.first for one in found] == [sum(n for n, _ in lengths[:place]) for place in range(len(found))]
    assert sum(n for n, _ in lengths) == len(golds)
    assert all(n >= 10 for n, _ in lengths[:-1])
    for one in found:
        for side in (one.gold, one.system):
            assert [run.rank for run in side[1:]] == [run.end for run in side[:-1]]
            assert side[0].rank == one.first
    if layout in ("one file", "7 shards", "disorder"):
        assert len(found) > 2


def test_a_compressed_file_is_read_by_one_worker(tmp_path: Path) -> None:
    """It can only be read from its beginning: no stretch begins inside it."""
    packed = as_compressed(lambda data: bytes(pa.compress(data, "gzip", asbytes=True)))
    for sides in (
        (as_one_file(tmp_path / "a", GOLD), packed(tmp_path / "b", SYSTEM)),
        (packed(tmp_path / "c", GOLD), as_one_file(tmp_path / "d", SYSTEM)),
    ):
        gold, system = (outlines_of(side) for side in sides)
        assert len(gold) > 3 and len(system) > 3
        (only,) = stretches(gold, system, least=1)
        assert ids(only.gold) == ids(only.system)


def test_stretches_begin_where_a_compressed_file_does(tmp_path: Path) -> None:
    files = []
    for number, (first, last) in enumerate(pairwise([0, 20, 40, SENTENCES])):
        path = tmp_path / "system" / f"{number}.conllu.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(pa.compress("".join(SYSTEM[first:last]).encode(), "gzip", asbytes=True)))
        written(tmp_path / "gold" / f"{number}.conllu", GOLD[first:last])
        files.append(first)
    gold, system = (outlines_of(str(tmp_path / side)) for side in ("gold", "system"))
    assert [one.first for one in stretches(gold, system, least=1)] == files


@pytest.mark.parametrize("kept", [0, 1, 20, 59])
def test_no_stretch_is_lost_where_one_side_ends(kept: int, tmp_path: Path) -> None:
    right, cut = as_one_file(tmp_path / "gold", GOLD), written(tmp_path / "cut.conllu", GOLD[:kept])
    sides = [list_inputs([path]) for path in (right, cut)]
    with pytest.raises(DataError, match=rf"sentence s{kept}: is missing in x, which ends before it"):
        tally(*sides, "x", block_bytes=BLOCK, stretch=5)
    with pytest.raises(DataError, match=rf"sentence s{kept}: stands in x after the last gold sentence"):
        tally(*reversed(sides), "x", block_bytes=BLOCK, stretch=5)


def shuffled(gold: Texts, system: Texts, folder: Path, seed: int) -> Tally:
    """The tallies of all stretches, added in another order, as workers hand them in."""
    sides = (outlines_of(as_one_file(folder / name, texts)) for name, texts in (("g", gold), ("s", system)))
    found = [compare(one, "x", rows=True, block_bytes=BLOCK) for one in stretches(*sides, least=5)]
    assert len(found) > 3
    random.Random(seed).shuffle(found)
    return Tally.sum(found)


@pytest.mark.parametrize("seed", range(3))
def test_stretches_know_their_place_in_the_corpus(seed: int, tmp_path: Path) -> None:
    same(shuffled(GOLD, SYSTEM, tmp_path, seed), plain(GOLD, SYSTEM))


@pytest.mark.parametrize("seed", range(3))
def test_of_two_problems_the_first_is_told(seed: int, tmp_path: Path) -> None:
    wrong = [with_word(text) if number in (9, 40) else text for number, text in enumerate(SYSTEM)]
    problem = shuffled(GOLD, wrong, tmp_path, seed).problem
    assert problem is not None and problem.rank <= 9
    assert "sentence s9: word 1" in problem.message


@pytest.mark.parametrize("words", [300, 40_000, 65_535])
def test_the_rows_of_long_sentences(words: int, tmp_path: Path) -> None:
    """Every word but the last is right: more than fits eight bits, or sixteen with a sign."""
    lines = [
        f"{n}\tw\t_\tX\t_\t_\t{n - 1}\t{'dep' if n > 1 else 'root'}\t_\t_\n" for n in range(1, words + 1)
    ]
    last = f"{words}\tw\t_\tX\t_\t_\t1\tdep\t_\t_\n"
    right = written(tmp_path / "gold.conllu", ["# sent_id = long\n", *lines, "\n"])
    other = written(tmp_path / "system.conllu", ["# sent_id = long\n", *lines[:-1], last, "\n"])
    found = tally(list_inputs([right]), list_inputs([other]), rows=True)
    assert np.array_equal(found.sentence_scores, [[words, words - 1, words - 1]])
