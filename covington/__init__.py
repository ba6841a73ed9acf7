"""Dependency trees for whole corpora: the fully non-monotonic Covington parser."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from covington._version import __version__

if TYPE_CHECKING:
    from covington.corpus.parquet.tables import read_parquet, write_parquet
    from covington.corpus.reading import read_conllu, read_sentences
    from covington.corpus.token_lists import token_lists
    from covington.corpus.writing import write_conllu
    from covington.errors import CovingtonError, DataError, ModelError, OptionError
    from covington.parsing.parser import Parser, Statistics
    from covington.study import oracle

# name → where it lives; loaded when first asked for, so that `import covington` costs nothing
_HOMES = {
    "CovingtonError": "errors",
    "DataError": "errors",
    "ModelError": "errors",
    "OptionError": "errors",
    "Parser": "parsing.parser",
    "Statistics": "parsing.parser",
    "oracle": "study.oracle",
    "read_conllu": "corpus.reading",
    "read_parquet": "corpus.parquet.tables",
    "read_sentences": "corpus.reading",
    "token_lists": "corpus.token_lists",
    "write_conllu": "corpus.writing",
    "write_parquet": "corpus.parquet.tables",
}

__all__ = [
    "CovingtonError",
    "DataError",
    "ModelError",
    "OptionError",
    "Parser",
    "Statistics",
    "__version__",
    "oracle",
    "read_conllu",
    "read_parquet",
    "read_sentences",
    "token_lists",
    "write_conllu",
    "write_parquet",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'covington' has no attribute {name!r}")
    home = importlib.import_module(f"covington.{_HOMES[name]}")
    value = home if name == "oracle" else getattr(home, name)  # a module, for people who study the algorithm
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
