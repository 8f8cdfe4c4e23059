"""Coverage on real tables, with nominal attributes and missing values; benchmarks/intervals.py has more of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tremula as tm

pytestmark = pytest.mark.data


def halves(
    folder: Path, name: str, n_rows: int, seed: int
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    table = pd.read_parquet(folder / f"{name}.parquet").sample(frac=1.0, random_state=seed)
    table = table[: 2 * n_rows]
    X, y = table.drop(columns="target"), table["target"].to_numpy()
    half = len(table) // 2
    return X[:half], y[:half], X[half:], y[half:]


@pytest.mark.parametrize("name", ["abalone", "auto-mpg", "ozone", "mv"])
def test_intervals_cover_nine_of_ten_targets(data_folder: Path, name: str) -> None:
    shares = []
    for seed in range(4):
        X, y, X_new, y_new = halves(data_folder, name, 300, seed)
        forest = tm.RandomForestRegressor(n_estimators=60, max_features=1 / 3, random_state=seed).fit(X, y)
        uncertainty = tm.Uncertainty(forest, X, y)
        low, high = uncertainty.predict_interval(X_new).T
        shares.append(((low <= y_new) & (y_new <= high)).mean())
    assert 0.87 < np.mean(shares) < 0.945


@pytest.mark.parametrize("name", ["credit-g", "vehicle", "splice"])
def test_sets_contain_nine_of_ten_classes(data_folder: Path, name: str) -> None:
    shares = []
    for seed in range(3):
        X, y, X_new, y_new = halves(data_folder, name, 300, seed)
        forest = tm.RandomForestClassifier(n_estimators=60, random_state=seed).fit(X, y)
        sets = tm.Uncertainty(forest, X, y).predict_set(X_new)
        shares.append(sets[np.arange(len(y_new)), np.searchsorted(forest.classes_, y_new)].mean())
    assert 0.86 < np.mean(shares) < 0.95
