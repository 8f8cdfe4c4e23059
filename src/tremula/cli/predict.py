"""``tremula predict``: predictions of a saved model for the rows of a file or table, as CSV, Parquet or JSON."""

import csv
import io
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from tremula.cli.model_files import check_place, column_names, load_model, own_levels, plain_name
from tremula.cli.options import split_words
from tremula.data.column import show
from tremula.data.table_schema import TableSchema
from tremula.errors import ColumnMismatch, InvalidInput, InvalidParameter, did_you_mean
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.formats.table_files import import_pyarrow
from tremula.lab.datasets.schema import conform, is_missing, is_number, table_of
from tremula.lab.datasets.tables import Columns, is_table, read_table
from tremula.persistence.atomic_write import write_atomically
from tremula.smoothing.models import read_model, store_trees

PREDICTION = "prediction"
ENDINGS = (".csv", ".parquet")
SEEN = " (a fair estimate only for rows not used for training)."


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="File of a model, written by tremula fit, compare or smooth, or by tm.save."
        ),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, TSV, ARFF or Parquet file, or a table of a database (duckdb:///folder/file.duckdb#table). "
            "Columns are matched by name; further columns are ignored.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV or Parquet file to write.", show_default="CSV on standard output"),
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")] = False,
    keep: Annotated[str | None, typer.Option(help="Columns of DATA to copy, comma-separated, such as a key.")] = None,
    table: Annotated[str | None, typer.Option(help="Table of the database, if it is not part of the URL.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Also read files that can run arbitrary code, such as .joblib.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the predictions as JSON.")] = False,
) -> None:
    """Predict for the rows of a file or table.

    Writes one prediction per row, in the order of the rows. If DATA has the target too, the error is printed on
    standard error.
    """
    if out is not None:
        _check_out(out)
    fitted = _as_estimator(load_model(model, trust))
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise InvalidParameter(
            f"{str(model)!r} predicts numbers, which have no probabilities: leave out --probabilities"
        )
    if not is_table(data):
        raise InvalidInput(f"{data!r} is no file of rows: give the path of a CSV, Parquet or ARFF file, or a database")
    columns = read_table(data, table)
    kept = _kept(columns, split_words(keep), _names_of_answers(fitted, probabilities))
    _name_as_given(fitted, columns)
    rows, notes = _rows_for(fitted, columns)
    answers = kept | dict(zip(_names_of_answers(fitted, probabilities), _ask(fitted, rows, probabilities)))
    for line in (*columns.notes, *notes, *_judged(fitted, columns, answers[PREDICTION])):
        Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
    _write(answers, out, as_json)


def _check_out(out: Path) -> None:
    check_place(out)
    if out.suffix.lower() not in ENDINGS:
        raise InvalidParameter(f"--out {str(out)!r}: give a file that ends in {' or '.join(ENDINGS)}")
    if out.suffix.lower() == ".parquet":
        import_pyarrow("writing Parquet")


def _as_estimator(model: Any) -> Any:
    """Return a model that answers with classes; a bare booster, which takes no rows or has no classes, as its trees."""
    return model if hasattr(model, "fit") else store_trees(read_model(model))


def _name_as_given(model: Any, columns: Columns) -> None:
    """Call the columns of trees as the rows do: LightGBM keeps names without their spaces."""
    names = column_names(model)
    if names is not None and hasattr(model, "name_columns") and not hasattr(model, SCHEMA_ATTRIBUTE):
        given = {plain_name(name): name for name in columns.values}
        model.name_columns([given.get(plain_name(name), name) for name in names])


def _names_of_answers(model: Any, probabilities: bool) -> list[str]:
    return [PREDICTION, *(f"probability of {label}" for label in (model.classes_ if probabilities else ()))]


def _kept(columns: Columns, names: Sequence[str], answers: Sequence[str]) -> dict[str, list[Any]]:
    for name in names:
        if name in answers:
            raise InvalidParameter(f"--keep {name!r}: the predictions have a column of that name; rename yours first")
        if name not in columns.values:
            hint = did_you_mean(name, columns.values) or ": keep one of these"
            raise ColumnMismatch(f"no column {name!r} in {columns.source} (has {show(list(columns.values))}){hint}")
    return {name: columns.values[name] for name in names}


def _rows_for(model: Any, columns: Columns) -> tuple[Any, list[str]]:
    """Return the rows in the form the model was trained on; without a schema, by the names of its columns."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    schema = schema or _guessed_schema(model, columns)
    rows, notes = conform(columns.values, schema, columns.source)
    return own_levels(model, table_of(rows, with_names=hasattr(model, "feature_names_in_"))), notes


def _guessed_schema(model: Any, columns: Columns) -> TableSchema:
    """Return what a model that knows no table takes: its columns by name, or all columns in their order."""
    names = column_names(model) or tuple(columns.values)
    encoder = getattr(model, "encoder_", None)
    levels = [None] * len(names) if encoder is None else list(encoder.levels)
    if len(names) != len(levels):
        raise ColumnMismatch(
            f"{columns.source} has {len(names)} columns, but the model was trained on {len(levels)} without names: "
            "give those alone, in their order"
        )
    known = tuple(None if found is None else tuple(map(str, found)) for found in levels)
    kinds = tuple("number" if found is None else "nominal" for found in levels)
    task = "classification" if hasattr(model, "predict_proba") else "regression"
    return TableSchema(names, kinds, known, "", task, "")


def _ask(model: Any, rows: Any, probabilities: bool) -> list[list[Any]]:
    """Return the answers, then the probabilities of each class."""
    with warnings.catch_warnings():
        # Columns were put in order by their names before, whatever the model is given them as.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        answers = [np.asarray(model.predict(rows)).tolist()]
        if probabilities:
            answers += np.asarray(model.predict_proba(rows)).T.tolist()
    return answers


def _judged(model: Any, columns: Columns, answers: Sequence[Any]) -> list[str]:
    """Return the error as a sentence, if the rows have the target."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    truth = columns.values.get(schema.target) if schema else None
    if truth is None or schema is None:
        return []
    pairs = [(value, answer) for value, answer in zip(truth, answers) if not is_missing(value)]
    if not pairs:
        return []
    try:
        if schema.task == "regression":
            wrong = np.array([float(value) - float(answer) for value, answer in pairs])
            return [f"{schema.target!r} is known in {len(pairs)} rows: RMSE {np.sqrt(np.mean(wrong**2)):.4g}{SEEN}"]
    except (TypeError, ValueError):
        return []
    n_wrong = sum(not _same(value, answer) for value, answer in pairs)
    return [f"{schema.target!r} is known in {len(pairs)} rows: error {100 * n_wrong / len(pairs):.2f} %{SEEN}"]


def _same(value: Any, answer: Any) -> bool:
    if is_number(answer):
        try:
            return float(value) == float(answer)
        except (TypeError, ValueError):
            return False
    return str(value) == str(answer)


# --- writing ---


def _write(answers: Mapping[str, Sequence[Any]], out: Path | None, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: list(values) for name, values in answers.items()}, ensure_ascii=False, default=str))
    if out is None:
        if not as_json:
            sys.stdout.write(_as_csv(answers))
        return
    if out.suffix.lower() == ".parquet":
        write_atomically(out, _as_parquet(answers))
    else:
        write_atomically(out, _as_csv(answers).encode())
    n_rows = len(answers[PREDICTION])
    Console(stderr=True, soft_wrap=True).print(f"wrote {out}: {n_rows:,} rows", markup=False, highlight=False)


def _as_csv(answers: Mapping[str, Sequence[Any]]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(answers)
    writer.writerows(zip(*answers.values()))
    return buffer.getvalue()


def _as_parquet(answers: Mapping[str, Sequence[Any]]) -> bytes:
    pyarrow, parquet = import_pyarrow("writing Parquet")
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({name: list(values) for name, values in answers.items()}), buffer)
    return buffer.getvalue()
