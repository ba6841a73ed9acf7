"""Scores judged by ten lines of Python on the trees that the `conllu` package reads."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections import Counter
from pathlib import Path

import conllu
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covington.commands.cli import main
from covington.commands.evaluate import distinct_names
from covington.corpus.parquet.tables import write_parquet
from covington.corpus.reading import read_conllu
from covington.errors import DataError
from covington.evaluation.alignment import align
from covington.evaluation.counts import ARC_LENGTH_GROUPS, Counts, count, sentence_scores
from covington.evaluation.scores import scores
from covington.evaluation.tree_shape import depth, projective
from tests.support import conllu_texts
from tests.support.batches import batch, sentence

#: of the CoNLL 2018 shared task
CONTENT_RELATIONS = {
    *("nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl"),
    *("advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound"),
    *("list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep"),
}
LABELS = ["nsubj", "obj", "nmod", "nmod:poss", "case", "punct", "aux:pass", "aux"]


def random_tree(chooser: random.Random, words: int) -> list[int]:
    order = list(range(1, words + 1))
    chooser.shuffle(order)
    heads = [0] * (words + 1)
    for place, word in enumerate(order):
        heads[word] = chooser.choice(order[:place]) if place else 0
    return heads[1:]


def random_corpus(seed: int, sentences: int = 60) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Random gold trees, and a system that changes a third of heads and labels."""
    chooser = random.Random(seed)
    golds, systems = [], []
    for number in range(sentences):
        words = chooser.randint(1, 25)
        heads = random_tree(chooser, words)
        labels = ["root" if head == 0 else chooser.choice(LABELS) for head in heads]
        upos = ["PUNCT" if label == "punct" else chooser.choice(["NOUN", "VERB"]) for label in labels]
        other = random_tree(chooser, words) if chooser.random() < 0.3 else heads
        other_labels = [
            "root" if head == 0 else chooser.choice(LABELS) if chooser.random() < 0.3 else label
            for label, head in zip(labels, other, strict=True)
        ]
        forms = " ".join(chooser.choice(["a", "ö", "<b>", "语"]) for _ in range(words))
        about = {"upos": " ".join(upos), "sent_id": f"s{number}", "position": number}
        golds.append(sentence(forms, heads, " ".join(labels), **about))
        systems.append(sentence(forms, other, " ".join(other_labels), **about))
    return batch(*golds), batch(*systems)


def as_conllu(rows: pa.RecordBatch) -> str:
    lines = []
    for row in rows.to_pylist():
        lines.append(f"# sent_id = {row['sent_id']}")
        for number, form in enumerate(row["tokens"]):
            columns = [form, "_", row["upos"][number], "_", "_", str(row["head"][number])]
            lines.append("\t".join([str(number + 1), *columns, row["deprel"][number], "_", "_"]))
        lines.append("")
    return "\n".join(lines) + "\n"


def words_of(text: str) -> list[list[dict[str, object]]]:
    return [[word for word in tree if isinstance(word["id"], int)] for tree in conllu.parse(text)]


def independent(gold_text: str, system_text: str) -> dict[str, float]:
    """UAS and LAS as anyone would count them."""
    pairs = [
        pair
        for gold, system in zip(words_of(gold_text), words_of(system_text), strict=True)
        for pair in zip(gold, system, strict=True)
    ]
    heads = sum(g["head"] == s["head"] for g, s in pairs)
    both = sum(g["head"] == s["head"] and g["deprel"] == s["deprel"] for g, s in pairs)
    return {"uas": 100 * heads / len(pairs), "las": 100 * both / len(pairs)}


def shared_task(gold_text: str, system_text: str) -> dict[str, float]:
    """The CoNLL 2018 definition on identical words: subtypes cut; CLAS is F1 over content labels."""

    def universal(word: dict[str, object]) -> str:
        return str(word["deprel"]).split(":")[0]

    pairs = [
        pair
        for gold, system in zip(words_of(gold_text), words_of(system_text), strict=True)
        for pair in zip(gold, system, strict=True)
    ]
    right = [g["head"] == s["head"] and universal(g) == universal(s) for g, s in pairs]
    content = [(universal(g) in CONTENT_RELATIONS, universal(s) in CONTENT_RELATIONS) for g, s in pairs]
    both = sum(r and c[0] for r, c in zip(right, content, strict=True))
    return {
        "uas": 100 * sum(g["head"] == s["head"] for g, s in pairs) / len(pairs),
        "las": 100 * sum(right) / len(pairs),
        "clas": 200 * both / sum(c[0] + c[1] for c in content),
    }


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_an_independent_computation(seed: int) -> None:
    gold, system = random_corpus(seed)
    found = scores(count(gold, system), "system")
    expected = independent(as_conllu(gold), as_conllu(system))
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)
    assert found["conll18"] == pytest.approx(shared_task(as_conllu(gold), as_conllu(system)), abs=1e-12)
    assert found["conll18"]["las"] > found["las"]  # the corpus has subtypes, which the shared task cuts off


def test_without_subtypes_las_is_the_shared_task_las() -> None:
    rows = [sentence("a b c", [2, 0, 2], "nsubj root obj"), sentence("a b", [0, 1])]
    other = [sentence("a b c", [2, 0, 1], "nsubj root obj"), sentence("a b", [0, 1], "root obj")]
    found = scores(count(batch(*rows), batch(*other)), "system")
    assert (found["uas"], found["las"]) == (80.0, 60.0)
    assert (found["conll18"]["uas"], found["conll18"]["las"]) == (80.0, 60.0)


def test_every_score_of_a_sentence_worked_out_by_hand() -> None:
    gold = batch(
        sentence("She saw the dog .", [2, 0, 4, 2, 2], "nsubj root det obj punct", "PRON VERB DET NOUN PUNCT")
    )
    system = batch(
        sentence(
            "She saw the dog .", [2, 0, 2, 2, 4], "nsubj root det nsubj punct", "PRON VERB DET NOUN PUNCT"
        )
    )
    found = scores(count(gold, system), "system")
    assert (found["uas"], found["las"], found["label_accuracy"]) == (60.0, 40.0, 80.0)
    assert found["without_punctuation"]["uas"] == 75.0
    assert found["without_punctuation"]["las"] == 50.0
    assert found["clas"] == pytest.approx(200 * 2 / 6)  # nsubj and root right; obj wrong
    assert found["exact_match"] == 0.0
    assert found["root_accuracy"] == 100.0
    lengths = {row["key"]: row for row in found["by_arc_length"]}
    assert (lengths["1"]["gold"], lengths["1"]["system"]) == (2, 3)
    assert lengths["1"]["recall"] == 50.0 and lengths["1"]["precision"] == pytest.approx(100 / 3)
    assert lengths["root"]["precision"] == 100.0
    assert found["label_confusions"] == [{"gold": "obj", "system": "nsubj", "count": 1}]
    assert {"upos": "DET", "gold_head": "NOUN", "system_head": "VERB", "count": 1} in found["head_confusions"]
    depths = {row["key"]: row for row in found["by_root_distance"]}
    assert (depths["3"]["gold"], depths["3"]["system"], depths["2"]["gold"]) == (1, 1, 3)
    relations = {row["key"]: row for row in found["by_relation"]}
    assert relations["nsubj"]["labelled_precision"] == 50.0 and relations["obj"]["labelled_recall"] == 0.0


def slow_depth(heads: list[int], word: int) -> int:
    steps = 0
    while word and steps <= len(heads):
        word, steps = heads[word - 1], steps + 1
    return 0 if word else steps


def slow_projective(heads: list[int], word: int) -> bool:
    head = heads[word - 1]

    def under(other: int) -> bool:
        while other not in (0, head):
            other = heads[other - 1]
        return other == head

    return all(under(other) for other in range(min(head, word) + 1, max(head, word)))


@given(st.integers(0, 10**9), st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_depth_and_projectivity_equal_the_slow_definitions(seed: int, sizes: list[int]) -> None:
    chooser = random.Random(seed)
    trees = [random_tree(chooser, size) for size in sizes]
    head = np.array([head for tree in trees for head in tree])
    lengths = np.array(sizes)
    assert depth(head, lengths).tolist() == [slow_depth(t, w) for t in trees for w in range(1, len(t) + 1)]
    assert projective(head, lengths).tolist() == [
        slow_projective(t, w) for t in trees for w in range(1, len(t) + 1)
    ]


def test_cycles_and_missing_heads_of_a_system_are_scored_and_of_gold_are_errors() -> None:
    gold = batch(sentence("a b c d", [2, 0, 2, 3]))
    system = batch(sentence("a b c d", [2, 1, 2, None]))
    found = scores(count(gold, system), "system")
    assert found["uas"] == 50.0
    assert {row["key"]: row["system"] for row in found["by_root_distance"]}["0"] == 4
    with pytest.raises(DataError, match="cycle"):
        count(system.slice(0, 1).set_column(8, "head", gold_heads([2, 1, 2, 3])), system)
    with pytest.raises(DataError, match="no head"):
        count(system, gold)


def test_lists_that_are_missing_whole_are_missing_values() -> None:
    gold = batch(sentence("a b", [0, 1]), sentence("c d", [2, 0]), sentence("e", [0]))
    rows = [sentence("a b", [0, 1]), sentence("c d", [2, 0]), sentence("e", [0])]
    rows[1].update(head=None, deprel=None, upos=None)
    found = scores(count(gold, batch(*rows)), "system")
    assert (found["uas"], found["las"]) == (60.0, 60.0)
    assert scores(count(batch(rows[0], rows[2]), batch(rows[0], rows[2])), "x")["las"] == 100.0
    rows[1].update(head=[2], deprel=None)
    with pytest.raises(DataError, match=r"column .head. has 1 values for 2 words"):
        count(gold, batch(*rows))


def gold_heads(heads: list[int]) -> pa.Array:
    return pa.array([heads], pa.list_(pa.uint16()))


@given(st.integers(0, 10**6), st.lists(st.integers(0, 40), max_size=3))
def test_counts_add_up_however_the_corpus_is_cut(seed: int, cuts: list[int]) -> None:
    gold, system = random_corpus(seed, 40)
    whole = count(gold, system)
    edges = [0, *sorted(cuts), 40]
    parts = [count(gold.slice(a, b - a), system.slice(a, b - a)) for a, b in itertools.pairwise(edges)]
    merged = Counts.sum(parts)
    assert scores(merged, "x") == scores(whole, "x")
    assert merged.to_dict() == whole.to_dict()
    again = Counts.from_dict(json.loads(json.dumps(whole.to_dict())))
    assert again.to_dict() == whole.to_dict()


def test_groups_cover_the_fine_curve() -> None:
    gold, system = random_corpus(3)
    fine = count(gold, system).arc_length
    assert fine.grouped(ARC_LENGTH_GROUPS).counts.sum(axis=0).tolist() == fine.counts.sum(axis=0).tolist()


def test_sentence_scores_sum_to_the_corpus_scores() -> None:
    gold, system = random_corpus(4)
    words, heads, both = sentence_scores(gold, system).sum(axis=0)
    found = scores(count(gold, system), "x")
    assert (100 * heads / words, 100 * both / words) == pytest.approx((found["uas"], found["las"]))


def test_alignment_cuts_batches_to_fit() -> None:
    gold, system = random_corpus(5)
    golds = [gold.slice(0, 7), gold.slice(7, 0), gold.slice(7)]
    systems = [system.slice(0, 30), system.slice(30)]
    parts = [count(*pair) for pair in align(golds, systems)]
    assert [int(part.attachment[0, 5]) for part in parts] == [7, 23, 30]
    assert Counts.sum(parts).to_dict() == count(gold, system).to_dict()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([sentence("a b", [0, 1], sent_id="s1")], "sentence s2: is missing in sys, which ends before it"),
        (
            [sentence("a b", [0, 1], sent_id="s1"), sentence("c", [0], sent_id="s9")],
            "s2: faces sentence s9 in sys",
        ),
        (
            [sentence("a b", [0, 1], sent_id="s1"), sentence("c d", [0, 1], sent_id="s2")],
            "s2: has 1 words, but 2 in",
        ),
        (
            [sentence("a X", [0, 1], sent_id="s1"), sentence("c", [0], sent_id="s2")],
            "s1: word 2 is b here and X in",
        ),
        (
            [sentence("a b", [0, 1]), sentence("c", [0]), sentence("d", [0])],
            "sentence number 1: stands in sys after the last",
        ),
    ],
)
def test_sentences_that_do_not_match_are_named(rows: list[dict[str, object]], message: str) -> None:
    gold = [batch(sentence("a b", [0, 1], sent_id="s1"), sentence("c", [0], sent_id="s2"))]
    with pytest.raises(DataError) as caught:
        list(align(gold, [batch(*rows)], "sys"))
    assert message in str(caught.value)


def treebanks() -> list[Path]:
    """The test sets of the folder that COVINGTON_TREEBANKS names, or of ../shared/treebanks."""
    default = Path(__file__).parents[2] / ".." / "shared" / "treebanks"
    folder = Path(os.environ.get("COVINGTON_TREEBANKS", str(default)))
    return sorted(folder.glob("*/*test*.conllu*"))


def noisy_copy(text: str, chooser: random.Random) -> str:
    """The same words with a fifth of the heads turned to a neighbour's and a tenth of the labels changed."""
    lines = []
    for line in text.split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and columns[0].isdigit():
            if chooser.random() < 0.2:
                columns[6] = str(int(columns[0]) - 1)
            if chooser.random() < 0.1:
                columns[7] = chooser.choice(LABELS)
        lines.append("\t".join(columns))
    return "\n".join(lines)


@pytest.mark.parametrize("path", treebanks() or [None], ids=lambda path: path.name if path else "none")
def test_treebanks_score_as_an_independent_computation_says(path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip("no treebanks: set COVINGTON_TREEBANKS to a folder of UD treebanks")
    gold_text = conllu_texts.unpacked(path).decode()
    system_text = noisy_copy(gold_text, random.Random(path.name))
    system = tmp_path / "system.conllu"
    system.write_text(system_text, encoding="utf-8")
    parts = [count(*pair) for pair in align(read_conllu(path, strict=True), read_conllu(system, strict=True))]
    found = scores(Counts.sum(parts), "system")
    expected = independent(gold_text, system_text)
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-12)
    assert found["conll18"] == pytest.approx(shared_task(gold_text, system_text), abs=1e-12)


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    gold, system = random_corpus(11)
    texts = {
        "gold": as_conllu(gold),
        "one": as_conllu(system),
        "two": noisy_copy(as_conllu(system), random.Random(2)),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    gold_path, one, two = (str(tmp_path / f"{name}.conllu") for name in texts)
    return gold_path, one, two


def test_the_command_prints_a_table(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "evaluate", *files)
    expected = independent(Path(files[0]).read_text(), Path(files[1]).read_text())
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("one "))
    assert row.split()[1:3] == [f"{expected['uas']:.2f}", f"{expected['las']:.2f}"]
    assert "two − one" in out


def test_the_command_writes_json_and_html(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    code, out, _ = run_command(
        capsys, "evaluate", *files, "--json", "-", "--html", str(page), "--name", "<b>A</b>"
    )
    assert code == 0
    found = json.loads(out)
    assert [system["name"] for system in found["systems"]] == ["<b>A</b>", "two"]
    assert {"name", "uas", "las", "tokens", "sentences"} <= set(found["systems"][0])
    assert found["significance"][0]["system"] == "two"
    text = page.read_text(encoding="utf-8")
    assert "<b>A</b>" not in text and "&lt;b&gt;A&lt;/b&gt;" in text


def test_shards_in_any_order_are_put_in_order(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (batch_,) = read_conllu(files[1])
    shards = tmp_path / "parsed"
    shards.mkdir()
    write_parquet([batch_.slice(40)], shards / "a.parquet")
    write_parquet([batch_.slice(0, 40)], shards / "b.parquet")
    code, out, _ = run_command(capsys, "evaluate", files[0], files[1], str(shards), "--json", "-")
    one, two = json.loads(out)["systems"]
    assert code == 0
    assert (one["uas"], one["las"]) == (two["uas"], two["las"])


def test_wrong_calls_and_bad_data_have_their_exit_codes(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.conllu"
    short.write_text(Path(files[1]).read_text().split("\n\n")[0] + "\n\n", encoding="utf-8")
    code, _, err = run_command(capsys, "evaluate", files[0], str(short))
    assert code == 1 and "sentence s1: is missing in short" in err
    assert run_command(capsys, "evaluate", files[0], str(tmp_path / "nothing.conllu"))[0] == 1
    assert run_command(capsys, "evaluate", files[0], files[1], "--name", "a", "--name", "b")[0] == 2
    assert run_command(capsys, "evaluate", "-", "-")[0] == 2
    for call in ([*files, "--name", "two"], [files[0], files[1], files[1]]):
        code, _, err = run_command(capsys, "evaluate", *call)
        assert code == 2 and "two systems have the same name" in err
    code, _, err = run_command(capsys, "evaluate", *files[:2], "--trials", "0")
    assert code == 2 and "--trials must be at least 1, not 0" in err


def test_a_file_without_a_name_is_called_by_its_path() -> None:
    assert distinct_names([".conllu", "a/one.conllu.gz", "b/two.parquet"]) == [".conllu", "one", "two"]


def test_text_that_is_none_has_one_sentence(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, (batch_,) = tmp_path / "damaged.parquet", read_conllu(files[1])
    table = pa.Table.from_batches([batch_]).append_column("position", pa.array(range(batch_.num_rows)))
    sources = pa.array([b"\xff"] * batch_.num_rows).view(pa.string())
    pq.write_table(table.append_column("source", sources), damaged)
    code, _, err = run_command(capsys, "evaluate", files[0], str(damaged))
    assert code == 1 and "damaged.parquet" in err and "Traceback" not in err


@pytest.mark.parametrize("is_labelled", [True, False])
def test_without_labels_in_gold_nobody_knows_which_are_right(is_labelled: bool) -> None:
    labelled = batch(sentence("a b", [0, 1], "x y"))
    bare = labelled.drop_columns(["deprel"])
    found = scores(count(bare, labelled if is_labelled else bare), "one")
    assert found["uas"] == found["conll18"]["uas"] == 100.0
    unknown = [found[name] for name in ("las", "label_accuracy", "exact_match", "clas")]
    unknown += [found["conll18"][name] for name in ("las", "clas")] + [found["without_punctuation"]["las"]]
    assert unknown == [None] * 7
    known = scores(count(labelled, labelled if is_labelled else bare), "one")
    assert known["las"] == known["conll18"]["las"] == (100.0 if is_labelled else 0.0)


def test_a_table_without_labels_has_no_scores_of_them(
    files: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, (batch_,) = tmp_path / "bare.parquet", read_conllu(files[0])
    pq.write_table(pa.Table.from_batches([batch_.select(["tokens", "head"])]), bare)
    code, out, _ = run_command(capsys, "evaluate", str(bare), *files[1:])
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("one "))
    assert row.split()[2] == "–"
    row = next(line for line in out.splitlines() if line.startswith("two − one"))
    assert row.split()[-2:] == ["–", "–"]


def test_a_tag_may_be_called_as_the_root_is() -> None:
    """Words whose given head is the root, or a word tagged ROOT, have one name, and are counted together."""
    gold = batch(sentence("a b c", [0, 1, 2], "x x x", "X ROOT X"))
    system = batch(sentence("a b c", [2, 3, 0], "x x x", "X ROOT X"))
    found = count(gold, system).head_confusions
    assert found == Counter({("X", "ROOT", "ROOT"): 2, ("ROOT", "X", "X"): 1})


def test_without_tags_nobody_knows_what_is_punctuation() -> None:
    tagged = batch(sentence("a .", [0, 1], upos="X PUNCT"))
    assert scores(count(tagged, tagged), "x")["without_punctuation"]["las"] == 100.0
    for tags in ("_ _", "X PUNC"):
        other = batch(sentence("a .", [0, 1], upos=tags))
        found = scores(count(other, other), "x")["without_punctuation"]
        assert (found["uas"], found["las"], found["tokens"]) == (None, None, 0)
