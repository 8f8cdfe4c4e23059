"""Stability of a learner: how much its models differ between resamples, and what combining them gains.

The disagreement does not look at the true targets: for classes it is the chance that two models predict
different classes for a row, for numbers the squared difference of two predictions divided by the same for two targets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from tremula.diagnostics.decomposition.learning_sets import FEWEST_MODELS, MOST_MODELS, Sizes, divide
from tremula.diagnostics.decomposition.losses import observed_target
from tremula.diagnostics.decomposition.retraining import (
    Answers,
    Task,
    ask_labels,
    ask_numbers,
    gather_answers,
    read_task,
    require_estimator,
)
from tremula.diagnostics.decomposition.terms import spread_of_squares
from tremula.diagnostics.significance.intervals import check_confidence, interval_of, interval_of_rows
from tremula.display import ShortTable, ShownAsTable
from tremula.parameters import check_jobs, check_number
from tremula.seeds import RandomState, make_generator, make_root_seed
from tremula.uncertainty.leave_one_out import RowDraw, largest_change

# Words for a disagreement below each of these.
GRADES = ((0.05, "stable"), (0.1, "fairly stable"), (np.inf, "unstable"))


@dataclass(frozen=True, repr=False)
class Stability(ShownAsTable):
    """How much the models of one learner differ, and how much combining them lowers the error.

    Attributes
    ----------
    kind : str
        "classification" or "regression".
    disagreement : float
        Classification: the share of rows on which two models predict different classes. Regression: the variance of the
        models' predictions for a row, averaged over rows, divided by the variance of the target.
    interval : tuple of float
        Its confidence interval, over test rows and models.
    error : float
        Mean error of a single model: share of wrong predictions, or mean squared error. The model is trained on a
        resample, so its error is slightly higher than that of a model trained on all rows.
    combined_error : float
        Error of the vote, or the mean, of the models that were not trained on the row.
    gain_interval : tuple of float
        Confidence interval of `error` minus `combined_error`, over test rows and for these models.
    per_row : ndarray
        Disagreement at each test row.
    n_models : int
        Number of models.
    confidence : float
        Confidence of the interval.
    n_rows : int
        Number of rows that bagging would be trained on.
    largest_disagreement : float
        Disagreement that no learner exceeds: 1 - 1 / the number of classes; for numbers, a quarter of the squared range
        of the target over its variance, as long as predictions stay within the range.
    """

    kind: str
    disagreement: float
    interval: tuple[float, float]
    error: float
    combined_error: float
    gain_interval: tuple[float, float]
    per_row: np.ndarray
    n_models: int
    confidence: float = 0.95
    n_rows: int = 0
    largest_disagreement: float = float("nan")

    @property
    def bagged_change(self) -> float:
        """How far bagging of this learner moves when one row is left out, at most, by its disagreement.

        The root of the mean over rows of the squared change: of the shares of votes, summed over classes; or of the
        mean prediction, in standard deviations of the target. It is for bootstrap samples and many members.
        """
        return self._largest_change(max(self.disagreement, 0.0))

    @property
    def bagged_bound(self) -> float:
        """The same for any learner: proven without looking at the models."""
        return self._largest_change(self.largest_disagreement)

    def _largest_change(self, variance: float) -> float:
        if self.n_rows < 2:
            return float("nan")
        return largest_change(RowDraw(self.n_rows, self.n_rows, bootstrap=True), variance)

    @property
    def grade(self) -> str:
        """The disagreement in a word: "stable", "fairly stable" or "unstable"."""
        return next(word for limit, word in GRADES if self.disagreement < limit)

    @property
    def reading(self) -> str:
        """One sentence on whether bagging is worthwhile."""
        low, high = self.gain_interval
        promise = "bagging may help" if low > 0 else "bagging may hurt" if high < 0 else "no clear gain from bagging"
        if self.grade == "stable":
            promise = "bagging will change little"
        errors = f"error {self.error:.4g} alone, {self.combined_error:.4g} combined"
        return f"{self.grade} (disagreement {self.disagreement:.3f}): {promise}, {errors}"

    def _short_table(self) -> ShortTable:
        (low, high), (least, most) = self.interval, self.gain_interval
        rows = [
            ("disagreement", f"{self.disagreement:.4f}", f"{low:.4f} to {high:.4f}"),
            ("error alone", f"{self.error:.4g}", ""),
            ("error combined", f"{self.combined_error:.4g}", ""),
            ("gain", f"{self.error - self.combined_error:.4g}", f"{least:.4g} to {most:.4g}"),
            ("change of bagging without a row", f"{self.bagged_change:.4f}", f"at most {self.bagged_bound:.4f}"),
        ]
        return ShortTable(self.reading, ["", "value", f"{100 * self.confidence:g} % interval"], rows)

    def __str__(self) -> str:
        return self.reading


def _combined_losses(answers: Answers, target: np.ndarray, numeric: bool) -> np.ndarray:
    """Return at each row the loss of the vote (ties to the first class), or of the mean answer."""
    together = (answers.values * answers.tested[:, :, None]).sum(axis=0) / answers.tested.sum(axis=0)[:, None]
    if numeric:
        return np.asarray(((together - target) ** 2)[:, 0])
    return np.asarray((together.argmax(axis=1) != target.argmax(axis=1)).astype(np.float64))


def _largest_disagreement(task: Task) -> float:
    """Return the variance of the most different answers: half of them at each end, or each class as often."""
    if task.classes is None:
        return float(np.ptp(task.target) ** 2 / (4.0 * task.target.var()))
    return 1.0 - 1.0 / len(task.classes)


def stability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scheme: Any = "bootstrap",
    n_models: int = 25,
    train_size: int | float | None = None,
    test_size: int | float | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Stability:
    """Measure how much the models of a learner differ when they are trained on resamples of the same data.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier or regressor; copies of it are trained.
    X : array-like or frame of shape (n_rows, n_attributes)
        The data.
    y : array-like of shape (n_rows,)
        The target.
    scheme : {"pool", "fresh", "bootstrap", "subsampled_cv"} or iterable of pairs, default="bootstrap"
        How learning sets are drawn, as for `bias_variance`; "bootstrap" is what bagging does.
    n_models : int, default=25
        Number of learning sets.
    train_size : int, float or None, default=None
        As for `bias_variance`.
    test_size : int, float or None, default=None
        As for `bias_variance`; None with "bootstrap" compares the models on their out-of-bag rows.
    confidence : float, default=0.95
        Confidence of the interval.
    n_jobs : int or None, default=None
        Number of models trained in parallel, as in joblib.
    random_state : int, RandomState, Generator or None, default=None
        Draws learning sets and the seeds of the copies.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tremula import C45Classifier
    >>> from tremula.diagnostics import stability
    >>> X, y = load_wine(return_X_y=True)
    >>> neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier())
    >>> print(stability(neighbours, X, y, random_state=0))
    stable (disagreement 0.04...): bagging will change little, error ... alone, ... combined
    >>> print(stability(C45Classifier(), X, y, random_state=0))
    unstable (disagreement 0.1...): bagging may help, error ... alone, ... combined
    """
    require_estimator(estimator)
    check_number("n_models", n_models, FEWEST_MODELS, MOST_MODELS, whole=True)
    check_jobs("n_jobs", n_jobs)
    confidence = check_confidence(confidence)
    random = make_generator(random_state)
    numeric = is_regressor(estimator)
    task = read_task(X, y, numeric)
    n_rows = len(task.target)
    sizes = Sizes.of(n_models, train_size, test_size, n_rows)
    divisions = divide(scheme, n_rows, sizes, random)
    ask = ask_numbers if numeric else ask_labels
    answers = gather_answers(estimator, task, divisions, ask, make_root_seed(random), n_jobs)
    target = observed_target(task, answers.rows)
    # Half the chance that two models differ is the variance of Kohavi and Wolpert.
    unit = 1.0 / float(task.target.var()) if numeric else 2.0
    spread = spread_of_squares(answers.values, answers.tested, target, 1.0 if numeric else 0.5)
    disagreement, left_out = unit * spread.corrected, unit * spread.corrected_left_out.mean(axis=1)
    combined = _combined_losses(answers, target, numeric)
    gain = spread.loss - combined
    return Stability(
        kind="regression" if numeric else "classification",
        disagreement=float(disagreement.mean()),
        interval=interval_of(disagreement, left_out, confidence),
        error=float(spread.loss.mean()),
        combined_error=float(combined.mean()),
        gain_interval=interval_of_rows(gain, confidence),
        per_row=disagreement,
        n_models=answers.n_models,
        confidence=confidence,
        n_rows=n_rows,
        largest_disagreement=_largest_disagreement(task),
    )
