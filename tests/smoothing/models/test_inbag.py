"""Rows given as training rows of an ensemble are compared with its leaves: others, or another order, are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.data.take import take_rows
from tremula.errors import InvalidInput, InvalidParameter
from tremula.smoothing.models import read_model

X, CODES = make_classification(200, 6, n_informative=4, n_classes=3, flip_y=0.3, random_state=0)
NAMES = np.array(["a", "b", "c"])[CODES]
NUMBERS = make_regression(200, 6, noise=5.0, random_state=0)[1]
PERMUTED = np.random.default_rng(0).permutation(200)
WEIGHTS = np.where(np.arange(200) % 7 == 0, 0.0, np.random.default_rng(1).uniform(0.5, 2.0, 200))
WITH_GAPS = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
SETTINGS: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
CLASSIFIERS = [
    RandomForestClassifier(**SETTINGS),
    RandomForestClassifier(class_weight="balanced_subsample", max_samples=0.5, **SETTINGS),
    RandomForestClassifier(class_weight={"a": 0.0, "b": 1.0, "c": 1.0}, **SETTINGS),
    RandomForestClassifier(max_leaf_nodes=8, ccp_alpha=0.01, criterion="log_loss", **SETTINGS),
    RandomForestClassifier(monotonic_cst=[1, 0, 0, 0, 0, 0], **SETTINGS),
    ExtraTreesClassifier(bootstrap=True, min_samples_leaf=5, **SETTINGS),
    BaggingClassifier(DecisionTreeClassifier(), max_features=0.5, bootstrap_features=True, **SETTINGS),
    BaggingClassifier(DecisionTreeClassifier(max_depth=3), bootstrap=False, max_samples=0.5, **SETTINGS),
]
REGRESSORS = [
    RandomForestRegressor(**SETTINGS),
    RandomForestRegressor(criterion="absolute_error", max_depth=3, **SETTINGS),
    BaggingRegressor(DecisionTreeRegressor(max_depth=4), **SETTINGS),
]
TWO_CLASSES = (4,)  # the monotonic one


def target_of(number: int) -> np.ndarray:
    return NAMES[: len(X)] if number not in TWO_CLASSES else np.where(CODES == 0, "a", "b")


@pytest.mark.parametrize("rows", [X, WITH_GAPS, pd.DataFrame(X), pl.DataFrame(X)], ids=["array", "gaps", "pd", "pl"])
def test_the_rows_of_training_are_accepted(rows: Any) -> None:
    for number, model in enumerate(CLASSIFIERS):
        if rows is WITH_GAPS and number in TWO_CLASSES:
            continue
        target = target_of(number)
        counts = read_model(model.fit(rows, target)).inbag_counts(rows, target)
        assert counts is not None
        assert counts.shape == (5, 200)
    for model in REGRESSORS:
        if rows is WITH_GAPS and model.get_params().get("criterion") == "absolute_error":
            continue
        counts = read_model(model.fit(rows, NUMBERS)).inbag_counts(rows, NUMBERS)
        assert counts is not None
        assert (counts == 0).any()


@pytest.mark.parametrize("given", [None, WEIGHTS], ids=["without", "with"])
def test_rows_of_a_weighted_training_are_accepted(given: Any) -> None:
    weights = np.maximum(WEIGHTS, 0.1) if given is None else WEIGHTS
    forest = RandomForestClassifier(**SETTINGS).fit(X, NAMES, sample_weight=weights)
    assert read_model(forest).inbag_counts(X, NAMES, given) is not None
    numbers = RandomForestRegressor(**SETTINGS).fit(X, NUMBERS, sample_weight=weights)
    assert read_model(numbers).inbag_counts(X, NUMBERS, given) is not None


def within_classes() -> np.ndarray:
    order = np.arange(200)
    for code in range(3):
        rows = np.flatnonzero(code == CODES)
        order[rows] = np.random.default_rng(3).permutation(rows)
    return order


@pytest.mark.parametrize("number", [0, 1, 3, 5, 6, 7])
def test_rows_in_another_order_are_refused(number: int) -> None:
    model = CLASSIFIERS[number].fit(X, NAMES)
    read = read_model(model)
    for order in (PERMUTED, np.argsort(CODES, kind="stable"), np.roll(np.arange(200), 1)):
        with pytest.raises(InvalidInput, match="in the order of its training"):
            read.inbag_counts(X[order], NAMES[order])
    with pytest.raises(InvalidInput, match="in the order of its training"):
        read.inbag_counts(X, NAMES[PERMUTED])
    with pytest.raises(InvalidInput, match="in the order of its training"):
        read.inbag_counts(X[within_classes()], NAMES)


@pytest.mark.parametrize("model", REGRESSORS)
def test_numbers_in_another_order_are_refused(model: Any) -> None:
    read = read_model(model.fit(X, NUMBERS))
    for rows, target in ((X[PERMUTED], NUMBERS[PERMUTED]), (X, NUMBERS[PERMUTED]), (X[PERMUTED], NUMBERS)):
        with pytest.raises(InvalidInput, match="in the order of its training"):
            read.inbag_counts(rows, target)


def test_other_rows_are_refused() -> None:
    read = read_model(RandomForestClassifier(**SETTINGS).fit(X[:100], NAMES[:100]))
    with pytest.raises(InvalidInput, match=r"leaf \d+ was trained on \d+ rows, but \d+ of these reach it"):
        read.inbag_counts(X[100:], NAMES[100:])


@pytest.mark.parametrize("tuning", ["auto", "oob"])
def test_noise_is_not_chosen_on_rows_in_another_order(tuning: str) -> None:
    forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, NAMES)
    with pytest.raises(InvalidInput, match="choose the noise on other rows by X_val and y_val"):
        tm.DualPerturbClassifier(forest, tuning=tuning).fit(X[PERMUTED], NAMES[PERMUTED])


OWN = [
    tm.RandomForestClassifier(**SETTINGS),
    tm.BaggingClassifier(oob_score=True, **SETTINGS),
    tm.BaggingClassifier(DecisionTreeClassifier(), **SETTINGS),
]


@pytest.mark.parametrize("rows", [X, WITH_GAPS, pd.DataFrame(X), pl.DataFrame(X)], ids=["array", "gaps", "pd", "pl"])
@pytest.mark.parametrize("model", OWN, ids=["forest", "scored", "of other trees"])
def test_tremulas_ensembles_refuse_another_order_too(model: Any, rows: Any) -> None:
    read = read_model(model.fit(rows, NAMES))
    assert read.inbag_counts(rows, NAMES) is not None
    for order in (PERMUTED, within_classes()):
        with pytest.raises(InvalidInput, match="in the same order"):
            read.inbag_counts(take_rows(rows, order), NAMES[order])


@pytest.mark.parametrize("member", [tm.CARTClassifier(), make_pipeline(StandardScaler(), DecisionTreeClassifier())])
def test_out_of_bag_rows_whose_order_cannot_be_checked_are_not_used(member: Any) -> None:
    bagging = BaggingClassifier(member, **SETTINGS).fit(X, NAMES)
    with pytest.raises(InvalidParameter, match="the order of its training rows cannot be checked"):
        tm.DualPerturbClassifier(bagging, tuning="oob").fit(X, NAMES)
