from typing import Any

import pyarrow as pa

from covington.corpus.rejects import Reject
from covington.segmentation.core import Core

class SegmentStream:
    source: str
    def __init__(
        self,
        core: Core,
        source: str,
        document: str,
        mode: str,
        batch_size: int,
        position: int,
        line: int,
        start: int,
    ) -> None: ...
    @property
    def characters(self) -> dict[str, int]: ...
    def feed(self, data: Any) -> list[pa.RecordBatch]: ...
    def finish(self) -> list[pa.RecordBatch]: ...
    def add_documents(
        self, names: pa.StringArray, texts: pa.StringArray, max_document: int
    ) -> list[pa.RecordBatch]: ...
    def take_rejects(self) -> list[Reject]: ...
