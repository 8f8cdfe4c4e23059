"""The classifier to use by default."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin

from tremula.aspen.base import Aspen
from tremula.aspen.families import CLASS_FAMILIES
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.task import ClassTask, Task
from tremula.ensembles.base.target import ClassTargetMixin
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.perturb import Sample
from tremula.prediction import StagedClassPredictionMixin


@storable
@with_parameters(
    n_estimators="Number of members of each family that is kept.",
    warm_start="Whether another `fit` keeps the chosen families and their members, and adds the missing members.",
    random_state="The same seed gives the same model, bit for bit, for any `n_jobs`.",
)
class AspenClassifier(ClassifierMixin, ClassTargetMixin, StagedClassPredictionMixin, Aspen):
    """A blend of tree families, chosen and weighted on out-of-bag rows: the classifier to use by default.

    Attributes
    ----------
    report_ : AspenReport
        What was tried, its out-of-bag loss, and what was chosen; print it.
    members_ : list
        The trees of the families in the blend.
    member_weights_ : array
        Weight of each member in the blend.
    corrections_ : list of Tree
        Small trees whose values are added to the logarithms of the blend's class probabilities.
    classes_ : array
        The class labels.
    ignored_features_ : list of str
        Columns that name or number the rows and do not go with the target: no tree tests them.
    oob_score_ : float
        Out-of-bag accuracy of the blend. It is somewhat optimistic: the same rows chose the blend.
    oob_decision_function_ : array of shape (n_rows, n_classes)
        Out-of-bag class probabilities; NaN for rows that are not out of bag in every family.

    Notes
    -----
    The guide to Aspen describes the method on one page, with measurements and cases where boosting alone is better.

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
    _prior: np.ndarray
    _power: float
    oob_decision_function_: np.ndarray

    def _check_stored(self) -> None:
        require_numbers("the prior", self._prior, (len(self.classes_),), low=0.0)
        require(0.0 <= self._power < np.inf, "the power is no number")

    def _new_task(self, sample: Sample) -> Task:
        return ClassTask.of(sample)

    def _set_task(self, task: Task) -> None:
        assert isinstance(task, ClassTask)
        self._prior, self._power = task.prior, task.power

    def _task(self) -> Task:
        return ClassTask(self._prior, self._power)

    def _set_oob_predictions(self, predictions: np.ndarray, scoring: ScoringRows, n_rows: int) -> None:
        self.oob_decision_function_ = np.full((n_rows, self.n_classes_), np.nan)
        self.oob_decision_function_[scoring.rows] = predictions
        self.oob_score_ = 1.0 - self._task().error_rate(predictions, scoring)
