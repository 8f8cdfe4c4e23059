"""M5': a tree whose leaves predict by linear models, pruned by an error estimate and smoothed towards the root.

It follows Weka's M5P. Splits reduce the fifth root of the variance, with more than a fifth of the rows on each side.
A node's model has the attributes tested below it. Smoothing mixes the model of a leaf with those of its ancestors.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import tremula._kernels.model_tree as kernel
import tremula._kernels.prune as prune_kernel
import tremula._kernels.route as route
from tremula.data.names import attribute_name
from tremula.errors import ManyLevelsWarning, UnsupportedModel
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.trees.columns import Columns
from tremula.trees.criteria import REGRESSION
from tremula.trees.growing import grow_regression_tree
from tremula.trees.grown_tree import mean_and_variance, node_means
from tremula.trees.identifiers import attributes_to_test
from tremula.trees.learner import TreeRegressor
from tremula.trees.m5.equations import export_equations, model_names
from tremula.trees.m5.linear_models import NodeModels, fit_node_models
from tremula.trees.m5.model_tree import ModelTree, rules_of
from tremula.trees.m5.terms import Terms, has_term_per_level
from tremula.trees.rules import Rules
from tremula.trees.structure import copy_nodes
from tremula.trees.tree import Tree

# Merits that differ by less than this share of the fifth root of the variance are ties, and the first split is taken.
TIE_SHARE = 1e-6
# A model whose error is below this share of the target's standard deviation is not improved further.
MIN_ERROR_SHARE = 1e-5


def as_counts(weights: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return weights as numbers of rows: integer weights unchanged, others in units of their mean.

    Examples
    --------
    >>> as_counts(np.array([2.0, 0.0, 1.0]), 3), as_counts(np.array([0.1, 0.0, 0.3]), 3)
    (array([2., 0., 1.]), array([0.5, 0. , 1.5]))
    """
    if weights is None:
        return np.ones(n_rows)
    counts = np.ascontiguousarray(weights, np.float64)
    if (counts == np.floor(counts)).all():
        return counts
    return np.asarray(counts / counts[counts > 0].mean())


def leaves_of_rows(nodes: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the leaf of each row, -1 for rows of weight 0."""
    leaves = np.empty(len(values), np.int32)
    n_levels = np.zeros(values.shape[1], np.int32)
    route.apply(route.TreeView(nodes, np.empty(0, np.uint8), n_levels, False, np.empty((0, 1))), values, leaves)
    leaves[weights == 0] = -1
    return leaves


@storable
@with_parameters(
    prune="Whether a node becomes a leaf, with its linear model, where its estimated error is no larger than that of "
    "its subtree. Leaves of an unpruned tree hold constants, into which `smoothing` mixes the models above.",
)
class M5Regressor(TreeRegressor):
    """Model tree with linear models in its leaves, after Weka's M5P (M5').

    Attributes
    ----------
    tree_ : ModelTree
        The tree, and the linear models of its leaves.

    See Also
    --------
    REPTreeRegressor : Tree with constants in its leaves, pruned on held-out rows.

    Notes
    -----
    A missing value is replaced by the training mean, or the most common level. A nominal attribute with k levels
    becomes k - 1 numbers of 0 or 1, with its levels sorted by their mean target. There are at most 500 such numbers,
    and at most 100 million in all rows. An attribute with too many levels for that becomes one number, the place of the
    level in that order, and a warning says so: with a number for each, 10,000 levels would take gigabytes and hours.

    References
    ----------
    J. R. Quinlan, "Learning with continuous classes", Australian Joint Conference on Artificial Intelligence, 1992.
    Y. Wang and I. H. Witten, "Inducing model trees for continuous classes", European Conference on Machine Learning,
    1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import M5Regressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> print(M5Regressor().fit(X[["bmi", "bp"]], y).export_text())
    model 1 (442)
    <BLANKLINE>
    model 1: 152.133 + 790.399 * bmi + 402.206 * bp
    >>> M5Regressor(prune=False).fit(X, y).predict(X[:2]).round()
    array([190.,  78.])
    """

    tree_: ModelTree  # type: ignore[assignment]

    _impurity = "variance"

    def __init__(
        self,
        min_samples_split: float = 4,
        min_deviation_share: float = 0.05,
        *,
        prune: bool = True,
        smoothing: float = 15,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.min_samples_split = min_samples_split
        self.min_deviation_share = min_deviation_share
        self.prune = prune
        self.smoothing = smoothing
        self.categorical_features = categorical_features

    def grow(  # type: ignore[override]
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
    ) -> ModelTree:
        """Grow, prune and smooth a model tree from sorted columns, a target and row weights."""
        attributes = attributes_to_test(columns, attributes)
        counts = as_counts(weights, columns.n_rows)
        centre, variance = mean_and_variance(target, counts)
        target = target - centre
        terms = Terms.learn(columns.values, columns.n_levels, target, counts)
        values = terms.evaluate(terms.complete(columns.values))
        used = None if attributes is None else np.flatnonzero(np.isin(terms.attribute, attributes)).astype(np.int32)
        rules = self._rules(variance)
        grown = grow_regression_tree(terms.sort(columns, values), target, counts, rules, random, used)
        nodes, means = grown.nodes, node_means(grown.statistics)
        fitted = fit_node_models(nodes, leaves_of_rows(nodes, values, counts), values, target, counts)
        models = fitted.models
        if self.prune:
            nodes, kept = self._prune(nodes, fitted, variance)
            means, models = means[kept], models[kept]
        if self.smoothing:
            kernel.smooth(nodes, float(self.smoothing), models)
        models[:, -1] += centre
        return ModelTree(rules_of(nodes, means + centre, terms), terms, models[nodes["n_branches"] == 0])

    def sort(self, values: np.ndarray, n_levels: np.ndarray) -> Columns:
        """Sort the columns for `grow`; warn if an attribute has too many levels to have a term for each."""
        crowded = np.flatnonzero(~has_term_per_level(n_levels, len(values)))
        if len(crowded):
            name, count = (
                attribute_name(getattr(self, "feature_names_in_", None), int(crowded[0])),
                n_levels[crowded[0]],
            )
            warnings.warn(
                f"{name} has {count} levels, too many for a term each in the models of M5': it becomes one number, the "
                "place of the level by mean target. Merge levels to have a term for each",
                ManyLevelsWarning,
                stacklevel=2,
            )
        return super().sort(values, n_levels)

    def export_text(self, *, decimals: int | None = 3, max_depth: int | None = None, show_weights: bool = True) -> str:
        """Return the rules as text, one line for each branch, followed by the linear models of the leaves.

        Parameters
        ----------
        decimals : int or None, default=3
            Number of decimals of thresholds and coefficients; None writes every digit.
        max_depth : int, optional
            A deeper split is summarized in one line.
        show_weights : bool, default=True
            Whether leaves show their training weight.
        """
        rules = super().export_text(decimals=decimals, max_depth=max_depth, show_weights=show_weights)
        models = export_equations(self.tree_, self.encoder_.names, self.encoder_.levels, decimals)
        return f"{rules}\n\n{models}"

    def export_sql(self, *, output: str | None = None, missing: str = "shares") -> str:
        """Raise UnsupportedModel, since linear models are not written as SQL.

        Parameters
        ----------
        output, missing
            As for other trees; not used.
        """
        raise UnsupportedModel(
            "M5Regressor has linear models in its leaves, which export_sql does not write: use export_text to read "
            "them, or a tree of constants such as REPTreeRegressor"
        )

    def _exported_tree(self) -> tuple[Tree, Sequence[str] | None]:
        return self.tree_.rules, model_names(self.tree_)

    def _rules(self, variance: float) -> Rules:
        tie = TIE_SHARE * variance**0.2
        return Rules(
            criterion=REGRESSION["fifth_root_variance"].code,
            min_split_weight=self.min_samples_split,
            min_side_fifth=1.0,
            min_worth=-tie,
            tolerance=tie,
            min_variance=max(self.min_deviation_share**2, 1e-13) * variance,
        )

    def _prune(self, nodes: np.ndarray, fitted: NodeModels, variance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the remaining nodes, and their former numbers."""
        is_leaf = np.empty(len(nodes), np.uint8)
        min_error = MIN_ERROR_SHARE * float(np.sqrt(variance))
        kernel.prune(nodes, fitted.squares, fitted.n_terms, min_error, is_leaf)
        nodes = copy_nodes(nodes)
        prune_kernel.make_leaves(nodes, is_leaf)
        kept, origin = np.empty_like(nodes), np.empty(len(nodes), np.int32)
        n_kept = prune_kernel.compact(nodes, kept, origin)
        return copy_nodes(kept[:n_kept]), origin[:n_kept]
