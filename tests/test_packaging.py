"""What is pinned: ranges that Beam allows, a lock file that fits them, and an audit that does not flatter."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest needs it there

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements-dev.lock").read_text()
PINNED = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)


def wanted(extra: str | None = None) -> list[Requirement]:
    """What pyproject.toml asks for; the metadata of an installed package may be older."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], project["optional-dependencies"][extra] if extra else []]
    return [Requirement(line) for group in groups for line in group]


@pytest.mark.parametrize("name", ["numpy", "pyarrow"])
def test_our_ranges_are_inside_those_of_beam(name: str) -> None:
    (ours,) = (one.specifier for one in wanted() if one.name == name)
    theirs = [Requirement(line) for line in requires("apache-beam") or []]
    (beams,) = (one.specifier for one in theirs if one.name == name and one.marker is None)
    versions = [f"{major}.{minor}.{patch}" for major in range(40) for minor in range(30) for patch in (0, 9)]
    chosen = list(ours.filter(versions))
    assert chosen and list(beams.filter(chosen)) == chosen


def test_every_direct_dependency_has_an_upper_bound() -> None:
    for one in wanted("dev"):
        bounded = any(part.operator == "<" for part in one.specifier)
        assert bounded or one.name == "setuptools", one  # its versions are numbered by the month


def test_the_lock_file_pins_what_is_wanted() -> None:
    pins = PINNED.findall(LOCK)
    for one in wanted("dev"):
        found = [version for name, version in pins if canonicalize_name(name) == canonicalize_name(one.name)]
        assert found and all(one.specifier.contains(version) for version in found), one
    assert LOCK.count("--hash=sha256:") > len(pins)


def test_the_lock_file_names_no_place() -> None:
    assert "://" not in LOCK and "--index" not in LOCK and "--find-links" not in LOCK


@pytest.fixture
def audit() -> ModuleType:
    specification = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_audit_says_when_nobody_was_asked(audit: ModuleType) -> None:
    good = {"name": "a", "version": "1", "vulns": []}
    bad = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
    unknown = {"name": "c", "skip_reason": "not found"}
    assert audit.verdict([good]) == (0, ["1 packages, no known vulnerability"])
    assert audit.verdict([good, bad, unknown]) == (1, ["b 2: CVE-1, mended in 3"])
    for dependencies in ([unknown], []):
        code, (line,) = audit.verdict(dependencies)
        assert code == 3 and line.startswith("NOT AUDITED")
    code, (line,) = audit.verdict([good, unknown])
    assert code == 3 and line.endswith("NOT AUDITED: c")
