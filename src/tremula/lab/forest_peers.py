"""Forests of the libraries that are installed: as many fully grown trees, each node draws the root of the attributes.

Libraries are imported when a forest of theirs is wanted. `forest_makers` returns only what can be measured, and why the
others are left out.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import tremula as tm

OURS = "tremula"
SAMPLED = 0.632  # share of the rows that a bootstrap sample has, for libraries that draw without replacement


class Peers(NamedTuple):
    """Makers of forests by library, and why others are left out."""

    makers: Mapping[str, Callable[[], Any]]
    left_out: Mapping[str, str]


class YdfForest:
    """A forest of Yggdrasil Decision Forests with scikit-learn's methods."""

    def __init__(self, members: int, n_drawn: int) -> None:
        ydf = import_module("ydf")
        ydf.verbose(0)
        self.learner = ydf.RandomForestLearner(
            label="target",
            num_trees=members,
            max_depth=-1,
            min_examples=1,
            num_candidate_attributes=n_drawn,
            winner_take_all=False,
            compute_oob_performances=False,
            num_threads=1,
            random_seed=1,
        )

    def fit(self, X: Any, y: Any) -> YdfForest:
        """Train the forest."""
        self.model = self.learner.train({"x": X, "target": y})
        return self

    def predict(self, X: Any) -> Any:
        """Predict classes, which are codes."""
        return self.model.predict_class({"x": X}, num_threads=1).astype(np.int64)


def runs_on_onedal(forest: Any) -> bool:
    """Whether a forest of scikit-learn-intelex is trained by oneDAL: its log says so, of a small fit.

    Examples
    --------
    >>> runs_on_onedal(RandomForestClassifier(1))
    False
    """
    messages: list[str] = []
    handler = logging.Handler(logging.INFO)
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("sklearnex")
    before = logger.level, logger.propagate, logger.handlers
    logger.setLevel(logging.INFO)
    logger.propagate, logger.handlers = False, [handler]  # nothing is printed meanwhile
    try:
        forest.fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    finally:
        logger.setLevel(before[0])
        logger.propagate, logger.handlers = before[1:]
    return any(".fit: running accelerated version" in message for message in messages)


def forest_makers(members: int, n_rows: int, n_attributes: int) -> Peers:
    """Return makers of forests of `members` trees for a table of this size, tremula and scikit-learn first.

    Examples
    --------
    >>> list(forest_makers(10, 1000, 20).makers)[:2]
    ['tremula', 'scikit-learn']
    """
    n_drawn = max(1, math.isqrt(n_attributes))
    usual: dict[str, Any] = {"n_estimators": members, "random_state": 0, "n_jobs": 1}
    makers: dict[str, Callable[[], Any]] = {
        OURS: partial(tm.RandomForestClassifier, **usual, max_features=n_drawn),
        "scikit-learn": partial(RandomForestClassifier, **usual, max_features=n_drawn),
    }
    left_out: dict[str, str] = {}
    if find_spec("sklearnex"):
        onedal = import_module("sklearnex.ensemble").RandomForestClassifier
        if runs_on_onedal(onedal(2, n_jobs=1)):
            makers["scikit-learn-intelex"] = partial(onedal, **usual, max_features=n_drawn)
        else:
            left_out["scikit-learn-intelex"] = "it uses scikit-learn's own code on this machine"
    bagged = {"subsample": SAMPLED, "colsample_bynode": n_drawn / n_attributes}
    if find_spec("lightgbm"):
        most = max(2, int(SAMPLED * n_rows / 4))  # full trees have fewer leaves; a higher limit takes more time
        full = {"num_leaves": most, "min_child_samples": 1, "min_child_weight": 0}
        light = import_module("lightgbm").LGBMClassifier
        makers["LightGBM"] = partial(light, boosting_type="rf", subsample_freq=1, verbose=-1, **usual, **bagged, **full)
    if find_spec("xgboost"):
        full = {"max_depth": 0, "min_child_weight": 0, "reg_lambda": 0}
        makers["XGBoost"] = partial(import_module("xgboost").XGBRFClassifier, **usual, **bagged, **full)
    if find_spec("ydf"):
        makers["YDF"] = partial(YdfForest, members, n_drawn)
    known = {"scikit-learn-intelex", "LightGBM", "XGBoost", "YDF"}
    left_out |= dict.fromkeys(sorted(known - set(makers) - set(left_out)), "not installed")
    return Peers(makers, left_out)
