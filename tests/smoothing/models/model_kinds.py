"""Kinds of models of all libraries, tiny and trained at once, and rows to train and to smooth them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model, multioutput, naive_bayes, neighbors, svm, tree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tremula as tm

catboost = pytest.importorskip("catboost")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
pytest.importorskip("treelite")

RANDOM = np.random.default_rng(0)
N_ROWS = 120
NUMERIC = RANDOM.normal(size=(N_ROWS, 3))
CODES = RANDOM.integers(0, 5, N_ROWS)
SCORE = NUMERIC[:, 0] + np.array([1.5, -1.0, 0.2, 2.0, -2.0])[CODES] + 0.3 * RANDOM.normal(size=N_ROWS)
NOMINAL = np.column_stack([NUMERIC, CODES])
FRAME = pd.DataFrame(NUMERIC, columns=["a", "b", "c"]).assign(d=pd.Categorical(np.array(list("pqrst"))[CODES]))
FRACTIONAL = np.column_stack([NUMERIC, CODES + 0.5])
LARGE = np.column_stack([NUMERIC, 1e6 * CODES])
GAPS = np.where(RANDOM.random(NUMERIC.shape) < 0.15, np.nan, NUMERIC)
FRAME_GAPS = FRAME.mask(RANDOM.random(FRAME.shape) < 0.15)
TWO, THREE = (SCORE > 0).astype(int), np.digitize(SCORE, [-1.0, 1.0])
COUNTS = np.round(np.exp(SCORE / 2)) + 1.0
TARGETS = np.column_stack([SCORE, NUMERIC[:, 1]])

SMALL: dict[str, Any] = {"n_estimators": 4, "random_state": 0}
LIGHT: dict[str, Any] = {"n_estimators": 4, "verbose": -1, "min_child_samples": 5, "num_threads": 1}
LIGHT_NOMINAL: dict[str, Any] = {**LIGHT, "min_data_per_group": 5, "cat_smooth": 1}
XGB: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
HIST: dict[str, Any] = {"max_iter": 4, "min_samples_leaf": 5}
CAT: dict[str, Any] = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes
    ----------
    library, name : str
        As the table of models names them.
    make : callable
        Returns an estimator, fitted or to be fitted.
    table, target : arrays or frame
        To train it on.
    options : dict
        Of `fit`.
    """

    library: str
    name: str
    make: Callable[[], Any]
    table: Any
    target: Any
    options: dict[str, Any] | None = None

    def fitted(self) -> Any:
        """Train the model; one that comes trained is returned as it is."""
        estimator = self.make()
        if not hasattr(estimator, "fit") or getattr(estimator, "is_trained", False):
            return estimator
        return estimator.fit(self.table, self.target, **(self.options or {}))


def _own() -> list[Kind]:
    kinds = [
        Kind("tremula", "`CARTClassifier`", lambda: tm.CARTClassifier(), NUMERIC, THREE),
        Kind("tremula", "`C45Classifier`, nominal and missing values", lambda: tm.C45Classifier(), FRAME_GAPS, THREE),
        Kind("tremula", "`ID3Classifier`, nominal", lambda: tm.ID3Classifier(), FRAME[["d"]], THREE),
        Kind(
            "tremula",
            "`REPTreeRegressor`, nominal and missing values",
            lambda: tm.REPTreeRegressor(),
            FRAME_GAPS,
            SCORE,
        ),
        Kind("tremula", "`M5Regressor`", lambda: tm.M5Regressor(), NUMERIC, SCORE),
        Kind(
            "tremula",
            "`RandomForestClassifier`, nominal and missing values",
            lambda: tm.RandomForestClassifier(**SMALL),
            FRAME_GAPS,
            THREE,
        ),
        Kind("tremula", "`BaggingRegressor`", lambda: tm.BaggingRegressor(**SMALL), NUMERIC, SCORE),
        Kind(
            "tremula",
            "`BaggingClassifier`, votes",
            lambda: tm.BaggingClassifier(combine="vote", **SMALL),
            NUMERIC,
            THREE,
        ),
        Kind(
            "tremula",
            "`BaggingClassifier`, votes, missing values",
            lambda: tm.BaggingClassifier(combine="vote", **SMALL),
            GAPS,
            THREE,
        ),
        Kind("tremula", "`AdaBoostM1Classifier`", lambda: tm.AdaBoostM1Classifier(**SMALL), NUMERIC, THREE),
        Kind(
            "tremula",
            "`OutputSmearingClassifier`",
            lambda: tm.OutputSmearingClassifier(method="smear", **SMALL),
            NUMERIC,
            THREE,
        ),
        Kind("tremula", "`AspenClassifier`", lambda: tm.AspenClassifier(**SMALL), NUMERIC, THREE),
        Kind(
            "tremula",
            "`AspenClassifier`, nominal and missing values",
            lambda: tm.AspenClassifier(**SMALL),
            FRAME_GAPS,
            THREE,
        ),
        Kind("tremula", "`AspenRegressor` with model trees", lambda: tm.AspenRegressor(**SMALL), NUMERIC, SCORE),
    ]
    return kinds


def _sklearn() -> list[Kind]:
    def kind(name: str, make: Callable[[], Any], table: Any = NUMERIC, target: Any = THREE) -> Kind:
        return Kind("scikit-learn", name, make, table, target)

    stump = tree.DecisionTreeClassifier(max_depth=2)
    boost: dict[str, Any] = {"n_estimators": 4, "max_depth": 2, "random_state": 0}
    return [
        kind("`DecisionTreeClassifier`", lambda: tree.DecisionTreeClassifier(max_depth=4)),
        kind("`DecisionTreeClassifier`, missing values", lambda: tree.DecisionTreeClassifier(max_depth=4), GAPS),
        kind("`ExtraTreeRegressor`", lambda: tree.ExtraTreeRegressor(max_depth=4), target=SCORE),
        kind("`RandomForestClassifier`", lambda: ensemble.RandomForestClassifier(**SMALL)),
        kind("`RandomForestRegressor`, missing values", lambda: ensemble.RandomForestRegressor(**SMALL), GAPS, SCORE),
        kind("`RandomForestRegressor`, two targets", lambda: ensemble.RandomForestRegressor(**SMALL), target=TARGETS),
        kind("`ExtraTreesClassifier`", lambda: ensemble.ExtraTreesClassifier(**SMALL)),
        kind("`ExtraTreesRegressor`", lambda: ensemble.ExtraTreesRegressor(**SMALL), target=SCORE),
        kind("`BaggingClassifier` of trees", lambda: ensemble.BaggingClassifier(stump, max_features=0.7, **SMALL)),
        kind("`BaggingRegressor` of trees", lambda: ensemble.BaggingRegressor(**SMALL), target=SCORE),
        kind(
            "`BaggingClassifier` of nearest neighbours",
            lambda: ensemble.BaggingClassifier(neighbors.KNeighborsClassifier(), 2),
        ),
        kind("`AdaBoostClassifier`", lambda: ensemble.AdaBoostClassifier(stump, **SMALL)),
        kind("`AdaBoostRegressor`", lambda: ensemble.AdaBoostRegressor(**SMALL), target=SCORE),
        kind(
            "`GradientBoostingClassifier`, two classes",
            lambda: ensemble.GradientBoostingClassifier(**boost),
            target=TWO,
        ),
        kind("`GradientBoostingClassifier`, three classes", lambda: ensemble.GradientBoostingClassifier(**boost)),
        kind(
            "`GradientBoostingClassifier`, exponential loss",
            lambda: ensemble.GradientBoostingClassifier(loss="exponential", **boost),
            target=TWO,
        ),
        kind(
            "`GradientBoostingClassifier`, `init` a model",
            lambda: ensemble.GradientBoostingClassifier(init=naive_bayes.GaussianNB(), **boost),
        ),
        kind("`GradientBoostingRegressor`", lambda: ensemble.GradientBoostingRegressor(**boost), target=SCORE),
        kind(
            "`GradientBoostingRegressor`, quantile",
            lambda: ensemble.GradientBoostingRegressor(loss="quantile", **boost),
            target=SCORE,
        ),
        kind(
            "`HistGradientBoostingClassifier`, two classes",
            lambda: ensemble.HistGradientBoostingClassifier(**HIST),
            target=TWO,
        ),
        kind(
            "`HistGradientBoostingClassifier`, three classes, missing values",
            lambda: ensemble.HistGradientBoostingClassifier(**HIST),
            GAPS,
        ),
        kind(
            "`HistGradientBoostingRegressor`, nominal codes",
            lambda: ensemble.HistGradientBoostingRegressor(categorical_features=[3], **HIST),
            NOMINAL,
            SCORE,
        ),
        kind(
            "`HistGradientBoostingRegressor`, fractional codes",
            lambda: ensemble.HistGradientBoostingRegressor(categorical_features=[3], **HIST),
            FRACTIONAL,
            SCORE,
        ),
        kind(
            "`HistGradientBoostingRegressor`, codes of a million",
            lambda: ensemble.HistGradientBoostingRegressor(categorical_features=[3], **HIST),
            LARGE,
            SCORE,
        ),
        kind(
            "`HistGradientBoostingClassifier`, categories of a frame",
            lambda: ensemble.HistGradientBoostingClassifier(categorical_features="from_dtype", **HIST),
            FRAME,
        ),
        kind(
            "`HistGradientBoostingRegressor`, Poisson",
            lambda: ensemble.HistGradientBoostingRegressor(loss="poisson", **HIST),
            target=COUNTS,
        ),
        kind("`IsolationForest`", lambda: ensemble.IsolationForest(**SMALL), target=None),
        kind(
            "`MultiOutputRegressor`",
            lambda: multioutput.MultiOutputRegressor(tree.DecisionTreeRegressor()),
            target=TARGETS,
        ),
        kind("`MultiOutputClassifier`", lambda: multioutput.MultiOutputClassifier(stump), target=TARGETS > 0),
        kind("`LinearRegression`", linear_model.LinearRegression, target=SCORE),
        kind("`LogisticRegression`, two classes", linear_model.LogisticRegression, target=TWO),
        kind("`LogisticRegression`, three classes", linear_model.LogisticRegression),
        kind("`GaussianNB`", naive_bayes.GaussianNB),
        kind("`KNeighborsRegressor`", neighbors.KNeighborsRegressor, target=SCORE),
        kind("`SVR`", svm.SVR, target=SCORE),
        kind(
            "pipeline of a scaler and a linear model",
            lambda: make_pipeline(StandardScaler(), linear_model.LogisticRegression()),
        ),
        kind(
            "pipeline of a scaler and a forest",
            lambda: make_pipeline(StandardScaler(), ensemble.RandomForestClassifier(**SMALL)),
        ),
        kind(
            "pipeline that fills in missing values before a forest",
            lambda: make_pipeline(SimpleImputer(), ensemble.RandomForestClassifier(**SMALL)),
            GAPS,
        ),
        kind(
            "`VotingClassifier`, soft",
            lambda: ensemble.VotingClassifier(
                [("a", ensemble.RandomForestClassifier(**SMALL)), ("b", ensemble.GradientBoostingClassifier(**boost))],
                voting="soft",
            ),
        ),
        kind("`CalibratedClassifierCV`, two classes", lambda: CalibratedClassifierCV(_forest(), cv=2), target=TWO),
        kind(
            "`CalibratedClassifierCV`, isotonic",
            lambda: CalibratedClassifierCV(ensemble.GradientBoostingClassifier(**boost), cv=2, method="isotonic"),
            target=TWO,
        ),
        kind("`CalibratedClassifierCV`, three classes", lambda: CalibratedClassifierCV(_forest(), cv=2), target=THREE),
        kind(
            "`StackingClassifier`, three classes",
            lambda: ensemble.StackingClassifier([("a", _forest())], cv=2),
            target=THREE,
        ),
        kind(
            "`StackingRegressor`",
            lambda: ensemble.StackingRegressor([("a", ensemble.RandomForestRegressor(**SMALL))], cv=2),
            target=SCORE,
        ),
    ]


def _forest() -> Any:
    return ensemble.RandomForestClassifier(**SMALL)


def _booster(objective: str, target: Any, **options: Any) -> Any:
    return xgboost.train({"objective": objective, "max_depth": 2, **options}, xgboost.DMatrix(NUMERIC, label=target), 4)


def _xgboost() -> list[Kind]:
    def kind(name: str, make: Callable[[], Any], table: Any = NUMERIC, target: Any = TWO) -> Kind:
        return Kind("XGBoost", name, make, table, target)

    return [
        kind("`XGBClassifier`, two classes", lambda: xgboost.XGBClassifier(**XGB)),
        kind("`XGBClassifier`, three classes, missing values", lambda: xgboost.XGBClassifier(**XGB), GAPS, THREE),
        kind(
            "`XGBClassifier`, categories of a frame",
            lambda: xgboost.XGBClassifier(enable_categorical=True, **XGB),
            FRAME,
            THREE,
        ),
        kind("`XGBClassifier`, `dart`", lambda: xgboost.XGBClassifier(booster="dart", rate_drop=0.5, **XGB)),
        kind("`XGBClassifier`, `gblinear`", lambda: xgboost.XGBClassifier(booster="gblinear", n_estimators=4)),
        kind("`XGBClassifier`, zero stands for missing", lambda: xgboost.XGBClassifier(missing=0.0, **XGB)),
        kind(
            "`XGBClassifier`, two labels a row", lambda: xgboost.XGBClassifier(**XGB), target=(TARGETS > 0).astype(int)
        ),
        kind("`XGBRFClassifier`", lambda: xgboost.XGBRFClassifier(**XGB)),
        kind("`XGBRegressor`", lambda: xgboost.XGBRegressor(**XGB), target=SCORE),
        kind("`XGBRegressor`, Poisson", lambda: xgboost.XGBRegressor(objective="count:poisson", **XGB), target=COUNTS),
        kind(
            "`XGBRegressor`, absolute error",
            lambda: xgboost.XGBRegressor(objective="reg:absoluteerror", **XGB),
            target=SCORE,
        ),
        kind(
            "`XGBRegressor`, `reg:logistic`", lambda: xgboost.XGBRegressor(objective="reg:logistic", **XGB), target=TWO
        ),
        kind(
            "`XGBRegressor`, `binary:logistic`",
            lambda: xgboost.XGBRegressor(objective="binary:logistic", **XGB),
            target=TWO,
        ),
        kind("`XGBRegressor`, two targets", lambda: xgboost.XGBRegressor(**XGB), target=TARGETS),
        kind("`Booster`, `binary:logistic`", lambda: _booster("binary:logistic", TWO)),
        kind("`Booster`, `multi:softmax`", lambda: _booster("multi:softmax", THREE, num_class=3), target=THREE),
        kind("`Booster`, `reg:squarederror`", lambda: _booster("reg:squarederror", SCORE), target=SCORE),
    ]


def _lightgbm() -> list[Kind]:
    def kind(name: str, make: Callable[[], Any], table: Any = NUMERIC, target: Any = THREE, **options: Any) -> Kind:
        return Kind("LightGBM", name, make, table, target, options)

    spaced = FRAME[["a", "b", "c"]].set_axis(["petal length", "petal width", "sepal length"], axis=1)
    both = FRAME.assign(e=CODES[::-1].copy())
    return [
        kind("`LGBMClassifier`, two classes", lambda: lightgbm.LGBMClassifier(**LIGHT), target=TWO),
        kind("`LGBMClassifier`, three classes, missing values", lambda: lightgbm.LGBMClassifier(**LIGHT), GAPS),
        kind("`LGBMClassifier`, categories of a frame", lambda: lightgbm.LGBMClassifier(**LIGHT_NOMINAL), FRAME),
        kind(
            "`LGBMRegressor`, nominal codes",
            lambda: lightgbm.LGBMRegressor(**LIGHT_NOMINAL),
            NOMINAL,
            SCORE,
            categorical_feature=[3],
        ),
        kind(
            "`LGBMRegressor`, codes of a million",
            lambda: lightgbm.LGBMRegressor(**LIGHT_NOMINAL),
            LARGE,
            SCORE,
            categorical_feature=[3],
        ),
        kind(
            "`LGBMRegressor`, categories beside nominal codes",
            lambda: lightgbm.LGBMRegressor(**LIGHT_NOMINAL),
            both,
            SCORE,
            categorical_feature=["d", "e"],
        ),
        kind("`LGBMClassifier`, spaces in names of columns", lambda: lightgbm.LGBMClassifier(**LIGHT), spaced),
        kind("`LGBMRegressor`", lambda: lightgbm.LGBMRegressor(**LIGHT), target=SCORE),
        kind("`LGBMRegressor`, Poisson", lambda: lightgbm.LGBMRegressor(objective="poisson", **LIGHT), target=COUNTS),
        kind(
            "`LGBMRegressor`, cross-entropy",
            lambda: lightgbm.LGBMRegressor(objective="cross_entropy", **LIGHT),
            target=TWO,
        ),
        kind("`LGBMRegressor`, `dart`", lambda: lightgbm.LGBMRegressor(boosting_type="dart", **LIGHT), target=SCORE),
        kind(
            "`LGBMRegressor`, `rf`",
            lambda: lightgbm.LGBMRegressor(boosting_type="rf", subsample=0.7, subsample_freq=1, **LIGHT),
            target=SCORE,
        ),
        kind("`LGBMRegressor`, `linear_tree`", lambda: lightgbm.LGBMRegressor(linear_tree=True, **LIGHT), target=SCORE),
        kind(
            "`LGBMRegressor`, `zero_as_missing`",
            lambda: lightgbm.LGBMRegressor(zero_as_missing=True, **LIGHT),
            np.where(RANDOM.random(NUMERIC.shape) < 0.2, 0.0, NUMERIC),
            SCORE,
        ),
        kind("`LGBMClassifier`, `multiclassova`", lambda: lightgbm.LGBMClassifier(objective="multiclassova", **LIGHT)),
    ]


def _catboost() -> list[Kind]:
    def kind(name: str, make: Callable[[], Any], table: Any = NUMERIC, target: Any = TWO, **options: Any) -> Kind:
        return Kind("CatBoost", name, make, table, target, options)

    return [
        kind("`CatBoostClassifier`, two classes", lambda: catboost.CatBoostClassifier(**CAT)),
        kind("`CatBoostClassifier`, three classes", lambda: catboost.CatBoostClassifier(**CAT), target=THREE),
        kind("`CatBoostRegressor`, missing values", lambda: catboost.CatBoostRegressor(**CAT), GAPS, SCORE),
        kind(
            "`CatBoostRegressor`, `Lossguide`",
            lambda: catboost.CatBoostRegressor(grow_policy="Lossguide", **CAT),
            target=SCORE,
        ),
        kind(
            "`CatBoostRegressor`, Poisson",
            lambda: catboost.CatBoostRegressor(loss_function="Poisson", **CAT),
            target=COUNTS,
        ),
        kind("`CatBoostClassifier`, nominal", lambda: catboost.CatBoostClassifier(cat_features=["d"], **CAT), FRAME),
        kind(
            "`CatBoostRegressor`, two targets",
            lambda: catboost.CatBoostRegressor(loss_function="MultiRMSE", **CAT),
            target=TARGETS,
        ),
    ]


def all_kinds() -> list[Kind]:
    """List the kinds of models of all libraries."""
    return [*_own(), *_sklearn(), *_xgboost(), *_lightgbm(), *_catboost()]
