"""Which training rows made a prediction, and with which weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from tremula.errors import UnsupportedModel
from tremula.explanations.smoothed_factors import SmoothedFactors, smoothed_factors
from tremula.explanations.training_rows import read_training_rows, targets_in_columns
from tremula.smoothing.base import DualPerturb
from tremula.uncertainty.leaf_rows import LeafRows
from tremula.uncertainty.trained_members import ROWS_AT_A_TIME, Floats, TrainedMembers, row_blocks

TOLERANCE = 1e-9  # of the magnitude of the targets, by which weighted targets may differ from predictions


def row_weights(
    model: Any, X: Any, *, X_train: Any, y_train: Any, sample_weight: Any = None, n_jobs: int | None = None
) -> csr_array:
    """Return the weight of every training row in the prediction of each row.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of trees whose predictions are averaged, of tremula or a forest of scikit-learn; smoothed
        or not.
    X : array, data frame or table of shape (n_rows, n_attributes)
        Rows to predict.
    X_train : table of shape (n_training_rows, n_attributes)
        The rows of training again, in the same order: a model does not store them.
    y_train : array of shape (n_training_rows,)
        Their targets.
    sample_weight : array of shape (n_training_rows,) or None, default=None
        Their weights, if they were given to `fit`.
    n_jobs : int or None, default=None
        Number of members asked in parallel.

    Returns
    -------
    sparse array of shape (n_rows, n_training_rows)
        The weights of a row are at least 0 and sum to 1. The weighted mean of the training targets is the prediction;
        for classes, the weighted share of each class is its probability.

    Raises
    ------
    UnsupportedModel
        The weights do not reproduce the predictions, as for votes, smeared targets, boosting and model trees.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor, row_weights
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X[:400], y[:400])
    >>> weights = row_weights(forest, X[400:], X_train=X[:400], y_train=y[:400])
    >>> bool(abs(weights @ y[:400] - forest.predict(X[400:])).max() < 1e-10)
    True
    """
    if isinstance(model, DualPerturb):
        return _smoothed_weights(model, X, X_train, y_train, sample_weight, n_jobs)
    trained = read_training_rows(model, X_train, y_train, sample_weight, n_jobs)
    leaves, blocks = LeafRows(trained), []
    for block in row_blocks(trained.read(X), ROWS_AT_A_TIME):
        blocks.append(leaves.weights_behind(block, trained.shares_of_all(block.shape[0])))
        _check_predictions(trained, blocks[-1], trained.outputs(block))
    return csr_array(vstack(blocks, format="csr"))


def _smoothed_weights(
    model: DualPerturb, X: Any, X_train: Any, y_train: Any, sample_weight: Any, n_jobs: int | None
) -> csr_array:
    """Return the weights of training rows in smoothed predictions: each leaf counts by its probability under noise."""
    trees, factors, rows = smoothed_factors(model, X)
    trained = read_training_rows(model.estimator_, X_train, y_train, sample_weight, n_jobs)
    if [tree.n_nodes for tree in trees.sum.trees] != [getattr(each, "n_nodes", 0) for each in trained.members]:
        raise UnsupportedModel(f"{trained.name} is not smoothed tree by tree, so its training rows are not known")
    if not isinstance(factors, SmoothedFactors):
        given = {"X_train": X_train, "y_train": y_train, "sample_weight": sample_weight, "n_jobs": n_jobs}
        return row_weights(model.estimator_, X, **given)
    leaves, blocks = LeafRows(trained), []
    for block in row_blocks(rows, ROWS_AT_A_TIME):
        shares = [
            weight * factors.leaf_probabilities(number, block)
            for number, weight in enumerate(trained.shares_of_all(1)[:, 0])
        ]
        blocks.append(leaves.rows_in(shares))
        _check_predictions(trained, blocks[-1], trees.sum.link.answers(factors.margins(block)))
    return csr_array(vstack(blocks, format="csr"))


def _check_predictions(trained: TrainedMembers, weights: csr_array, outputs: Floats) -> None:
    """Refuse weights that do not reproduce the predictions."""
    if not len(outputs):
        return
    targets = targets_in_columns(trained)
    difference = float(np.abs(weights @ targets - outputs).max())
    if difference > TOLERANCE * max(1.0, float(np.abs(targets).max())):
        raise UnsupportedModel(
            f"the predictions of {trained.name} are no weighted means of the training targets (they differ by up to "
            f"{difference:.3g}): use an ensemble that averages trees (combine='average') trained on the targets "
            "themselves, and give the rows of fit again"
        )
