"""Weighted quantiles equal NumPy's, and those of forests quantile-forest's."""

from __future__ import annotations

import gzip
import json
from copy import copy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.ensemble import RandomForestRegressor

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.uncertainty.quantiles import weighted_quantiles

from .made_tables import made_table, regressors, with_slow

GOLDEN = Path(__file__).parents[1] / "golden" / "uncertainty.json.gz"
QUANTILES = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 1.0])

counted_values = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(1, 4)), min_size=1, max_size=8, unique_by=lambda p: p[0]
)


def as_samples(samples: list[list[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs = [sorted(sample) for sample in samples]
    values, weights = (np.array([pair[place] for sample in pairs for pair in sample], dtype=float) for place in (0, 1))
    return values, weights, np.cumsum([0, *map(len, pairs)])


@given(st.lists(counted_values, min_size=1, max_size=4), st.floats(0.1, 10.0))
def test_the_smallest_value_of_enough_weight_is_that_of_numpy(
    samples: list[list[tuple[int, int]]], unit: float
) -> None:
    values, weights, starts = as_samples(samples)
    answers = weighted_quantiles(values, unit * weights, starts, QUANTILES)
    for number, (first, last) in enumerate(pairwise(starts)):
        repeated = np.repeat(values[first:last], weights[first:last].astype(int))
        np.testing.assert_array_equal(answers[number], np.quantile(repeated, QUANTILES, method="inverted_cdf"))


@given(st.lists(counted_values, min_size=1, max_size=4))
def test_interpolation_is_that_of_numpy_for_repeated_values(samples: list[list[tuple[int, int]]]) -> None:
    values, weights, starts = as_samples(samples)
    answers = weighted_quantiles(values, weights, starts, QUANTILES, np.add.reduceat(weights, starts[:-1]))
    for number, (first, last) in enumerate(pairwise(starts)):
        repeated = np.repeat(values[first:last], weights[first:last].astype(int))
        np.testing.assert_allclose(answers[number], np.quantile(repeated, QUANTILES), rtol=1e-9, atol=1e-9)


@pytest.mark.outside
@pytest.mark.parametrize("number", [0, 1])
def test_quantiles_are_those_of_quantile_forest_out_of_bag_too(number: int) -> None:
    golden = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    stored = golden["quantile_forest"][number]
    X, y = load_diabetes(return_X_y=True)
    y = y + 1e-4 * np.arange(len(y))
    forest = RandomForestRegressor(**stored["parameters"]).fit(X[:250], y[:250])
    if not np.allclose(forest.predict(X[250:]), stored["means"]):
        pytest.skip(f"scikit-learn grows other trees than {golden['versions']['scikit-learn']}")
    uncertainty = tm.Uncertainty(forest, X[:250], y[:250])
    asked = {"quantiles": golden["quantiles"], "interpolation": "linear"}
    np.testing.assert_allclose(uncertainty.predict_quantiles(X[250:], **asked), stored["new"], rtol=1e-9)
    np.testing.assert_allclose(uncertainty.oob_quantiles(**asked), stored["out_of_bag"], rtol=1e-9)


def slow_quantiles(model: tm.RandomForestRegressor, X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Quantiles by a loop over rows, members and training rows."""
    counts, answers = model.count_inbag(X, y), []
    for row in rows:
        weights = np.zeros(len(y))
        for tree, count in zip(model.members_, counts):
            inside = count * (tree.apply(X) == tree.apply(row[None])[0])
            weights += inside / inside.sum()
        order = np.argsort(y)
        order = order[weights[order] > 0]
        running = np.cumsum(weights[order]) / weights.sum()
        answers.append([y[order][np.flatnonzero(running >= q - 1e-10)[0]] for q in QUANTILES])
    return np.array(answers)


def test_quantiles_equal_those_of_a_slow_loop() -> None:
    X, y = load_diabetes(return_X_y=True)
    forest = tm.RandomForestRegressor(n_estimators=10, min_samples_leaf=3, random_state=0).fit(X[:100], y[:100])
    answers = tm.Uncertainty(forest, X[:100], y[:100]).predict_quantiles(X[100:120], QUANTILES)
    np.testing.assert_array_equal(answers, slow_quantiles(forest, X[:100], y[:100], X[100:120]))


@pytest.mark.parametrize("name", with_slow(regressors()))
def test_every_ensemble_gives_quantiles(name: str) -> None:
    X, y = made_table(200, 0)
    new, truth = made_table(400, 1)
    uncertainty = tm.Uncertainty(regressors(30)[name].fit(X, y), X, y)
    low, middle, high = uncertainty.predict_quantiles(new, [0.05, 0.5, 0.95]).T
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert ((low <= truth) & (truth <= high)).mean() > 0.65
    assert np.corrcoef(middle, truth)[0, 1] > 0.7
    out_of_bag = uncertainty.oob_quantiles([0.5])[:, 0]
    known = ~np.isnan(out_of_bag)
    assert known.mean() > 0.95
    assert np.corrcoef(out_of_bag[known], y[known])[0, 1] > 0.7


def test_corrections_of_aspen_move_all_quantiles() -> None:
    X, y = make_friedman1(300, random_state=0)
    model = tm.AspenRegressor(n_estimators=10, random_state=0).fit(X, y)
    corrections = sum(tree.predict_values(X[:50])[:, 0] for tree in model.corrections_)
    assert np.abs(corrections).max() > 0.5
    uncorrected = copy(model)
    uncorrected.corrections_ = []
    after, before = (tm.Uncertainty(each, X, y).predict_quantiles(X[:50]) for each in (model, uncorrected))
    np.testing.assert_allclose(after - before, np.repeat(corrections[:, None], 3, axis=1), rtol=1e-9)


def test_quantiles_do_not_depend_on_the_number_of_jobs() -> None:
    X, y = made_table(120, 0)
    forest = tm.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y)
    answers = [tm.Uncertainty(forest, X, y, n_jobs=jobs).predict_quantiles(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("quantiles", [[-0.1], [0.5, 1.1], [[0.5]], [np.nan]])
def test_bad_quantiles_are_refused(quantiles: list[float]) -> None:
    X, y = made_table(60, 0)
    uncertainty = tm.Uncertainty(tm.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y), X, y)
    with pytest.raises(InvalidParameter, match="expected numbers between 0 and 1"):
        uncertainty.predict_quantiles(X, quantiles)


def test_members_without_leaves_give_no_quantiles() -> None:
    from sklearn.linear_model import LinearRegression

    X, y = load_diabetes(return_X_y=True)
    model = tm.BaggingRegressor(LinearRegression(), n_estimators=5, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModel, match="use predict_interval"):
        tm.Uncertainty(model, X, y).predict_quantiles(X[:3])
