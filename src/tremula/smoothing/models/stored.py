"""Trees of a model of another library as an estimator of tremula, which no longer needs that library.

Its predictions are those of the model up to the precision of that library. `tremula.save` stores it without pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.errors import FileDamaged, InvalidInput
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.prediction import ClassPredictionMixin, NumberPredictionMixin, OutputsMixin
from tremula.smoothing.models.model import TreeModel
from tremula.smoothing.models.single_precision import before_rounding
from tremula.trees.links import LINKS, Link, as_link
from tremula.trees.member_sum import MemberSum, as_member_sum
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, sum_of_trees


class TrainedTrees(TableInputMixin, OutputsMixin, BaseEstimator):
    """Base of the two estimators.

    Parameters
    ----------
    source : str, default=""
        Class and library of the model that the trees come from.
    """

    trees_: list[Tree]
    weights_: NDArray[np.float64]
    outputs_: NDArray[np.int64]
    offset_: NDArray[np.float64]
    link_: str | Link  # a simple link is stored by its name
    single_precision_: bool
    encoder_: ColumnEncoder

    def __init__(self, source: str = "") -> None:
        self.source = source

    def _check_stored(self) -> None:
        require(isinstance(self.source, str), "the name of the model is no word")
        require_numbers("weights_", self.weights_, (None,))
        require_numbers("offset_", self.offset_, (None,))
        require(hasattr(self, "single_precision_"), "the precision of the thresholds is not known")
        self._check_sound()
        for tree in self.trees_:
            tree.check_fits(self.encoder_.n_levels, tree.n_outputs)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Refuse: stored trees cannot be trained."""
        raise InvalidInput(
            f"these are the stored trees of a model ({self.source}), which cannot be trained: train that model again"
        )

    def name_columns(self, names: Sequence[str]) -> None:
        """Set or change the names of the columns."""
        self.encoder_ = replace(self.encoder_, names=tuple(names))
        self._set_columns(self.n_features_in_, names)

    def as_tree_sum(self) -> TreeSum:
        """Return the trees as a weighted sum, with its offset and link."""
        check_is_fitted(self, "trees_")
        self._check_sound()
        # Files of earlier releases hold thresholds for values that are rounded first.
        trees = [before_rounding(tree) for tree in self.trees_] if self.single_precision_ else self.trees_
        return sum_of_trees(trees, self.offset_, self.link_, outputs=self.outputs_, weights=self.weights_)

    def as_member_sum(self) -> MemberSum:
        """Return the trees as a sum of members, the form that exports write."""
        return as_member_sum(self.as_tree_sum())

    def _check_sound(self) -> None:
        """Refuse what a manipulated file may hold: the kernels do not check their input."""
        n_margins, n_trees = len(self.offset_), len(self.trees_)
        is_sound = (
            n_trees > 0
            and self._link_fits(n_margins)
            and np.shape(self.weights_) == np.shape(self.outputs_) == (n_trees,)
            and bool(((self.outputs_ >= -1) & (self.outputs_ < n_margins)).all())
            and all(
                tree.n_attributes == self.n_features_in_ and tree.n_outputs == (n_margins if output < 0 else 1)
                for tree, output in zip(self.trees_, self.outputs_)
            )
        )
        if not is_sound:
            raise FileDamaged(f"the trees of {self.source} do not fit together: read them from the model again")

    def _link_fits(self, n_margins: int) -> bool:
        """Whether the link turns margins into as many answers as there are classes, or one number."""
        if not (isinstance(self.link_, Link) or self.link_ in LINKS):
            return False
        try:
            answers = as_link(self.link_).answers(np.zeros((1, n_margins)))
        except (ValueError, TypeError, AttributeError):
            return False
        return np.shape(answers) == (1, len(getattr(self, "classes_", [0])))

    def _read_table(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "trees_")
        return self._encode_columns(self.encoder_, X)

    def _predict_outputs(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.as_tree_sum().answers(rows)


@storable
class TrainedTreesClassifier(ClassifierMixin, ClassPredictionMixin, TrainedTrees):
    """Stored trees of a classifier of another library.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from tremula.smoothing.models import read_model
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> stored = store_trees(read_model(forest))
    >>> bool(abs(stored.predict_proba(X) - forest.predict_proba(X)).max() < 1e-12)
    True
    """

    classes_: NDArray[Any]


@storable
class TrainedTreesRegressor(RegressorMixin, NumberPredictionMixin, TrainedTrees):
    """Stored trees of a regressor of another library."""


def store_trees(model: TreeModel) -> TrainedTrees:
    """Store the trees of a model in an estimator that does not need the model.

    Parameters
    ----------
    model : TreeModel
        As `read_model` returns it. If its members vote, predictions for rows with missing values may differ from those
        of the model.
    """
    stored_class = TrainedTreesRegressor if model.classes is None else TrainedTreesClassifier
    stored = stored_class(model.name)
    whole = model.sum
    stored.trees_, stored.weights_, stored.outputs_ = list(whole.trees), whole.weights, whole.outputs
    stored.offset_, stored.single_precision_ = whole.offset, False
    stored.link_ = whole.link.name if whole.link.name in LINKS else whole.link
    stored.encoder_ = model.encoder
    stored._set_columns(model.n_attributes, model.feature_names)
    if isinstance(stored, TrainedTreesClassifier):
        stored.classes_ = np.asarray(model.classes)
    return stored
