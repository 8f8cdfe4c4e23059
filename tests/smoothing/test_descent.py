"""Amounts of noise fitted by descent: the derivatives of losses, the steps, and what is accepted."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.smoothing.noise.descent import MAX_STEPS, Descent, halves_of, make_descent
from tremula.smoothing.noise.search import PooledLoss
from tremula.smoothing.noise.slopes import with_slopes

NUMBERS, TARGET = load_diabetes(return_X_y=True)
NUMBERS, TARGET = NUMBERS[:160, :4], TARGET[:160]
WINE, CLASSES = load_wine(return_X_y=True)
WINE, CLASSES = WINE[::2, :4], CLASSES[::2]
IS_HELD_OUT = np.arange(len(CLASSES)) % 3 == 0
POISSON = HistGradientBoostingRegressor(loss="poisson", max_iter=5, min_samples_leaf=5)

# Wrappers with rows to validate on; scorings; numbers of trees.
CASES = {
    "out of bag, numbers": (RandomForestRegressor(6, random_state=0), "squared_error", 6),
    "out of bag, absolute": (RandomForestRegressor(6, random_state=0), "absolute_error", 6),
    "out of bag, classes": (RandomForestClassifier(6, random_state=0), "log_loss", 6),
    "logistic or softmax": (GradientBoostingClassifier(n_estimators=4, random_state=0), "log_loss", 12),
    "sum": (GradientBoostingRegressor(n_estimators=4, random_state=0), "squared_error", 4),
    "exponential": (POISSON, "squared_error", 5),
}


def validation_loss(name: str, **options: object) -> tuple[PooledLoss, int]:
    """The loss on validation rows of a case, and the number of its trees."""
    estimator, scoring, n_trees = CASES[name]
    if scoring == "log_loss":
        wrapper, X, y = tm.DualPerturbClassifier, WINE, CLASSES
    else:
        wrapper, X, y = tm.DualPerturbRegressor, NUMBERS, TARGET
    soft = wrapper(estimator, noise=0.1, scoring=scoring, tol=0.0, **options)
    is_held_out = np.arange(len(y)) % 3 == 0
    judges: dict = {"X_val": None, "y_val": None}
    training = np.ones(len(y), dtype=bool)
    if "out of bag" not in name:
        judges, training = {"X_val": X[is_held_out], "y_val": y[is_held_out]}, ~is_held_out
    soft.fit(X[training], y[training])
    rows = soft._validation_rows(X[training], y[training], None, **judges)
    return PooledLoss(rows, scoring, X.shape[1]), n_trees


@pytest.mark.parametrize("method", ["exact", "path"])
@pytest.mark.parametrize("per_tree", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_slopes_of_a_loss_are_finite_differences(name: str, per_tree: bool, method: str) -> None:
    loss, n_trees = validation_loss(name, method=method)
    evaluate = with_slopes(loss.parts[0], loss.scoring)
    rng = np.random.default_rng(0)
    amounts = rng.uniform(0.1, 0.6, size=(n_trees if per_tree else 1, loss.n_attributes))
    weights = rng.choice([0.0, 1.0, 2.0], size=len(loss.parts[0].target))
    slopes = evaluate(amounts)[1](weights)
    assert slopes.shape == amounts.shape
    for place in [(0, 0), (len(amounts) - 1, 2)]:
        changed = [amounts.copy(), amounts.copy()]
        changed[0][place] *= np.exp(1e-5)
        changed[1][place] /= np.exp(1e-5)
        more, less = (evaluate(each)[0] @ weights for each in changed)
        expected = (more - less) / 2e-5
        assert slopes[place] == pytest.approx(expected, rel=1e-5, abs=1e-6 * abs(more))


def test_a_loss_of_held_out_rows_is_the_loss_that_judges() -> None:
    loss, _ = validation_loss("sum")
    amounts = np.full((1, loss.n_attributes), 0.3)
    losses = with_slopes(loss.parts[0], loss.scoring)(amounts)[0]
    np.testing.assert_allclose(losses, loss.of_rows(0.3, ["squared_error"])[0])


def test_the_log_loss_of_an_unlikely_class_is_a_straight_line() -> None:
    loss, _ = validation_loss("logistic or softmax")
    losses = with_slopes(loss.parts[0], "log_loss")(np.full((1, loss.n_attributes), 0.3))[0]
    judged = loss.of_rows(0.3, ["log_loss"])[0]
    is_likely = judged <= -np.log(0.01)
    np.testing.assert_allclose(losses[is_likely], judged[is_likely], rtol=1e-9, atol=1e-12)
    assert np.all(losses <= judged + 1e-12)


# --- descent ---


def valley(amounts: np.ndarray) -> tuple[np.ndarray, Callable]:
    """Four rows, each with its loss in the logarithms of two amounts, least at 0.1 and 0.8."""
    distance = np.log(amounts) - np.log([[0.1, 0.8]])
    losses = 1.0 + np.array([1.0, 2.0, 3.0, 4.0]) * (distance**2).sum()
    return losses, lambda weights: 2.0 * distance * (weights @ [1.0, 2.0, 3.0, 4.0])


def test_steps_go_downhill_to_the_valley() -> None:
    descent = Descent([valley], np.array([True, True]), 2.0)
    path = descent.path(np.array([[0.3, 0.3]]), np.ones(4), MAX_STEPS)
    sums = [losses.sum() for _, losses in path]
    assert all(after <= before for before, after in pairwise(sums))
    np.testing.assert_allclose(path[0][0], 0.3)
    np.testing.assert_allclose(path[-1][0], [[0.1, 0.8]], rtol=0.02)  # the ridge holds back a little


def test_what_is_not_free_stays() -> None:
    descent = Descent([valley], np.array([True, False]), 2.0)
    path = descent.path(np.array([[0.3, 0.3]]), np.ones(4), MAX_STEPS)
    assert all(amounts[0, 1] == 0.3 for amounts, _ in path)
    assert path[-1][0][0, 0] == pytest.approx(0.1, rel=0.02)


def test_halves_have_the_same_classes() -> None:
    is_first = halves_of(CLASSES)
    np.testing.assert_allclose(np.bincount(CLASSES[is_first]), np.bincount(CLASSES[~is_first]), atol=1)


# --- choosing ---


def steps_and_slopes(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A jump in one attribute, a slope in another: the first wants no noise, the second much."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(n_rows, 2))
    return X, 3.0 * (X[:, 0] > 0) + 3.0 * X[:, 1]


@pytest.mark.parametrize("per_tree", [False, True])
def test_a_jump_gets_less_noise_than_a_slope(per_tree: bool) -> None:
    X, y = steps_and_slopes(600)
    tree = DecisionTreeRegressor(min_samples_leaf=10).fit(X[:200], y[:200])
    judges = {"X_val": X[200:400], "y_val": y[200:400]}
    common = tm.DualPerturbRegressor(tree).fit(X[:200], **judges)
    each = tm.DualPerturbRegressor(tree, per_attribute=not per_tree, per_tree=per_tree).fit(X[:200], **judges)
    amounts = np.atleast_2d(each.noise_)[0]
    assert amounts[0] < 0.25 * amounts[1]
    assert each.score(X[400:], y[400:]) > common.score(X[400:], y[400:]) + 0.002
    assert each.noise_loss_ < common.noise_loss_


@pytest.mark.slow
def test_a_forest_fits_amounts_out_of_bag_whatever_n_jobs() -> None:
    X, y = steps_and_slopes(200)
    forest = RandomForestRegressor(6, min_samples_leaf=5, random_state=0)
    first, second = (tm.DualPerturbRegressor(forest, n_jobs=n_jobs, per_tree=True).fit(X, y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(first.noise_, second.noise_)
    assert first.noise_.shape == (6, 2)
    assert len(np.unique(first.noise_)) == 12


def test_amounts_that_do_not_help_are_not_accepted() -> None:
    random = np.random.default_rng(1)
    X, y = random.normal(size=(120, 4)), random.normal(size=120)
    forest = RandomForestRegressor(10, random_state=0)
    common = tm.DualPerturbRegressor(forest).fit(X, y)
    each = tm.DualPerturbRegressor(forest, per_tree=True).fit(X, y)
    np.testing.assert_array_equal(each.noise_, np.full(4, common.noise_))
    np.testing.assert_array_equal(each.predict(X), common.predict(X))


def test_models_without_derivatives_are_searched_one_attribute_after_the_other() -> None:
    soft = tm.DualPerturbClassifier(
        KNeighborsClassifier(), n_draws=5, per_attribute=True, method="sample", random_state=0
    )
    soft.fit(WINE, CLASSES)
    assert soft.noise_.shape == (4,)


def test_levels_that_flip_have_no_derivative() -> None:
    loss, _ = validation_loss("out of bag, numbers", flip=0.2)
    assert make_descent(loss, np.ones(4, dtype=bool), 2.0) is not None  # no attribute is nominal
    nominal = tm.BaggingRegressor(n_estimators=4, random_state=0)
    frame = {"color": np.array(["red", "blue"])[(TARGET > 100).astype(int)], "size": NUMBERS[:, 0]}
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidParameter, match="flip=0"):
        tm.DualPerturbRegressor(nominal, flip=0.2, per_tree=True).fit(pd.DataFrame(frame), TARGET)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tune_on": "tree"}, "tune_on='tree'"),
        ({"search": "golden_section"}, "search='golden_section'"),
        ({"tuning": "cv"}, "another fold"),
    ],
)
def test_what_an_amount_for_each_tree_needs(options: dict, message: str) -> None:
    forest = RandomForestRegressor(4, random_state=0)
    with pytest.raises(InvalidParameter, match=message):
        tm.DualPerturbRegressor(forest, per_tree=True, **options).fit(NUMBERS, TARGET)
