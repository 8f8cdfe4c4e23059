"""How a prediction moves with single attributes, and the figure of one case."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from tests.uncertainty.made_tables import classes_of, made_table

import tremula as tm
from tremula.diagnostics import CaseDisplay
from tremula.errors import InvalidInput, InvalidParameter
from tremula.explanations.response import responses

TABLE, TARGET = made_table(150, 0)
CLASSES = classes_of(TARGET)
FEW: dict[str, Any] = {"n_estimators": 8, "random_state": 0}
FOREST = tm.RandomForestRegressor(**FEW).fit(TABLE, TARGET)


@pytest.fixture(autouse=True)
def _close() -> Any:
    yield
    plt.close("all")


def test_responses_are_predictions_with_one_value_changed() -> None:
    row = TABLE.iloc[[4]]
    number, level = responses(FOREST, row, TABLE, [1, 2], n_points=7)
    assert (number.name, level.name) == ("b", "c")
    assert level.levels == tuple("uvwxyz")
    assert row["b"].iloc[0] in number.values
    for value, answer in zip(number.values, number.answers):
        assert FOREST.predict(row.assign(b=value))[0] == answer
    for label, answer in zip("uvwxyz", level.answers):
        changed = row.assign(c=pd.Categorical([label], categories=list("uvwxyz")))
        assert FOREST.predict(changed)[0] == answer
    assert level.own == "uvwxyz".index(row["c"].iloc[0])


def test_a_missing_value_has_no_place_on_the_curve() -> None:
    row = TABLE[TABLE["a"].isna()][:1]
    (curve,) = responses(FOREST, row, TABLE, [0])
    assert np.isnan(curve.own)
    assert np.isfinite(curve.answers).all()


def test_figure_of_a_number() -> None:
    display = CaseDisplay.from_estimator(FOREST, TABLE.iloc[[4]], TABLE, TARGET)
    assert display.prediction == pytest.approx(FOREST.predict(TABLE.iloc[[4]])[0])
    pushes, rows, curves = display.axes_
    assert len(pushes.patches) >= len(display.names) > 0
    assert sum(patch.get_width() for patch in pushes.patches) == pytest.approx(display.prediction - display.base)
    assert len(rows.patches) == len(display.rows) > 1
    widths = [patch.get_width() for patch in rows.patches]
    assert widths == sorted(widths, reverse=True)
    assert {text.get_text() for text in curves.get_legend().get_texts()} <= {"a", "b", "c"}
    assert any(label.get_text().startswith("c = ") for label in pushes.get_yticklabels())


def test_figure_of_a_class() -> None:
    model = tm.RandomForestClassifier(**FEW).fit(TABLE, CLASSES)
    display = CaseDisplay.from_estimator(model, TABLE[:1], TABLE, CLASSES, output="low", background=TABLE[:20])
    column = list(model.classes_).index("low")
    assert display.prediction == pytest.approx(model.predict_proba(TABLE[:1])[0, column])
    best = CaseDisplay.from_estimator(model, TABLE[:1], TABLE, CLASSES)
    assert best.prediction == pytest.approx(model.predict_proba(TABLE[:1]).max())
    with pytest.raises(InvalidParameter, match="one of the classes"):
        CaseDisplay.from_estimator(model, TABLE[:1], TABLE, CLASSES, output="none")


def test_figure_of_a_smoothed_model() -> None:
    X, y = load_diabetes(return_X_y=True)
    smooth = tm.DualPerturbRegressor(tm.RandomForestRegressor(**FEW).fit(X, y), noise=0.2, tol=0.0).fit(X)
    display = CaseDisplay.from_estimator(smooth, X[:1], X, y)
    assert display.prediction == pytest.approx(smooth.predict(X[:1])[0])
    assert len(display.rows) == 8


def test_figure_of_a_model_without_rows_says_so() -> None:
    model = tm.M5Regressor().fit(TABLE, TARGET)
    display = CaseDisplay.from_estimator(model, TABLE[:1], TABLE, TARGET, background=TABLE[:30])
    assert display.rows == []
    assert "no weighted mean" in display.axes_[1].texts[0].get_text()


def test_figure_takes_given_axes_and_one_row() -> None:
    axes = plt.subplots(1, 3)[1]
    display = CaseDisplay.from_estimator(FOREST, TABLE.iloc[[4]], TABLE, TARGET, axes=axes)
    assert list(display.axes_) == list(axes)
    with pytest.raises(InvalidInput, match="one row"):
        CaseDisplay.from_estimator(FOREST, TABLE[:2], TABLE, TARGET)
    with pytest.raises(InvalidInput, match="give three"):
        display.plot(axes[:2])
