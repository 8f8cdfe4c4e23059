"""Combines the predictions of the members of a fitted ensemble: of all, or of the first members.

A prediction depends neither on the number of rows given at once nor on the number of jobs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tremula.combine import combine_members, staged_means
from tremula.ensembles.base.member import EstimatorMember, PerClassMember
from tremula.parallel import map_row_blocks
from tremula.persistence.soundness import require, require_numbers
from tremula.prediction import StagedOutputsMixin
from tremula.trees.combined_trees import combined_trees
from tremula.trees.importances import attribute_importances
from tremula.trees.tree import Tree


def impurity_importances(member: Any, impurity: str, n_attributes: int) -> np.ndarray:
    """Return each attribute's share of the decrease of impurity in a member."""
    if isinstance(member, Tree):
        if not impurity:
            raise AttributeError(
                "feature_importances_ needs the impurity that the trees were grown by, and the parameter estimator "
                "names none: set the estimator that the ensemble was fitted with"
            )
        return attribute_importances(member, impurity)
    if isinstance(member, PerClassMember):
        importances = [impurity_importances(regressor, impurity, n_attributes) for regressor in member.regressors]
        return np.asarray(np.mean(importances, axis=0))
    fitted: EstimatorMember = member
    return fitted.importances(n_attributes)


def check_members(members: list[Any], weights: np.ndarray | None, n_levels: np.ndarray | None, n_outputs: int) -> None:
    """Raise ValueError unless members from a file belong to an ensemble with these levels and outputs."""
    for member in members:
        member.check_fits(n_levels, n_outputs)
    check_weights(np.ones(len(members)) if weights is None else weights, len(members))


def check_weights(weights: np.ndarray, n_members: int) -> None:
    """Raise ValueError unless members from a file have weights, of which one at least is positive."""
    require_numbers("member_weights_", weights, (n_members,), low=0.0)
    require(0.0 < weights.sum() < np.inf, "no member has a weight")


class CombinedPredictionMixin(StagedOutputsMixin):
    """Combines the predictions of the members, and their importances."""

    combine: str
    n_jobs: int | None
    n_features_in_: int
    encoder_: Any
    member_weights_: np.ndarray

    def _check_stored(self) -> None:
        n_levels = None if self.encoder_ is None else self.encoder_.n_levels
        check_members(self.members_, getattr(self, "member_weights_", None), n_levels, self._n_outputs)
        for member in self.members_:
            attributes = getattr(member, "attributes", None)
            is_inside = attributes is None or len(attributes) == 0 or attributes.max() < self.n_features_in_
            require(is_inside, "a member has other columns")
            estimator = getattr(member, "estimator", None)
            n_columns = self.n_features_in_ if attributes is None else len(attributes)
            require(estimator is None or estimator.n_features_in_ == n_columns, "a member has other columns")

    @abstractmethod
    def _member_estimator(self) -> BaseEstimator:
        """Return a new, unfitted copy of the members' estimator."""

    @property
    def estimators_(self) -> list[Any]:
        """The members: trees, or fitted estimators."""
        check_is_fitted(self, "members_")
        return [getattr(member, "estimator", member) for member in self.members_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean over the members of each attribute's share of the decrease of impurity."""
        check_is_fitted(self, "members_")
        weights = getattr(self, "member_weights_", None)
        impurity = getattr(self._member_estimator(), "_impurity", "")
        importances = [impurity_importances(member, impurity, self.n_features_in_) for member in self.members_]
        return np.average(importances, axis=0, weights=weights)

    @property
    def split_shares_(self) -> np.ndarray:
        """Share of the members that split on each attribute: about 0 if it was left out as an identifier."""
        check_is_fitted(self, "members_")
        rules = [getattr(member, "rules", member) for member in self.members_]
        trees = [tree for tree in rules if isinstance(tree, Tree)]
        if len(trees) < len(rules):
            raise AttributeError("split_shares_ needs members that are trees of tremula, or model trees")
        splits = [np.unique(tree.nodes["attribute"][tree.nodes["n_branches"] > 0]) for tree in trees]
        return np.bincount(np.concatenate(splits), minlength=self.n_features_in_) / len(trees)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members_)

    def _as_outputs(self, combined: np.ndarray) -> np.ndarray:
        """Turn the members' combined predictions into those of the ensemble; for most ensembles they already are."""
        return combined

    def _staged_outputs(self, rows: Any) -> Iterator[np.ndarray]:
        weights = getattr(self, "member_weights_", None)
        stages = staged_means(self.members_, rows, rows.shape[0], self._n_outputs, self.combine, weights)
        return map(self._as_outputs, stages)

    def _predict_outputs(self, rows: Any) -> np.ndarray:
        """Combine the members' predictions, for several blocks of rows in parallel."""
        weights = getattr(self, "member_weights_", None)
        if self.encoder_ is None:
            n_rows = rows.shape[0]
            combined = combine_members(self.members_, rows, n_rows, self._n_outputs, self.combine, weights)
        else:
            trees = combined_trees(self, self.members_, self._n_outputs, self.combine)
            trees.expect(len(rows))
            combined = map_row_blocks(lambda block: trees.means(block, weights), rows, self.n_jobs)
        return self._as_outputs(combined)
