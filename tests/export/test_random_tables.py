"""Every learner on random tables, in every program: odd names, columns of all types, missing values, unknown levels."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import treelite
from sklearn.base import clone

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.export.binary_trees import mixing_attributes
from tremula.trees.tree import Tree

from .tables import CLASSIFIERS, REGRESSORS, answers_of
from .test_onnx import NO_LABEL, answers, run

EXACT = {"rtol": 1e-11, "atol": 1e-11}
ODD = ["select", 'a "b"', "it's", "x y", "Größe", "a;b", "1st", "`tick`", "per%cent", "back\\slash"]
LABELS = [
    np.array([3, 7, -1, 12]),
    np.array(["yes", "no", "it's", "Zoë"]),
    np.array([False, True]),
    np.array([0.0, 2.0, 1.0]),
]


def random_column(random: np.random.Generator, n_rows: int) -> pd.Series:
    kind = random.integers(6)
    if kind == 0:
        return pd.Series(random.normal(size=n_rows) * 10.0 ** random.integers(-8, 9))
    if kind == 1:
        return pd.Series(random.integers(-3, 4, n_rows))
    if kind == 2:
        return pd.Series(random.random(n_rows) < 0.4)
    levels = [f"level {k}'s" for k in range(random.integers(1, 9))]
    words = random.choice(levels, n_rows)
    return (
        pd.Series(words, dtype="str")
        if kind == 3
        else pd.Series(pd.Categorical(words, levels))
        if kind == 4
        else pd.Series(random.integers(0, 2, n_rows) / 3.0)
    )


def random_problem(random: np.random.Generator) -> tuple[Any, pd.DataFrame]:
    """A trained model and other rows, some with levels that training did not have."""
    n_rows, n_new, n_columns = int(random.integers(20, 120)), 60, int(random.integers(1, 6))
    names = random.permutation(ODD)[:n_columns]
    table = pd.DataFrame({name: random_column(random, n_rows + n_new) for name in names})
    score = sum(pd.factorize(table[name], sort=True)[0] * random.normal() for name in names) + random.normal(
        size=len(table)
    )
    missing = random.choice([0.0, 0.1, 0.4], 2)
    for name in names:
        column = table[name].astype(object) if table[name].dtype.kind in "bi" else table[name]
        rates = np.repeat(missing, [n_rows, n_new])
        table[name] = column.mask(random.random(len(table)) < rates, None)
    new = table[n_rows:].reset_index(drop=True)
    for name in names:
        if table[name].dtype == "str" and random.random() < 0.5:
            new.loc[:5, name] = "unknown"
    if random.random() < 0.3:
        name = random.choice(list(REGRESSORS))
        return clone(REGRESSORS[name]).fit(table[:n_rows], score[:n_rows]), new
    labels = LABELS[random.integers(len(LABELS))]
    codes = np.digitize(score[:n_rows], np.quantile(score[:n_rows], np.linspace(0, 1, len(labels) + 1)[1:-1]))
    learner = clone(CLASSIFIERS[random.choice(list(CLASSIFIERS))])
    return learner.fit(table[:n_rows], labels[codes]), new


def is_untied(shares: np.ndarray) -> np.ndarray:
    """Rows whose class does not hang on the last bits of sums, which programs take in different orders."""
    return np.partition(shares, -2)[:, -2] < shares.max(axis=1) - 1e-12


def check_onnx(model: Any, new: pd.DataFrame, missing: str) -> None:
    whole = model.as_member_sum()
    if missing == "shares" and whole.votes and mixing_attributes(whole).any():
        with pytest.raises(UnsupportedModel, match="vote"):
            tm.to_onnx(model, missing=missing)
        return
    outputs = run(tm.to_onnx(model, missing=missing), new)
    got, own = answers(outputs), answers_of(model, new)
    refused = np.isnan(got).any(axis=1)
    np.testing.assert_allclose(got[~refused], own[~refused], **EXACT)
    assert missing == "none" or not refused.any() or "M5" in repr(model)
    if "label" in outputs:
        is_clear = ~refused & is_untied(own)
        np.testing.assert_array_equal(outputs["label"][is_clear], model.predict(new)[is_clear])
        assert outputs["label"].dtype.kind != "O" or set(outputs["label"][refused]) <= {NO_LABEL}


def check_treelite(model: Any, new: pd.DataFrame) -> None:
    whole = model.as_member_sum()
    if whole.link.name != "identity" or not all(isinstance(member, Tree) for member in whole.members):
        with pytest.raises(UnsupportedModel, match=r"link|model trees"):
            tm.to_treelite(model)
        return
    got, own = (
        treelite.gtil.predict(tm.to_treelite(model), model.encoder_.encode(new), nthread=1)[:, 0],
        answers_of(model, new),
    )
    refused = np.isnan(got).any(axis=1)
    np.testing.assert_allclose(got[~refused], own[~refused], **EXACT)


def check_sql(model: Any, new: pd.DataFrame) -> None:
    own = answers_of(model, new)
    with duckdb.connect(config={"threads": 1}) as engine:
        for missing in ("shares", "null"):
            plain = new.assign(**{name: new[name].astype(object) for name in new if new[name].dtype == "category"})
            engine.register("frame", plain.assign(key=range(len(new))))
            query = tm.to_sql(model, "frame", missing=missing, keep=["key"])
            rows = engine.execute(f"SELECT * FROM ({query}) AS answers ORDER BY key").fetchall()
            got = np.array([row[1 : 1 + own.shape[1]] for row in rows], dtype=float)
            is_null = np.isnan(got).any(axis=1)
            np.testing.assert_allclose(got[~is_null], own[~is_null], **EXACT)
            assert missing == "null" or not is_null.any()
            if hasattr(model, "classes_"):
                labels = np.array([row[-1] for row in rows], dtype=object)
                is_clear = ~is_null & is_untied(own)
                np.testing.assert_array_equal(labels[is_clear], model.predict(new)[is_clear])


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 120))])
def test_random_table(seed: int) -> None:
    model, new = random_problem(np.random.default_rng(seed))
    check_onnx(model, new, "none")
    check_onnx(model, new, "shares")
    check_treelite(model, new)
    check_sql(model, new)
