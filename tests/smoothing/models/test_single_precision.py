"""Trees with converted thresholds send values in double precision where the model sends them after rounding."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model, store_trees
from tremula.smoothing.models.members import PlacedMember, mean_of_members
from tremula.smoothing.models.single_precision import thresholds_before_rounding

Floats = NDArray[np.float64]
LARGEST = float(np.finfo(np.float32).max)
TINY = 2.0**-149  # the least number of single precision above 0


def neighbours(values: Floats) -> Floats:
    """Return values with the doubles next to them."""
    return np.concatenate([np.nextafter(values, -np.inf), values, np.nextafter(values, np.inf)])


def adversarial_numbers() -> Floats:
    """Numbers of single precision of every size, points halfway to the next one, and doubles next to all of these."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    kept = bits[np.isfinite(bits)]
    special = [0.0, -0.0, TINY, -TINY, 2 * TINY, 1e-40, 1.17549435e-38, 1.0, 0.1, 1e38, -1e38, LARGEST, -LARGEST]
    epochs = 1.7e9 + 64.0 * np.arange(8)
    single = np.concatenate([kept, np.array(special, np.float32), epochs.astype(np.float32)])
    with np.errstate(over="ignore"):
        following = np.nextafter(single, np.float32(np.inf))
    middle = 0.5 * (single.astype(np.float64) + np.where(np.isinf(following), 2.0**128, following.astype(np.float64)))
    beyond = np.array([2.0**128, -(2.0**128), 1e300, -1e300, np.inf, -np.inf])
    return neighbours(np.concatenate([single.astype(np.float64), middle, beyond]))


@pytest.mark.parametrize("strict", [False, True])
def test_every_value_goes_where_it_goes_after_rounding(strict: bool) -> None:
    numbers = adversarial_numbers()
    cuts = thresholds_before_rounding(numbers, strict)
    random = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        for values in (numbers, cuts, neighbours(cuts), random.permutation(numbers)):
            given, cut = np.resize(numbers, len(values)), np.resize(cuts, len(values))
            rounded = values.astype(np.float32).astype(np.float64)
            expected = rounded < given if strict else rounded <= given
            np.testing.assert_array_equal(values < cut if strict else values <= cut, expected)


@pytest.mark.parametrize("strict", [False, True])
def test_thresholds_keep_their_order(strict: bool) -> None:
    numbers = np.sort(adversarial_numbers())
    assert (np.diff(thresholds_before_rounding(numbers, strict)[np.isfinite(numbers)]) >= 0).all()


def test_tests_between_the_same_two_numbers_become_one() -> None:
    close = np.array([1.0 + 1e-12, 1.0 + 2e-12])
    assert len(set(thresholds_before_rounding(close, strict=False))) == 1


# --- models ---


def epoch_seconds() -> tuple[Floats, Floats]:
    """Seconds since 1970, which single precision holds in steps of 128, and numbers that depend on them."""
    random = np.random.default_rng(0)
    seconds = 1.7e9 + random.integers(0, 2000, 400).astype(np.float64)
    return seconds[:, None], np.sin(seconds / 150.0)


def xgboost_regressor() -> Any:
    return pytest.importorskip("xgboost").XGBRegressor(n_estimators=10, n_jobs=1)


def catboost_regressor() -> Any:
    return pytest.importorskip("catboost").CatBoostRegressor(
        iterations=10, verbose=0, allow_writing_files=False, thread_count=1
    )


MODELS = {
    "tree": lambda: DecisionTreeRegressor(random_state=0),
    "XGBoost": xgboost_regressor,
    "CatBoost": catboost_regressor,
}


@pytest.mark.parametrize("name", MODELS)
def test_noise_comes_before_rounding(name: str) -> None:
    X, y = epoch_seconds()
    fitted = MODELS[name]().fit(X, y)
    model = read_model(fitted)
    sd, n_draws = np.array([20.0]), 20_000
    noise = np.random.default_rng(2).normal(size=(n_draws, 1)) * sd
    for row in X[:5]:
        drawn = fitted.predict(row + noise)
        error = drawn.std() / np.sqrt(n_draws) + np.ptp(y) / n_draws
        assert abs(soften(model.sum, row[None], sd).margins[0, 0] - drawn.mean()) < 4.5 * error
    rows = 1.7e9 + np.arange(0.0, 2000.0, 0.5)[:, None]
    np.testing.assert_allclose(model.answers(rows)[:, 0], fitted.predict(rows), rtol=1e-5, atol=1e-5)


def test_members_of_several_precisions_are_one_sum() -> None:
    X, y = epoch_seconds()
    fitted = [DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y), tm.CARTRegressor().fit(X, y)]
    members = [PlacedMember(read_model(each).sum, np.zeros(1, np.int64)) for each in fitted]
    whole = mean_of_members("blend", members, np.ones(2), n_outputs=1, n_attributes=1)
    rows = 1.7e9 + np.arange(0.0, 2000.0, 0.5)[:, None]
    expected = 0.5 * (fitted[0].predict(rows) + fitted[1].predict(rows))
    np.testing.assert_allclose(whole.answers(rows)[:, 0], expected, rtol=1e-12)


def test_files_of_earlier_releases_are_converted() -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    kept = store_trees(read_model(tree))
    kept.trees_ = [type(kept.trees_[0])(nodes_at(kept.trees_[0], 0.5), [[1, 0], [0, 1]], [], [0], False)]
    just_above = np.array([[0.5 + 1e-12]])
    assert kept.predict(just_above)[0] == 1
    kept.single_precision_ = True
    assert kept.predict(just_above)[0] == tree.predict(just_above)[0] == 0


def nodes_at(tree: Any, threshold: float) -> Any:
    nodes = tree.nodes.copy()
    nodes["threshold"][0] = threshold
    return nodes
