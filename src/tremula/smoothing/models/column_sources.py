"""Which attribute each column of a transformed table is made of, for steps that keep the order of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import name_of

# Each column of the result depends on the column in the same place, and never falls with it.
MONOTONE = (Binarizer, MaxAbsScaler, MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler)


def column_sources(step: Any, n_columns: int) -> NDArray[np.int64]:
    """Return for each column of a step's result the column that it is made of.

    Raises
    ------
    UnsupportedModel
        A column depends on several others, or falls where its attribute rises, or that cannot be known.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> column_sources(StandardScaler(), 3)
    array([0, 1, 2])
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return np.arange(n_columns)
    kind = type(step)
    if isinstance(step, Pipeline):
        sources = np.arange(n_columns)
        for _, inner in step.steps:
            sources = sources[column_sources(inner, len(sources))]
        return sources
    if isinstance(step, ColumnTransformer):
        return _sources_of_parts(step)
    if isinstance(step, SelectorMixin):
        return np.asarray(step.get_support(indices=True), dtype=np.int64)
    if kind in MONOTONE or (kind is FunctionTransformer and step.func is None):
        return np.arange(n_columns)
    if kind is PowerTransformer and step.method == "yeo-johnson":
        return np.arange(n_columns)
    if kind is KBinsDiscretizer and step.encode == "ordinal":
        return np.arange(n_columns)
    if kind is SimpleImputer and not step.add_indicator and _is_number(step.missing_values):
        return _sources_of_imputer(step)
    raise UnsupportedModel(
        f"{name_of(step)} is not known to transform each attribute on its own and in its order: {USE_SAMPLE}"
    )


def _is_number(missing: Any) -> bool:
    """Whether only NaN stands for a missing value: noise changes other numbers."""
    return isinstance(missing, float) and bool(np.isnan(missing))


def _sources_of_imputer(step: SimpleImputer) -> NDArray[np.int64]:
    """Return the columns that an imputer keeps: those with known values, unless empty ones are kept too."""
    try:
        statistics = np.asarray(step.statistics_, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnsupportedModel(f"{name_of(step)} fills in other values than numbers: {USE_SAMPLE}") from error
    if step.keep_empty_features or step.strategy == "constant":
        return np.arange(len(statistics))
    return np.flatnonzero(~np.isnan(statistics))


def _sources_of_parts(step: ColumnTransformer) -> NDArray[np.int64]:
    """Return the sources of a column transformer, in the order of its results."""
    names = getattr(step, "feature_names_in_", None)
    sources = np.full(sum(part.stop - part.start for part in step.output_indices_.values()), -1)
    for name, transformer, columns in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        numbers = _column_numbers(columns, names, step.n_features_in_)
        part = step.output_indices_[name]
        if part.stop > part.start:
            sources[part] = numbers[column_sources(transformer, len(numbers))]
    return sources


def _column_numbers(columns: Any, names: Any, n_columns: int) -> NDArray[np.int64]:
    """Return the numbers of the columns that a column transformer names: numbers, names, slices or a mask."""
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            raise UnsupportedModel(f"a column transformer selects columns by a slice of names: {USE_SAMPLE}")
        return np.arange(n_columns)[columns]
    if isinstance(columns, str | int | np.integer):
        raise UnsupportedModel(f"a column transformer passes a single column as a vector: {USE_SAMPLE}")
    given = np.asarray(columns)
    if given.dtype == bool:
        return np.flatnonzero(given)
    if given.dtype.kind in "iu":
        return np.asarray(np.arange(n_columns)[given])
    known = {name: number for number, name in enumerate(names)}
    return np.array([known[name] for name in columns], dtype=np.int64)
