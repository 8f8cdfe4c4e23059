"""Trials of the intervals that need many trained models: of bias and variance, of importances, of predictions.

Each trial returns whether the interval holds the truth, or the share of intervals that do. `error_rates.py` repeats
them. The truth is that of many more models.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from rates_of_intervals import PAST, REACH, coverage, holds, made_dataset

import tremula as tm
from tremula.diagnostics import bias_variance, stability
from tremula.diagnostics.significance.out_of_bag import out_of_bag_interval

FEW_ROWS = 80


def _forest(seed: int, n_members: int) -> Any:
    dataset = made_dataset(0, FEW_ROWS)
    return tm.RandomForestClassifier(n_estimators=n_members, max_depth=3, random_state=seed).fit(dataset.X, dataset.y)


@lru_cache
def _true_importances(kind: str) -> np.ndarray:
    dataset = made_dataset(0, FEW_ROWS)
    return np.asarray(getattr(_forest(PAST, 3000), kind)(dataset.X, dataset.y).importances)


def importances(seed: int, kind: str) -> float:
    """Other members, the same rows: 1.96 standard errors on either side of the importance."""
    dataset = made_dataset(0, FEW_ROWS)
    answer = getattr(_forest(seed, 50), kind)(dataset.X, dataset.y)
    distances = np.abs(answer.importances - _true_importances(kind))
    return float((distances <= REACH * answer.standard_errors).mean())


# --- bias, variance, stability ---


def _wave(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 1))
    return X, np.sin(6 * X[:, 0]) + 0.3 * random.normal(size=n_rows)


def _parts(seed: int, n_models: int, n_test: int) -> Any:
    return bias_variance(
        tm.CARTRegressor(max_depth=2),
        _wave,
        n_models=n_models,
        train_size=50,
        test_size=n_test,
        truth=lambda X: np.sin(6 * np.asarray(X)[:, 0]),
        noise=0.09,
        random_state=seed,
    )


@lru_cache
def _true_part(term: str) -> float:
    return float(getattr(_parts(PAST, 1500, 3000), term))


@lru_cache(maxsize=1024)
def _parts_of_trial(seed: int) -> Any:
    return _parts(seed, 20, 200)


def part_of_error(seed: int, term: str) -> bool:
    return holds(_parts_of_trial(seed).intervals[term], _true_part(term))


@lru_cache(maxsize=4096)
def _stability(seed: int) -> Any:
    X, y = _wave(100, seed)
    return stability(tm.CARTClassifier(max_depth=3), X, y > 0, n_models=15, random_state=seed)


@lru_cache
def _true_disagreement(n_trials: int = 300) -> float:
    return float(np.mean([_stability(PAST + number).disagreement for number in range(n_trials)]))


def disagreement(seed: int) -> bool:
    return holds(_stability(seed).interval, _true_disagreement())


@lru_cache
def _true_gain(n_trials: int = 300) -> float:
    measured = [_stability(PAST + number) for number in range(n_trials)]
    return float(np.mean([each.error - each.combined_error for each in measured]))


def gain_of_combining(seed: int) -> bool:
    return holds(_stability(seed).gain_interval, _true_gain())


# --- ensembles that say how sure they are ---


def _made(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + (0.3 + 0.3 * np.abs(X[:, 2])) * random.normal(size=n_rows)


N_TRAIN, N_TEST, N_TREES = 150, 100, 50


@lru_cache(maxsize=1024)
def _sure_of_numbers(seed: int) -> tm.Uncertainty:
    X, y = _made(seed, N_TRAIN)
    model = tm.RandomForestRegressor(n_estimators=N_TREES, min_samples_leaf=3, random_state=seed).fit(X, y)
    return tm.Uncertainty(model, X, y)


@lru_cache(maxsize=1024)
def _sure_of_classes(seed: int) -> tm.Uncertainty:
    X, y = _made(seed, N_TRAIN)
    model = tm.RandomForestClassifier(n_estimators=N_TREES, random_state=seed).fit(X, np.digitize(y, [-0.7, 0.7]))
    return tm.Uncertainty(model, X, np.digitize(y, [-0.7, 0.7]))


def interval_of_number(seed: int, method: str) -> float:
    X, y = _made(PAST + seed, N_TEST)
    low, high = _sure_of_numbers(seed).predict_interval(X, coverage=0.9, method=method).T
    return float(((low <= y) & (y <= high)).mean())


def between_quantiles(seed: int) -> float:
    X, y = _made(PAST + seed, N_TEST)
    low, high = _sure_of_numbers(seed).predict_quantiles(X, [0.05, 0.95]).T
    return float(((low <= y) & (y <= high)).mean())


def set_of_classes(seed: int, method: str, by_class: bool) -> float:
    """Return the share of test rows whose class is in the set; by class, the least share of a class."""
    X, y = _made(PAST + seed, N_TEST)
    codes = np.digitize(y, [-0.7, 0.7])
    is_in = _sure_of_classes(seed).predict_set(X, coverage=0.9, method=method, by_class=by_class)
    inside = np.asarray(is_in)[np.arange(N_TEST), codes]
    return float(np.mean([inside[codes == code].mean() for code in range(3)]) if by_class else inside.mean())


POINTS = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0], [-1.0, -0.5, 1.0, 0.0]])


def _answers_and_errors(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions for three rows, and their standard errors, which need more members than there are rows."""
    X, y = _made(seed, FEW_ROWS)
    model = tm.RandomForestRegressor(n_estimators=2 * FEW_ROWS, min_samples_leaf=3, random_state=seed).fit(X, y)
    return model.predict(POINTS), tm.Uncertainty(model, X, y).predict_std(POINTS)


@lru_cache
def _true_predictions(n_trials: int = 100) -> np.ndarray:
    return np.mean([_answers_and_errors(PAST + number)[0] for number in range(n_trials)], axis=0)


def standard_error(seed: int) -> float:
    """Other training rows and members: 1.96 standard errors on either side of the prediction."""
    answers, errors = _answers_and_errors(seed)
    return float((np.abs(answers - _true_predictions()) <= REACH * errors).mean())


@lru_cache(maxsize=1024)
def _out_of_bag(seed: int) -> tuple[int, float]:
    """Return the wrong predictions out of bag, and the error on new rows."""
    dataset, new = made_dataset(seed, N_TRAIN), made_dataset(PAST + seed, 3000)
    model = tm.RandomForestClassifier(n_estimators=N_TREES, oob_score=True, random_state=seed).fit(dataset.X, dataset.y)
    wrong = model.classes_[model.oob_decision_function_.argmax(axis=1)] != dataset.y
    return int(wrong.sum()), float((model.predict(new.X) != new.y).mean())


@lru_cache
def _true_forest_error(n_trials: int = 200) -> float:
    return float(np.mean([_out_of_bag(PAST // 2 + number)[1] for number in range(n_trials)]))


def out_of_bag_error(seed: int) -> bool:
    """Hold the error that this forest has on new rows."""
    wrong, error = _out_of_bag(seed)
    return holds(out_of_bag_interval(wrong, N_TRAIN), error)


def out_of_bag_error_of_any(seed: int) -> bool:
    """Hold the mean error of forests that other rows train."""
    return holds(out_of_bag_interval(_out_of_bag(seed)[0], N_TRAIN), _true_forest_error())


NEW_MODELS = "stated for new rows and the same models; here the models are new too"
NOISY_ERRORS = (
    "with so few rows the infinitesimal jackknife is too small, however many members there are; NaN, by too few "
    "members, counts as not held"
)
SAMPLES = "tree of depth 3, 100 rows, 15 bootstrap samples"
FOREST = f"forest of {N_TREES} trees, {N_TRAIN} rows"
OF_MODELS = [
    *(
        coverage(
            f"{kind.replace('_', ' ')}, other members",
            f"forest of 50 trees, {FEW_ROWS} rows",
            partial(importances, kind=kind),
            n_trials=400,
        )
        for kind in ("permutation_importances", "unbiased_importances")
    ),
    *(
        coverage(
            f"{term}, 20 models", "tree of depth 2, 50 new rows each", partial(part_of_error, term=term), n_trials=400
        )
        for term in ("error", "bias", "variance")
    ),
    coverage("disagreement of models", SAMPLES, disagreement, n_trials=400),
    coverage("gain of combining models", SAMPLES, gain_of_combining, n_trials=400, reason=NEW_MODELS),
    *(
        coverage(
            f"`predict_interval`, {method}",
            FOREST,
            partial(interval_of_number, method=method),
            stated=0.9,
            n_trials=300,
        )
        for method in ("scaled", "oob", "jackknife+")
    ),
    coverage("between quantiles of 5 % and 95 %", FOREST, between_quantiles, stated=None, n_trials=300),
    *(
        coverage(
            f"`predict_set`, {method}{', by class' if by_class else ''}",
            FOREST,
            partial(set_of_classes, method=method, by_class=by_class),
            stated=0.9,
            n_trials=300,
        )
        for method in ("oob", "jackknife+")
        for by_class in (False, True)
    ),
    coverage(
        "`predict_std`",
        f"forest of {FEW_ROWS * 2} trees, {FEW_ROWS} rows",
        standard_error,
        n_trials=150,
        reason=NOISY_ERRORS,
    ),
    coverage("out-of-bag error of `fit`, this forest", FOREST, out_of_bag_error, n_trials=400),
    coverage("out-of-bag error of `fit`, forests of other rows", FOREST, out_of_bag_error_of_any, n_trials=400),
]
