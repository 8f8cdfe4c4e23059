"""CART: binary splits by any criterion, pruned at the weakest link by an alpha, held-out rows or cross-validation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from tremula.parameters import Parameter, with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import LEAF_COST
from tremula.persistence.registry import storable
from tremula.seeds import RandomState
from tremula.trees.best_first import keep_best_splits
from tremula.trees.cart_learner import CARTLearner
from tremula.trees.columns import Columns
from tremula.trees.combinations import check_classes, check_counts, check_medians
from tremula.trees.criteria import CLASSIFICATION, REGRESSION, REGRESSION_NAMES, Criterion
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree, mean_and_variance, node_means, node_predictions, tree_of_means
from tremula.trees.learner import HeldOut, TreeClassifier, TreeRegressor
from tremula.trees.monotonic import keep_order
from tremula.trees.pruning import held_out_errors, held_out_squared_errors, training_errors
from tremula.trees.rules import ROUNDING
from tremula.trees.tree import Tree


@storable
@with_parameters(
    criterion=choice(CLASSIFICATION),
    ccp_alpha=LEAF_COST.format("the training error rate (not of impurity, as in scikit-learn)"),
    random_state="Draws attributes, thresholds and folds.",
)
class CARTClassifier(CARTLearner, TreeClassifier):
    """Decision tree with binary splits, after Breiman, Friedman, Olshen and Stone.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    classes_ : array
        The class labels; of several targets, a list of arrays.
    n_outputs_ : int
        Number of targets.
    ignored_features_ : list of str
        Columns that look like identifiers, which ``nominal="auto"`` leaves out.
    pruned_sequence_ : PrunedSequence
        Costs of a leaf and losses of the subtrees, if `ccp_alpha` was chosen.

    Notes
    -----
    A nominal attribute is split into two sets of levels. With two classes, the levels are ordered by their share of the
    second class, and the best cut in this order is taken; for Gini and entropy no other sets are better. With more
    classes, the levels are ordered by the share of each class in turn, and the best of all these cuts is taken; other
    sets may be better. See `missing` for rows with missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = CARTClassifier(criterion="symmetric_uncertainty", ccp_alpha="cv", random_state=0).fit(X, y)
    >>> tree.get_n_leaves()
    3
    """

    _criteria: ClassVar[dict[str, Criterion]] = CLASSIFICATION

    def __init__(
        self,
        criterion: str = "gini",
        max_depth: int | None = None,
        *,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = None,
        missing: str = "branch",
        nominal: str = "subsets",
        max_leaf_nodes: int | None = None,
        monotonic_cst: Any = None,
        splitter: str = "best",
        ccp_alpha: float | str = 0.0,
        cv: Any = 10,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.missing = missing
        self.nominal = nominal
        self.max_leaf_nodes = max_leaf_nodes
        self.monotonic_cst = monotonic_cst
        self.splitter = splitter
        self.ccp_alpha = ccp_alpha
        self.cv = cv
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
        if codes.ndim == 2:
            return self._grow_for_targets(columns, codes, n_classes, weights, random, attributes)
        check_classes(n_classes, columns.directions)
        self._check_held_out(held_out)
        rules = self._rules(columns, weights, tolerance=ROUNDING)

        def grow_from(row_weights: np.ndarray | None) -> GrownTree:
            grown = grow_classification_tree(columns, codes, n_classes, row_weights, rules, random, attributes)
            return keep_best_splits(grown, self.max_leaf_nodes, self._criterion)

        def as_tree(grown: GrownTree) -> Tree:
            counts = grown.statistics
            tree = Tree.from_node_counts(grown.nodes, counts, grown.subsets, columns.n_levels, strict=False)
            if columns.directions is None:
                return tree
            return keep_order(tree, counts[:, -1] / counts.sum(axis=1), columns.directions)

        def risk(grown: GrownTree) -> np.ndarray:
            return np.asarray(training_errors(grown) / grown.nodes["weight"][0])

        def losses(grown: GrownTree, rows: HeldOut) -> np.ndarray:
            return held_out_errors(as_tree(grown).class_weights(*rows), grown.statistics.argmax(axis=1))

        def folds() -> list[tuple[GrownTree, HeldOut]]:
            return [(grow_from(w), rows) for w, rows in self._folds(columns, codes, weights, codes, random)]

        return as_tree(self._prune(grow_from(weights), risk, losses, folds, held_out))


@storable
@with_parameters(
    criterion=Parameter(
        choice(REGRESSION_NAMES),
        "Measure of the quality of a split: the reduction of the variance, of its fifth root as in Weka's M5', of the "
        "Poisson deviance, for targets of at least 0, or of the absolute error, whose leaves predict medians.",
    ),
    ccp_alpha=LEAF_COST.format("the training mean squared error"),
    random_state="Draws attributes, thresholds and folds.",
)
class CARTRegressor(CARTLearner, TreeRegressor):
    """Regression tree with binary splits, after Breiman, Friedman, Olshen and Stone.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    n_outputs_ : int
        Number of targets.
    ignored_features_ : list of str
        Columns that look like identifiers, which ``nominal="auto"`` leaves out.
    pruned_sequence_ : PrunedSequence
        Costs of a leaf and losses of the subtrees, if `ccp_alpha` was chosen.

    Notes
    -----
    A nominal attribute is split into two sets of levels, ordered by their mean target; the best cut
    of this order is the best of all divisions. See `missing` for rows with missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import CARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> CARTRegressor(max_depth=3).fit(X, y).get_n_leaves()
    8
    """

    _criteria: ClassVar[dict[str, Criterion]] = REGRESSION

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def __init__(
        self,
        criterion: str = "variance",
        max_depth: int | None = None,
        *,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        max_bins: int | None = None,
        missing: str = "branch",
        nominal: str = "subsets",
        max_leaf_nodes: int | None = None,
        monotonic_cst: Any = None,
        splitter: str = "best",
        ccp_alpha: float | str = 0.0,
        cv: Any = 10,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_bins = max_bins
        self.missing = missing
        self.nominal = nominal
        self.max_leaf_nodes = max_leaf_nodes
        self.monotonic_cst = monotonic_cst
        self.splitter = splitter
        self.ccp_alpha = ccp_alpha
        self.cv = cv
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
        if target.ndim == 2:
            return self._grow_for_targets(columns, target, 0, weights, random, attributes)
        self._check_held_out(held_out)
        centre, variance = mean_and_variance(target, weights)
        rules = self._rules(columns, weights, min_variance=1e-13 * variance)

        if self.criterion == "poisson":
            check_counts(target)
            centre = 0.0  # sums of 0 must stay 0
        elif self.criterion == "absolute_error":
            check_medians(self.ccp_alpha, columns)
            # Many cuts leave the same error but for rounding.
            rules = replace(rules, tolerance=ROUNDING * math.sqrt(variance))

        def grow_from(row_weights: np.ndarray | None) -> GrownTree:
            grown = grow_regression_tree(columns, target - centre, row_weights, rules, random, attributes)
            return keep_best_splits(grown, self.max_leaf_nodes, self._criterion)

        def as_tree(grown: GrownTree) -> Tree:
            tree = tree_of_means(grown, grown.statistics, centre, columns.n_levels, strict=False)
            if columns.directions is None:
                return tree
            return keep_order(tree, node_predictions(grown.statistics) + centre, columns.directions)

        def risk(grown: GrownTree) -> np.ndarray:
            weight, total, squares = grown.statistics.T[:3]
            spread = squares - np.divide(total**2, weight, out=np.zeros(len(weight)), where=weight > 0)
            return np.asarray(np.maximum(spread, 0.0) / weight[0])

        def losses(grown: GrownTree, rows: HeldOut) -> np.ndarray:
            moments = as_tree(grown).moments(rows.values, rows.target - centre, rows.weights)
            return held_out_squared_errors(moments, np.nan_to_num(node_means(grown.statistics)))

        def folds() -> list[tuple[GrownTree, HeldOut]]:
            no_groups = np.zeros(columns.n_rows)
            return [(grow_from(w), rows) for w, rows in self._folds(columns, target, weights, no_groups, random)]

        return as_tree(self._prune(grow_from(weights), risk, losses, folds, held_out))
