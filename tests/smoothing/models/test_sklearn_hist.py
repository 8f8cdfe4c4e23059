"""Trees read from scikit-learn's histogram gradient boosting answer as the models do."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from tremula.errors import InvalidInput, MissingLibrary, UnsupportedModel
from tremula.smoothing.models import read_model
from tremula.smoothing.models.self_check import probe_rows

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 4))
X[:, 3] = RANDOM.integers(0, 4, 200)
TWO = (X[:, 0] + X[:, 1] > 0).astype(int)
THREE = TWO + (X[:, 2] > 0.5)
NUMBER = np.abs(X[:, 0]) + X[:, 3]
WITH_HOLES = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Training so little takes longer the more threads wait for each other."""
    with threadpool_limits(1):
        yield


def difference(estimator: Any, rows: np.ndarray) -> float:
    model = read_model(estimator)
    return max(np.abs(model.answers(table) - model.unsmoothed(table)).max() for table in (rows, probe_rows(model.sum)))


@pytest.mark.parametrize("rows", [X, WITH_HOLES], ids=["whole", "with holes"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_classes(rows: np.ndarray, y: np.ndarray) -> None:
    pytest.importorskip("treelite")
    assert difference(HistGradientBoostingClassifier(max_iter=4).fit(rows, y), rows) < 1e-9


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "poisson", "gamma"])
def test_numbers(loss: str) -> None:
    pytest.importorskip("treelite")
    quantile = 0.3 if loss == "quantile" else None
    fitted = HistGradientBoostingRegressor(loss=loss, quantile=quantile, max_iter=4).fit(WITH_HOLES, NUMBER + 0.1)
    assert difference(fitted, WITH_HOLES) < 1e-9


def test_early_stopping_and_bagging() -> None:
    pytest.importorskip("treelite")
    stopped = HistGradientBoostingRegressor(early_stopping=True, n_iter_no_change=2, learning_rate=0.5, random_state=0)
    assert difference(stopped.fit(X, NUMBER), X) < 1e-9
    bagging = BaggingRegressor(HistGradientBoostingRegressor(max_iter=3), n_estimators=2, max_features=3)
    assert difference(bagging.fit(X, NUMBER), X) < 1e-9


def test_missing_alone_against_all_values() -> None:
    pytest.importorskip("treelite")
    hole = np.where(RANDOM.random(100) < 0.5, np.nan, 1.0)[:, None]
    fitted = HistGradientBoostingRegressor(max_iter=2).fit(hole, np.isnan(hole[:, 0]).astype(float))
    assert difference(fitted, hole) < 1e-9


LEVELS = np.array([0, 2, 3, 7, 9])
CODES = LEVELS[RANDOM.integers(0, 5, 200)].astype(float)
NOMINAL = np.column_stack([X[:, 0], CODES, X[:, 1], LEVELS[RANDOM.integers(0, 3, 200)]])


@pytest.mark.parametrize("rows", [NOMINAL, np.where(RANDOM.random(NOMINAL.shape) < 0.1, np.nan, NOMINAL)])
@pytest.mark.parametrize("classes", [True, False])
def test_nominal_codes_known_and_unknown(rows: np.ndarray, classes: bool) -> None:
    pytest.importorskip("treelite")
    target = np.isin(CODES, [2, 9]) + 0.1 * CODES + X[:, 0]
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    fitted = kind(max_iter=4, min_samples_leaf=5, categorical_features=[1, 3])
    fitted.fit(rows, (target > 0.5) if classes else target)
    model = read_model(fitted)
    others = rows.copy()
    others[:, 1] = RANDOM.integers(0, 12, 200)
    assert any(len(tree.subsets) for tree in model.sum.trees)
    assert np.allclose(model.answers(rows), model.unsmoothed(rows), atol=1e-9)
    assert np.allclose(model.answers(others), model.unsmoothed(others), atol=1e-9)
    assert set(model.levels[1]) <= set(LEVELS)


@pytest.mark.parametrize("other", [-1.0, 300.0, 0.5])
def test_codes_that_only_the_library_can_interpret_are_refused(other: float) -> None:
    pytest.importorskip("treelite")
    codes = np.where(CODES == 0, other, CODES)
    rows, target = np.column_stack([X[:, 0], codes]), np.isin(codes, [2, 9]) + X[:, 0]
    target[codes == other] = X[codes == other, 1]  # no split lists the level
    model = read_model(HistGradientBoostingRegressor(max_iter=2, categorical_features=[1]).fit(rows, target))
    with pytest.raises(InvalidInput, match="is not the code of a level"):
        model.answers(rows)


def test_a_nominal_attribute_without_a_level_that_can_be_read_is_refused() -> None:
    pytest.importorskip("treelite")
    random = np.random.default_rng(0)
    rows = np.column_stack([random.normal(size=60), random.choice([-1.5, -0.5, np.nan], 60)])
    target = rows[:, 0] + np.isnan(rows[:, 1])
    model = HistGradientBoostingRegressor(categorical_features=[1], max_iter=3, min_samples_leaf=5).fit(rows, target)
    with pytest.raises(UnsupportedModel, match="levels other than whole numbers"):
        read_model(model)


def test_texts_as_levels_are_not_read() -> None:
    pytest.importorskip("treelite")
    frame = pd.DataFrame({"size": X[:, 0], "color": pd.Categorical(np.where(X[:, 1] > 0, "red", "blue"))})
    with pytest.raises(UnsupportedModel, match="levels are strings"):
        read_model(HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype").fit(frame, TWO))


def test_without_treelite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "treelite", None)
    monkeypatch.setitem(sys.modules, "treelite.sklearn", None)
    with pytest.raises(MissingLibrary, match=r"tremula\[models\]"):
        read_model(HistGradientBoostingClassifier(max_iter=2).fit(X, TWO))


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError):
        read_model(HistGradientBoostingClassifier())
