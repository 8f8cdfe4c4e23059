"""Disagreement between models trained on resamples: low for nearest neighbours, high for trees."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import C45Classifier
from tremula.diagnostics import Stability, stability
from tremula.errors import InvalidParameter

NEIGHBOURS = make_pipeline(StandardScaler(), KNeighborsClassifier())


def test_neighbours_are_stable_and_trees_are_not() -> None:
    X, y = load_wine(return_X_y=True)
    neighbours = stability(NEIGHBOURS, X, y, random_state=0)
    tree = stability(C45Classifier(), X, y, random_state=0)
    assert neighbours.interval[1] < tree.interval[0]
    assert neighbours.grade == "stable"
    assert tree.grade == "unstable"
    assert "bagging will change little" in neighbours.reading
    assert "bagging may help" in str(tree)


def test_a_regression_tree_is_less_stable_than_a_ridge() -> None:
    X, y = load_diabetes(return_X_y=True)
    ridge, tree = (stability(model, X, y, n_models=8, random_state=0) for model in (Ridge(), DecisionTreeRegressor()))
    assert ridge.kind == tree.kind == "regression"
    assert ridge.disagreement < 0.05 < 0.3 < tree.disagreement
    assert tree.combined_error < tree.error
    assert "bagging may help" in tree.reading


def test_disagreement_is_that_of_all_pairs() -> None:
    X, y = load_wine(return_X_y=True)
    random = np.random.default_rng(0)
    rows = random.permutation(178)
    splits = [(random.choice(rows[50:], 30, replace=False), np.sort(rows[:50])) for _ in range(4)]
    model = DecisionTreeClassifier(random_state=0)
    answers = [model.fit(X[learn], y[learn]).predict(X[test]) for learn, test in splits]
    expected = np.mean([(first != second).mean() for first, second in combinations(answers, 2)])
    assert stability(model, X, y, scheme=splits).disagreement == pytest.approx(expected, abs=1e-12)


def test_spread_of_numbers_does_not_depend_on_their_unit() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=3, random_state=0)
    one, other = (stability(model, X, target, n_models=5, random_state=1) for target in (y, 7 - 1000 * y))
    assert other.disagreement == pytest.approx(one.disagreement)


def test_a_constant_answer_is_stable() -> None:
    y = np.array(["a"] * 90 + ["b"] * 10)
    result = stability(DummyClassifier(), np.zeros((100, 1)), y, n_models=5, random_state=0)
    assert result.disagreement == 0
    assert result.error == pytest.approx(result.combined_error)


def test_frames_and_threads_change_nothing() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = pd.Series(["x", "y", "z"])[y].to_numpy()
    one = stability(C45Classifier(), X, names, n_models=4, random_state=0, n_jobs=1)
    two = stability(C45Classifier(), X.to_numpy(), y, n_models=4, random_state=0, n_jobs=2)
    assert one.disagreement == two.disagreement
    assert (one.per_row == two.per_row).all()


@pytest.mark.parametrize(
    ("gain", "promise"),
    [((0.01, 0.02), "bagging may help"), ((-0.02, -0.01), "bagging may hurt"), ((-0.01, 0.01), "no clear gain")],
)
def test_the_reading_of_an_unstable_learner_follows_the_gain(gain: tuple[float, float], promise: str) -> None:
    result = Stability("classification", 0.2, (0.1, 0.3), 0.2, 0.2, gain, np.full(4, 0.2), 10)
    assert promise in result.reading


def test_one_model_has_nobody_to_disagree_with() -> None:
    with pytest.raises(InvalidParameter, match="n_models=1"):
        stability(C45Classifier(), np.zeros((10, 1)), np.arange(10) % 2, n_models=1)


def test_the_change_of_bagging_without_a_row_is_bounded() -> None:
    X, y = load_wine(return_X_y=True)
    tree, neighbours = (stability(model, X, y, n_models=10, random_state=0) for model in (C45Classifier(), NEIGHBOURS))
    assert tree.bagged_bound == neighbours.bagged_bound == pytest.approx(np.sqrt(2 / 3 * 1.72 / 178), rel=0.01)
    assert neighbours.bagged_change < tree.bagged_change < tree.bagged_bound
    assert tree.bagged_change == pytest.approx(tree.bagged_bound * np.sqrt(tree.disagreement / (2 / 3)))
    assert "change of bagging without a row" in tree._repr_html_()
