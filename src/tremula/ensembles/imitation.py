"""One tree that imitates an ensemble: trained on rows, and artificial rows near them, that the ensemble labels."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from tremula.data.encoding import ColumnEncoder
from tremula.data.take import count_rows
from tremula.ensembles.smeared_table import replace_values
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_number
from tremula.perturb.inputs import DrawnNoise, Draws, LearnedNoise, SmearedInputs
from tremula.perturb.sample import Sample, Values
from tremula.seeds import RandomState, make_root_seed
from tremula.trees.c45 import C45Classifier
from tremula.trees.reptree import REPTreeRegressor

MOST_ARTIFICIAL = 1_000_000  # artificial rows for each row


def imitate(
    model: Any,
    X: Any,
    estimator: BaseEstimator | None = None,
    *,
    n_artificial: float = 10.0,
    noise: float = 0.3,
    random_state: RandomState = None,
) -> Any:
    """Train one tree to predict what an ensemble predicts.

    Parameters
    ----------
    model : fitted classifier or regressor
        The ensemble, or any other model.
    X : array or data frame of shape (n_rows, n_attributes)
        Its training rows, or other rows of the same distribution. Their classes are not needed.
    estimator : classifier, regressor or None, default=None
        What is trained; a pruned C4.5 tree or REPTree by default. It is not changed.
    n_artificial : float, default=10.0
        Number of artificial rows for each row of `X`. 0 trains on `X` alone.
    noise : float, default=0.3
        How far artificial rows are from the row of `X` that they are drawn from: in standard deviations of an
        attribute, and as the probability that a nominal value is replaced by another level.
    random_state : int, RandomState, Generator or None, default=None
        Draws the artificial rows.

    Returns
    -------
    estimator
        A fitted copy of `estimator`, for columns and classes of `model`.

    Notes
    -----
    After Domingos, Knowledge discovery via multiple models (1998), who draws the rows from the rules of the ensemble;
    here they are drawn as in input smearing, between the smallest and the largest value of each attribute. `model`
    labels the rows of `X` too, so that noise in their classes is not learned again. A tree imitates an ensemble only in
    part: measure both.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from tremula import BaggingClassifier, imitate
    >>> X, y = make_moons(400, noise=0.3, random_state=0)
    >>> ensemble = BaggingClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> tree = imitate(ensemble, X, random_state=0)
    >>> X_new, _ = make_moons(1000, noise=0.3, random_state=1)
    >>> bool((tree.predict(X_new) == ensemble.predict(X_new)).mean() > 0.95)
    True
    """
    check_number("n_artificial", n_artificial, 0.0, MOST_ARTIFICIAL)
    check_number("noise", noise, 0.0)
    estimator = _estimator_for(model, estimator)
    if issparse(X):
        raise InvalidInput("X is sparse, and artificial rows have no zeros: give X.toarray()")
    kinds = getattr(model, "categorical_features", "from_dtype")
    if "categorical_features" in estimator.get_params():
        estimator.set_params(categorical_features=kinds)
    n_drawn = round(float(n_artificial) * count_rows(X))  # a small NumPy type would overflow
    tables = [X, draw_near(X, n_drawn, noise, kinds, random_state)] if n_drawn else [X]
    rows = tables[0] if len(tables) == 1 else _joined(*tables)
    return estimator.fit(rows, model.predict(rows))


def _estimator_for(model: Any, estimator: BaseEstimator | None) -> BaseEstimator:
    """Return what is trained; raise an error if it is of another task than the model."""
    if isinstance(model, type) or not hasattr(model, "predict") or not (is_classifier(model) or is_regressor(model)):
        raise InvalidParameter(f"model is a {type(model).__name__}: give a fitted classifier or regressor")
    if estimator is None:
        return C45Classifier() if is_classifier(model) else REPTreeRegressor()
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise InvalidParameter(f"estimator is {estimator!r}: give an estimator, such as CARTClassifier()")
    if is_classifier(model) != is_classifier(estimator):
        kind = "classifier" if is_classifier(model) else "regressor"
        raise InvalidParameter(f"estimator is {estimator!r}, but the model is a {kind}: give a {kind}")
    return clone(estimator)


def draw_near(X: Any, n_rows: int, noise: float, categorical_features: Any, random_state: RandomState) -> Any:
    """Draw artificial rows, each near a row of a table.

    Parameters
    ----------
    X : array or data frame
    n_rows : int
    noise : float
    categorical_features : as in estimators
    random_state : int, RandomState, Generator or None

    Returns
    -------
    array or data frame
        A table of the same type as `X`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = draw_near(np.array([[0.0], [1.0]]), 4, 0.1, None, 0)
    >>> rows.shape, bool(rows.min() >= 0.0)
    ((4, 1), True)
    """
    encoder, values = ColumnEncoder.learn(X, categorical_features)
    table = Values(values, encoder.n_levels)
    seeds = np.random.SeedSequence(make_root_seed(random_state)).spawn(2)
    origins = np.sort(np.random.default_rng(seeds[0]).integers(len(values), size=n_rows))
    recipe = SmearedInputs(noise, smear_nominal=True, within_bounds=True)
    sample = Sample(np.zeros(len(values)), 0, values.shape[1])
    learned = LearnedNoise.of(recipe, sample, table)
    near = DrawnNoise(learned, Draws(seeds[1])).smear(values[origins], origins)
    return replace_values(X if hasattr(X, "shape") else np.asarray(X), origins, table, near)


def _joined(table: Any, other: Any) -> Any:
    """Return two tables of one type below each other."""
    first = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(first, nw.DataFrame):
        return np.concatenate([np.asarray(table), np.asarray(other)])
    second = nw.from_native(other, eager_only=True)
    columns = [first.get_column(name).cast(second.get_column(name).dtype) for name in first.columns]
    both = nw.concat([first.select(columns), second], how="vertical")
    return both.to_native()
