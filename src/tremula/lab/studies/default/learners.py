"""The methods of the study: tremula's and their peers, each at its default settings and with one thread.

Each reads nominal attributes in the way its own documentation advises: tremula and the boosting libraries as
categories, scikit-learn's forests, which know numbers only, one column a level. All of them read missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble

import tremula
from tremula.data.names import attribute_names
from tremula.errors import MissingLibrary
from tremula.lab.comparison.methods import one_hot
from tremula.lab.comparison.peers import CodedClassifier
from tremula.lab.datasets.dataset import Dataset

Maker = Callable[[Sequence[int], int], Any]

ASPEN = "Aspen"
FOREST = "scikit-learn random forest"
SLOW = ("randomized C4.5", "AdaBoost.M1", "smeared bagging", "smeared bagging M5", "output smearing", "softened forest")
PEERS = (FOREST, "scikit-learn extra trees", "scikit-learn histogram boosting", "LightGBM", "XGBoost")


@dataclass(frozen=True)
class Learner:
    """One method.

    Attributes
    ----------
    make : callable
        ``make(nominal, seed)`` gives a fresh estimator.
    reads : {"codes", "frame"}
        An array in which nominal values are codes, or a pandas frame in which they are categories.
    """

    make: Maker
    reads: str = "codes"


def plain_frame(dataset: Dataset) -> Any:
    """Return the frame of a dataset, its columns numbered: LightGBM refuses names with brackets or colons."""
    frame = dataset.frame()
    return frame.set_axis(attribute_names(None, frame.shape[1]), axis=1)


READERS: dict[str, Callable[[Dataset], Any]] = {"codes": lambda dataset: dataset.X, "frame": plain_frame}


class WithoutEmptyColumns:
    """Histogram boosting without the columns of which the training rows have no value: it cannot bin them."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: NDArray[Any]) -> WithoutEmptyColumns:
        """Train on the columns that have values."""
        self.columns_ = X.columns[X.notna().any().to_numpy()]
        self.model.fit(X[self.columns_], y)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the model's numbers."""
        return np.asarray(self.model.predict(X[self.columns_]))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the model's class distributions."""
        return np.asarray(self.model.predict_proba(X[self.columns_]))


def _ours(name: str, **options: Any) -> Maker:
    """Return the maker of one of tremula's ensembles, found when it is wanted."""

    def make(nominal: Sequence[int], seed: int) -> Any:
        options_here = {**options, "categorical_features": list(nominal) or None, "random_state": seed}
        return getattr(tremula, name)(**options_here)

    return make


def _softened(wrapper: str, forest: str, scoring: str) -> Maker:
    """Return the maker of dual perturb and combine on a forest, with the noise chosen as when the study was run."""

    def make(nominal: Sequence[int], seed: int) -> Any:
        options = {"scoring": scoring, "search": "golden_section", "random_state": seed}
        return getattr(tremula, wrapper)(_ours(forest)(nominal, seed), **options)

    return make


def _forest(name: str) -> Maker:
    """Return the maker of a forest of scikit-learn: nominal attributes become one column a level."""
    return one_hot(lambda seed: getattr(ensemble, name)(random_state=seed, n_jobs=1))


def _histogram_boosting(name: str) -> Maker:
    return lambda nominal, seed: WithoutEmptyColumns(getattr(ensemble, name)(random_state=seed))


def _import_peer(package: str, name: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingLibrary(f"this method is {name}, which is not installed: pip install {package}") from error


def _lightgbm(name: str) -> Maker:
    def make(nominal: Sequence[int], seed: int) -> Any:
        lightgbm = _import_peer("lightgbm", "LightGBM")
        return getattr(lightgbm, name)(random_state=seed, n_jobs=1, verbose=-1)

    return make


def _xgboost(name: str) -> Maker:
    def make(nominal: Sequence[int], seed: int) -> Any:
        xgboost = _import_peer("xgboost", "XGBoost")
        model = getattr(xgboost, name)(random_state=seed, n_jobs=1, enable_categorical=True)
        return CodedClassifier(model) if name.endswith("Classifier") else model

    return make


CLASS_LEARNERS: Mapping[str, Learner] = {
    ASPEN: Learner(_ours("AspenClassifier")),
    FOREST: Learner(_forest("RandomForestClassifier")),
    "scikit-learn extra trees": Learner(_forest("ExtraTreesClassifier")),
    "scikit-learn histogram boosting": Learner(_histogram_boosting("HistGradientBoostingClassifier"), "frame"),
    "LightGBM": Learner(_lightgbm("LGBMClassifier"), "frame"),
    "XGBoost": Learner(_xgboost("XGBClassifier"), "frame"),
    "random forest": Learner(_ours("RandomForestClassifier")),
    "extra trees": Learner(_ours("ExtraTreesClassifier")),
    "bagging C4.5": Learner(_ours("BaggingClassifier")),
    "randomized C4.5": Learner(_ours("RandomizedC45Classifier")),
    "AdaBoost.M1": Learner(_ours("AdaBoostM1Classifier")),
    "smeared bagging": Learner(_ours("SmearedBaggingClassifier")),
    "softened forest": Learner(_softened("DualPerturbClassifier", "RandomForestClassifier", "error")),
}
NUMBER_LEARNERS: Mapping[str, Learner] = {
    ASPEN: Learner(_ours("AspenRegressor")),
    FOREST: Learner(_forest("RandomForestRegressor")),
    "scikit-learn extra trees": Learner(_forest("ExtraTreesRegressor")),
    "scikit-learn histogram boosting": Learner(_histogram_boosting("HistGradientBoostingRegressor"), "frame"),
    "LightGBM": Learner(_lightgbm("LGBMRegressor"), "frame"),
    "XGBoost": Learner(_xgboost("XGBRegressor"), "frame"),
    "random forest": Learner(_ours("RandomForestRegressor")),
    "extra trees": Learner(_ours("ExtraTreesRegressor")),
    "bagging trees": Learner(_ours("BaggingRegressor")),
    "bagging M5": Learner(_ours("BaggingRegressor", estimator=tremula.M5Regressor())),
    "smeared bagging M5": Learner(_ours("SmearedBaggingRegressor")),
    "output smearing": Learner(_ours("OutputSmearingRegressor")),
    "softened forest": Learner(_softened("DualPerturbRegressor", "RandomForestRegressor", "squared_error")),
}
