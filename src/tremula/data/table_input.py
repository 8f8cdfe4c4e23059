"""Gives an estimator that takes tables scikit-learn's attributes `n_features_in_` and `feature_names_in_`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tremula.data.column import Array, Floats
from tremula.data.encoding import CategoricalFeatures, ColumnEncoder, advice_on_columns
from tremula.data.table import Table
from tremula.data.table_schema import TableSchema
from tremula.errors import ColumnMismatch
from tremula.persistence.soundness import require


class TableInputMixin:
    """Mixin for estimators that read tables by a `ColumnEncoder`."""

    n_features_in_: int
    feature_names_in_: Array
    table_: TableSchema

    def _check_stored(self) -> None:
        names, encoder = getattr(self, "feature_names_in_", None), getattr(self, "encoder_", None)
        require(self.n_features_in_ >= 1, "there are no columns")
        require(encoder is None or encoder.n_columns == self.n_features_in_, "the encoder has other columns")
        require(encoder is None or (encoder.names is None) == (names is None), "columns have names in one place only")
        if names is not None:
            require(np.shape(names) == (self.n_features_in_,), "there are not as many names as columns")
            require(all(isinstance(name, str) for name in names.tolist()), "a name of a column is not a word")
            require(encoder is None or tuple(names.tolist()) == encoder.names, "the encoder has other names")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags

    def _learn_columns(
        self, X: Any, categorical_features: CategoricalFeatures = "from_dtype"
    ) -> tuple[ColumnEncoder, Floats]:
        """Learn the columns of the training table, note their number and names, and return the encoded table."""
        encoder, values = ColumnEncoder.learn(X, categorical_features)
        self._set_columns(encoder.n_columns, encoder.names)
        return encoder, values

    def _encode_columns(self, encoder: ColumnEncoder, X: Any) -> Floats:
        """Check the number and names of the columns as scikit-learn does, and encode the table."""
        # scikit-learn's checks take longer than predicting a row: skip them where none could fail.
        values = encoder.encode_numbers(X)
        if values is not None:
            return values
        table = Table.of(X)
        try:
            validate_data(self, table.native, reset=False, skip_check_array=True)
        except ValueError as error:
            advice = advice_on_columns(encoder.names, table.names)
            raise ColumnMismatch(f"{str(error).strip()}\n{advice}") from error
        return encoder.encode_table(table)

    def _set_columns(self, n_columns: int, names: Sequence[str] | None) -> None:
        """Set `n_features_in_`, and `feature_names_in_` if the columns have names."""
        self.n_features_in_ = n_columns
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif "feature_names_in_" in self.__dict__:
            del self.feature_names_in_
