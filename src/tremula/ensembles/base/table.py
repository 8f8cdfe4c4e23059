"""Reads the tables that ensembles are given: columns sorted once for tremula's trees, whatever other estimators take.

What members know of the columns (their number, names and levels) is learned in `fit` and held to afterwards.
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
from tremula.trees.learner import TreeLearner


def _listed(choice: Any) -> Any:
    return list(choice) if hasattr(choice, "__iter__") and not isinstance(choice, str) else choice


def check_nominal_columns(ensemble: str, estimator: BaseEstimator, chosen: Any) -> None:
    """Refuse a tree with a `categorical_features` of its own, other than the ensemble's: that is what counts."""
    if not isinstance(estimator, TreeLearner):
        return
    own = _listed(estimator.categorical_features)
    if own not in ("from_dtype", _listed(chosen)):
        raise InvalidParameter(
            f"estimator={type(estimator).__name__}(categorical_features={own!r}) was given, but the ensemble reads the "
            f"table for all its members, with categorical_features={chosen!r}: give {ensemble} the choice"
        )


def name_columns(estimator: BaseEstimator, ensemble: Any) -> None:
    """Let a member's estimator call the columns by their names."""
    if hasattr(ensemble, "feature_names_in_"):
        estimator.feature_names_in_ = ensemble.feature_names_in_


class TableReading(TableInputMixin):
    """What an ensemble does with tables."""

    estimator: Any
    categorical_features: Any
    encoder_: ColumnEncoder | None

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """Return the estimator that is trained where none is given."""

    @abstractmethod
    def _members_to_keep(self) -> list[Any]:
        """Return the members that a warm start keeps."""

    def _member_estimator(self) -> BaseEstimator:
        return self._default_estimator() if self.estimator is None else clone(self.estimator)

    def _read_training_table(self, X: Any) -> tuple[Trainer, int, int]:
        """Return who trains members, the number of rows and that of attributes."""
        known = self._columns_known()
        trainer, n_rows, n_attributes = self._read_new_table(X)
        if self._members_to_keep() and self._columns_known() != known:
            raise InvalidInput(
                "X has other columns or levels than the members that warm_start=True keeps have learned from: give the "
                "same table again, or set warm_start=False"
            )
        return trainer, n_rows, n_attributes

    def _columns_known(self) -> tuple[int, list[Any]]:
        """Return what members rely on: the number of columns and the levels of nominal ones."""
        encoder = getattr(self, "encoder_", None)
        levels = [] if encoder is None else [None if level is None else level.tolist() for level in encoder.levels]
        return getattr(self, "n_features_in_", 0), levels

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
        """Return the table as other estimators take it: they check it themselves."""
        if hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def _read_table(self, X: Any) -> Any:
        check_is_fitted(self, "members_")
        return self._read_foreign(X, reset=False) if self.encoder_ is None else self._encode_columns(self.encoder_, X)
