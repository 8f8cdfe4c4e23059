"""Trials of every test and rule that tremula prints a decision by, on data where what it may say is false.

Each trial returns 1 if the false statement is made, and 0 otherwise. `error_rates.py` repeats them.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from decisions import (
    MAKERS,
    SHUFFLED_MAKERS,
    TIME_MAKERS,
    beats_constant,
    best_is_worse,
    comparison_of,
    incomplete_differ,
    made_errors,
    shown_as_planned,
    shown_until_clear,
    worse_in_time,
)
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, StratifiedShuffleSplit
from stated_rate import ERROR, StatedRate

import tremula as tm
from tremula.diagnostics import (
    adjust_p_values,
    compare_over_datasets,
    corrected_t_test,
    decide,
    difference_of_proportions,
    five_by_two_f_test,
    mcnemar_test,
    paired_t_test,
    plan_looks,
)
from tremula.lab.comparison.model_pair import compare_classes, compare_numbers
from tremula.lab.papers.verdict import judge_mean, judge_means, judge_on_test_set
from tremula.smoothing.noise.grid import Trial, grid_search

LEVEL = 0.05
N_ROWS = 200
SPLITTERS = {
    "10 folds": partial(StratifiedKFold, 10, shuffle=True),
    "10 times 10 folds": partial(RepeatedStratifiedKFold, n_splits=10, n_repeats=10),
    "5 times 2 folds": partial(RepeatedStratifiedKFold, n_splits=2, n_repeats=5),
    "one test set": partial(StratifiedShuffleSplit, 1, test_size=0.5),
}


# --- two methods, equally good: the nearest class mean, each on three attributes of its own ---


def wrong_marks(seed: int, splits: str) -> tuple[list[np.ndarray], int, int]:
    """Return which test rows each method gets wrong, (2, n_test) for each split, and the sizes of a split."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], N_ROWS // 2)
    X = random.normal(size=(2, N_ROWS, 3)) + 0.5 * y[:, None]
    marks = []
    for train, test in SPLITTERS[splits](random_state=seed).split(X[0], y):
        means = np.stack([X[:, train[y[train] == label]].mean(axis=1) for label in (0, 1)])
        distances = ((X[:, test][None] - means[:, :, None]) ** 2).sum(axis=3)
        marks.append(distances.argmin(axis=0) != y[test])
    return marks, len(train), len(test)


def by_paired_t(seed: int, splits: str) -> bool:
    marks, _, _ = wrong_marks(seed, splits)
    errors = np.array([each.mean(axis=1) for each in marks]).T
    return paired_t_test(*errors).p_value <= LEVEL


def by_corrected_t(seed: int, splits: str) -> bool:
    marks, n_train, n_test = wrong_marks(seed, splits)
    errors = np.array([each.mean(axis=1) for each in marks]).T
    return corrected_t_test(*errors, n_train=n_train, n_test=n_test).p_value <= LEVEL


def by_five_by_two(seed: int) -> bool:
    marks, _, _ = wrong_marks(seed, "5 times 2 folds")
    return five_by_two_f_test(*np.array([each.mean(axis=1) for each in marks]).T).p_value <= LEVEL


def by_mcnemar(seed: int, splits: str) -> bool:
    return mcnemar_test(*np.concatenate(wrong_marks(seed, splits)[0], axis=1)).p_value <= LEVEL


def by_proportions(seed: int) -> bool:
    (wrong,), _, n_test = wrong_marks(seed, "one test set")
    return difference_of_proportions(*wrong.sum(axis=1).tolist(), n_test).p_value <= LEVEL


def by_t_over_rows(seed: int) -> bool:
    """Compare log losses of 150 test rows, of two models that are equally far from the truth."""
    random = np.random.default_rng(seed)
    return paired_t_test(*random.exponential(size=(2, 150))).p_value <= LEVEL


def smoothing_changes_classes(seed: int, measure: int) -> bool:
    """Two models whose class shares have errors of the same size, by the error (0) or by the log loss (1)."""
    random = np.random.default_rng(seed)
    truth = random.uniform(0.05, 0.95, size=150)
    first, second = np.clip(truth + 0.1 * random.normal(size=(2, 150)), 0.01, 0.99)
    codes = (random.random(150) < truth).astype(np.int64)
    shares = np.column_stack([1 - first, first]), np.column_stack([1 - second, second])
    return compare_classes(shares, codes)[measure].verdict != "open"


def smoothing_changes_numbers(seed: int) -> bool:
    random = np.random.default_rng(seed)
    target = random.normal(size=150)
    predicted = target + random.normal(size=(2, 150))
    return compare_numbers((predicted[0], predicted[1]), target)[0].verdict != "open"


# --- many tests at once ---


def any_adjusted(seed: int, correction: str) -> bool:
    """Twelve tests of nothing."""
    random = np.random.default_rng(seed)
    p_values = [paired_t_test(*random.normal(size=(2, 10))).p_value for _ in range(12)]
    return bool((adjust_p_values(p_values, correction) <= LEVEL).any())


def false_share(seed: int) -> float:
    """Return the share of false findings among all, where six of twelve differences are real."""
    random = np.random.default_rng(seed)
    shifts = np.repeat([0.0, 1.5], 6)
    p_values = [paired_t_test(random.normal(size=10), random.normal(shift, size=10)).p_value for shift in shifts]
    found = adjust_p_values(p_values, "benjamini-hochberg") <= LEVEL
    return float(found[:6].sum() / max(found.sum(), 1))


def any_pair_differs(seed: int, correction: str) -> bool:
    comparison = comparison_of(made_errors(seed, 7, 0.0))
    return bool(decide(comparison, all_pairs=True, correction=correction).worse)


def any_differs_from_baseline(seed: int) -> bool:
    return bool(decide(comparison_of(made_errors(seed, 7, 0.0)), baseline="method 3").worse)


# --- many datasets ---


@lru_cache(maxsize=4096)
def ranked(seed: int, n_datasets: int = 20, n_methods: int = 5) -> Any:
    return compare_over_datasets(np.random.default_rng(seed).normal(0.3, 0.05, size=(n_datasets, n_methods)))


def by_friedman(seed: int) -> bool:
    return ranked(seed).friedman_p_value <= LEVEL


def by_iman_davenport(seed: int) -> bool:
    return ranked(seed).iman_davenport_p_value <= LEVEL


def by_nemenyi(seed: int) -> bool:
    ranking = ranked(seed)
    return bool(np.ptp(ranking.mean_ranks) >= ranking.critical_difference)


def by_wilcoxon(seed: int) -> bool:
    return bool((ranked(seed).p_values <= LEVEL).any())


def by_ranks_against(seed: int) -> bool:
    ranking = ranked(seed)
    return min(ranking.against(ranking.names[0]).values()) <= LEVEL


# --- probabilities and looks ---


def called_equal(seed: int) -> bool:
    """Two methods that differ by exactly the region are called equal for practical purposes, at any look."""
    errors = made_errors(seed, 2, 0.03, 10)
    for look in plan_looks(10):
        seen = comparison_of(errors[:, : 10 * look.repetitions])
        decision = decide(seen, region=0.03, share_of_level=look.share_of_level)
        if decision.undecided and decision.is_clear():
            return True
    return False


def called_worse_by_more(seed: int) -> bool:
    """Two methods that differ by exactly the region differ by more, with a probability of 95 %."""
    probabilities = decide(comparison_of(made_errors(seed, 2, 0.01)), region=0.01).verdicts[0].probabilities
    return max(probabilities.better, probabilities.worse) >= 0.95


# --- a right program is called a miss ---


def misses_mean(seed: int) -> bool:
    random = np.random.default_rng(seed)
    return judge_mean(random.normal(0.2, 0.03, size=10), random.normal(0.2, 0.03, size=100).mean(), 100).is_miss


def misses_means(seed: int) -> bool:
    ours, theirs = np.random.default_rng(seed).normal(0.2, 0.03, size=(2, 10))
    return judge_means(ours, theirs.mean(), theirs.std(ddof=1), 10).is_miss


def misses_test_set(seed: int) -> bool:
    """A program is run twice, with other draws, on the learning and test set of the paper."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(1300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=1300) > 0
    runs = [tm.BaggingClassifier(tm.C45Classifier(), n_estimators=20, random_state=2 * seed + run) for run in (0, 1)]
    ours, theirs = (1 - model.fit(X[:300], y[:300]).score(X[300:], y[300:]) for model in runs)
    return judge_on_test_set(ours, 1000, theirs, 1000).is_miss


# --- a choice ---


def noise_is_chosen(seed: int) -> bool:
    """Noise changes the loss of each of 200 rows, by a mean of zero, and more with its amount."""
    random = np.random.default_rng(seed)
    first, effects = random.exponential(size=200), random.normal(size=(2, 200))
    return (
        grid_search(
            lambda amount: Trial(amount, first + amount * effects[0] + amount**2 * effects[1]), np.ones(200), 2.0
        ).amount
        > 0
    )


OVERLAP = "splits share training rows, which the test does not know"
IN_TIME_REASONS = {
    "methods get better or worse": "later folds tell of later rows, and the test takes folds for a sample of all"
}
NEAREST_MEAN = "200 rows, nearest mean, "


def _rate(statement: str, data: str, trial: Any, *, stated: float | None = LEVEL, reason: str = "") -> StatedRate:
    n_trials = 500 if "10 times 10" in data else 1000
    return StatedRate(statement, data, ERROR, stated, trial, n_trials, reason)


def _decision(statement: str, judge: Any, data: str, n_methods: int, reason: str = "") -> StatedRate:
    trial = partial(_judged, judge=judge, data=data, n_methods=n_methods)
    return StatedRate(statement, f"{data}, {n_methods} methods", ERROR, LEVEL, trial, 500, reason)


def _judged(seed: int, judge: Any, data: str, n_methods: int) -> bool:
    return bool(judge(MAKERS[data], seed, n_methods, 0.0))


def _not_shown_as_planned(seed: int) -> bool:
    return not shown_as_planned(made_errors, seed, 2, 0.03)


TESTS = [
    _rate("corrected t", f"{NEAREST_MEAN}10 folds", partial(by_corrected_t, splits="10 folds")),
    _rate("corrected t", f"{NEAREST_MEAN}10 times 10 folds", partial(by_corrected_t, splits="10 times 10 folds")),
    *(
        _rate("paired t", f"{NEAREST_MEAN}{splits}", partial(by_paired_t, splits=splits), reason=OVERLAP)
        for splits in ("10 folds", "10 times 10 folds")
    ),
    _rate("paired t over rows", "150 test rows, exponential losses", by_t_over_rows),
    _rate("5x2 F", f"{NEAREST_MEAN}5 times 2 folds", by_five_by_two),
    _rate("McNemar", f"{NEAREST_MEAN}one test set", partial(by_mcnemar, splits="one test set")),
    _rate("McNemar", f"{NEAREST_MEAN}10 folds", partial(by_mcnemar, splits="10 folds")),
    _rate("proportions", f"{NEAREST_MEAN}one test set", by_proportions),
    _rate("`smooth`: the error changes", "150 rows, equal models", partial(smoothing_changes_classes, measure=0)),
    _rate("`smooth`: the log loss changes", "150 rows, equal models", partial(smoothing_changes_classes, measure=1)),
    _rate("`smooth`: the root mean squared error changes", "150 rows, equal models", smoothing_changes_numbers),
    *(
        _decision("the best is worse", best_is_worse, data, n_methods)
        for data in SHUFFLED_MAKERS
        for n_methods in (2, 7)
    ),
    _decision("a method beats the constant", beats_constant, "made errors", 7),
    *(_decision("`--until-clear`: a method is worse", shown_until_clear, data, 2) for data in SHUFFLED_MAKERS),
    *(
        _decision("`--cv time`: a method is worse", worse_in_time, data, 2, IN_TIME_REASONS.get(data, ""))
        for data in TIME_MAKERS
    ),
    _rate("`--until-clear`: equal, at any look", "made errors, it is the region", called_equal),
    _rate("a difference above the region, probability 95 %", "made errors, it is the region", called_worse_by_more),
    _rate("not shown in as many repetitions as planned", "made errors, 3 points", _not_shown_as_planned, stated=0.2),
    _rate("differs from the baseline, Holm", "made errors, 7 methods", any_differs_from_baseline),
    _rate("any pair differs, Holm", "made errors, 7 methods", partial(any_pair_differs, correction="holm")),
    _rate("any adjusted p-value, Holm", "12 tests of nothing", partial(any_adjusted, correction="holm")),
    _rate("any adjusted p-value, Bonferroni", "12 tests of nothing", partial(any_adjusted, correction="bonferroni")),
    _rate("share of false findings, Benjamini-Hochberg", "12 tests, 6 of nothing", false_share),
    _rate("methods differ, Friedman", "20 datasets, 5 methods", by_friedman),
    _rate("methods differ, Iman-Davenport", "20 datasets, 5 methods", by_iman_davenport),
    _decision("methods differ, Skillings-Mack", incomplete_differ, "made errors", 4),
    _rate("any pair differs, Nemenyi", "20 datasets, 5 methods", by_nemenyi),
    _rate("any pair differs, Wilcoxon and Holm", "20 datasets, 5 methods", by_wilcoxon),
    _rate("any differs from the baseline, ranks and Holm", "20 datasets, 5 methods", by_ranks_against),
    _rate("`reproduce`: a mean is missed", "the same distribution, 10 and 100 divisions", misses_mean),
    _rate("`reproduce`: a mean is missed, Welch", "the same distribution, 10 divisions", misses_means),
    _rate("`reproduce`: an error is missed", "two runs of bagging, one test set of 1,000 rows", misses_test_set),
    _rate("noise is chosen", "200 rows, noise changes nothing on average", noise_is_chosen, stated=None),
]
