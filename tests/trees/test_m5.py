"""M5': against the rules written down plainly, and what is true of model trees whatever the rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import tremula as tm
from tremula import BaggingRegressor, M5Regressor
from tremula.errors import InvalidParameter, UnsupportedModel

from .naive_m5 import fit_naive_m5, predict

LEARNERS = [M5Regressor(), M5Regressor(prune=False)]
KINDS = [(pruned, smoothing) for pruned in (True, False) for smoothing in (15, 0)]
each_kind = pytest.mark.parametrize(("prune", "smoothing"), KINDS)


@parametrize_with_checks(LEARNERS)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def make_rows(seed: int, n_rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in a few steps, so that values repeat, and a target with a kink, a slope and noise."""
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n_rows, 4)), 1 + seed % 3)
    y = np.where(X[:, 0] > 0, 3 * X[:, 1], -X[:, 2]) + X[:, 3] + random.normal(scale=0.3, size=n_rows)
    return X, y


# ---- the rules


@each_kind
def test_the_rules_written_down_plainly_give_the_same(prune: bool, smoothing: float) -> None:
    for seed in range(12):
        X, y = make_rows(seed)
        naive = fit_naive_m5(X, y, prune)
        learner = M5Regressor(prune=prune, smoothing=smoothing).fit(X, y)
        assert learner.get_n_leaves() == len(naive.leaves)
        assert learner.predict(X) == pytest.approx(predict(naive, X, smoothing), rel=1e-7, abs=1e-7)


def test_collinear_attributes_are_dropped() -> None:
    X, y = make_rows(0)
    doubled = np.column_stack([X, X[:, :2] + 1e-3 * np.random.default_rng(1).normal(size=(len(X), 2))])
    learner = M5Regressor(smoothing=0).fit(doubled, y)
    sizes = np.abs(learner.tree_.models[:, :-1]) * doubled.std(axis=0) / y.std()
    assert sizes.max() < 10


def test_a_straight_line_needs_one_rule() -> None:
    X = make_rows(0)[0]
    y = 2 * X[:, 0] - 3 * X[:, 1] + 1
    learner = M5Regressor().fit(X, y)
    assert learner.get_n_leaves() == 1
    assert learner.predict(X) == pytest.approx(y, abs=1e-6)


def test_a_pruned_root_answers_as_least_squares_does() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0] + np.random.default_rng(1).normal(size=200)
    learner = M5Regressor().fit(X, y)
    assert learner.get_n_leaves() == 1
    assert learner.predict(X) == pytest.approx(LinearRegression().fit(X, y).predict(X), abs=1e-6)


def test_unsmoothed_leaves_of_an_unpruned_tree_answer_with_their_means() -> None:
    X, y = make_rows(3)
    learner = M5Regressor(prune=False, smoothing=0).fit(X, y)
    leaves = learner.apply(X)
    assert not learner.tree_.models[:, :-1].any()
    assert learner.predict(X) == pytest.approx([y[leaves == leaf].mean() for leaf in leaves])


def test_both_sides_of_a_split_have_more_than_a_fifth_of_the_rows() -> None:
    X, y = make_rows(4, 300)
    rules = M5Regressor(prune=False).fit(X, y).tree_.rules
    for node in np.flatnonzero(~rules.is_leaf):
        children = rules.weight[rules.first_child[node] : rules.first_child[node] + 2]
        assert children.min() >= rules.weight[node] // 5 + 1 or rules.weight[node] < 5


# ---- weights, units and missing values


@each_kind
def test_weight_two_is_a_row_given_twice(prune: bool, smoothing: float) -> None:
    X, y = make_rows(5)
    weights = np.arange(len(y)) % 3
    learner = M5Regressor(prune=prune, smoothing=smoothing)
    repeated = clone(learner).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert learner.fit(X, y, sample_weight=weights).predict(X) == pytest.approx(repeated.predict(X), rel=1e-8)


def test_weights_that_are_no_counts_have_no_unit() -> None:
    X, y = make_rows(6)
    weights = np.random.default_rng(6).uniform(0.5, 1.5, size=len(y))
    small, large = (M5Regressor().fit(X, y, sample_weight=unit * weights) for unit in (1e-3, 1e3))
    assert small.predict(X) == pytest.approx(large.predict(X), rel=1e-8)


@each_kind
def test_units_of_attributes_and_target_do_not_matter(prune: bool, smoothing: float) -> None:
    X, y = make_rows(7)
    learner = M5Regressor(prune=prune, smoothing=smoothing)
    plain = clone(learner).fit(X, y).predict(X)
    scaled = learner.fit(X * [1e-6, 1e6, 3, 1] + [0, 5, 1e3, 0], y * 1e-4 + 7).predict(
        X * [1e-6, 1e6, 3, 1] + [0, 5, 1e3, 0]
    )
    assert (scaled - 7) * 1e4 == pytest.approx(plain, rel=1e-5, abs=1e-5)


def test_a_missing_number_counts_as_the_mean() -> None:
    X, y = make_rows(8)
    holes = X.copy()
    holes[::7, 1] = np.nan
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    assert M5Regressor().fit(holes, y).predict(holes) == pytest.approx(M5Regressor().fit(filled, y).predict(filled))


COLOURS = pd.Series(pd.Categorical(["red", "blue", "green", "blue"] * 15, categories=["red", "green", "blue", "none"]))


def test_a_missing_level_counts_as_the_commonest() -> None:
    y = COLOURS.cat.codes + make_rows(9)[1]
    learner = M5Regressor().fit(COLOURS.to_frame(), y)
    asked = pd.Series(pd.Categorical([None, "blue"], categories=COLOURS.cat.categories)).to_frame()
    missing, blue = learner.predict(asked)
    assert missing == blue


def test_a_nominal_attribute_counts_as_ordered_columns_of_zeros_and_ones() -> None:
    X, noise = make_rows(10)
    y = noise + np.array([0.0, 9.0, 4.0])[COLOURS.cat.codes]  # red, blue, then green
    levels = COLOURS.astype(str).to_numpy()
    numbers = np.column_stack([X, levels != "red", levels == "green"])
    frame = pd.DataFrame(X).assign(colour=COLOURS)
    frame.columns = frame.columns.astype(str)
    order = pd.Series(y).groupby(levels).mean().sort_values().index.tolist()
    assert order == ["red", "blue", "green"]
    assert M5Regressor().fit(frame, y).predict(frame) == pytest.approx(M5Regressor().fit(numbers, y).predict(numbers))


def test_an_unused_level_takes_the_place_of_the_mean() -> None:
    y = np.array([0.0, 9.0, 4.0])[COLOURS.cat.codes]
    learner = M5Regressor().fit(COLOURS.to_frame(), y)
    place = dict(zip(COLOURS.cat.categories, learner.tree_.terms.places_of(0).tolist()))
    assert y.mean() == 4.25
    assert place == {"red": 0, "blue": 1, "none": 2, "green": 3}


@pytest.mark.parametrize(
    "column", [pd.Categorical(["one"] * 8), [np.nan] * 8, [1.0] * 8], ids=["level", "nan", "number"]
)
def test_a_column_that_tells_nothing_leaves_the_mean(column: Any) -> None:
    X = pd.DataFrame({"nothing": column})
    assert M5Regressor().fit(X, np.arange(8.0)).predict(X) == pytest.approx([3.5] * 8)


# ---- around it


def test_text_has_rules_and_models() -> None:
    X = pd.DataFrame({"size": np.arange(40.0), "colour": pd.Categorical(["red", "blue"] * 20)})
    y = np.where(X["size"] < 20, 10.0 + 2 * X["size"], 100.0 - X["size"]) + 30.0 * (X["colour"] == "red")
    text = M5Regressor(smoothing=0).fit(X, y).export_text()
    assert text == (
        "size <= 19.5: model 1 (20)\n"
        "size > 19.5: model 2 (20)\n\n"
        "model 1: 10 + 2 * size + 30 * [colour = red]\n"
        "model 2: 100 - 1 * size + 30 * [colour = red]"
    )


def test_sql_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="linear models"):
        M5Regressor().fit(*make_rows(0)).export_sql()


def test_the_graph_names_the_models() -> None:
    learner = M5Regressor(prune=False).fit(*make_rows(0))
    assert f"model {learner.get_n_leaves()}\\n" in learner.export_dot()


@pytest.mark.parametrize("learner", [M5Regressor(), BaggingRegressor(M5Regressor(), 3, random_state=0)], ids=repr)
def test_a_file_keeps_the_answers(learner: Any, tmp_path: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    learner = clone(learner).fit(X, y)
    tm.save(learner, tmp_path / "model.tremula")
    assert np.array_equal(tm.load(tmp_path / "model.tremula").predict(X), learner.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).predict(X), learner.predict(X))


@each_kind
def test_members_of_bagging_are_trees_of_repeated_rows(prune: bool, smoothing: float) -> None:
    X, y = make_rows(11)
    X[::9, 2] = np.nan
    learner = M5Regressor(prune=prune, smoothing=smoothing)
    bagging = BaggingRegressor(learner, n_estimators=3, oob_score=True, random_state=0).fit(X, y)
    for member, counts in zip(bagging.members_, bagging.inbag_counts_):
        alone = clone(learner).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        assert member.predict_values(X)[:, 0] == pytest.approx(alone.predict(X), rel=1e-8)


def test_bagging_is_the_same_for_any_number_of_jobs() -> None:
    X, y = load_diabetes(return_X_y=True)
    one, two = (BaggingRegressor(M5Regressor(), 6, random_state=0, n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    assert np.array_equal(one, two)


def test_bagging_tells_importances() -> None:
    X, y = make_rows(12, 200)
    bagging = BaggingRegressor(M5Regressor(prune=False), n_estimators=5, random_state=0).fit(X, y)
    assert bagging.feature_importances_.sum() == pytest.approx(1.0)


def test_a_member_sees_its_own_attributes_alone() -> None:
    X, y = load_diabetes(return_X_y=True)
    columns = M5Regressor().sort(X, np.zeros(X.shape[1], np.int32))
    tree = M5Regressor(prune=False).grow(columns, y, None, np.random.default_rng(0), np.array([2, 8]))
    assert set(np.unique(tree.rules.attribute)) == {-1, 2, 8}
    assert set(np.flatnonzero(tree.models[:, :-1].any(axis=0))) == {2, 8}


@pytest.mark.parametrize(
    ("learner", "told"),
    [
        (M5Regressor(min_samples_split=-1), "min_samples_split=-1"),
        (M5Regressor(min_deviation_share=2), "min_deviation_share=2"),
        (M5Regressor(prune="yes"), "prune='yes'"),
        (M5Regressor(smoothing=-3), "smoothing=-3"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(learner: M5Regressor, told: str) -> None:
    with pytest.raises(InvalidParameter, match=told):
        learner.fit(*make_rows(0))
