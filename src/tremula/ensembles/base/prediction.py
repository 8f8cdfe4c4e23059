"""Predictions of a fitted ensemble: combined over all members, by member, or after each further member.

A prediction depends neither on the number of rows given at once nor on the number of jobs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tremula.combine import Member, combine_members, largest, staged_means
from tremula.ensembles.base.member import EstimatorMember, PerClassMember
from tremula.parallel import map_row_blocks
from tremula.trees.importances import attribute_importances
from tremula.trees.tree import Tree


def impurity_importances(member: Any, impurity: str, n_attributes: int) -> np.ndarray:
    """Return each attribute's share of the decrease of impurity in a member."""
    if isinstance(member, Tree):
        return attribute_importances(member, impurity)
    if isinstance(member, PerClassMember):
        importances = [impurity_importances(regressor, impurity, n_attributes) for regressor in member.regressors]
        return np.asarray(np.mean(importances, axis=0))
    fitted: EstimatorMember = member
    return fitted.importances(n_attributes)


class PredictionMixin:
    """Predictions that classifiers and regressors have in common."""

    members_: list[Member]
    n_jobs: int | None
    n_features_in_: int
    encoder_: Any

    @abstractmethod
    def _read_table(self, X: Any) -> Any:
        """Check that the ensemble is fitted and return a table as the members take it."""

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

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members_)

    def _stages(self, rows: Any, n_outputs: int, combine: str) -> Iterator[np.ndarray]:
        """Yield the combined prediction of the first member, of the first two, and so on."""
        weights = getattr(self, "member_weights_", None)
        yield from staged_means(self.members_, rows, rows.shape[0], n_outputs, combine, weights)

    def _combined(self, rows: Any, n_outputs: int, combine: str) -> np.ndarray:
        """Combine the members' predictions, for several blocks of rows in parallel."""
        weights = getattr(self, "member_weights_", None)

        def predict(block: Any) -> np.ndarray:
            return combine_members(self.members_, block, block.shape[0], n_outputs, combine, weights)

        return predict(rows) if self.encoder_ is None else map_row_blocks(predict, rows, self.n_jobs)


class ClassifierPredictionMixin(PredictionMixin):
    """Predictions of an ensemble of classifiers."""

    combine: str
    classes_: np.ndarray
    n_classes_: int

    def _as_shares(self, combined: np.ndarray) -> np.ndarray:
        """Turn the members' combined predictions into class distributions; for most ensembles they already are."""
        return combined

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class distribution of each row: the mean of the members' distributions, or the shares of their votes.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._read_table(X)
        return self._as_shares(self._combined(rows, self.n_classes_, self.combine))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row; ties go to the first class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[largest(shares)])

    def predict_members(self, X: Any) -> np.ndarray:
        """Class of each row as each member predicts it.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows)
        """
        rows = self._read_table(X)
        return np.asarray(self.classes_[np.array([member.predict_codes(rows) for member in self.members_])])

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class distribution of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows, n_classes)
        """
        rows = self._read_table(X)
        for combined in self._stages(rows, self.n_classes_, self.combine):
            yield self._as_shares(combined)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Class of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        for shares in self.staged_predict_proba(X):
            yield self.classes_[largest(shares)]


class RegressorPredictionMixin(PredictionMixin):
    """Predictions of an ensemble of regressors."""

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the members' predictions for each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._combined(self._read_table(X), 1, "average")[:, 0]

    def predict_members(self, X: Any) -> np.ndarray:
        """Value of each row as each member predicts it.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows)
        """
        rows = self._read_table(X)
        return np.array([member.predict_values(rows)[:, 0] for member in self.members_])

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Value of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        for values in self._stages(self._read_table(X), 1, "average"):
            yield values[:, 0]
