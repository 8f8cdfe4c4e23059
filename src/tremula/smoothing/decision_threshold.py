"""Classifiers that predict a class if its share reaches a threshold, whether or not the share is the largest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from tremula.combine import largest
from tremula.data.take import first_rows
from tremula.errors import UnsupportedModel

Floats = NDArray[np.float64]

MOST_ROWS = 200  # on which the labels of a model are compared with its shares
ROUNDING = 1e-12  # difference of shares that sums in another order explain
TIE = 1e-6  # difference of shares below which a label may be either class
COMPOSITE = ("steps", "best_estimator_", "estimators")  # attributes of models that hold other models


@dataclass(frozen=True)
class DecisionThreshold:
    """The threshold of one of two classes.

    Attributes
    ----------
    threshold : float
    positive : int
        Number of the class whose share is compared; it is predicted if its share is at least the threshold.
    """

    threshold: float
    positive: int = 1

    def codes(self, shares: Floats, slack: float = 0.0) -> NDArray[np.int64]:
        """Return the class of each row; a share that is below the threshold by no more than the slack reaches it.

        Examples
        --------
        >>> import numpy as np
        >>> DecisionThreshold(0.2).codes(np.array([[0.8, 0.2], [0.9, 0.1]]))
        array([1, 0])
        """
        return np.where(shares[:, self.positive] >= self.threshold - slack, self.positive, 1 - self.positive)


def has_threshold(model: Any) -> bool:
    """Whether a model is one of scikit-learn's classifiers with a decision threshold."""
    return isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV)


def read_threshold(model: Any, X: Any, known: DecisionThreshold | None = None) -> tuple[Any, DecisionThreshold | None]:
    """Return the classifier inside a model with a decision threshold, and the threshold; else the model and None.

    Parameters
    ----------
    model : fitted estimator
    X : table or None
        Rows on which the threshold is compared with the labels of the model.
    known : DecisionThreshold, optional
        As it was read before, with rows.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0], [1.0]], [0, 0, 1])
    >>> model = FixedThresholdClassifier(tree, threshold=0.3).fit([[0.0], [1.0], [1.0]], [0, 0, 1])
    >>> read_threshold(model, None)[1]
    DecisionThreshold(threshold=0.3, positive=1)
    """
    if not has_threshold(model):
        return model, None
    inner = getattr(model, "estimator_", model.estimator)
    inner = inner.estimator if isinstance(inner, FrozenEstimator) else inner
    name = type(model).__name__
    if model.response_method == "decision_function" or not hasattr(inner, "predict_proba"):
        raise UnsupportedModel(
            f"{name} compares the decision function of {type(inner).__name__} with its threshold, not a class share: "
            "use combine='vote', which averages its labels"
        )
    threshold = _threshold_of(model)
    if known is not None:
        threshold = replace(threshold, positive=known.positive)
    if X is not None and not _gives_labels(model, threshold, X):
        threshold = replace(threshold, positive=1 - threshold.positive)
        if not _gives_labels(model, threshold, X):
            raise UnsupportedModel(
                f"the threshold {threshold.threshold:.3g} of {name} does not give its labels: use combine='vote', "
                "which averages them"
            )
    return inner, threshold


def _threshold_of(model: Any) -> DecisionThreshold:
    if isinstance(model, TunedThresholdClassifierCV):
        return DecisionThreshold(float(model.best_threshold_))
    classes = np.asarray(model.classes_).tolist()
    positive = 1 if model.pos_label is None else classes.index(model.pos_label)
    return DecisionThreshold(0.5 if model.threshold == "auto" else float(model.threshold), positive)


def _gives_labels(model: Any, threshold: DecisionThreshold, X: Any) -> bool:
    rows = first_rows(X, MOST_ROWS)
    labels = np.asarray(model.classes_)[threshold.codes(np.asarray(model.predict_proba(rows)))]
    return bool(np.array_equal(labels, model.predict(rows)))


def count_other_labels(model: Any, classes: NDArray[Any], X: Any) -> int:
    """Count the rows, of the first 200, whose label is not the class of the largest share; ties do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> count_other_labels(DecisionTreeClassifier().fit(X, [0, 0, 1]), np.array([0, 1]), X)
    0
    """
    rows = first_rows(X, MOST_ROWS)
    shares, labels = np.asarray(model.predict_proba(rows)), np.asarray(model.predict(rows))
    ordered = np.sort(shares, axis=1)
    is_tie = ordered[:, -1] - ordered[:, -2] < TIE if shares.shape[1] > 1 else np.ones(len(shares), dtype=bool)
    return int(np.count_nonzero((classes[largest(shares)] != labels) & ~is_tie))


def is_composite(model: Any) -> bool:
    """Whether a model holds other models, which may decide in their own way."""
    return any(hasattr(model, name) for name in COMPOSITE)
