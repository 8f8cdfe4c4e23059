"""`to_sklearn`: a trained model as an estimator of scikit-learn, for tools that know its trees and forests.

An estimator is fitted to a table of zeros, so that scikit-learn itself sets all that it keeps; then its trees are
replaced, in the form in which they are pickled. scikit-learn rounds values to single precision before it compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from tremula.errors import UnsupportedModel
from tremula.export.binary_trees import mixing_attributes
from tremula.export.conversion import binary_tree
from tremula.export.model import ExportedModel, read_exported
from tremula.export.thresholds import ThresholdRounding
from tremula.trees.links import IdentityLink
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import tree_with_values

NO_CHILD, NO_ATTRIBUTE = -1, -2  # of a leaf, as scikit-learn writes them
OTHERS = "export it to ONNX, SQL or a page"

# By whether numbers are predicted and whether missing values are refused: extra trees that take the best split refuse
# them, all others send them down a branch.
TREES = {
    (False, False): DecisionTreeClassifier,
    (False, True): ExtraTreeClassifier,
    (True, False): DecisionTreeRegressor,
    (True, True): ExtraTreeRegressor,
}
FORESTS = {
    (False, False): RandomForestClassifier,
    (False, True): ExtraTreesClassifier,
    (True, False): RandomForestRegressor,
    (True, True): ExtraTreesRegressor,
}


def to_sklearn(model: Any, X: Any = None) -> Any:
    """Return a trained model as an estimator of scikit-learn.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of tremula that tests numbers only.
    X : table, default=None
        Rows, such as those of training, whose values are rounded to single precision, as scikit-learn does. Thresholds
        are then placed so that none of these rows changes sides. Without them, every number of single precision takes
        the branches that tremula sends the same number down.

    Returns
    -------
    estimator
        A tree for a single tree, a forest for members of equal weight, and a voting estimator for other weights. If
        some missing value takes several branches, the trees are `ExtraTreeClassifier` or `ExtraTreeRegressor`, which
        refuse rows with missing values; else they send them down the branches of the model.

    Raises
    ------
    UnsupportedModel
        The model has nominal attributes, model trees or a link (`AspenClassifier`), or is smoothed.
    InvalidInput
        Two values of `X` on different sides of a threshold are the same number in single precision.

    Notes
    -----
    Probabilities are those of the model, up to rounding; of classes with equal probabilities, scikit-learn may predict
    another one. Impurities are those of Gini for classes. For numbers they are not known and are NaN, and so are
    the attribute importances that scikit-learn computes from them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, to_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> other = to_sklearn(forest, X)
    >>> type(other).__module__.split(".")[0], bool(abs(other.predict_proba(X) - forest.predict_proba(X)).max() < 1e-12)
    ('sklearn', True)
    """
    exported = read_exported(model)
    _check(exported)
    rounding = None if X is None else ThresholdRounding.of("float32", exported.encode(X), exported.attributes)
    mixes = mixing_attributes(exported.whole)
    estimator, trees = _fitted(exported, bool(mixes.any()) or bool(exported.no_missing))
    members: Any = exported.whole.members
    for other, member in zip(trees, members):
        other.tree_ = _tree(other.tree_, member, exported, mixes, rounding)
    if exported.has_names:
        voters = trees if isinstance(estimator, VotingClassifier | VotingRegressor) else []
        for named in (estimator, *voters):
            named.feature_names_in_ = np.array(exported.attributes, dtype=object)
    return estimator


def _check(exported: ExportedModel) -> None:
    """Refuse models that estimators of scikit-learn cannot hold."""
    whole, name = exported.whole, exported.name
    nominal = [attribute for attribute, levels in zip(exported.attributes, exported.levels) if levels is not None]
    if nominal:
        raise UnsupportedModel(
            f"{name} has nominal attributes ({nominal[0]!r}), and trees of scikit-learn test numbers only: {OTHERS}"
        )
    if not all(isinstance(member, Tree) for member in whole.members):
        raise UnsupportedModel(
            f"{name} has model trees, and trees of scikit-learn have constants in their leaves: {OTHERS}"
        )
    if not isinstance(whole.link, IdentityLink) or whole.starts.any():
        raise UnsupportedModel(
            f"{name} applies the link {whole.link.name!r} to its sum of trees, which no forest of scikit-learn does: "
            f"{OTHERS}"
        )
    if whole.offset.any() or not np.isclose(whole.weights.sum(), 1.0, rtol=1e-12):
        raise UnsupportedModel(f"{name} is no weighted mean of trees, as forests of scikit-learn are: {OTHERS}")


def _fitted(exported: ExportedModel, refuses_missing: bool) -> tuple[Any, Sequence[Any]]:
    """Return an estimator fitted to zeros, with as many trees as the model has, and these trees."""
    classes, weights = exported.classes, exported.whole.weights
    kind = classes is None, refuses_missing
    tree = TREES[kind](splitter="best")
    estimator: Any = tree
    if np.ptp(weights) > 0:
        named = [(f"tree {number}", TREES[kind](splitter="best")) for number in range(len(weights))]
        settings: dict[str, Any] = {"weights": weights.tolist()} | ({} if classes is None else {"voting": "soft"})
        estimator = (VotingRegressor if classes is None else VotingClassifier)(named, **settings)
    elif len(weights) > 1:
        estimator = FORESTS[kind](n_estimators=len(weights), bootstrap=False)
    target = np.zeros(1) if classes is None else np.array(classes)
    estimator.fit(np.zeros((len(target), exported.whole.n_attributes)), target)
    if classes is not None and estimator.classes_.tolist() != classes:
        raise UnsupportedModel(f"scikit-learn sorts the classes of {exported.name} in another way: use text or numbers")
    if estimator is tree:
        return estimator, [tree]
    for member in estimator.estimators_:
        member.splitter = "best"
    return estimator, estimator.estimators_


def _tree(
    blank: Any, tree: Tree, exported: ExportedModel, mixes: NDArray[np.bool_], rounding: ThresholdRounding | None
) -> Any:
    """Return a tree of scikit-learn's own kind, with the nodes of a tree."""
    if exported.whole.votes:
        tree = tree_with_values(tree, np.eye(tree.n_outputs)[tree.values.argmax(axis=1)])
    binary, splits = binary_tree(tree, tree.n_levels, exported.whole.filling, mixes), np.flatnonzero(~tree.is_leaf)
    values = tree.node_values()
    kind, arguments, state = blank.__reduce__()
    nodes = np.zeros(tree.n_nodes, state["nodes"].dtype)
    nodes["left_child"] = nodes["right_child"] = NO_CHILD
    nodes["feature"] = nodes["threshold"] = NO_ATTRIBUTE
    nodes["left_child"][splits], nodes["right_child"][splits] = tree.first_child[splits], tree.first_child[splits] + 1
    nodes["feature"][splits] = binary.attribute
    nodes["threshold"][splits] = _thresholds(binary.attribute, binary.threshold, tree.strict, rounding)
    nodes["missing_go_to_left"][splits] = binary.missing_left
    nodes["impurity"] = np.nan if exported.classes is None else 1.0 - (values**2).sum(axis=1)
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = np.rint(tree.weight), tree.weight
    replaced = kind(*arguments)
    replaced.__setstate__(
        {**state, "max_depth": tree.depth, "node_count": tree.n_nodes, "nodes": nodes, "values": values[:, None, :]}
    )
    return replaced


def _thresholds(
    attributes: NDArray[np.int64], thresholds: NDArray[np.float64], strict: bool, rounding: ThresholdRounding | None
) -> NDArray[np.float64]:
    """Return thresholds for ``<=``, which compares a number of single with one of double precision."""
    if rounding is None:
        return np.nextafter(thresholds, -np.inf) if strict else thresholds
    rounded = rounding.round(attributes, thresholds, strict)
    return (np.nextafter(rounded, np.float32(-np.inf)) if strict else rounded).astype(np.float64)
