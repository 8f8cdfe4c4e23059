"""The methods `predict`, `predict_proba` and their staged forms, written once for all estimators of tremula.

An estimator reads a table by `_read_table` and gives all its outputs by `_predict_outputs`: class probabilities, or one
column of values; for several targets, the outputs of one target after the other. An ensemble adds `_staged_outputs`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tremula.combine import Member, largest, largest_of_each, split_outputs
from tremula.persistence.soundness import require, require_labels


def labels_of_codes(classes: Any, codes: np.ndarray) -> np.ndarray:
    """Return the labels of class codes; of several targets, of outputs (n_rows, n_targets)."""
    if not isinstance(classes, list):
        return np.asarray(classes[codes])
    starts = np.cumsum([0, *(len(labels) for labels in classes[:-1])])
    has_words = {labels.dtype.kind in "USO" for labels in classes}
    columns = [labels[column] for labels, column in zip(classes, (codes - starts).T)]
    return np.column_stack([column.astype(object) for column in columns] if len(has_words) > 1 else columns)


def labels_of(classes: Any, outputs: np.ndarray) -> np.ndarray:
    """Return the most probable class of each row; of several targets, whose classes are a list, a column for each.

    Examples
    --------
    >>> labels_of([np.array([3, 4]), np.array([7, 8, 9])], np.array([[0.4, 0.6, 0.5, 0.2, 0.3]]))
    array([[4, 7]])
    """
    if not isinstance(classes, list):
        return np.asarray(classes[largest(outputs)])
    n_classes = [len(labels) for labels in classes]
    return labels_of_codes(classes, largest_of_each(outputs, n_classes) + np.cumsum([0, *n_classes[:-1]]))


def by_target(classes: Any, outputs: np.ndarray) -> Any:
    """Return class probabilities, of several targets as a list."""
    return split_outputs(outputs, [len(each) for each in classes]) if isinstance(classes, list) else outputs


def numbers_of(outputs: np.ndarray) -> np.ndarray:
    """Return one number for each row; of several targets, a column for each."""
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


class OutputsMixin:
    """What predictions are made of."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Number of columns of the outputs."""

    @abstractmethod
    def _read_table(self, X: Any) -> Any:
        """Check that the estimator is fitted and return the rows to predict."""

    def _read_rows(self, X: Any) -> Any:
        """Return the rows to predict, of a dense or a sparse table."""
        if type(X) is np.ndarray or not issparse(X):  # the first is quicker to tell
            return self._read_table(X)
        return self._read_sparse_table(X)

    def _read_sparse_table(self, X: Any) -> Any:
        """Read a sparse table; estimators that predict such tables override this."""
        return self._read_table(X)

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

    # An array and a number; of several targets, a list of each.
    classes_: Any
    n_classes_: Any

    def _check_stored(self) -> None:
        several = isinstance(self.classes_, list)
        require(not several or len(self.classes_) > 1, "there are no targets")
        for classes in self.classes_ if several else [self.classes_]:
            require(isinstance(classes, np.ndarray), "classes are no array")
            require_labels("classes", classes, sortable=True)
            require(len(classes) > 0, "there are no classes")
        counts = [len(each) for each in self.classes_] if several else len(self.classes_)
        require(getattr(self, "n_classes_", counts) == counts, "n_classes_ is wrong")

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        return len(self.classes_) if isinstance(self.classes_, list) else 1

    @property
    def _n_outputs(self) -> int:
        return sum(map(len, self.classes_)) if isinstance(self.classes_, list) else len(self.classes_)

    def _predict_codes(self, rows: Any) -> np.ndarray:
        return largest(self._predict_outputs(rows))

    def predict_proba(self, X: Any) -> Any:
        """Predict the class probabilities of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`; a list of such arrays if there are several targets.
        """
        rows = self._read_rows(X)
        return by_target(self.classes_, self._predict_outputs(rows))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each row; ties go to the first class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_targets)
        """
        rows = self._read_rows(X)
        if isinstance(self.classes_, list):
            return labels_of(self.classes_, self._predict_outputs(rows))
        return np.asarray(self.classes_[self._predict_codes(rows)])


class NumberPredictionMixin(OutputsMixin):
    """Predictions of a regressor."""

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        check_is_fitted(self)
        return self._n_outputs

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
        array of shape (n_rows,) or (n_rows, n_targets)
        """
        rows = self._read_rows(X)
        return numbers_of(self._predict_outputs(rows))


class StagedClassPredictionMixin(ClassPredictionMixin, StagedOutputsMixin):
    """Predictions of an ensemble of classifiers: of all members, of each, or after each further member."""

    def predict_members(self, X: Any) -> np.ndarray:
        """Predict the class of each row with each member.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows) or (n_members, n_rows, n_targets)
        """
        rows = self._read_rows(X)
        if isinstance(self.classes_, list):
            return np.array([labels_of(self.classes_, member.predict_values(rows)) for member in self.members_])
        return np.asarray(self.classes_[np.array([member.predict_codes(rows) for member in self.members_])])

    def staged_predict_proba(self, X: Any) -> Iterator[Any]:
        """Yield the class probabilities of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows, n_classes)
            A list of such arrays if there are several targets.
        """
        rows = self._read_rows(X)
        for outputs in self._staged_outputs(rows):
            yield by_target(self.classes_, outputs)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the class of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,) or (n_rows, n_targets)
        """
        rows = self._read_rows(X)
        for outputs in self._staged_outputs(rows):
            yield labels_of(self.classes_, outputs)


class StagedNumberPredictionMixin(NumberPredictionMixin, StagedOutputsMixin):
    """Predictions of an ensemble of regressors: of all members, of each, or after each further member."""

    def predict_members(self, X: Any) -> np.ndarray:
        """Predict the value of each row with each member.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows) or (n_members, n_rows, n_targets)
        """
        rows = self._read_rows(X)
        return np.array([numbers_of(member.predict_values(rows)) for member in self.members_])

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the value of each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,) or (n_rows, n_targets)
        """
        rows = self._read_rows(X)
        for values in self._staged_outputs(rows):
            yield numbers_of(values)
