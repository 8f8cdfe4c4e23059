"""Reads tables for an ensemble: encoded and sorted once for tremula's trees, as they are for other estimators.

`fit` learns the number, the names and the levels of the columns; later tables must have the same columns.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.ensembles.base.member import EstimatorTrainer, Trainer, TreeTrainer
from tremula.errors import InvalidInput, InvalidParameter
from tremula.trees.learner import TreeClassifier, TreeLearner


def _comparable(categorical_features: Any) -> Any:
    is_sequence = hasattr(categorical_features, "__iter__") and not isinstance(categorical_features, str)
    return list(categorical_features) if is_sequence else categorical_features


def check_nominal_columns(ensemble: str, estimator: BaseEstimator, categorical_features: Any) -> None:
    """Refuse a tree whose `categorical_features` differ from those of the ensemble, which reads the table."""
    if not isinstance(estimator, TreeLearner):
        return
    given = _comparable(estimator.categorical_features)
    if given not in ("from_dtype", _comparable(categorical_features)):
        raise InvalidParameter(
            f"estimator={type(estimator).__name__}(categorical_features={given!r}) was given, but the ensemble reads "
            f"the table for all members, with categorical_features={categorical_features!r}: set categorical_features "
            f"of {ensemble} instead"
        )


def check_class_weight(ensemble: str, estimator: BaseEstimator) -> None:
    """Refuse a tree with `class_weight`: the ensemble weighs the rows of its members."""
    if isinstance(estimator, TreeClassifier) and estimator.class_weight is not None:
        raise InvalidParameter(
            f"estimator={type(estimator).__name__}(class_weight={estimator.class_weight!r}) was given, but the "
            f"ensemble weighs the rows of its members: set class_weight of {ensemble}, or give sample_weight to fit"
        )


def name_columns(estimator: BaseEstimator, ensemble: Any) -> None:
    """Give a member's estimator the column names of the ensemble, for its messages."""
    if hasattr(ensemble, "feature_names_in_"):
        estimator.feature_names_in_ = ensemble.feature_names_in_


def known_columns(ensemble: Any) -> tuple[int, list[Any]]:
    """Return the number of columns, and the levels of the nominal ones, that the members were trained on."""
    encoder = getattr(ensemble, "encoder_", None)
    levels = [] if encoder is None else [None if level is None else level.tolist() for level in encoder.levels]
    return getattr(ensemble, "n_features_in_", 0), levels


def check_columns_to_keep(before: tuple[int, list[Any]], now: tuple[int, list[Any]]) -> None:
    """Refuse to add members for other columns than `known_columns` gave before."""
    if now != before:
        raise InvalidInput(
            "X has other columns or levels than the table of the members that warm_start=True keeps: give the same "
            "table again, or set warm_start=False"
        )


class TableMixin(TableInputMixin):
    """How an ensemble reads tables."""

    estimator: Any
    categorical_features: Any
    encoder_: ColumnEncoder | None

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        estimator = self._default_estimator() if self.estimator is None else self.estimator
        return isinstance(estimator, TreeLearner) and estimator._takes_sparse

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """Return the members' estimator if none was given."""

    @abstractmethod
    def _members_to_keep(self) -> list[Any]:
        """Return the members that a warm start keeps."""

    def _member_estimator(self) -> BaseEstimator:
        if self.estimator is None:
            return self._default_estimator()
        if isinstance(self.estimator, type) or not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")
        ):
            raise InvalidParameter(
                f"estimator={self.estimator!r} was given; expected an estimator, such as tm.CARTClassifier(), or None"
            )
        return clone(self.estimator)

    def _read_training_table(self, X: Any) -> tuple[Trainer, int, int]:
        """Return the trainer of the members, the number of rows and the number of attributes."""
        before = known_columns(self)
        trainer, n_rows, n_attributes = self._read_new_table(X)
        if self._members_to_keep():
            check_columns_to_keep(before, known_columns(self))
        return trainer, n_rows, n_attributes

    def _read_new_table(self, X: Any) -> tuple[Trainer, int, int]:
        estimator = self._member_estimator()
        if isinstance(estimator, TreeLearner):
            estimator._check_parameters()
            encoder, values = self._learn_columns(X, self.categorical_features)
            self.encoder_ = encoder
            name_columns(estimator, self)
            return TreeTrainer(estimator, estimator.sort(values, encoder.n_levels)), *values.shape
        self.encoder_ = None
        table = self._read_foreign(X, reset=True)
        if 0 in table.shape:
            raise InvalidInput(f"X has {table.shape[0]} rows and {table.shape[1]} columns: give at least one of each")
        return EstimatorTrainer(estimator, table, self.categorical_features), table.shape[0], self.n_features_in_

    def _read_foreign(self, X: Any, reset: bool) -> Any:
        """Return a table for estimators of other libraries, which check the values themselves."""
        if hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def _read_table(self, X: Any) -> Any:
        if "members_" not in self.__dict__:  # the check takes a good part of the time of one row
            check_is_fitted(self, "members_")
        return self._read_foreign(X, reset=False) if self.encoder_ is None else self._encode_columns(self.encoder_, X)

    def _read_sparse_table(self, X: Any) -> Any:
        check_is_fitted(self, "members_")
        return self._read_table(X) if self.encoder_ is None else self._encode_rows(self.encoder_, X)
