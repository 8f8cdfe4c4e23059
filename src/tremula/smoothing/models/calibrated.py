"""Reads calibrated classifiers of two classes: the score of each model, and the curve of its calibrator.

Scores are smoothed, and the curves are applied to the expected scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.blends import mean_of_answers
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.smoothing.models.sklearn import model_of
from tremula.trees.composite_links import ChainLink, InterpolationLink, LinearLink
from tremula.trees.links import LOGISTIC, Link


def read_calibrated(estimator: Any, read: Read) -> TreeModel:
    """Read a calibrated classifier of two classes: the mean of its pairs of a classifier and a calibrator."""
    check_is_fitted(estimator)
    name = name_of(estimator)
    if len(estimator.classes_) != 2:
        raise UnsupportedModel(
            f"{name} divides the calibrated shares of {len(estimator.classes_)} classes by their sum, and only two "
            f"classes are read: {USE_SAMPLE}"
        )
    members = [calibrated_member(name, pair, read) for pair in estimator.calibrated_classifiers_]
    return model_of(estimator, mean_of_answers(name, members, np.ones(len(members)), 2))


def calibrated_member(name: str, pair: Any, read: Read) -> TreeModel:
    """Return a classifier whose link ends with its calibrator."""
    if getattr(pair, "method", "") not in ("sigmoid", "isotonic") or len(pair.calibrators) != 1:
        raise UnsupportedModel(f"{name} is not calibrated by a sigmoid or isotonic curve: {USE_SAMPLE}")
    member = read(pair.estimator)
    # As scikit-learn does: the decision function of a model that has one, else the probability of the second class.
    score: tuple[Link, ...] = (LinearLink(np.ones((1, 1)), np.zeros(1)),)
    if not hasattr(pair.estimator, "decision_function"):
        score = (member.sum.link, LinearLink(np.array([[0.0, 1.0]]), np.zeros(1)))
    elif member.sum.n_margins != 1:
        raise UnsupportedModel(f"{name} calibrates a decision function that is not the sum of its trees: {USE_SAMPLE}")
    return replace(member, sum=replace(member.sum, link=ChainLink((*score, *curve_of(pair.calibrators[0])))))


def curve_of(calibrator: Any) -> tuple[Link, ...]:
    """Return the links of a calibrator, from a score to the shares of two classes."""
    if isinstance(calibrator, IsotonicRegression):
        return (InterpolationLink(calibrator.X_thresholds_.astype(float), calibrator.y_thresholds_.astype(float)),)
    return (LinearLink(np.array([[-float(calibrator.a_)]]), np.array([-float(calibrator.b_)])), LOGISTIC)
