"""Dual perturb and combine around any regressor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from tremula.data.target import read_further_target
from tremula.parameters import check_flag, check_number, with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import AMOUNT_OF_NOISE
from tremula.persistence.registry import storable
from tremula.smoothing.base import SEARCH, TUNING, DualPerturb
from tremula.smoothing.certificate import certified_interval
from tremula.smoothing.inner_estimator import check_target_type
from tremula.smoothing.methods import METHODS, LinearSmoother
from tremula.smoothing.sharp_certificate import MOST_REGIONS, SharpCertificate
from tremula.trees.cart import CARTRegressor

Floats = NDArray[np.float64]

NUMBER_SCORINGS = ("squared_error", "absolute_error")


@storable
@with_parameters(
    estimator="The estimator to wrap, fitted or not; a CART tree by default. A fitted estimator is used as it is.",
    noise=AMOUNT_OF_NOISE,
    method=choice(METHODS),
    tuning=TUNING,
    scoring=choice(NUMBER_SCORINGS),
    search=SEARCH,
    n_jobs="Number of blocks of rows computed in parallel; answers do not depend on it.",
    random_state="Draws noise and folds.",
)
class DualPerturbRegressor(RegressorMixin, DualPerturb):
    """Dual perturb and combine: the average prediction of a regressor over perturbed copies of the row.

    Attributes
    ----------
    estimator_ : fitted estimator
        The wrapped model.
    method_ : {"exact", "path", "sample"}
        How the model is smoothed.
    method_reason_ : str
        Why: how the model was read, or why it has no exact form.
    noise_ : float or array
        The amount of noise, one for each attribute, or one for each tree and attribute.
    noise_curve_ : array of shape (n_tried, 2)
        Amounts tried with their losses on the validation rows; only if the noise was chosen.
    noise_loss_ : float
        Loss at the chosen noise; only if it was chosen.
    moved_thresholds_ : array of shape (n_moved, 3)
        Attribute of each moved threshold, its place in the model and its place under noise: the largest values of the
        first branch.
    shrinkage_ : float
        Strength of the shrinkage.
    shrinkage_curve_ : array of shape (n_tried, 2)
        Strengths tried with their losses; only if the shrinkage was chosen.
    node_weights_ : list of arrays, or None
        Training weight of every node of each tree, which shrinkage divides by; None without shrinkage.
    node_weights_source_ : str
        Where the weights come from: the trees themselves, or the rows given to `fit`; only with shrinkage.
    scale_ : array of shape (n_attributes,)
        Standard deviations in training; 0 for nominal and constant attributes, whose tests are not smoothed.

    See Also
    --------
    DualPerturbClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import CARTRegressor, DualPerturbRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = CARTRegressor(max_depth=4)
    >>> soft = DualPerturbRegressor(tree, random_state=0).fit(X[:300], y[:300])
    >>> hard = tree.fit(X[:300], y[:300])
    >>> round(hard.score(X[300:], y[300:]), 2), round(soft.score(X[300:], y[300:]), 2)
    (0.23, 0.43)
    """

    _is_classifier: ClassVar[bool] = False

    def __init__(
        self,
        estimator: Any = None,
        noise: Any = "auto",
        *,
        method: str = "auto",
        flip: float = 0.0,
        tuning: str = "auto",
        scoring: str = "squared_error",
        search: str = "grid",
        max_noise: float = 2.0,
        tune_on: str = "model",
        per_attribute: bool = False,
        per_tree: bool = False,
        shrinkage: Any = 0.0,
        cv: Any = 5,
        n_draws: int = 100,
        tol: float = 1e-6,
        thresholds: str = "centered",
        scale: Any = None,
        prefit: bool | str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.method = method
        self.flip = flip
        self.tuning = tuning
        self.scoring = scoring
        self.search = search
        self.max_noise = max_noise
        self.tune_on = tune_on
        self.per_attribute = per_attribute
        self.per_tree = per_tree
        self.shrinkage = shrinkage
        self.cv = cv
        self.n_draws = n_draws
        self.tol = tol
        self.thresholds = thresholds
        self.scale = scale
        self.prefit = prefit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _default_estimator(self) -> BaseEstimator:
        return CARTRegressor(min_samples_split=5)

    def _check_kind(self, model: Any) -> None:
        check_target_type(model, "regressor", "DualPerturbClassifier")

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        return read_further_target(y, n_rows)

    def predict(self, X: Any, X_std: Any = None, return_std: bool = False) -> Any:
        """Return the smoothed prediction of each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value, in its own units; it is added
            to the noise.
        return_std : bool, default=False
            Whether to also return the standard deviation of the model's prediction under the noise. It is exact for
            sums of trees without a link; a warning says if it is drawn, and `spread` which rows are.

        Returns
        -------
        array of shape (n_rows,), or a tuple of two such arrays
        """
        check_flag("return_std", return_std)
        if not return_std:
            return self.smooth(X, X_std).answers[:, 0]
        values, deviations = self._with_deviations(X, X_std)
        return values[:, 0], deviations[:, 0]

    def gradient(self, X: Any, X_std: Any = None) -> Floats:
        """Return the derivative of the smoothed prediction with respect to each attribute.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value.

        Returns
        -------
        array of shape (n_rows, n_attributes)
            0 for nominal attributes, missing values and attributes without noise.
        """
        return self._slopes(X, X_std)[:, 0]

    def certified_interval(
        self, X: Any, radius: float = 1.0, X_std: Any = None, n_regions: int = 1
    ) -> tuple[Floats, Floats]:
        """Return the smallest and largest smoothed prediction of each row over all moves of at most `radius`.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        radius : float, default=1.0
            Length of the move, each attribute in standard deviations of its noise.
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value.
        n_regions : int, default=1
            Number of regions of the ball of moves whose bounds are computed from the boxes of the trees. With 0 the
            interval follows from the range of the predictions alone: in no time, but it is often much wider. With more
            than 1 it gets narrower, and takes longer.

        Returns
        -------
        low, high : arrays of shape (n_rows,)
        """
        check_number("radius", radius, 0.0)
        check_number("n_regions", n_regions, 0, MOST_REGIONS, whole=True)
        smoother, rows, noise = self._read(X, X_std)
        spread = self._spread(smoother, rows, noise)
        if isinstance(smoother, LinearSmoother):
            return smoother.score.after_move(rows, noise.sd, -radius), smoother.score.after_move(rows, noise.sd, radius)
        trees, margins, bound = self._smoothed_margins(smoother, rows, noise)
        tests = np.where(spread > 0, trees.draws_on_path(), 0).max(axis=1, initial=1)
        radii = radius * np.sqrt(tests)
        low, high = certified_interval(trees.model, margins, bound, radii)
        if n_regions > 0 and not noise.is_per_tree and spread.any():
            sharp = SharpCertificate(trees.model, rows, noise, trees.method, margins, bound, n_regions, self.n_jobs)
            low, high = sharp.interval(np.full(len(rows), radius), low, high)
        link = trees.model.link
        return link.answers(low), link.answers(high)
