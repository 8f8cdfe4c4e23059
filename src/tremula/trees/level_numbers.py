"""Nominal attributes of many levels: while a tree grows, numbers stand for their levels.

Two sets of levels that are chosen to fit the rows of a node fit noise where levels have few rows. With a number for
each level, a split compares it with a threshold instead. The number is the code of the level, or its cross-fitted mean
target: rows in one fold get the mean of the rows of their level in the other folds, so that no row sees its own target.
Columns of names, a few rows each, are left out before (see `identifiers`).
In the finished tree each such split is one of two sets of levels again, and nodes are filled anew with the rows that
these sets send there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tremula.trees.columns import Columns
from tremula.trees.cross_fitting import MAX_CODES, N_FOLDS, coded_means, mean_targets
from tremula.trees.grown_tree import GrownTree
from tremula.trees.size_limit import MAX_SUBSETS

# More numbers of the levels of a column are put into so many bins: each split takes a byte for each level.
MAX_NUMBERS = 256
# "auto" takes statistics for attributes of more levels than this; with more than two classes, where the share of one of
# them says little of a level, only if there are fewer rows for each level.
FEW_LEVELS = 5
ROWS_PER_LEVEL = 5
# Several targets are treated as more than two classes are.
MANY_OUTPUTS = 3
# What a split does with a missing level, as a threshold of a split of levels.
NO_BRANCH, FIRST_BRANCH, SECOND_BRANCH = np.nan, 1.0, 2.0


@dataclass(frozen=True)
class NumberedLevels:
    """A nominal column whose levels are numbers while a tree grows.

    Attributes
    ----------
    column : int
    numbers : float64 array (n_levels,)
        The number of each level of the table that was given.
    missing : float
        The number of missing values, or NaN if their rows are divided between the branches.
    """

    column: int
    numbers: np.ndarray
    missing: float


def numbered_columns(columns: Columns, n_classes: int) -> np.ndarray:
    """Return the nominal columns whose levels get numbers.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from tremula.trees.columns import read_columns
    >>> columns = read_columns(np.zeros((500, 3)), np.array([0, 4, 20], np.int32))
    >>> [numbered_columns(replace(columns, nominal=way), n_classes=2).tolist() for way in ("subsets", "codes", "auto")]
    [[], [1, 2], [2]]
    """
    n_levels = columns.n_levels
    if columns.nominal in ("subsets", "one_vs_rest") or not n_levels.any():
        return np.empty(0, np.int64)
    if columns.nominal == "auto":
        return np.flatnonzero((n_levels > FEW_LEVELS) & (are_sparse(columns) | (n_classes <= 2)))
    return np.flatnonzero(n_levels)


def are_sparse(columns: Columns) -> np.ndarray:
    """Whether there are few rows for each level of a column."""
    return columns.n_rows < ROWS_PER_LEVEL * columns.n_levels.astype(np.int64)


def number_levels(
    columns: Columns, target: np.ndarray, weights: np.ndarray, n_classes: int, random: np.random.Generator
) -> tuple[Columns, list[NumberedLevels]]:
    """Return columns with numbers in the place of levels, and the number of each level.

    Parameters
    ----------
    columns : Columns
    target : array (n_rows,) or (n_rows, n_targets)
        Codes of classes, or numbers; of several targets the outputs of their classes, or numbers.
    weights : array (n_rows,)
    n_classes : int
        0 for a numeric target.
    random : numpy.random.Generator
        Draws the folds, and the class of the statistics if there are more than two, or a target or a class of one if
        there are several. Not used if no level gets a number.
    """
    numbered = numbered_columns(columns, n_classes if target.ndim == 1 else MANY_OUTPUTS)
    if not len(numbered):
        return columns, []
    folds = None
    weights = weights.astype(np.float64)
    if columns.nominal != "codes":
        if target.ndim == 2:
            target = _drawn_output(target, n_classes, random)
        elif n_classes:
            target = target == (1 if n_classes == 2 else random.integers(n_classes))
        folds = random.integers(N_FOLDS, size=columns.n_rows)
        target = weights * target
        if _are_few(columns, numbered):
            return _number_few(columns, numbered, target, weights, folds)
    return _number_any(columns, numbered, target, weights, folds)


def _are_few(columns: Columns, numbered: np.ndarray) -> bool:
    """Whether the means of the columns are told apart by a byte."""
    if not columns.is_complete or columns.max_bins is not None or columns.is_sparse:
        return False
    return N_FOLDS * int(columns.n_levels[numbered].max()) <= MAX_CODES


def _number_few(
    columns: Columns, numbered: np.ndarray, weighted: np.ndarray, weights: np.ndarray, folds: np.ndarray
) -> tuple[Columns, list[NumberedLevels]]:
    """Return what `number_levels` does for columns of few levels, without a copy of the values."""
    short = [columns.short_levels[int(column)] for column in numbered]
    means = coded_means(short, columns.n_levels[numbered].tolist(), weighted, weights, folds)
    levels = [_numbered(columns, int(column), means.of_levels[i]) for i, column in enumerate(numbered)]
    return columns.with_numbers(numbered, None, means.codes), levels


def _number_any(
    columns: Columns, numbered: np.ndarray, weighted: np.ndarray, weights: np.ndarray, folds: np.ndarray | None
) -> tuple[Columns, list[NumberedLevels]]:
    """Return what `number_levels` does for any levels; their numbers are the codes if there are no folds."""
    values, levels = columns.values.copy(), []
    for column in numbered:
        numbers = np.arange(columns.n_levels[column], dtype=np.float64)
        if folds is not None:
            values[:, column], numbers = mean_targets(values[:, column], len(numbers), weighted, weights, folds)
        values[:, column], numbers = _in_bins(values[:, column], numbers, weights)
        levels.append(_numbered(columns, int(column), numbers))
    return columns.with_numbers(numbered, values), levels


def _drawn_output(target: np.ndarray, n_classes: int, random: np.random.Generator) -> np.ndarray:
    """Return one of several numeric targets, or whether rows are of one class of one of several targets."""
    drawn = random.integers(n_classes or target.shape[1])
    return np.asarray((target == drawn).any(axis=1) if n_classes else target[:, drawn])


def _in_bins(values: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bins of the numbers of rows and of levels, at quantiles of the rows, if there are too many numbers."""
    if N_FOLDS * len(numbers) <= MAX_NUMBERS:
        return values, numbers
    present = values[(weights > 0) & ~np.isnan(values)]
    if len(np.unique(present)) <= MAX_NUMBERS:
        return values, numbers
    bounds = np.unique(np.quantile(present, np.arange(1, MAX_NUMBERS) / MAX_NUMBERS, method="higher"))
    bins = np.searchsorted(bounds, values, "right").astype(np.float64)
    bins[np.isnan(values)] = np.nan
    return bins, np.searchsorted(bounds, numbers, "right").astype(np.float64)


def _numbered(columns: Columns, column: int, numbers: np.ndarray) -> NumberedLevels:
    missing = int(columns.missing_level[column])
    if missing < 0:
        return NumberedLevels(column, numbers, np.nan)
    return NumberedLevels(column, np.delete(numbers, missing), float(numbers[missing]))


def splits_of_levels(grown: GrownTree, levels: Sequence[NumberedLevels]) -> GrownTree:
    """Return the tree whose thresholds between numbers of levels are two sets of levels.

    Examples
    --------
    >>> from tremula.trees.structure import NODE_DTYPE
    >>> nodes = np.array([(0.5, 3, 0, 1, 2, -1), (np.nan, 1, -1, 0, 0, 0), (np.nan, 2, -1, 0, 0, 1)], NODE_DTYPE)
    >>> grown = GrownTree(nodes, np.zeros((3, 2)), np.empty(0, np.uint8))
    >>> tree = splits_of_levels(grown, [NumberedLevels(0, np.array([0.7, 0.2, 0.4]), np.nan)])
    >>> tree.nodes["index"][0], tree.subsets
    (np.int32(0), array([1, 0, 0], dtype=uint8))
    """
    nodes, subsets = grown.nodes, [grown.subsets]
    end = len(grown.subsets)
    attributes = np.ascontiguousarray(nodes["attribute"])  # -1 in leaves
    for each in levels:
        splits = np.flatnonzero(attributes == each.column)
        thresholds, in_order = nodes["threshold"][splits], np.sort(each.numbers)
        place_of_split = np.searchsorted(in_order, thresholds, "right")
        # Thresholds between the same two numbers give the same sets, which are stored once.
        is_used = np.zeros(len(in_order) + 1, np.bool_)
        is_used[place_of_split] = True
        places, which = np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[place_of_split]
        if end + len(places) * len(each.numbers) > MAX_SUBSETS:
            raise MemoryError
        bounds = np.append(in_order, np.inf)[places]
        subsets.append((each.numbers >= bounds[:, None]).astype(np.uint8).ravel())
        nodes["index"][splits] = end + which * len(each.numbers)
        end += len(subsets[-1])
        if np.isnan(each.missing):
            nodes["threshold"][splits] = NO_BRANCH
        else:
            nodes["threshold"][splits] = np.where(each.missing <= thresholds, FIRST_BRANCH, SECOND_BRANCH)
    return replace(grown, subsets=np.concatenate(subsets))
