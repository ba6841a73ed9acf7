TEMPLATE_BITS: int

class Program:
    attributes: list[str]
    names: list[str]
    gates: dict[str, str]
    width: int
    @property
    def gate_numbers(self) -> list[int]: ...
    def __init__(self, names: list[str]) -> None: ...
