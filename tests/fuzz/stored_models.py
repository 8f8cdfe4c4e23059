"""Small model files of every storable class: what the fuzz changes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import Ridge

import tremula as tm
from tremula.aspen.tree_sum import LogShareLink
from tremula.data.table_schema import TableSchema
from tremula.perturb import (
    AttributeSubset,
    BalancedBootstrap,
    BalancedWeights,
    BlockBootstrap,
    Bootstrap,
    FlippedClasses,
    RandomSplits,
    RandomThresholds,
    SmearedInputs,
    SmearedTarget,
    SyntheticMinority,
)
from tremula.perturb.targets import SmearedClasses
from tremula.queries import ArrayOracle, GuardedOracle
from tremula.smoothing.models import read_model, store_trees
from tremula.trees.composite_links import ChainLink
from tremula.trees.links import EXPONENTIAL, IDENTITY, POSITIVE, SHARE, SOFTMAX, Link

N_ROWS = 40
NO_PUBLIC_FIT = {"Tree", "Uncertainty"}


def table() -> pd.DataFrame:
    """Two numeric columns and two nominal ones, some values missing."""
    numbers = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": numbers.normal(size=N_ROWS).round(3),
            "weight": numbers.normal(size=N_ROWS).round(3),
            "color": pd.Categorical(numbers.choice(["red", "green", "blue"], N_ROWS)),
            "new": numbers.random(N_ROWS) < 0.5,
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "color"] = np.nan
    return frame


def classes() -> np.ndarray:
    """Three classes that the table explains in part."""
    frame, noise = table(), np.random.default_rng(1).integers(2, size=N_ROWS)
    return np.array(["low", "mid", "high"], dtype=object)[(frame["weight"] > 0).to_numpy(int) + noise * frame["new"]]


def numbers() -> np.ndarray:
    """A target that the table explains in part."""
    return np.asarray(table()["weight"] ** 2 + table()["new"])


def fitted(model: Any, frame: pd.DataFrame | None = None) -> Any:
    """Fit a model on the table, or on some of its columns."""
    rows = table() if frame is None else frame
    return model.fit(rows, classes() if is_classifier(model) else numbers())


def public_models() -> dict[str, Any]:
    """Fit every public estimator, small."""
    models = {}
    kinds = [getattr(tm, name) for name in tm.__all__ if isinstance(getattr(tm, name), type)]
    for kind in kinds:
        if kind.__name__ in NO_PUBLIC_FIT:
            continue
        model = kind()
        usual = {"n_estimators": 2, "random_state": 0, "oob_score": kind.__name__.startswith(("Bagging", "RandomFo"))}
        model.set_params(**{name: value for name, value in usual.items() if name in model.get_params()})
        nominal = table()[["new"]].assign(color=table()["color"].astype(str))
        models[kind.__name__] = fitted(model, nominal if kind is tm.ID3Classifier else None)
    return models


def foreign_models() -> dict[str, Any]:
    """Trees of models of scikit-learn, with every kind of link."""
    rows, labels, target = table()[["weight", "new"]].astype(float), classes(), numbers()
    forest = RandomForestClassifier(n_estimators=2, max_depth=2, random_state=0).fit(rows, labels)
    boosted = GradientBoostingRegressor(n_estimators=2, max_depth=2, random_state=0).fit(rows, target)
    two = labels == "low"
    soft = VotingClassifier(
        [("a", GradientBoostingClassifier(n_estimators=2, max_depth=1)), ("b", RandomForestClassifier(2, max_depth=2))],
        voting="soft",
    ).fit(rows, two)
    few = RandomForestClassifier(n_estimators=2, max_depth=2, random_state=0)
    stacked = StackingRegressor([("a", GradientBoostingRegressor(n_estimators=2, max_depth=2))], Ridge(), cv=2)
    return {
        "foreign forest": store_trees(read_model(forest)),
        "foreign boosting": store_trees(read_model(boosted)),
        "foreign classes": store_trees(
            read_model(GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(rows, labels))
        ),
        "foreign votes": store_trees(read_model(soft)),
        "foreign isotonic": store_trees(
            read_model(CalibratedClassifierCV(few, method="isotonic", cv=2).fit(rows, two), rows)
        ),
        "foreign stacked": store_trees(read_model(stacked.fit(rows, target), rows)),
        "foreign links of numbers": with_links(store_trees(read_model(boosted)), IDENTITY, EXPONENTIAL, SHARE),
        "foreign links of classes": with_links(
            store_trees(read_model(forest)), POSITIVE, LogShareLink(np.array([0.5, 0.3, 0.2]), 1.3), SOFTMAX
        ),
    }


def with_links(stored: Any, *links: Link) -> Any:
    """Put further links into a model."""
    stored.link_ = ChainLink(links)
    return stored


def special_models() -> dict[str, Any]:
    """Models with parts that defaults do not have."""
    frame, labels, target = table(), classes(), numbers()
    few: dict[str, Any] = {"n_estimators": 2, "random_state": 0}
    named = tm.C45Classifier().fit(frame, labels)
    kinds, levels = ("number", "number", "nominal", "nominal"), (None, None, ("red",), None)
    named.table_ = TableSchema(tuple(frame), kinds, levels, "y", "classification", "")
    perturbations = [Bootstrap(0.5), AttributeSubset(2), FlippedClasses(0.1), RandomSplits(5)]
    splits = [SmearedInputs(0.1), RandomThresholds()]
    blocks, balanced = [BlockBootstrap(5), BalancedWeights()], [BalancedBootstrap(), SyntheticMinority(2)]
    bagged = tm.BaggingRegressor(tm.M5Regressor(), **few).fit(frame, target)
    bagged_trees = tm.BaggingClassifier(tm.CARTClassifier(), **few).fit(frame, labels)
    smoothed = tm.DualPerturbClassifier(tm.CARTClassifier(), noise=0.1).fit(frame, labels)
    smoothed.table_ = named.table_
    return {
        "with schema": named,
        "pruned sequence": tm.CARTClassifier(ccp_alpha="cv", cv=3, random_state=0).fit(frame, labels),
        "bagged boosting": tm.BaggingClassifier(tm.AdaBoostM1Classifier(n_estimators=2), **few).fit(frame, labels),
        "perturbations": tm.PerturbCombineClassifier(perturb=perturbations, **few).fit(frame, labels),
        "blocks": tm.PerturbCombineClassifier(perturb=blocks, **few).fit(frame, labels),
        "balanced": tm.PerturbCombineClassifier(perturb=balanced, **few).fit(frame, labels),
        "weighted classes": tm.RandomForestClassifier(class_weight={"low": 2.0}, **few).fit(frame, labels),
        "smeared classes": tm.OutputSmearingClassifier(method="smear", **few).fit(frame, labels),
        "random splits": tm.PerturbCombineClassifier(tm.CARTClassifier(), perturb=splits, **few).fit(frame, labels),
        "bagged model trees": bagged,
        "smoothed with flips": tm.DualPerturbClassifier(tm.CARTClassifier(), noise=0.2, flip=0.1).fit(frame, labels),
        "smoothed paths": tm.DualPerturbClassifier(tm.C45Classifier(), noise=0.2, method="path").fit(frame, labels),
        "smoothed draws": tm.DualPerturbRegressor(tm.M5Regressor(), noise=0.1, method="sample", n_draws=5).fit(
            frame, target
        ),
        "smoothed forest": tm.DualPerturbClassifier(
            tm.RandomForestClassifier(max_depth=3, **few), noise=[0.1, 0.2, 0, 0], shrinkage=1.0
        ).fit(frame, labels),
        "smoothed per tree": tm.DualPerturbRegressor(
            tm.BaggingRegressor(tm.CARTRegressor(max_depth=2), **few), per_attribute=True, per_tree=True
        ).fit(frame, target),
        "smoothed infinities": tm.DualPerturbRegressor(tm.ExtraTreesRegressor(**few), noise=0.1, method="path").fit(
            frame, target
        ),
        "kept weights": tm.AdaBoostM1Classifier(keep_weights=True, **few).fit(frame, labels),
        "pruned together": tm.prune_together(bagged_trees, frame, labels),
        "pruned each": tm.prune_each(bagged_trees, frame, labels),
        "smoothed with schema": smoothed,
        "bare tree": tm.CARTRegressor(max_depth=2).fit(frame, target).tree_,
        "array": tm.RandomForestRegressor(**few).fit(frame[["size", "weight"]].to_numpy(), target),
        "smeared numbers": tm.PerturbCombineRegressor(perturb=[SmearedTarget(0.1)], **few).fit(frame, target),
        "unfitted smearing": tm.PerturbCombineClassifier(perturb=[SmearedClasses(0.1)]),
        "unfitted": tm.BaggingClassifier(tm.C45Classifier(max_depth=3), n_estimators=np.int64(2)),
    }


def newer_models() -> dict[str, Any]:
    """Models of several targets, of sparse tables, with constraints of order, and from guarded counts."""
    frame, labels, target = table(), classes(), numbers()
    few: dict[str, Any] = {"n_estimators": 2, "random_state": 0}
    plain = frame[["size", "weight"]].fillna(0.0).to_numpy()
    two_labels = np.column_stack([labels, np.where(frame["new"], "new", "used")])
    two_numbers = np.column_stack([target, frame["weight"]])
    counted = ArrayOracle(frame[["color", "new"]].astype(str), labels)
    return {
        "several classes": tm.RandomForestClassifier(**few).fit(frame, two_labels),
        "several numbers": tm.CARTRegressor(max_depth=3).fit(frame, two_numbers),
        "several numbers, extra trees": tm.ExtraTreesRegressor(**few).fit(plain, two_numbers),
        "sparse": tm.BaggingClassifier(tm.CARTClassifier(), **few).fit(csr_array(plain), labels),
        "in order": tm.CARTRegressor(monotonic_cst=[1, -1]).fit(plain, target),
        "one against the rest": tm.RandomForestClassifier(nominal="one_vs_rest", **few).fit(frame, labels),
        "one way for the missing": tm.ExtraTreesClassifier(max_bins=8, **few).fit(frame, labels),
        "guarded": tm.SimulatedBaggingClassifier(max_depth=2, **few).fit(GuardedOracle(counted, min_count=3)),
    }


def write_models(folder: Path) -> list[Path]:
    """Write all models to a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = public_models() | special_models() | foreign_models() | newer_models()
    paths = []
    for number, (name, model) in enumerate(models.items()):
        paths.append(folder / f"{number:02d}_{name.replace(' ', '_')}.tremula")
        tm.save(model, paths[-1])
    return paths
