"""Tables at any width of a terminal: names stay whole, and columns at the right are left out, which is said."""

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 100_000


def print_fitting(console: Console, table: Table) -> None:
    """Print a table without the last columns that the width does not hold; the first two always stay.

    Examples
    --------
    >>> table = Table("method", "error", "time")
    >>> table.add_row("random forest", "3.5", "120 ms")
    >>> print_fitting(Console(width=26), table)
    ┏━━━━━━━━━━━━━━━┳━━━━━━━┓
    ┃ method        ┃ error ┃
    ┡━━━━━━━━━━━━━━━╇━━━━━━━┩
    │ random forest │ 3.5   │
    └───────────────┴───────┘
    Too narrow for: time.
    """
    table.columns[0].overflow = "fold"
    gone: list[str] = []
    while len(table.columns) > 2 and _width(console, table) > console.width:
        gone.insert(0, str(table.columns.pop().header))
    names = max(cell_len(str(cell)) for cell in (table.columns[0].header, *table.columns[0].cells))
    table.columns[0].min_width = max(names - max(_width(console, table) - console.width, 0), 1)
    console.print(table, soft_wrap=False)
    if gone:
        console.print(f"Too narrow for: {', '.join(gone)}.", markup=False)


def _width(console: Console, table: Table) -> int:
    """Return the width of a table whose cells are all on one line."""
    return Measurement.get(console, console.options.update(width=WIDEST), table).maximum
