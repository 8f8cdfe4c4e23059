"""Estimators of scikit-learn: the model's own answers, an error for rows with other answers, or a refusal."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, export_text

import tremula as tm
from tremula.errors import InvalidInput, UnsupportedModel

from .tables import NAMES, answers_of, numeric_table, trained, untrained

EXACT = {"rtol": 1e-12, "atol": 1e-12}
REFUSED = {
    "smeared classes": "link 'positive'",
    "M5": "model trees",
    "bagged M5": "model trees",
    "Aspen": "link|model trees|weighted mean",
}


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_answers_are_the_models_own(kind: str, name: str) -> None:
    X, classes, numbers = numeric_table(150, 0)
    model = untrained(kind, name).fit(X, classes if kind == "class" else numbers)
    if name in REFUSED:
        with pytest.raises(UnsupportedModel, match=REFUSED[name]):
            tm.to_sklearn(model)
        return
    rows = numeric_table(400, 1)[0].astype(np.float32).astype(np.float64)
    for given, other in ((rows, tm.to_sklearn(model)), (X, tm.to_sklearn(model, X))):
        own = answers_of(model, given)
        np.testing.assert_allclose(answers_of(other, given), own, **EXACT)
        if kind == "class":
            is_tied = np.partition(own, -2)[:, -2] > own.max(axis=1) - 1e-12
            np.testing.assert_array_equal(other.predict(given)[~is_tied], model.predict(given)[~is_tied])
    with pytest.raises(ValueError, match="contains NaN"):
        other.predict(np.where(np.arange(X.shape[1]) >= 0, np.nan, X))


def test_missing_values_take_the_branches_of_the_model() -> None:
    X, classes, _ = numeric_table(200, 0, missing=0.3)
    model = tm.CARTClassifier(max_depth=2).fit(X, classes)
    other, rows = tm.to_sklearn(model), numeric_table(300, 1, missing=0.5)[0].astype(np.float32).astype(np.float64)
    assert isinstance(other, DecisionTreeClassifier)
    np.testing.assert_allclose(other.predict_proba(rows), model.predict_proba(rows), **EXACT)


def test_training_rows_keep_their_sides_and_thresholds_divide_their_neighbours() -> None:
    X, y = load_iris(return_X_y=True)  # tenths, on which thresholds of C4.5 lie
    model = tm.C45Classifier().fit(X, y)
    assert (tm.to_sklearn(model).predict(X) != model.predict(X)).any()
    np.testing.assert_array_equal(tm.to_sklearn(model, X).predict(X), model.predict(X))
    thresholds = model.tree_.threshold[~model.tree_.is_leaf].astype(np.float32)
    steps = [np.nextafter(thresholds, np.float32(end)) for end in (-np.inf, np.inf)]
    rows = np.array(np.meshgrid(*[np.concatenate([thresholds, *steps])] * 2)).reshape(2, -1).T
    rows = np.hstack([rows, rows]).astype(np.float64)
    np.testing.assert_array_equal(tm.to_sklearn(model).predict(rows), model.predict(rows))


def test_rows_that_cannot_keep_their_sides_are_refused() -> None:
    X = np.array([[1.0], [1.0 + 1e-12]])
    with pytest.raises(InvalidInput, match="the same number in single precision"):
        tm.to_sklearn(tm.CARTClassifier().fit(X, [0, 1]), X)


def test_names_and_labels_stay() -> None:
    X, classes, _ = numeric_table(80, 0)
    frame = pd.DataFrame(X, columns=["a b", "c", "d", "e"])
    for model in (
        tm.C45Classifier(),
        tm.RandomForestClassifier(2, random_state=0),
        tm.AdaBoostM1Classifier(n_estimators=3),
    ):
        other = tm.to_sklearn(model.fit(frame, classes), frame)
        assert other.feature_names_in_.tolist() == list(frame)
        assert other.classes_.tolist() == model.classes_.tolist()
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match="feature names"):
            other.predict(frame[list(frame)[::-1]])


def test_tools_for_trees_read_the_nodes() -> None:
    X, y = load_iris(return_X_y=True)
    model = tm.CARTClassifier(max_depth=2).fit(X, y)
    tree = tm.to_sklearn(model)
    assert export_text(tree).count("class:") == tree.get_n_leaves() == model.tree_.n_leaves
    np.testing.assert_allclose(tree.feature_importances_.sum(), 1.0)
    assert tree.tree_.impurity[0] == pytest.approx(2 / 3)
    regressor = tm.to_sklearn(tm.CARTRegressor(max_depth=2).fit(X[:, 2:], y))
    assert np.isnan(regressor.feature_importances_).all()


@pytest.mark.slow
def test_a_pickle_needs_scikit_learn_alone(tmp_path: Path) -> None:
    X, classes, _ = numeric_table(80, 0)
    other = tm.to_sklearn(tm.RandomForestClassifier(2, random_state=0).fit(X, classes), X)
    (tmp_path / "forest").write_bytes(pickle.dumps(other))
    code = (
        f"import pickle, sys; model = pickle.load(open({str(tmp_path / 'forest')!r}, 'rb')); "
        f"print(model.predict({X[:1].tolist()})[0], 'tremula' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{other.predict(X[:1])[0]} False"


@pytest.mark.parametrize("name", ["C4.5", "forest"])
def test_nominal_attributes_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedModel, match=r"has nominal attributes \('color'\)"):
        tm.to_sklearn(trained("class", name))


def test_a_smoothed_model_and_a_sum_are_refused() -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    X, classes, numbers = numeric_table(80, 0)
    forest: Any = tm.RandomForestClassifier(2, random_state=0).fit(X, classes)
    with pytest.raises(UnsupportedModel, match="averages over noise"):
        tm.to_sklearn(tm.DualPerturbClassifier(forest, noise=0.1).fit(X))
    with pytest.raises(UnsupportedModel, match="no weighted mean of trees"):
        tm.to_sklearn(GradientBoostingRegressor(n_estimators=2).fit(X, numbers))
