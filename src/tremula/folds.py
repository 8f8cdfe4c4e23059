"""Random folds of rows in which every class keeps its share.

Two sources of randomness are served: a NumPy generator, from which estimators cut parts inside `fit`, and an integer
seed, with which whole comparisons are cross-validated as scikit-learn does it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


def stratified_order(rows: NDArray[Any], strata: NDArray[Any] | None, random: np.random.Generator) -> NDArray[Any]:
    """Shuffle rows, then bring those of each stratum together.

    Rows at equal distances in this order have the strata in the same shares, up to one row.

    Parameters
    ----------
    rows : int array (n_chosen,)
        Row numbers.
    strata : array (n_rows,) or None
        Class of every row of the table, not only of the chosen ones; None shuffles alone.
    random : Generator

    Examples
    --------
    >>> classes = np.array([0, 1, 0, 1])
    >>> classes[stratified_order(np.arange(4), classes, np.random.default_rng(0))]
    array([0, 0, 1, 1])
    """
    order = random.permutation(rows)
    return order if strata is None else order[np.argsort(strata[order], kind="stable")]


def stratified_parts(
    rows: NDArray[Any], strata: NDArray[Any] | None, n_parts: int, random: np.random.Generator
) -> list[NDArray[Any]]:
    """Cut rows into parts that have the strata in the same shares, up to one row.

    Parameters
    ----------
    rows, strata, random : as for `stratified_order`
    n_parts : int
        With more parts than rows some are empty.

    Returns
    -------
    list of int arrays
        Row numbers of each part, in random order within a stratum.

    Examples
    --------
    >>> classes = np.array([0, 0, 1, 1])
    >>> [classes[part].tolist() for part in stratified_parts(np.arange(4), classes, 2, np.random.default_rng(0))]
    [[0, 1], [0, 1]]
    """
    order = stratified_order(rows, strata, random)
    return [order[number::n_parts] for number in range(n_parts)]


def shuffled_folds(y: Any, n_folds: int, seed: int | None, stratified: bool = True) -> list[Split]:
    """Divide rows into folds with scikit-learn; a class with fewer rows than folds is in some of them only.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Class labels, or numbers.
    n_folds : int
    seed : int or None
    stratified : bool, default=True
        Whether every class keeps its share; for numbers False.

    Returns
    -------
    list of pairs of arrays
        Training rows and test rows of each fold.

    Examples
    --------
    >>> [len(test) for _, test in shuffled_folds(["a"] * 12 + ["b"] * 6, 3, seed=0)]
    [6, 6, 6]
    """
    folds = (StratifiedKFold if stratified else KFold)(n_folds, shuffle=True, random_state=seed)
    with no_warning_of_rare_classes():
        return list(folds.split(np.zeros(len(y)), y))


@contextmanager
def no_warning_of_rare_classes() -> Iterator[None]:
    """Silence scikit-learn's warning of a class with fewer rows than folds, which callers check for themselves."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        yield


def max_folds(y: NDArray[Any], stratified: bool) -> int:
    """Largest number of folds that `shuffled_folds` can make: the rows of the largest class, or all rows.

    Examples
    --------
    >>> max_folds(np.array(["a", "a", "b"]), stratified=True)
    2
    """
    return int(np.unique(y, return_counts=True)[1].max()) if stratified else len(y)
