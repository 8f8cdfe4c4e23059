"""Aspen keeps to `monotonic_cst`: members, calibration and corrections."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel

N_ROWS = 200
DIRECTIONS = {"a": 1, "b": 1, "d": -1}  # b is against the data, d is noise


def draw_table(seed: int, missing: float) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(N_ROWS, 4)).round(1), columns=list("abcd"))
    y = X["a"] - X["b"] * (X["c"] > 0) + np.sin(3 * X["a"]) + random.normal(scale=0.7, size=N_ROWS)
    X = X.mask(random.random(X.shape) < missing)
    X["e"] = pd.Categorical(random.choice(list("tuvwxyz"), N_ROWS))
    return X, (y + (X["e"] == "u") * 2.0).to_numpy(), random.exponential(size=N_ROWS)


def attack(model: Any, X: pd.DataFrame, directions: dict[str, int], seed: int) -> int:
    """Move each constrained attribute of random rows, all else fixed; returns how often the prediction moved."""
    random, n_moves = np.random.default_rng(seed), 0
    for name, direction in directions.items():
        values = np.unique(X[name].dropna())
        scan = np.sort(np.concatenate([[-1e6, 1e6], values, (values[1:] + values[:-1]) / 2]))
        moved = X.iloc[np.repeat(random.integers(len(X), size=40), len(scan))].copy()
        moved[name] = np.tile(scan, 40)
        # Exponentials of classes are rounded in ways that need not keep the order.
        is_class = hasattr(model, "predict_proba")
        predictions, slack = (model.predict_proba(moved)[:, 1], 1e-14) if is_class else (model.predict(moved), 0.0)
        steps = np.diff(predictions.reshape(40, len(scan)), axis=1) * direction
        assert steps.min() >= -slack
        n_moves += np.count_nonzero(steps > slack)
    return n_moves


MODELS = {
    "numbers": tm.AspenRegressor(6, random_state=0),
    "classes": tm.AspenClassifier(6, random_state=0),
}


def constrained(name: str, seed: int, missing: float, **options: Any) -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y, weights = draw_table(seed, missing)
    target = np.where(y > np.median(y), "yes", "no") if name == "classes" else y
    model = clone(MODELS[name]).set_params(**{"monotonic_cst": DIRECTIONS, **options})
    return model.fit(X, target, sample_weight=weights if seed % 2 else None), X, target


@pytest.fixture
def all_corrections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep all rounds of boosting, whether they help or not."""
    monkeypatch.setattr("tremula.aspen.training.np.argmin", lambda losses: len(losses) - 1)


@pytest.mark.usefixtures("all_corrections")
@pytest.mark.parametrize(("seed", "missing"), [(0, 0.0), (1, 0.2)])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_monotonic(name: str, seed: int, missing: float) -> None:
    model, X, _ = constrained(name, seed, missing)
    assert len(model.corrections_) > 0
    assert attack(model, X, DIRECTIONS, seed) > 5


@pytest.mark.slow
@pytest.mark.usefixtures("all_corrections")
@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_larger_models_are_monotonic(name: str) -> None:
    for seed in range(6):
        model, X, _ = constrained(name, seed, 0.1 * (seed % 3), n_estimators=25)
        assert attack(model, X, DIRECTIONS, seed) > 5


@pytest.mark.parametrize("name", MODELS)
def test_without_constraints_predictions_are_not_monotonic(name: str) -> None:
    """The attack finds what there is to find."""
    model, X, _ = constrained(name, 0, 0.0, monotonic_cst=None)
    with pytest.raises(AssertionError):
        attack(model, X, DIRECTIONS, 0)


def test_families_that_keep_no_order_are_left_out() -> None:
    model, _, _ = constrained("numbers", 0, 0.0)
    assert model.report_.left_out == ("model trees",)
    assert "model trees" not in {family.name for family in model.report_.tried}
    assert any("Not tried: model trees" in sentence for sentence in model.report_.sentences())
    assert constrained("classes", 0, 0.0)[0].report_.left_out == ()
    assert constrained("numbers", 0, 0.0, monotonic_cst=None)[0].report_.left_out == ()


def test_wrong_constraints_are_refused() -> None:
    X, y, _ = draw_table(0, 0.0)
    with pytest.raises(InvalidParameter, match="3 classes: constraints of order need two"):
        tm.AspenClassifier(2, monotonic_cst=DIRECTIONS).fit(X, np.digitize(y, [-1.0, 1.0]))
    with pytest.raises(InvalidParameter, match="'e', which is nominal"):
        tm.AspenRegressor(2, monotonic_cst={"e": 1}).fit(X, y)
    with pytest.raises(InvalidParameter, match="directions, but X has 5 columns"):
        tm.AspenRegressor(2, monotonic_cst=[1, 0]).fit(X, y)


def test_models_are_used_as_others_are(tmp_path: Any) -> None:
    model, X, y = constrained("numbers", 0, 0.0, n_estimators=3)
    tm.save(model, tmp_path / "model.tremula")
    loaded = tm.load(tmp_path / "model.tremula")
    assert loaded.report_.left_out == ("model trees",)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit(X, y).predict(X), model.predict(X))
    assert tm.Uncertainty(model, X, y).predict_interval(X[:5], coverage=0.8).shape == (5, 2)
    with pytest.raises(UnsupportedModel):
        tm.row_weights(model, X, X_train=X, y_train=y)
