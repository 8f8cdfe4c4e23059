"""An ensemble as one sum of trees, or as the sum of its members."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tremula.combine import Member
from tremula.data.several_targets import check_one_target
from tremula.errors import UnsupportedModel
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.member_sum import MemberSum, mean_of_members, sum_of_members
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees, sum_of_trees


class TreeSumMixin:
    """Gives an ensemble the methods `as_tree_sum` and `as_member_sum`."""

    members_: list[Member]

    def as_tree_sum(self) -> TreeSum:
        """Return the ensemble as a weighted sum of trees, which smoothing works on.

        Returns
        -------
        TreeSum
            Its `answers` are the predictions of the ensemble, up to rounding. Members that vote are trees whose leaves
            give one class a share of 1; for rows with missing values these may differ from the ensemble, whose trees
            vote by the mixture of the leaves that such a row reaches.

        Raises
        ------
        UnsupportedModel
            The members are not trees: they have linear models in their leaves, are estimators of another kind, or are
            a regressor for each class and vote.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tremula import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> whole = forest.as_tree_sum()
        >>> len(whole.trees), bool(abs(whole.answers(X) - forest.predict_proba(X)).max() < 1e-12)
        (5, True)
        """
        check_is_fitted(self, "members_")
        check_one_target(self, "a sum of trees, which smoothing and explanations need,")
        members: Any = self.members_
        weights = np.asarray(getattr(self, "member_weights_", np.ones(len(members))), dtype=np.float64)
        votes = self._votes()
        if all(hasattr(member, "regressors") for member in members):
            return self._sum_per_class(members, weights, votes)
        self._check_trees(members)
        whole = mean_of_trees(members, weights)
        return whole.with_votes() if votes else whole

    def as_member_sum(self) -> MemberSum:
        """Return the ensemble as the sum of its members, the form that exports write.

        Returns
        -------
        MemberSum
            Its `answers` are the predictions of the ensemble, up to rounding, for rows with missing values too.

        Raises
        ------
        UnsupportedModel
            The members are estimators of another kind than tremula's trees, or a regressor for each class and vote.
        """
        check_is_fitted(self, "members_")
        check_one_target(self, "export")
        members: Any = self.members_
        weights = np.asarray(getattr(self, "member_weights_", np.ones(len(members))), dtype=np.float64)
        votes = self._votes()
        if not all(hasattr(member, "regressors") for member in members):
            self._check_trees(members, (Tree, ModelTree))
            return mean_of_members(members, len(getattr(self, "classes_", [0])), weights, votes)
        trees = [tree for member in members for tree in member.regressors]
        self._check_trees(trees, (Tree, ModelTree))
        self._check_no_votes_per_class(votes)
        n_classes = len(members[0].regressors)
        shares = np.repeat(weights / weights.sum(), n_classes)
        starts = np.tile(np.arange(n_classes), len(members))
        return sum_of_members(trees, shares, n_classes, starts=starts, link="positive")

    def _votes(self) -> bool:
        return getattr(self, "combine", "average") == "vote" and hasattr(self, "classes_")

    def _sum_per_class(self, members: Any, weights: np.ndarray, votes: bool) -> TreeSum:
        """Sum members that have a regression tree for each class."""
        trees = [tree for member in members for tree in member.regressors]
        self._check_trees(trees)
        self._check_no_votes_per_class(votes)
        n_classes = len(members[0].regressors)
        return sum_of_trees(
            trees,
            np.zeros(n_classes),
            "positive",
            outputs=np.tile(np.arange(n_classes), len(members)),
            weights=np.repeat(weights / weights.sum(), n_classes),
            tree_members=np.repeat(np.arange(len(members)), n_classes),
        )

    def _check_no_votes_per_class(self, votes: bool) -> None:
        if votes:
            raise UnsupportedModel(
                f"{type(self).__name__} has a regression tree for each class and combine='vote', and such a vote is no "
                "sum of trees: use combine='average'"
            )

    def _check_trees(self, members: list[Any], kinds: tuple[type, ...] = (Tree,)) -> None:
        """Refuse members that are not trees, by default those with a constant in every leaf."""
        others = [getattr(member, "estimator", member) for member in members if not isinstance(member, kinds)]
        if others:
            expected = "trees of tremula" if ModelTree in kinds else "trees with a constant in every leaf"
            hint = "" if ModelTree in kinds else " other than M5Regressor"
            raise UnsupportedModel(
                f"{type(self).__name__} has members of type {type(others[0]).__name__}, which are not {expected}: "
                f"train it with a tree learner of tremula{hint}"
            )
