"""One tree trained on rows that an ensemble labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.imitation import draw_near
from tremula.errors import InvalidInput, InvalidParameter

X, Y = make_moons(300, noise=0.3, random_state=0)
NEW, Y_NEW = make_moons(2000, noise=0.3, random_state=1)


def test_more_artificial_rows_imitate_better_and_no_class_of_the_rows_is_needed() -> None:
    forest = tm.BaggingClassifier(n_estimators=30, random_state=0).fit(X, Y)
    agreement = [
        np.mean(tm.imitate(forest, X, n_artificial=share, random_state=0).predict(NEW) == forest.predict(NEW))
        for share in (0, 20)
    ]
    assert agreement[1] > agreement[0] + 0.01
    assert agreement[1] > 0.94


def test_without_artificial_rows_it_is_the_tree_of_the_labels() -> None:
    model = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X, Y)
    tree = tm.imitate(model, X, n_artificial=0)
    assert tree.tree_ == tm.C45Classifier().fit(X, model.predict(X)).tree_


def test_the_same_seed_gives_the_same_tree_and_the_estimator_stays_as_it_is() -> None:
    model, learner = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X, Y), tm.CARTClassifier(max_depth=4)
    one, other = (tm.imitate(model, X, learner, random_state=3) for _ in range(2))
    assert one.tree_ == other.tree_
    assert one.tree_ != tm.imitate(model, X, learner, random_state=4).tree_
    assert not hasattr(learner, "tree_")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_levels(library: str) -> None:
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        c=np.array(["x", "y", "z"])[np.arange(300) % 3], n=np.arange(300) // 2
    )
    table = frame
    if library == "polars":
        table = pytest.importorskip("polars").from_pandas(frame)
    labels = np.where((np.arange(300) % 3 == 0) == Y, "yes", "no")
    model = tm.RandomForestClassifier(n_estimators=10, random_state=0).fit(table, labels)
    tree = tm.imitate(model, table, n_artificial=3, random_state=0)
    assert np.mean(tree.predict(table) == model.predict(table)) > 0.85
    assert set(tree.classes_) == {"no", "yes"}


def test_artificial_rows_stay_within_bounds_and_levels() -> None:
    near = draw_near(np.column_stack([X, np.arange(300) % 3]), 3000, 1.0, [2], 0)
    assert near.shape == (3000, 3)
    assert (near[:, :2].min(axis=0) >= X.min(axis=0)).all()
    assert (near[:, :2].max(axis=0) <= X.max(axis=0)).all()
    assert set(np.unique(near[:, 2])) == {0.0, 1.0, 2.0}


def test_numbers_and_estimators_of_other_libraries() -> None:
    target = X[:, 0] ** 2
    model = tm.BaggingRegressor(n_estimators=5, random_state=0).fit(X, target)
    imitation = tm.imitate(model, X, random_state=0).predict(NEW)
    assert np.mean((imitation - model.predict(NEW)) ** 2) < 0.05 * np.var(model.predict(NEW))
    foreign = tm.imitate(DecisionTreeClassifier(random_state=0).fit(X, Y), X, DecisionTreeClassifier(max_depth=3))
    assert foreign.get_depth() <= 3


def test_bad_input_is_refused() -> None:
    model = tm.BaggingClassifier(n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="give a classifier"):
        tm.imitate(model, X, LinearRegression())
    with pytest.raises(InvalidParameter, match="fitted classifier or regressor"):
        tm.imitate("forest", X)
    with pytest.raises(InvalidInput, match="toarray"):
        tm.imitate(model, csr_array(X))
    for option in ("n_artificial", "noise"):
        with pytest.raises(InvalidParameter, match=option):
            tm.imitate(model, X, **{option: -1})


def test_levels_that_no_row_has_are_not_drawn() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "new": True, "kind": pd.Categorical(["a", "b"] * 150, categories=list("abcd"))})
    drawn = draw_near(frame, 500, 0.5, "from_dtype", 0)
    assert drawn["new"].all()
    assert set(drawn["kind"]) == {"a", "b"}
    assert (drawn["x"].isin(frame["x"])).mean() < 0.5


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_dates_stay_dates(unit: str) -> None:
    days = pd.date_range("2020-01-01", periods=300, tz="Europe/Berlin").as_unit(unit)
    frame = pd.DataFrame({"x": X[:, 0], "day": days})
    forest = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(frame, Y)
    assert tm.imitate(forest, frame, random_state=0).score(frame, Y) > 0.8
    assert draw_near(frame, 20, 0.3, "from_dtype", 0)["day"].dtype == frame["day"].dtype
    dates = frame["day"].dt.tz_localize(None).to_numpy()[:, None]
    assert tm.imitate(tm.BaggingClassifier(n_estimators=5, random_state=0).fit(dates, Y), dates).score(dates, Y) > 0.5
