"""Tables at any width of a terminal: names stay whole, and columns at the right are left out, which is said."""

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table

SPACE = 3  # between columns, with a line between them


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
    while len(table.columns) > 2 and sum(map(_width, table.columns)) + SPACE * len(table.columns) + 1 > console.width:
        gone.insert(0, str(table.columns.pop().header))
    first = table.columns[0]
    others = sum(map(_width, table.columns[1:])) + SPACE * len(table.columns) + 1
    first.min_width = min(_width(first), max(console.width - others, 1))
    console.print(table, soft_wrap=False)
    if gone:
        console.print(f"Too narrow for: {', '.join(gone)}.", markup=False)


def _width(column: Column) -> int:
    """Return the width that a column needs for its longest cell on one line."""
    return max(cell_len(str(cell)) for cell in (column.header, *column.cells))
