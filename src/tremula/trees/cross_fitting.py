"""Cross-fitted means: rows in one fold get the mean target of rows of their level in the other folds.

No row sees its own target. So the means of levels that say nothing of the target do not agree with it, but by chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tremula._kernels.level_means import add_cells, fill_codes, fill_means
from tremula.trees.coding import CodedColumns

N_FOLDS = 5
# The mean target of a level counts as if so many more rows had the mean of all.
PRIOR_WEIGHT = 5.0
# Fewer standard errors of agreement are chance. Two rows of a level count twice, each for the other, so that 1.7 % of
# such columns agree better by chance.
LEAST_AGREEMENT = 3.0
MAX_CODES = 256


class MeanTargets(NamedTuple):
    """The cross-fitted mean target of each row's level, NaN if that is missing, and the mean of each level."""

    of_rows: np.ndarray
    of_levels: np.ndarray


class CodedMeans(NamedTuple):
    """The cross-fitted mean targets of few levels as codes of columns, and the means of the levels of each column."""

    codes: CodedColumns
    of_levels: list[np.ndarray]


def mean_targets(
    levels: np.ndarray, n_levels: int, weighted: np.ndarray, weights: np.ndarray, folds: np.ndarray
) -> MeanTargets:
    """Return the means; `weighted` is the target times the weight of each row."""
    known = ~np.isnan(levels)
    is_complete = bool(known.all())
    if not is_complete:
        levels, weighted, weights, folds = levels[known], weighted[known], weights[known], folds[known]
    cells = folds * n_levels + levels.astype(np.int64)
    shape, size = (N_FOLDS, n_levels), N_FOLDS * n_levels
    counts = np.bincount(cells, weights, size).reshape(shape)
    sums = np.bincount(cells, weighted, size).reshape(shape)
    by_fold, of_levels = _means_of_cells(counts, sums)
    if is_complete:
        return MeanTargets(by_fold.ravel()[cells], of_levels)
    numbers = np.full(len(known), np.nan)
    numbers[known] = by_fold.ravel()[cells]
    return MeanTargets(numbers, of_levels)


def coded_means(
    columns: list[np.ndarray], n_levels: list[int], weighted: np.ndarray, weights: np.ndarray, folds: np.ndarray
) -> CodedMeans:
    """Return the means of columns, whose levels are bytes; there are at most MAX_CODES folds times levels of each.

    Examples
    --------
    >>> levels, folds = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 2, 3])
    >>> means = coded_means([levels], [2], np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4), folds)
    >>> means.codes.codes.ravel(), means.codes.low[means.codes.codes.ravel()]
    (array([1, 1, 2, 2], dtype=uint8), array([0.41666667, 0.41666667, 0.58333333, 0.58333333]))
    """
    folds = folds.astype(np.uint8)
    codes = np.empty((len(folds), len(columns)), np.uint8, order="F")
    numbers, of_levels = [], []
    for place, (levels, n) in enumerate(zip(columns, n_levels, strict=True)):
        counts, sums = np.zeros((N_FOLDS, n)), np.zeros((N_FOLDS, n))
        add_cells(levels, folds, weights, weighted, counts, sums)
        by_fold, means = _means_of_cells(counts, sums)
        in_order = np.sort(by_fold, axis=None)
        distinct = in_order[np.append(True, in_order[1:] != in_order[:-1])]
        fill_codes(levels, folds, np.searchsorted(distinct, by_fold).astype(np.uint8), codes[:, place])
        numbers.append(distinct)
        of_levels.append(means)
    n_codes = np.array([len(each) for each in numbers], np.int32)
    values, first = np.concatenate(numbers), np.cumsum(n_codes, dtype=np.int64) - n_codes
    return CodedMeans(CodedColumns(codes, n_codes, first, values, values), of_levels)


def _means_of_cells(counts: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means of levels for the rows in each fold, and for all; from sums by fold and level."""
    total = counts.sum()
    prior = float(sums.sum() / total) if total > 0 else 0.0
    by_fold, of_levels = np.empty(counts.shape), np.empty(counts.shape[1])
    fill_means(counts, sums, prior, PRIOR_WEIGHT, by_fold, of_levels)
    return by_fold, of_levels


def row_agreements(means: np.ndarray, weighted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return how well each row agrees with the mean of its level in other folds; 0 where the level is missing.

    Parameters
    ----------
    means : array (n_rows,)
        Cross-fitted means; NaN where the level is missing.
    weighted : array (n_rows,)
        Targets times weights.
    weights : array (n_rows,)
    """
    known = ~np.isnan(means) & (weights > 0)
    products = np.zeros(len(means))
    if known.any():
        prior = weighted[known].sum() / weights[known].sum()
        products[known] = (means[known] - prior) * (weighted[known] - weights[known] * prior)
    return products


def in_standard_errors(products: np.ndarray) -> float:
    """Return by how many standard errors rows agree with the means of their levels, all rows together."""
    error = float(np.sqrt(np.square(products).sum()))
    return float(products.sum()) / error if error > 0.0 else 0.0


def is_chance(agreement: float) -> bool:
    """Whether means agree with targets no better than those of names may."""
    return agreement < LEAST_AGREEMENT
