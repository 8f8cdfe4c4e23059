"""Methods of other libraries at their defaults, for a comparison on the same folds.

Only the seed, one thread and silent output are set. A library that is not installed raises an error before the work
starts.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tremula.errors import MissingLibrary, TremulaError, did_you_mean
from tremula.lab.comparison.methods import Build, Method, one_hot
from tremula.lab.comparison.optional_peers import EBM_PEERS, YDF_PEERS, CatBoostPeer

ENDING = {"classification": "Classifier", "regression": "Regressor"}


class UnknownLibrary(TremulaError, LookupError):
    """No library with the given name."""


class CodedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that knows the classes 0, 1, ... only, given any classes.

    Parameters
    ----------
    estimator : classifier
        It is fitted in place.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the codes of the classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator.fit(X, codes)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X: Any) -> Any:
        """Return the classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return self.estimator.predict_proba(X)


def _scikit_learn(task: str) -> list[Method]:
    ensemble = import_module("sklearn.ensemble")
    kinds = {name: getattr(ensemble, name + ENDING[task]) for name in ("RandomForest", "ExtraTrees")}
    boosting = getattr(ensemble, "HistGradientBoosting" + ENDING[task])

    def build_boosting(nominal: Sequence[int], seed: int) -> Any:
        return boosting(categorical_features=list(nominal) or None, random_state=seed)

    def build_forest(kind: Any) -> Build:
        return one_hot(lambda seed: kind(random_state=seed, n_jobs=1))

    return [
        _peer("sklearn-random-forest", "sklearn random forest", "scikit-learn", build_forest(kinds["RandomForest"])),
        _peer("sklearn-extra-trees", "sklearn extra trees", "scikit-learn", build_forest(kinds["ExtraTrees"])),
        _peer("sklearn-boosting", "sklearn boosting", "scikit-learn", build_boosting),
    ]


def _lightgbm(task: str) -> list[Method]:
    return [_peer("lightgbm", "LightGBM", "lightgbm", partial(_build_booster, "lightgbm", task))]


def _xgboost(task: str) -> list[Method]:
    return [_peer("xgboost", "XGBoost", "xgboost", partial(_build_booster, "xgboost", task))]


def _catboost(task: str) -> list[Method]:
    def build(nominal: Sequence[int], seed: int) -> Any:
        kind = getattr(import_module("catboost"), "CatBoost" + ENDING[task])
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        return CatBoostPeer(kind(random_seed=seed, **quiet), list(nominal))

    return [_peer("catboost", "CatBoost", "catboost", build)]


def _ydf(task: str) -> list[Method]:
    def build(learner: str) -> Build:
        return lambda nominal, seed: YDF_PEERS[task](learner, list(nominal), seed)

    return [
        _peer("ydf-boosting", "YDF boosting", "ydf", build("GradientBoostedTreesLearner")),
        _peer("ydf-random-forest", "YDF random forest", "ydf", build("RandomForestLearner")),
    ]


def _interpret(task: str) -> list[Method]:
    def build(nominal: Sequence[int], seed: int) -> Any:
        return EBM_PEERS[task](list(nominal), seed % 2**31)

    return [_peer("ebm", "EBM", "interpret-core", build)]


def _sklearnex(task: str) -> list[Method]:
    ensemble = import_module("sklearnex.ensemble")

    def build(kind: str) -> Build:
        return one_hot(lambda seed: getattr(ensemble, kind + ENDING[task])(random_state=seed, n_jobs=1))

    return [
        _peer("sklearnex-random-forest", "sklearnex random forest", "scikit-learn-intelex", build("RandomForest")),
        _peer("sklearnex-extra-trees", "sklearnex extra trees", "scikit-learn-intelex", build("ExtraTrees")),
    ]


def _build_booster(library: str, task: str, nominal: Sequence[int], seed: int) -> Any:
    kind = getattr(import_module(library), PREFIX[library] + ENDING[task])
    booster = NominalBooster(kind(random_state=seed, n_jobs=1, verbosity=QUIET[library]), list(nominal))
    return CodedClassifier(booster) if task == "classification" else booster


def _declare_lightgbm(booster: Any, nominal: Sequence[int], n_columns: int) -> dict[str, Any]:
    return {"categorical_feature": list(nominal)}


def _declare_xgboost(booster: Any, nominal: Sequence[int], n_columns: int) -> dict[str, Any]:
    types = ["c" if index in nominal else "q" for index in range(n_columns)]
    booster.set_params(feature_types=types, enable_categorical=True)
    return {}


PREFIX = {"lightgbm": "LGBM", "xgboost": "XGB"}
QUIET = {"lightgbm": -1, "xgboost": 0}
DECLARE: dict[str, Callable[[Any, Sequence[int], int], dict[str, Any]]] = {
    "lightgbm": _declare_lightgbm,
    "xgboost": _declare_xgboost,
}


class NominalBooster(RegressorMixin, BaseEstimator):
    """LightGBM or XGBoost with nominal columns, which are declared at `fit`, when the number of columns is known.

    Parameters
    ----------
    estimator : estimator
        It is fitted in place.
    nominal : list of int
        Indices of the nominal columns.
    """

    def __init__(self, estimator: Any, nominal: Sequence[int]) -> None:
        self.estimator = estimator
        self.nominal = nominal

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        library = type(self.estimator).__module__.partition(".")[0]
        options = DECLARE[library](self.estimator, self.nominal, X.shape[1]) if self.nominal else {}
        self.estimator.fit(X, y, **options)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        """Return numbers."""
        check_is_fitted(self)
        return self.estimator.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return self.estimator.predict_proba(X)


def _peer(name: str, label: str, library: str, build: Build) -> Method:
    return Method(name, label, build, library=library, family="peer")


# By the name in --against: the module, the distribution, and the methods.
LIBRARIES: dict[str, tuple[str, str, Callable[[str], list[Method]]]] = {
    "sklearn": ("sklearn", "scikit-learn", _scikit_learn),
    "lightgbm": ("lightgbm", "lightgbm", _lightgbm),
    "xgboost": ("xgboost", "xgboost", _xgboost),
    "catboost": ("catboost", "catboost", _catboost),
    "ydf": ("ydf", "ydf", _ydf),
    "interpret": ("interpret", "interpret-core", _interpret),
    "sklearnex": ("sklearnex", "scikit-learn-intelex", _sklearnex),
}
OTHER_NAMES = {"scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex", "interpret-core": "interpret"}


def choose_peers(libraries: Iterable[str], task: str = "classification") -> list[Method]:
    """Return the methods of other libraries.

    Parameters
    ----------
    libraries : iterable of str
        Some of 'sklearn', 'lightgbm', 'xgboost', 'catboost', 'ydf', 'interpret' and 'sklearnex'.
    task : {'classification', 'regression'}, default='classification'
        The task.

    Returns
    -------
    list of Method

    Examples
    --------
    >>> from tremula.lab.comparison.peers import choose_peers
    >>> [method.name for method in choose_peers(["sklearn"])]
    ['sklearn-random-forest', 'sklearn-extra-trees', 'sklearn-boosting']
    """
    chosen = []
    for given in dict.fromkeys(OTHER_NAMES.get(name, name) for name in libraries):
        if given not in LIBRARIES:
            hint = did_you_mean(given, LIBRARIES) or ": give some of these, comma-separated"
            raise UnknownLibrary(f"no library {given!r} to compare with (there are {', '.join(LIBRARIES)}){hint}")
        module, package, methods = LIBRARIES[given]
        if find_spec(module) is None:
            raise MissingLibrary(f"comparing with {given} needs {given}, which is not installed: pip install {package}")
        chosen += methods(task)
    return chosen
