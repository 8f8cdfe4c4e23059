"""Reads the trees of a fitted estimator: which function reads which kind of model, and a check of the result.

A model is accepted only if its trees give its own predictions: see `self_check`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tremula.data.encoding import ColumnEncoder
from tremula.errors import UnsupportedModel
from tremula.smoothing.models.blends import read_frozen, read_search, read_voting
from tremula.smoothing.models.calibrated import read_calibrated
from tremula.smoothing.models.catboost import read_catboost
from tremula.smoothing.models.lightgbm import read_lightgbm
from tremula.smoothing.models.model import Read, Reader, TreeModel, library_of, name_of
from tremula.smoothing.models.own import read_own
from tremula.smoothing.models.pipelines import read_pipeline
from tremula.smoothing.models.self_check import checked, checked_again
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
from tremula.smoothing.models.stacked import read_stacking
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
    ("sklearn", "AdaBoostClassifier"): read_adaboost,
    ("sklearn", "AdaBoostRegressor"): refuse_adaboost_regressor,
    ("sklearn", "GradientBoostingClassifier"): read_gradient_boosting,
    ("sklearn", "GradientBoostingRegressor"): read_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): read_histogram,
    ("sklearn", "HistGradientBoostingRegressor"): read_histogram,
    ("sklearn", "Pipeline"): read_pipeline,
    ("sklearn", "VotingClassifier"): read_voting,
    ("sklearn", "VotingRegressor"): read_voting,
    ("sklearn", "StackingClassifier"): read_stacking,
    ("sklearn", "StackingRegressor"): read_stacking,
    ("sklearn", "CalibratedClassifierCV"): read_calibrated,
    ("sklearn", "BaseSearchCV"): read_search,
    ("sklearn", "FrozenEstimator"): read_frozen,
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


def read_model(estimator: Any, X: Any = None, encoder: ColumnEncoder | None = None) -> TreeModel:
    """Read the trees of a fitted model; nothing is trained.

    Parameters
    ----------
    estimator : fitted estimator
        tremula's trees and ensembles of trees; scikit-learn's decision trees, extra trees, random forests, bagging of
        trees, AdaBoostClassifier, gradient boosting and histogram gradient boosting; XGBoost, LightGBM, CatBoost.
    X : table, optional
        Rows of the training; the trees are compared with the model on some of them too, and they name the levels of
        nominal attributes that the model does not name.
    encoder : ColumnEncoder, optional
        The `encoder` of the model when it was read with `X`, to read it again without.

    Returns
    -------
    TreeModel
        Its trees give the predictions of the model, on thresholds and around them, and with missing values; if not
        with missing values, `no_missing` says why.

    Raises
    ------
    UnsupportedModel
        The kind of model is not read, an option makes its prediction something other than a sum of trees, or its trees
        give other predictions than the model.
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
    model = _read(estimator, X, encoder)
    return checked(model, X) if encoder is None else checked_again(model)


def _read(estimator: Any, X: Any = None, encoder: ColumnEncoder | None = None) -> TreeModel:
    """Read a model; it is no more precise than the models inside."""
    precisions = [0.0]

    def read(inner: Any) -> TreeModel:
        model = _read(inner)
        precisions.append(model.precision)
        return model

    model = _read_by_kind(estimator, read, X, encoder)
    return replace(model, precision=max(model.precision, *precisions))


def _read_by_kind(estimator: Any, read: Read, X: Any, encoder: ColumnEncoder | None) -> TreeModel:
    if hasattr(type(estimator), "as_tree_sum"):
        return read_own(estimator, read)
    for kind in type(estimator).__mro__:
        reader = READERS.get((library_of(kind), kind.__name__))
        if reader in (read_histogram, read_lightgbm):
            return reader(estimator, read, X, encoder)  # rows show levels that these libraries do not store
        if reader is not None:
            return reader(estimator, read)
    hint = " an instance, not the class" if isinstance(estimator, type) else f" one of these: {ACCEPTED}"
    raise UnsupportedModel(
        f'the trees of {name_of(estimator)} cannot be read. Give{hint}; or use method="sample", which takes any model'
    )
