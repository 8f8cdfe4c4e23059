"""Boosting libraries tuned by inner folds: the best of some random settings, then a fit on all training rows.

Spaces follow what the libraries' own guides name first: number and size of trees, learning rate, sampling, and
shrinkage. The default setting is among those tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from tremula.folds import shuffled_folds
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.studies.default.protocol import class_losses
from tremula.losses import squared_errors

N_SETTINGS, N_FOLDS = 50, 3
Draw = Callable[[np.random.Generator], Any]


def _log_uniform(low: float, high: float, kind: type = float) -> Draw:
    return lambda random: kind(np.exp(random.uniform(np.log(low), np.log(high))))


def _uniform(low: float, high: float) -> Draw:
    return lambda random: float(random.uniform(low, high))


SPACES: dict[str, dict[str, Draw]] = {
    "lightgbm": {
        "n_estimators": _log_uniform(50, 500, int),
        "learning_rate": _log_uniform(0.02, 0.3),
        "num_leaves": _log_uniform(4, 64, int),
        "min_child_samples": _log_uniform(1, 50, int),
        "colsample_bytree": _uniform(0.3, 1.0),
        "subsample": _uniform(0.5, 1.0),
        "subsample_freq": lambda random: 1,
        "reg_lambda": _log_uniform(1e-3, 10.0),
    },
    "xgboost": {
        "n_estimators": _log_uniform(50, 500, int),
        "learning_rate": _log_uniform(0.02, 0.3),
        "max_depth": _log_uniform(2, 10, int),
        "min_child_weight": _log_uniform(0.5, 20.0),
        "colsample_bytree": _uniform(0.3, 1.0),
        "subsample": _uniform(0.5, 1.0),
        "reg_lambda": _log_uniform(1e-3, 10.0),
    },
    "catboost": {
        "iterations": _log_uniform(50, 500, int),
        "learning_rate": _log_uniform(0.02, 0.3),
        "depth": _log_uniform(2, 8, int),
        "l2_leaf_reg": _log_uniform(0.5, 20.0),
        "random_strength": _log_uniform(0.1, 10.0),
    },
}
LABELS = {"lightgbm": "LightGBM, tuned", "xgboost": "XGBoost, tuned", "catboost": "CatBoost, tuned"}


@dataclass
class TunedPeer:
    """A boosting library with the setting that inner folds choose, by log loss or squared error.

    Attributes
    ----------
    library, task : str
    nominal : sequence of int
    seed : int
    n_settings : int
        With the default one.
    """

    library: str
    task: str
    nominal: Sequence[int]
    seed: int
    n_settings: int = N_SETTINGS

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a setting, and train with it."""
        random = np.random.default_rng(self.seed)
        space = SPACES[self.library]
        drawn = [{name: draw(random) for name, draw in space.items()} for _ in range(self.n_settings - 1)]
        settings: list[dict[str, Any]] = [{}, *drawn]
        folds = shuffled_folds(y, N_FOLDS, self.seed, stratified=self.task == "classification")
        losses = [np.mean([self._loss(setting, X, y, *fold) for fold in folds]) for setting in settings]
        self.setting_ = settings[int(np.nanargmin(losses))]
        self.model_ = self._make(self.setting_).fit(X, y)
        return self

    def _make(self, setting: dict[str, Any]) -> Any:
        model = choose_peers([self.library], self.task)[0].build(tuple(self.nominal), self.seed)
        inner = model
        while hasattr(inner, "estimator"):
            inner = inner.estimator
        inner.set_params(**setting)
        return model

    def _loss(self, setting: dict[str, Any], X: Any, y: Any, train: Any, test: Any) -> float:
        model = self._make(setting).fit(X[train], y[train])
        if self.task == "classification":
            return class_losses(model.predict_proba(X[test]), model.classes_, y[test])["log_loss"]
        return float(squared_errors(y[test], model.predict(X[test])).mean())

    @property
    def classes_(self) -> Any:
        """Classes of the chosen model."""
        return self.model_.classes_

    def predict(self, X: Any) -> Any:
        """Answer with the chosen model."""
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Answer with the chosen model."""
        return self.model_.predict_proba(X)


def tuned(library: str, task: str) -> Callable[[Sequence[int], int], TunedPeer]:
    """How to build a tuned peer, given nominal columns and a seed."""
    return partial(TunedPeer, library, task)
