"""Columns that name or number the rows: they are left out of trees unless they go with the target.

Where a level has few rows, or the number of a row is a name and no quantity, each split on it fits noise. Whether such
a column goes with the target is decided once for a table, before any tree is grown, so that `fit` can tell it. Nothing
is drawn: the same table and target give the same columns for any seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from tremula.data.column import show
from tremula.data.names import attribute_names
from tremula.errors import IdentifierWarning
from tremula.trees.columns import Columns
from tremula.trees.cross_fitting import N_FOLDS, in_standard_errors, is_chance, mean_targets, row_agreements
from tremula.trees.level_numbers import FEW_LEVELS, are_sparse

FEWEST_BLOCKS = 8


def find_identifiers(
    columns: Columns, target: np.ndarray, weights: np.ndarray | None, n_classes: int
) -> tuple[int, ...]:
    """Return the columns that name or number the rows and do not go with the target; none if these are all columns.

    Parameters
    ----------
    columns : Columns
    target : array (n_rows,) or (n_rows, n_targets)
        Codes of classes, or numbers; of several targets the outputs of their classes, or numbers.
    weights : array (n_rows,) or None
        None is one each.
    n_classes : int
        0 for a numeric target.

    Examples
    --------
    >>> from tremula.trees.columns import read_columns
    >>> numbers = np.random.default_rng(0).permutation(100).astype(float)
    >>> columns = read_columns(np.column_stack([numbers % 10, numbers]), np.zeros(2, np.int32))
    >>> find_identifiers(columns, numbers % 2, None, 2), find_identifiers(columns, numbers, None, 0)
    ((1,), ())
    """
    columns = columns.to_grow_from
    names = np.flatnonzero((columns.n_levels > FEW_LEVELS) & are_sparse(columns))
    if not len(names) and not len(columns.numbering):
        return ()
    weights = np.ones(columns.n_rows) if weights is None else weights.astype(np.float64)
    outputs, folds = list(_outputs(target, n_classes)), np.random.default_rng(0).integers(N_FOLDS, size=columns.n_rows)

    def is_left_out(groups: np.ndarray, n_groups: int) -> bool:
        return is_chance(_agreement(groups, n_groups, outputs, weights, folds))

    left_out = [int(c) for c in names if is_left_out(columns.column(int(c)), int(columns.n_levels[c]))]
    for column in columns.numbering:
        if all(is_left_out(blocks, int(blocks.max()) + 1) for blocks in _blocks(columns.column(int(column)))):
            left_out.append(int(column))
    return tuple(sorted(left_out)) if len(left_out) < columns.n_judged else ()


def _outputs(target: np.ndarray, n_classes: int) -> Iterator[np.ndarray]:
    """Yield what rows are compared by: shares of classes, or numbers in units of their deviation."""
    if n_classes:
        for code in range(1 if target.ndim == 1 and n_classes == 2 else 0, n_classes):
            yield (target == code if target.ndim == 1 else (target == code).any(axis=1)).astype(np.float64)
        return
    for numbers in target.reshape(len(target), -1).T:
        largest = float(np.abs(numbers).max()) or 1.0
        centred = numbers / largest - (numbers / largest).mean()
        yield centred / (centred.std() or 1.0)


def _agreement(
    levels: np.ndarray, n_levels: int, outputs: Sequence[np.ndarray], weights: np.ndarray, folds: np.ndarray
) -> float:
    """Return by how many standard errors rows agree with others of their level, all outputs together."""
    products = np.zeros(len(weights))
    for output in outputs:
        means = mean_targets(levels, n_levels, weights * output, weights, folds).of_rows
        products += row_agreements(means, weights * output, weights)
    return in_standard_errors(products)


def _blocks(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Yield long and short blocks of neighbouring numbers, as levels."""
    n_rows, ranks = len(numbers), np.argsort(np.argsort(numbers))
    for size in (-(-n_rows // FEWEST_BLOCKS), int(np.ceil(np.sqrt(n_rows)))):
        yield (ranks // size).astype(np.float64)


def attributes_to_test(columns: Columns, attributes: np.ndarray | None) -> np.ndarray | None:
    """Return the columns that a tree may test, without the ignored ones unless these are all that it was given.

    Examples
    --------
    >>> from tremula.trees.columns import read_columns
    >>> columns = replace(read_columns(np.zeros((2, 3)), np.zeros(3, np.int32)), ignored=(1,))
    >>> attributes_to_test(columns, None)
    array([0, 2], dtype=int32)
    """
    if not columns.ignored:
        return attributes
    given = np.arange(columns.n_judged) if attributes is None else attributes
    kept = given[~np.isin(given, columns.ignored)].astype(np.int32)
    return kept if len(kept) else attributes


class IgnoredFeaturesMixin:
    """Mixin for estimators of trees that leave out identifiers, and tell it."""

    ignored_features_: list[str]
    # Calls between `fit` and the warning, which points to the line that called `fit`.
    _n_calls_to_warning: ClassVar[int] = 5

    def _ignore_identifiers(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        before: list[str] | None = None,
    ) -> Columns:
        """Return columns that know which of them trees leave out; set `ignored_features_`, and warn.

        A warm start leaves out the columns that it left out before.
        """
        names = attribute_names(getattr(self, "feature_names_in_", None), columns.n_judged)
        if before is None:
            ignored = find_identifiers(columns, target, weights, n_classes)
        else:
            ignored = tuple(number for number, name in enumerate(names) if name in before)
        self.ignored_features_ = [names[column] for column in ignored]
        if self.ignored_features_:
            warnings.warn(self._words_for_ignored(), IdentifierWarning, stacklevel=self._n_calls_to_warning)
        return replace(columns, ignored=ignored)

    def _words_for_ignored(self) -> str:
        names = show(self.ignored_features_)
        if len(self.ignored_features_) == 1:
            subject, them = f"column {names} has few rows for each value, as an identifier has, and does", "it"
        else:
            subject, them = f"columns {names} have few rows for each value, as identifiers have, and do", "them"
        return f"{subject} not go with the target: no tree tests {them}. Drop {them}, or {self._how_to_use_ignored()}"

    def _how_to_use_ignored(self) -> str:
        return "set nominal='statistics' or 'subsets' to use every column"
