"""Errors of methods on datasets as one table, from comparisons by dataset, an array or a frame.

After reading, all datasets have the same methods and scoring; NaN stands for a method that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics.comparison.comparison import Comparison
from tremula.errors import InvalidInput, counted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorTable:
    """Errors of methods (columns) on datasets (rows)."""

    errors: Floats
    names: list[str]
    dataset_names: list[str]


def read_results(results: Any, names: Sequence[str] | None, dataset_names: Sequence[str] | None) -> ErrorTable:
    """Read comparisons or a table of errors; given names replace their own."""
    if isinstance(results, Mapping) or (
        isinstance(results, list | tuple) and any(isinstance(item, Comparison) for item in results)
    ):
        table = _read_comparisons(name_datasets(results))
    else:
        table = _read_array(results)
    methods = table.names if names is None else read_names("names", names)
    datasets = table.dataset_names if dataset_names is None else read_names("dataset_names", dataset_names)
    renamed = ErrorTable(table.errors, methods, datasets)
    for option, given, length in (("names", renamed.names, 1), ("dataset_names", renamed.dataset_names, 0)):
        if len(given) != table.errors.shape[length] or len(set(given)) < len(given):
            raise InvalidInput(f"{option} is {given}: give {table.errors.shape[length]} distinct names")
    _refuse_too_few(renamed)
    return renamed


def read_names(option: str, given: Any) -> list[str]:
    """Return names as a list, or raise an error if they are none."""
    if isinstance(given, str) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise InvalidInput(f"{option} is {type(given).__name__}: give a list of names")
    return [str(name) for name in given]


def name_datasets(results: Any) -> dict[str, Comparison]:
    """Return comparisons by the name of their dataset, numbered where a list was given, all of the same methods."""
    if not isinstance(results, Mapping | Sequence) or isinstance(results, str):
        raise InvalidInput(
            f"{type(results).__name__} was given: give a dict of dataset to Comparison, or a list of them"
        )
    named = (
        results if isinstance(results, Mapping) else {f"dataset {place}": item for place, item in enumerate(results)}
    )
    first: Comparison | None = None
    for dataset, comparison in named.items():
        if not isinstance(comparison, Comparison):
            raise InvalidInput(
                f"{dataset!r} is {type(comparison).__name__}: give a Comparison, as compare() returns it"
            )
        first = first or comparison
        if set(comparison.names) != set(first.names):
            raise InvalidInput(
                f"{dataset!r} has the methods {comparison.names}, others have {first.names}: they must agree"
            )
        if comparison.scoring != first.scoring:
            raise InvalidInput(f"{dataset!r} is judged by {comparison.scoring!r}, others by {first.scoring!r}: use one")
    if first is None:
        raise InvalidInput("no comparison was given: give a dict of dataset to Comparison, or a list")
    return {str(dataset): comparison for dataset, comparison in named.items()}


def _read_comparisons(named: Mapping[str, Comparison]) -> ErrorTable:
    names = next(iter(named.values())).names
    errors = [[float(item.mean_errors[item.place(name)]) for name in names] for item in named.values()]
    return ErrorTable(np.array(errors), list(names), list(named))


def _read_array(results: Any) -> ErrorTable:
    try:
        frame = nw.from_native(results, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidInput(f"the errors have several columns of the same name: rename them ({error})") from error
    try:
        errors = np.asarray(frame.to_numpy() if isinstance(frame, nw.DataFrame) else results, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"the errors are not a table of numbers ({error}): give datasets in rows, methods in columns"
        ) from error
    if errors.ndim != 2:
        raise InvalidInput(
            f"the errors have {counted(errors.ndim, 'dimension')}: give a table, datasets in rows, methods in columns"
        )
    names = [f"method {place}" for place in range(errors.shape[1])]
    datasets = [f"dataset {place}" for place in range(errors.shape[0])]
    if isinstance(frame, nw.DataFrame):
        names = list(map(str, frame.columns))
        index = nw.maybe_get_index(frame)
        datasets = datasets if index is None else list(map(str, index))
    return ErrorTable(errors, names, datasets)


def _refuse_too_few(table: ErrorTable) -> None:
    n_datasets, n_methods = table.errors.shape
    if n_methods < 2:
        raise InvalidInput(f"{counted(n_methods, 'method')} given: a ranking needs at least 2")
    if n_datasets < 2:
        raise InvalidInput(
            f"{counted(n_datasets, 'dataset')} given: a ranking needs at least 2; on one, use compare and its tests"
        )
    if np.isinf(table.errors).any():
        row, column = np.argwhere(np.isinf(table.errors))[0]
        raise InvalidInput(
            f"the error of {table.names[column]!r} on {table.dataset_names[row]!r} is {table.errors[row, column]}: "
            "leave out the dataset or the method, or run it again; NaN stands for a method that failed"
        )
    missing = np.isnan(table.errors)
    for kind, names, counts in (
        ("dataset", table.dataset_names, (~missing).sum(axis=1)),
        ("method", table.names, (~missing).sum(axis=0)),
    ):
        if counts.min() < 2:
            name, fewest = names[int(counts.argmin())], counted(int(counts.min()), "error")
            raise InvalidInput(
                f"the {kind} {name!r} has {fewest} that is not NaN: at least 2 are needed to rank; leave it out"
            )
