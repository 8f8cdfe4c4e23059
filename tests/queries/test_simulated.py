"""Simulated bagging: learned from counts alone, the same for the same seed, and with the full joint like bagging."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2_contingency
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget, OneClassTarget, OneClassWarning
from tremula.queries import ArrayOracle, Question, Schema
from tremula.queries.question import joint_shape
from tremula.queries.resampling import LEAST_GAIN, branch_gains

from .tables import NOMINAL, random_table

VARIANTS = [
    tm.SimulatedBaggingClassifier(n_estimators=4, random_state=0),
    tm.SimulatedBaggingClassifier(
        n_estimators=4, max_features="sqrt", stop="bootstrap", leaves="resampled", combine="vote", random_state=0
    ),
    tm.SimulatedBaggingRegressor(n_estimators=4, random_state=0),
    tm.SimulatedBaggingRegressor(n_estimators=4, n_bins=8, max_features=2, leaves="resampled", random_state=0),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def attributes_of(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns=["again", "cost"])


def oracle_of(table: pd.DataFrame, target: str = "again", n_bins: int = 6) -> ArrayOracle:
    return ArrayOracle(attributes_of(table), table[target], categorical_features=NOMINAL, n_bins=n_bins)


def n_nodes(model: Any) -> int:
    return sum(tree.n_nodes for tree in model.members_)


# --- no row, ever ---


class CountsOnly:
    """Hands out arrays of counts, and notes the name of everything that is taken from it."""

    def __init__(self, oracle: ArrayOracle) -> None:
        object.__setattr__(self, "hidden", (oracle, set()))

    def __getattribute__(self, name: str) -> Any:
        oracle, touched = object.__getattribute__(self, "hidden")
        touched.add(name)
        if name == "schema":
            return oracle.schema
        if name != "count":
            raise AttributeError(f"the learner asked for {name}")

        def count(questions: Sequence[Question]) -> list[np.ndarray]:
            answers = oracle.count(questions)
            for question, answer in zip(questions, answers, strict=True):
                shape = (oracle.schema.n_cells, oracle.schema.n_outputs)
                assert type(answer) is np.ndarray
                assert answer.shape == (joint_shape(oracle.schema, question.attributes) if question.joint else shape)
            return answers

        return count


@pytest.mark.parametrize("n_joint_features", [1, 2])
@pytest.mark.parametrize("target", ["again", "cost"])
def test_the_learner_sees_a_schema_and_counts_and_nothing_else(target: str, n_joint_features: int) -> None:
    oracle = CountsOnly(oracle_of(random_table(0), target))
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    kind(n_estimators=3, n_joint_features=n_joint_features, random_state=0).fit(oracle)
    assert object.__getattribute__(oracle, "hidden")[1] == {"schema", "count"}


def test_a_schema_holds_no_row() -> None:
    """Tables with the same values but other rows have the same schema: it tells what there is, not who has it."""
    table = random_table(0)
    shuffled = table.apply(lambda column: column.sample(frac=1, random_state=len(column.name)).to_numpy())
    assert oracle_of(table).schema == oracle_of(shuffled).schema


def test_the_order_of_rows_does_not_matter() -> None:
    table = random_table(1)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0)
    assert model.fit(oracle_of(table)).members_ == model.fit(oracle_of(table[::-1])).members_


# --- seeds ---


def test_the_same_seed_gives_the_same_trees() -> None:
    oracle = oracle_of(random_table(2))
    one, again, other = (
        tm.SimulatedBaggingClassifier(n_estimators=4, random_state=seed).fit(oracle).members_ for seed in (0, 0, 1)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize("options", [{}, {"max_features": 2}, {"n_joint_features": 2}, {"leaves": "resampled"}])
def test_a_members_tree_does_not_depend_on_how_many_there_are(options: dict[str, Any]) -> None:
    oracle = oracle_of(random_table(2))
    few, many = (
        tm.SimulatedBaggingClassifier(n_estimators=n, random_state=0, **options).fit(oracle).members_ for n in (3, 9)
    )
    assert many[:3] == few


@pytest.mark.parametrize("target", ["again", "cost"])
def test_the_number_of_jobs_changes_nothing(target: str) -> None:
    table = random_table(3)
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    X, y = table.drop(columns=["again", "cost"]), table[target]
    one, two = (kind(5, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    assert one.members_ == two.members_
    many = pd.concat([X] * 100)
    assert (one.predict(many) == two.predict(many)).all()


@pytest.mark.parametrize("target", ["again", "cost"])
def test_members_stages_and_importances_are_those_of_other_ensembles(target: str) -> None:
    table = random_table(3)
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    X, y = table.drop(columns=["again", "cost"]), table[target]
    model = kind(5, max_depth=3, random_state=0).fit(X, y)
    assert len(model) == len(model.estimators_) == len(model.predict_members(X)) == 5
    alone = kind(1, max_depth=3, random_state=0).fit(X, y)
    assert (model.predict_members(X)[0] == alone.predict(X)).all()
    stages = list(model.staged_predict(X))
    assert (stages[0] == alone.predict(X)).all()
    assert (stages[-1] == model.predict(X)).all()
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    weakest = 3 if target == "again" else int(alone.feature_importances_.argmin())
    assert importances[weakest] < importances.max() / 2


def test_members_differ() -> None:
    model = tm.SimulatedBaggingClassifier(n_estimators=5, random_state=0).fit(oracle_of(random_table(2)))
    assert any(model.members_[0] != tree for tree in model.members_[1:])


def test_rows_and_an_oracle_of_them_give_the_same_trees() -> None:
    table = random_table(3)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, n_bins=6, categorical_features=NOMINAL, random_state=0)
    from_rows = model.fit(attributes_of(table), table["again"]).members_
    assert from_rows == model.fit(oracle_of(table)).members_


# --- growing ---


def test_the_bootstrap_stop_gives_smaller_trees() -> None:
    oracle = oracle_of(random_table(4))
    full, stopped = (
        tm.SimulatedBaggingClassifier(n_estimators=10, min_samples_split=4, stop=stop, random_state=0).fit(oracle)
        for stop in ("full", "bootstrap")
    )
    assert n_nodes(stopped) < n_nodes(full)
    split_sizes = np.concatenate([tree.weight[~tree.is_leaf] for tree in stopped.members_])
    assert 0.632 * split_sizes.min() >= 4


def test_depth_and_size_limits_hold() -> None:
    model = tm.SimulatedBaggingClassifier(n_estimators=3, max_depth=2, min_samples_split=30, random_state=0)
    model.fit(oracle_of(random_table(4)))
    assert max(tree.depth for tree in model.members_) == 2
    assert min(tree.weight[~tree.is_leaf].min() for tree in model.members_) >= 30


def test_trees_of_depth_zero_predict_the_shares_of_the_classes() -> None:
    table = random_table(4)
    model = tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=0).fit(oracle_of(table))
    shares = table["again"].value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(model.predict_proba(attributes_of(table))[0], shares)


def test_one_attribute_drawn_at_each_node_gives_other_roots() -> None:
    """All attributes lead to one root; one drawn at random to any."""
    random = np.random.default_rng(0)
    X = random.integers(2, size=(200, 4))
    X[:, 0] = np.arange(200) % 2
    oracle = ArrayOracle(X, X[:, 0], categorical_features="all")
    roots = {}
    for most in (None, 1):
        model = tm.SimulatedBaggingClassifier(n_estimators=30, max_features=most, random_state=0).fit(oracle)
        roots[most] = {int(tree.attribute[0]) for tree in model.members_}
    assert roots == {None: {0}, 1: {0, 1, 2, 3}}


def test_leaves_hold_the_counts_or_are_drawn_once_more() -> None:
    table = random_table(5)
    counted, resampled = (
        tm.SimulatedBaggingClassifier(n_estimators=8, max_depth=1, leaves=leaves, random_state=0).fit(oracle_of(table))
        for leaves in ("counts", "resampled")
    )
    roots = [tree.node_values()[0] for tree in counted.members_]
    resampled_roots = [tree.node_values()[0] for tree in resampled.members_]
    assert np.ptp(roots, axis=0).max() == 0
    assert np.ptp(resampled_roots, axis=0).max() > 0
    np.testing.assert_allclose(np.mean(resampled_roots, axis=0), roots[0], atol=0.1)
    for left, right in zip(counted.members_, resampled.members_):
        np.testing.assert_array_equal(left.attribute, right.attribute)


def test_numeric_thresholds_are_cuts_and_vary() -> None:
    random = np.random.default_rng(0)
    X = random.random((120, 1))
    y = (X[:, 0] > 0.5) ^ (random.random(120) < 0.3)
    oracle = ArrayOracle(X, y, n_bins=16)
    model = tm.SimulatedBaggingClassifier(n_estimators=30, max_depth=1, random_state=0).fit(oracle)
    thresholds = {float(tree.threshold[0]) for tree in model.members_}
    assert thresholds <= set(oracle.schema.attributes[0].cuts)
    assert 1 < len(thresholds) < 15
    assert np.median(sorted(thresholds)) == pytest.approx(0.5, abs=0.15)


def test_a_value_equal_to_a_cut_goes_where_it_was_counted() -> None:
    X = np.array([[1.0], [2.0], [3.0], [4.0]] * 10)
    y = (X[:, 0] > 2).astype(int)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, n_bins=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert {float(tree.threshold[0]) for tree in model.members_} == {2.0}


# --- missing values ---


def test_rows_with_missing_values_take_every_branch_in_proportion() -> None:
    X = np.array([["a"], ["a"], ["a"], ["b"], [None], [None]] * 10, dtype=object)
    y = np.array([0, 0, 0, 1, 1, 1] * 10)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, categorical_features=[0], random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba([["a"], ["b"], [None]]), [[1, 0], [0, 1], [0.75, 0.25]])


def test_a_level_that_training_did_not_see_is_missing() -> None:
    X = np.array([["a"], ["a"], ["a"], ["b"]] * 10, dtype=object)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, categorical_features=[0], random_state=0)
    model.fit(X, [0, 0, 0, 1] * 10)
    np.testing.assert_allclose(model.predict_proba([["c"]]), [[0.75, 0.25]])


def test_a_column_missing_everywhere_is_of_no_use_and_no_harm() -> None:
    X, y = load_iris(return_X_y=True)
    X[:, 1] = np.nan
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert not any((tree.attribute == 1).any() for tree in model.members_)


# --- like real bagging, with the full joint ---


def dependent_rows() -> tuple[np.ndarray, np.ndarray]:
    """Sixty rows of three attributes, the second almost a copy of the first, the third somewhat worse."""
    random = np.random.default_rng(3)
    y = random.integers(2, size=60)
    first = y ^ (random.random(60) < 0.25)
    second = first ^ (random.random(60) < 0.05)
    third = y ^ (random.random(60) < 0.3)
    return np.stack([first, second, third], axis=1).astype(int), y


def roots_of_bagging(X: np.ndarray, y: np.ndarray, n_samples: int) -> np.ndarray:
    """How often each attribute is the best on a bootstrap sample of the rows."""
    random = np.random.default_rng(4)
    rows = random.integers(len(y), size=(n_samples, len(y)))
    worth = []
    for column in X.T:
        tables = np.zeros((n_samples, 3, 2), dtype=np.int64)
        for value in range(2):
            for label in range(2):
                tables[:, value, label] = ((column[rows] == value) & (y[rows] == label)).sum(axis=1)
        worth.append(branch_gains(tables, False))
    best = np.where(np.max(worth, axis=0) > LEAST_GAIN, np.argmax(worth, axis=0), 3)
    return np.bincount(best, minlength=4)


def roots_of_simulation(X: np.ndarray, y: np.ndarray, n_samples: int, n_joint_features: int) -> np.ndarray:
    model = tm.SimulatedBaggingClassifier(
        n_estimators=n_samples, max_depth=1, n_joint_features=n_joint_features, random_state=0
    )
    model.fit(ArrayOracle(X, y, categorical_features="all"))
    return np.bincount([int(tree.attribute[0]) % 4 for tree in model.members_], minlength=4)


def p_of_same(one: np.ndarray, other: np.ndarray) -> float:
    seen = (one + other) > 0
    return float(chi2_contingency(np.stack([one[seen], other[seen]])).pvalue)


def test_with_the_full_joint_splits_are_chosen_as_real_bagging_chooses_them() -> None:
    X, y = dependent_rows()
    assert p_of_same(roots_of_simulation(X, y, 600, n_joint_features=3), roots_of_bagging(X, y, 3000)) > 0.01


def test_without_it_they_are_not_where_attributes_depend_on_one_another() -> None:
    X, y = dependent_rows()
    assert p_of_same(roots_of_simulation(X, y, 600, n_joint_features=1), roots_of_bagging(X, y, 3000)) < 1e-4


def test_a_joint_table_that_would_be_too_large_is_not_asked_for() -> None:
    asked = []

    class Watched(ArrayOracle):
        def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
            asked.extend(question for question in questions if question.joint)
            return super().count(questions)

    X, y = dependent_rows()
    oracle = Watched(X, y, categorical_features="all")
    model = tm.SimulatedBaggingClassifier(n_estimators=2, n_joint_features=3, max_joint_cells=9, random_state=0)
    model.fit(oracle)
    assert {len(question.attributes) for question in asked} == {2}


# --- accuracy and regression ---


def test_accuracy_is_that_of_bagging() -> None:
    X, y = load_iris(return_X_y=True)
    train = np.arange(150) % 3 > 0
    model = tm.SimulatedBaggingClassifier(random_state=0).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) > 0.9


def test_regression_explains_a_target() -> None:
    X, y = load_diabetes(return_X_y=True)
    train = np.arange(len(y)) % 3 > 0
    model = tm.SimulatedBaggingRegressor(n_estimators=20, min_samples_split=20, random_state=0).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) > 0.3


def test_regression_leaves_are_means() -> None:
    X = np.array([["a"], ["a"], ["b"], ["b"]] * 5, dtype=object)
    model = tm.SimulatedBaggingRegressor(n_estimators=2, categorical_features=[0], random_state=0)
    model.fit(X, [1.0, 2.0, 5.0, 6.5] * 5)
    np.testing.assert_allclose(model.predict([["a"], ["b"]]), [1.5, 5.75])


def test_an_oracle_whose_target_is_constant_gives_one_leaf() -> None:
    schema = ArrayOracle([[1.0], [2.0], [3.0]], [0.1, 0.2, 0.3]).schema
    oracle = ArrayOracle.from_codes(schema, np.array([[0, 1, 2] * 4], dtype=np.uint8), np.full(12, 0.1))
    model = tm.SimulatedBaggingRegressor(n_estimators=2).fit(oracle)
    assert n_nodes(model) == 2
    np.testing.assert_allclose(model.predict([[5.0]]), 0.1)


def test_votes_are_counted_or_distributions_averaged() -> None:
    table = random_table(6)
    model = tm.SimulatedBaggingClassifier(n_estimators=4, max_depth=2, combine="vote", random_state=0)
    shares = model.fit(oracle_of(table)).predict_proba(attributes_of(table))
    assert set(np.unique(shares * 4)) <= {0, 1, 2, 3, 4}


# --- columns and names ---


def test_a_polars_frame_is_rows_and_no_oracle() -> None:
    table = random_table(7)
    frame = pl.from_pandas(attributes_of(table))
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0)
    from_polars = model.fit(frame, table["again"].to_numpy()).members_
    assert from_polars == model.fit(attributes_of(table), table["again"]).members_


def test_names_of_columns_come_from_the_oracle_and_go_with_it() -> None:
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit(oracle_of(random_table(7)))
    assert model.feature_names_in_.tolist() == ["colour", "size", "flag", "with null"]
    model.fit(ArrayOracle([[0.0], [1.0]] * 5, [0, 1] * 5))
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3, 7], np.array(["no", "yes"], dtype=object)])
def test_classes_keep_their_type(labels: Any) -> None:
    y = np.array(labels)[[0, 1] * 6]
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit([[0.0], [1.0]] * 6, y)
    assert model.classes_.dtype == y.dtype
    assert model.predict([[0.0], [1.0]]).tolist() == list(labels)


# --- files ---


@pytest.mark.parametrize("target", ["again", "cost"])
def test_a_model_comes_back_from_its_file(tmp_path: Path, target: str) -> None:
    table = random_table(8)
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    model = kind(n_estimators=3, random_state=0).fit(oracle_of(table, target))
    tm.save(model, tmp_path / "model.tremula")
    again = tm.load(tmp_path / "model.tremula")
    np.testing.assert_array_equal(again.predict(attributes_of(table)), model.predict(attributes_of(table)))
    assert again.schema_ == model.schema_
    assert isinstance(again.schema_, Schema)
    assert again.export_sql() == model.export_sql()


# --- bad input ---


@pytest.mark.parametrize(
    "options",
    [
        {"n_estimators": 0}, {"max_depth": -1}, {"min_samples_split": -1}, {"stop": "never"}, {"leaves": "none"},
        {"n_joint_features": 0}, {"max_joint_cells": 0}, {"n_bins": 1}, {"combine": "sum"}, {"max_features": 0},
    ],
)  # fmt: skip
def test_parameters_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        tm.SimulatedBaggingClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_a_target_beside_an_oracle_is_refused() -> None:
    with pytest.raises(InvalidInput, match="leave y out"):
        tm.SimulatedBaggingClassifier().fit(oracle_of(random_table(0)), [0, 1])


def test_a_numeric_target_is_for_the_regressor_and_classes_for_the_classifier() -> None:
    with pytest.raises(InvalidTarget, match="use SimulatedBaggingRegressor"):
        tm.SimulatedBaggingClassifier().fit(oracle_of(random_table(0), "cost"))
    with pytest.raises(InvalidTarget, match="use SimulatedBaggingClassifier"):
        tm.SimulatedBaggingRegressor().fit(oracle_of(random_table(0)))


def oracle_of_one_class(n_rows: int) -> ArrayOracle:
    schema = ArrayOracle([["a"], ["b"]], [0, 1], categorical_features="all").schema
    return ArrayOracle.from_codes(schema, np.zeros((1, n_rows), dtype=np.uint8), np.zeros(n_rows, np.int64))


def test_counts_of_one_class_give_a_constant_and_a_warning() -> None:
    """Noise and guards can hide a class: the budget is spent, so there is a model."""
    with pytest.warns(OneClassWarning, match="predict it for every row"):
        model = tm.SimulatedBaggingClassifier().fit(oracle_of_one_class(2))
    assert model.predict_proba([["a"], ["b"]]).tolist() == [[1.0, 0.0]] * 2


def test_no_rows_are_refused() -> None:
    with pytest.raises(OneClassTarget, match="rows of 0 classes: at least 2"):
        tm.SimulatedBaggingClassifier().fit(oracle_of_one_class(0))


def test_a_failed_fit_changes_nothing() -> None:
    table = random_table(9)
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit(oracle_of(table))
    before = model.predict(attributes_of(table))

    class Failing(ArrayOracle):
        def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
            if any(question.path for question in questions):
                raise OSError("gone")
            return super().count(questions)

    with pytest.raises(OSError, match="gone"):
        model.fit(Failing([[0, 0], [1, 0], [2, 1]] * 10, ["p", "q", "p", "r", "p"] * 6, categorical_features="all"))
    np.testing.assert_array_equal(model.predict(attributes_of(table)), before)
