"""Shapley values of the predictions of a fitted model, by the training weights of its nodes or by background rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.names import attribute_names
from tremula.errors import InvalidInput, MarginWarning, UnsupportedModel
from tremula.explanations.explanation import Explanation
from tremula.explanations.leaf_factors import LeafFactors, PlainFactors
from tremula.explanations.leaf_games import games_of_sum
from tremula.explanations.model_trees import ModelTreeFactors
from tremula.explanations.shapley_values import ShapleySum
from tremula.explanations.smoothed_factors import smoothed_factors
from tremula.explanations.tree_reader import read_trees
from tremula.parameters import check_jobs
from tremula.smoothing.base import DualPerturb
from tremula.smoothing.models import TreeModel
from tremula.smoothing.shrinkage import find_node_weights, node_means
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.structure import weight_shares
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]


def explain(model: Any, X: Any, *, background: Any = None, n_jobs: int | None = None) -> Explanation:
    """Explain the prediction of each row by Shapley values, one for each attribute.

    Parameters
    ----------
    model : fitted estimator
        A tree or ensemble of tremula whose members are averaged, smoothed or not; a forest, bagging or boosting of
        another library that smoothing can read.
    X : array, data frame or table of shape (n_rows, n_attributes)
        Rows to explain, with missing values if the model takes them.
    background : table of shape (n_background, n_attributes) or None, default=None
        Rows that stand for what is usual. Without it the values are path-dependent, with it interventional; see Notes.
    n_jobs : int or None, default=None
        Number of blocks of rows computed in parallel. The values do not depend on it.

    Returns
    -------
    Explanation
        ``values`` and ``base_values`` of a row sum to its prediction, up to rounding.

    Raises
    ------
    UnsupportedModel
        The model is no sum of trees; or no background is given and the training weights of its nodes are not known.

    Notes
    -----
    A Shapley value is the mean change of the prediction when the attribute becomes known, over all orders in which
    attributes may become known. The two kinds differ in what an unknown attribute does:

    - path-dependent: where it is tested, every branch counts by its share of the training rows (Lundberg et al., 2020);
    - interventional: it has the value of a background row, and the mean over these rows counts. The time is
      proportional to the number of background rows.

    Both are exact. The weight of a leaf is a product with one factor for each attribute on its path: 0 or 1, a share
    where the value is missing, a probability under noise. The Shapley values of a product are the integral of a
    polynomial, which a quadrature of half as many points as the path has attributes gives without error; where all
    factors are 0 or 1, with a background, they are counted.

    A model that applies a link to its sum of trees, as boosting and Aspen for classes do, is explained before the link,
    with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor, explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> explanation = explain(forest, X[:3])
    >>> explanation.values.shape
    (3, 10)
    >>> bool(abs(explanation.sums - forest.predict(X[:3])).max() < 1e-10)
    True
    """
    check_jobs("n_jobs", n_jobs)
    if _has_model_trees(model):
        return _explain_model_trees(model, X, background, n_jobs)
    trees, factors, rows = _read(model, X)
    whole = trees.sum
    shapley = ShapleySum(games_of_sum(whole), factors, whole.n_attributes, whole.n_margins, n_jobs)
    if background is None:
        weights = _node_weights(trees)
        shares = [weight_shares(tree.nodes, each) for tree, each in zip(whole.trees, weights)]
        return _as_explanation(trees, rows, shapley.by_shares(rows, shares), _mean_margins(whole, weights))
    others = _read(model, background)[2]
    return _as_explanation(trees, rows, shapley.by_background(rows, others), factors.margins(others).mean(axis=0))


def _mean_margins(model: TreeSum, node_weights: list[Floats]) -> Floats:
    """Return the margins if no attribute is known."""
    base = model.offset.copy()
    for tree, weight, output, weights in zip(model.trees, model.weights, model.outputs, node_weights):
        base[slice(None) if output < 0 else slice(output, output + 1)] += weight * node_means(tree, weights)[0]
    return base


def _has_model_trees(model: Any) -> bool:
    members = [model.tree_] if hasattr(model, "tree_") else getattr(model, "members_", [])
    return len(members) > 0 and all(isinstance(member, ModelTree) for member in members)


def _explain_model_trees(model: Any, X: Any, background: Any, n_jobs: int | None) -> Explanation:
    """Explain a model tree, or an ensemble that averages such."""
    name = type(model).__name__
    if background is None:
        raise UnsupportedModel(
            f"{name} has linear models in its leaves, and does not know what these give for an unknown attribute: give "
            "background rows, of training for example"
        )
    if hasattr(model, "corrections_"):
        raise UnsupportedModel(f"{name} adds corrections to the mean of its model trees: use a bagging of M5Regressor")
    members = [model.tree_] if hasattr(model, "tree_") else model.members_
    rows, others = (np.ascontiguousarray(model.encoder_.encode(table)) for table in (X, background))
    weights = np.asarray(getattr(model, "member_weights_", np.ones(len(members))))
    factors = ModelTreeFactors(members, weights, np.concatenate([rows, others]))
    n_attributes = rows.shape[1]
    values = ShapleySum(factors.games(), factors, n_attributes, 1, n_jobs).by_background(rows, others)
    base = np.full(len(rows), factors.margins(others).mean())
    names = attribute_names(getattr(model, "feature_names_in_", None), n_attributes)
    return Explanation(values[:, :, 0], base, rows, names)


def _read(model: Any, X: Any) -> tuple[TreeModel, LeafFactors, Floats]:
    """Read a model as trees, the factors of its rows, and rows."""
    if isinstance(model, DualPerturb):
        return smoothed_factors(model, X)
    trees = read_trees(model)
    rows = np.ascontiguousarray(trees.rows(X))
    if trees.no_missing and np.isnan(rows).any():
        raise InvalidInput(f"X contains missing values or unknown levels: {trees.no_missing}. Fill them in first")
    return trees, PlainFactors(trees.sum), rows


def _node_weights(trees: TreeModel) -> list[Floats]:
    try:
        return find_node_weights(trees, None, None, None)[0]
    except InvalidInput as error:
        raise UnsupportedModel(
            f"{trees.name} does not hand over the training weights of its nodes, which path-dependent values need: "
            "give background rows, of training for example"
        ) from error


def _as_explanation(trees: TreeModel, rows: Floats, values: Floats, base: Floats) -> Explanation:
    is_plain = trees.sum.link.is_identity
    if not is_plain:
        warnings.warn(
            f"the margins of {trees.name} are explained, before its link {trees.sum.link.name!r}: they sum to margins, "
            "not to predictions",
            MarginWarning,
            stacklevel=3,
        )
    labels = None
    if trees.classes is not None and len(base) == len(trees.classes):
        labels = tuple(str(label) for label in trees.classes)
    elif len(base) > 1:
        labels = tuple(str(number) for number in range(len(base)))
    base_values = np.tile(base, (len(rows), 1))
    if labels is None:
        values, base_values = values[:, :, 0], base_values[:, 0]
    names = attribute_names(trees.feature_names, trees.n_attributes)
    return Explanation(values, base_values, rows, names, labels, "prediction" if is_plain else "margin")
