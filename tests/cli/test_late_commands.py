"""The command starts without the libraries it works with, completes from a table of words, and stops quietly."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tremula.cli import option_values
from tremula.cli.exit_codes import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED
from tremula.cli.main import COMMANDS, app
from tremula.cli.model_files import READERS
from tremula.cli.option_values import ARGUMENTS, OPTIONS, column_names, columns, data
from tremula.lab.comparison.methods import METHODS, REGRESSION_METHODS
from tremula.lab.comparison.metrics import METRICS, MORE_METRICS
from tremula.lab.comparison.peers import LIBRARIES
from tremula.lab.comparison.splits import DEFAULT_FOLDS
from tremula.lab.datasets.catalog import BUNDLED, BUNDLED_NUMBERS
from tremula.lab.papers import PAPERS
from tremula.lab.speed import RACES

HEAVY = ("sklearn", "scipy", "duckdb", "numpy", "pandas")
START = "import sys\nfrom tremula.cli.entry import run_and_ignore_later_interrupts as run\nsys.argv[0] = 'tremula'\n"


def run_python(code: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


# --- what is imported ---

LISTING = START + "import atexit\natexit.register(lambda: print('modules', *sys.modules, file=sys.stderr))\nrun()"


def modules_of(*words: str, **environment: str) -> tuple[str, set[str]]:
    """What a command prints, and the libraries that it imports."""
    done = run_python(LISTING, *words, **environment)
    (listed,) = [line for line in done.stderr.splitlines() if line.startswith("modules ")]
    return done.stdout, {name.partition(".")[0] for name in listed.split()}


@pytest.mark.parametrize("words", ["--version", *(f"{path} --help".strip() for path in ("", "data", *OPTIONS))])
def test_version_and_help_import_no_library_of_the_work(words: str) -> None:
    printed, modules = modules_of(*words.split())
    assert "tremula" in printed
    assert "typer" in modules
    assert modules.isdisjoint(HEAVY)


def completed(line: str) -> tuple[list[str], set[str]]:
    """What the shell offers behind the last word of a line."""
    *before, last = line.split(" ")
    words = " ".join([*before, last or "''"])
    printed, modules = modules_of(_TREMULA_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(len(before)))
    return printed.split(), modules


def test_completion_offers_options_and_values_without_importing_the_command(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("age,ward,out\n1,2,3\n")
    offered, modules = completed(f"tremula compare {tmp_path}/rows.csv --target ")
    assert offered == ["age", "ward", "out"]
    assert modules.isdisjoint(HEAVY)
    assert completed("tremula compare --methods bagging,ca")[0] == [
        "bagging,cart",
        "bagging,cart-unpruned",
        "bagging,cart-su",
    ]
    assert completed("tremula reproduce di")[0] == ["dietterich2000"]


# --- the table of words ---


def all_commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its words."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, subcommand in command.commands.items():
        yield from all_commands(subcommand, f"{path} {name}".strip())


LOADED = dict(all_commands(get_command(app)))


def test_every_command_has_words() -> None:
    assert set(OPTIONS) == set(LOADED)


@pytest.mark.parametrize("path", LOADED)
def test_the_words_of_a_command_are_those_that_it_takes(path: str) -> None:
    options = [option for option in LOADED[path].params if option.param_type_name == "option"]
    taken = {" ".join([*option.opts, *option.secondary_opts]): option.is_flag for option in options}
    assert {words: values is None for words, values in OPTIONS[path].items()} == taken, "see cli/option_values.py"
    n_arguments = sum(parameter.param_type_name == "argument" for parameter in LOADED[path].params)
    assert len(ARGUMENTS.get(path, ())) == n_arguments


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_summary_in_the_list_is_the_beginning_of_the_help(command: Any) -> None:
    assert command.load().help.split("\n\n")[0] == command.summary


def test_values_are_those_that_the_commands_know() -> None:
    assert list(METHODS) == option_values.CLASSIFICATION_METHODS
    assert list(REGRESSION_METHODS) == option_values.REGRESSION_METHODS
    assert [name for name, method in METHODS.items() if method.usual] == option_values.USUAL_METHODS
    ranked = [metric for task in METRICS for metric in (*METRICS[task], *MORE_METRICS[task]) if not metric.is_optional]
    assert [metric.name for metric in ranked] == option_values.METRICS
    assert option_values.FOLDS == DEFAULT_FOLDS
    assert list(LIBRARIES) == option_values.LIBRARIES
    assert list(READERS) == option_values.MODEL_ENDINGS
    assert list(PAPERS) == option_values.PAPERS
    assert list(RACES) == option_values.RACES
    assert [*BUNDLED, *BUNDLED_NUMBERS] == option_values.DATASETS


def test_columns_are_read_from_the_first_line(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write('"a;b";c\n')
    assert column_names(["--seed", str(tmp_path / "rows.csv.gz")]) == ["a;b", "c"]
    assert columns("c,", [str(tmp_path / "rows.csv.gz")]) == ["c,a;b"]
    assert column_names([str(tmp_path / "absent.csv")]) == []


def test_data_offers_datasets_and_files(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").touch()
    (tmp_path / "more").mkdir()
    assert data(f"{tmp_path}/", []) == [f"{tmp_path}/more/", f"{tmp_path}/rows.csv"]
    assert data("wi", []) == ["wine"]


# --- interrupts and pipes ---

INTERRUPTED_IMPORT = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "tremula.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
"""


def test_ctrl_c_while_the_command_is_imported_is_one_line() -> None:
    done = run_python(INTERRUPTED_IMPORT + START + "run()", "--version")
    assert (done.returncode, done.stderr, done.stdout) == (EXIT_INTERRUPTED, "tremula: interrupted\n", "")


# A real signal, at the moment when a module is imported. Python turns it into an exception there, which libraries may
# catch, or turn into an error of their own.
SIGNAL_AT_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, *_):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""
MODULES = ("typing", "tremula.cli.main", "typer", "numpy._core.multiarray", "tremula.cli.comparison")
FURTHER_MODULES = ("email", "tremula.cli.compare", "numpy", "numpy.random", "scipy.linalg", "sklearn.base", "pandas")


@pytest.mark.parametrize("name", [*MODULES, *(pytest.param(each, marks=pytest.mark.slow) for each in FURTHER_MODULES)])
def test_ctrl_c_at_any_import_is_one_line(name: str) -> None:
    """The name is the target: it is not reached."""
    done = run_python(SIGNAL_AT_IMPORT + START + "run()", "compare", "iris", "--methods", "c45", "--target", name)
    assert (done.returncode, done.stderr, done.stdout) == (EXIT_INTERRUPTED, "tremula: interrupted\n", "")


def test_what_is_imported_before_ctrl_c_can_be_caught() -> None:
    """Python itself imports some modules; of others there are few, and none that takes long."""
    code = "import sys\nbefore = set(sys.modules)\nimport tremula.cli.entry\nprint(*sorted(set(sys.modules) - before))"
    allowed = {"signal", "enum", "types", "operator", "functools", "collections", "keyword", "reprlib", "itertools"}
    imported = {name.split(".")[0].removeprefix("_") for name in run_python(code).stdout.split()}
    assert imported <= allowed | {"tremula", "importlib", "time", "warnings", "abc", "weakref", "weakrefset"}


def test_ctrl_c_in_the_background_of_a_shell_stays_ignored() -> None:
    ignored = SIGNAL_AT_IMPORT.replace("signal.default_int_handler", "signal.SIG_IGN")
    done = run_python(ignored + START + "run()", "--version", "typer")
    assert done.stderr == ""
    assert done.returncode == 0


def test_ctrl_c_while_python_ends_is_ignored() -> None:
    late = "import atexit, os, signal\natexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
    done = run_python(START + late + "run()", "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_is_no_error() -> None:
    command = [sys.executable, "-c", START + "run()", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (EXIT_BROKEN_PIPE, "")


def test_a_closed_output_is_no_error() -> None:
    """The shell's `>&-` leaves Python without an output, which was flushed all the same."""
    command = [sys.executable, "-c", "from tremula.cli.entry import *; run_and_ignore_later_interrupts()", "--version"]
    done = subprocess.run(["bash", "-c", '"$@" >&-', "bash", *command], stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in done.stderr
