"""The classifier to take by default."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from tremula.aspen.base import Aspen
from tremula.aspen.blending import class_weights, find_power
from tremula.aspen.families import CLASS_FAMILIES
from tremula.aspen.family_members import Judges
from tremula.ensembles.base.ensemble import EnsembleClassifier
from tremula.losses import log_losses, log_probabilities
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.perturb import Sample

PRIOR_SHARE = 0.008  # of the classes' shares in training, mixed into every answer: no class is impossible


@storable
@with_parameters(
    n_estimators="Number of members of each family that is kept.",
    warm_start="Whether another `fit` keeps the chosen families and their members, and adds the missing members.",
    random_state="The same seed gives the same model, bit for bit, for any `n_jobs`.",
)
class AspenClassifier(Aspen, EnsembleClassifier):
    """A blend of tree families that is chosen by the rows its members leave out: take it by default.

    Attributes
    ----------
    report_ : AspenReport
        What was tried, how it did on rows left out, and what was chosen; print it.
    members_ : list
        The trees of the families in the blend.
    member_weights_ : array
        What each has in it.
    corrections_ : list of Tree
        Small trees whose values are added to the logarithms of the blend's class shares.
    classes_ : array
        The class labels.
    oob_score_ : float
        Accuracy of the blend on rows left out; `oob_decision_function_` has the class shares behind it, NaN for rows
        that were never left out. Rows that chose the blend judge it somewhat too well.

    Notes
    -----
    The guide to Aspen says on one page what is done, what was measured, and where boosting alone is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import AspenClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AspenClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    >>> model.oob_score_ > 0.9
    True
    """

    _families = CLASS_FAMILIES
    _loss_name = "log loss"
    _prior: np.ndarray
    _power: float

    def _begin(self, sample: Sample) -> None:
        counts = np.bincount(sample.target, sample.weights, sample.n_classes)
        self._prior, self._power, self.corrections_ = counts / counts.sum(), 1.0, []

    def _prepare(self, answers: np.ndarray) -> np.ndarray:
        return (1.0 - PRIOR_SHARE) * answers + PRIOR_SHARE * self._prior

    def _loss(self, answers: np.ndarray, judges: Judges) -> float:
        if not judges.weights.any():
            return float("nan")
        return float(np.average(log_losses(judges.target, answers), weights=judges.weights))

    def _weigh(self, answers: np.ndarray, judges: Judges) -> np.ndarray:
        return class_weights(answers, judges.target, judges.weights)

    def _calibrate(self, blend: np.ndarray, judges: Judges) -> None:
        self._power = find_power(blend, judges.target, judges.weights)

    def _margins(self, blend: np.ndarray) -> np.ndarray:
        return self._power * log_probabilities(self._prepare(blend))

    def _as_answers(self, margins: np.ndarray) -> np.ndarray:
        return softmax(margins, axis=1)

    def _keep_answers(self, answers: np.ndarray, judges: Judges, n_rows: int) -> None:
        self.oob_decision_function_ = np.full((n_rows, self.n_classes_), np.nan)
        self.oob_decision_function_[judges.rows] = answers
        self.oob_score_ = 1.0 - self._error(answers, judges)
