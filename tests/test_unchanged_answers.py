"""Answers of every estimator, held to digests that were stored earlier: a change of structure may not change a number.

Numbers are rounded to nine significant digits before they are summed up, so that another processor's last bit does not
count. ``pytest --rewrite-golden`` stores the digests anew; a change of them needs a reason in the change log.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula import perturb

GOLDEN = Path(__file__).parent / "golden" / "answers.json"


def rounded(array: Any) -> np.ndarray:
    """Round to nine significant digits."""
    values = np.asarray(array, dtype=np.float64)
    with np.errstate(all="ignore"):
        scale = 10.0 ** (8 - np.floor(np.log10(np.abs(values))))
        short = np.round(values * scale) / scale
    return np.where((values == 0) | ~np.isfinite(short), values, short) + 0.0


def digest(*answers: Any) -> str:
    summed = hashlib.sha256()
    for answer in answers:
        array = np.asarray(answer)
        if array.dtype.kind in "fiub":
            summed.update(rounded(array).tobytes())
        else:
            summed.update(json.dumps(array.tolist(), default=str).encode())
    return summed.hexdigest()[:16]


def mixed_table(seed: int, n_rows: int = 160) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """A frame with numbers, levels and missing values, a class and a number to predict."""
    random = np.random.default_rng(seed)
    size = random.normal(size=n_rows).round(2)
    width = random.exponential(size=n_rows).round(2)
    color = random.choice(["red", "green", "blue", "grey"], n_rows, p=[0.4, 0.3, 0.2, 0.1])
    wet = random.random(n_rows) < 0.5
    noise = random.normal(scale=0.4, size=n_rows)
    signal = size + (color == "red") * 1.5 - wet * 0.7 + noise
    frame = pd.DataFrame({"size": size, "width": width, "color": pd.Categorical(color), "wet": wet})
    frame.loc[random.random(n_rows) < 0.15, "size"] = np.nan
    frame.loc[random.random(n_rows) < 0.1, "color"] = None
    labels = np.array(["low", "middle", "high"])[np.digitize(signal, [-0.5, 1.0])]
    return frame, labels, signal.round(3)


def nominal_table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    frame, labels, _ = mixed_table(seed)
    frame["size"] = pd.cut(frame["size"], 4, labels=list("abcd"))
    frame["width"] = pd.cut(frame["width"], 3, labels=list("xyz"))
    full = frame.notna().all(axis=1).to_numpy()
    return frame[full], labels[full]


IRIS = load_iris(return_X_y=True)
CANCER = tuple(part[:200] for part in load_breast_cancer(return_X_y=True))
DIABETES = tuple(part[:200] for part in load_diabetes(return_X_y=True))

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "C45": lambda: tm.C45Classifier(),
    "C45 release 1": lambda: tm.C45Classifier(release=1, confidence=None),
    "C45 j48": lambda: tm.C45Classifier(release="J48"),
    "REPTree": lambda: tm.REPTreeClassifier(random_state=3),
    "CART": lambda: tm.CARTClassifier(),
    "CART shares": lambda: tm.CARTClassifier(missing="shares"),
    "CART entropy pruned": lambda: tm.CARTClassifier(criterion="entropy", ccp_alpha=0.01),
    "Bagging": lambda: tm.BaggingClassifier(n_estimators=8, oob_score=True, random_state=3),
    "Bagging CART vote": lambda: tm.BaggingClassifier(
        tm.CARTClassifier(), n_estimators=8, combine="vote", random_state=3
    ),
    "Dagging": lambda: tm.DaggingClassifier(n_estimators=3, random_state=3),
    "RandomSubspace": lambda: tm.RandomSubspaceClassifier(n_estimators=8, random_state=3),
    "RandomForest": lambda: tm.RandomForestClassifier(n_estimators=8, oob_score=True, random_state=3),
    "RandomForest entropy": lambda: tm.RandomForestClassifier(n_estimators=8, criterion="entropy", random_state=3),
    "RandomForest shares": lambda: tm.RandomForestClassifier(
        n_estimators=8, oob_score=True, missing="shares", random_state=3
    ),
    "ExtraTrees": lambda: tm.ExtraTreesClassifier(n_estimators=8, random_state=3),
    "ExtraTrees shares": lambda: tm.ExtraTreesClassifier(n_estimators=8, missing="shares", random_state=3),
    "RandomizedC45": lambda: tm.RandomizedC45Classifier(n_estimators=8, random_state=3),
    "AdaBoostM1": lambda: tm.AdaBoostM1Classifier(n_estimators=8, random_state=3),
    "ThreeBoost": lambda: tm.ThreeBoostClassifier(random_state=3),
    "Decorate": lambda: tm.DecorateClassifier(n_estimators=4, random_state=3),
    "OutputSmearing": lambda: tm.OutputSmearingClassifier(n_estimators=8, random_state=3),
    "OutputSmearing smear": lambda: tm.OutputSmearingClassifier(n_estimators=4, method="smear", random_state=3),
    "SmearedBagging": lambda: tm.SmearedBaggingClassifier(n_estimators=6, random_state=3),
    "SmearedBagging fixed": lambda: tm.SmearedBaggingClassifier(n_estimators=6, noise=0.2, random_state=3),
    "PerturbCombine": lambda: tm.PerturbCombineClassifier(
        perturb=[perturb.Bootstrap(), perturb.AttributeSubset(0.5)], n_estimators=6, random_state=3
    ),
    "SimulatedBagging": lambda: tm.SimulatedBaggingClassifier(n_estimators=5, max_depth=3, random_state=3),
    "Aspen": lambda: tm.AspenClassifier(n_estimators=60, random_state=3),
    "DualPerturb C45": lambda: tm.DualPerturbClassifier(tm.C45Classifier(), random_state=3),
    "DualPerturb C45 by golden section": lambda: tm.DualPerturbClassifier(
        tm.C45Classifier(), scoring="error", search="golden_section", random_state=3
    ),
    "DualPerturb fixed": lambda: tm.DualPerturbClassifier(
        tm.RandomForestClassifier(n_estimators=5, random_state=3), noise=0.3, random_state=3
    ),
}
NUMERIC_CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "DualPerturb sklearn forest": lambda: tm.DualPerturbClassifier(
        RandomForestClassifier(10, random_state=3), random_state=3
    ),
    "DualPerturb sklearn forest by golden section": lambda: tm.DualPerturbClassifier(
        RandomForestClassifier(10, random_state=3), scoring="error", search="golden_section", random_state=3
    ),
    "DualPerturb path": lambda: tm.DualPerturbClassifier(
        DecisionTreeClassifier(random_state=3), method="path", random_state=3
    ),
    "DualPerturb sample": lambda: tm.DualPerturbClassifier(
        KNeighborsClassifier(5), noise=0.2, method="sample", n_draws=20, random_state=3
    ),
    "Bagging neighbours": lambda: tm.BaggingClassifier(KNeighborsClassifier(3), n_estimators=4, random_state=3),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "REPTree": lambda: tm.REPTreeRegressor(random_state=3),
    "CART": lambda: tm.CARTRegressor(),
    "M5": lambda: tm.M5Regressor(),
    "Bagging": lambda: tm.BaggingRegressor(n_estimators=8, oob_score=True, random_state=3),
    "RandomForest": lambda: tm.RandomForestRegressor(n_estimators=8, oob_score=True, random_state=3),
    "RandomForest shares": lambda: tm.RandomForestRegressor(
        n_estimators=8, oob_score=True, missing="shares", random_state=3
    ),
    "ExtraTrees": lambda: tm.ExtraTreesRegressor(n_estimators=8, random_state=3),
    "OutputSmearing": lambda: tm.OutputSmearingRegressor(n_estimators=8, random_state=3),
    "SmearedBagging": lambda: tm.SmearedBaggingRegressor(n_estimators=6, random_state=3),
    "SmearedBagging M5": lambda: tm.SmearedBaggingRegressor(
        tm.M5Regressor(), n_estimators=4, noise=0.1, random_state=3
    ),
    "PerturbCombine": lambda: tm.PerturbCombineRegressor(
        perturb=[perturb.Bootstrap(), perturb.SmearedTarget(0.1)], n_estimators=6, random_state=3
    ),
    "SimulatedBagging": lambda: tm.SimulatedBaggingRegressor(n_estimators=5, max_depth=3, random_state=3),
    "Aspen": lambda: tm.AspenRegressor(n_estimators=60, random_state=3),
    "DualPerturb": lambda: tm.DualPerturbRegressor(
        tm.RandomForestRegressor(n_estimators=5, random_state=3), random_state=3
    ),
    "DualPerturb by golden section": lambda: tm.DualPerturbRegressor(
        tm.RandomForestRegressor(n_estimators=5, random_state=3), search="golden_section", random_state=3
    ),
    "DualPerturb fixed": lambda: tm.DualPerturbRegressor(tm.CARTRegressor(), noise=0.2, random_state=3),
}


def class_answers(make: Callable[[], Any], X: Any, y: Any) -> list[Any]:
    model = make().fit(X, y)
    answers = [model.predict_proba(X), model.predict(X)]
    return answers + [getattr(model, name) for name in ("oob_score_", "noise_") if hasattr(model, name)]


def number_answers(make: Callable[[], Any], X: Any, y: Any) -> list[Any]:
    model = make().fit(X, y)
    return [model.predict(X), *[getattr(model, name) for name in ("oob_score_", "noise_") if hasattr(model, name)]]


def certificates() -> list[Any]:
    model = tm.DualPerturbClassifier(RandomForestClassifier(5, random_state=1), noise=0.3).fit(*IRIS)
    return [model.certified_radius(IRIS[0], n_regions=0)]


def pruned_together() -> list[Any]:
    X, y = CANCER
    model = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=6, random_state=3).fit(X[:120], y[:120])
    return [f(model, X[120:], y[120:]).predict_proba(X) for f in (tm.prune_together, tm.prune_each)]


def importances() -> list[Any]:
    model = tm.RandomForestClassifier(n_estimators=8, random_state=3).fit(*IRIS)
    found = model.permutation_importances(*IRIS, random_state=1)
    return [model.feature_importances_, found.importances]


def decomposition() -> list[Any]:
    found = tm.diagnostics.bias_variance(DecisionTreeClassifier(random_state=1), *IRIS, n_models=5, random_state=1)
    return [found.error, found.bias, found.variance]


def comparison() -> list[Any]:
    methods = {"forest": tm.RandomForestClassifier(n_estimators=5), "tree": tm.C45Classifier()}
    return ["\n".join(map(str, tm.diagnostics.compare(methods, *CANCER, cv=5, random_state=1).verdicts()))]


def kappa() -> list[Any]:
    model = tm.BaggingClassifier(n_estimators=6, random_state=3).fit(*IRIS)
    found = tm.diagnostics.kappa_error(model, *IRIS)
    return [found.kappa, found.member_error]


def smoothed_gradients() -> list[Any]:
    model = tm.DualPerturbRegressor(RandomForestRegressor(5, random_state=1), noise=0.3).fit(*DIABETES)
    return [model.gradient(DIABETES[0][:20])]


MIXED, LABELS, NUMBERS = mixed_table(1)
NOMINAL = nominal_table(2)
CASES: dict[str, Callable[[], list[Any]]] = {
    **{
        f"{n} on numbers": lambda m=m: class_answers(m, *CANCER)
        for n, m in {**CLASSIFIERS, **NUMERIC_CLASSIFIERS}.items()
    },
    **{f"{n} on mixed": lambda m=m: class_answers(m, MIXED, LABELS) for n, m in CLASSIFIERS.items()},
    "ID3 on nominal": lambda: class_answers(lambda: tm.ID3Classifier(), *NOMINAL),
    **{f"{n} regression": lambda m=m: number_answers(m, *DIABETES) for n, m in REGRESSORS.items()},
    **{f"{n} regression on mixed": lambda m=m: number_answers(m, MIXED, NUMBERS) for n, m in REGRESSORS.items()},
    "certificates": certificates,
    "pruned together": pruned_together,
    "importances": importances,
    "bias and variance": decomposition,
    "comparison": comparison,
    "kappa": kappa,
    "gradients": smoothed_gradients,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_stored(case: str, request: pytest.FixtureRequest) -> None:
    stored = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    found = digest(*CASES[case]())
    if request.config.getoption("--rewrite-golden"):
        stored[case] = found
        GOLDEN.write_text(json.dumps(stored, indent=0, sort_keys=True) + "\n")
    assert stored.get(case) == found
