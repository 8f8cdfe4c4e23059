"""Permutation importances on rows left out, against loops written out."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.base.ensemble import Ensemble
from tremula.errors import InvalidInput, InvalidParameter
from tremula.perturb import AttributeSubset, Bootstrap, FlippedClasses, RandomSplits
from tremula.seeds import make_root_seed, member_generator

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
Y = np.where(X[:, 0] + 0.5 * X[:, 2] + 0.3 * RANDOM.normal(size=300) > 0, "high", "low")  # 1 and 3 are noise
Y_NUMBERS = X[:, 0] + 0.5 * X[:, 2]
WEIGHTS = RANDOM.integers(0, 4, size=300).astype(float)


def naive_rises(model: Ensemble, table: Any, target: Any, weights: Any, n_repeats: int, seed: int) -> np.ndarray:
    """Shuffle every column of every member's rows left out, and let the member answer anew."""
    is_classifier = hasattr(model, "classes_")
    rises = np.zeros((len(model.members_), table.shape[1]))
    for number, member in enumerate(model.members_):
        rows = np.flatnonzero(model.inbag_counts_[number] == 0)
        random = member_generator(make_root_seed(seed), number).spawn(1)[0]

        def error(values: np.ndarray, member: Any = member, rows: np.ndarray = rows) -> float:
            if is_classifier:
                losses = model.classes_[member.predict_codes(values)] != target[rows]
            else:
                losses = (member.predict_values(values)[:, 0] - target[rows]) ** 2
            return float(np.average(losses, weights=weights[rows]))

        start = error(table[rows])
        for attribute in range(table.shape[1]):
            if isinstance(member, tm.Tree) and attribute not in member.attribute[~member.is_leaf]:
                continue
            errors = []
            for _ in range(n_repeats):
                shuffled = table[rows]
                shuffled[:, attribute] = shuffled[random.permutation(len(rows)), attribute]
                errors.append(error(shuffled))
            rises[number, attribute] = np.mean(errors) - start
    return rises


CASES = {
    "bagging": (tm.BaggingClassifier(n_estimators=8), Y),
    "forest": (tm.RandomForestClassifier(n_estimators=8), Y),
    "dagging": (tm.DaggingClassifier(n_estimators=3), Y),
    "without replacement": (tm.BaggingClassifier(n_estimators=5, max_samples=0.5, bootstrap=False), Y),
    "other estimator": (tm.BaggingClassifier(GaussianNB(), n_estimators=5), Y),
    "numbers": (tm.BaggingRegressor(n_estimators=8), Y_NUMBERS),
    "forest of numbers": (tm.RandomForestRegressor(n_estimators=5, max_features=2), Y_NUMBERS),
    "other regressor": (tm.BaggingRegressor(Ridge(), n_estimators=5), Y_NUMBERS),
    "composed": (tm.PerturbCombineClassifier(perturb=[FlippedClasses(0.1), Bootstrap(0.8)], n_estimators=5), Y),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
@pytest.mark.parametrize("n_repeats", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_rises_are_those_of_a_loop(name: str, n_repeats: int, weights: Any) -> None:
    model, target = CASES[name]
    model = clone(model).set_params(random_state=3, oob_score=True).fit(X, target, sample_weight=weights)
    found = model.permutation_importances(X, target, weights, n_repeats=n_repeats, random_state=7)
    expected = naive_rises(model, X, target, np.ones(300) if weights is None else weights, n_repeats, 7)
    np.testing.assert_allclose(found.by_member, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.importances, expected.mean(axis=0), atol=1e-12)
    spread = expected.std(axis=0, ddof=1) / np.sqrt(len(expected))
    np.testing.assert_allclose(found.standard_errors, spread, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["no weights", "weights"])
def test_rows_left_out_are_found_again_where_they_were_not_kept(name: str, weights: Any) -> None:
    model, target = CASES[name]
    results = []
    for keeps in (True, False):
        fitted = clone(model).set_params(random_state=3, oob_score=keeps).fit(X, target, sample_weight=weights)
        results.append(fitted.permutation_importances(X, target, weights, random_state=7).by_member)
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("n_jobs", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_number_of_jobs_makes_no_difference(n_jobs: int) -> None:
    model = tm.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, Y)
    alone = model.permutation_importances(X, Y, random_state=1)
    assert model.permutation_importances(X, Y, random_state=1, n_jobs=n_jobs).by_member.tobytes() == (
        alone.by_member.tobytes()
    )
    with joblib.parallel_config(backend="loky", n_jobs=2):
        elsewhere = model.permutation_importances(X, Y, random_state=1)
    assert elsewhere.by_member.tobytes() == alone.by_member.tobytes()


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (tm.RandomForestClassifier(n_estimators=60, random_state=0), Y),
        (tm.RandomForestRegressor(n_estimators=60, random_state=0), Y_NUMBERS),
    ],
    ids=str,
)
def test_noise_is_of_no_importance_and_information_is(model: Ensemble, target: np.ndarray) -> None:
    found = model.fit(X, target).permutation_importances(X, target, random_state=0)
    in_errors = found.importances / found.standard_errors
    assert in_errors[[0, 2]].min() > 8
    scale = found.importances[0]
    assert np.abs(found.importances[[1, 3]]).max() < 0.1 * scale


def test_an_attribute_that_no_tree_tests_is_of_no_importance_at_all() -> None:
    table = np.c_[X, np.zeros(300)]
    found = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(table, Y).permutation_importances(table, Y)
    assert found.importances[4] == found.standard_errors[4] == 0.0


def test_an_attribute_that_a_member_does_not_see_is_of_no_importance_to_it() -> None:
    model = tm.PerturbCombineClassifier(
        LogisticRegression(), [Bootstrap(), AttributeSubset(1)], n_estimators=6, random_state=0
    ).fit(X, Y)
    found = model.permutation_importances(X, Y, random_state=0)
    for number, member in enumerate(model.members_):
        assert set(np.flatnonzero(found.by_member[number])) <= set(member.attributes)


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=4)], ids=str)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_taken_as_arrays_are(make: Any, estimator: Any) -> None:
    frame = make(dict(zip("abcd", X.T)))
    if make is pd.DataFrame:
        frame.index = np.arange(1000, 1300)[::-1]
    model = tm.BaggingClassifier(estimator, n_estimators=5, random_state=0)
    expected = clone(model).fit(X, Y).permutation_importances(X, Y, n_repeats=2, random_state=0).by_member
    found = clone(model).fit(frame, Y).permutation_importances(frame, Y, n_repeats=2, random_state=0).by_member
    np.testing.assert_array_equal(found, expected)


def test_sparse_tables_are_taken_as_arrays_are() -> None:
    model = tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=5, random_state=0)
    expected = clone(model).fit(X, Y).permutation_importances(X, Y, n_repeats=2, random_state=0).by_member
    sparse = csr_array(X)
    found = clone(model).fit(sparse, Y).permutation_importances(sparse, Y, n_repeats=2, random_state=0).by_member
    np.testing.assert_array_equal(found, expected)


def test_nominal_attributes_and_missing_values_are_shuffled_too() -> None:
    color = RANDOM.choice(["red", "green", "blue"], 300)
    size = np.where(RANDOM.random(300) < 0.2, np.nan, X[:, 1])
    frame = pd.DataFrame({"size": size, "color": pd.Categorical(color)})
    target = color == "red"
    found = (
        tm.BaggingClassifier(n_estimators=10, random_state=0)
        .fit(frame, target)
        .permutation_importances(frame, target, random_state=0)
    )
    assert found.importances[1] > 0.3
    assert found.importances[0] == 0.0


def test_the_table_given_is_left_as_it_is() -> None:
    table = X.copy()
    tm.BaggingClassifier(n_estimators=3, random_state=0).fit(table, Y).permutation_importances(table, Y)
    np.testing.assert_array_equal(table, X)


def test_a_member_that_left_no_row_out_is_not_counted() -> None:
    table, classes = np.array([[1.0], [2.0], [3.0]]), ["a", "b", "b"]
    model = tm.BaggingClassifier(n_estimators=40, random_state=0, oob_score=True).fit(table, classes)
    judged = (model.inbag_counts_ == 0).any(axis=1)
    assert not judged.all()
    found = model.permutation_importances(table, classes, random_state=0)
    np.testing.assert_array_equal(np.isnan(found.by_member[:, 0]), ~judged)
    assert found.importances == pytest.approx(found.by_member[judged].mean(axis=0))


def test_one_member_has_no_standard_error() -> None:
    found = tm.BaggingClassifier(n_estimators=1, random_state=0).fit(X, Y).permutation_importances(X, Y)
    assert np.isnan(found.standard_errors).all()
    assert found.importances[0] > 0.1


def test_a_model_that_was_saved_finds_its_rows_again(tmp_path: Any) -> None:
    model = tm.DaggingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    tm.save(model, tmp_path / "model")
    expected = model.permutation_importances(X, Y, random_state=0).by_member
    loaded = tm.load(tmp_path / "model").permutation_importances(X, Y, random_state=0).by_member
    assert loaded.tobytes() == expected.tobytes()


def test_a_parameter_changed_after_training_changes_nothing() -> None:
    model = tm.BaggingClassifier(n_estimators=4, random_state=0).fit(X, Y)
    before = model.permutation_importances(X, Y, random_state=0).by_member
    after = model.set_params(max_samples=0.1, n_estimators=2).permutation_importances(X, Y, random_state=0).by_member
    assert before.tobytes() == after.tobytes()


def test_a_recipe_changed_after_training_is_not_taken_for_that_of_the_members() -> None:
    model = tm.PerturbCombineClassifier(perturb=[RandomSplits()], n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(InvalidParameter, match="trained on all rows"):
        model.set_params(perturb=[Bootstrap()]).permutation_importances(X, Y)
    expected = model.fit(X, Y).permutation_importances(X, Y, random_state=0).by_member
    model.set_params(perturb=[RandomSplits()])
    assert model.permutation_importances(X, Y, random_state=0).by_member.tobytes() == expected.tobytes()
    with pytest.raises(InvalidParameter, match="trained on all rows"):
        model.fit(X, Y).set_params(perturb=[Bootstrap()]).permutation_importances(X, Y)


def test_members_added_by_a_warm_start_are_judged_too() -> None:
    whole = tm.BaggingClassifier(n_estimators=6, random_state=0).fit(X, Y)
    grown = tm.BaggingClassifier(n_estimators=3, random_state=0, warm_start=True).fit(X, Y)
    grown.set_params(n_estimators=6).fit(X, Y)
    expected = whole.permutation_importances(X, Y, random_state=0).by_member
    assert grown.permutation_importances(X, Y, random_state=0).by_member.tobytes() == expected.tobytes()


@pytest.mark.parametrize("change", ["parameter", "rows"])
def test_members_whose_rows_cannot_be_found_again_are_not_judged(change: str) -> None:
    model = tm.BaggingClassifier(n_estimators=3, random_state=0, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=6, max_samples=0.5 if change == "parameter" else 1.0)
    rows = slice(None) if change == "parameter" else slice(None, None, -1)
    model.fit(X[rows], Y[rows])
    with pytest.raises(InvalidParameter, match="drew their rows in another way, or from other rows"):
        model.permutation_importances(X, Y)


# --- what is refused


@pytest.mark.parametrize(
    "model",
    [
        tm.RandomizedC45Classifier(n_estimators=2),
        tm.AdaBoostM1Classifier(n_estimators=2),
        tm.ExtraTreesClassifier(n_estimators=2),
        tm.ThreeBoostClassifier(),
        tm.PerturbCombineClassifier(perturb=[RandomSplits()], n_estimators=2),
    ],
    ids=str,
)
def test_members_that_leave_no_rows_out_cannot_be_judged(model: Ensemble) -> None:
    with pytest.raises(InvalidParameter, match="trained on all rows, none is out of bag: use sklearn"):
        model.fit(X, Y).permutation_importances(X, Y)


def test_rows_other_than_those_of_fit_are_refused() -> None:
    model = tm.BaggingClassifier(n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="X has 299 rows, but the members were trained on rows drawn from 300"):
        model.permutation_importances(X[1:], Y[1:])
    with pytest.raises(InvalidInput, match="y or sample_weight are not those of fit"):
        model.permutation_importances(X[::-1], Y[::-1])
    with pytest.raises(InvalidInput, match="y or sample_weight are not those of fit"):
        model.permutation_importances(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(InvalidInput, match="y has classes 0, 1, but y had 'high', 'low' in fit"):
        model.permutation_importances(X, (Y == "low").astype(int))
    with pytest.raises(InvalidInput, match="y has 299 values, but X has 300 rows"):
        model.permutation_importances(X, Y[1:])


@pytest.mark.parametrize("n_repeats", [0, 1.5, None, True])
def test_an_attribute_is_shuffled_at_least_once(n_repeats: Any) -> None:
    model = tm.BaggingClassifier(n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"n_repeats=.* was given; expected a whole number of at least 1"):
        model.permutation_importances(X, Y, n_repeats=n_repeats)


def test_rows_must_have_been_left_out() -> None:
    model = tm.BaggingClassifier(n_estimators=2, bootstrap=False).fit(X, Y)
    with pytest.raises(InvalidParameter, match="no row is out of bag for any member"):
        model.permutation_importances(X, Y)


def test_an_ensemble_is_judged_after_training() -> None:
    with pytest.raises(NotFittedError):
        tm.BaggingClassifier().permutation_importances(X, Y)


def test_importances_agree_with_scikit_learns_in_what_matters() -> None:
    """Other rows and the whole ensemble are judged there: the order is the same, the numbers are not."""
    from sklearn.inspection import permutation_importance

    table, numbers = load_diabetes(return_X_y=True)
    model = tm.RandomForestRegressor(n_estimators=50, random_state=0).fit(table[:300], numbers[:300])
    ours = model.permutation_importances(table[:300], numbers[:300], random_state=0).importances
    theirs = permutation_importance(model, table[300:], numbers[300:], n_repeats=10, random_state=0).importances_mean
    assert set(np.argsort(ours)[-2:]) == set(np.argsort(theirs)[-2:]) == {2, 8}


def test_flowers_are_told_by_their_petals() -> None:
    table, classes = load_iris(return_X_y=True)
    found = (
        tm.RandomForestClassifier(n_estimators=50, random_state=0)
        .fit(table, classes)
        .permutation_importances(table, classes, random_state=0)
    )
    assert set(np.argsort(found.importances)[-2:]) == {2, 3}
