"""Every example in the docs and docstrings gives what is printed under it; every command shown can be typed."""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import tremula
from tremula.cli.main import app

REPOSITORY = Path(__file__).parent.parent
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted(page for page in (REPOSITORY / "docs").rglob("*.md") if "_build" not in page.parts),
]
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


def blocks_of(text: str) -> Iterator[tuple[str, str]]:
    """Language and content of every fenced block."""
    for _, language, content in re.findall(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", text, flags=re.M | re.S):
        yield language.strip(), content


BLOCKS = [
    pytest.param(language, content, id=f"{page.relative_to(REPOSITORY)}-{number}")
    for page in PAGES
    for number, (language, content) in enumerate(blocks_of(page.read_text(encoding="utf-8")))
]
SHOWN_ONLY = {"text", "sql", "json"}


@pytest.mark.parametrize(("language", "content"), BLOCKS)
def test_a_block_is_run_or_checked(language: str, content: str) -> None:
    if language == "python":
        assert problems_of_code(content) == []
    elif language == "":
        assert problems_of_commands(content) == []
    else:
        assert language in SHOWN_ONLY or language.startswith("{")


def problems_of_code(content: str) -> list[str]:
    """What is wrong with code that is shown and not run (where a cluster is needed, say); examples with >>> are run."""
    if ">>>" in content:
        return []
    names = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Attribute)]
    used = [node.attr for node in names if isinstance(node.value, ast.Name) and node.value.id == "tm"]
    return [f"tremula has no {name}" for name in used if not hasattr(tremula, name)]


def problems_of_commands(content: str) -> list[str]:
    """What is wrong with the lines of a block of commands."""
    commands = [part for line in content.replace("\\\n", " ").splitlines() for part in line.split(" && ")]
    return [problem for command in commands if command.strip() for problem in problems_of_command(command)]


def problems_of_command(command: str) -> list[str]:
    words = [word for word in shlex.split(command, comments=True) if not re.match(r"[A-Z_]+=", word)]
    if not words:
        return []
    check = CHECKS.get(words[0])
    return check(words[1:]) if check else [f"what is {words[0]!r}?"]


def problems_of_tremula(words: list[str]) -> list[str]:
    group = typer.main.get_command(app)
    commands, options = group.commands, options_of(group)  # type: ignore[attr-defined]
    while words and words[0].startswith("-"):
        if words[0] not in options:
            return [f"tremula has no option {words[0]}"]
        words = words[1:]
    if not words:
        return []
    if words[0] not in commands:
        return [f"tremula has no command {words[0]}"]
    command = commands[words[0]]
    if hasattr(command, "commands") and len(words) > 1 and not words[1].startswith("-"):
        if words[1] not in command.commands:
            return [f"tremula {words[0]} has no command {words[1]}"]
        command = command.commands[words[1]]
    given = [word.split("=")[0] for word in words[1:] if re.match(r"--?[a-zA-Z]", word)]
    return [f"tremula {words[0]} has no option {word}" for word in given if word not in options_of(command)]


def options_of(command: object) -> set[str]:
    parameters = command.params  # type: ignore[attr-defined]
    return {"--help", *(name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts))}


def problems_of_pip(words: list[str]) -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {extra for word in words for extra in re.findall(r"(?:^\.|^tremula)\[([\w,]+)\]", word)}
    wanted = {name for extra in extras for name in extra.split(",")}
    return [f"there is no extra {name}" for name in sorted(wanted - set(project["optional-dependencies"]))]


def problems_of_python(words: list[str]) -> list[str]:
    script = words[0] if words else "-"
    return [] if script.startswith("-") or (REPOSITORY / script).is_file() else [f"there is no file {script}"]


def no_problems(words: list[str]) -> list[str]:
    return []


CHECKS = {
    "tremula": problems_of_tremula,
    "pip": problems_of_pip,
    "python": problems_of_python,
    **dict.fromkeys(["python3", ".", "pytest", "sphinx-build", "bash", "git", "cd", "ruff", "mypy"], no_problems),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_commands_in_the_text_of_a_page_are_there(page: Path) -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    commands = re.findall(r"`(tremula [a-z][^`]*|pip install [^`]*)`", prose)
    assert [problem for command in commands for problem in problems_of_commands(command)] == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("tremula compute wine", "tremula has no command compute"),
        ("tremula compare wine --method c45", "tremula compare has no option --method"),
        ('pip install ".[everything]"', "there is no extra everything"),
        ("python benchmarks/nothing.py --store", "there is no file benchmarks/nothing.py"),
        ("tremulla compare", "what is 'tremulla'?"),
    ],
)
def test_a_command_that_is_not_there_is_seen(command: str, problem: str) -> None:
    assert problems_of_commands(command) == [problem]


def test_a_name_that_is_not_there_is_seen() -> None:
    assert problems_of_code("model = tm.BagingClassifier()") == ["tremula has no BagingClassifier"]


TOUR = REPOSITORY / "docs" / "develop" / "tour.md"
PACKAGE_SOURCES = REPOSITORY / "src" / "tremula"


def missing_from_the_code(paragraph: str) -> list[str]:
    """Paths of a paragraph that do not exist, and names that none of its files has."""
    quoted = re.findall(r"`([^`\s]+)`", paragraph)
    paths = [word for word in quoted if "/" in word or re.search(r"\.(py|pyx|pxd|md)$", word)]
    files = {path: (PACKAGE_SOURCES / path, REPOSITORY / path) for path in paths}
    missing = [path for path, places in files.items() if path != "__init__.py" and not any(p.exists() for p in places)]
    text = "\n".join(p.read_text(encoding="utf-8") for places in files.values() for p in places if p.is_file())
    names = [word for word in quoted if word not in paths and word != "fit"]
    return missing + [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)]


@pytest.mark.parametrize("paragraph", re.split(r"\n\n|\n(?=\d\. )", TOUR.read_text(encoding="utf-8")))
def test_the_tour_names_what_is_in_the_code(paragraph: str) -> None:
    assert missing_from_the_code(paragraph) == []


def test_what_the_tour_names_and_the_code_lacks_is_seen() -> None:
    assert missing_from_the_code("`Nothing` in `trees/nothing.py`") == ["trees/nothing.py", "Nothing"]
    assert missing_from_the_code("`make_generators` in `seeds.py`") == ["make_generators"]


def packages_without_a_paper() -> list[Path]:
    """Packages inside tremula, but for those that define a single paper."""
    files = sorted(PACKAGE_SOURCES.glob("*/**/__init__.py"))
    return [file.parent for file in files if "\nPAPER = " not in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("package", packages_without_a_paper(), ids=lambda path: str(path.relative_to(PACKAGE_SOURCES)))
def test_a_package_says_which_file_to_open_first(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    first = re.search(r"Open `([^`]+)` first", docstring)
    assert first is not None
    named = [word for word in re.findall(r"`([^`\s]+)`", docstring) if re.search(r"^\w.*(/|\.pyx?)$", word)]
    assert [path for path in named if not (package / path).exists()] == []


def test_the_version_of_the_build_heads_the_changes() -> None:
    version = re.search(r"version: '([^']+)'", (REPOSITORY / "meson.build").read_text(encoding="utf-8"))
    headings = re.findall(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert version is not None
    assert headings[:2] == ["Unreleased", version.group(1)]
