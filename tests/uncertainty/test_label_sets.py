"""Sets of classes equal slow loops and crepes, and contain the true class as often as they should."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.uncertainty.label_sets import METHODS

from .made_tables import classes_of, classifiers, made_table, with_slow

GOLDEN = Path(__file__).parents[1] / "golden" / "uncertainty.json.gz"


def covered(model: Any, sets: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return sets[np.arange(len(truth)), np.searchsorted(model.classes_, truth)]


def slow_set(model: Any, X: Any, y: np.ndarray, new: Any, coverage: float, method: str, by_class: bool) -> np.ndarray:
    """Sets by a loop over rows, classes and training rows."""
    out, codes = model.count_inbag(X, y) == 0, np.searchsorted(model.classes_, y)
    rows = np.flatnonzero(out.any(axis=0))
    inside, outside = (
        np.array([member.predict_values(model._read_table(T)) for member in model.members_]) for T in (X, new)
    )
    own = np.array([inside[out[:, i], i].mean(axis=0)[codes[i]] for i in rows])
    sets = np.zeros((outside.shape[1], len(model.classes_)), bool)
    for number in range(len(sets)):
        for code in range(len(model.classes_)):
            judges = [k for k, i in enumerate(rows) if not by_class or codes[i] == code]
            rank = np.ceil(coverage * (len(judges) + 1))
            if method == "jackknife+":
                others = [outside[out[:, rows[k]], number, code].mean() for k in judges]
            else:
                others = [outside[:, number, code].mean()] * len(judges)
            n_better = sum(other < own[k] - 1e-9 for k, other in zip(judges, others))
            sets[number, code] = n_better < rank
    return sets


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_equal_those_of_slow_loops(method: str, by_class: bool) -> None:
    X, target = made_table(80, 0)
    new, y = made_table(15, 1)[0], classes_of(target)
    forest = tm.RandomForestClassifier(n_estimators=25, max_depth=3, random_state=0).fit(X, y)
    sets = tm.Uncertainty(forest, X, y).predict_set(new, 0.85, method=method, by_class=by_class)
    np.testing.assert_array_equal(sets, slow_set(forest, X, y, new, 0.85, method, by_class))
    assert 0 < sets.mean() < 1


@pytest.mark.outside
@pytest.mark.parametrize(("name", "by_class"), [("sets", False), ("sets_by_class", True)])
def test_sets_are_those_of_crepes(name: str, by_class: bool) -> None:
    stored = json.loads(gzip.decompress(GOLDEN.read_bytes()))["crepes_sets"]
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(**stored["parameters"]).fit(X[::2], y[::2])
    if not np.allclose(forest.predict_proba(X[1::2]), stored["means"]):
        pytest.skip("scikit-learn grows other trees than when the answers were stored")
    sets = tm.Uncertainty(forest, X[::2], y[::2]).predict_set(X[1::2], 0.95, by_class=by_class)
    assert [np.flatnonzero(each).tolist() for each in sets] == stored[name]


@pytest.mark.parametrize("name", with_slow(classifiers()))
def test_every_ensemble_covers_new_classes(name: str) -> None:
    new, truth = made_table(400, 100)
    shares = []
    for seed in (1, 2):
        X, target = made_table(150, seed)
        y = classes_of(target)
        model = classifiers(20)[name].fit(X, y)
        uncertainty, labels = tm.Uncertainty(model, X, y), classes_of(truth)
        sets = [uncertainty.predict_set(new, 0.8, method=method) for method in METHODS]
        shares.append([covered(model, each, labels).mean() for each in sets])
    assert np.mean(shares, axis=0) == pytest.approx([0.83] * 2, abs=0.12)


def test_coverage_is_right_for_every_class_where_asked() -> None:
    X, y = make_classification(3000, weights=[0.85, 0.15], flip_y=0.15, class_sep=0.7, random_state=0)
    forest = tm.RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X[:1000], y[:1000])
    uncertainty = tm.Uncertainty(forest, X[:1000], y[:1000])
    rare = y[1000:] == 1
    together = covered(forest, uncertainty.predict_set(X[1000:], 0.9), y[1000:])
    by_class = covered(forest, uncertainty.predict_set(X[1000:], 0.9, by_class=True), y[1000:])
    assert 0.87 < together.mean() < 0.93
    assert together[rare].mean() < 0.75
    assert 0.83 < by_class[rare].mean() < 0.95
    assert 0.87 < by_class[~rare].mean() < 0.94


def test_a_class_with_few_rows_is_in_every_set_and_this_is_told() -> None:
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:105]
    forest = tm.RandomForestClassifier(random_state=0).fit(X[keep], y[keep])
    with pytest.warns(UserWarning, match=r"classes \[2\] have too few out-of-bag rows .* \(5 rows at most\)"):
        sets = tm.Uncertainty(forest, X[keep], y[keep]).predict_set(X, by_class=True)
    assert sets[:, 2].all()
    assert not sets[:, 1].all()


def test_bagged_estimators_of_other_libraries_have_sets() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = tm.BaggingClassifier(GaussianNB(), n_estimators=20, random_state=0).fit(X[::2], y[::2])
    uncertainty = tm.Uncertainty(model, X[::2], y[::2])
    for method in METHODS:
        assert covered(model, uncertainty.predict_set(X[1::2], method=method), y[1::2].to_numpy()).mean() > 0.8


def test_sets_are_for_classes_and_intervals_for_numbers() -> None:
    X, y = made_table(60, 0)
    regressor = tm.Uncertainty(tm.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y), X, y)
    with pytest.raises(UnsupportedModel, match="use predict_interval"):
        regressor.predict_set(X)
    labels = classes_of(y)
    classifier = tm.Uncertainty(tm.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, labels), X, labels)
    for method in (classifier.predict_interval, classifier.predict_quantiles):
        with pytest.raises(UnsupportedModel, match="use predict_set"):
            method(X)
    with pytest.raises(InvalidParameter, match="by_class='yes'"):
        classifier.predict_set(X, by_class="yes")
