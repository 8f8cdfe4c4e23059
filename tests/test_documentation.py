"""Every example in the docs and in the docstrings gives what is printed under it."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import tremula

REPOSITORY = Path(__file__).parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
MODULES = [module.name for module in pkgutil.walk_packages(tremula.__path__, "tremula.")]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_examples_of_a_page(page: Path) -> None:
    # Fences become empty lines, which end the expected output and keep the numbers of the lines.
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.M)
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0


@pytest.mark.parametrize("name", ["tremula", *MODULES])
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=OPTIONS).failed == 0
