"""Base classes of the tree learners: they read a table, grow a tree and predict. A learner adds parameters and rules.

Ensembles sort the columns once by `sort`, and call `grow` on the sorted columns for each member.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from tremula.data.class_weights import weigh_classes
from tremula.data.encoding import ColumnEncoder
from tremula.data.several_targets import (
    read_class_targets,
    read_number_targets,
    target_columns,
    weigh_class_targets,
)
from tremula.data.sparse_rows import SparseRows
from tremula.data.target import (
    check_validation_pair,
    read_classes,
    read_further_classes,
    read_further_target,
    read_target,
    read_weights,
)
from tremula.errors import InvalidParameter
from tremula.parameters import check_parameters
from tremula.prediction import ClassPredictionMixin, NumberPredictionMixin, OutputsMixin
from tremula.seeds import make_generator
from tremula.trees.columns import Columns, read_columns
from tremula.trees.inspection import FittedTreeMixin
from tremula.trees.sparse_columns import read_sparse_columns
from tremula.trees.tree import Tree

_NO_DRAWS = np.random.default_rng(0)


class HeldOut(NamedTuple):
    """Held-out rows, on which a tree is pruned: values, class codes or a numeric target, and weights."""

    values: Any  # an array, or SparseRows
    target: np.ndarray
    weights: np.ndarray


class TreeLearner(FittedTreeMixin, OutputsMixin, BaseEstimator):
    """Base of the tree learners: `fit` grows `tree_` from a table."""

    # A numeric split does not separate values that are closer than this.
    _value_gap: ClassVar[float] = 0.0
    # Whether `grow` takes a target of several columns.
    _takes_several_targets: ClassVar[bool] = False

    categorical_features: Any
    encoder_: ColumnEncoder
    tree_: Tree

    def _check_stored(self) -> None:
        self.tree_.check_fits(self.encoder_.n_levels, self._n_outputs)

    def _check_parameters(self) -> None:
        """Raise InvalidParameter if a parameter has a wrong value."""
        check_parameters(self)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            Numbers and, in frames, nominal columns; NaN and null are missing values.
        y : array of shape (n_rows,)
            Class labels of any sortable type for a classifier, finite numbers for a regressor.
        sample_weight : array of shape (n_rows,), optional
            Row weights; a row of weight 2 counts as two rows, a row of weight 0 is left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, None, None)

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Self:
        """Grow and prune the tree."""

    def _draws(self) -> bool:
        """Return whether growing a tree needs random numbers."""
        return False

    def _generator(self) -> np.random.Generator:
        return make_generator(getattr(self, "random_state", None)) if self._draws() else _NO_DRAWS

    def _grows_once(self) -> bool:
        """Return whether fitting grows a single tree, so that growing may overwrite the sorted columns."""
        return True

    def sort(self, values: Any, n_levels: np.ndarray) -> Columns:
        """Sort the columns for `grow`."""
        if isinstance(values, SparseRows):
            return read_sparse_columns(values)
        return read_columns(values, n_levels, self._value_gap)

    def _sort_for_fit(self, encoder: ColumnEncoder, values: Any) -> Columns:
        return replace(self.sort(values, encoder.n_levels), serves_once=self._grows_once())

    def _to_test(self, columns: Columns, target: np.ndarray, weights: np.ndarray | None, n_classes: int) -> Columns:
        """Return the columns for a fit, of which some may be left out."""
        return columns

    def _read_training_rows(self, X: Any, sample_weight: Any) -> tuple[ColumnEncoder, Any, np.ndarray | None]:
        """Check the parameters, learn the columns, and return the values and weights of the rows."""
        self._check_parameters()
        encoder, values = self._learn_columns(X, self.categorical_features)
        return encoder, values, read_weights(sample_weight, len(values))

    def _several_columns(self, y: Any, X_val: Any) -> list[Any] | None:
        """Return the columns of several targets, if there are several and the learner takes them."""
        columns = target_columns(y) if self._takes_several_targets else None
        if columns is not None and X_val is not None:
            raise InvalidParameter(
                "X_val was given, but y has several targets, and a tree for all is not pruned on held-out rows: leave "
                "X_val and y_val out"
            )
        return columns

    def _read_held_out(self, encoder: ColumnEncoder, X_val: Any, y_val: Any) -> Any:
        """Return the values of the rows to prune on, or None if none were given."""
        return self._encode_rows(encoder, X_val) if check_validation_pair(X_val, y_val) else None

    def _read_table(self, X: Any) -> np.ndarray:
        """Return the values of the rows to predict; quick, since users often predict one row at a time."""
        if "tree_" not in self.__dict__:
            self._refuse_unfitted()
        return self._encode_columns(self.encoder_, X)

    def _read_sparse_table(self, X: Any) -> Any:
        if "tree_" not in self.__dict__:
            self._refuse_unfitted()
        return self._encode_rows(self.encoder_, X)

    def _refuse_unfitted(self) -> NoReturn:
        raise NotFittedError(
            f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with training rows before using it."
        )

    def _predict_outputs(self, rows: np.ndarray) -> np.ndarray:
        return self.tree_.predict_values(rows)


class PrunedOnHeldOutRows(TreeLearner):
    """Base of the learners that can prune on rows given to `fit`."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            Numbers and, in frames, nominal columns; NaN and null are missing values. CART takes sparse tables too.
        y : array of shape (n_rows,) or (n_rows, n_targets)
            Class labels of any type, or finite numbers. CART trees take several targets.
        sample_weight : array of shape (n_rows,), optional
            Row weights.
        X_val, y_val : optional
            Held-out rows to prune on; the tree then grows from all rows of X. CART uses them with
            ``ccp_alpha="validation"``.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, X_val, y_val)


class TreeClassifier(ClassifierMixin, ClassPredictionMixin, TreeLearner):
    """Base of the tree classifiers."""

    class_weight: Any

    @abstractmethod
    def grow(
        self,
        columns: Columns,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
    ) -> Tree:
        """Grow (and prune) a tree from sorted columns, class codes and row weights."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Self:
        encoder, values, weights = self._read_training_rows(X, sample_weight)
        targets = self._several_columns(y, X_val)
        if targets is not None:
            return self._fit_targets(encoder, values, targets, weights)
        classes, codes = read_classes(y, len(values), weights)
        weights = weigh_classes(self.class_weight, classes, codes, weights)
        held_out: dict[str, Any] = {}
        rows = self._read_held_out(encoder, X_val, y_val)
        if rows is not None:
            classes, codes, held_out_codes = read_further_classes(y_val, len(rows), classes, codes)
            held_out["held_out"] = HeldOut(rows, held_out_codes, np.ones(len(rows)))
        columns = self._to_test(self._sort_for_fit(encoder, values), codes, weights, len(classes))
        self.tree_ = self.grow(columns, codes, len(classes), weights, self._generator(), **held_out)
        self.encoder_, self.classes_, self.n_classes_ = encoder, classes, len(classes)
        return self

    def _fit_targets(
        self, encoder: ColumnEncoder, values: np.ndarray, targets: list[Any], weights: np.ndarray | None
    ) -> Self:
        """Grow one tree for several targets."""
        classes, codes = read_class_targets(targets, len(values), weights)
        weights = weigh_class_targets(self.class_weight, classes, codes, weights)
        n_classes = [len(each) for each in classes]
        columns = self._to_test(self._sort_for_fit(encoder, values), codes, weights, sum(n_classes))
        self.tree_ = self.grow(columns, codes, sum(n_classes), weights, self._generator())
        self.encoder_, self.classes_, self.n_classes_ = encoder, classes, n_classes
        return self

    def _predict_codes(self, rows: np.ndarray) -> np.ndarray:
        return self.tree_.predict_codes(rows)


class TreeRegressor(RegressorMixin, NumberPredictionMixin, TreeLearner):
    """Base of the tree regressors."""

    @property
    def _n_outputs(self) -> int:
        return self.tree_.n_outputs if self._takes_several_targets else 1

    @abstractmethod
    def grow(
        self,
        columns: Columns,
        target: np.ndarray,
        weights: np.ndarray | None,
        random: np.random.Generator,
        attributes: np.ndarray | None = None,
    ) -> Tree:
        """Grow (and prune) a tree from sorted columns, a target and row weights."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Self:
        encoder, values, weights = self._read_training_rows(X, sample_weight)
        targets = self._several_columns(y, X_val)
        if targets is not None:
            target = read_number_targets(targets, len(values), weights)
        else:
            target = read_target(y, len(values), weights)
        held_out: dict[str, Any] = {}
        rows = self._read_held_out(encoder, X_val, y_val)
        if rows is not None:
            held_out["held_out"] = HeldOut(rows, read_further_target(y_val, len(rows)), np.ones(len(rows)))
        columns = self._to_test(self._sort_for_fit(encoder, values), target, weights, 0)
        self.tree_ = self.grow(columns, target, weights, self._generator(), **held_out)
        self.encoder_ = encoder
        return self
