"""Parameters that would fill the memory, or that are no estimators and no seeds: each is refused with a clear error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import InvalidParameter

ROWS = np.random.default_rng(0).normal(size=(24, 3))
NUMBERS = ROWS[:, 0] ** 2


@pytest.mark.parametrize("max_samples", [2**31, 10**12, 1e9])
def test_draws_that_fill_the_memory_are_refused(max_samples: float) -> None:
    forest = tm.BaggingRegressor(n_estimators=2, max_samples=max_samples)
    with pytest.raises(InvalidParameter, match=r"rows out of 24, which fills the memory: give a share up to 1000"):
        forest.fit(ROWS, NUMBERS)


@pytest.mark.parametrize("kind", [tm.BaggingClassifier, tm.BaggingRegressor, tm.RandomForestClassifier])
def test_many_draws_of_a_row_are_made(kind: Any) -> None:
    """Rows are then drawn more often than a byte counts."""
    model = kind(n_estimators=2, max_samples=700.0, random_state=0)
    target = NUMBERS > 0.5 if "Classifier" in kind.__name__ else NUMBERS
    assert (model.fit(ROWS, target).count_inbag(ROWS, target).sum(axis=1) == 24 * 700).all()


@pytest.mark.parametrize("estimator", [1, "cart", [], {}, tm.CARTRegressor, len])
@pytest.mark.parametrize("kind", [tm.BaggingRegressor, tm.AdaBoostM1Classifier, tm.DecorateClassifier])
def test_members_that_are_no_estimators_are_refused(kind: Any, estimator: Any) -> None:
    with pytest.raises(InvalidParameter, match="expected an estimator, such as"):
        kind(estimator=estimator).fit(ROWS, NUMBERS > 1)


@pytest.mark.parametrize("seed", [-1, 0.5, "x", {1}, [], np.array([1.5])])
def test_seeds_that_are_none_are_refused(seed: Any) -> None:
    with pytest.raises(InvalidParameter, match="was given; expected None, a whole number"):
        tm.RandomForestRegressor(n_estimators=2, random_state=seed).fit(ROWS, NUMBERS)
