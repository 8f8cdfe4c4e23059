"""Dual perturb and combine around any classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tremula.data.target import read_known_classes
from tremula.errors import InvalidParameter, InvalidTarget
from tremula.parameters import check_choice, check_number, with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import AMOUNT_OF_NOISE
from tremula.persistence.registry import storable
from tremula.smoothing.base import SEARCH, TUNING, DualPerturb
from tremula.smoothing.certificate import UNITS, certified_radii, radii_in_unit, tested_nominal
from tremula.smoothing.inner_estimator import check_target_type
from tremula.smoothing.methods import METHODS, LinearSmoother
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sharp_certificate import MOST_REGIONS, SharpCertificate
from tremula.trees.cart import CARTClassifier

Floats = NDArray[np.float64]

CLASS_SCORINGS = ("error", "log_loss")


def _linear_radius(smoother: LinearSmoother, rows: Floats, noise: Noise, spread: Floats, unit: str) -> Floats:
    """Return the distance to the plane where two classes tie, which does not depend on the noise."""
    score = smoother.score
    deviations = score.deviations(noise.sd, len(rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        radii = np.where(deviations > 0, np.abs(score.scores(rows)) / deviations, 0.0)
    is_used = (score.coefficients != 0).astype(np.int64)
    return radii_in_unit(radii, unit, spread, is_used, np.zeros(len(is_used), dtype=bool))


@storable
@with_parameters(
    estimator="The estimator to wrap, fitted or not; by default a CART tree by symmetric uncertainty. A fitted one "
    "is used as it is.",
    noise=AMOUNT_OF_NOISE,
    method=choice(METHODS),
    combine="Whether the class distributions of the model are averaged over the noise, or its labels.",
    tuning=TUNING,
    scoring=choice(CLASS_SCORINGS),
    search=SEARCH,
    n_jobs="Number of blocks of rows computed in parallel; answers do not depend on it.",
    random_state="Draws noise and folds.",
)
class DualPerturbClassifier(ClassifierMixin, DualPerturb):
    """Dual perturb and combine: the average prediction of a classifier over perturbed copies of the row.

    Attributes
    ----------
    estimator_ : fitted estimator
        The wrapped model.
    method_ : {"exact", "path", "sample"}
        How the model is smoothed.
    method_reason_ : str
        Why: how the model was read, or why it has no exact form.
    classes_ : array
        The class labels.
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
    DualPerturbRegressor : The same for numbers.

    Notes
    -----
    Without noise the predictions are those of the model itself, bit for bit. If a model applies a link to the sum of
    its trees, as boosting does, the sum is smoothed: `predict_proba` is the link of the expected sum, not the expected
    probability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier, DualPerturbClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = C45Classifier().fit(X, y)
    >>> soft = DualPerturbClassifier(tree, noise=0.2).fit(X)
    >>> tree.predict_proba(X[70:71]).round(3), soft.predict_proba(X[70:71]).round(3)
    (array([[0.   , 0.022, 0.978]]), array([[0.   , 0.327, 0.673]]))
    >>> soft.certified_radius(X[70:71]).round(2)
    array([0.46])
    """

    _is_classifier: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        noise: Any = "auto",
        *,
        method: str = "auto",
        combine: str = "average",
        flip: float = 0.0,
        tuning: str = "auto",
        scoring: str = "log_loss",
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
        self.combine = combine
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
        return CARTClassifier(criterion="symmetric_uncertainty")

    def _check_kind(self, model: Any) -> None:
        check_target_type(model, "classifier", "DualPerturbRegressor")

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        codes = read_known_classes(y, n_rows, self.classes_)
        if len(codes) and (codes < 0).all():
            raise InvalidTarget(
                f"no row has a class that {type(self.estimator_).__name__} knows, such as {self.classes_[0]!r}: give "
                "classes as they were in its training"
            )
        return codes

    def predict_proba(self, X: Any, X_std: Any = None, return_std: bool = False) -> Any:
        """Return the smoothed class probabilities of each row.

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
        array of shape (n_rows, n_classes), or a tuple of two such arrays
        """
        return self._with_deviations(X, X_std) if return_std else self.smooth(X, X_std).answers

    def predict(self, X: Any, X_std: Any = None) -> NDArray[Any]:
        """Return the class of the largest smoothed probability; ties go to the first class.

        A model of scikit-learn with a decision threshold compares the smoothed probability with it.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value.

        Returns
        -------
        array of shape (n_rows,)
        """
        smoother, rows, noise = self._read(X, X_std)
        if noise.is_none:
            return self._wrapped.labels(X)
        return np.asarray(self.classes_[self._wrapped.decide(self._smoothed(X, smoother, rows, noise).answers)])

    def gradient(self, X: Any, X_std: Any = None) -> Floats:
        """Return the derivative of each smoothed class probability with respect to each attribute.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value.

        Returns
        -------
        array of shape (n_rows, n_classes, n_attributes)
            0 for nominal attributes, missing values and attributes without noise.
        """
        return self._slopes(X, X_std)

    def certified_radius(self, X: Any, X_std: Any = None, unit: str = "noise", n_regions: int = 1) -> Floats:
        """Return the distance that each row may move, in any direction, without a change of its class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value.
        unit : {"noise", "attribute"}, default="noise"
            "noise" gives one number per row: the length of the move, in standard deviations of the noise.
            "attribute" gives the distance that each attribute may move alone, in its own units.
        n_regions : int, default=1
            Number of regions of the ball of moves whose bounds are computed from the boxes of the trees. With 0 the
            radius follows from the range of the margins alone: in no time, but it is often several times smaller. With
            more than 1 it grows further, and so does the time.

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_attributes)
            Only numeric attributes with noise move; levels of nominal attributes stay. Infinite if no move can change
            the class.

        Notes
        -----
        The radius is deterministic: predictions are exact, so no move of the given length changes the class. It is the
        larger of two: that of Cohen et al. (2019), from the range of the margins (for ``method="path"``, which is not
        the mean over one noise vector, divided by the root of the number of tests of an attribute on a path), and that
        from the probabilities of the boxes of the trees, unless each tree has noise of its own. The unit of a move is
        then the least noise of any tree. Models smoothed by sampling have no certificate.
        """
        check_choice("unit", unit, UNITS)
        check_number("n_regions", n_regions, 0, MOST_REGIONS, whole=True)
        smoother, rows, noise = self._read(X, X_std)
        spread = self._spread(smoother, rows, noise)
        threshold = self._wrapped.threshold
        if threshold is not None and threshold.threshold != 0.5:
            raise InvalidParameter(
                f"{type(self.estimator_).__name__} has a decision threshold of {threshold.threshold:.3g}, for which "
                "there is no certificate: wrap the classifier inside it"
            )
        if isinstance(smoother, LinearSmoother):
            return _linear_radius(smoother, rows, noise, spread, unit)
        trees, margins, bound = self._smoothed_margins(smoother, rows, noise)
        radii = certified_radii(trees.model, margins, bound)
        if not spread.any():
            radii = np.zeros(len(rows))
        n_draws, nominal = trees.draws_on_path(), tested_nominal(trees.model)
        by_range = radii_in_unit(radii, unit, spread, n_draws, nominal)
        if n_regions == 0 or noise.is_per_tree or not spread.any():
            return by_range
        sharp = SharpCertificate(trees.model, rows, noise, trees.method, margins, bound, n_regions, self.n_jobs)
        radii = sharp.radii(radii_in_unit(radii, "noise", spread, n_draws, nominal))
        return np.maximum(by_range, radii_in_unit(radii, unit, spread, np.minimum(n_draws, 1), nominal))
