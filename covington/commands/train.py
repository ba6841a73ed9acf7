"""Train a model on treebanks.

TRAIN and DEV are files, folders or globs of CoNLL-U or Parquet with gold trees; the first sentence that
is malformed or no tree ends the command. The defaults are good; docs/learning-rules.md explains
--accept, --target and --repairs. With --shards K the corpus is learnt in K shards, side by side, whose
weights are mixed after every epoch: on all cores, or on a cluster with --runner. A training that was
killed and is started again with the same command goes on after its last complete epoch, and ends with
the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from covington.base.progress import clock
from covington.commands.beam_options import add_beam_arguments, beam_flags, finished, prepare
from covington.errors import OptionError
from covington.model.options import CHOICES, MIXING, TrainingOptions

if TYPE_CHECKING:
    from covington.engine.epochs import Training

EXAMPLE = """  covington train en_ewt-ud-train.conllu -o en.covington --dev en_ewt-ud-dev.conllu
  covington train corpus/ -o model.covington --shards 8 --epochs 30"""

_HELP = {
    "oracle": "how the cost of a transition is judged; static and monotonic make a parser that never replaces an arc",
    "templates": "the set of feature templates: paper is faster, rich more accurate",
    "root": "explicit: an artificial root word; implicit: the word left without a head",
    "accept": "which optimal transitions need no update",
    "target": "what an update moves towards",
    "explore": "probability of following a wrong prediction",
    "explore_from": "first epoch that does so",
    "epochs": "passes over the corpus; a network makes 20, a linear model",
    "seed": "for the order of sentences and for exploration",
    "repairs": "do arcs that replace another have classes of their own?",
    "tag": "column of the part-of-speech tag; upos+xpos is both together",
    "without": "columns to learn nothing from, for text that does not have them: any of xpos, feats and lemmas, joined"
    " by +",
}
_METAVARS = {int: "N", float: "P", str: "COLUMNS"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="TRAIN",
        help="files, folders or globs with gold trees, each file read once",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="MODEL", help="the model file to make, or to replace"
    )
    parser.add_argument(
        "--dev", action="append", default=[], help="treebank to score after every epoch; may be repeated"
    )
    parser.add_argument(
        "--keep",
        choices=("best", "last"),
        help="which epoch's model: of the best LAS on --dev, or the last (best, if there is --dev)",
    )
    parser.add_argument(
        "--patience", type=int, metavar="N", help="stop after N epochs without a better LAS on --dev"
    )
    parser.add_argument(
        "--prune",
        type=float,
        default=0.0,
        metavar="W",
        help="leave averaged weights smaller than W out of the model (0; bundled models have 2)",
    )
    defaults = TrainingOptions()
    group = parser.add_argument_group("how to learn")
    for one in fields(TrainingOptions):
        value = getattr(defaults, one.name)
        group.add_argument(
            f"--{one.name.replace('_', '-')}",
            type=type(value),
            default=None if one.name == "epochs" else value,
            choices=CHOICES.get(one.name),
            metavar=None if one.name in CHOICES else _METAVARS[type(value)],
            help=_HELP[one.name] + (f" ({value})" if value != "" else ""),
        )
    group = parser.add_argument_group("in shards")
    group.add_argument(
        "--shards", type=int, default=1, metavar="K", help="learn K shards of the corpus side by side (1)"
    )
    group.add_argument(
        "--mixing",
        choices=MIXING,
        default=MIXING[0],
        help="what becomes of the shards' weights. uniform: their mean; updates: their mean, where shards count by"
        " their updates; geometric: what few shards have changed keeps more of it (%(default)s)",
    )
    group.add_argument(
        "--threads",
        type=int,
        default=0,
        metavar="N",
        help="shards learnt at a time on this machine, and threads that score (0: one per core)",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an unfinished training that had other inputs or options",
    )
    parser.add_argument(
        "--engine",
        choices=("linear", "network"),
        default="linear",
        help="linear: a parser for text that has tags, the fastest; network: a model that reads plain text, and makes"
        " sentences, words, tags, lemmas and trees of it (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per epoch")
    add_beam_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    prepare(arguments)
    if arguments.engine == "network":
        return _train_network(arguments)
    if arguments.epochs is None:
        arguments.epochs = TrainingOptions.epochs
    from covington.engine.epochs import Training

    if arguments.threads < 0:
        raise OptionError(f"--threads must be 0 (one per core) or more, not {arguments.threads}")
    if arguments.threads > 1 and arguments.shards == 1:
        raise OptionError("one shard is learnt by one thread: --threads needs --shards")
    work = Training(
        inputs=tuple(arguments.inputs),
        model=arguments.output,
        dev=tuple(arguments.dev),
        options=TrainingOptions(
            **{one.name: getattr(arguments, one.name) for one in fields(TrainingOptions)}
        ),
        shards=arguments.shards,
        mixing=arguments.mixing,
        keep=arguments.keep,
        patience=arguments.patience,
        prune=arguments.prune,
        threads=arguments.threads,
    )
    teller = _Teller(arguments.json, arguments.epochs)
    kept = _train(work, arguments, teller)
    if not arguments.json:
        print(f"wrote {arguments.output}, the model of epoch {kept['epoch']}", file=sys.stderr)
    return 0


def _train_network(arguments: argparse.Namespace) -> int:
    """A model that reads text; one network, learnt on one core."""
    from covington.corpus.reading import read_sentences
    from covington.learning.text_model import TextTraining, not_empty
    from covington.network.options import NetworkOptions
    from covington.network.training import EpochReport

    defaults = TrainingOptions()
    acting = {"oracle", "epochs", "seed", "explore", "explore_from"}
    for one in fields(TrainingOptions):
        if one.name not in acting and getattr(arguments, one.name) != getattr(defaults, one.name):
            raise OptionError(f"--{one.name.replace('_', '-')} is an option of --engine linear")
    if arguments.shards != 1 or arguments.prune or arguments.patience or beam_flags(arguments):
        raise OptionError("--shards, --prune, --patience and Beam's options go with --engine linear")
    if arguments.keep == "best" and not arguments.dev:
        raise OptionError("--keep best needs --dev")
    epochs = NetworkOptions.epochs if arguments.epochs is None else arguments.epochs
    options = NetworkOptions(
        oracle=arguments.oracle,
        epochs=epochs,
        seed=arguments.seed,
        explore=arguments.explore,
        explore_from=arguments.explore_from,
    )
    teller = _Teller(arguments.json, epochs)

    def progress(report: EpochReport) -> None:
        scores = {f"dev_{name}": value for name, value in (report.dev or {}).items()}
        teller({"epoch": report.epoch, "updates": report.updates, **scores})

    def notice(text: str) -> None:
        if not arguments.json:
            print(text, file=sys.stderr, flush=True)

    batches = [
        not_empty((batch for name in names for batch in read_sentences(name, strict=True)), what)
        for names, what in ((arguments.inputs, "the training data"), (arguments.dev, "the data of --dev"))
        if names
    ]
    work = TextTraining(
        batches[0], batches[1] if arguments.dev else [], options, progress=progress, notice=notice
    )
    work.run(arguments.output)
    if not arguments.json:
        print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def _train(work: Training, arguments: argparse.Namespace, teller: _Teller) -> dict[str, Any]:
    flags = beam_flags(arguments)
    if work.shards == 1 and not flags:
        return work.run_plain(teller, arguments.overwrite)
    from covington.pipelines.runner import Runner
    from covington.pipelines.train import TrainJob

    runner = Runner(flags, arguments.threads, arguments.verbose)
    return finished(lambda: TrainJob(work, runner, arguments.overwrite).run(teller))


class _Teller:
    """Prints the facts about every epoch when it is complete."""

    def __init__(self, as_json: bool, epochs: int) -> None:
        import time

        self._epochs = epochs
        self._as_json, self._now, self._last = as_json, time.monotonic, time.monotonic()
        self._stream = sys.stdout if as_json else os.fdopen(os.dup(2), "w")

    def __call__(self, record: dict[str, Any]) -> None:
        now = self._now()
        seconds, self._last = now - self._last, now
        if self._as_json:
            text = json.dumps(record | {"seconds": round(seconds, 3)}, sort_keys=True)
        else:
            score = (
                f"  dev UAS {record['dev_uas']:.2f}  LAS {record['dev_las']:.2f}"
                if "dev_las" in record
                else ""
            )
            number = f"epoch {record['epoch']:{len(str(self._epochs))}} of {self._epochs}"
            text = f"{number}  {record['updates']:,} updates{score}  {clock(seconds)}"
        print(text, file=self._stream, flush=True)
