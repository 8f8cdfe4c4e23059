"""The ``tremula`` command: its subcommands, and what happens when something goes wrong.

A mistake in the input ends with a message on standard error and an exit code of its own, never with a traceback; only
``--debug``, which may stand anywhere on the line, shows one.
"""

import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from tremula.cli.bench import bench
from tremula.cli.compare import compare
from tremula.cli.data import data
from tremula.cli.fit import fit
from tremula.cli.help_text import describe, show_examples
from tremula.cli.predict import predict
from tremula.cli.query import query
from tremula.cli.reproduce import EXIT_CELLS_FAILED, reproduce
from tremula.cli.smooth import smooth
from tremula.errors import TremulaError

# 0 is success and 2 a wrong command line, as usual; 130 is the shell's code for Ctrl-C, which typer gives.
EXIT_UNFORESEEN = 1
EXIT_BAD_INPUT = 3
EXIT_FILE_TROUBLE = 4
EXIT_INTERRUPTED = 130
DEBUG = "--debug"

EPILOG = (
    f"Exit codes: 0 done, {EXIT_UNFORESEEN} something unforeseen, 2 wrong options, {EXIT_BAD_INPUT} unusable input, "
    f"{EXIT_FILE_TROUBLE} a file that cannot be read or written, {EXIT_CELLS_FAILED} cells of a reproduction failed, "
    f"{EXIT_INTERRUPTED} interrupted."
)

# In the order of the help, with examples.
COMMANDS: dict[Callable[..., None], tuple[str, ...]] = {
    compare: (
        "tremula compare",
        "tremula compare rows.csv --target income --against sklearn,lightgbm --out results",
    ),
    fit: (
        "tremula fit rows.csv --target income --out model.tremula",
    ),
    predict: (
        "tremula predict model.tremula new.csv --out answers.csv",
    ),
    smooth: (
        "tremula smooth model.tremula --data held_out.csv --target income",
        "tremula smooth booster.json --data held_out.csv --target income --classes no,yes --out soft.tremula",
        "tremula smooth forest.joblib --trust --data held_out.csv --target income",
    ),
    query: (
        "tremula query duckdb://hospital.duckdb --table visits --target again --dry-run",
        "tremula query duckdb://hospital.duckdb --table visits --target again --max-depth 6 --sql predict.sql",
        "tremula query postgresql://ann@host/hospital --table visits --target again --privacy 1",
    ),
    reproduce: (
        "tremula reproduce",
        "tremula reproduce dietterich2000 --only table1 --quick",
    ),
    bench: (
        "tremula bench",
        "tremula bench --only smoothing,counts --seconds 10 --json",
    ),
}  # fmt: skip

app = typer.Typer(
    name="tremula",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perturb-and-combine tree ensembles.",
    epilog=EPILOG,
)


for _command, _examples in COMMANDS.items():
    app.command(_command.__name__, help=describe(_command), epilog=show_examples(*_examples))(_command)
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tremula {version('tremula')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an error; may stand anywhere on the line.")
    ] = False,
) -> None:
    """Perturb-and-combine tree ensembles."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with an exit code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The words after ``tremula``; ``None`` takes them from the command line.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if word != DEBUG]
    debug = len(words) < len(given)
    with warnings.catch_warnings():
        if not debug:
            warnings.showwarning = _show_warning
        try:
            app(args=words, prog_name="tremula")
        except SystemExit as stop:
            if stop.code == EXIT_INTERRUPTED:
                print("tremula: interrupted", file=sys.stderr)
            raise
        except OSError as error:  # first: trouble with a store is of both kinds
            _leave(_told(error), EXIT_FILE_TROUBLE, debug)
        except TremulaError as error:
            _leave(str(error), EXIT_BAD_INPUT, debug)
        except Exception as error:  # what nobody thought of: still no traceback unless it is asked for
            _leave(f"{_sentence(error)}. This was not foreseen: run again with {DEBUG}", EXIT_UNFORESEEN, debug)


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Tell a warning in the same words, without the line of code that it came from."""
    print(f"tremula: note: {message}", file=sys.stderr)


def _told(error: OSError) -> str:
    """Say which file, and what is wrong with it, without the number of the error."""
    if error.errno is None or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{str(error.filename)!r}: {error.strerror}"


def _sentence(error: Exception) -> str:
    """Return the kind of an error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}".rstrip(".:") if lines else type(error).__name__


def _leave(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"tremula: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
