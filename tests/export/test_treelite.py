"""Models of treelite: the model's own answers, NaN, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import treelite
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.export import treelite as treelite_export

from .tables import NAMES, answers_of, mixed_table, numeric_forest, trained

EXACT = {"rtol": 1e-12, "atol": 1e-12}
REFUSED = {
    ("class", "smeared classes"): "applies the link 'positive'",
    ("class", "Aspen"): "applies the link 'softmax of linear",
    ("number", "M5"): "has model trees",
    ("number", "bagged M5"): "has model trees",
    ("number", "Aspen"): "has model trees",
}


def run(model: Any, rows: np.ndarray) -> np.ndarray:
    """Answers after the model went through its file format."""
    again = treelite.Model.deserialize_bytes(model.serialize_bytes())
    return treelite.gtil.predict(again, rows, nthread=1)[:, 0]


@pytest.mark.parametrize("missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_answers_are_the_models_own_or_nan(kind: str, name: str, missing: float) -> None:
    model, table = trained(kind, name, missing), mixed_table(120, 1, 0.15)[0]
    if (kind, name) in REFUSED:
        with pytest.raises(UnsupportedModel, match=REFUSED[kind, name]):
            tm.to_treelite(model)
        return
    got = run(tm.to_treelite(model), model.encoder_.encode(table))
    refused = np.isnan(got).any(axis=1)
    np.testing.assert_allclose(got[~refused], answers_of(model, table)[~refused], **EXACT)
    assert not refused[table.notna().all(axis=1)].any()
    assert (~refused).sum() > 30


@pytest.mark.slow
def test_a_hundred_thousand_rows() -> None:
    forest, rows = numeric_forest()
    np.testing.assert_allclose(run(tm.to_treelite(forest), rows), forest.predict_proba(rows), **EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["C4.5", "forest", "AdaBoost", "extra trees"])
def test_a_hundred_thousand_mixed_rows(name: str) -> None:
    model, table = trained("class", name), mixed_table(100_000, 1)[0]
    got = run(tm.to_treelite(model), model.encoder_.encode(table))
    np.testing.assert_allclose(got, model.predict_proba(table), **EXACT)


def test_single_precision() -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.C45Classifier().fit(X, y)
    plain, placed = (run(tm.to_treelite(model, rows, dtype="float32"), X.astype(np.float32)) for rows in (None, X))
    assert (abs(plain - model.predict_proba(X)) > 0.1).any()
    np.testing.assert_allclose(placed, model.predict_proba(X), atol=1e-6)
    rows = X.astype(np.float32)
    np.testing.assert_allclose(plain, model.predict_proba(rows.astype(np.float64)), atol=1e-6)


def test_margins_of_single_classes_and_links() -> None:
    X, y = load_iris(return_X_y=True)
    three = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    np.testing.assert_allclose(run(tm.to_treelite(three), X), three.predict_proba(X), atol=1e-6)  # softmax in float32
    two = GradientBoostingClassifier(n_estimators=5).fit(X, y == 1)
    np.testing.assert_allclose(run(tm.to_treelite(two), X)[:, 0], two.predict_proba(X)[:, 1], atol=1e-6)


def test_an_infinite_offset_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged file can hold one; treelite's own error was about JSON."""
    X, y = load_iris(return_X_y=True)
    forest = tm.RandomForestRegressor(n_estimators=2, random_state=0).fit(X, y)
    exported = treelite_export.read_exported(forest)
    forged = replace(exported, whole=replace(exported.whole, offset=np.array([np.inf])))
    monkeypatch.setattr(treelite_export, "read_exported", lambda model: forged)
    with pytest.raises(UnsupportedModel, match="finite numbers"):
        tm.to_treelite(forest)
