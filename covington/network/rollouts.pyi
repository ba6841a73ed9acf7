from typing import Any

from covington.network.floats import Floats

SLOT_COUNT: int
LABEL_DISTANCES: int

def count_table_rows(labels: int) -> int: ...
def label_rows(starts: Any, lengths: Any, heads: Any) -> Any: ...

class Rollouts:
    steps: int
    right: int
    loss: float
    def __init__(self, floats: Floats, oracle: int, paper: bool) -> None: ...
    def set_parameters(
        self,
        tables: Any,
        action_weights: Any,
        action_bias: Any,
        label_tables: Any,
        label_weights: Any,
        label_bias: Any,
    ) -> None: ...
    def set_gradients(self, d_tables: Any, d_action_weights: Any, d_action_bias: Any) -> None: ...
    def run(
        self,
        slots: Any,
        label_parts: Any,
        starts: Any,
        lengths: Any,
        heads: Any,
        labels: Any,
        d_slots: Any = None,
        key: int = 0,
        explore: float = 0.0,
        root_label: int = 0,
        trace: list[Any] | None = None,
    ) -> None: ...
