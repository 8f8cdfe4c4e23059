"""Random models of all libraries, on random tables: what is called exact must be right, see `fuzz_checks`.

`python -m tests.smoothing.models.fuzz_models 10000` tries that many, from `--seed` on.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn import ensemble, impute, preprocessing, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline

import tremula as tm

from .fuzz_checks import outcome_of

Random = np.random.Generator
CODES = {
    "whole": lambda codes: codes.astype(float),
    "gaps": lambda codes: 7.0 * codes + 3,
    "fractional": lambda codes: codes + 0.5,
    "negative": lambda codes: codes - 2.0,
    "large": lambda codes: codes * 1e5,
}


def tables(random: Random) -> tuple[Any, Any, list[int]]:
    """Return training rows, other rows of the same kind, and the nominal columns: arrays, or frames with categories."""
    n_rows, n_numeric, n_nominal = int(random.integers(30, 150)), int(random.integers(1, 4)), int(random.integers(0, 3))
    scale = 10.0 ** random.integers(-6, 7)
    numbers = scale * random.normal(size=(2 * n_rows, n_numeric))
    if random.random() < 0.3:
        numbers = np.round(numbers / scale) * scale
    codes = [random.integers(0, random.integers(2, 9), 2 * n_rows) for _ in range(n_nominal)]
    if random.random() < 0.4:
        frame = pd.DataFrame(numbers, columns=[f"x {k}" for k in range(n_numeric)])
        for number, column in enumerate(codes):
            labels = np.array(list("hgfedcbaz")) if random.random() < 0.7 else np.arange(20, 29)
            frame[f"n{number}"] = pd.Categorical(labels[column], categories=labels)
        if random.random() < 0.4:
            frame = frame.mask(random.random(frame.shape) < 0.15)
        return frame[:n_rows], frame[n_rows:].reset_index(drop=True), list(range(n_numeric, frame.shape[1]))
    changes = [CODES[str(random.choice(list(CODES), p=[0.6, 0.1, 0.1, 0.1, 0.1]))] for _ in codes]
    rows = np.column_stack([numbers, *(change(column) for change, column in zip(changes, codes))])
    if random.random() < 0.15:
        rows = rows.astype(np.float32)
    if random.random() < 0.4:
        rows[random.random(rows.shape) < 0.15] = np.nan
    return rows[:n_rows], rows[n_rows:], list(range(n_numeric, rows.shape[1]))


def target_of(table: Any, random: Random, learns_classes: bool) -> Any:
    """Return a target that depends on every column."""
    columns = [table.iloc[:, k] if hasattr(table, "iloc") else pd.Series(table[:, k]) for k in range(table.shape[1])]
    ranks = [pd.Series(pd.factorize(column, sort=True)[0]).rank(pct=True).to_numpy() for column in columns]
    score = np.column_stack(ranks) @ random.normal(size=len(ranks)) + 0.1 * random.normal(size=len(table))
    if not learns_classes:
        return score * 10.0 ** random.integers(-6, 7)
    n_classes = int(random.integers(2, 5))
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def sklearn_model(random: Random, learns_classes: bool, nominal: list[int]) -> Any:
    """Return a random estimator of scikit-learn."""
    size, depth = int(random.integers(1, 6)), int(random.integers(1, 6))
    seed = int(random.integers(1000))
    kind = "Classifier" if learns_classes else "Regressor"
    name = random.choice(
        ["DecisionTree", "RandomForest", "ExtraTrees", "Bagging", "GradientBoosting", "Hist", "AdaBoost"]
    )
    if name == "DecisionTree":
        return getattr(tree, f"DecisionTree{kind}")(max_depth=depth, random_state=seed)
    if name == "Bagging":
        options = {"max_features": 0.7, "max_samples": 0.6, "bootstrap_features": bool(random.random() < 0.5)}
        return getattr(ensemble, f"Bagging{kind}")(n_estimators=size, random_state=seed, **options)
    if name == "AdaBoost":
        return getattr(ensemble, f"AdaBoost{kind}")(n_estimators=size, random_state=seed)
    if name == "GradientBoosting":
        options = {"n_estimators": size, "max_depth": depth, "subsample": 0.8, "random_state": seed}
        return getattr(ensemble, f"GradientBoosting{kind}")(**options)
    if name == "Hist":
        options = {"categorical_features": nominal or None, "min_samples_leaf": int(random.integers(1, 20))}
        options |= {"max_iter": size, "max_depth": depth, "random_state": seed}
        return getattr(ensemble, f"HistGradientBoosting{kind}")(**options)
    return getattr(ensemble, f"{name}{kind}")(n_estimators=size, max_depth=depth, random_state=seed)


def xgboost_model(random: Random, learns_classes: bool, nominal: list[int]) -> Any:
    """Return a random estimator of XGBoost."""
    options: dict[str, Any] = {
        "n_estimators": int(random.integers(1, 8)),
        "max_depth": int(random.integers(1, 6)),
        "booster": str(random.choice(["gbtree", "dart"])),
        "tree_method": str(random.choice(["hist", "approx"])),
        "learning_rate": float(random.choice([0.1, 0.5, 1.0])),
        "max_cat_to_onehot": int(random.choice([1, 4, 10])),
        "enable_categorical": True,
        "n_jobs": 1,
    }
    return xgboost.XGBClassifier(**options) if learns_classes else xgboost.XGBRegressor(**options)


def lightgbm_model(random: Random, learns_classes: bool, nominal: list[int]) -> Any:
    """Return a random estimator of LightGBM."""
    options: dict[str, Any] = {
        "n_estimators": int(random.integers(1, 8)),
        "num_leaves": int(random.integers(2, 20)),
        "boosting_type": str(random.choice(["gbdt", "dart"])),
        "min_child_samples": int(random.integers(1, 10)),
        "min_data_per_group": int(random.integers(1, 10)),
        "cat_smooth": 1.0,
        "max_cat_to_onehot": int(random.choice([1, 4, 10])),
        "use_missing": bool(random.random() < 0.8),
        "verbose": -1,
        "num_threads": 1,
    }
    return lightgbm.LGBMClassifier(**options) if learns_classes else lightgbm.LGBMRegressor(**options)


def catboost_model(random: Random, learns_classes: bool, nominal: list[int]) -> Any:
    """Return a random estimator of CatBoost."""
    options: dict[str, Any] = {
        "iterations": int(random.integers(1, 6)),
        "depth": int(random.integers(1, 5)),
        "grow_policy": str(random.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
        "nan_mode": str(random.choice(["Min", "Max"])),
        "verbose": 0,
        "thread_count": 1,
        "allow_writing_files": False,
    }
    return catboost.CatBoostClassifier(**options) if learns_classes else catboost.CatBoostRegressor(**options)


def own_model(random: Random, learns_classes: bool, nominal: list[int]) -> Any:
    """Return a random estimator of tremula."""
    size, seed = int(random.integers(1, 6)), int(random.integers(1000))
    forest: dict[str, Any] = {"n_estimators": size, "random_state": seed}
    if not learns_classes:
        makers = [tm.CARTRegressor, tm.REPTreeRegressor, lambda: tm.RandomForestRegressor(**forest)]
        makers += [lambda: tm.BaggingRegressor(**forest), lambda: tm.AspenRegressor(**forest)]
        return makers[int(random.integers(len(makers)))]()
    combine = str(random.choice(["vote", "average"]))
    makers = [tm.CARTClassifier, tm.C45Classifier, lambda: tm.RandomForestClassifier(combine=combine, **forest)]
    makers += [lambda: tm.BaggingClassifier(combine=combine, **forest), lambda: tm.AspenClassifier(**forest)]
    makers += [lambda: tm.AdaBoostM1Classifier(**forest)]
    return makers[int(random.integers(len(makers)))]()


MAKERS: list[Callable[[Random, bool, list[int]], Any]] = [
    sklearn_model,
    sklearn_model,
    xgboost_model,
    lightgbm_model,
    catboost_model,
    own_model,
]


STEPS = [
    preprocessing.StandardScaler(),
    preprocessing.MinMaxScaler(clip=True),
    preprocessing.QuantileTransformer(n_quantiles=20),
    preprocessing.PowerTransformer(),
    preprocessing.KBinsDiscretizer(n_bins=4, encode="ordinal"),
    impute.SimpleImputer(strategy="median"),
]


def with_others(estimator: Any, random: Random, learns_classes: bool) -> Any:
    """Put some models into a pipeline, a vote, a stack, bagging or a calibrated model; return others as they are."""
    kind = int(random.integers(20))
    if kind < 3:
        steps = [STEPS[int(number)] for number in random.integers(len(STEPS), size=random.integers(1, 3))]
        return make_pipeline(*steps, estimator)
    suffix = "Classifier" if learns_classes else "Regressor"
    other = getattr(tree, f"DecisionTree{suffix}")(max_depth=3, random_state=0)
    members = [("a", estimator), ("b", other)]
    if kind == 3:
        options = {"voting": "soft"} if learns_classes else {}
        return getattr(ensemble, f"Voting{suffix}")(members, weights=[1.0, 2.0], **options)
    if kind == 4:
        return getattr(ensemble, f"Stacking{suffix}")(members, cv=2)
    if kind == 5:
        return getattr(ensemble, f"Bagging{suffix}")(estimator, n_estimators=2, max_features=0.8, random_state=0)
    if kind == 6 and learns_classes:
        return CalibratedClassifierCV(estimator, cv=2, method=str(random.choice(["sigmoid", "isotonic"])))
    return estimator


def attack(seed: int) -> str:
    """Train a random model; return whether it is read, refused or cannot be trained, or how its answers are wrong."""
    random = np.random.default_rng(seed)
    table, others, nominal = tables(random)
    learns_classes = bool(random.random() < 0.5)
    target = target_of(table, random, learns_classes)
    maker = MAKERS[int(random.integers(len(MAKERS)))]
    estimator = maker(random, learns_classes, nominal)
    is_light = maker is lightgbm_model and not hasattr(table, "iloc") and random.random() < 0.7
    options = {"categorical_feature": nominal} if is_light and nominal else {}
    if not options:
        estimator = with_others(estimator, random, learns_classes)
    if isinstance(estimator, Pipeline) and not hasattr(table, "iloc"):
        # Steps would round rows of single precision, but not rows with noise, which are in double precision.
        table, others = table.astype(float), others.astype(float)
    try:
        estimator.fit(table, target, **options)
        estimator.predict(others)
    except Exception:  # combinations that the library does not take
        return "not trained"
    outcome = outcome_of(estimator, learns_classes, table, others, random)
    is_known = outcome in ("exact", "refused", "rows refused")
    return outcome if is_known else f"seed {seed}, {type(estimator).__name__}, {maker.__name__}: {outcome}"


def attacks(first: int, count: int) -> Counter[str]:
    """Attack with many models; count the outcomes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Counter(attack(seed) for seed in range(first, first + count))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for outcome, number in attacks(given.seed, given.count).most_common():
        print(f"{number:6d}  {outcome}")
