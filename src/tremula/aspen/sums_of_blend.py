"""A fitted blend as sums of trees, the forms that smoothing and exports work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tremula.aspen.missing_values import Filling
from tremula.aspen.tree_sum import member_sum_of_blend, tree_sum_of_blend
from tremula.combine import Member
from tremula.data.encoding import ColumnEncoder
from tremula.trees.member_sum import MemberSum
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum


class BlendSumsMixin:
    """Sums of the members and corrections of a blend."""

    members_: list[Member]
    member_weights_: np.ndarray
    corrections_: list[Tree]
    encoder_: ColumnEncoder
    _filling: Filling
    _task: Any

    def as_tree_sum(self) -> TreeSum:
        """Return the blend as a weighted sum of trees with the link that calibrates it, which smoothing works on.

        Returns
        -------
        TreeSum
            Its `answers` are the predictions, up to rounding. The link is applied to expected margins: the mean class
            probabilities of the members, and the corrections of their logarithms.

        Raises
        ------
        UnsupportedModel
            The blend has model trees, whose leaves hold linear models.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tremula import AspenClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = AspenClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> bool(abs(model.as_tree_sum().answers(X) - model.predict_proba(X)).max() < 1e-12)
        True
        """
        check_is_fitted(self, "members_")
        parts = self.members_, self.member_weights_, self.corrections_
        return tree_sum_of_blend(*parts, self._filling, self.encoder_.n_levels, self._task())

    def as_member_sum(self) -> MemberSum:
        """Return the blend as the sum of its members and corrections, the form that exports write.

        Returns
        -------
        MemberSum
            Its `answers` are the predictions, up to rounding; model trees are members like others.
        """
        check_is_fitted(self, "members_")
        members: Any = self.members_
        return member_sum_of_blend(
            members, self.member_weights_, self.corrections_, self._filling, self.encoder_.n_levels, self._task()
        )
