"""How near two rows are to a trained ensemble: how often they meet in a leaf."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

from tremula.errors import InvalidParameter, UnsupportedModel, counted
from tremula.explanations.training_rows import read_training_rows
from tremula.explanations.tree_reader import read_trees
from tremula.parallel import map_members
from tremula.parameters import check_choice, check_jobs
from tremula.trees.leaf_shares import leaf_shares
from tremula.trees.tree import Tree
from tremula.uncertainty.leaf_rows import LeafRows
from tremula.uncertainty.trained_members import ROWS_AT_A_TIME, Floats, TrainedMembers

KINDS = ("plain", "oob", "gap")


def proximity(
    model: Any,
    X: Any,
    Y: Any = None,
    *,
    kind: str = "plain",
    y: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> csr_array:
    """Return how near each row of X is to each row of Y, between 0 and 1.

    Parameters
    ----------
    model : fitted ensemble of trees
        Of tremula, or a forest of scikit-learn.
    X : array, data frame or table of shape (n_rows, n_attributes)
        For "oob" and "gap" the rows of training again, in the same order.
    Y : table of shape (n_other_rows, n_attributes) or None, default=None
        Other rows; None takes those of X. Only for "plain".
    kind : {"plain", "oob", "gap"}, default="plain"
        "plain": share of the trees in which both rows are in the same leaf.
        "oob": the same, among the trees that were trained on neither.
        "gap": weight of each training row in the out-of-bag prediction of each training row (Rhodes, Cutler and Moon,
        2023). It is not symmetric; weighted by it, the training targets give the out-of-bag predictions.
    y : array of shape (n_rows,) or None, default=None
        Targets of the training rows, for "oob" and "gap".
    sample_weight : array of shape (n_rows,) or None, default=None
        Weights of the training rows, if they were given to `fit`.
    n_jobs : int or None, default=None
        Number of trees asked in parallel.

    Returns
    -------
    sparse array of shape (n_rows, n_rows) or (n_rows, n_other_rows)

    Notes
    -----
    A row that a tree divides, since a value is missing, is in several leaves by shares; two rows then meet with the sum
    over leaves of the product of their shares, and the proximity of such a row to itself is below 1.

    Pairs of rows that are never out of bag together have no "oob" proximity. They are given 0, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, proximity
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> near = proximity(forest, X[[0, 1, 100]])
    >>> near.toarray().round(2)
    array([[1.  , 0.99, 0.  ],
           [0.99, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    check_choice("kind", kind, KINDS)
    check_jobs("n_jobs", n_jobs)
    if kind == "plain":
        return _plain(model, X, Y, n_jobs)
    if Y is not None:
        raise InvalidParameter(
            f"kind={kind!r} is for training rows, and Y was given: leave it out, or use kind='plain'"
        )
    if y is None:
        raise InvalidParameter(f"kind={kind!r} needs the training rows: give X and y as they were in fit")
    trained = read_training_rows(model, X, y, sample_weight, n_jobs)
    if not (trained.inbag == 0).any():
        raise UnsupportedModel(
            f"no row is out of bag for any member of {trained.name}, which kind={kind!r} needs: use kind='plain'"
        )
    return _out_of_bag(trained) if kind == "oob" else _gap(trained)


def _plain(model: Any, X: Any, Y: Any, n_jobs: int | None) -> csr_array:
    trees = read_trees(model)
    leaves = _leaves(trees.sum.trees, trees.rows(X), n_jobs)
    others = leaves if Y is None else _leaves(trees.sum.trees, trees.rows(Y), n_jobs)
    return csr_array(leaves @ others.T) / len(trees.sum.trees)


def _leaves(trees: Sequence[Tree], rows: Floats, n_jobs: int | None) -> csr_array:
    """Return the shares of the rows in the leaves of all trees, side by side."""
    shares = map_members(lambda number: leaf_shares(trees[number], rows), len(trees), n_jobs)
    return csr_array(hstack(list(shares), format="csr"))


def _out_of_bag(trained: TrainedMembers) -> csr_array:
    """Return the share of common trees among those that were trained on neither row."""
    is_out = (trained.inbag == 0).astype(np.float64)

    def shares(number: int) -> csr_array:
        tree: Any = trained.members[number]
        return csr_array(diags_array(is_out[number]) @ leaf_shares(tree, trained.table))

    leaves = csr_array(hstack(list(map_members(shares, trained.n_members, trained.n_jobs)), format="csr"))
    meetings = csr_array(leaves @ leaves.T).tocoo()
    rows, columns = meetings.coords
    n_common = np.empty(len(rows))
    for first in range(0, len(rows), 1_000_000):
        part = slice(first, first + 1_000_000)
        n_common[part] = np.einsum("mi,mi->i", is_out[:, rows[part]], is_out[:, columns[part]])
    _warn_of_strangers(is_out)
    return csr_array((meetings.data / n_common, (rows, columns)), shape=meetings.shape)


def _warn_of_strangers(is_out: NDArray[np.float64]) -> None:
    n_rows, n_strangers = is_out.shape[1], 0
    for first in range(0, n_rows, ROWS_AT_A_TIME):
        together = is_out[:, first : first + ROWS_AT_A_TIME].T @ is_out
        n_strangers += int((together == 0).sum())
    if n_strangers:
        warnings.warn(
            f"{counted(n_strangers, 'pair')} of rows are never out of bag together, and their proximity is set to 0: "
            "train more members",
            stacklevel=4,
        )


def _gap(trained: TrainedMembers) -> csr_array:
    """Return the weights of training rows in out-of-bag predictions."""
    scored = trained.scored_rows
    n_unscored = trained.n_rows - len(scored)
    if n_unscored:
        warnings.warn(
            f"{counted(n_unscored, 'row')} out of {trained.n_rows:,} are out of bag for no member, and their "
            "proximities are set to 0: train more members",
            stacklevel=3,
        )
    weights = LeafRows(trained).weights_behind(trained.training_rows(scored), trained.shares_without(scored))
    placed = csr_array((np.ones(len(scored)), (scored, np.arange(len(scored)))), shape=(trained.n_rows, len(scored)))
    return csr_array(placed @ weights)
