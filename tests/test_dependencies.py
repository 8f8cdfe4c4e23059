"""Every library that pyproject.toml names has a line that says why, and no other has one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "develop" / "dependencies.md"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def name_of(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match
    return match[0]


def asked_for() -> dict[str, set[str]]:
    """Return the extras that name each library; "" is the package itself, "build" its building."""
    groups = {"": PROJECT["project"]["dependencies"], "build": PROJECT["build-system"]["requires"]}
    groups |= PROJECT["project"]["optional-dependencies"]
    libraries: dict[str, set[str]] = {}
    for extra, requirements in groups.items():
        for requirement in requirements:
            if name_of(requirement) != "tremula":
                libraries.setdefault(name_of(requirement), set()).add(extra)
    return libraries


def lines() -> list[list[str]]:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if not row.startswith("| library ")]


def test_every_library_has_a_line_for_each_of_its_uses_and_a_reason() -> None:
    told: dict[str, set[str]] = {}
    for name, *extras, reason in lines():
        assert len(reason.split()) >= 1
        told.setdefault(name, set()).update(extras[0].split(", ") if extras else {""})
    assert told == asked_for()


def test_a_library_stands_once_in_a_table() -> None:
    seen = [tuple(line[:-1]) for line in lines()]
    assert len(seen) == len(set(seen))
