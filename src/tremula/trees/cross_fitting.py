"""Cross-fitted means: rows in one fold get the mean target of rows of their level in the other folds.

No row sees its own target. So the means of levels that say nothing of the target do not agree with it, but by chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tremula.trees.coding import CodedColumns, code_cells

N_FOLDS = 5
# The mean target of a level counts as if so many more rows had the mean of all.
PRIOR_WEIGHT = 5.0
# Fewer standard errors of agreement are chance. Two rows of a level count twice, each for the other, so that 1.7 % of
# such columns agree better by chance.
LEAST_AGREEMENT = 3.0
MAX_CODES = 256


class MeanTargets(NamedTuple):
    """The cross-fitted mean target of each row's level, NaN if that is missing, and the mean of each level.

    `codes` has the codes of the numbers of rows, if there are few of them and no level is missing.
    """

    of_rows: np.ndarray
    of_levels: np.ndarray
    codes: list[CodedColumns]


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
    total = counts.sum()
    prior = float(sums.sum() / total) if total > 0 else 0.0
    by_fold = np.empty(shape)
    for fold in range(N_FOLDS):
        # Sums over the other folds, not differences: rows whose level they lack get exactly the same number.
        others = np.delete(sums, fold, 0).sum(axis=0), np.delete(counts, fold, 0).sum(axis=0)
        by_fold[fold] = _shrunk_means(*others, prior)
    of_levels = _shrunk_means(sums.sum(axis=0), counts.sum(axis=0), prior)
    if is_complete:
        codes = [code_cells(cells, by_fold.ravel())] if size <= MAX_CODES else []
        return MeanTargets(by_fold.ravel()[cells], of_levels, codes)
    numbers = np.full(len(known), np.nan)
    numbers[known] = by_fold.ravel()[cells]
    return MeanTargets(numbers, of_levels, [])


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


def _shrunk_means(sums: np.ndarray, counts: np.ndarray, prior: float) -> np.ndarray:
    return np.asarray((sums + PRIOR_WEIGHT * prior) / (counts + PRIOR_WEIGHT))


def is_chance(agreement: float) -> bool:
    """Whether means agree with targets no better than those of names may."""
    return agreement < LEAST_AGREEMENT
