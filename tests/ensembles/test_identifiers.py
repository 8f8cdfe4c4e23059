"""No column that looks like an identifier harms a forest by more than 2 %: 12 tables, three kinds of identifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import tremula as tm
from tremula.lab.datasets import load_dataset
from tremula.losses import brier_losses, squared_errors

NUMBERS = ["housing", "servo", "kin8nm", "stock", "auto-mpg", "puma8NH"]
CLASSES = ["phoneme", "diabetes", "balance-scale", "vehicle", "credit-g", "waveform-5000"]
FORESTS = ["random forest", "extra trees", "bagged CART"]
IDENTIFIERS = ["names", "pairs", "numbers"]
MOST_ROWS, N_TREES, N_FOLDS = 500, 100, 6
MOST_HARM = 0.02


def make_model(forest: str, task: str, seed: int) -> Any:
    is_class = task == "classification"
    options = {"n_estimators": N_TREES, "random_state": seed}
    if forest == "random forest":
        return (tm.RandomForestClassifier if is_class else tm.RandomForestRegressor)(**options)
    if forest == "extra trees":
        return (tm.ExtraTreesClassifier if is_class else tm.ExtraTreesRegressor)(**options)
    if is_class:
        return tm.BaggingClassifier(tm.CARTClassifier(nominal="auto"), **options)
    return tm.BaggingRegressor(tm.CARTRegressor(nominal="auto"), **options)


def identifier(kind: str, n_rows: int) -> Any:
    """A column that says nothing: a word for each row, a word for each two or three rows, or numbers of rows."""
    random = np.random.default_rng(7)
    if kind == "numbers":
        return random.permutation(n_rows)
    names = np.arange(n_rows) if kind == "names" else np.repeat(np.arange(n_rows), random.integers(2, 4, n_rows))
    return [f"n{name}" for name in random.permutation(names[:n_rows])]


def losses(forest: str, task: str, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Mean Brier score, or mean squared error, of each fold."""
    folds = (StratifiedKFold if task == "classification" else KFold)(N_FOLDS, shuffle=True, random_state=0)
    found = []
    for seed, (train, test) in enumerate(folds.split(X, y)):
        model = make_model(forest, task, seed).fit(X.iloc[train], y[train])
        if task == "classification":
            codes = np.searchsorted(model.classes_, y[test])
            found.append(brier_losses(codes, model.predict_proba(X.iloc[test])).mean())
        else:
            found.append(squared_errors(y[test], model.predict(X.iloc[test])).mean())
    return np.array(found)


def harm(with_it: np.ndarray, without: np.ndarray, task: str) -> tuple[float, float]:
    """Relative increase of the loss (of the root of a squared one), and its standard error over the folds."""
    ratio = with_it.mean() / without.mean()
    error = (with_it - ratio * without).std(ddof=1) / np.sqrt(len(without)) / without.mean()
    return (ratio - 1.0, error) if task == "classification" else (np.sqrt(ratio) - 1.0, error / 2.0)


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.data
@pytest.mark.parametrize("forest", FORESTS)
def test_no_identifier_harms_a_forest_by_more_than_two_percent(forest: str) -> None:
    harms: dict[tuple[str, str], tuple[float, float]] = {}
    for task, names in (("regression", NUMBERS), ("classification", CLASSES)):
        for name in names:
            data = load_dataset(name, task=task)
            rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_ROWS]
            X, y = data.frame().iloc[rows].reset_index(drop=True), data.y[rows]
            without = losses(forest, task, X, y)
            for kind in IDENTIFIERS:
                with_it = losses(forest, task, X.assign(identifier=identifier(kind, len(X))), y)
                harms[name, kind] = harm(with_it, without, task)
    for kind in IDENTIFIERS:
        of_kind = np.array([each for (_, other), each in harms.items() if other == kind])
        error = np.sqrt(np.square(of_kind[:, 1]).sum()) / len(of_kind)
        assert of_kind[:, 0].mean() + 2.0 * error < MOST_HARM, (kind, of_kind)
    clear = {key: each for key, each in harms.items() if each[0] - 2.0 * each[1] > MOST_HARM}
    assert not clear
    assert max(error for _, error in harms.values()) < 0.025
