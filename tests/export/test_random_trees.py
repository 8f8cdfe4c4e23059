"""Forests of random trees in every program: rows on thresholds and beside them, missing values, unseen levels.

The trees have splits of all kinds: numbers, sets of levels, a branch for each level, levels that training did not see,
and branches of their own for missing values.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import numpy as np
import pytest
import treelite

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.export.binary_trees import mixing_attributes

from .tables import N_LEVELS, as_frame, attacking_rows, mean_values, random_forest
from .test_onnx import run

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COMBINED = pytest.mark.parametrize("combine", ["average", "vote"])


def drawn(seed: int, combine: str, n_trees: int = 4, missing: float = 0.15) -> tuple[Any, np.ndarray, np.ndarray]:
    """A forest, rows, and which of them lack an attribute whose missing values take several branches of some tree."""
    random = np.random.default_rng(seed)
    forest = random_forest(random, n_trees, combine=combine)
    rows = attacking_rows(random, forest, 150, missing)
    lacks = np.isnan(rows) & mixing_attributes(forest.as_member_sum())
    return forest, rows, lacks.any(axis=1)


@COMBINED
@pytest.mark.parametrize("seed", range(8))
def test_onnx_refuses_rows_that_mix_and_no_others(seed: int, combine: str) -> None:
    forest, rows, refused = drawn(seed, combine)
    got = run(tm.to_onnx(forest), as_frame(rows))["probabilities"]
    np.testing.assert_array_equal(np.isnan(got).any(axis=1), refused)
    np.testing.assert_allclose(got[~refused], mean_values(forest, rows)[~refused], **EXACT)


@pytest.mark.parametrize("seed", range(8))
def test_onnx_with_shares_answers_every_row(seed: int) -> None:
    forest, rows, _ = drawn(seed, "average")
    got = run(tm.to_onnx(forest, missing="shares"), as_frame(rows))["probabilities"]
    np.testing.assert_allclose(got, mean_values(forest, rows), **EXACT)


@pytest.mark.parametrize("seed", range(8))
def test_onnx_in_single_precision_takes_the_branches_of_the_rounded_number(seed: int) -> None:
    """Of numbers of single precision, those next to a threshold and on it are the ones that bad rounding moves."""
    forest, rows, refused = drawn(seed, "average", missing=0.05)
    is_number = N_LEVELS == 0
    with np.errstate(under="ignore"):
        singles = rows[:, is_number].astype(np.float32)
    step = np.random.default_rng(seed).choice([-np.inf, 0.0, np.inf], singles.shape).astype(np.float32)
    singles = np.where(step == 0, singles, np.nextafter(singles, step))
    rows[:, is_number] = singles.astype(np.float64)
    got = run(tm.to_onnx(forest, dtype="float32"), as_frame(rows), "float32")["probabilities"]
    np.testing.assert_allclose(got[~refused], mean_values(forest, rows)[~refused], atol=2e-6)


@COMBINED
@pytest.mark.parametrize("seed", range(8))
def test_treelite(seed: int, combine: str) -> None:
    forest, rows, refused = drawn(seed, combine)
    got = treelite.gtil.predict(tm.to_treelite(forest), rows, nthread=1)[:, 0]
    np.testing.assert_array_equal(np.isnan(got).any(axis=1), refused)
    np.testing.assert_allclose(got[~refused], mean_values(forest, rows)[~refused], **EXACT)


@COMBINED
@pytest.mark.parametrize("missing", ["shares", "null"])
@pytest.mark.parametrize("seed", range(3))
def test_sql(seed: int, missing: str, combine: str) -> None:
    forest, rows, refused = drawn(seed, combine, n_trees=2)
    table, own = as_frame(rows).assign(key=range(len(rows))), mean_values(forest, rows)
    with duckdb.connect(config={"threads": 1}) as engine:
        engine.register("frame", table)
        engine.execute("CREATE TABLE rows AS SELECT a, b::TEXT AS b, c, d::TEXT AS d, key FROM frame")
        in_duckdb = engine.execute(_query(forest, "duckdb", missing)).fetchall()
    with sqlite3.connect(":memory:") as connection:
        table.to_sql("rows", connection, index=False)
        in_sqlite = connection.execute(_query(forest, "sqlite", missing)).fetchall()
    connection.close()
    for answers in (in_duckdb, in_sqlite):
        got = np.array(answers, dtype=float)[:, 1:]
        is_null = np.isnan(got).any(axis=1)
        assert not is_null[~refused].any()
        assert missing == "null" or not is_null.any()
        np.testing.assert_allclose(got[~is_null], own[~is_null], **EXACT)


def _query(forest: Any, dialect: str, missing: str) -> str:
    query = tm.to_sql(forest, dialect=dialect, missing=missing, output="probabilities", keep=["key"])
    return f"SELECT * FROM ({query}) AS answers ORDER BY key"


def test_votes_with_shares_are_refused_by_onnx() -> None:
    forest = drawn(0, "vote")[0]
    with pytest.raises(UnsupportedModel, match="vote"):
        tm.to_onnx(forest, missing="shares")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_more_random_trees(seed: int) -> None:
    combine = ["average", "vote"][seed % 2]
    forest, rows, refused = drawn(seed, combine, n_trees=10)
    own = mean_values(forest, rows)
    in_onnx = run(tm.to_onnx(forest), as_frame(rows))["probabilities"]
    in_treelite = treelite.gtil.predict(tm.to_treelite(forest), rows, nthread=1)[:, 0]
    for got in (in_onnx, in_treelite):
        np.testing.assert_array_equal(np.isnan(got).any(axis=1), refused)
        np.testing.assert_allclose(got[~refused], own[~refused], **EXACT)
    if combine == "average":
        shares = run(tm.to_onnx(forest, missing="shares"), as_frame(rows))["probabilities"]
        np.testing.assert_allclose(shares, own, **EXACT)


def test_the_rows_of_these_tests_reach_what_they_should() -> None:
    """Rows on thresholds, rows without an answer and rows with one must all be there, or nothing is tested."""
    forest, rows, refused = drawn(0, "average")
    thresholds = np.concatenate([tree.threshold for tree in forest.members_])
    assert np.isin(rows[:, 0], thresholds).sum() > 10
    assert 10 < refused.sum() < 100
