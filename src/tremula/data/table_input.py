"""Gives an estimator that takes tables scikit-learn's attributes `n_features_in_` and `feature_names_in_`."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from tremula.data.column import Array, Floats
from tremula.data.encoding import CategoricalFeatures, ColumnEncoder, advice_on_columns
from tremula.data.sparse_rows import SparseRows
from tremula.data.table import Table
from tremula.data.table_schema import TableSchema
from tremula.errors import ColumnMismatch, InvalidParameter, UnsupportedType
from tremula.persistence.soundness import require


def learn_sparse(X: Any, categorical_features: CategoricalFeatures) -> tuple[ColumnEncoder, SparseRows]:
    """Return the encoder of a sparse table, whose columns are all numeric, and its rows."""
    is_named = not isinstance(categorical_features, str) and categorical_features is not None
    if is_named or categorical_features == "all":
        raise InvalidParameter(
            f"categorical_features={categorical_features!r} was given, but X is sparse, and its columns are numbers: "
            "set categorical_features=None, or give X.toarray()"
        )
    rows = SparseRows.of(X)
    return ColumnEncoder(None, (None,) * rows.shape[1]), rows


class TableInputMixin:
    """Mixin for estimators that read tables by a `ColumnEncoder`."""

    n_features_in_: int
    feature_names_in_: Array
    table_: TableSchema

    # Whether fit and predict take sparse tables; other methods do not.
    _takes_sparse: ClassVar[bool] = False

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
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _learn_columns(
        self, X: Any, categorical_features: CategoricalFeatures = "from_dtype"
    ) -> tuple[ColumnEncoder, Any]:
        """Learn the columns of the training table, note their number and names, and return the encoded table.

        A sparse one is returned as `SparseRows`, if the estimator takes it.
        """
        learn: Any = learn_sparse if issparse(X) and self._takes_sparse else ColumnEncoder.learn
        encoder, values = learn(X, categorical_features)
        self._set_columns(encoder.n_columns, encoder.names)
        return encoder, values

    def _encode_columns(self, encoder: ColumnEncoder, X: Any) -> Floats:
        """Check the number and names of the columns as scikit-learn does, and encode the table."""
        # scikit-learn's checks take longer than predicting a row: skip them where none could fail.
        values = encoder.encode_numbers(X)
        if values is not None:
            return values
        table = Table.of(X)
        self._check_columns(encoder, table.native, table.names)
        return encoder.encode_table(table)

    def _encode_rows(self, encoder: ColumnEncoder, X: Any) -> Floats | SparseRows:
        """Encode a table for `fit` or `predict`: a sparse one as `SparseRows`, if the estimator takes it."""
        if not (issparse(X) and self._takes_sparse):
            return self._encode_columns(encoder, X)
        rows = SparseRows.of(X)
        self._check_columns(encoder, X, None)
        if encoder.numeric_width < 0:
            raise UnsupportedType(
                "X is sparse, but some columns were nominal in fit, and a sparse table has numbers only: give a table "
                "as in fit"
            )
        return rows

    def _check_columns(self, encoder: ColumnEncoder, X: Any, names: Sequence[str] | None) -> None:
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            advice = advice_on_columns(encoder.names, names)
            raise ColumnMismatch(f"{str(error).strip()}\n{advice}") from error

    def _set_columns(self, n_columns: int, names: Sequence[str] | None) -> None:
        """Set `n_features_in_`, and `feature_names_in_` if the columns have names."""
        self.n_features_in_ = n_columns
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif "feature_names_in_" in self.__dict__:
            del self.feature_names_in_
