"""Identifiers: nominal columns of few rows a level and numbers of rows are used only if they go with the target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import IdentifierWarning
from tremula.trees.cross_fitting import LEAST_AGREEMENT, N_FOLDS, in_standard_errors, mean_targets, row_agreements
from tremula.trees.row_numbers import LEAST_ROWS, LONGEST_RANGE, numbering_columns

FORESTS: list[Callable[..., Any]] = [
    tm.RandomForestRegressor,
    tm.ExtraTreesRegressor,
    lambda n, nominal="auto", **others: tm.BaggingRegressor(tm.CARTRegressor(nominal=nominal), n, **others),
    tm.RandomForestClassifier,
    tm.ExtraTreesClassifier,
    lambda n, nominal="auto", **others: tm.BaggingClassifier(tm.CARTClassifier(nominal=nominal), n, **others),
]


def draw_table(n_rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that matter, a number of the row, a name for each row and one for each two or three rows."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(n_rows, 2)), columns=["a", "b"])
    target = np.digitize(table["a"] + table["b"], [-0.8, 0.8])
    table["number"] = random.permutation(n_rows) + 1000
    table["name"] = [f"n{number}" for number in random.permutation(n_rows)]
    table["pair"] = [f"p{number}" for number in random.permutation(n_rows) * 2 // 5]
    return table, target


@pytest.mark.parametrize("forest", FORESTS)
def test_identifiers_are_left_out(forest: Callable[..., Any]) -> None:
    X, y = draw_table()
    with pytest.warns(IdentifierWarning, match="'number', 'name', 'pair' have few rows for each value"):
        model = forest(20, random_state=0).fit(X, y)
    assert model.ignored_features_ == ["number", "name", "pair"]
    assert model.split_shares_.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    every = forest(20, nominal="subsets", random_state=0).fit(X, y)
    assert every.ignored_features_ == []
    assert every.split_shares_[3] > 0.9


@pytest.mark.parametrize("forest", FORESTS)
def test_numbers_and_names_that_go_with_the_target_are_used(forest: Callable[..., Any]) -> None:
    X, _ = draw_table()
    effects = np.random.default_rng(1).normal(size=len(X))[pd.factorize(X["pair"])[0]]
    of_pairs = np.digitize(effects, [-0.5, 0.5])
    with pytest.warns(IdentifierWarning, match="'number', 'name' have few rows"):
        assert forest(20, random_state=0).fit(X, of_pairs).split_shares_[4] > 0.6
    of_numbers = np.digitize(np.sin(X["number"] / 12.0), [-0.5, 0.5])  # three waves
    with pytest.warns(IdentifierWarning, match="'name', 'pair' have few rows"):
        assert forest(20, random_state=0).fit(X, of_numbers).split_shares_[2] > 0.9


def test_numbers_of_rows_are_used_if_there_is_nothing_else() -> None:
    X, y = draw_table()
    assert tm.RandomForestClassifier(5, random_state=0).fit(X[["number"]], y).split_shares_ == 1.0


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
def test_what_is_left_out_depends_on_neither_seed_nor_order_of_jobs_and_is_kept_by_files_and_warm_starts(
    tmp_path: Path,
) -> None:
    X, y = draw_table()
    model = tm.RandomForestClassifier(5, random_state=0, warm_start=True).fit(X, y)
    assert model.ignored_features_ == tm.RandomForestClassifier(2, random_state=7, n_jobs=2).fit(X, y).ignored_features_
    tm.save(model, tmp_path / "forest.tremula")
    assert tm.load(tmp_path / "forest.tremula").ignored_features_ == ["number", "name", "pair"]
    model.set_params(n_estimators=8).fit(X, y)
    assert model.ignored_features_ == ["number", "name", "pair"]
    assert (model.split_shares_[2:] == 0.0).all()


def test_one_tree_tells_what_it_leaves_out_at_the_line_that_calls_fit() -> None:
    X, y = draw_table()
    with pytest.warns(IdentifierWarning) as of_tree:
        tree = tm.CARTClassifier(nominal="auto", random_state=0).fit(X[["a", "name"]], y)
    with pytest.warns(IdentifierWarning) as of_forest:
        forest = tm.ExtraTreesClassifier(2, random_state=0).fit(X[["a", "number"]].to_numpy(), y)
    assert {each.filename for each in (*of_tree, *of_forest)} == {__file__}
    assert (tree.ignored_features_, forest.ignored_features_) == (["name"], ["x1"])
    assert tm.CARTClassifier().fit(X, y).ignored_features_ == []


def test_several_targets_and_weights() -> None:
    X, y = draw_table()
    effects = np.random.default_rng(1).normal(size=len(X))[pd.factorize(X["pair"])[0]]
    with pytest.warns(IdentifierWarning, match="'number', 'name' have few rows"):
        tm.RandomForestRegressor(2, random_state=0).fit(X, np.column_stack([y, effects]))
    weights = np.where(X["a"] > 0.0, 1.0, 0.0)  # rows whose target goes with the pair weigh nothing
    with pytest.warns(IdentifierWarning, match="'name', 'pair' have few rows"):
        tm.RandomForestRegressor(2, random_state=0).fit(
            X.drop(columns="number"), np.where(weights > 0, y, effects), sample_weight=weights
        )


def test_which_columns_number_the_rows() -> None:
    n_rows = 2 * LEAST_ROWS
    order = np.random.default_rng(0).permutation(n_rows).astype(float)
    others = [
        order / 2,
        np.minimum(order, n_rows - 2),
        order * LONGEST_RANGE * 1.1,
        np.where(order == 0, np.nan, order),
    ]
    others += [np.where(order == 0, np.inf, order), order]
    values, n_levels = np.column_stack([order, *others, order * 9 + 7]), np.zeros(8, np.int32)
    n_levels[6] = n_rows
    assert numbering_columns(values, n_levels).tolist() == [0, 7]
    assert not len(numbering_columns(values[: LEAST_ROWS - 1], n_levels))


def test_agreement_by_definition() -> None:
    random = np.random.default_rng(0)
    levels, target = random.integers(0, 30, 90).astype(float), random.normal(size=90)
    levels[::11] = np.nan
    weights, folds = random.integers(0, 3, 90).astype(float), random.integers(N_FOLDS, size=90)
    means = mean_targets(levels, 30, weights * target, weights, folds).of_rows
    known = [row for row in range(90) if weights[row] > 0 and levels[row] == levels[row]]
    centre = sum(weights[row] * target[row] for row in known) / sum(weights[row] for row in known)
    products = [weights[row] * (means[row] - centre) * (target[row] - centre) for row in known]
    expected = sum(products) / sum(product**2 for product in products) ** 0.5
    assert in_standard_errors(row_agreements(means, weights * target, weights)) == pytest.approx(expected, rel=1e-9)
    assert in_standard_errors(row_agreements(np.full(90, np.nan), target, weights)) == 0.0


def test_names_rarely_agree_by_chance() -> None:
    random = np.random.default_rng(0)
    pairs, ones = np.repeat(np.arange(100.0), 2), np.ones(200)
    agreements = []
    for _ in range(400):
        target, folds = random.normal(size=200), random.integers(N_FOLDS, size=200)
        means = mean_targets(pairs, 100, target, ones, folds).of_rows
        agreements.append(in_standard_errors(row_agreements(means, target, ones)))
    assert 0.0 < np.mean(np.array(agreements) > LEAST_AGREEMENT) < 0.04
    assert abs(np.mean(agreements)) < 0.25
