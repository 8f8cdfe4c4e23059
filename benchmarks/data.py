"""The tables that benchmarks run on: parquet files of the folder TREMULA_DATA, and one that is generated."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

MADE = "make_classification 100,000 x 30"


def load(name: str) -> tuple[pd.DataFrame | np.ndarray, np.ndarray]:
    """Attributes (a float64 array, or a frame where some are nominal) and class codes."""
    if name == MADE:
        return make_classification(100_000, 30, n_informative=12, n_classes=7, random_state=0)
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    attributes, target = frame.drop(columns="target"), frame["target"]
    codes = pd.factorize(np.asarray(target), sort=True)[0]
    if all(pd.api.types.is_numeric_dtype(kind) for kind in attributes.dtypes):
        return np.ascontiguousarray(attributes.to_numpy(np.float64)), codes
    return attributes, codes


def as_numbers(attributes: pd.DataFrame | np.ndarray) -> np.ndarray:
    """What scikit-learn's trees take: codes in place of levels, NaN where missing."""
    if isinstance(attributes, np.ndarray):
        return attributes
    columns = []
    for name in attributes:
        column = attributes[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(column.to_numpy(np.float64))
    return np.column_stack(columns)


def as_indicators(attributes: pd.DataFrame | np.ndarray) -> np.ndarray:
    """What scikit-learn's trees take: a column of zeros and ones for each level, none of them one where missing."""
    if isinstance(attributes, np.ndarray):
        return attributes
    return pd.get_dummies(attributes, dtype=np.float64).to_numpy(np.float64)


def stratified_folds(codes: np.ndarray, seed: int, n_folds: int = 10) -> list[np.ndarray]:
    """Test rows of each fold; a class with fewer rows than there are folds is in some of them only."""
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return [test for _, test in splitter.split(codes, codes)]
