"""Linear models under Gaussian noise, in closed form: the linear score of a perturbed row is normally distributed.

The answer is the mean of a function of one normal number: unchanged for the identity, exp(a + s²/2) for a log
link, Φ(a/s) for the vote of two classes, and a quadrature with an error below 1e-13 for the logistic curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

Floats = NDArray[np.float64]

QUADRATURE_ERROR = 1e-13
SQRT_TWO_PI = np.sqrt(2.0 * np.pi)

# The trapezoidal rule is exact up to exp(-2π d / h), where d is the distance of the integrand's nearest pole from the
# real line: π/s for the logistic curve as seen by a standard normal, π for the logistic density.
NORMAL_NODES = np.linspace(-9.0, 9.0, 41)
LOGISTIC_NODES = np.linspace(-40.0, 40.0, 179)
NORMAL_WEIGHTS = np.exp(-0.5 * NORMAL_NODES**2) / np.exp(-0.5 * NORMAL_NODES**2).sum()
LOGISTIC_WEIGHTS = expit(LOGISTIC_NODES) * expit(-LOGISTIC_NODES)
LOGISTIC_WEIGHTS = LOGISTIC_WEIGHTS / LOGISTIC_WEIGHTS.sum()

REGRESSORS = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV LassoLars "
    "LassoLarsCV LassoLarsIC LinearRegression LinearSVR OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV "
    "QuantileRegressor Ridge RidgeCV SGDRegressor TheilSenRegressor"
)
# Link of each linear model of scikit-learn, from its score to its prediction.
LINKS_OF_MODELS: dict[str, str] = {
    **dict.fromkeys(REGRESSORS.split(), "identity"),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor"), "exponential"),
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"), "logistic"),
    **dict.fromkeys(("LinearSVC", "Perceptron", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier"), "step"),
}


def expected_logistic(scores: Floats, deviations: Floats) -> Floats:
    """Mean of the logistic curve at normal numbers of given means and standard deviations, within 1e-13.

    Examples
    --------
    >>> import numpy as np
    >>> expected_logistic(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0])).round(6)
    array([0.5     , 0.731059, 0.647726])
    """
    out = np.empty(len(scores))
    narrow = deviations < 1.0
    a, s = scores[narrow, None], deviations[narrow, None]
    out[narrow] = expit(a + s * NORMAL_NODES) @ NORMAL_WEIGHTS
    # P(L < a + sZ) for a logistic L: first over Z, then over L.
    a, s = scores[~narrow, None], deviations[~narrow, None]
    out[~narrow] = ndtr((a - LOGISTIC_NODES) / s) @ LOGISTIC_WEIGHTS
    return out


def logistic_slope(scores: Floats, deviations: Floats) -> Floats:
    """Return the derivative of `expected_logistic` in the score."""
    out = np.empty(len(scores))
    narrow = deviations < 1.0
    at = scores[narrow, None] + deviations[narrow, None] * NORMAL_NODES
    out[narrow] = (expit(at) * expit(-at)) @ NORMAL_WEIGHTS
    s = deviations[~narrow, None]
    away = (scores[~narrow, None] - LOGISTIC_NODES) / s
    out[~narrow] = (np.exp(-0.5 * away**2) / (SQRT_TWO_PI * s)) @ LOGISTIC_WEIGHTS
    return out


def _logistic_variance(scores: Floats, deviations: Floats) -> Floats:
    # The derivative of the curve is p(1 - p), so E p² = E p - slope.
    means = expected_logistic(scores, deviations)
    return means * (1.0 - means) - logistic_slope(scores, deviations)


def _step_variance(scores: Floats, deviations: Floats) -> Floats:
    shares = expected_step(scores, deviations)
    return shares * (1.0 - shares)


def expected_step(scores: Floats, deviations: Floats) -> Floats:
    """Probability that a normal number is above 0; a score without noise is above or not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = ndtr(scores / deviations)
    return np.where(deviations > 0, shares, (scores > 0).astype(np.float64))


def _step_slope(scores: Floats, deviations: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.exp(-0.5 * (scores / deviations) ** 2) / (SQRT_TWO_PI * deviations)
    return np.where(deviations > 0, slopes, 0.0)


def _expected_exponential(scores: Floats, deviations: Floats) -> Floats:
    return np.exp(scores + 0.5 * deviations**2)


def _exponential_variance(scores: Floats, deviations: Floats) -> Floats:
    return np.exp(2 * scores + deviations**2) * np.expm1(deviations**2)


Curve = Callable[[Floats, Floats], Floats]

# For each link: the mean of the answer, its variance, and the derivative of the mean in the score.
MEANS: dict[str, tuple[Curve, Curve, Curve]] = {
    "identity": (lambda a, s: a, lambda a, s: s**2, lambda a, s: np.ones_like(a)),
    "exponential": (_expected_exponential, _exponential_variance, _expected_exponential),
    "logistic": (expected_logistic, _logistic_variance, logistic_slope),
    "step": (expected_step, _step_variance, _step_slope),
}


@dataclass(frozen=True, eq=False)
class LinearScore:
    """A fitted linear model: coefficients, intercept and link.

    Attributes
    ----------
    coefficients : float64 array (n_attributes,)
    intercept : float
    link : {"identity", "exponential", "logistic", "step"}
    """

    coefficients: Floats
    intercept: float
    link: str

    def scores(self, rows: Floats) -> Floats:
        """Score of each row without noise."""
        return rows @ self.coefficients + self.intercept

    def deviations(self, noise_sd: Floats, n_rows: int) -> Floats:
        """Return the standard deviation of each row's score under the noise."""
        return np.broadcast_to(np.sqrt((noise_sd**2) @ self.coefficients**2), (n_rows,))

    def expected(self, rows: Floats, noise_sd: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each row's answer under the noise.

        Examples
        --------
        >>> import numpy as np
        >>> score = LinearScore(np.array([3.0, 4.0]), 1.0, "identity")
        >>> score.expected(np.array([[1.0, 1.0]]), np.array([1.0, 1.0]))
        (array([8.]), array([5.]))
        """
        scores, deviations = self.scores(rows), self.deviations(noise_sd, len(rows))
        mean, variance, _ = MEANS[self.link]
        return mean(scores, deviations), np.sqrt(np.maximum(variance(scores, deviations), 0.0))

    def quantiles(self, rows: Floats, noise_sd: Floats, probabilities: Floats) -> Floats:
        """Quantiles of each row's answer under the noise, (n_rows, n_quantiles): the answer rises with the score.

        Examples
        --------
        >>> import numpy as np
        >>> score = LinearScore(np.array([3.0, 4.0]), 1.0, "identity")
        >>> score.quantiles(np.array([[1.0, 1.0]]), np.array([1.0, 1.0]), np.array([0.5, 0.975])).round(1)
        array([[ 8. , 17.8]])
        """
        deviations = self.deviations(noise_sd, len(rows))[:, None]
        scores = self.scores(rows)[:, None] + np.where(deviations > 0, deviations, 0.0) * ndtri(probabilities)
        return MEANS[self.link][0](scores.ravel(), np.zeros(scores.size)).reshape(scores.shape)

    def after_move(self, rows: Floats, noise_sd: Floats, distance: float) -> Floats:
        """Mean answer after each row moved along the gradient of the score by `distance` standard deviations."""
        deviations = self.deviations(noise_sd, len(rows))
        return MEANS[self.link][0](self.scores(rows) + distance * deviations, deviations)

    def gradient(self, rows: Floats, noise_sd: Floats) -> Floats:
        """Return the derivative of each row's mean answer in every attribute."""
        slopes = MEANS[self.link][2](self.scores(rows), self.deviations(noise_sd, len(rows)))
        return slopes[:, None] * self.coefficients


def is_linear(model: Any) -> bool:
    """Whether a model is one of scikit-learn's linear ones, fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> is_linear(LinearRegression()), is_linear(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]))
    (False, True)
    """
    kind = type(model)
    is_known = kind.__name__ in LINKS_OF_MODELS and kind.__module__.startswith("sklearn.")
    return is_known and hasattr(model, "coef_")


def read_linear(model: Any, combine: str) -> LinearScore | None:
    """Return a linear model of scikit-learn as a score, or None if it has no closed form.

    Models of more than two classes have none: the largest of several scores is not a function of one normal number.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> read_linear(LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0]), "average").coefficients.round(6)
    array([2.])
    """
    if not is_linear(model):
        return None
    kind = type(model)
    link = LINKS_OF_MODELS[kind.__name__]
    if kind.__name__ == "SGDClassifier" and model.loss == "log_loss":
        link = "logistic"
    if link == "logistic" and combine == "vote":
        link = "step"
    coefficients, intercept = np.asarray(model.coef_, dtype=np.float64), np.ravel(model.intercept_)
    if coefficients.size != coefficients.shape[-1] or len(intercept) != 1:
        return None
    return LinearScore(coefficients.ravel(), float(intercept[0]), link)
