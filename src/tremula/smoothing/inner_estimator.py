"""The estimator inside a wrapper: whether it is fitted, whether it predicts the right kind of target, its training."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from tremula.errors import InvalidInput, InvalidParameter
from tremula.smoothing.noise.choice import wants_validation

LEARNED = {"classifier": "classes", "regressor": "numbers"}


def is_fitted(model: Any) -> bool:
    """Whether an estimator is fitted, also if it lacks the tags of scikit-learn.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> is_fitted(DecisionTreeClassifier()), is_fitted(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    (False, True)
    """
    if not hasattr(model, "fit"):
        return True
    if not hasattr(model, "__sklearn_tags__"):
        own_check = getattr(model, "is_fitted", None)
        return (
            bool(own_check()) if callable(own_check) else hasattr(model, "classes_") or hasattr(model, "n_features_in_")
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def check_target_type(model: Any, expected: str, other: str) -> None:
    """Refuse an estimator that predicts something else than classes or numbers, as its tags say.

    Examples
    --------
    >>> from sklearn.ensemble import IsolationForest
    >>> check_target_type(IsolationForest(), "regressor", "DualPerturbClassifier")
    Traceback (most recent call last):
    ...
    tremula.errors.InvalidParameter: estimator=IsolationForest() is an outlier detector: give a regressor
    """
    if isinstance(model, type) or not hasattr(model, "predict"):
        given = f"the class {model.__name__}" if isinstance(model, type) else repr(model)
        raise InvalidParameter(f"estimator is {given}, which does not predict: give an instance of a {expected}")
    if not hasattr(model, "__sklearn_tags__"):
        return
    given = get_tags(model).estimator_type
    if given is None or given == expected:
        return
    if given in LEARNED:
        raise InvalidParameter(
            f"estimator={type(model).__name__}() learns {LEARNED[given]}: give a {expected}, or use {other}"
        )
    kind = given.replace("_", " ")
    article = "an" if kind[0] in "aeiou" else "a"
    raise InvalidParameter(f"estimator={type(model).__name__}() is {article} {kind}: give a {expected}")


def train_clone(estimator: Any, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> Any:
    """Return a trained clone of the estimator; validation rows go to one that prunes on them."""
    if X is None:
        raise InvalidInput(
            f"fit was called without X, but {type(estimator).__name__} is not trained yet: give fit X and y, "
            "or wrap a fitted estimator"
        )
    model = clone(estimator)
    options: dict[str, Any] = {}
    if sample_weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise InvalidParameter(f"{type(model).__name__} does not take sample_weight: omit it")
        options["sample_weight"] = sample_weight
    if X_val is not None and wants_validation(model):
        options |= {"X_val": X_val, "y_val": y_val}
    return model.fit(X, y, **options)
