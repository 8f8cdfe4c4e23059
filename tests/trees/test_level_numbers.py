"""Numbers that stand for levels while a tree grows: cross-fitted statistics, both growers, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_score

import tremula as tm
from tremula.errors import TreeTooLarge
from tremula.lab.datasets import load_dataset
from tremula.trees import growing, level_numbers
from tremula.trees.columns import read_columns
from tremula.trees.cross_fitting import N_FOLDS, PRIOR_WEIGHT
from tremula.trees.growing import grow_classification_tree, grow_regression_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.level_numbers import number_levels
from tremula.trees.structure import missing_branches

from .test_coded import RULES, assert_same

FORESTS: list[Callable[..., tm.RandomForestRegressor]] = [tm.RandomForestRegressor, tm.ExtraTreesRegressor]


def draw_table(n_rows: int, missing: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two numeric columns and two of levels; classes that depend on both; whole weights."""
    random = np.random.default_rng(seed)
    levels = random.integers(0, [12, 40], size=(n_rows, 2))
    values = np.column_stack([np.round(random.normal(size=(n_rows, 2)), 1), levels])
    score = values[:, 0] + random.normal(size=12)[levels[:, 0]] + random.normal(size=40)[levels[:, 1]]
    values[random.random(values.shape) < missing] = np.nan
    # Quarters are exact as fixed-point numbers too.
    return values, np.array([0, 0, 12, 40], np.int32), np.round(4 * score) / 4, random.integers(0, 4, n_rows)


def grow_one(name: str, nominal: str, missing: float, branch: bool = True) -> GrownTree:
    values, n_levels, score, weights = draw_table(300, missing)
    columns = replace(read_columns(values, n_levels), nominal=nominal, has_missing_branch=branch)
    random, rules = np.random.default_rng(7), RULES[name]
    if "variance" in name:
        return grow_regression_tree(columns, score, weights, rules, random)
    return grow_classification_tree(columns, (score > 0).astype(int) + (score > 1), 3, weights, rules, random)


@pytest.mark.parametrize("nominal", ["statistics", "codes", "auto"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", RULES)
def test_codes_and_sorted_lists_give_the_same_tree(
    name: str, missing: float, nominal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = []
    for coded in (True, False):
        monkeypatch.setattr(growing, "is_coded", lambda *_, coded=coded: coded)
        grown.append(grow_one(name, nominal, missing))
    assert_same(*grown)
    assert (grown[0].nodes["index"] >= 0).any() or "shallow" in name


def naive_mean(values: np.ndarray, target: np.ndarray, weights: np.ndarray, level: float, rows: list[int]) -> float:
    """Mean target of a level among some rows, shrunk towards that of all rows with a known level."""
    known = [row for row in range(len(values)) if values[row] == values[row]]
    total = sum(float(weights[row]) for row in known)
    prior = sum(float(weights[row] * target[row]) for row in known) / total
    same = [row for row in rows if values[row] == level]
    count = sum(float(weights[row]) for row in same)
    return (sum(float(weights[row] * target[row]) for row in same) + PRIOR_WEIGHT * prior) / (count + PRIOR_WEIGHT)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("branch", [True, False])
def test_statistics_are_those_of_other_folds_by_definition(n_classes: int, branch: bool) -> None:
    values, n_levels, score, weights = draw_table(120, 0.1)
    target = score if n_classes == 0 else np.digitize(score, [0.0, 1.0][: n_classes - 1])
    columns = replace(read_columns(values, n_levels), nominal="statistics", has_missing_branch=branch).to_grow_from
    numbered, levels = number_levels(columns, target, weights, n_classes, np.random.default_rng(3))

    draws = np.random.default_rng(3)
    wanted = target if n_classes == 0 else target == (1 if n_classes == 2 else draws.integers(n_classes))
    folds = draws.integers(N_FOLDS, size=120)
    assert [each.column for each in levels] == [2, 3]
    for each in levels:
        column = columns.values[:, each.column]
        for row in range(120):
            others = [other for other in range(120) if folds[other] != folds[row]]
            expected = naive_mean(column, wanted, weights, column[row], others)
            given = numbered.values[row, each.column]
            assert np.isnan(given) if np.isnan(column[row]) else given == pytest.approx(expected, rel=1e-12)
        for level, number in enumerate(each.numbers):
            assert number == pytest.approx(naive_mean(column, wanted, weights, level, list(range(120))), rel=1e-12)
        assert np.isnan(each.missing) != branch


@pytest.mark.parametrize("nominal", ["statistics", "codes"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sets_of_levels_send_rows_where_thresholds_send_their_numbers(
    nominal: str, missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, GrownTree] = {}
    levels: list[level_numbers.NumberedLevels] = []

    def keep(grown: GrownTree, numbered: list[level_numbers.NumberedLevels]) -> GrownTree:
        kept["thresholds"] = replace(grown, nodes=grown.nodes.copy())
        levels.extend(numbered)
        return level_numbers.splits_of_levels(grown, numbered)

    monkeypatch.setattr(growing, "splits_of_levels", keep)
    sets, thresholds = grow_one("entropy", nominal, missing), kept["thresholds"]
    for each in levels:
        tested = np.flatnonzero((thresholds.nodes["n_branches"] > 0) & (thresholds.nodes["attribute"] == each.column))
        assert len(tested) > 3
        for node in tested:
            limit, first = thresholds.nodes["threshold"][node], sets.nodes["index"][node]
            np.testing.assert_array_equal(sets.subsets[first : first + len(each.numbers)], each.numbers > limit)
            branch = int(each.missing > limit) if missing else -1
            assert missing_branches(sets.nodes)[node] == branch


def test_many_numbers_are_put_into_bins() -> None:
    random = np.random.default_rng(0)
    values = random.permutation(np.repeat(np.arange(3000.0), 2))[:, None]
    values[::50] = np.nan
    target, weights = random.normal(size=6000) + values[:, 0] % 2, random.integers(0, 3, 6000)
    columns = replace(read_columns(values, np.array([3000], np.int32)), nominal="codes")
    numbered, (levels,) = number_levels(columns, np.nan_to_num(target), weights, 0, random)
    known = ~np.isnan(values[:, 0])
    codes, bins = values[known, 0].astype(int), numbered.values[known, 0]
    np.testing.assert_array_equal(bins, levels.numbers[codes])
    assert np.isnan(numbered.values[~known]).all()
    assert (np.diff(levels.numbers) >= 0).all()
    counts = np.bincount(bins.astype(int), weights[known])
    assert len(counts) == level_numbers.MAX_NUMBERS
    assert counts.max() < 2 * counts.mean()
    numbered, (levels,) = number_levels(
        replace(columns, nominal="statistics"), np.nan_to_num(target), weights, 0, random
    )
    assert len(np.unique(levels.numbers)) <= level_numbers.MAX_NUMBERS
    tree = grow_regression_tree(columns, np.nan_to_num(target), weights, RULES["variance"], random)
    assert len(tree.subsets) <= level_numbers.MAX_NUMBERS * 3000


def test_rows_with_missing_levels_are_divided_if_asked() -> None:
    grown = grow_one("entropy", "statistics", 0.1, branch=False)
    assert (missing_branches(grown.nodes) == -1).all()


def table_with_identifier(n_rows: int, share: float) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(1)
    table = pd.DataFrame(random.normal(size=(n_rows, 4)), columns=list("abcd"))
    target = table["a"] + table["b"] * (table["c"] > 0) + 0.3 * random.normal(size=n_rows)
    table["name"] = [f"n{number}" for number in random.permutation(n_rows) // (1 / share)]
    return table, target


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.slow
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("share", [1.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_an_identifier_does_little_harm(forest: Callable[..., tm.RandomForestRegressor], share: float) -> None:
    X, y = table_with_identifier(400, share)
    errors = {"with": 0.0, "without": 0.0}
    for seed in range(2):
        folds = KFold(4, shuffle=True, random_state=seed)
        for name, columns in (("with", X), ("without", X.drop(columns="name"))):
            model = forest(60, random_state=seed)
            scores = cross_val_score(model, columns, y, cv=folds, scoring="neg_mean_squared_error")
            errors[name] += np.sqrt(-scores.mean())
    assert errors["with"] < 1.02 * errors["without"]


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.parametrize("nominal", ["auto", "statistics"])
def test_out_of_bag_scores_find_nothing_in_noise(nominal: str) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"x": random.normal(size=600), "level": [f"l{number}" for number in random.integers(0, 150, 600)]})
    scores = [
        tm.RandomForestRegressor(60, nominal=nominal, oob_score=True, random_state=seed).fit(X, random.normal(size=600))
        for seed in range(3)
    ]
    assert np.mean([score.oob_score_ for score in scores]) < 0.02


def test_levels_with_an_effect_are_found() -> None:
    random = np.random.default_rng(0)
    levels, effects = random.integers(0, 100, 1500), random.normal(size=100)
    X = pd.DataFrame({"level": [f"l{level}" for level in levels], "x": random.normal(size=1500)})
    y = effects[levels] + 0.3 * random.normal(size=1500)
    assert tm.RandomForestRegressor(40, random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.8


@pytest.mark.parametrize("nominal", ["statistics", "codes"])
@pytest.mark.parametrize("max_bins", [None, 8])
def test_answers_depend_on_neither_threads_nor_files(nominal: str, max_bins: int | None, tmp_path: Path) -> None:
    X, y = table_with_identifier(200, 0.2)
    X.loc[::17, "name"] = None
    forests = [
        tm.RandomForestRegressor(12, nominal=nominal, max_bins=max_bins, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 2)
    ]
    unseen = X.assign(name="unseen")
    tm.save(forests[0], tmp_path / "forest.tremula")
    loaded = tm.load(tmp_path / "forest.tremula")
    for rows in (X, unseen):
        expected = forests[0].predict(rows).tobytes()
        assert forests[1].predict(rows).tobytes() == expected
        assert loaded.predict(rows).tobytes() == expected


def test_real_weights_grow_from_sorted_lists() -> None:
    X, y = table_with_identifier(200, 0.2)
    weights = np.random.default_rng(0).random(200) + 0.1
    tree = tm.CARTRegressor(nominal="statistics", random_state=0).fit(X, y, sample_weight=weights)
    assert tree.predict(X).std() > 0.5
    twice = tm.CARTRegressor(nominal="statistics", random_state=0).fit(X, y, sample_weight=2 * weights)
    assert twice.get_n_leaves() > 10


def test_the_rule_of_auto() -> None:
    columns = replace(read_columns(np.zeros((100, 4)), np.array([0, 5, 6, 21], np.int32)), nominal="auto")
    assert level_numbers.numbered_columns(columns, 0).tolist() == [2, 3]
    assert level_numbers.numbered_columns(columns, 2).tolist() == [2, 3]
    assert level_numbers.numbered_columns(columns, 3).tolist() == [3]


def test_a_tree_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table_with_identifier(200, 1.0)
    monkeypatch.setattr(level_numbers, "MAX_SUBSETS", 1000)
    with pytest.raises(TreeTooLarge, match="200 levels"):
        tm.CARTRegressor(nominal="codes").fit(X, y)


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.data
@pytest.mark.parametrize("forest", FORESTS)
def test_pharynx_with_its_column_of_184_levels(forest: Callable[..., tm.RandomForestRegressor]) -> None:
    data = load_dataset("pharynx", task="regression")
    X, folds = data.frame(), KFold(5, shuffle=True, random_state=0)
    assert X["Entry"].nunique() == 184

    def error(columns: pd.DataFrame) -> float:
        scores = cross_val_score(forest(random_state=0), columns, data.y, cv=folds, scoring="neg_mean_squared_error")
        return float(np.sqrt(-scores.mean()))

    assert error(X) < 1.02 * error(X.drop(columns="Entry"))
