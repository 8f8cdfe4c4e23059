"""Trials of every interval that tremula prints, on data whose truth is known or was simulated with many more rows.

Each trial returns whether the interval holds the truth, or the share of intervals that do. `error_rates.py` repeats
them.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import stats
from sklearn.model_selection import StratifiedKFold
from stated_rate import COVERAGE, StatedRate

from tremula.diagnostics import (
    binomial_interval,
    corrected_t_test,
    difference_of_proportions,
    five_by_two_f_test,
    mcnemar_test,
    paired_t_test,
)
from tremula.lab.comparison.analyses.shuffling import Trained, rises
from tremula.lab.comparison.best_method.classes import describe_calibration
from tremula.lab.comparison.best_method.held_out import HeldOut
from tremula.lab.comparison.best_method.numbers import describe_groups, describe_residuals
from tremula.lab.comparison.model_pair import compare_numbers
from tremula.lab.datasets.dataset import Dataset
from tremula.smoothing.distribution import drawn_quantiles
from tremula.smoothing.sampled import make_draws, sample_moments

REACH = 1.96  # standard errors on either side of 95 %
PAST = 1_000_000  # seeds of the truth are above those of the trials


def holds(interval: tuple[float, float], truth: float) -> bool:
    low, high = interval
    return bool(low <= truth <= high)


# --- error rates and their differences ---


@lru_cache
def error_of_nearest_mean(n_train: int) -> float:
    """Return the expected error of nearest means learnt from so many rows: three attributes, means 0.5 apart."""
    random = np.random.default_rng(PAST)
    first, second = random.normal(size=(2, 20_000, 3)) / np.sqrt(n_train / 2) + np.array([[[0.0]], [[0.5]]])
    along = second - first
    middle = (along * (first + second)).sum(axis=1) / 2
    length = np.sqrt((along**2).sum(axis=1))
    of_first = stats.norm.sf(middle / length)
    of_second = stats.norm.cdf((middle - 0.5 * along.sum(axis=1)) / length)
    return float((of_first + of_second).mean() / 2)


def mean_error(seed: int) -> bool:
    """The line of a method in the report: the mean error of ten folds, corrected for shared training rows."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], 100)
    X = random.normal(size=(200, 3)) + 0.5 * y[:, None]
    errors = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
        means = np.stack([X[train[y[train] == label]].mean(axis=0) for label in (0, 1)])
        errors.append((((X[test, None] - means) ** 2).sum(axis=2).argmin(axis=1) != y[test]).mean())
    result = corrected_t_test(errors, np.zeros(10), n_train=180, n_test=20)
    return holds(result.interval, error_of_nearest_mean(180))


def one_rate(seed: int, method: str, rate: float, n_rows: int) -> bool:
    n_wrong = int(np.random.default_rng(seed).binomial(n_rows, rate))
    return holds(binomial_interval(n_wrong, n_rows, method=method), rate)


def difference_on_one_test_set(seed: int, by: str, n_rows: int = 200) -> bool:
    """8 % of the rows are wrong in the first only, 5 % in the second only, and 10 % in both."""
    draw = np.random.default_rng(seed).random(n_rows)
    first, second = draw < 0.18, (draw >= 0.08) & (draw < 0.23)
    if by == "mcnemar":
        return holds(mcnemar_test(first, second).interval, 0.03)
    return holds(difference_of_proportions(int(first.sum()), int(second.sum()), n_rows).interval, 0.03)


def difference_of_two(seed: int, test: Any, n_values: int = 10) -> bool:
    """Paired values with a true difference of 1, independent from split to split."""
    first, second = np.random.default_rng(seed).normal(size=(2, n_values))
    return holds(test(first + 1.0, second).interval, 1.0)


def gain_of_smoothing(seed: int) -> bool:
    random = np.random.default_rng(seed)
    target = random.normal(size=200)
    before, after = target + np.array([[1.2], [1.0]]) * random.normal(size=(2, 200))
    interval = compare_numbers((before, after), target)[0].interval
    return interval is not None and holds(interval, 0.2)


# --- the best method on its held-out rows ---


def mean_residual(seed: int) -> bool:
    residuals = np.random.default_rng(seed).exponential(size=100) - 1.0
    described = describe_residuals(HeldOut(np.arange(100), np.zeros(100), residuals), seed)
    return holds((described["mean_low"], described["mean_high"]), 0.0)


def groups_of_numbers(seed: int) -> float:
    random = np.random.default_rng(seed)
    predicted = random.normal(size=200)
    held_out = HeldOut(np.arange(200), predicted + random.standard_t(5, size=200), predicted)
    return float(np.mean([holds((each["low"], each["high"]), each["predicted"]) for each in describe_groups(held_out)]))


def bins_of_probabilities(seed: int) -> float:
    random = np.random.default_rng(seed)
    share = random.uniform(size=300)
    truth, classes = np.where(random.random(300) < share, "b", "a"), np.array(["a", "b"])
    answers, shares = classes[(share > 0.5).astype(int)], np.column_stack([1 - share, share])
    described = describe_calibration(HeldOut(np.arange(300), truth, answers, shares, classes))
    assert described is not None
    return float(np.mean([holds((each["low"], each["high"]), each["predicted"]) for each in described["bins"]]))


# --- shuffled attributes ---


class Sign:
    """A model that is given: whether the sum of two attributes is positive."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (X.sum(axis=1) > 0).astype(int)


def made_dataset(seed: int, n_rows: int) -> Dataset:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 2)) * [1.0, 0.5]
    return Dataset("made", "made", X, (X.sum(axis=1) + random.normal(size=n_rows) > 0).astype(int))


def _rises_by_rows(seed: int, n_rows: int) -> np.ndarray:
    rows = np.arange(n_rows)
    return rises(Trained(Sign(), rows, rows, is_out_of_bag=False), made_dataset(seed, n_rows), seed)


@lru_cache
def _true_rises() -> np.ndarray:
    return _rises_by_rows(PAST, 400_000)[0]


def shuffled_rows(seed: int) -> float:
    _, low, high = _rises_by_rows(seed, 200)
    return float(((low <= _true_rises()) & (_true_rises() <= high)).mean())


# --- smoothing by draws ---


def drawn_quantile(seed: int) -> float:
    drawn = np.random.default_rng(seed).exponential(size=(400, 1, 1))
    probabilities = np.array([0.05, 0.5, 0.95])
    _, low, high = drawn_quantiles(drawn, probabilities)
    truth = -np.log(1 - probabilities)
    return float(((low <= truth) & (truth <= high)).mean())


def drawn_mean(seed: int, moment: str) -> bool:
    """Draws of a step: 1 above 0, at a row that noise moves across the step."""
    draws = make_draws(seed, 400, 1)
    moments = sample_moments(lambda rows: (rows > 0) * 1.0 + rows, np.array([[0.5]]), np.array([1.0]), draws)
    share = stats.norm.cdf(0.5)
    if moment == "mean":
        error = float(moments.deviations[0, 0]) / np.sqrt(400)
        return abs(float(moments.means[0, 0]) - share - 0.5) <= REACH * error
    deviation = np.sqrt(1 + share * (1 - share) + 2 * stats.norm.pdf(0.5))
    return abs(float(moments.deviations[0, 0]) - deviation) <= REACH * float(moments.deviation_errors[0, 0])


def coverage(
    statement: str, data: str, trial: Any, *, stated: float | None = 0.95, n_trials: int = 1000, reason: str = ""
) -> StatedRate:
    return StatedRate(statement, data, COVERAGE, stated, trial, n_trials, reason)


ONE_SET = "200 test rows, 18 % and 15 % wrong"
TOO_SHORT = "the normal approximation fails where few rows are wrong; it is shown where a paper used it"
INTERVALS = [
    coverage("mean error of a method", "200 rows, nearest mean, 10 folds", mean_error),
    *(
        coverage(
            f"error rate, {method}",
            f"100 test rows, {100 * rate:g} % wrong",
            partial(one_rate, method=method, rate=rate, n_rows=100),
            reason=TOO_SHORT if method == "normal" else "",
        )
        for method in ("wilson", "exact", "normal")
        for rate in (0.2, 0.02)
    ),
    coverage("difference, McNemar", ONE_SET, partial(difference_on_one_test_set, by="mcnemar")),
    coverage("difference, proportions", ONE_SET, partial(difference_on_one_test_set, by="proportions")),
    coverage("difference, paired t", "10 independent splits", partial(difference_of_two, test=paired_t_test)),
    coverage("difference, 5x2 F", "10 independent values", partial(difference_of_two, test=five_by_two_f_test)),
    coverage("`smooth`: gain of the root mean squared error", "200 rows", gain_of_smoothing),
    coverage("mean residual", "100 rows, skewed", mean_residual),
    coverage("mean of a group of predictions", "200 rows, 10 groups", groups_of_numbers),
    coverage("share of a bin of probabilities", "300 rows", bins_of_probabilities),
    coverage("rise of the error, shuffled rows", "200 rows", shuffled_rows),
    coverage("drawn quantile", "400 draws", drawn_quantile),
    coverage("smoothed by draws, standard error", "400 draws", partial(drawn_mean, moment="mean")),
    coverage("deviation by draws, standard error", "400 draws", partial(drawn_mean, moment="deviation")),
]
