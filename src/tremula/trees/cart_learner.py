"""What the CART classifier and regressor share: the rules of growing, several targets, and the choice of a subtree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv

from tremula.errors import InvalidParameter
from tremula.folds import stratified_parts
from tremula.trees.best_first import keep_best_splits
from tremula.trees.columns import Columns
from tremula.trees.combinations import (
    check_bins,
    check_counts,
    check_targets,
    way_of_levels,
    why_one_target,
)
from tremula.trees.criteria import Criterion, find_criterion
from tremula.trees.growing_coded import SPARSE_CRITERIA
from tremula.trees.growing_several import grow_for_targets, impurities_of_targets, output_means, prune_for_targets
from tremula.trees.grown_tree import GrownTree
from tremula.trees.identifiers import IgnoredFeaturesMixin
from tremula.trees.learner import HeldOut, PrunedOnHeldOutRows
from tremula.trees.monotonic import read_directions
from tremula.trees.pruning import cut_at, subtree_losses, weakest_link_alphas
from tremula.trees.rules import ROUNDING, Rules, attributes_to_draw, depth_limit
from tremula.trees.subtree_choice import PrunedSequence, choose_alpha, cross_validated_losses
from tremula.trees.tree import Tree

# Members of an ensemble usually have the same rules, which take longer to make than to look up.
_shared_rules = lru_cache(maxsize=64, typed=True)(Rules)


def minimum_weight(limit: float, trivial: float, weights: np.ndarray | None) -> float:
    """Return a minimum number of rows as a minimum weight.

    Integer weights count rows. With other weights, a row has the mean weight, and a limit of at most `trivial` rows,
    which every split meets, becomes 0.

    Examples
    --------
    >>> minimum_weight(5, 1, np.array([1.0, 0.0, 2.0])), minimum_weight(5, 1, np.array([0.1, 0.0, 0.3]))
    (5, 1.0)
    """
    if weights is None or weights.dtype.kind in "iu" or bool((weights == np.floor(weights)).all()):
        return limit
    return limit * float(weights[weights > 0].mean()) if limit > trivial else 0.0


class CARTLearner(IgnoredFeaturesMixin, PrunedOnHeldOutRows):
    """Base of the classifier and the regressor: rules of growing, folds, and the choice of a subtree."""

    criterion: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: int | float | str | None
    max_bins: int | None
    missing: str
    nominal: str
    max_leaf_nodes: int | None
    monotonic_cst: Any
    splitter: str
    ccp_alpha: float | str
    cv: Any
    pruned_sequence_: PrunedSequence

    _criteria: ClassVar[dict[str, Criterion]]
    _takes_several_targets = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not why_one_target(
            self.criterion, self.max_bins, self.ccp_alpha, self.monotonic_cst is not None
        )
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    @property
    def _criterion(self) -> Criterion:
        return find_criterion(self.criterion, self._criteria)

    @property
    def _impurity(self) -> str:  # type: ignore[override]
        return self._criterion.impurity

    def _grows_once(self) -> bool:
        return self.ccp_alpha != "cv"

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return self.monotonic_cst is None and self.criterion in SPARSE_CRITERIA

    def sort(self, values: Any, n_levels: np.ndarray) -> Columns:
        """Return the columns for `grow`."""
        columns = super().sort(values, n_levels)
        directions = read_directions(self.monotonic_cst, n_levels, getattr(self, "feature_names_in_", None))
        way = way_of_levels(self.nominal, self.criterion, n_levels, directions)
        check_bins(self.max_bins, way, directions)
        return replace(
            columns,
            max_bins=self.max_bins,
            has_missing_branch=self.missing == "branch",
            nominal=way,
            directions=directions,
        )

    def _to_test(self, columns: Columns, target: np.ndarray, weights: np.ndarray | None, n_classes: int) -> Columns:
        self.ignored_features_ = []
        if columns.nominal != "auto":
            return columns
        return self._ignore_identifiers(columns, target, weights, n_classes)

    def _draws(self) -> bool:
        return (
            self.ccp_alpha == "cv"
            or self.max_features is not None
            or self.splitter == "random"
            or self.nominal in ("auto", "statistics")
        )

    def _rules(self, columns: Columns, weights: np.ndarray | None, **others: Any) -> Rules:
        lightest_side = minimum_weight(self.min_samples_leaf, 1, weights)
        if self.min_weight_fraction_leaf:
            total = columns.n_rows if weights is None else float(weights.sum())
            lightest_side = max(lightest_side, self.min_weight_fraction_leaf * total * (1 - 1e-12))
        return _shared_rules(
            criterion=find_criterion(self.criterion, self._criteria).code,
            subsets=True,
            one_level=columns.nominal == "one_vs_rest",
            random_threshold=self.splitter == "random",
            n_drawn=attributes_to_draw(self.max_features, columns.n_attributes),
            max_depth=depth_limit(self.max_depth),
            min_split_weight=minimum_weight(self.min_samples_split, 2, weights),
            min_side_weight=lightest_side,
            **others,
        )

    def _grow_for_targets(
        self,
        columns: Columns,
        target: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None,
    ) -> Tree:
        """Grow and prune one tree for several targets; classes are given as outputs."""
        check_targets(self.criterion, self.max_bins, self.ccp_alpha, columns.directions)
        rules = self._rules(columns, weights, tolerance=ROUNDING if n_classes else 0.0)
        centre = np.zeros(n_classes or target.shape[1])
        if self.criterion == "poisson":
            for column in target.T:
                check_counts(column)
        elif not n_classes:
            centre = np.average(target, axis=0, weights=weights)
            target = target - centre
        grown = grow_for_targets(columns, target, n_classes, weights, rules, random, attributes)
        impurities = partial(impurities_of_targets, len(centre))
        grown = keep_best_splits(grown, self.max_leaf_nodes, self._criterion, impurities)
        grown = prune_for_targets(grown, target, n_classes, float(self.ccp_alpha))
        means = output_means(grown.statistics, len(centre)) + centre
        return Tree.from_node_means(grown.nodes, means, grown.subsets, columns.n_levels, strict=False)

    def _check_held_out(self, held_out: HeldOut | None) -> None:
        if held_out is not None and self.ccp_alpha != "validation":
            raise InvalidParameter(
                f"X_val and y_val were given, but ccp_alpha={self.ccp_alpha!r} does not use them: set "
                "ccp_alpha='validation' to choose the subtree on them"
            )
        if held_out is None and self.ccp_alpha == "validation":
            raise InvalidParameter("ccp_alpha='validation' needs held-out rows: give X_val and y_val to fit")

    def _folds(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        groups: np.ndarray,
        random: np.random.Generator,
    ) -> list[tuple[np.ndarray, HeldOut]]:
        """Return for each fold the row weights to grow a tree with, and the held-out rows."""
        weights = np.ones(columns.n_rows) if weights is None else weights
        folds = []
        for train, test in self._split_rows(columns, target, weights, groups, random):
            growing_weights = np.zeros(columns.n_rows)
            growing_weights[train] = weights[train]
            if growing_weights.any():
                folds.append((growing_weights, HeldOut(columns.values[test], target[test], weights[test])))
        return folds

    def _split_rows(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray,
        groups: np.ndarray,
        random: np.random.Generator,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the training and the held-out rows of each fold: stratified, or by the given splitter."""
        if not isinstance(self.cv, Integral):
            return list(check_cv(self.cv).split(columns.values, target))
        rows = np.flatnonzero(weights > 0)
        parts = stratified_parts(rows, groups, min(int(self.cv), len(rows)), random)
        return [(np.setdiff1d(rows, part), part) for part in parts]

    def _prune(
        self,
        grown: GrownTree,
        risk: Callable[[GrownTree], np.ndarray],
        losses: Callable[[GrownTree, HeldOut], np.ndarray],
        folds: Callable[[], list[tuple[GrownTree, HeldOut]]],
        held_out: HeldOut | None,
    ) -> GrownTree:
        """Prune the tree by the given alpha, or by the one that held-out rows or cross-validation choose."""
        if not isinstance(self.ccp_alpha, str) and self.ccp_alpha == 0.0:
            return grown
        node_alphas = weakest_link_alphas(grown.nodes, risk(grown))
        if held_out is not None:
            alphas, totals = subtree_losses(grown.nodes, node_alphas, losses(grown, held_out))
            self.pruned_sequence_ = choose_alpha(alphas, totals / held_out.weights.sum())
            alpha = self.pruned_sequence_.alpha
        elif self.ccp_alpha == "cv":
            alphas = np.union1d([0.0], node_alphas[np.isfinite(node_alphas)])
            self.pruned_sequence_ = choose_alpha(alphas, cross_validated_losses(alphas, risk, losses, folds()))
            alpha = self.pruned_sequence_.alpha
        else:
            alpha = float(self.ccp_alpha)
        return cut_at(grown, (node_alphas <= alpha) & (grown.nodes["n_branches"] > 0))
