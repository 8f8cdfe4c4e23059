"""Shows on a terminal that a step is at work, and for how long, from its first moment."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tremula.errors import IdentifierWarning

MEGABYTE = 1e6


@contextmanager
def working(step: str) -> Iterator[None]:
    """Show a step with the time since it began; nothing where standard error is not a terminal."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description},", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(step, total=None)
        yield


@contextmanager
def without_identifier_warnings() -> Iterator[None]:
    """Silence the warning of columns that a model leaves out: the check has named them before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        yield


def reading_of(place: str) -> str:
    """Return the name of the step that reads a file, with its size.

    Examples
    --------
    >>> reading_of("wine")
    'reading wine'
    """
    path = Path(place)
    size = f" ({path.stat().st_size / MEGABYTE:.1f} MB)" if path.is_file() else ""
    return f"reading {'standard input' if place == '-' else place.rpartition('@')[2]}{size}"
