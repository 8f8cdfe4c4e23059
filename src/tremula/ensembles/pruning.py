"""Prunes the trees of a fitted ensemble on validation rows: all at one price of a leaf, or each at a price of its own.

The ensemble given stays as it is; what is returned is an ensemble of the same kind.
"""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tremula.data.several_targets import check_one_target
from tremula.data.target import read_further_target, read_known_classes
from tremula.ensembles.base.ensemble import OOB_ATTRIBUTES, Ensemble, EnsembleClassifier
from tremula.ensembles.cost_complexity import Judges, PricedTree
from tremula.errors import InvalidParameter
from tremula.trees.tree import Tree

Model = TypeVar("Model", bound=Ensemble)


def prune_together(model: Model, X_val: Any, y_val: Any) -> Model:
    """Prune all trees of an ensemble with the cost of a leaf at which the ensemble has the least validation error.

    Parameters
    ----------
    model : fitted ensemble of tremula's trees
        The ensemble; it is not changed.
    X_val : array, data frame or table of shape (n_rows, n_attributes)
        Validation rows, which should not be training rows.
    y_val : array of shape (n_rows,)
        Their classes or values.

    Returns
    -------
    ensemble
        A copy with pruned members. Its `pruned_sequence_` has the costs (`alphas`), the validation error or mean
        squared error of the ensemble at each (`losses`), and the chosen cost (`alpha`); ties go to the higher cost,
        which gives smaller trees. Out-of-bag results such as `oob_score_` are removed.

    Notes
    -----
    Each tree has its own sequence of weakest links, by the training errors (or squared errors) of its own sample. The
    costs of all trees are merged, and all trees are pruned at each of them. Predictions are combined as before, by
    `combine` and by the weights of the members where there are any. With few validation rows many costs tie, and the
    highest of them may give very small trees.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from tremula import BaggingClassifier, CARTClassifier, prune_each, prune_together
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(X, y, random_state=0)
    >>> bagged = BaggingClassifier(CARTClassifier(), n_estimators=25, random_state=0).fit(X, y)
    >>> pruned = prune_together(bagged, X_val, y_val)
    >>> [sum(tree.n_leaves for tree in m.members_) for m in (bagged, pruned, prune_each(bagged, X_val, y_val))]
    [2653, 2563, 1941]
    """
    trees = _priced_trees(model)
    weights = getattr(model, "member_weights_", np.ones(len(trees)))
    sequence = _judges(model, X_val, y_val).judge(trees, weights)
    pruned: Model = _with_members(model, [tree.at(sequence.alpha) for tree in trees])
    pruned.pruned_sequence_ = sequence
    return pruned


def prune_each(model: Model, X_val: Any, y_val: Any) -> Model:
    """Prune each tree of an ensemble with the cost of a leaf at which this tree has the least validation error.

    Parameters
    ----------
    model : fitted ensemble of tremula's trees
        The ensemble; it is not changed.
    X_val : array, data frame or table of shape (n_rows, n_attributes)
        Validation rows, which should not be training rows.
    y_val : array of shape (n_rows,)
        Their classes or values.

    Returns
    -------
    ensemble
        A copy with pruned members. `pruned_sequences_` lists for each tree what `pruned_sequence_` is in
        `prune_together`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from tremula import BaggingClassifier, CARTClassifier, prune_each
    >>> X, y = make_classification(900, random_state=0)
    >>> bagged = BaggingClassifier(CARTClassifier(), n_estimators=10, random_state=0).fit(X[:600], y[:600])
    >>> pruned = prune_each(bagged, X[600:], y[600:])
    >>> len(pruned.pruned_sequences_)
    10
    """
    trees, judges = _priced_trees(model), _judges(model, X_val, y_val)
    sequences = [judges.judge([tree], np.ones(1)) for tree in trees]
    pruned: Model = _with_members(model, [tree.at(sequence.alpha) for tree, sequence in zip(trees, sequences)])
    pruned.pruned_sequences_ = sequences
    return pruned


def _priced_trees(model: Ensemble) -> list[PricedTree]:
    """Return the trees of a fitted ensemble with the prices of their splits."""
    if not isinstance(model, Ensemble):
        raise InvalidParameter(f"model is a {type(model).__name__}: give a fitted ensemble of tremula, such as bagging")
    check_is_fitted(model, "members_")
    check_one_target(model, "pruning on validation rows")
    trees = [member for member in model.members_ if isinstance(member, Tree)]
    if len(trees) < len(model.members_):
        raise InvalidParameter(
            f"the members of model are {type(model.estimators_[0]).__name__}s: only tremula's trees can be pruned; "
            "give the ensemble such an estimator, as CARTClassifier()"
        )
    return [PricedTree.of(tree, isinstance(model, EnsembleClassifier)) for tree in trees]


def _judges(model: Ensemble, X_val: Any, y_val: Any) -> Judges:
    """Return the rows that judge the trees of an ensemble."""
    rows = model._read_table(X_val)
    if not isinstance(model, EnsembleClassifier):
        return Judges(rows, read_further_target(y_val, len(rows)), combine=None)
    return Judges(rows, read_known_classes(y_val, len(rows), model.classes_), model.combine)


def _with_members(model: Ensemble, members: list[Any]) -> Any:
    """Copy an ensemble with other members, without the out-of-bag results of its own."""
    twin = copy(model)
    for name in OOB_ATTRIBUTES:
        twin.__dict__.pop(name, None)
    twin.members_ = members
    return twin
