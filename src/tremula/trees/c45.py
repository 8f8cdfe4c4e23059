"""C4.5: splits by gain ratio, one branch per level, fractional missing values, and error-based pruning."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.seeds import RandomState
from tremula.trees.columns import Columns
from tremula.trees.criteria import CLASSIFICATION
from tremula.trees.growing import grow_classification_tree
from tremula.trees.learner import TreeClassifier
from tremula.trees.pruning import collapse_useless_splits, normal_estimate, prune_by_error, quinlan_estimate
from tremula.trees.rules import Rules, attributes_to_draw, depth_limit
from tremula.trees.tree import Tree


@storable
@with_parameters(
    random_state="Used where splits or attributes are drawn.",
)
class C45Classifier(TreeClassifier):
    """Decision tree by Quinlan's C4.5.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    classes_ : array
        The class labels.

    Notes
    -----
    A row with a missing value takes every branch, with its weight divided in proportion to the weights of the branches,
    in training and in prediction. A level not seen in training is treated as missing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = C45Classifier().fit(X, y)
    >>> tree.get_n_leaves()
    5
    >>> float(round(tree.score(X, y), 2))
    0.98
    """

    _value_gap: ClassVar[float] = 1e-5
    _impurity = "entropy"

    def __init__(
        self,
        confidence: float | None = 0.25,
        min_weight_leaf: float = 2,
        *,
        release: int | str = 8,
        filter: str | None = "average_gain",
        threshold_criterion: str = "auto",
        threshold_penalty: bool | str = "auto",
        n_best_splits: int = 1,
        subtree_raising: bool = True,
        max_depth: int | None = None,
        max_features: int | float | str | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.confidence = confidence
        self.min_weight_leaf = min_weight_leaf
        self.release = release
        self.filter = filter
        self.threshold_criterion = threshold_criterion
        self.threshold_penalty = threshold_penalty
        self.n_best_splits = n_best_splits
        self.subtree_raising = subtree_raising
        self.max_depth = max_depth
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _draws(self) -> bool:
        return self.n_best_splits > 1 or self.max_features is not None

    def _rules(self, n_attributes: int) -> Rules:
        criterion, penalty = self.threshold_criterion, self.threshold_penalty
        return Rules(
            criterion=CLASSIFICATION["gain_ratio"].code,
            observed_threshold=True,
            n_best=self.n_best_splits,
            n_drawn=attributes_to_draw(self.max_features, n_attributes),
            max_depth=depth_limit(self.max_depth),
            min_split_weight=2.0 * self.min_weight_leaf - 1e-6,
            min_side_weight=self.min_weight_leaf,
            min_side_share=0.1,
            min_branch_weight=self.min_weight_leaf,
            average_gain=self.filter == "average_gain",
            count_cuts=self.release != 1 if penalty == "auto" else bool(penalty),
            cut_by_ratio=self.release == 1 if criterion == "auto" else criterion == "gain_ratio",
            tolerance=1e-6,
        )

    def grow(
        self,
        columns: Columns,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
    ) -> Tree:
        """Grow, collapse and prune a tree from sorted columns, class codes and row weights."""
        n_attributes = columns.n_attributes if attributes is None else len(attributes)
        rules = self._rules(n_attributes)
        grown = grow_classification_tree(columns, codes, n_classes, weights, rules, random, attributes)
        grown = collapse_useless_splits(grown)
        if self.confidence is not None:
            estimate = normal_estimate if self.release == "J48" else quinlan_estimate
            rows = columns.values, columns.n_levels, codes, weights
            grown = prune_by_error(grown, *rows, estimate(self.confidence), self.subtree_raising)
        return Tree.from_node_counts(grown.nodes, grown.statistics, grown.subsets, columns.n_levels, strict=False)
