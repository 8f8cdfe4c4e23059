"""The columns of a wrapper: those of its model, and those of the rows it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from tremula.errors import ColumnMismatch, InvalidInput
from tremula.smoothing.models.lightgbm import plain_name


class KnownColumnsMixin:
    """Number and names of the columns, as scikit-learn's estimators have them, and their checks."""

    estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _note_columns(self, X: Any) -> None:
        """Set scikit-learn's attributes for the number and names of the columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if X is not None:
            validate_data(self, X, reset=True, skip_check_array=True)
            self._check_columns_of_model()
            return
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _check_columns_of_model(self) -> None:
        """Refuse training rows whose columns are not those of the fitted estimator."""
        known = getattr(self.estimator_, "n_features_in_", self.n_features_in_)
        names, expected = (getattr(each, "feature_names_in_", None) for each in (self, self.estimator_))
        if known != self.n_features_in_:
            raise ColumnMismatch(
                f"X has {self.n_features_in_} attributes, but {type(self.estimator_).__name__} was trained on {known}: "
                "give the rows it was trained on"
            )
        if names is None or expected is None:
            return
        is_known = [
            name in (other, plain_name(other)) or plain_name(name) == other for name, other in zip(names, expected)
        ]
        if not all(is_known):
            wrong = names[is_known.index(False)]
            raise ColumnMismatch(
                f"X has a column {wrong!r} where {type(self.estimator_).__name__} was trained on other names: give the "
                "columns it was trained on, in their order"
            )

    def _check_columns(self, X: Any) -> None:
        if isinstance(X, str | bytes | Mapping):
            raise InvalidInput(f"X is of type {type(X).__name__}: give an array or a frame with one row for each case")
        try:
            if isinstance(X, np.ndarray | list) and np.ndim(X) != 2:
                check_array(X, dtype=None, ensure_all_finite=False)
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            raise ColumnMismatch(str(error)) from error
