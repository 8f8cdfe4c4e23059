"""From a fitted estimator to its trees: who reads which kind of model, and whether what was read is the model.

A model is accepted only if the trees give what it answers itself, for rows that lie on its thresholds and around them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.catboost import read_catboost
from tremula.smoothing.models.check_rows import probes
from tremula.smoothing.models.lightgbm import read_lightgbm
from tremula.smoothing.models.model import ForeignModel
from tremula.smoothing.models.names import Reader, library_of, name_of
from tremula.smoothing.models.own import read_own
from tremula.smoothing.models.sklearn import (
    read_bagging,
    read_boosted_votes,
    read_dummy,
    read_forest,
    read_gradient_boosting,
    read_tree,
    refuse_median,
)
from tremula.smoothing.models.sklearn_hist import read_histogram
from tremula.smoothing.models.xgboost import read_xgboost

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
    ("sklearn", "AdaBoostClassifier"): read_boosted_votes,
    ("sklearn", "AdaBoostRegressor"): refuse_median,
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


def read_model(estimator: Any) -> ForeignModel:
    """Read the trees of a fitted model; nothing is trained.

    Parameters
    ----------
    estimator : fitted estimator
        tremula's trees and ensembles of trees; scikit-learn's decision trees, extra trees, random forests, bagging of
        trees, AdaBoostClassifier, gradient boosting and histogram gradient boosting; XGBoost, LightGBM, CatBoost.

    Returns
    -------
    ForeignModel

    Raises
    ------
    UnsupportedModel
        A kind of model that is not read, or an option that makes its answer something else than a sum of trees.
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


def _read(estimator: Any) -> ForeignModel:
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


def _compare(model: ForeignModel) -> None:
    """Refuse a model whose trees, as read, answer otherwise than it does."""
    rows = probes(model.sum)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows have no names
        own = model.hard(rows)
    read = model.sum.answers(model.rounded(rows))
    difference = float(np.abs(own - read).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(own).max())):
        raise UnsupportedModel(
            f"the trees read from {model.name} do not answer as it does itself (they differ by {difference:.3g}): this "
            'release of the library, or an option of the model, is not understood. Use method="sample", which takes '
            "any model"
        )
