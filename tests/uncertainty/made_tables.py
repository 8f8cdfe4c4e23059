"""A small table with numbers, levels and missing values, and ensembles of every kind that leave rows out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.perturb import AttributeSubset, Bootstrap, SmearedInputs

QUICK = ("forest", "bagging of pruned trees", "smeared", "dagging")


def made_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": random.normal(size=n_rows),
            "b": random.normal(size=n_rows),
            "c": pd.Categorical(random.choice(list("uvwxyz"), n_rows), categories=list("uvwxyz")),
        }
    )
    target = (table["a"] > 0) + table["b"] + 2.0 * (table["c"] == "u") + 0.3 * random.normal(size=n_rows)
    table.loc[random.random(n_rows) < 0.15, "a"] = np.nan
    table.loc[random.random(n_rows) < 0.15, "c"] = None
    return table, target.to_numpy()


def with_slow(names: Iterable[str]) -> list[Any]:
    """Names as parameters; all but a few of them are of the slow tests."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


def classes_of(target: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(target, [0.3, 1.3])]


def regressors(n_members: int = 12) -> dict[str, Any]:
    given = {"n_estimators": n_members, "random_state": 0}
    smeared = [Bootstrap(), SmearedInputs(0.1), AttributeSubset(2)]
    return {
        "forest": tm.RandomForestRegressor(**given),
        "forest of subsamples": tm.RandomForestRegressor(max_samples=0.4, bootstrap=False, **given),
        "extra trees": tm.ExtraTreesRegressor(bootstrap=True, **given),
        "bagging": tm.BaggingRegressor(**given),
        "bagging of pruned trees": tm.BaggingRegressor(tm.REPTreeRegressor(), **given),
        "bagging of model trees": tm.BaggingRegressor(tm.M5Regressor(), **given),
        "smeared": tm.SmearedBaggingRegressor(tm.CARTRegressor(), noise=0.2, smear_nominal=True, **given),
        "smeared as the data choose": tm.SmearedBaggingRegressor(tm.CARTRegressor(), **given),
        "smeared model trees": tm.SmearedBaggingRegressor(noise=0.2, **given),
        "output smearing": tm.OutputSmearingRegressor(bootstrap=True, **given),
        "composed": tm.PerturbCombineRegressor(tm.CARTRegressor(), perturb=smeared, **given),
        "aspen": tm.AspenRegressor(**given),
    }


def classifiers(n_members: int = 12) -> dict[str, Any]:
    given = {"n_estimators": n_members, "random_state": 0}
    return {
        "forest": tm.RandomForestClassifier(**given),
        "voting forest": tm.RandomForestClassifier(combine="vote", **given),
        "extra trees": tm.ExtraTreesClassifier(bootstrap=True, **given),
        "bagging": tm.BaggingClassifier(**given),
        "dagging": tm.DaggingClassifier(n_estimators=6, random_state=0),
        "randomized C4.5": tm.RandomizedC45Classifier(bootstrap=True, **given),
        "smeared": tm.SmearedBaggingClassifier(noise=0.2, **given),
        "output flipping": tm.OutputSmearingClassifier(bootstrap=True, **given),
        "output smearing": tm.OutputSmearingClassifier(method="smear", bootstrap=True, **given),
        "subspaces": tm.RandomSubspaceClassifier(bootstrap=True, **given),
        "aspen": tm.AspenClassifier(**given),
    }
