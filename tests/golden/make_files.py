"""Writes the model files of `files/` with the code at hand, and the answers of their models.

The files there were written before classes registered themselves as storable; later code has to read them. Do not write
them again with later code: add files with new names instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import tremula as tm
from tremula.data.table_schema import TableSchema
from tremula.perturb import AttributeSubset, Bootstrap, FlippedClasses, RandomSplits
from tremula.smoothing.models import read_model, store_trees

FILES = Path(__file__).parent / "files"


def rows() -> pd.DataFrame:
    """Two numeric columns and two nominal ones, some values missing."""
    numbers = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": numbers.normal(size=60).round(3),
            "weight": numbers.normal(size=60).round(3),
            "color": pd.Categorical(numbers.choice(["red", "green", "blue"], 60)),
            "new": numbers.random(60) < 0.5,
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "color"] = np.nan
    return frame


def classes() -> np.ndarray:
    """Three classes that the rows explain in part."""
    frame, noise = rows(), np.random.default_rng(1).integers(2, size=60)
    return np.array(["low", "mid", "high"], dtype=object)[(frame["weight"] > 0).to_numpy(int) + noise * frame["new"]]


def models() -> dict[str, Any]:
    """Fit a model for each file."""
    frame, labels, numbers = rows(), classes(), rows()["weight"] ** 2
    few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
    numeric = frame[["weight"]]
    forest = RandomForestClassifier(max_depth=3, **few).fit(numeric, labels)
    named = tm.C45Classifier().fit(frame, labels)
    named.table_ = TableSchema(
        tuple(frame),
        ("number", "number", "nominal", "nominal"),
        (None, None, ("red",), None),
        "y",
        "classification",
        "",
    )
    perturbations = [Bootstrap(0.5), AttributeSubset(2), FlippedClasses(0.1), RandomSplits(5)]
    return {
        "c45_with_schema": named,
        "cart_pruned": tm.CARTClassifier(ccp_alpha="cv", cv=3, random_state=0).fit(frame, labels),
        "m5": tm.M5Regressor().fit(frame, numbers),
        "random_forest": tm.RandomForestClassifier(oob_score=True, **few).fit(frame, labels),
        "bagging_of_boosting": tm.BaggingClassifier(tm.AdaBoostM1Classifier(n_estimators=2), **few).fit(frame, labels),
        "output_smearing": tm.OutputSmearingClassifier(**few).fit(frame, labels),
        "smeared_bagging": tm.SmearedBaggingRegressor(noise="auto", **few).fit(frame, numbers),
        "perturb_combine": tm.PerturbCombineClassifier(perturb=perturbations, **few).fit(frame, labels),
        "simulated_bagging": tm.SimulatedBaggingClassifier(**few).fit(frame, labels),
        "dual_perturb": tm.DualPerturbClassifier(tm.CARTClassifier(), noise=0.2).fit(frame, labels),
        "stored_trees": store_trees(read_model(forest)),
        "bare_tree": tm.CARTRegressor(max_depth=2).fit(frame, numbers).tree_,
    }


def answers(model: Any) -> np.ndarray:
    """Return what a model says about the rows."""
    if isinstance(model, tm.Tree):
        return model.predict_values(rows()[["size", "weight"]].assign(color=0.0, new=0.0).to_numpy())
    frame = rows()[["weight"]] if model.n_features_in_ == 1 else rows()
    return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    fitted = models()
    for name, model in fitted.items():
        tm.save(model, FILES / f"{name}.tremula")
    np.savez_compressed(FILES / "answers.npz", **{name: answers(model) for name, model in fitted.items()})
