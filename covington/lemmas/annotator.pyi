import pyarrow as pa

from covington.lemmas.model import Core

class Annotator:
    def __init__(self, core: Core) -> None: ...
    def annotate(self, batch: pa.RecordBatch, replace: bool = False) -> pa.RecordBatch: ...
