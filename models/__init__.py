"""The bundled models, and the sample corpus: names to paths."""

from __future__ import annotations

from pathlib import Path

from covington.errors import ModelError

#: The model used when none is named.
DEFAULT = "en_ewt"

#: The one for text that has words and UPOS, and nothing else.
PLAIN = "en_ewt_upos"

SUFFIX = ".covington"

_HERE = Path(__file__).parent


def names() -> list[str]:
    """The names of the bundled models, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in _HERE.glob(f"*{SUFFIX}"))


def is_name(model: str) -> bool:
    """Whether `model` can be the name of a bundled model, and not a path or a URI."""
    return not any(mark in model for mark in "/\\.:")


def path(name: str) -> Path:
    """The file of a bundled model.

    >>> path("en_ewt").name
    'en_ewt.covington'
    """
    if name not in names():
        have = ", ".join(names()) or "none"
        like = f"./{name}" if Path(name).is_file() else "the path of a model file"
        raise ModelError(
            f"no bundled model is named {name} (there is: {have}); for one of your own give {like}"
        )
    return _HERE / f"{name}{SUFFIX}"


def sample() -> Path:
    """Forty-two sentences in fourteen languages, written for this project, with gold trees."""
    return _HERE / "sample.conllu"
