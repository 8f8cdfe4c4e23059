"""Every method that predicts reads its table exactly once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula import perturb
from tremula.data.table import Table
from tremula.smoothing.models import read_model
from tremula.smoothing.models.stored import store_trees

ROWS = 60
SETTINGS: dict[str, Any] = {"n_estimators": 4, "noise": 0.3, "flip": 0.1, "max_depth": 3, "random_state": 0}
PREDICTING = ("predict", "staged_", "apply", "decision_path", "smooth", "gradient", "certified_")


def make_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Nominal columns alone, so that every learner takes the table and none of its readings is cut short."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"color": random.choice(["red", "green"], ROWS), "wet": random.random(ROWS) < 0.5})
    return frame, (frame["color"] == "red").to_numpy() + random.normal(scale=0.2, size=ROWS)


def estimators() -> Iterator[BaseEstimator]:
    for name in sorted(tm.__all__):
        kind = getattr(tm, name)
        if not (inspect.isclass(kind) and issubclass(kind, BaseEstimator)):
            continue
        parameters = inspect.signature(kind).parameters
        settings = {key: value for key, value in SETTINGS.items() if key in parameters}
        if "perturb" in parameters:
            settings["perturb"] = [perturb.Bootstrap()]
        yield kind(**settings)
    yield tm.AspenClassifier(boosting=True, n_estimators=4, random_state=0)


def predicting_methods(estimator: BaseEstimator) -> list[str]:
    members = inspect.getmembers(type(estimator), inspect.isfunction)
    return [name for name, _ in members if name.startswith(PREDICTING)]


def count_readings(monkeypatch: pytest.MonkeyPatch, method: Callable[..., Any], X: Any, **options: Any) -> int:
    readings = []
    read = Table.of

    def counted(X: Any) -> Table:
        readings.append(X)
        return read(X)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "of", counted)
        result = method(X, **options)
        if inspect.isgenerator(result):
            list(result)
    return len(readings)


def options_of(method: Callable[..., Any]) -> list[dict[str, Any]]:
    return [{}, {"return_std": True}] if "return_std" in inspect.signature(method).parameters else [{}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda estimator: type(estimator).__name__)
def test_a_table_is_read_once(estimator: BaseEstimator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, target = make_table()
    estimator.fit(X, target > 0.5 if is_classifier(estimator) else target)
    methods = predicting_methods(estimator)
    assert "predict" in methods
    for name in methods:
        method = getattr(estimator, name)
        for options in options_of(method):
            assert count_readings(monkeypatch, method, X, **options) == 1, (name, options)


@pytest.mark.parametrize("kind", [tm.DualPerturbClassifier, tm.DualPerturbRegressor])
def test_without_noise_the_wrapped_model_reads_the_table_once_more(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, target = make_table()
    model = kind(noise=0.0).fit(X, target > 0.5 if kind is tm.DualPerturbClassifier else target)
    methods = [model.predict, model.predict_proba] if kind is tm.DualPerturbClassifier else [model.predict]
    for method in methods:
        for options in options_of(method):
            assert count_readings(monkeypatch, method, X, **options) == 2, (method, options)


def test_trees_of_other_libraries_read_a_table_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = store_trees(read_model(DecisionTreeClassifier(max_depth=2).fit(X, y)))
    for method in (model.predict, model.predict_proba):
        assert count_readings(monkeypatch, method, X.astype(object)) == 1
