"""Whole groups of rows are drawn for each member: rows of one group are never both in the bag and out of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tremula.ensembles.base.training import AllOrNothingFitMixin, as_before_unless_done
from tremula.errors import InvalidParameter
from tremula.perturb.sample import Perturbation


def check_draws_groups(perturbations: Sequence[Perturbation]) -> None:
    """Refuse groups where rows are not drawn, or not drawn by groups."""
    drawing = [each for each in perturbations if each.leaves_rows_out]
    if not drawing:
        raise InvalidParameter(
            "groups were given, but every member is trained on all rows: set bootstrap=True, or give no groups"
        )
    single = [type(each).__name__ for each in drawing if not each.draws_groups]
    if single:
        raise InvalidParameter(
            f"groups were given, but {single[0]} draws rows in its own way: use bootstrap=True (Bootstrap), or give no "
            "groups"
        )


class DrawnGroupsMixin(AllOrNothingFitMixin):
    """Mixin for ensembles that can draw whole groups of rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train the members; an error leaves the ensemble as it was.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        y : array of shape (n_rows,) or (n_rows, n_targets)
            Class labels of any type for a classifier, finite numbers for a regressor. Forests, extra trees and bagging
            of CART trees take several targets.
        sample_weight : array of shape (n_rows,), optional
            Row weights.
        groups : array of shape (n_rows,), optional
            Labels of groups, such as patients. Members draw whole groups, and a row is out of bag for a member if its
            group was not drawn. The ensemble keeps the number of each row's group.

        Returns
        -------
        self
        """
        self._check_parameters()
        with as_before_unless_done(self):
            self._train(X, y, sample_weight, groups)
        return self
