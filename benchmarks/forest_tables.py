"""Tables of the benchmark of forests, in training and test rows: files of the folder TREMULA_DATA, and generated ones.

The name of a generated table states its size: `made-100000x30-7` has 100,000 training rows, 30 attributes and 7
classes, `made-100000x30` a number to predict. Test rows are drawn besides.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification, make_friedman1
from sklearn.model_selection import train_test_split

from data import as_numbers

CLASSIFICATION = [
    "letter",
    "satimage",
    "pendigits",
    "waveform-5000",
    "covtype-20k",
    "adult",
    "made-100000x30-7",
    "made-1000000x20-2",
    "made-1000x2000-2",
]
REGRESSION = [
    "cal-housing",
    "fried",
    "2dplanes",
    "cpu-small",
    "pol",
    "mv",
    "made-100000x30",
    "made-1000000x20",
    "made-1000x2000",
]
TEST_SHARE = 0.25
MOST_TEST_ROWS = 50_000  # of a generated table
N_INFORMATIVE = 12  # attributes of a generated table that matter, at most
MANY_CLASSES = 20  # from so many on, classes of a generated table lie farther apart
MADE = re.compile(r"made-(\d+)x(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Table:
    """Training and test rows; the attributes are a float64 array, or a frame if some are nominal."""

    name: str
    kind: str  # classification or regression
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def is_nominal(self) -> bool:
        return not isinstance(self.X, np.ndarray)

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1 if self.kind == "classification" else 0

    def error(self, answers: Any) -> float:
        """Percentage of test rows with a wrong class, or the root mean squared error in per cent of the deviation."""
        if self.kind == "classification":
            return float(100 * np.mean(np.asarray(answers).astype(np.int64) != self.y_test))
        residuals = np.asarray(answers, dtype=np.float64) - self.y_test
        return float(100 * np.sqrt(np.mean(residuals**2)) / self.y_test.std())


def load_table(name: str) -> Table:
    """The table of that name; the same rows each time."""
    made = MADE.fullmatch(name)
    if made:
        n_rows, n_attributes, n_classes = (int(number or 0) for number in made.groups())
        return make_table(name, n_rows, n_attributes, n_classes)
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    attributes, target = frame.drop(columns="target"), frame["target"]
    is_class = kind_of(name) == "classification"
    y = pd.factorize(np.asarray(target), sort=True)[0] if is_class else target.to_numpy(np.float64)
    if all(pd.api.types.is_numeric_dtype(kind) for kind in attributes.dtypes):
        attributes = attributes.to_numpy(np.float64)
    X, X_test, y, y_test = train_test_split(
        attributes, y, test_size=TEST_SHARE, random_state=0, stratify=y if is_class else None
    )
    return Table(name, kind_of(name), X, y, X_test, y_test)


def kind_of(name: str) -> str:
    """Whether a table has classes or numbers to predict."""
    made = MADE.fullmatch(name)
    if made:
        return "classification" if made[3] else "regression"
    target = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet", columns=["target"])["target"]
    return "regression" if pd.api.types.is_numeric_dtype(target.dtype) else "classification"


def make_table(name: str, n_rows: int, n_attributes: int, n_classes: int) -> Table:
    """Generate a table; without classes, Friedman's first function with noise."""
    n_test = min(max(int(TEST_SHARE * n_rows), 250), MOST_TEST_ROWS)
    if n_classes:
        n_informative = min(n_attributes, N_INFORMATIVE)
        X, y = make_classification(
            n_rows + n_test,
            n_attributes,
            n_informative=n_informative,
            n_redundant=min(2, n_attributes - n_informative),
            n_classes=n_classes,
            **({"n_clusters_per_class": 1, "class_sep": 3.0} if n_classes >= MANY_CLASSES else {}),
            random_state=0,
        )
    else:
        X, y = make_friedman1(n_rows + n_test, n_attributes, noise=1.0, random_state=0)
    return Table(name, kind_of(name), X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def title(name: str) -> str:
    """The name of a table in a results table."""
    made = MADE.fullmatch(name)
    if not made:
        return name
    n_rows, n_attributes, n_classes = made.groups()
    target = f"{n_classes} classes" if n_classes else "a number"
    return f"{int(n_rows):,} x {int(n_attributes):,}, {target}"


# --- the forms that libraries take ---


def in_form(table: Table, form: str) -> tuple[Any, Any]:
    """Training and test attributes: nominal ones as they are (frame, columns), or as codes (numbers, complete)."""
    return FORMS[form](table)


def _frame(table: Table) -> tuple[Any, Any]:
    return table.X, table.X_test


def _numbers(table: Table) -> tuple[Any, Any]:
    return as_numbers(table.X), as_numbers(table.X_test)


def _complete(table: Table) -> tuple[Any, Any]:
    """Codes, and where a value is missing a number below all others."""
    X, X_test = _numbers(table)
    if not (np.isnan(X).any() or np.isnan(X_test).any()):
        return X, X_test
    below = np.nanmin(np.vstack([X, X_test]), axis=0) - 1
    return np.where(np.isnan(X), below, X), np.where(np.isnan(X_test), below, X_test)


def _columns(table: Table) -> tuple[Any, Any]:
    """Arrays by name, nominal ones as text, empty where missing: what YDF takes."""
    return tuple(_as_columns(attributes) for attributes in (table.X, table.X_test))


def _as_columns(attributes: Any) -> dict[str, np.ndarray]:
    if isinstance(attributes, np.ndarray):
        return {"x": attributes}
    columns = {}
    for name in attributes:
        column = attributes[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            columns[str(name)] = column.to_numpy(np.float64)
        else:
            columns[str(name)] = column.astype(object).where(column.notna(), "").to_numpy(dtype=str)
    return columns


FORMS = {"frame": _frame, "numbers": _numbers, "complete": _complete, "columns": _columns}
