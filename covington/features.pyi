class Program:
    attributes: list[str]
    names: list[str]
    width: int
    def __init__(self, names: list[str]) -> None: ...
