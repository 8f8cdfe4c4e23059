"""The steps of ``tremula predict``: predictions of a saved model for rows, as CSV, Parquet or JSON."""

import csv
import io
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from tremula.cli.model_files import check_place, column_names, load_model, own_levels, plain_name
from tremula.cli.options import split_words
from tremula.cli.terminal import write_data
from tremula.cli.uncertain_answers import UncertainAnswers
from tremula.data.column import show
from tremula.data.table_schema import TableSchema
from tremula.display import harmless_cell
from tremula.errors import ColumnMismatch, InvalidInput, InvalidParameter, counted, did_you_mean
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.formats.parquet import import_pyarrow
from tremula.lab.datasets.formats.relation import Relation
from tremula.lab.datasets.schema import check_names, conform, table_of
from tremula.lab.datasets.tables import is_table, open_table
from tremula.persistence.atomic_write import write_atomically
from tremula.smoothing.models import read_model, store_trees

PREDICTION = "prediction"
ENDINGS = (".csv", ".parquet")
SEEN = " (a fair estimate only for rows not used for training)."


def run_prediction(options: Mapping[str, Any]) -> None:
    """Predict for the rows of a table; the options have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    uncertain = UncertainAnswers.of(given.interval, given.label_set, given.quantiles, given.training)
    if given.out is not None:
        _check_out(given.out, given.data, given.model)
    fitted = _as_estimator(load_model(given.model, given.trust))
    _check_question(fitted, given.model, given.data, given.probabilities)
    with open_table(given.data, given.table) as relation:
        names = [*_names_of_answers(fitted, given.probabilities), *uncertain.names]
        copied = _check_kept(relation, split_words(given.keep), names)
        _name_as_given(fitted, relation.names)
        columns, schema = _read_columns(fitted, relation, copied)
        rows, notes = conform(columns, schema, relation.source)
        notes = [*relation.notes, *notes]
    table = own_levels(fitted, table_of(rows, with_names=hasattr(fitted, "feature_names_in_")))
    answers = {name: columns[name].as_objects().tolist() for name in copied}
    predicted = [*_ask(fitted, table, given.probabilities), *uncertain.ask(fitted, table)]
    answers |= dict(zip(names, predicted, strict=True))
    judged = [*_judged(fitted, columns, answers[PREDICTION]), *uncertain.judge(fitted, columns, answers)]
    for line in (*notes, *judged):
        Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)
    _write(answers, given.out, given.as_json)


def _check_question(fitted: Any, model: Path, data: str, probabilities: bool) -> None:
    """Raise an error if the model has no probabilities, or the data is no table."""
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise InvalidParameter(
            f"{str(model)!r} predicts numbers, which have no probabilities: leave out --probabilities"
        )
    if not is_table(data):
        raise InvalidInput(
            f"{data!r} is not a file of rows: give the path of a CSV, ARFF or Parquet file, or a database"
        )


def _check_out(out: Path, *read: str | Path) -> None:
    check_place(out, *read)
    if out.suffix.lower() not in ENDINGS:
        raise InvalidParameter(f"--out {str(out)!r}: give a file that ends in {' or '.join(ENDINGS)}")
    if out.suffix.lower() == ".parquet":
        import_pyarrow("writing Parquet")


def _as_estimator(model: Any) -> Any:
    """Return a model that answers with classes; a bare booster, which takes no rows or has no classes, as its trees."""
    if hasattr(model, "fit"):
        return model
    trees, names = store_trees(read_model(model)), column_names(model)
    if names is not None:
        trees.name_columns(names)
    return trees


def _name_as_given(model: Any, columns: Sequence[str]) -> None:
    """Call the columns of trees as the rows do: LightGBM keeps names without their spaces."""
    names = column_names(model)
    if names is not None and hasattr(model, "name_columns") and not hasattr(model, SCHEMA_ATTRIBUTE):
        given = {plain_name(name): name for name in columns}
        model.name_columns([given.get(plain_name(name), name) for name in names])


def _names_of_answers(model: Any, probabilities: bool) -> list[str]:
    return [PREDICTION, *(f"probability of {label}" for label in (model.classes_ if probabilities else ()))]


def _check_kept(relation: Relation, names: Sequence[str], answers: Sequence[str]) -> list[str]:
    for name in names:
        if name in answers:
            raise InvalidParameter(f"--keep {name!r}: the predictions have a column of that name; rename yours first")
        if name not in relation.names:
            hint = did_you_mean(name, relation.names) or ": keep one of these"
            raise ColumnMismatch(f"no column {name!r} in {relation.source} (has {show(relation.names)}){hint}")
    return list(names)


def _read_columns(model: Any, relation: Relation, kept: Sequence[str]) -> tuple[dict[str, Column], TableSchema]:
    """Read the columns that the model was trained on, its target if there is one, and those to copy."""
    own: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    schema = own or _guessed_schema(model, relation)
    check_names(relation.names, schema, relation.source)
    nominal = {name for name, levels in zip(schema.names, schema.levels) if levels is not None}
    target = [schema.target] if own and schema.target in relation.names else []
    wanted = list(dict.fromkeys([*schema.names, *target, *kept]))
    return relation.read(wanted, as_words={*nominal, *kept}, undated=target, dates=schema.date_forms), schema


def _guessed_schema(model: Any, relation: Relation) -> TableSchema:
    """Return the schema of a model that has none: its columns by name, or all columns in their order."""
    names = column_names(model) or tuple(relation.names)
    encoder = getattr(model, "encoder_", None)
    levels = [None] * len(names) if encoder is None else list(encoder.levels)
    if len(names) != len(levels):
        raise ColumnMismatch(
            f"{relation.source} has {len(names)} columns, but the model was trained on {len(levels)} without names: "
            "give those alone, in their order"
        )
    known = tuple(None if level_names is None else tuple(map(str, level_names)) for level_names in levels)
    kinds = tuple("number" if level_names is None else "nominal" for level_names in levels)
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


def _judged(model: Any, columns: Mapping[str, Column], answers: Sequence[Any]) -> list[str]:
    """Return the error as a sentence, if the rows have the target."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    truth = columns.get(schema.target) if schema else None
    if truth is None or schema is None or truth.is_missing.all():
        return []
    known = ~truth.is_missing
    n_known = int(known.sum())
    if schema.task == "regression":
        if truth.kind != "number":
            return []
        rmse = np.sqrt(np.mean((truth.values - np.asarray(answers))[known] ** 2))
        return [f"{schema.target!r} is known in {counted(n_known, 'row')}: RMSE {rmse:.4g}{SEEN}"]
    n_wrong = int(_is_wrong(truth, answers)[known].sum())
    return [f"{schema.target!r} is known in {counted(n_known, 'row')}: error {100 * n_wrong / n_known:.2f} %{SEEN}"]


def _is_wrong(truth: Column, answers: Sequence[Any]) -> NDArray[np.bool_]:
    given = np.asarray(answers)
    if truth.kind == "number" and given.dtype.kind in "iuf":
        return np.asarray(np.not_equal(truth.values, given))
    levels, codes = truth.as_levels()
    return np.asarray(np.not_equal(np.array([*levels, ""])[codes], given.astype(str)))


# --- writing ---


def _write(answers: Mapping[str, Sequence[Any]], out: Path | None, as_json: bool) -> None:
    if as_json:
        print(json.dumps({name: list(values) for name, values in answers.items()}, ensure_ascii=False, default=str))
    if out is None:
        if not as_json:
            write_data(_as_csv(answers))
        return
    if out.suffix.lower() == ".parquet":
        write_atomically(out, _as_parquet(answers))
    else:
        write_atomically(out, _as_csv(answers).encode())
    n_rows = len(answers[PREDICTION])
    Console(stderr=True, soft_wrap=True).print(f"wrote {out}: {counted(n_rows, 'row')}", markup=False, highlight=False)


def _as_csv(answers: Mapping[str, Sequence[Any]]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    cells = [list(answers), *zip(*answers.values())]
    writer.writerows([[harmless_cell(cell) for cell in row] for row in cells])
    if any(harmless_cell(cell) is not cell for row in cells for cell in row):
        print(
            "tremula: note: labels that a spreadsheet would run as formulas are written with a leading apostrophe in "
            "CSV; Parquet has them as they are",
            file=sys.stderr,
        )
    return buffer.getvalue()


def _as_parquet(answers: Mapping[str, Sequence[Any]]) -> bytes:
    pyarrow, parquet = import_pyarrow("writing Parquet")
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({name: list(values) for name, values in answers.items()}), buffer)
    return buffer.getvalue()
