"""Which models and rows are taken, and which are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel

from .made_tables import classes_of, classifiers, made_table, regressors

X, Y = made_table(120, 0)
LABELS = classes_of(Y)


def fitted(name: str) -> tuple[Any, np.ndarray]:
    if name.startswith("classifier "):
        return classifiers(4)[name.removeprefix("classifier ")].fit(X, LABELS), LABELS
    return regressors(4)[name].fit(X, Y), Y


NAMES = [*regressors(), *(f"classifier {name}" for name in classifiers())]


@pytest.mark.parametrize("name", NAMES)
def test_rows_in_another_order_are_refused(name: str) -> None:
    model, target = fitted(name)
    tm.Uncertainty(model, X, target)
    order = np.r_[1:120, 0]
    with pytest.raises(InvalidInput, match="give the rows of fit again"):
        tm.Uncertainty(model, X.iloc[order], target[order])
    with pytest.raises(InvalidInput, match="trained on rows drawn from 120"):
        tm.Uncertainty(model, X[:100], target[:100])


@pytest.mark.parametrize("name", ["forest", "smeared", "output smearing", "classifier bagging", "classifier smeared"])
def test_other_values_of_the_attributes_are_refused(name: str) -> None:
    model, target = fitted(name)
    other = X.iloc[::-1].reset_index(drop=True)
    with pytest.raises(InvalidInput, match="are not those of fit"):
        tm.Uncertainty(model, other, target)
    model._drawn_from = model._drawn_from[:2]  # as in files of earlier releases, which know the targets alone
    tm.Uncertainty(model, X, target)
    with pytest.raises(InvalidInput, match="the rows are not those of training"):
        tm.Uncertainty(model, other, target)


@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_model_is_not_changed(name: str) -> None:
    model, target = fitted(name)
    before = dict(vars(model))
    uncertainty = tm.Uncertainty(model, X, target)
    if name.startswith("classifier "):
        uncertainty.predict_set(X)
    else:
        uncertainty.predict_interval(X)
        uncertainty.predict_quantiles(X)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize("kept", [True, False], ids=["counts kept", "drawn again"])
def test_rows_drawn_again_are_those_of_training(kept: bool) -> None:
    plain, counted = (tm.RandomForestRegressor(n_estimators=10, oob_score=oob, random_state=0) for oob in (False, True))
    bounds = [tm.Uncertainty(model.fit(X, Y), X, Y).predict_interval(X) for model in (plain, counted)]
    np.testing.assert_array_equal(*bounds)


def test_members_added_by_a_warm_start_are_known() -> None:
    model = tm.RandomForestRegressor(n_estimators=5, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=10).fit(X, Y)
    whole = tm.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, Y)
    bounds = [tm.Uncertainty(each, X, Y).predict_interval(X) for each in (model, whole)]
    np.testing.assert_array_equal(*bounds)
    model.set_params(n_estimators=12).fit(X[:60], Y[:60])
    with pytest.raises(InvalidParameter, match="fit again with warm_start=False"):
        tm.Uncertainty(model, X, Y)


def test_saved_models_give_the_same_answers(tmp_path: Any) -> None:
    model = tm.AspenRegressor(n_estimators=5, random_state=0).fit(X, Y)
    tm.save(model, tmp_path / "aspen.tremula")
    for ask in ("predict_interval", "predict_quantiles"):
        answers = [getattr(tm.Uncertainty(each, X, Y), ask)(X) for each in (model, tm.load(tmp_path / "aspen.tremula"))]
        np.testing.assert_array_equal(*answers)


def test_pruned_ensembles_are_taken() -> None:
    model = tm.BaggingRegressor(tm.CARTRegressor(), n_estimators=10, random_state=0).fit(X, Y)
    pruned = tm.prune_together(model, *made_table(60, 1))
    middle = tm.Uncertainty(pruned, X, Y).predict_interval(X, method="oob").mean(axis=1)
    np.testing.assert_allclose(middle, pruned.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        tm.ExtraTreesRegressor(n_estimators=3),
        tm.OutputSmearingRegressor(n_estimators=3),
        RandomForestRegressor(n_estimators=3, bootstrap=False),
        ExtraTreesRegressor(n_estimators=3),
        tm.RandomForestRegressor(n_estimators=3, max_samples=1.0, bootstrap=False),
    ],
    ids=repr,
)
def test_models_whose_members_saw_all_rows_are_refused(model: Any) -> None:
    data, target = load_diabetes(return_X_y=True)
    with pytest.raises(UnsupportedModel, match=r"out of bag|all rows|bootstrap=True"):
        tm.Uncertainty(model.fit(data, target), data, target)


@pytest.mark.parametrize(
    "model", [GradientBoostingRegressor(n_estimators=2), LinearRegression(), tm.CARTRegressor()], ids=repr
)
def test_models_without_members_that_leave_rows_out_are_refused(model: Any) -> None:
    data, target = load_diabetes(return_X_y=True)
    with pytest.raises(UnsupportedModel, match="does not say which rows its members left out"):
        tm.Uncertainty(model.fit(data, target), data, target)


def test_models_that_are_not_fitted_are_refused() -> None:
    for model in (tm.RandomForestRegressor(), RandomForestRegressor()):
        with pytest.raises(NotFittedError):
            tm.Uncertainty(model, X, Y)
    with pytest.raises(UnsupportedModel, match="an instance"):
        tm.Uncertainty(tm.RandomForestRegressor, X, Y)


def test_forests_of_scikit_learn_in_another_order_are_refused() -> None:
    data, target = load_iris(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(data, target)
    assert tm.Uncertainty(forest, data, target).predict_set(data).shape == (150, 3)
    order = np.random.default_rng(0).permutation(150)
    with pytest.raises(InvalidInput, match="not the training rows"):
        tm.Uncertainty(forest, data[order], target[order])


def test_classes_of_bagged_trees_of_scikit_learn_are_known_by_their_labels() -> None:
    data, target = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[target]
    model = BaggingClassifier(n_estimators=10, random_state=0).fit(data, labels)
    sets = tm.Uncertainty(model, data, labels).predict_set(data, 0.95)
    assert sets[np.arange(150), target].mean() > 0.95


def test_weights_of_scikit_learn_give_intervals_but_no_quantiles() -> None:
    data, target = load_diabetes(return_X_y=True)
    weights = np.linspace(0.5, 1.5, len(target))
    forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(data, target, sample_weight=weights)
    uncertainty = tm.Uncertainty(forest, data, target, sample_weight=weights)
    assert uncertainty.predict_interval(data[:5]).shape == (5, 2)
    with pytest.raises(UnsupportedModel, match="how its members used sample_weight"):
        uncertainty.predict_quantiles(data[:5])


def test_it_shows_itself_in_a_few_words() -> None:
    model = tm.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, Y)
    assert repr(tm.Uncertainty(model, X, Y)) == "Uncertainty(RandomForestRegressor, n_rows=120, n_members=3)"


@pytest.mark.parametrize("name", ["forest", "aspen", "classifier forest", "classifier aspen"])
def test_answers_do_not_depend_on_the_number_of_jobs(name: str) -> None:
    model, target = fitted(name)
    asks = ("predict_set",) if name.startswith("classifier ") else ("predict_interval", "predict_quantiles")
    for ask in asks:
        answers = [getattr(tm.Uncertainty(model, X, target, n_jobs=jobs), ask)(X) for jobs in (1, 2)]
        np.testing.assert_array_equal(*answers)
