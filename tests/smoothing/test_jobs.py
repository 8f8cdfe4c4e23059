"""Jobs share the work and change no bit: noise chosen, amounts by attribute, deviations, pairs of amounts."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.parallel import map_members

X, y = make_classification(160, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0)
NUMBERS = make_regression(160, 4, noise=5.0, random_state=0)[1]
FOREST: dict[str, Any] = {"n_estimators": 6, "max_depth": 4, "random_state": 0}


def test_members_are_worked_on_at_the_same_time() -> None:
    together = threading.Barrier(2)

    def work(number: int) -> int:
        together.wait(timeout=60)  # nobody passes alone
        return number

    assert list(map_members(work, 4, n_jobs=2)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("model", "options"),
    [
        pytest.param(RandomForestClassifier(**FOREST), {"tuning": "oob"}, marks=pytest.mark.slow),
        (RandomForestClassifier(**FOREST), {"tuning": "oob", "method": "path", "search": "golden_section"}),
        (tm.BaggingClassifier(n_estimators=5, random_state=0), {"tuning": "oob"}),
        (DecisionTreeClassifier(max_depth=4, random_state=0), {"tuning": "cv", "cv": 2}),
        (KNeighborsClassifier(), {"tuning": "cv", "cv": 2, "method": "sample", "n_draws": 3}),
    ],
)
def test_amounts_by_attribute_do_not_depend_on_jobs(model: Any, options: dict[str, Any]) -> None:
    single, several = (
        tm.DualPerturbClassifier(model, per_attribute=True, n_jobs=n_jobs, random_state=0, **options).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(single.noise_, several.noise_)
    assert np.array_equal(single.noise_curve_, several.noise_curve_)
    assert np.array_equal(single.predict_proba(X), several.predict_proba(X))


def test_amounts_by_attribute_of_a_regressor_do_not_depend_on_jobs() -> None:
    forest = RandomForestRegressor(**FOREST)
    single, several = (
        tm.DualPerturbRegressor(forest, per_attribute=True, n_jobs=n_jobs).fit(X, NUMBERS) for n_jobs in (1, 2)
    )
    assert np.array_equal(single.noise_, several.noise_)
    for before, after in zip(single.predict(X, return_std=True), several.predict(X, return_std=True), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.filterwarnings("ignore:the standard deviations:tremula.errors.SamplingWarning")
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DecisionTreeClassifier(max_depth=4), {}),
        (RandomForestClassifier(**FOREST), {}),
        (RandomForestClassifier(**FOREST), {"method": "sample", "n_draws": 5}),
        (GradientBoostingClassifier(n_estimators=3), {"n_draws": 5}),
        (KNeighborsClassifier(), {"method": "sample", "n_draws": 5}),
    ],
)
def test_deviations_do_not_depend_on_jobs(model: Any, options: dict[str, Any]) -> None:
    fitted = model.fit(X, y)
    rows = np.tile(X, (8, 1))  # more than one block of rows
    single, several = (
        tm.DualPerturbClassifier(fitted, noise=0.3, n_jobs=n_jobs, random_state=0, **options)
        .fit(X)
        .predict_proba(rows, return_std=True)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(single[0], several[0])
    assert np.array_equal(single[1], several[1])


@pytest.mark.slow  # starts processes
@pytest.mark.parametrize("per_attribute", [False, True])
def test_pairs_of_amounts_do_not_depend_on_jobs(per_attribute: bool) -> None:
    smeared = tm.SmearedBaggingClassifier(n_estimators=5, random_state=0)
    single, several = (
        tm.tune_together(
            tm.DualPerturbClassifier(smeared, per_attribute=per_attribute, n_jobs=n_jobs), X, y, amounts=[0.0, 0.2]
        )
        for n_jobs in (1, 2)
    )
    assert np.array_equal(single.losses, several.losses)
    assert np.array_equal(single.best_noise, several.best_noise)
    assert single.training_noise == several.training_noise
    assert several.model.n_jobs == 2
    assert np.array_equal(single.model.predict_proba(X), several.model.predict_proba(X))
