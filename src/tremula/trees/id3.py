"""ID3: splits by information gain with one branch per level, for nominal attributes only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.data.names import column_label
from tremula.errors import UnsupportedType
from tremula.parameters import Parameter, with_parameters
from tremula.parameters.kinds import anything
from tremula.persistence.registry import storable
from tremula.trees.columns import Columns
from tremula.trees.criteria import CLASSIFICATION
from tremula.trees.growing import grow_classification_tree
from tremula.trees.learner import TreeClassifier
from tremula.trees.rules import ROUNDING, Rules, depth_limit
from tremula.trees.tree import Tree


@storable
@with_parameters(
    categorical_features=Parameter(
        anything('"from_dtype", "all", list or mask'),
        'Which columns are nominal; a numeric column is refused. "all" takes each distinct value of an array as '
        "a level.",
    ),
)
class ID3Classifier(TreeClassifier):
    """Decision tree by Quinlan's ID3, for nominal attributes.

    A node is split by the attribute with the largest information gain, with one branch per level, until its rows have
    one class or no attribute has a gain. There is no pruning.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    classes_ : array
        The class labels.

    Notes
    -----
    A branch without training rows predicts as its parent. A row with a missing value, or a level not seen in training,
    takes every branch in proportion to their weights (Quinlan's ID3 has no rule for either).

    Examples
    --------
    >>> from tremula import ID3Classifier
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "wind": ["no", "yes", "no", "yes"]})
    >>> tree = ID3Classifier().fit(X, ["play", "play", "play", "stay"])
    >>> tree.predict(X)
    array(['play', 'play', 'play', 'stay'], dtype='<U4')
    """

    _impurity = "entropy"

    def __init__(
        self,
        min_weight_split: float = 2,
        max_depth: int | None = None,
        *,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.min_weight_split = min_weight_split
        self.max_depth = max_depth
        self.class_weight = class_weight
        self.categorical_features = categorical_features

    def sort(self, values: np.ndarray, n_levels: np.ndarray) -> Columns:
        """Sort the columns; raise UnsupportedType if one is numeric."""
        numeric = np.flatnonzero((n_levels == 0) & ~np.isnan(values).all(axis=0))
        if len(numeric):
            label = column_label(getattr(self, "feature_names_in_", None), int(numeric[0]))
            raise UnsupportedType(
                f"{label} is numeric, but ID3 splits nominal attributes only: discretise it (for example with "
                "KBinsDiscretizer), name it in categorical_features if its numbers are codes, or use C45Classifier"
            )
        return super().sort(values, n_levels)

    def grow(
        self,
        columns: Columns,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
    ) -> Tree:
        """Grow a tree from sorted columns, class codes and row weights."""
        rules = Rules(
            criterion=CLASSIFICATION["entropy"].code,
            min_split_weight=self.min_weight_split,
            max_depth=depth_limit(self.max_depth),
            min_worth=1e-6,
            tolerance=ROUNDING,
        )
        grown = grow_classification_tree(columns, codes, n_classes, weights, rules, random, attributes)
        return Tree.from_node_counts(grown.nodes, grown.statistics, grown.subsets, columns.n_levels, strict=False)
