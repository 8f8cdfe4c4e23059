"""The trees of a model of another library as an estimator of tremula's, which needs that library no longer.

It answers as the trees that were read do, so as the model itself up to the precision that calculates in; a file of
`tremula.save` can hold it, without pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tremula.combine import largest
from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.errors import FileDamaged, InvalidInput
from tremula.persistence.registry import storable
from tremula.smoothing.models.model import TreeModel
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import LINKS, TreeSum, sum_of_trees


class TrainedTrees(TableInputMixin, BaseEstimator):
    """Base of the two estimators; what it holds was trained elsewhere.

    Parameters
    ----------
    source : str, default=""
        Kind and library of the model that the trees come from.
    """

    trees_: list[Tree]
    weights_: NDArray[np.float64]
    outputs_: NDArray[np.int64]
    offset_: NDArray[np.float64]
    link_: str
    single_precision_: bool
    encoder_: ColumnEncoder

    def __init__(self, source: str = "") -> None:
        self.source = source

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Refuse: trees that were taken over are not trained here."""
        raise InvalidInput(
            f"these are the trees of a trained model ({self.source}), and they cannot be trained: train that model anew"
        )

    def name_columns(self, names: Sequence[str]) -> None:
        """Give the columns other names, or names where they have none."""
        self.encoder_ = replace(self.encoder_, names=tuple(names))
        self._set_columns(self.n_features_in_, names)

    def as_tree_sum(self) -> TreeSum:
        """Return the trees as a weighted sum, with its offset and link."""
        check_is_fitted(self, "trees_")
        self._check_sound()
        return sum_of_trees(
            self.trees_,
            self.offset_,
            self.link_,
            outputs=self.outputs_,
            weights=self.weights_,
            single_precision=self.single_precision_,
        )

    def _check_sound(self) -> None:
        """Refuse what a file made by other hands may hold: the loops behind trust what they are given."""
        n_margins, n_trees = len(self.offset_), len(self.trees_)
        is_sound = (
            n_trees > 0
            and self.link_ in LINKS
            and np.shape(self.weights_) == np.shape(self.outputs_) == (n_trees,)
            and bool(((self.outputs_ >= -1) & (self.outputs_ < n_margins)).all())
            and all(
                tree.n_attributes == self.n_features_in_ and tree.n_outputs == (n_margins if output < 0 else 1)
                for tree, output in zip(self.trees_, self.outputs_)
            )
        )
        if not is_sound:
            raise FileDamaged(f"the trees of {self.source} do not fit together: read them from the model anew")

    def _answers(self, X: Any) -> NDArray[np.float64]:
        whole = self.as_tree_sum()
        rows = self._encode_columns(self.encoder_, X)
        return whole.answers(rows.astype(np.float32).astype(np.float64) if self.single_precision_ else rows)


@storable
class TrainedTreesClassifier(ClassifierMixin, TrainedTrees):
    """Trees that were trained elsewhere, and give classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from tremula.smoothing.models import read_model
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> kept = store_trees(read_model(forest))
    >>> bool(abs(kept.predict_proba(X) - forest.predict_proba(X)).max() < 1e-12)
    True
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class distribution of each row."""
        return self._answers(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row, the first of equals."""
        return self.classes_[largest(self._answers(X))]


@storable
class TrainedTreesRegressor(RegressorMixin, TrainedTrees):
    """Trees that were trained elsewhere, and give numbers."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict a number for each row."""
        return self._answers(X)[:, 0]


def store_trees(model: TreeModel) -> TrainedTrees:
    """Take the trees of a model over, so that the model itself is needed no longer.

    Parameters
    ----------
    model : TreeModel
        As `read_model` gives it. Of members that vote, rows with missing values may be answered otherwise than by the
        model itself.
    """
    kind = TrainedTreesRegressor if model.classes is None else TrainedTreesClassifier
    kept = kind(model.name)
    whole = model.sum
    kept.trees_, kept.weights_, kept.outputs_ = list(whole.trees), whole.weights, whole.outputs
    kept.offset_, kept.link_, kept.single_precision_ = whole.offset, whole.link, whole.single_precision
    kept.encoder_ = model.encoder
    kept._set_columns(model.n_attributes, model.feature_names)
    if isinstance(kept, TrainedTreesClassifier):
        kept.classes_ = np.asarray(model.classes)
    return kept
