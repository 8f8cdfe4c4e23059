"""Which attributes a tree may test: numbers of rows are left out unless rows of neighbouring numbers have like targets.

Where the number of a row is a name and no quantity, each split on it fits noise. Nominal columns of names are left out
by `level_numbers`.
"""

from __future__ import annotations

import numpy as np

from tremula.trees.columns import Columns
from tremula.trees.cross_fitting import N_FOLDS, agreement, is_chance, mean_targets

FEWEST_BLOCKS = 8


def without_row_numbers(
    columns: Columns,
    target: np.ndarray,
    weights: np.ndarray,
    n_classes: int,
    random: np.random.Generator,
    attributes: np.ndarray | None,
) -> np.ndarray | None:
    """Return the columns that a tree may test: not those that number the rows and do not go with the target.

    Parameters
    ----------
    columns : Columns
    target : array (n_rows,)
        Codes of classes, or numbers.
    weights : array (n_rows,)
    n_classes : int
        0 for a numeric target.
    random : numpy.random.Generator
        Draws folds, and a class if there are more than two. Not used if no column numbers the rows.
    attributes : int array or None
        The columns that may be tested; None is all. If all of them would be left out, they are kept.
    """
    numbering = columns.numbering if columns.nominal == "auto" else np.empty(0, np.int64)
    if not len(numbering):
        return attributes
    weights = weights.astype(np.float64)
    if n_classes:
        target = target == (1 if n_classes == 2 else random.integers(n_classes))
    folds, weighted = random.integers(N_FOLDS, size=columns.n_rows), weights * target
    left_out = [c for c in numbering if is_chance(_agreement(columns.column(int(c)), weighted, weights, folds))]
    given = np.arange(columns.n_judged) if attributes is None else attributes
    kept = given[~np.isin(given, left_out)].astype(np.int32)
    return kept if 0 < len(kept) < len(given) else attributes


def _agreement(numbers: np.ndarray, weighted: np.ndarray, weights: np.ndarray, folds: np.ndarray) -> float:
    """Return how well rows agree with others of neighbouring numbers, in long or in short blocks of these."""
    n_rows = len(numbers)
    ranks = np.argsort(np.argsort(numbers))
    agreements = []
    for size in (-(-n_rows // FEWEST_BLOCKS), int(np.ceil(np.sqrt(n_rows)))):
        blocks = (ranks // size).astype(np.float64)
        means = mean_targets(blocks, int(blocks.max()) + 1, weighted, weights, folds)
        agreements.append(agreement(means.of_rows, weighted, weights))
    return max(agreements)
