"""Reads and writes files of trained models: tremula's own format, skops, pickles, XGBoost and LightGBM.

A pickle can run arbitrary code, so it is read only if the user trusts the file.
"""

import io
import os
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import tremula as tm
from tremula.cli.foreign_files import check_lightgbm, check_xgboost
from tremula.cli.foreign_trees import CHECKED_TYPES, check_foreign_trees
from tremula.data.column import show
from tremula.data.several_targets import check_one_target
from tremula.data.table_schema import TableSchema
from tremula.errors import (
    ColumnMismatch,
    FileDamaged,
    InvalidInput,
    InvalidParameter,
    MissingLibrary,
    UnsupportedModel,
    counted,
    did_you_mean,
    listed,
)
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.schema import columns_of, conform, table_of
from tremula.persistence.archive import check_sizes
from tremula.persistence.atomic_write import write_atomically
from tremula.persistence.description import CALLBACKS
from tremula.persistence.registry import full_name, storable_classes
from tremula.persistence.soundness import check_object

NO_NAMES = re.compile(r"Column_\d+")  # what LightGBM calls the columns of an array
TRUST = "--trust"
OWN_ENDING = ".tremula"
# Classes only, by their full names: a skops file can also name any function, and have it called.
HARMLESS = frozenset(map(full_name, storable_classes()))


# --- reading ---


def load_model(path: Path, trust: bool = False) -> Any:
    """Read a trained model; the file extension decides the format.

    Parameters
    ----------
    path : Path
        A file of ``tm.save``, ``.skops``, ``.joblib``, ``.pkl``, XGBoost's ``.json`` or ``.ubj``, LightGBM's ``.txt``.
    trust : bool, default=False
        Whether to read files that can run code: pickles, and skops files with types that skops does not know.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the file of a model")
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}: give the path of a saved model")
    model = READERS.get(path.suffix.lower(), _read_own)(path, trust)
    if not hasattr(model, "predict"):
        raise UnsupportedModel(
            f"{str(path)!r} holds a {type(model).__name__}, which does not predict: save the fitted estimator itself"
        )
    check_one_target(model, "the command line")
    return model


def _read_own(path: Path, trust: bool) -> Any:
    try:
        return tm.load(path)
    except FileDamaged as error:
        if path.read_bytes()[:2] == b"PK":
            raise
        endings = listed(READERS)
        raise FileDamaged(f"{error}. Other readable files end in {endings}") from error


def _read_skops(path: Path, trust: bool) -> Any:
    skops = _import("skops.io", "skops files")
    try:
        if not trust:
            with zipfile.ZipFile(path) as archive:
                check_sizes(archive, path.stat().st_size)
        unknown = skops.get_untrusted_types(file=path)
    except Exception as error:  # whatever a broken archive sets off
        raise FileDamaged(f"{str(path)!r} is not a skops file: {_first_line(error)}") from error
    others = [name for name in unknown if name not in HARMLESS | CHECKED_TYPES]
    if others and not trust:
        raise InvalidInput(
            f"{str(path)!r} needs types that skops does not know to be harmless ({listed(others[:5])}): if you made "
            f"the file, or trust who did, give {TRUST}"
        )
    try:
        model = skops.load(path, trusted=unknown)
        _check_trees(model)
    except Exception as error:  # such as types of other releases
        raise FileDamaged(f"{str(path)!r} does not contain a valid skops model: {_first_line(error)}") from error
    return model


def _check_own(value: Any) -> None:
    """Refuse an unsound object of tremula; what is not fitted has nothing to check."""
    if is_dataclass(value):
        check_object(value, [field.name for field in fields(value)])
        return
    fitted = [name for name in vars(value) if name not in value.get_params(deep=False) and name != CALLBACKS]
    if fitted:
        check_object(value, fitted)


def _check_trees(model: Any) -> None:
    """Refuse unsound trees wherever they are in a model, as `tm.load` does: the compiled loops do not check them."""
    seen: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen[id(value)] = value
        if isinstance(value, tm.Tree):
            value.check()
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
            waiting += np.ravel(value).tolist() if isinstance(value, np.ndarray) else value
        elif hasattr(value, "__dict__"):
            if full_name(type(value)) in HARMLESS:
                _check_own(value)
            check_foreign_trees(value)
            waiting += vars(value).values()


def _read_pickle(path: Path, trust: bool) -> Any:
    if not trust:
        raise InvalidInput(
            f"{str(path)!r} is a pickle, which can run any program when it is read. If you made the file yourself, "
            f"give {TRUST}; if not, ask for a skops file or the model file of its library"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle may fail in any way
        raise FileDamaged(
            f"{str(path)!r} cannot be unpickled ({_first_line(error)}): was it made by other releases of the libraries?"
        ) from error


def _read_xgboost(path: Path, trust: bool) -> Any:
    xgboost = _import("xgboost", "XGBoost's models")
    check_xgboost(path)
    kinds = {"classifier": xgboost.XGBClassifier, "regressor": xgboost.XGBRegressor}
    booster = xgboost.Booster()
    try:
        booster.load_model(path)
        kind = re.search(r'"_estimator_type":\s*"(\w+)"', booster.attr("scikit_learn") or "")
        if kind is None or kind[1] not in kinds:
            return booster
        model = kinds[kind[1]]()
        model.load_model(path)
    except xgboost.core.XGBoostError as error:
        raise FileDamaged(f"{str(path)!r} is not an XGBoost model: {_first_line(error)}") from error
    return model


def _read_lightgbm(path: Path, trust: bool) -> Any:
    if not path.read_bytes().startswith(b"tree\n"):  # LightGBM prints before it raises
        raise FileDamaged(f"{str(path)!r} is not a LightGBM model: such a file begins with the line 'tree'")
    lightgbm = _import("lightgbm", "LightGBM's models")
    check_lightgbm(path)
    try:
        return lightgbm.Booster(model_file=path)
    except lightgbm.basic.LightGBMError as error:
        raise FileDamaged(f"{str(path)!r} is not a LightGBM model: {_first_line(error)}") from error


READERS: dict[str, Callable[[Path, bool], Any]] = {
    OWN_ENDING: _read_own,
    ".skops": _read_skops,
    ".joblib": _read_pickle,
    ".pkl": _read_pickle,
    ".pickle": _read_pickle,
    ".json": _read_xgboost,
    ".ubj": _read_xgboost,
    ".txt": _read_lightgbm,
}


def _import(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        library = name.split(".")[0]
        raise MissingLibrary(f"{purpose} need {library}, which is not installed: pip install {library}") from error


def _first_line(error: Exception) -> str:
    """Return the message of an error, without the stack trace of a C++ library."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^\[[\d:]+\] \S+: ", "", lines[0])


# --- writing ---


def write_model(model: Any, path: Path) -> None:
    """Write a model in the format of the file extension, by default tremula's own."""
    check_ending(path)
    WRITERS.get(path.suffix.lower(), tm.save)(model, path)


def _write_skops(model: Any, path: Path) -> None:
    write_atomically(path, _import("skops.io", "skops files").dumps(model))


def _write_pickle(model: Any, path: Path) -> None:
    import joblib

    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    write_atomically(path, buffer.getvalue())


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".skops": _write_skops,
    ".joblib": _write_pickle,
    ".pkl": _write_pickle,
    ".pickle": _write_pickle,
}


def check_ending(path: Path) -> None:
    """Raise an error for the extension of a format that can be read but not written."""
    ending = path.suffix.lower()
    if ending in READERS and ending not in (OWN_ENDING, *WRITERS):
        raise InvalidParameter(
            f"{str(path)!r} ends in {ending}, which is for models of another library: give a name that ends in "
            f"{OWN_ENDING}, or one of {listed(WRITERS)}"
        )


def check_place(path: Path, *read: str | Path) -> None:
    """Raise an error before the work starts if a file cannot be written, or is one that the command reads."""
    if os.path.exists(path) and any(os.path.exists(file) and os.path.samefile(path, file) for file in read):
        raise InvalidParameter(f"{str(path)!r} is the file to read, which would be lost: give another name to write to")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the name of a file")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {str(path.parent)!r} to write {path.name!r} to: make it first")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{str(path)!r} cannot be written: you may not write to its folder")


# --- the rows that a model takes ---


def rows_for(model: Any, data: Dataset) -> Any:
    """Return the attributes of a dataset as a model wants them: its columns by name, in its order, or an array.

    Parameters
    ----------
    model : fitted estimator or booster
    data : Dataset

    Returns
    -------
    pandas frame or array
    """
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    if schema is not None:
        return own_levels(model, _conforming(data, schema, column_names(model) is not None))
    expected, names = column_names(model), matching_columns(model, data)
    chosen: Any = data.frame()[list(names)] if expected or data.nominal else data.X
    if expected:
        return own_levels(model, chosen.set_axis(list(expected), axis=1))
    if data.nominal and not hasattr(model, "encoder_"):
        raise ColumnMismatch(
            f"{data.source} has nominal columns, but {type(model).__name__} was trained on an array of numbers without "
            "names: give a file of the numbers that it was trained on"
        )
    return chosen.to_numpy(dtype=object) if data.nominal else chosen


def _conforming(data: Dataset, schema: TableSchema, with_names: bool) -> Any:
    """Return the rows in the form that the model's table had; dates are numbers of days by now."""
    rows, _ = conform(columns_of(data), schema.as_read(), data.source)
    return table_of(rows, with_names)


def own_levels(model: Any, table: Any) -> Any:
    """Return a frame whose levels are of the types that the model was trained on, where these are not words.

    A table as read has levels such as True and 3 as words; a model that was trained on the values themselves wants
    them back.
    """
    encoder = getattr(model, "encoder_", None) or getattr(getattr(model, "estimator_", None), "encoder_", None)
    if encoder is None or not hasattr(table, "columns"):
        return table
    changed = {}
    for name, levels in zip(table.columns, encoder.levels):
        if levels is not None and not all(isinstance(level, str) for level in levels.tolist()):
            level_of = {str(level): level for level in levels.tolist()}
            values = [None if word != word else level_of.get(str(word), word) for word in table[name].tolist()]
            changed[name] = np.array(values, dtype=object)
    return table.assign(**changed) if changed else table


def matching_columns(model: Any, data: Dataset) -> tuple[str, ...]:
    """Return the names of the dataset's columns that a model was trained on, in its order."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    if schema is not None:
        return schema.names
    names = data.attribute_names
    expected = column_names(model)
    if expected is None:
        n_expected = _n_columns(model)
        if n_expected is not None and n_expected != len(names):
            raise ColumnMismatch(
                f"{data.source} has {counted(len(names), 'column')} besides the target, but {type(model).__name__} "
                f"was trained on {n_expected}: give the same columns in the same order"
            )
        return names
    given = {plain_name(name): name for name in names}
    for name in expected:
        if plain_name(name) not in given:
            hint = did_you_mean(name, names) or ": give a file with the columns it was trained on"
            raise ColumnMismatch(
                f"{type(model).__name__} needs a column {name!r}, which {data.source} lacks (has {show(names)}){hint}"
            )
    return tuple(given[plain_name(name)] for name in expected)


def column_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that a model was trained on, None if unknown."""
    names: Sequence[str] | None = getattr(model, "feature_names_in_", None)
    if names is None and callable(getattr(model, "feature_name", None)):  # LightGBM's booster
        names = model.feature_name()
    elif names is None:
        names = getattr(model, "feature_names", None)  # XGBoost's booster
    if names is None or all(NO_NAMES.fullmatch(str(name)) for name in names):
        return None
    return tuple(map(str, names))


def _n_columns(model: Any) -> int | None:
    for name in ("n_features_in_", "num_features", "num_feature"):
        count = getattr(model, name, None)
        if count is not None:
            return int(count() if callable(count) else count)
    return None


def plain_name(name: str) -> str:
    """Return a name as LightGBM stores it."""
    return str(name).replace(" ", "_")
