"""Reads the trees of a fitted estimator: which function reads which kind of model, and a check of the result.

A model is accepted only if its trees give its own predictions, for rows on its thresholds and around them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.catboost import read_catboost
from tremula.smoothing.models.lightgbm import read_lightgbm
from tremula.smoothing.models.model import Reader, TreeModel, library_of, name_of
from tremula.smoothing.models.own import read_own
from tremula.smoothing.models.sklearn import (
    read_adaboost,
    read_bagging,
    read_dummy,
    read_forest,
    read_gradient_boosting,
    read_tree,
    refuse_adaboost_regressor,
)
from tremula.smoothing.models.sklearn_hist import read_histogram
from tremula.smoothing.models.xgboost import read_xgboost
from tremula.trees.tree_sum import TreeSum

# By library and class; a class that derives from one of these is read like it.
READERS: dict[tuple[str, str], Reader] = {
    ("sklearn", "DecisionTreeClassifier"): read_tree,
    ("sklearn", "DecisionTreeRegressor"): read_tree,
    ("sklearn", "RandomForestClassifier"): read_forest,
    ("sklearn", "RandomForestRegressor"): read_forest,
    ("sklearn", "ExtraTreesClassifier"): read_forest,
    ("sklearn", "ExtraTreesRegressor"): read_forest,
    ("sklearn", "BaggingClassifier"): read_bagging,
    ("sklearn", "BaggingRegressor"): read_bagging,
    ("sklearn", "AdaBoostClassifier"): read_adaboost,
    ("sklearn", "AdaBoostRegressor"): refuse_adaboost_regressor,
    ("sklearn", "GradientBoostingClassifier"): read_gradient_boosting,
    ("sklearn", "GradientBoostingRegressor"): read_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): read_histogram,
    ("sklearn", "HistGradientBoostingRegressor"): read_histogram,
    ("sklearn", "DummyClassifier"): read_dummy,
    ("sklearn", "DummyRegressor"): read_dummy,
    ("xgboost", "XGBModel"): read_xgboost,
    ("xgboost", "Booster"): read_xgboost,
    ("lightgbm", "LGBMModel"): read_lightgbm,
    ("lightgbm", "Booster"): read_lightgbm,
    ("catboost", "CatBoost"): read_catboost,
}
ACCEPTED = (
    "tremula's trees and ensembles of trees; scikit-learn's decision trees, extra trees, random forests, bagging of "
    "trees, AdaBoostClassifier, gradient boosting and histogram gradient boosting; XGBoost, LightGBM and CatBoost"
)
# Margins of some libraries are summed in single precision.
TOLERANCE = 1e-4
# LightGBM has thresholds of about 1e-35 around 0, and counts such small values as 0.
TINY = 1e-30
# A threshold beyond this separates missing values from all others.
LARGEST = 1e38


def read_model(estimator: Any) -> TreeModel:
    """Read the trees of a fitted model; nothing is trained.

    Parameters
    ----------
    estimator : fitted estimator
        tremula's trees and ensembles of trees; scikit-learn's decision trees, extra trees, random forests, bagging of
        trees, AdaBoostClassifier, gradient boosting and histogram gradient boosting; XGBoost, LightGBM, CatBoost.

    Returns
    -------
    TreeModel

    Raises
    ------
    UnsupportedModel
        The kind of model is not read, or an option makes its prediction something other than a sum of trees.
    NotFittedError
        The estimator has not been fitted.
    MissingLibrary
        Histogram gradient boosting without treelite.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = read_model(GradientBoostingRegressor(n_estimators=10).fit(X, y))
    >>> len(model.sum.trees), model.n_attributes
    (10, 10)
    >>> model.sum.offset.round(1)
    array([152.1])
    """
    model = _read(estimator)
    if not model.n_levels.any():
        _compare(model)
    return model


def _read(estimator: Any) -> TreeModel:
    if hasattr(type(estimator), "as_tree_sum"):
        return read_own(estimator, _read)
    for kind in type(estimator).__mro__:
        reader = READERS.get((library_of(kind), kind.__name__))
        if reader is not None:
            return reader(estimator, _read)
    hint = " an instance, not the class" if isinstance(estimator, type) else f" one of these: {ACCEPTED}"
    raise UnsupportedModel(
        f'the trees of {name_of(estimator)} cannot be read. Give{hint}; or use method="sample", which takes any model'
    )


def _compare(model: TreeModel) -> None:
    """Refuse a model whose trees, as read, do not give its own predictions."""
    rows = probe_rows(model.sum)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows have no names
        own = model.unsmoothed(rows)
    read = model.sum.answers(rows)
    difference = float(np.abs(own - read).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(own).max())):
        raise UnsupportedModel(
            f"the trees read from {model.name} do not give its own predictions (they differ by {difference:.3g}): this "
            'release of the library, or an option of the model, is not supported. Use method="sample", which takes '
            "any model"
        )


def probe_rows(model: TreeSum, n_rows: int = 32) -> NDArray[np.float64]:
    """Return rows without missing values, half on thresholds and half near them, with random codes of levels.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> probe_rows(read_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])).sum, n_rows=4)[:2].round(6)
    array([[0.5],
           [0.5]])
    """
    random = np.random.default_rng(0)
    rows = np.zeros((n_rows, model.n_attributes))
    tested = np.concatenate([tree.attribute[~tree.is_leaf] for tree in model.trees])
    thresholds = np.concatenate([tree.threshold[~tree.is_leaf] for tree in model.trees])
    is_finite = np.abs(thresholds) < LARGEST
    for attribute in np.unique(tested[is_finite]):
        if model.n_levels[attribute]:
            rows[:, attribute] = random.integers(0, model.n_levels[attribute], n_rows)
            continue
        known = thresholds[is_finite & (tested == attribute)]
        away = random.normal(0.0, known.std() + 1e-3 * np.abs(known).max(), n_rows)
        rows[:, attribute] = random.choice(known, n_rows) + np.where(np.arange(n_rows) < n_rows // 2, 0.0, away)
    return np.where(np.abs(rows) < TINY, 0.0, rows)
