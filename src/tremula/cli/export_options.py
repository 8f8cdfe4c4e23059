"""The options of ``tremula export``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """What the model is written as."""

    onnx = "onnx"
    treelite = "treelite"
    sklearn = "sklearn"
    html = "html"
    sql = "sql"


ToOption = Annotated[Format, typer.Option(help="What to write.", show_default=False)]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="File to write.", show_default="MODEL with another extension")
]
DtypeOption = Annotated[
    str | None, typer.Option(help="ONNX, treelite: precision, float64 or float32.", show_default="float64")
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        help="What rows get whose missing values take several branches. ONNX: none (NaN) or shares (the model's "
        "answer); SQL: shares or null (NULL).",
        show_default="none for ONNX, shares for SQL",
    ),
]
DialectOption = Annotated[
    str | None,
    typer.Option(help="SQL: duckdb, postgres, sqlite, mysql, bigquery, snowflake or spark.", show_default="duckdb"),
]
TableOption = Annotated[str | None, typer.Option(help="SQL: table of a database.", show_default="rows")]
KeepOption = Annotated[
    str | None,
    typer.Option(help="SQL: columns to copy, comma-separated, such as a key.", show_default="all columns"),
]
TitleOption = Annotated[str | None, typer.Option(help="HTML: heading of the page.", show_default="the target")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")]
