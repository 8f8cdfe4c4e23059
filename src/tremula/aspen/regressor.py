"""The regressor to take by default."""

from __future__ import annotations

import numpy as np

from tremula.aspen.base import Aspen
from tremula.aspen.blending import number_weights
from tremula.aspen.families import NUMBER_FAMILIES
from tremula.aspen.family_members import Judges
from tremula.ensembles.base.ensemble import EnsembleRegressor
from tremula.losses import squared_errors
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.perturb import Sample


@storable
@with_parameters(
    n_estimators="Number of members of each family that is kept; a quarter of it for model trees.",
    warm_start="Whether another `fit` keeps the chosen families and their members, and adds the missing members.",
    random_state="The same seed gives the same model, bit for bit, for any `n_jobs`.",
)
class AspenRegressor(Aspen, EnsembleRegressor):
    """A blend of tree families that is chosen by the rows its members leave out: take it by default.

    Attributes
    ----------
    report_ : AspenReport
        What was tried, how it did on rows left out, and what was chosen; print it.
    members_ : list
        The trees and model trees of the families in the blend.
    member_weights_ : array
        What each has in it.
    corrections_ : list of Tree
        Small trees whose values are added to what the blend says.
    oob_score_ : float
        R squared of the blend on rows left out, weighted as in `fit`; `oob_prediction_` has the numbers behind it, NaN
        for rows that were never left out. Rows that chose the blend judge it somewhat too well.

    Notes
    -----
    The guide to Aspen says on one page what is done, what was measured, and where boosting alone is better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import AspenRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AspenRegressor(n_estimators=20, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _families = NUMBER_FAMILIES
    _loss_name = "RMSE"

    def _begin(self, sample: Sample) -> None:
        self.corrections_ = []

    def _loss(self, answers: np.ndarray, judges: Judges) -> float:
        if not judges.weights.any():
            return float("nan")
        return float(np.sqrt(np.average(squared_errors(judges.target, answers[:, 0]), weights=judges.weights)))

    def _weigh(self, answers: np.ndarray, judges: Judges) -> np.ndarray:
        return number_weights(answers, judges.target, judges.weights)

    def _margins(self, blend: np.ndarray) -> np.ndarray:
        return blend

    def _as_answers(self, margins: np.ndarray) -> np.ndarray:
        return margins

    def _keep_answers(self, answers: np.ndarray, judges: Judges, n_rows: int) -> None:
        self.oob_prediction_ = np.full(n_rows, np.nan)
        self.oob_prediction_[judges.rows] = answers[:, 0]
        self.oob_score_ = np.nan
        if len(judges):
            middle = np.average(judges.target, weights=judges.weights)
            spread = float(np.average((judges.target - middle) ** 2, weights=judges.weights))
            error = float(np.average(squared_errors(judges.target, answers[:, 0]), weights=judges.weights))
            self.oob_score_ = 1.0 - error / spread if spread else np.nan
