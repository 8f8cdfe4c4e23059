"""CatBoost, explainable boosting machines and YDF with scikit-learn's methods and the columns that they expect."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

LABEL = "target"


def _words(column: NDArray[Any]) -> NDArray[Any]:
    """Return the codes of levels as words, which all of them take for levels; missing values are a level."""
    return np.array(["missing" if np.isnan(code) else f"level {code:.0f}" for code in column], dtype=object)


def _with_words(X: Any, nominal: Sequence[int]) -> Any:
    """Return a table in which nominal columns hold words; the table itself if there are none."""
    if not nominal:
        return X
    table = np.asarray(X).astype(object)
    for place in nominal:
        table[:, place] = _words(np.asarray(X)[:, place])
    return table


class CatBoostPeer(BaseEstimator):
    """CatBoost with nominal columns.

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
        self.estimator.fit(self._table(X), y, cat_features=list(self.nominal))
        self.n_features_in_ = np.shape(X)[1]
        if hasattr(self.estimator, "predict_proba"):
            self.classes_ = np.asarray(self.estimator.classes_)
        return self

    def predict(self, X: Any) -> Any:
        """Return classes or numbers."""
        check_is_fitted(self)
        return np.asarray(self.estimator.predict(self._table(X))).reshape(len(X))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return self.estimator.predict_proba(self._table(X))

    def _table(self, X: Any) -> Any:
        return _with_words(X, self.nominal)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if hasattr(self.estimator, "predict_proba") else "regressor"
        return tags


class _EbmPeer(BaseEstimator):
    """An explainable boosting machine with nominal columns."""

    def __init__(self, nominal: Sequence[int], seed: int) -> None:
        self.nominal = nominal
        self.seed = seed

    def _train(self, X: Any, y: Any, kind: str) -> None:
        self.n_features_in_ = np.shape(X)[1]
        types = ["nominal" if place in self.nominal else "continuous" for place in range(self.n_features_in_)]
        machine = getattr(import_module("interpret.glassbox"), kind)
        self.model_ = machine(feature_types=types, random_state=self.seed, n_jobs=1)
        with warnings.catch_warnings():  # that its plots show no missing values
            warnings.simplefilter("ignore")
            self.model_.fit(_with_words(X, self.nominal), y)

    def predict(self, X: Any) -> Any:
        """Return classes or numbers."""
        check_is_fitted(self)
        return self.model_.predict(_with_words(X, self.nominal))


class EbmClassifier(ClassifierMixin, _EbmPeer):
    """An explainable boosting machine for classes."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self._train(X, y, "ExplainableBoostingClassifier")
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        check_is_fitted(self)
        return self.model_.predict_proba(_with_words(X, self.nominal))


class EbmRegressor(RegressorMixin, _EbmPeer):
    """An explainable boosting machine for numbers."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self._train(X, y, "ExplainableBoostingRegressor")
        return self


EBM_PEERS: dict[str, Any] = {"classification": EbmClassifier, "regression": EbmRegressor}


class _YdfPeer(BaseEstimator):
    """A learner of Yggdrasil Decision Forests."""

    def __init__(self, learner: str, nominal: Sequence[int], seed: int) -> None:
        self.learner = learner
        self.nominal = nominal
        self.seed = seed

    def _train(self, X: Any, y: Any, task: str) -> None:
        ydf = import_module("ydf")
        ydf.verbose(0)
        options = {"task": getattr(ydf.Task, task), "random_seed": self.seed % 2**31, "num_threads": 1}
        self.n_features_in_ = np.shape(X)[1]
        self.model_ = getattr(ydf, self.learner)(label=LABEL, **options).train({**self._columns(X), LABEL: y})

    def _columns(self, X: Any) -> dict[str, Any]:
        table = np.asarray(X, dtype=np.float64)
        return {
            f"column {place}": _words(table[:, place]).astype(str) if place in self.nominal else table[:, place]
            for place in range(table.shape[1])
        }

    def _answers(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.asarray(self.model_.predict(self._columns(X), num_threads=1), dtype=np.float64)


class YdfClassifier(ClassifierMixin, _YdfPeer):
    """A classifier of Yggdrasil Decision Forests."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._train(X, np.array([f"class {code}" for code in codes]), "CLASSIFICATION")
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes."""
        answers = self._answers(X)
        shares = np.column_stack([1 - answers, answers]) if answers.ndim == 1 else answers
        codes = [int(label.removeprefix("class ")) for label in self.model_.label_classes()]
        probabilities = np.zeros((len(shares), len(self.classes_)))
        probabilities[:, codes] = shares
        return probabilities

    def predict(self, X: Any) -> Any:
        """Return the classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class YdfRegressor(RegressorMixin, _YdfPeer):
    """A regressor of Yggdrasil Decision Forests."""

    def fit(self, X: Any, y: Any) -> Self:
        """Train."""
        self._train(X, np.asarray(y, dtype=np.float64), "REGRESSION")
        return self

    def predict(self, X: Any) -> Any:
        """Return numbers."""
        return self._answers(X)


YDF_PEERS: dict[str, Any] = {"classification": YdfClassifier, "regression": YdfRegressor}
