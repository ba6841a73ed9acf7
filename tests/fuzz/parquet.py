"""Damaged Parquet is read or refused with a DataError, never more."""

from __future__ import annotations

import random
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from covington.corpus.conllu import reader as conllu
from covington.corpus.parquet.tables import read_parquet, write_parquet
from covington.errors import DataError
from tests.fuzz.conllu import seeds as conllu_seeds
from tests.fuzz.runner import Fuzzer

_FOLDER = tempfile.TemporaryDirectory(prefix="covington-fuzz-")
_FILE = Path(_FOLDER.name) / "fuzz.parquet"


def seeds() -> list[bytes]:
    """Files of ours, and as others write them: other types, no checksums, no compression."""
    files = []
    for data in conllu_seeds()[:12]:
        batch, _ = conllu.parse_bytes(data, "fuzz", 0, 1)
        write_parquet([batch], _FILE)
        files.append(_FILE.read_bytes())
        plain = pa.table({name: batch[name] for name in ("tokens", "upos", "deprel", "mwt")})
        heads = pa.array([[str(head) for head in row] for row in batch["head"].to_pylist()])
        table = plain.append_column("head", heads.cast(pa.large_list(pa.large_string())))
        pq.write_table(table, _FILE, compression="none", use_dictionary=len(files) % 4 == 1)
        files.append(_FILE.read_bytes())
    return files


def target(data: bytes, random_: random.Random) -> str:
    """Reading gives sound batches that can be written or are refused with a reason."""
    _FILE.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batches = list(read_parquet(_FILE, rejects=lambda rejects: rejects.validate(full=True)))
        for batch in batches:
            batch.validate(full=True)
            conllu.format_batch(batch)
    except DataError as error:
        return f"refused: {error.reason}"
    return "read"


FUZZER = Fuzzer("parquet", "parquet", seeds, target)
