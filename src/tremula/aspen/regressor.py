"""The regressor to use by default."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from tremula.aspen.base import Aspen
from tremula.aspen.families import NUMBER_FAMILIES
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.task import NumberTask, Task
from tremula.ensembles.base.target import NumberTargetMixin
from tremula.losses import squared_errors
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.perturb import Sample
from tremula.prediction import StagedNumberPredictionMixin


@storable
@with_parameters(
    n_estimators="Number of members of each family that is kept; a quarter of it for model trees.",
    warm_start="Whether another `fit` keeps the chosen families and their members, and adds the missing members.",
    random_state="The same seed gives the same model, bit for bit, for any `n_jobs`.",
)
class AspenRegressor(RegressorMixin, NumberTargetMixin, StagedNumberPredictionMixin, Aspen):
    """A blend of tree families, chosen and weighted on out-of-bag rows: the regressor to use by default.

    Attributes
    ----------
    report_ : AspenReport
        What was tried, its out-of-bag loss, and what was chosen; print it.
    members_ : list
        The trees and model trees of the families in the blend.
    member_weights_ : array
        Weight of each member in the blend.
    corrections_ : list of Tree
        Small trees whose values are added to the predictions of the blend.
    ignored_features_ : list of str
        Columns that name or number the rows and do not go with the target: no tree tests them.
    oob_score_ : float
        Out-of-bag R squared of the blend, weighted as in `fit`. It is somewhat optimistic: the same rows chose the
        blend.
    oob_prediction_ : array of shape (n_rows,)
        Out-of-bag predictions; NaN for rows that are not out of bag in every family.

    Notes
    -----
    The guide to Aspen describes the method on one page, with measurements and cases where boosting alone is better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import AspenRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AspenRegressor(n_estimators=20, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _families = NUMBER_FAMILIES
    oob_prediction_: np.ndarray

    def _new_task(self, sample: Sample) -> Task:
        return NumberTask()

    def _set_task(self, task: Task) -> None:
        """Set nothing: there is nothing to calibrate."""

    def _task(self) -> Task:
        return NumberTask()

    def _set_oob_predictions(self, predictions: np.ndarray, scoring: ScoringRows, n_rows: int) -> None:
        self.oob_prediction_ = np.full(n_rows, np.nan)
        self.oob_prediction_[scoring.rows] = predictions[:, 0]
        self.oob_score_ = np.nan
        if len(scoring):
            center = np.average(scoring.target, weights=scoring.weights)
            variance = scoring.mean(squared_errors(scoring.target, center))
            error = scoring.mean(squared_errors(scoring.target, predictions[:, 0]))
            self.oob_score_ = 1.0 - error / variance if variance else np.nan
