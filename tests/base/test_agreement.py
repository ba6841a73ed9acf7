"""Tables in Python and their numbers in compiled code: what does not agree is no module."""

from __future__ import annotations

import pytest

from covington.base.agreement import require_same_names, require_same_value


def test_the_order_of_the_names_does_not_matter() -> None:
    require_same_names("the tables", ("a", "b", "c"), {"c": 0, "a": 2, "b": 1})
    require_same_value("the size", 7, 7)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"a": 0}, r"the tables: .* \(b\); compile the modules again"),
        ({"a": 0, "b": 1, "c": 2}, r"\(c\)"),
        ({"a": 0, "c": 1}, r"\(b, c\)"),
        ({"a": 0, "b": 2}, "do not number them from 0 to 1"),
        ({"a": 0, "b": 0}, "do not number them from 0 to 1"),
    ],
)
def test_names_that_do_not_agree(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(ImportError, match=message):
        require_same_names("the tables", ("a", "b"), numbers)


def test_sizes_that_do_not_agree() -> None:
    with pytest.raises(ImportError, match="the size is 7 in Python and 70,000 in the compiled modules"):
        require_same_value("the size", 7, 70_000)
