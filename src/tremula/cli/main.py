"""The ``tremula`` command: its subcommands, and what happens when something goes wrong.

A mistake in the input ends with a message on standard error and an exit code of its own, never with a traceback.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from tremula.cli.compare import compare
from tremula.cli.reproduce import EXIT_CELLS_FAILED, reproduce
from tremula.errors import TremulaError

# 0 is success and 2 a wrong command line, as usual; 130 is the shell's code for Ctrl-C, which typer gives.
EXIT_BAD_INPUT = 3
EXIT_FILE_TROUBLE = 4
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="tremula",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Perturb-and-combine tree ensembles.",
    epilog=f"Exit codes: 0 done, 2 wrong options, {EXIT_BAD_INPUT} unusable input, {EXIT_FILE_TROUBLE} a file that "
    f"cannot be read or written, {EXIT_CELLS_FAILED} cells of a reproduction failed, {EXIT_INTERRUPTED} interrupted.",
)
app.command("compare")(compare)
app.command("reproduce")(reproduce)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tremula {version('tremula')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
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
    try:
        app(args=None if arguments is None else list(arguments), prog_name="tremula")
    except OSError as error:
        _leave(str(error), EXIT_FILE_TROUBLE)
    except TremulaError as error:
        _leave(str(error), EXIT_BAD_INPUT)


def _leave(message: str, code: int) -> None:
    print(f"tremula: {message}", file=sys.stderr)
    sys.exit(code)
