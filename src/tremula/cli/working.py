"""Shows on a terminal that a step is at work, and for how long, from its first moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

MEGABYTE = 1e6


@contextmanager
def working(step: str) -> Iterator[None]:
    """Show a step with the time since it began; nothing where standard error is not a terminal."""
    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description},", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(step, total=None)
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
