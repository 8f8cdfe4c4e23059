"""Predictions of each member of an ensemble of any library, in the labels of the ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tremula.data.several_targets import check_one_target
from tremula.errors import InvalidInput

# Their parts answer other questions than the whole does, one class against the rest or the like.
NOT_MEMBERS = (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier)


def member_predictions(ensemble: Any, X: Any) -> np.ndarray:
    """Return the class that each member predicts for each row.

    Parameters
    ----------
    ensemble : fitted ensemble, sequence of fitted classifiers, or array (n_members, n_rows)
        An array holds the answers themselves; X is not looked at then.
    X : array or data frame of shape (n_rows, n_attributes), or None

    Returns
    -------
    array (n_members, n_rows)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from tremula.diagnostics.members.predictions import member_predictions
    >>> X, y = load_iris(return_X_y=True)
    >>> member_predictions(RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y), X).shape
    (5, 150)
    """
    if isinstance(ensemble, np.ndarray):
        return _given_answers(ensemble)
    if X is None and not (isinstance(ensemble, Sequence) and len(ensemble) == 0):
        raise InvalidInput("X is None: give the rows to predict, or the members' predictions as an array")
    if isinstance(ensemble, Pipeline):
        return member_predictions(ensemble[-1], ensemble[:-1].transform(X) if len(ensemble) > 1 else X)
    if isinstance(ensemble, Sequence):
        _check_classifiers(ensemble)
        return _stacked([np.asarray(member.predict(X)) for member in ensemble])
    if isinstance(ensemble, type) or not hasattr(ensemble, "fit"):
        raise InvalidInput(
            f"{type(ensemble).__name__} was given: give a fitted ensemble, a list of fitted classifiers, or an array "
            "of predictions (n_members, n_rows)"
        )
    check_is_fitted(ensemble)
    check_one_target(ensemble, "kappa")
    if is_regressor(ensemble):
        raise InvalidInput(f"{type(ensemble).__name__} predicts numbers: kappa compares classes, give a classifier")
    if hasattr(ensemble, "predict_members"):
        return np.asarray(ensemble.predict_members(X))
    return _answers_of_estimators(ensemble, X)


def _given_answers(answers: np.ndarray) -> np.ndarray:
    if answers.ndim != 2:
        raise InvalidInput(
            f"an array of shape {answers.shape} was given: members' predictions have shape (n_members, n_rows)"
        )
    return answers


def _check_classifiers(members: Iterable[Any]) -> None:
    for number, member in enumerate(members):
        if not hasattr(member, "predict") or is_regressor(member):
            raise InvalidInput(
                f"member {number} is {type(member).__name__}, which is not a classifier: kappa compares the classes "
                "that members predict; give an ensemble, a list of fitted classifiers, or an array of predictions"
            )


def _answers_of_estimators(ensemble: Any, X: Any) -> np.ndarray:
    """Return the predictions of the members of a scikit-learn ensemble, in the classes of the ensemble."""
    members = getattr(ensemble, "estimators_", None)
    if members is None or isinstance(ensemble, NOT_MEMBERS):
        raise InvalidInput(
            f"{type(ensemble).__name__} has no members that each predict the class: give an ensemble with "
            "estimators_, a list of fitted classifiers, or an array of predictions (n_members, n_rows)"
        )
    members = list(members.flat) if isinstance(members, np.ndarray) else list(members)
    _check_classifiers(members)
    chosen = getattr(ensemble, "estimators_features_", [None] * len(members))
    answers = [_answer(member, X, columns) for member, columns in zip(members, chosen)]
    return _stacked(_in_labels(answers, members, np.asarray(ensemble.classes_)))


def _answer(member: Any, X: Any, columns: np.ndarray | None) -> np.ndarray:
    # Most ensembles hand plain arrays to their members, which then warn of a frame's column names.
    if not hasattr(X, "shape") or (hasattr(X, "columns") and not hasattr(member, "feature_names_in_")):
        X = np.asarray(X)
    return np.asarray(member.predict(X if columns is None else X[:, columns]))


def _in_labels(answers: list[np.ndarray], members: Sequence[Any], classes: np.ndarray) -> list[np.ndarray]:
    """Turn codes of classes into labels where the members were trained on codes, as in bagging and forests."""
    seen = {label for member in members for label in np.asarray(member.classes_).tolist()}
    if seen <= set(classes.tolist()):
        return answers
    return [classes[answer.astype(np.intp)] for answer in answers]


def _stacked(answers: list[np.ndarray]) -> np.ndarray:
    return np.stack(answers) if answers else np.empty((0, 0))
