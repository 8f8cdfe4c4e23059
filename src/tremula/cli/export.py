"""``tremula export``: a saved model for another program, or as a page for the browser."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import tremula as tm
from tremula.cli.model_files import check_place, load_model
from tremula.cli.options import ModelFileArgument, TrustOption, split_words
from tremula.errors import InvalidParameter
from tremula.persistence.atomic_write import write_atomically


class Format(StrEnum):
    """What the model is written as."""

    onnx = "onnx"
    treelite = "treelite"
    sklearn = "sklearn"
    html = "html"
    sql = "sql"


@dataclass(frozen=True)
class Writer:
    """How a format is written: its file extension, a function, its options, and what the file is for."""

    ending: str
    write: Callable[..., bytes]
    options: tuple[str, ...]
    use: str


def _as_onnx(model: Any, **options: Any) -> bytes:
    content: bytes = tm.to_onnx(model, **options).SerializeToString()
    return content


def _as_treelite(model: Any, **options: Any) -> bytes:
    content: bytes = tm.to_treelite(model, **options).serialize_bytes()
    return content


def _as_sklearn(model: Any, **options: Any) -> bytes:
    import joblib

    buffer = io.BytesIO()
    joblib.dump(tm.to_sklearn(model, **options), buffer)
    return buffer.getvalue()


def _as_html(model: Any, **options: Any) -> bytes:
    return tm.to_html(model, **options).encode()


def _as_sql(model: Any, **options: Any) -> bytes:
    return (tm.to_sql(model, **options) + "\n").encode()


WRITERS = {
    Format.onnx: Writer(".onnx", _as_onnx, ("dtype", "missing"), "onnxruntime and others run it."),
    Format.treelite: Writer(".treelite", _as_treelite, ("dtype",), "treelite.Model.deserialize reads it."),
    Format.sklearn: Writer(".joblib", _as_sklearn, (), "joblib.load reads it, with scikit-learn alone."),
    Format.html: Writer(".html", _as_html, ("title",), "Open it in a browser: it needs neither Python nor a network."),
    Format.sql: Writer(".sql", _as_sql, ("dialect", "table", "keep", "missing"), "A database runs it."),
}


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


def export(
    model: ModelFileArgument,
    to: ToOption,
    out: OutOption = None,
    dtype: DtypeOption = None,
    missing: MissingOption = None,
    dialect: DialectOption = None,
    table: TableOption = None,
    keep: KeepOption = None,
    title: TitleOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a trained model for another program.

    The file gives the model's own answers, or says for which rows it does not. Models that cannot be written so are
    refused.
    """
    writer = WRITERS[to]
    place = out or model.with_suffix(writer.ending)
    check_place(place)
    given = {"dtype": dtype, "missing": missing, "dialect": dialect, "table": table, "keep": keep, "title": title}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _check_options(to, options)
    if keep is not None:
        options["keep"] = split_words(keep)
    content = writer.write(load_model(model, trust), **options)
    write_atomically(place, content)
    if as_json:
        print(json.dumps({"file": str(place), "format": to.value, "bytes": len(content)}))
        return
    Console(soft_wrap=True).print(
        f"Wrote {place} ({len(content):,} bytes). {writer.use}", markup=False, highlight=False
    )


def _check_options(to: Format, options: dict[str, Any]) -> None:
    """Refuse options of other formats."""
    for name in options:
        if name not in WRITERS[to].options:
            formats = [each.value for each, writer in WRITERS.items() if name in writer.options]
            raise InvalidParameter(f"--{name} is for --to {' or '.join(formats)}, not for {to.value}: leave it out")
