"""REPTree: a fast tree by information gain or variance, pruned on held-out rows, then refitted with them.

It follows Weka's REPTree. Tests are value < threshold. The best split is searched without a minimum weight; if one of
its branches is too light, the node becomes a leaf.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tremula.folds import stratified_parts
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.seeds import RandomState
from tremula.trees.columns import Columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree, mean_and_variance, node_means, tree_of_means
from tremula.trees.learner import HeldOut, PrunedOnHeldOutRows, TreeClassifier, TreeRegressor
from tremula.trees.pruning import held_out_errors, held_out_squared_errors, prune_by_reduced_error
from tremula.trees.rules import ROUNDING, Rules, attributes_to_draw, depth_limit
from tremula.trees.structure import nearest_reached
from tremula.trees.tree import Tree


class _Division(NamedTuple):
    """The row weights to grow the tree with, and the held-out rows to prune it on, if any."""

    growing_weights: np.ndarray | None
    held_out: HeldOut | None


class _REPTree(PrunedOnHeldOutRows):
    """Base of the two REPTrees: parameters, rules, and the division into growing and held-out rows."""

    min_weight_leaf: float
    prune: bool
    n_folds: int
    backfit: bool
    max_depth: int | None
    max_features: int | float | str | None

    def _draws(self) -> bool:
        return self.prune or self.max_features is not None

    def _rules(self, criterion: int, n_attributes: int, **others: Any) -> Rules:
        return Rules(
            criterion=criterion,
            strict=True,
            n_drawn=attributes_to_draw(self.max_features, n_attributes),
            max_depth=depth_limit(self.max_depth),
            min_split_weight=2.0 * self.min_weight_leaf,
            min_branch_weight=self.min_weight_leaf,
            branch_veto=True,
            spread_missing=True,
            **others,
        )

    def _divide(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        groups: np.ndarray,
        random: np.random.Generator,
        held_out: HeldOut | None,
    ) -> _Division:
        """Hold out the given rows, or else one stratified fold; none if the tree is not pruned."""
        if not self.prune:
            return _Division(weights, None)
        if held_out is not None:
            return _Division(weights, held_out)
        weights = np.ones(columns.n_rows) if weights is None else weights
        fold = stratified_parts(np.flatnonzero(weights > 0), groups, self.n_folds, random)[0]
        growing_weights = weights.copy()
        growing_weights[fold] = 0
        return _Division(growing_weights, HeldOut(columns.values[fold], target[fold], weights[fold]))

    def _prune(
        self, grown: GrownTree, errors: np.ndarray, held_out_statistics: np.ndarray
    ) -> tuple[GrownTree, np.ndarray]:
        """Prune by the errors of the held-out rows; return the tree and its statistics, with these rows if wanted."""
        pruned, origin = prune_by_reduced_error(grown, errors)
        return pruned, pruned.statistics + held_out_statistics[origin] if self.backfit else pruned.statistics


def _predicting_nodes(grown: GrownTree) -> np.ndarray:
    """Return the node whose statistics each node predicts by: itself, or its nearest ancestor with training rows."""
    return nearest_reached(grown.nodes, np.arange(len(grown.nodes)), grown.nodes["weight"] > 0)


@storable
@with_parameters(
    prune="Whether to prune on held-out rows.",
    random_state="Draws the held-out rows, and the attributes if `max_features` is given.",
)
class REPTreeClassifier(_REPTree, TreeClassifier):
    """Decision tree by information gain with reduced-error pruning, after Weka's REPTree.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    classes_ : array
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import REPTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> REPTreeClassifier(random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _impurity = "entropy"

    def __init__(
        self,
        min_weight_leaf: float = 2,
        prune: bool = True,
        *,
        n_folds: int = 3,
        backfit: bool = True,
        max_depth: int | None = None,
        max_features: int | float | str | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.min_weight_leaf = min_weight_leaf
        self.prune = prune
        self.n_folds = n_folds
        self.backfit = backfit
        self.max_depth = max_depth
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state

    def grow(
        self,
        columns: Columns,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
        held_out: HeldOut | None = None,
    ) -> Tree:
        """Grow and prune a tree from sorted columns, class codes and row weights."""
        rules = self._rules(CLASSIFICATION["entropy"].code, columns.n_attributes, min_worth=1e-6, tolerance=ROUNDING)
        weights, held_out = self._divide(columns, codes, weights, codes, random, held_out)
        grown = grow_classification_tree(columns, codes, n_classes, weights, rules, random, attributes)
        tree = Tree.from_node_counts(grown.nodes, grown.statistics, grown.subsets, columns.n_levels, strict=True)
        if held_out is None:
            return tree
        counts = tree.class_weights(*held_out)
        labels = grown.statistics.argmax(axis=1)[_predicting_nodes(grown)]
        pruned, statistics = self._prune(grown, held_out_errors(counts, labels), counts)
        return Tree.from_node_counts(pruned.nodes, statistics, pruned.subsets, columns.n_levels, strict=True)


@storable
@with_parameters(
    prune="Whether to prune on held-out rows.",
    random_state="Draws the held-out rows, and the attributes if `max_features` is given.",
)
class REPTreeRegressor(_REPTree, TreeRegressor):
    """Regression tree by variance with reduced-error pruning, after Weka's REPTree.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import REPTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> REPTreeRegressor(random_state=0).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    _impurity = "variance"

    def __init__(
        self,
        min_weight_leaf: float = 2,
        min_variance_share: float = 0.001,
        *,
        prune: bool = True,
        n_folds: int = 3,
        backfit: bool = True,
        max_depth: int | None = None,
        max_features: int | float | str | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.min_weight_leaf = min_weight_leaf
        self.min_variance_share = min_variance_share
        self.prune = prune
        self.n_folds = n_folds
        self.backfit = backfit
        self.max_depth = max_depth
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.random_state = random_state

    def grow(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
        held_out: HeldOut | None = None,
    ) -> Tree:
        """Grow and prune a tree from sorted columns, a target and row weights."""
        weights, held_out = self._divide(columns, target, weights, np.zeros(columns.n_rows), random, held_out)
        centre, variance = mean_and_variance(target, weights)
        rules = self._rules(
            REGRESSION["variance"].code,
            columns.n_attributes,
            min_worth=1e-10 * variance,
            tolerance=1e-10 * variance,
            min_variance=max(self.min_variance_share, 1e-13) * variance,
        )
        grown = grow_regression_tree(columns, target - centre, weights, rules, random, attributes)
        tree = tree_of_means(grown, grown.statistics, centre, columns.n_levels, strict=True)
        if held_out is None:
            return tree
        moments = tree.moments(held_out.values, held_out.target - centre, held_out.weights)
        means = node_means(grown.statistics)[_predicting_nodes(grown)]
        pruned, statistics = self._prune(grown, held_out_squared_errors(moments, means), moments)
        return tree_of_means(pruned, statistics, centre, columns.n_levels, strict=True)
