"""Options shared by ``tremula query`` and ``tremula serve``: the table to count in."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from tremula.cli.options import TaskOrAuto, split_words
from tremula.errors import InvalidInput

# Schemes of database files given without one, by file extension.
SCHEMES = dict.fromkeys((".duckdb", ".ddb"), "duckdb") | dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite")
READ_ONLY = "?read_only=True"
IN_MEMORY = ("duckdb://", "duckdb://:memory:")

TargetColumn = Annotated[str, typer.Option(help="Column to predict.", show_default=False)]
DatabaseTable = Annotated[str | None, typer.Option(help="Table of a database.")]
Columns = Annotated[
    str | None, typer.Option(help="Columns to learn from, comma-separated.", show_default="all but the target")
]
Nominal = Annotated[str, typer.Option(help="Integer columns to treat as nominal, comma-separated.", show_default=False)]
TaskOfCounts = Annotated[TaskOrAuto, typer.Option(help="Task; auto uses the type of the target column.")]
Bins = Annotated[
    int | None,
    typer.Option(min=2, help="Number of bins of a numeric column.", show_default="32; 8 with a privacy budget"),
]


class WorkingTableChoice(Enum):
    """Whether counting uses a temporary table of the database's session."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


WORKING_TABLES = {WorkingTableChoice.AUTO: "auto", WorkingTableChoice.YES: True, WorkingTableChoice.NO: False}
WorkingTableOption = Annotated[
    WorkingTableChoice,
    typer.Option(
        help="Let the database's session keep a temporary table with numbers for the values and paths of rows, which "
        "makes counting faster; auto does without where the role may only read."
    ),
]


def column_choices(columns: str | None, nominal: str, bins: int, task: TaskOrAuto) -> dict[str, Any]:
    """Return what `connect` takes of the options."""
    return {
        "attributes": None if columns is None else split_words(columns),
        "categorical_features": split_words(nominal),
        "n_bins": bins,
        "task": task.value,
    }


def database_address(url: str, table: str | None) -> tuple[str, str | None]:
    """Return a URL with its scheme, and the table; a DuckDB file is opened read-only.

    Examples
    --------
    >>> database_address("hospital.duckdb#visits", None)
    ('duckdb://hospital.duckdb?read_only=True', 'visits')
    """
    address, mark, after = url.partition("#")
    if mark and table is not None and table != after:
        raise InvalidInput(f"the table is {after!r} in the URL and {table!r} in --table: give only one of them")
    if "://" not in address and Path(address).suffix.lower() in SCHEMES:
        address = f"{SCHEMES[Path(address).suffix.lower()]}://{address}"
    if address.startswith("duckdb://") and "?" not in address and address not in IN_MEMORY:
        address += READ_ONLY
    return address, table or after or None
