"""The ``tremula`` command: its subcommands, error messages and exit codes.

An error ends with a message on standard error and a specific exit code. Tracebacks are shown only with ``--debug``,
which may be anywhere on the command line.
"""

import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from tremula.cli.exit_codes import (
    EXIT_BAD_INPUT,
    EXIT_CELLS_FAILED,
    EXIT_FILE_ERROR,
    EXIT_INTERRUPTED,
    EXIT_UNEXPECTED,
)
from tremula.cli.late_commands import LateCommand, LateGroup
from tremula.cli.terminal import printable_output
from tremula.errors import TremulaError, is_interrupt

DEBUG = "--debug"

EPILOG = (
    f"Exit codes: 0 success, {EXIT_UNEXPECTED} unexpected error, 2 wrong options, {EXIT_BAD_INPUT} invalid input, "
    f"{EXIT_FILE_ERROR} a file cannot be read or written, {EXIT_CELLS_FAILED} cells of a reproduction failed, "
    f"{EXIT_INTERRUPTED} interrupted."
)

# In the order of the help, with examples.
COMMANDS = (
    LateCommand(
        "compare",
        "Compare methods on your data by cross-validation.",
        "tremula compare",
        "tremula compare rows.csv --target income --against sklearn,lightgbm --out results",
    ),
    LateCommand(
        "fit",
        "Train one method on all rows and save it.",
        "tremula fit rows.csv --target income --out model.tremula",
    ),
    LateCommand(
        "predict",
        "Predict for the rows of a file or table.",
        "tremula predict model.tremula new.csv --out answers.csv",
        "tremula predict model.tremula new.csv --interval 0.9 --training rows.csv",
    ),
    LateCommand(
        "smooth",
        "Smooth a trained model: predict the mean of its predictions over small random changes of each row.",
        "tremula smooth model.tremula --data held_out.csv --target income",
        "tremula smooth booster.json --data held_out.csv --target income --classes no,yes --out soft.tremula",
        "tremula smooth forest.joblib --trust --data held_out.csv --target income",
    ),
    LateCommand(
        "export",
        "Write a trained model for another program.",
        "tremula export model.tremula --to html",
        "tremula export model.tremula --to onnx --out model.onnx",
        "tremula export model.tremula --to sql --dialect bigquery --table patients --keep id",
    ),
    LateCommand(
        "query",
        "Learn an ensemble of trees from counts that a database returns (simulated bagging). No row leaves the "
        "database.",
        "tremula query duckdb://hospital.duckdb --table visits --target again --dry-run",
        "tremula query duckdb://hospital.duckdb --table visits --target again --max-depth 6 --sql predict.sql",
        "tremula query postgresql://ann@host/hospital --table visits --target again --privacy 1",
    ),
    LateCommand(
        "serve",
        "Answer questions about a table over the network: its columns and guarded counts, never a row.",
        "tremula serve hospital.duckdb#visits --target again --port 8443",
        "tremula serve hospital.duckdb#visits --target again --host 0.0.0.0 --certificate site.pem --key site.key "
        "--token-file token --audit asked.jsonl",
    ),
    LateCommand(
        "reproduce",
        "Measure the tables and figures of a paper again and compare them with the published ones.",
        "tremula reproduce",
        "tremula reproduce dietterich2000 --only table1 --quick",
    ),
    LateCommand(
        "bench",
        "Compare the speed of tremula with scikit-learn and other libraries on synthetic data.",
        "tremula bench",
        "tremula bench --only smoothing,counts --seconds 10 --json",
    ),
    LateCommand("data", "Datasets: list those known, describe, check or fetch one."),
)

app = typer.Typer(
    cls=LateGroup.of(COMMANDS),
    name="tremula",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perturb-and-combine tree ensembles.",
    epilog=EPILOG,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tremula {version('tremula')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an error; may be anywhere on the command line.")
    ] = False,
) -> None:
    """Perturb-and-combine tree ensembles."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with a code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments after ``tremula``; ``None`` takes them from the command line.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if word != DEBUG]
    try:
        _run(words, debug=len(words) < len(given))
    except KeyboardInterrupt:  # after the command, before the interpreter ends
        _leave("interrupted", EXIT_INTERRUPTED, debug=False)


def _run(words: Sequence[str], debug: bool) -> None:
    with warnings.catch_warnings(), printable_output():
        if not debug:
            warnings.showwarning = _show_warning
        try:
            app(args=words, prog_name="tremula")
        except SystemExit as stop:
            if stop.code == EXIT_INTERRUPTED:
                print("tremula: interrupted", file=sys.stderr)
            raise
        except (Exception, KeyboardInterrupt) as error:
            _leave(*_message_and_code(error), debug)


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """Return what to print of an error, and the exit code."""
    if is_interrupt(error):
        return "interrupted", EXIT_INTERRUPTED
    if isinstance(error, OSError):  # first: a StoreError is also a TremulaError
        return _describe(error), EXIT_FILE_ERROR
    if isinstance(error, TremulaError):
        return str(error), EXIT_BAD_INPUT
    return f"{_sentence(error)}. This is unexpected: run again with {DEBUG} for details", EXIT_UNEXPECTED


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning without the line of code it came from."""
    print(f"tremula: note: {message}", file=sys.stderr)


def _describe(error: OSError) -> str:
    """Return the file and the problem, without the error number."""
    if error.errno is None or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{str(error.filename)!r}: {error.strerror}"


def _sentence(error: BaseException) -> str:
    """Return the type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}".rstrip(".:") if lines else type(error).__name__


def _leave(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"tremula: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
