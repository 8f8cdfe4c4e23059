"""The design, held by tests: who imports whom, where libraries live, and docs that say what the code does."""

import ast
import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tremula

PACKAGE = Path(tremula.__file__).parent
REPOSITORY = Path(__file__).parent.parent

# A package imports only what stands to its right; those that share a place do not import each other.
# "tremula" is the package itself, which gathers the public names.
ARROWS = (
    {"cli"},
    {"report"},
    {"lab"},
    {"tremula"},
    {"export"},
    {"diagnostics", "aspen"},
    {"explanations"},
    {"uncertainty"},
    {"ensembles", "smoothing", "queries"},
    {"perturb", "trees"},
    {"prediction"},
    {"combine"},
    {"_kernels"},
)
FOR_ANYONE = {"data", "folds", "losses", "parameters", "seeds", "parallel", "persistence", "errors", "display"}
ONLY_IN: dict[str, str | tuple[str, ...]] = {
    "typer": "cli/",
    "jinja2": ("report/page.py", "export/page/model.py"),
    "onnx": "export/onnx/graph.py",
    "vl_convert": "report/vega.py",
    "duckdb": ("lab/experiments/duckdb_file.py", "lab/datasets/formats/"),
    "ibis": "queries/sql/",
    "cryptography": "queries/secure/masks.py",
    "treelite": ("smoothing/models/sklearn_hist.py", "export/treelite.py"),
    "shap": "explanations/explanation.py",
    "matplotlib": ("diagnostics/displays/", "trees/export/plotting.py"),
}


def may_import(importer: str, imported: str) -> bool:
    if importer == imported or imported in FOR_ANYONE:
        return True
    places = {package: number for number, packages in enumerate(ARROWS) for package in packages}
    return importer not in FOR_ANYONE and places[importer] < places[imported]


@cache
def imported_modules(path: str, source: str) -> list[tuple[str, ...]]:
    """Modules a file imports, as parts of their names; `from m import n` counts as the module m.n."""
    return list(walk_imports(path, source))


def walk_imports(path: str, source: str) -> Iterator[tuple[str, ...]]:
    here = ("tremula", *Path(path).parts[:-1])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = here[: len(here) - node.level + 1] if node.level else ()
            module = (*start, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)


def package_of(module: tuple[str, ...]) -> str:
    """Package of a module of tremula; a public name taken from tremula itself is of package `tremula`."""
    known = FOR_ANYONE.union(*ARROWS)
    if len(module) > 1 and (module[1] in known or (PACKAGE / module[1]).is_dir() or len(module) > 2):
        return module[1]
    return "tremula"


def wrong_arrows(path: str, source: str) -> list[str]:
    first = Path(path).parts[0].removesuffix(".py")
    importer = "tremula" if first == "__init__" else first
    imported = {package_of(module) for module in imported_modules(path, source) if module[0] == "tremula"}
    return [f"{path}: {importer} imports {other}" for other in sorted(imported) if not may_import(importer, other)]


SOURCES = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.mark.parametrize("path", SOURCES)
def test_imports_point_to_the_right(path: str) -> None:
    assert wrong_arrows(path, SOURCES[path]) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("trees/c45.py", "from tremula.lab.comparison.methods import METHODS"),
        ("combine.py", "import tremula.trees"),
        ("trees/c45.py", "from ..perturb import rows"),
        ("trees/c45.py", "from tremula import BaggingClassifier"),
        ("data/encoding.py", "from tremula.trees import tree"),
        ("data/encoding.py", "from ..trees.tree import Tree"),
        ("__init__.py", "from .lab.datasets import load_dataset"),
        ("lab/comparison/methods.py", "def later():\n    import tremula.report.page"),
    ],
)
def test_an_arrow_to_the_left_is_seen(path: str, source: str) -> None:
    assert len(wrong_arrows(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("trees/c45.py", "from .tree import Tree\nfrom .._kernels import grow\nfrom tremula import errors"),
        ("lab/comparison/methods.py", "from tremula import C45Classifier\nfrom tremula.errors import TremulaError"),
        ("persistence/archive.py", "from tremula.errors import TremulaError\nimport numpy"),
    ],
)
def test_an_arrow_to_the_right_is_allowed(path: str, source: str) -> None:
    assert wrong_arrows(path, source) == []


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_stays_in_its_place(library: str) -> None:
    users = {path for path, text in SOURCES.items() for module in imported_modules(path, text) if module[0] == library}
    assert [path for path in sorted(users) if not path.startswith(ONLY_IN[library])] == []


def test_no_file_is_called_utils() -> None:
    assert [path for path in SOURCES if Path(path).name in {"utils.py", "helpers.py", "misc.py"}] == []


def assigned_names(source: str) -> set[str]:
    """Names of variables and parameters."""
    nodes = list(ast.walk(ast.parse(source)))
    variables = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return variables | {node.arg for node in nodes if isinstance(node, ast.arg)}


@pytest.mark.parametrize("path", SOURCES)
def test_variables_are_nouns(path: str) -> None:
    assert assigned_names(SOURCES[path]).isdisjoint({"told", "found", "one", "what"})


def test_variables_and_parameters_are_seen() -> None:
    assert assigned_names("def f(told):\n    for found, b in told: one = b") == {"told", "found", "b", "one"}


def test_the_installed_package_has_every_file_of_the_sources() -> None:
    sources = REPOSITORY / "src" / "tremula"
    wanted = {path.relative_to(sources) for path in sources.rglob("*") if path.is_file()}
    compiled = {path for path in wanted if path.parts[0] == "_kernels" or "__pycache__" in path.parts}
    lacking = [str(path) for path in sorted(wanted - compiled) if not (PACKAGE / path).is_file()]
    assert lacking == [], "install again, or see meson.build"


# scikit-learn imports libraries of its own, pandas among them where it is installed: only what tremula adds counts.
IMPORT_AFTER_SCIKIT_LEARN = """
import sys, narwhals.stable.v2, sklearn.model_selection, sklearn.tree
before = set(sys.modules)
import tremula
print(*(set(sys.modules) - before))
"""


@pytest.fixture(scope="module")
def modules_of_the_import() -> set[str]:
    """Modules that `import tremula` loads, in a process that has imported scikit-learn."""
    command = [sys.executable, "-c", IMPORT_AFTER_SCIKIT_LEARN]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_import_tremula_loads_no_other_library(modules_of_the_import: set[str]) -> None:
    # This keeps the import fast; benchmarks/import_time.py measures it.
    libraries = {name.split(".")[0] for name in modules_of_the_import} - sys.stdlib_module_names
    assert "tremula" in libraries
    assert libraries <= {"tremula", "sklearn"}


PUBLIC_MODULES = ("tremula", "tremula.diagnostics", "tremula.queries", "tremula.perturb", "tremula.lab.datasets")
NOT_CALLED = {"tremula.diagnostics", "tremula.queries", "tremula.lab.datasets.BUNDLED"}
PUBLIC_NAMES = [
    name
    for module in PUBLIC_MODULES
    for name in (f"{module}.{each}" for each in importlib.import_module(module).__all__)
    if name not in NOT_CALLED
]


REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "docs" / "api").glob("*.md")))


def names_in_the_reference(text: str) -> set[str]:
    """Full names that the directives of the reference document; those of a module listed with all its members, too."""
    found, current = set(), ""
    for directive, name, options in re.findall(r"^\.\. (\w+):: ([\w.]+)\n((?:   .*\n)*)", text, re.M):
        if directive == "currentmodule":
            current = name
        elif directive == "automodule":
            listed = re.search(r":members: *(.*)", options)
            names = re.findall(r"\w+", listed.group(1)) if listed else []
            module = importlib.import_module(name)
            found |= {f"{name}.{each}" for each in names or getattr(module, "__all__", vars(module))}
        elif directive.startswith("auto"):
            found |= {name, f"{current}.{name}"}
    return found


def places_of(name: str) -> set[str]:
    """The public name of a thing, and its name where it is defined."""
    module, _, own_name = name.rpartition(".")
    return {name, f"{getattr(importlib.import_module(module), own_name).__module__}.{own_name}"}


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_name_is_in_the_reference(name: str) -> None:
    assert not names_in_the_reference(REFERENCE).isdisjoint(places_of(name))


def test_the_overview_of_the_reference_lists_what_its_pages_document() -> None:
    overview = (REPOSITORY / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ~(tremula[\w.]+)$", overview, re.M))
    documented = names_in_the_reference(REFERENCE)
    assert sorted(listed - documented) == []
    assert sorted(name for name in PUBLIC_NAMES if places_of(name).isdisjoint(listed)) == []


def test_names_of_a_reference_are_found() -> None:
    text = """
.. currentmodule:: tremula

.. autoclass:: Tree
   :members:

.. autofunction:: tremula.lab.experiments.run.run_experiment

.. automodule:: tremula.errors
   :members: TremulaError
"""
    assert names_in_the_reference(text) == {
        "Tree",
        "tremula.Tree",
        "tremula.lab.experiments.run.run_experiment",
        "tremula.tremula.lab.experiments.run.run_experiment",
        "tremula.errors.TremulaError",
    }


def test_import_tremula_loads_no_diagnostics(modules_of_the_import: set[str]) -> None:
    assert [name for name in modules_of_the_import if name.startswith("tremula.diagnostics.")] == []


def test_no_module_of_the_diagnostics_has_the_name_of_a_function_which_it_would_hide() -> None:
    modules = {path.stem for path in (PACKAGE / "diagnostics").iterdir()}
    assert modules.isdisjoint(tremula.diagnostics.__all__)


def documented_parameters(docstring: str) -> dict[str, str]:
    """Parameters of a numpydoc docstring with what stands after the colon."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(docstring), re.M | re.S)
    entries = re.findall(r"^(\w[\w, ]*?) : (.*)$", section.group(1) if section else "", re.M)
    return {name.strip(): text for names, text in entries for name in names.split(",")}


def stated_default(text: str) -> Any:
    """What a parameter's line gives after ``default=``."""
    found = re.search(r"default=(.+)$", text)
    if not found:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(found.group(1))
    except (ValueError, SyntaxError):
        return found.group(1)


PUBLIC_CALLABLES = [name for name in tremula.__all__ if callable(getattr(tremula, name))]


def assert_defaults_are_those_of_the_signature(documented_callable: Any) -> None:
    documented = documented_parameters(documented_callable.__doc__ or "")
    parameters = inspect.signature(documented_callable).parameters
    assert {key: stated_default(text) for key, text in documented.items()} == {
        key: parameter.default
        for key, parameter in parameters.items()
        if key != "self" and parameter.kind != parameter.VAR_KEYWORD
    }


@pytest.mark.parametrize("name", PUBLIC_CALLABLES)
def test_defaults_in_the_docs_are_those_of_the_signature(name: str) -> None:
    assert_defaults_are_those_of_the_signature(getattr(tremula, name))


@pytest.mark.parametrize("name", tremula.diagnostics.__all__)
def test_defaults_in_the_docs_of_the_diagnostics(name: str) -> None:
    named = getattr(tremula.diagnostics, name)
    if not dataclasses.is_dataclass(named):  # results list their fields as attributes
        assert_defaults_are_those_of_the_signature(named)


ORACLES = [name for name in tremula.queries.__all__ if name.endswith("Oracle")]


@pytest.mark.parametrize("name", [*ORACLES, "agree_on_cuts", "connect"])
def test_defaults_in_the_docs_of_the_queries(name: str) -> None:
    assert_defaults_are_those_of_the_signature(getattr(tremula.queries, name))


DISPLAYS = [name for name in tremula.diagnostics.__all__ if name.endswith("Display")]


@pytest.mark.parametrize("name", DISPLAYS)
def test_defaults_in_the_docs_of_a_display(name: str) -> None:
    display = getattr(tremula.diagnostics, name)
    methods = [method for method in dir(display) if method == "plot" or method.startswith("from_")]
    assert len(methods) > 1
    for method in methods:
        assert_defaults_are_those_of_the_signature(getattr(display, method))


def test_parameters_and_their_defaults_are_found_in_a_docstring() -> None:
    documented = documented_parameters(
        """Summary.

        Parameters
        ----------
        depth : int, default=3
            Text : not a parameter.
        rule : {'a', 'b'}, default='a'
            Text.
        X, y : array

        Attributes
        ----------
        tree_ : Tree
        """
    )
    found = {name: stated_default(text) for name, text in documented.items()}
    assert found == {"depth": 3, "rule": "a", "X": inspect.Parameter.empty, "y": inspect.Parameter.empty}


def test_readme_opens_with_the_two_commands() -> None:
    opening = (REPOSITORY / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)\n```$", opening, re.M | re.S)
    assert blocks == ["pip install . && tremula compare", 'pip install ".[test]" && pytest']
