"""Compares the trees read from a model with the model itself, before anything is called exact.

The model predicts rows given to `fit`, rows on its thresholds and around them, and rows with missing values. It is
refused if its trees give other predictions.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.encoding import ColumnEncoder
from tremula.data.take import take_rows
from tremula.errors import InvalidInput, UnsupportedModel, UnsupportedType
from tremula.smoothing.models.model import TreeModel, library_of
from tremula.smoothing.models.tables import n_rows_of_table, table_like
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

FIT_ROWS = 200
PROBES = 64
SHARE_MISSING = 0.3
NOT_TAKEN = "it does not take missing values"
# LightGBM has thresholds of about 1e-35 around 0, and counts such small values as 0.
TINY = 1e-30
# A threshold beyond this separates missing values from all others.
LARGEST = 1e38


def checked(model: TreeModel, X: Any = None) -> TreeModel:
    """Return the model, with a note if rows with missing values have no exact answer; refuse one that was misread.

    Parameters
    ----------
    model : TreeModel
    X : table or None
        Rows given to `fit`.
    """
    given = None if X is None else _sample(X)
    rows = None if given is None else _rows(model, given)
    if given is not None and rows is not None:
        _check_levels(model, given, rows)
        complete = np.flatnonzero(~np.isnan(rows).any(axis=1))
        if len(complete):
            _compare(model, take_rows(given, complete))
    probes = probe_rows(model.sum, rows)
    _compare(model, table_like(X, model.encoder, probes))
    with_gaps = probes.copy()
    with_gaps[np.random.default_rng(1).random(probes.shape) < SHARE_MISSING] = np.nan
    tables = [table_like(X, model.encoder, with_gaps)]
    has_missing = rows is not None and bool(np.isnan(rows).any())
    if has_missing:
        tables.append(given)
    reason = _refusal_of_missing(model, tables)
    if reason and has_missing and not reason.startswith(NOT_TAKEN):
        raise UnsupportedModel(f"{reason}: use method='sample', which takes any model")
    return replace(model, no_missing=reason)


def checked_again(model: TreeModel) -> TreeModel:
    """Return a model that was checked with its training rows before, with the note on missing values."""
    with_gaps = probe_rows(model.sum)
    with_gaps[np.random.default_rng(1).random(with_gaps.shape) < SHARE_MISSING] = np.nan
    try:
        reason = _refusal_of_missing(model, [table_like(None, model.encoder, with_gaps)])
    except (TypeError, ValueError):
        return model
    return model if reason.startswith(NOT_TAKEN) else replace(model, no_missing=reason)


def _sample(X: Any) -> Any:
    """Return some of the rows of a table, spread over it."""
    n_rows = n_rows_of_table(X)
    return X if n_rows <= FIT_ROWS else take_rows(X, np.linspace(0, n_rows - 1, FIT_ROWS).astype(np.int64))


def _rows(model: TreeModel, table: Any) -> Floats:
    try:
        return model.rows(table)
    except (UnsupportedType, InvalidInput) as error:
        raise UnsupportedModel(f"the levels read from {model.name} are not those of the rows: {error}") from error


def _check_levels(model: TreeModel, table: Any, rows: Floats) -> None:
    """Refuse a model of scikit-learn whose rows have levels that were not read: such a level would not be replaced."""
    nominal = model.n_levels > 0
    if not nominal.any() or library_of(type(model.estimator)) != "sklearn":
        return
    is_missing = np.isnan(ColumnEncoder.learn(table)[1])
    if (np.isnan(rows) & ~is_missing)[:, nominal].any():
        raise UnsupportedModel(
            f"{model.name} has nominal attributes with levels that are not whole numbers from 0 on: encode them so "
            "before training, or use method='sample', which takes any model"
        )


def _refusal_of_missing(model: TreeModel, tables: list[Any]) -> str:
    """Return why rows with missing values have no exact answer; an empty string if they have."""
    for table in tables:
        try:
            own = _own(model, table)
        except Exception:  # libraries refuse missing values by errors of various kinds
            return f"{NOT_TAKEN}: {model.name} refuses them"
        if _difference(model, own, table) > 0:
            return (
                f"for rows with missing values the trees read from {model.name} do not give its predictions (a vote of "
                "a mixture of leaves is not a mixture of votes, for example)"
            )
    return ""


def _own(model: TreeModel, table: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # probes have no names
        return model.unsmoothed(table)


def _compare(model: TreeModel, table: Any) -> None:
    """Refuse a model whose trees, as read, do not give its own predictions."""
    try:
        own = _own(model, table)
    except Exception as error:  # whatever a library raises
        raise UnsupportedModel(
            f"the trees read from {model.name} cannot be compared with its own predictions, which fail: {error}"
        ) from error
    difference = _difference(model, own, table)
    if difference > 0:
        raise UnsupportedModel(
            f"the trees read from {model.name} do not give its own predictions (they differ by {difference:.3g}): this "
            'release of the library, or an option of the model, is not supported. Use method="sample", which takes '
            "any model"
        )


def _difference(model: TreeModel, own: Floats, table: Any) -> float:
    """Return the largest difference between the model and its trees; 0 if it is no larger than rounding explains."""
    whole = model.sum
    margins = whole.margins(model.rows(table))
    read = whole.link.answers(margins)
    terms = [abs(weight) * np.abs(tree.values).max() for tree, weight in zip(whole.trees, whole.weights)]
    magnitude = float(np.abs(whole.offset).max() + np.sum(terms))
    slack = whole.link.answer_bound(margins, np.full(len(margins), model.precision * magnitude))
    slack = slack + model.precision * np.abs(own).max(axis=1, initial=0.0)
    if own.shape != read.shape:
        return float("inf")
    apart = np.abs(own - read).max(axis=1, initial=0.0)
    is_wrong = ~(apart <= slack)
    return float(np.nan_to_num(apart[is_wrong], nan=np.inf).max(initial=0.0))


# --- probes ---


def probe_rows(model: TreeSum, known: Floats | None = None, n_rows: int = PROBES) -> Floats:
    """Return rows without missing values, on thresholds and near them, with levels of training rows or any level.

    Parameters
    ----------
    model : TreeSum
    known : float64 array (n_known, n_attributes) or None
        Encoded rows of the training.
    n_rows : int
        Least number of rows. There are at least as many as levels of an attribute.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tremula.smoothing.models import read_model
    >>> probe_rows(read_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])).sum, n_rows=4)[:2].round(6)
    array([[0.5],
           [0.5]])
    """
    random = np.random.default_rng(0)
    n_rows = max(n_rows, int(model.n_levels.max(initial=0)))
    rows = np.zeros((n_rows, model.n_attributes))
    thresholds = _thresholds(model)
    for attribute in range(model.n_attributes):
        column = np.empty(0) if known is None else known[~np.isnan(known[:, attribute]), attribute]
        if model.n_levels[attribute]:
            levels = random.permutation(n_rows) % model.n_levels[attribute]
            rows[:, attribute] = _mixed(levels, column, random)
        elif attribute in thresholds:
            rows[:, attribute] = _mixed(_around(thresholds[attribute], n_rows, random), column, random)
        elif len(column):
            rows[:, attribute] = random.choice(column, n_rows)
    return np.where(np.abs(rows) < TINY, 0.0, rows)


def _mixed(probes: NDArray[Any], column: Floats, random: np.random.Generator) -> Floats:
    """Replace a quarter of the probes by values of training rows."""
    if not len(column):
        return np.asarray(probes, dtype=np.float64)
    return np.where(random.random(len(probes)) < 0.25, random.choice(column, len(probes)), probes)


def _thresholds(model: TreeSum) -> dict[int, Floats]:
    """Return the finite thresholds of each numeric attribute that is tested."""
    tested = np.concatenate([tree.attribute[~tree.is_leaf] for tree in model.trees])
    values = np.concatenate([tree.threshold[~tree.is_leaf] for tree in model.trees])
    is_finite = np.abs(values) < LARGEST
    return {int(attribute): values[is_finite & (tested == attribute)] for attribute in np.unique(tested[is_finite])}


def _around(thresholds: Floats, n_rows: int, random: np.random.Generator) -> Floats:
    """Return values on thresholds, just beside them, and further away."""
    chosen = random.choice(thresholds, n_rows)
    away = random.normal(0.0, thresholds.std() + 1e-3 * np.abs(thresholds).max(), n_rows)
    beside = np.nextafter(chosen, np.where(random.random(n_rows) < 0.5, -np.inf, np.inf))
    kind = np.arange(n_rows) * 4 // n_rows
    return np.select([kind == 0, kind == 1], [chosen, beside], chosen + away)
