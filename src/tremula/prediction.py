"""The methods `predict`, `predict_proba` and their staged forms, written once for all estimators of tremula.

An estimator reads a table by `_read_table` and gives all its outputs by `_predict_outputs`: class probabilities, or one
column of values. An ensemble adds `_staged_outputs`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from tremula.combine import Member, largest
from tremula.persistence.soundness import require, require_labels


class OutputsMixin:
    """What predictions are made of."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of columns of the outputs."""

    @abstractmethod
    def _read_table(self, X: Any) -> Any:
        """Check that the estimator is fitted and return the rows to predict."""

    @abstractmethod
    def _predict_outputs(self, rows: Any) -> np.ndarray:
        """Return the outputs of each row, of shape (n_rows, n_outputs)."""


class StagedOutputsMixin(OutputsMixin):
    """What the predictions of an ensemble are made of."""

    members_: list[Member]

    @abstractmethod
    def _staged_outputs(self, rows: Any) -> Iterator[np.ndarray]:
        """Yield the outputs of the first member, of the first two, and so on."""


class ClassPredictionMixin(OutputsMixin):
    """Predictions of a classifier."""

    classes_: np.ndarray
    n_classes_: int

    def _check_stored(self) -> None:
        require_labels("classes", self.classes_, sortable=True)
        require(len(self.classes_) > 0, "there are no classes")
        require(getattr(self, "n_classes_", len(self.classes_)) == len(self.classes_), "n_classes_ is wrong")

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _predict_codes(self, rows: Any) -> np.ndarray:
        return largest(self._predict_outputs(rows))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the class probabilities of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        rows = self._read_table(X)
        return self._predict_outputs(rows)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row; ties go to the first class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = self._read_table(X)
        return np.asarray(self.classes_[self._predict_codes(rows)])


class NumberPredictionMixin(OutputsMixin):
    """Predictions of a regressor."""

    @property
    def _n_outputs(self) -> int:
        return 1

    def predict(self, X: Any) -> np.ndarray:
        """Predict the value of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = self._read_table(X)
        return self._predict_outputs(rows)[:, 0]


class StagedClassPredictionMixin(ClassPredictionMixin, StagedOutputsMixin):
    """Predictions of an ensemble of classifiers: of all members, of each, or after each further member."""

    def predict_members(self, X: Any) -> np.ndarray:
        """Predict the class of each row with each member.

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
        """Yield the class probabilities of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows, n_classes)
        """
        rows = self._read_table(X)
        yield from self._staged_outputs(rows)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the class of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[largest(probabilities)]


class StagedNumberPredictionMixin(NumberPredictionMixin, StagedOutputsMixin):
    """Predictions of an ensemble of regressors: of all members, of each, or after each further member."""

    def predict_members(self, X: Any) -> np.ndarray:
        """Predict the value of each row with each member.

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
        """Yield the value of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        rows = self._read_table(X)
        for values in self._staged_outputs(rows):
            yield values[:, 0]
