"""A Parquet file of rejected sentences, which exists only if there are any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from covington.corpus.rejecting import RejectSink
from covington.files.atomic import atomic_file
from covington.schemas import REJECT


@contextmanager
def reject_file(
    path: str, create: Callable[[str], AbstractContextManager[IO[bytes]]] = atomic_file
) -> Iterator[RejectSink]:
    """A sink that writes batches of the REJECT schema to the file, which is begun when the first one comes.

    If none comes and all ends well, the table of an earlier run on this machine is removed.
    """
    with ExitStack() as stack:
        writer: pq.ParquetWriter | None = None

        def sink(rejects: pa.RecordBatch, /) -> None:
            nonlocal writer
            if not rejects.num_rows:
                return
            if writer is None:
                file = stack.enter_context(create(path))
                writer = stack.enter_context(pq.ParquetWriter(file, REJECT, compression="zstd"))
            writer.write_batch(rejects)

        yield sink
        if writer is None and _is_table_of_rejects(Path(path)):
            Path(path).unlink()


def _is_table_of_rejects(path: Path) -> bool:
    """Whether a file is what this module writes; nothing else is removed."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        return bool(pq.read_schema(path).equals(REJECT))
    except (pa.ArrowException, OSError):
        return False
