"""Splits of one level against the rest, in trees, forests, extra trees and bagged CART, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.trees.tree import Tree

ENSEMBLES: dict[str, Callable[..., Any]] = {
    "forest": tm.RandomForestClassifier,
    "extra trees": tm.ExtraTreesClassifier,
    "bagged CART": lambda n, nominal, **others: tm.BaggingClassifier(tm.CARTClassifier(nominal=nominal), n, **others),
    "forest of numbers": tm.RandomForestRegressor,
    "extra trees of numbers": tm.ExtraTreesRegressor,
    "bagged CART of numbers": lambda n, nominal, **others: tm.BaggingRegressor(
        tm.CARTRegressor(nominal=nominal), n, **others
    ),
}


def draw_table(n_rows: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """One number and two nominal columns; three classes that depend on all of them."""
    random = np.random.default_rng(0)
    colour, place = random.integers(0, 7, n_rows), random.integers(0, 4, n_rows)
    number = random.normal(size=n_rows)
    table = pd.DataFrame(
        {"colour": [f"c{level}" for level in colour], "number": number, "place": [f"p{level}" for level in place]}
    )
    return table, np.asarray((colour == 3).astype(int) + ((place == 1) & (number > 0)))


def nominal_splits(tree: Tree) -> list[np.ndarray]:
    """The branch of each level, for every split of a nominal attribute."""
    splits = tree.nodes[(tree.nodes["n_branches"] > 0) & (tree.nodes["index"] >= 0)]
    return [tree.subsets[node["index"] :][: tree.n_levels[node["attribute"]]] for node in splits]


@pytest.mark.parametrize("name", ENSEMBLES)
def test_one_level_takes_the_first_branch_of_every_nominal_split(name: str, tmp_path: Path) -> None:
    X, y = draw_table()
    X.loc[::13, "colour"] = None
    models = [ENSEMBLES[name](8, nominal="one_vs_rest", random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
    splits = [branches for tree in models[0].members_ for branches in nominal_splits(tree)]
    assert len(splits) > 25
    n_first = np.array([np.count_nonzero(branches == 0) for branches in splits])
    n_second = np.array([np.count_nonzero(branches == 1) for branches in splits])
    assert (n_first <= 1).all()  # none where the one level is that of missing values
    assert ((n_first == 1) | (n_second == 7)).all()
    assert (n_first + n_second == [len(branches) for branches in splits]).all()
    tm.save(models[0], tmp_path / "model.tremula")
    for rows in (X, X.assign(colour="unseen")):
        expected = models[0].predict(rows).tobytes()
        assert models[1].predict(rows).tobytes() == expected
        assert tm.load(tmp_path / "model.tremula").predict(rows).tobytes() == expected


@pytest.mark.parametrize("max_features", [None, 1])
def test_a_missing_level_is_a_level(max_features: int | None) -> None:
    X, y = draw_table()
    X["colour"] = X["colour"].replace("c3", "zzz")
    missing = X.assign(colour=X["colour"].where(X["colour"] != "zzz"))
    trees = [
        tm.CARTClassifier(nominal="one_vs_rest", max_features=max_features, random_state=1).fit(table, y).tree_
        for table in (X, missing)
    ]
    assert trees[0].n_nodes == trees[1].n_nodes > 5
    for field in ("attribute", "first_child", "weight"):
        np.testing.assert_array_equal(trees[0].nodes[field], trees[1].nodes[field])


def test_one_level_against_the_rest_is_not_the_best_of_all_sets() -> None:
    levels = np.repeat(np.arange(6), 10)
    X, y = pd.DataFrame({"level": [f"l{level}" for level in levels]}), np.isin(levels, [1, 3, 5])
    assert tm.CARTClassifier(nominal="subsets").fit(X, y).get_n_leaves() == 2
    assert tm.CARTClassifier(nominal="one_vs_rest").fit(X, y).get_n_leaves() == 4
    assert tm.CARTClassifier(nominal="one_vs_rest").fit(X, levels == 2).get_n_leaves() == 2


@pytest.mark.parametrize(
    ("options", "others"),
    [({"max_bins": 8}, "max_bins=8"), ({"criterion": "absolute_error"}, "criterion='absolute_error'")],
)
def test_what_does_not_go_with_it_is_refused_if_there_are_levels(options: dict[str, Any], others: str) -> None:
    X, y = draw_table()
    model = tm.RandomForestRegressor(3, nominal="one_vs_rest", random_state=0, **options)
    with pytest.raises(InvalidParameter, match=others):
        model.fit(X, y)
    assert model.fit(X[["number"]], y).predict(X[["number"]]).std() > 0


def test_constraints_of_order_go_with_it() -> None:
    X, y = draw_table()
    tree = tm.CARTRegressor(nominal="one_vs_rest", monotonic_cst={"number": 1}).fit(X, y)
    assert nominal_splits(tree.tree_)
    assert (tree.predict(X.assign(number=X["number"] + 1.0)) >= tree.predict(X) - 1e-12).all()


def test_tables_without_levels_have_the_same_forest() -> None:
    X, y = draw_table()
    forests = [
        tm.RandomForestClassifier(5, nominal=nominal, random_state=0).fit(X[["number"]], y)
        for nominal in ("auto", "one_vs_rest")
    ]
    assert forests[0].predict_proba(X[["number"]]).tobytes() == forests[1].predict_proba(X[["number"]]).tobytes()
