from collections.abc import Mapping
from typing import Any

from covington.network.options import NetworkOptions
from covington.network.words import FormTable

def combine(rows: Any) -> tuple[Any, Any]: ...

class Weights:
    kernel: str
    def __init__(
        self,
        prepared: Mapping[str, Any],
        forms_table: FormTable,
        group_ends: Any,
        options: NetworkOptions,
        labels: int,
        root_label: int,
        kernel: str | None = None,
    ) -> None: ...
