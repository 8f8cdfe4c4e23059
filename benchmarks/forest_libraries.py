"""One adapter a library: its name, the tasks it has, the form of the table it takes, and its model for a task.

All models have as many members, grow trees fully and draw the root of the number of attributes at a node; the note of
a library says where it differs. Libraries are imported when they are used: a process that measures one loads no other.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from forest_models import Job, OneDal, OnnxForest, TreeliteForest, YdfForest

BOOSTED_DEPTH = 8  # so that neither stops for want of errors
SAMPLED = 0.632  # share of the rows that a bootstrap sample has, for libraries that draw without replacement
MOST_LEAVES = 131_072  # LightGBM's limit
POOL = 2048  # megabytes of histograms that LightGBM keeps
BOOSTED = ("stumps", "boosting")
TASKS = ("forest", "extra-trees", "bagging", "bagging-entropy", "stumps", "boosting", "tree", "tree-entropy")
FOR_CLASSES = ("bagging-entropy", "stumps", "boosting", "tree-entropy")  # tasks without regression


@dataclass(frozen=True)
class Library:
    """How a library is used."""

    label: str
    module: str
    package: str
    make: Callable[[Job], Any]
    form: str = "numbers"
    tasks: Sequence[str] = ("forest",)
    note: str = ""
    leaves: Callable[[Any], int | None] = field(default=lambda model: None)
    is_trained: bool = True  # False: it only predicts, with a forest of scikit-learn
    is_default: bool = True

    @property
    def is_installed(self) -> bool:
        if self.make is make_binned_tremula and not _has_bins():
            return False
        return shutil.which(self.module) is not None if self.package == "ranger" else find_spec(self.module) is not None

    def does(self, task: str, kind: str) -> bool:
        return task in self.tasks and (kind == "classification" or task not in FOR_CLASSES)

    def form_for(self, task: str) -> str:
        """The form of the table; scikit-learn's boosting takes no missing values."""
        return "complete" if task in BOOSTED and self.form == "numbers" else self.form


# --- tremula and scikit-learn ---


def make_tremula(job: Job, **more: Any) -> Any:
    import tremula as tm

    kind = "Classifier" if job.is_class else "Regressor"
    many = {"n_estimators": job.members, "random_state": 0}
    task = job.task.removesuffix("-entropy")
    if task in ("forest", "extra-trees"):
        forest = getattr(tm, ("RandomForest" if task == "forest" else "ExtraTrees") + kind)
        return forest(**many, max_features=job.n_drawn, n_jobs=job.jobs, **more)
    if task == "bagging":
        tree = getattr(tm, f"CART{kind}")(**job.criterion)
        return getattr(tm, f"Bagging{kind}")(tree, **many, n_jobs=job.jobs)
    if task == "tree":
        return getattr(tm, f"CART{kind}")(**job.criterion)
    depth = 1 if task == "stumps" else BOOSTED_DEPTH
    return tm.AdaBoostM1Classifier(tm.CARTClassifier(max_depth=depth), **many)


def make_binned_tremula(job: Job) -> Any:
    return make_tremula(job, max_bins=255)


def _has_bins() -> bool:
    import tremula as tm

    return "max_bins" in inspect.signature(tm.RandomForestClassifier).parameters


def make_sklearn(job: Job) -> Any:
    from sklearn import ensemble, tree

    kind = "Classifier" if job.is_class else "Regressor"
    many = {"n_estimators": job.members, "random_state": 0}
    one = getattr(tree, f"DecisionTree{kind}")
    task = job.task.removesuffix("-entropy")
    if task in ("forest", "extra-trees"):
        forest = getattr(ensemble, ("RandomForest" if task == "forest" else "ExtraTrees") + kind)
        return forest(**many, max_features=job.n_drawn, n_jobs=job.jobs)
    if task == "bagging":
        return getattr(ensemble, f"Bagging{kind}")(one(**job.criterion), **many, n_jobs=job.jobs)
    if task == "tree":
        return one(**job.criterion, random_state=0)
    depth = 1 if task == "stumps" else BOOSTED_DEPTH
    return ensemble.AdaBoostClassifier(one(max_depth=depth), **many)


def tremula_leaves(model: Any) -> int:
    return sum(tree.n_leaves for tree in model.members_) if hasattr(model, "members_") else model.tree_.n_leaves


def sklearn_leaves(model: Any) -> int:
    trees = model.estimators_ if hasattr(model, "estimators_") else [model]
    return sum(int(tree.tree_.n_leaves) for tree in trees)


# --- libraries that are called as scikit-learn is ---


def make_sklearnex(job: Job, all_bins: bool = False) -> Any:
    from sklearnex import ensemble

    name = "ExtraTrees" if job.task == "extra-trees" else "RandomForest"
    forest = getattr(ensemble, name + ("Classifier" if job.is_class else "Regressor"))
    drawn = None if job.task == "bagging" else job.n_drawn
    bins = {"max_bins": job.n_rows} if all_bins else {}
    return OneDal(forest(job.members, max_features=drawn, n_jobs=job.jobs, random_state=0, **bins))


def make_sklearnex_all_bins(job: Job) -> Any:
    return make_sklearnex(job, all_bins=True)


def onedal_leaves(model: OneDal) -> int:
    return sklearn_leaves(model.model)


def make_snapml(job: Job, **more: Any) -> Any:
    import snapml

    forest = snapml.RandomForestClassifier if job.is_class else snapml.RandomForestRegressor
    return forest(job.members, max_depth=None, max_features="sqrt", n_jobs=job.jobs, random_state=0, **more)


def make_binned_snapml(job: Job) -> Any:
    return make_snapml(job, use_histograms=True, hist_nbins=256)


def make_lightgbm(job: Job) -> Any:
    import lightgbm

    forest = lightgbm.LGBMClassifier if job.is_class else lightgbm.LGBMRegressor
    most = SAMPLED * job.n_rows / (4 if job.is_class else 1)  # full trees have fewer; more takes more time and memory
    return forest(
        boosting_type="rf", n_estimators=job.members, num_leaves=max(2, min(int(most), MOST_LEAVES)),
        min_child_samples=1, min_child_weight=0, subsample=SAMPLED, subsample_freq=1,
        colsample_bynode=job.n_drawn / job.n_attributes, n_jobs=job.jobs, random_state=0, verbose=-1,
        histogram_pool_size=POOL,
    )  # fmt: skip


def lightgbm_leaves(model: Any) -> int:
    return sum(int(number) for number in re.findall(r"num_leaves=(\d+)", model.booster_.model_to_string()))


def make_xgboost(job: Job) -> Any:
    import xgboost

    forest = xgboost.XGBRFClassifier if job.is_class else xgboost.XGBRFRegressor
    return forest(
        n_estimators=job.members, max_depth=0, min_child_weight=0, reg_lambda=0, tree_method="hist", subsample=SAMPLED,
        colsample_bynode=job.n_drawn / job.n_attributes, enable_categorical=True, n_jobs=job.jobs, random_state=0,
    )  # fmt: skip


def xgboost_leaves(model: Any) -> int:
    return sum(tree.count("leaf=") for tree in model.get_booster().get_dump())


# --- libraries of other manners ---


def make_ydf(job: Job) -> Any:
    return YdfForest(job)


def make_binned_ydf(job: Job) -> Any:
    return YdfForest(job, discretize_numerical_columns=True, num_discretized_numerical_bins=255)


def ydf_leaves(forest: YdfForest) -> int:
    return (forest.model.num_nodes() + forest.model.num_trees()) // 2  # trees are binary


def make_onnx(job: Job) -> Any:
    return OnnxForest(make_sklearn(job), job)


def make_treelite(job: Job) -> Any:
    return TreeliteForest(make_sklearn(job), job)


def make_ranger(job: Job) -> Any:
    raise TypeError("ranger is trained in R: forest_cell.py asks ranger_peer.R")


BINS = "256 bins of an attribute"
A_TREE_A_CLASS = "a tree for each class and member if there are more than two classes"
SLOW_ENGINE = "predicts with its slow engine where a tree has too many nodes for the fast ones"
FORESTS = ("forest", "extra-trees")
LIBRARIES = {
    "tremula": Library("tremula", "tremula", "tremula", make_tremula, "frame", TASKS, leaves=tremula_leaves),
    "tremula-bins": Library(
        "tremula, 255 bins", "tremula", "tremula", make_binned_tremula, "frame", FORESTS, leaves=tremula_leaves
    ),
    "tremula-codes": Library(
        "tremula", "tremula", "tremula", make_tremula, "numbers", TASKS, "nominal attributes as ordered numbers",
        tremula_leaves, is_default=False,
    ),
    "sklearn": Library("scikit-learn", "sklearn", "scikit-learn", make_sklearn, tasks=TASKS, leaves=sklearn_leaves),
    "sklearnex": Library(
        "scikit-learn-intelex", "sklearnex", "scikit-learn-intelex", make_sklearnex, "complete", (*FORESTS, "bagging"),
        f"{BINS}; bagging is its forest that draws all attributes", onedal_leaves,
    ),
    "sklearnex-all-bins": Library(
        "scikit-learn-intelex, a bin a row", "sklearnex", "scikit-learn-intelex", make_sklearnex_all_bins, "complete",
        note="`max_bins=len(X)`, nearly exact", leaves=onedal_leaves,
    ),
    "ydf": Library("YDF", "ydf", "ydf", make_ydf, "columns", note=SLOW_ENGINE, leaves=ydf_leaves),
    "ydf-bins": Library(
        "YDF, 255 bins", "ydf", "ydf", make_binned_ydf, "columns", leaves=ydf_leaves, is_default=False
    ),
    "snapml": Library("Snap ML", "snapml", "snapml", make_snapml, "complete", note="does not tell its trees' sizes"),
    "snapml-bins": Library(
        "Snap ML, 256 bins", "snapml", "snapml", make_binned_snapml, "complete", note=BINS, is_default=False
    ),
    "lightgbm": Library(
        "LightGBM rf", "lightgbm", "lightgbm", make_lightgbm, "frame",
        note=f"255 bins; {A_TREE_A_CLASS}; samples {SAMPLED:.1%} of the rows without replacement; at most "
        f"{MOST_LEAVES:,} leaves; keeps up to {POOL} MB of histograms", leaves=lightgbm_leaves,
    ),
    "xgboost": Library(
        "XGBoost rf", "xgboost", "xgboost-cpu", make_xgboost, "frame",
        note=f"{BINS}; {A_TREE_A_CLASS}; samples {SAMPLED:.1%} of the rows without replacement", leaves=xgboost_leaves,
    ),
    "ranger": Library(
        "ranger", "Rscript", "ranger", make_ranger, "complete", ("forest", "bagging"),
        "in R; bagging is its forest that draws all attributes",
    ),
    "onnxruntime": Library(
        "ONNX Runtime", "onnxruntime", "onnxruntime", make_onnx, "complete", note="predicts with scikit-learn's forest",
        is_trained=False,
    ),
    "treelite": Library(
        "treelite", "treelite", "treelite", make_treelite, "complete", note="predicts with scikit-learn's forest",
        is_trained=False,
    ),
}  # fmt: skip
