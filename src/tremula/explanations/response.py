"""How the prediction of one row moves as one of its attributes moves and the others stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.encoding import ColumnEncoder
from tremula.data.names import attribute_name
from tremula.data.several_targets import check_one_target
from tremula.explanations.tree_reader import read_trees
from tremula.smoothing.models.tables import table_like

Floats = NDArray[np.float64]

N_POINTS = 60


@dataclass(frozen=True, eq=False)
class Response:
    """Predictions of one row with other values of one attribute.

    Attributes
    ----------
    name : str
        The attribute.
    values : float64 array (n_values,)
        Numbers, or codes of levels.
    answers : float64 array (n_values,)
        Predictions, or probabilities of one class.
    own : float
        The value of the row itself; NaN if it is missing.
    levels : tuple of str or None
        Labels of the codes; None for a number.
    """

    name: str
    values: Floats
    answers: Floats
    own: float
    levels: tuple[str, ...] | None


def responses(
    model: Any, X: Any, X_train: Any, attributes: Sequence[int], output: int = 0, n_points: int = N_POINTS
) -> list[Response]:
    """Move attributes of one row over the values of the training rows.

    Parameters
    ----------
    model : fitted estimator
    X : table of one row
    X_train : table
        Numbers move from the lowest to the highest value here, levels over all levels.
    attributes : sequence of int
        Numbers of the attributes to move, one at a time.
    output : int, default=0
        Number of the class whose probability is followed; without meaning for numbers.
    n_points : int, default=60
        Values tried of a number, besides its own.

    Returns
    -------
    list of Response
    """
    encoder = encoder_of(model)
    row, rows = encoder.encode(X)[0], encoder.encode(X_train)
    return [_move(model, X, encoder, row, rows, attribute, output, n_points) for attribute in attributes]


def encoder_of(model: Any) -> ColumnEncoder:
    """Return how a model reads tables."""
    encoder = getattr(model, "encoder_", None)
    return encoder if isinstance(encoder, ColumnEncoder) else read_trees(model).encoder


def answers_of(model: Any, X: Any, output: int) -> Floats:
    """Return the predictions of a model, or the probabilities of one class."""
    check_one_target(model, "a figure of one case")
    if hasattr(model, "classes_"):
        return np.asarray(model.predict_proba(X)[:, output])
    return np.asarray(model.predict(X), dtype=np.float64)


def _move(
    model: Any,
    X: Any,
    encoder: ColumnEncoder,
    row: Floats,
    rows: Floats,
    attribute: int,
    output: int,
    n_points: int,
) -> Response:
    labels = encoder.levels[attribute]
    column = rows[:, attribute]
    known = column[~np.isnan(column)]
    if labels is not None:
        values = np.arange(len(labels), dtype=np.float64)
    elif len(known):
        own = row[[attribute]][~np.isnan(row[[attribute]])]
        values = np.unique(np.append(np.linspace(known.min(), known.max(), n_points), own))
    else:
        values = np.empty(0)
    moved = np.tile(row, (len(values), 1))
    moved[:, attribute] = values
    answers = answers_of(model, table_like(X, encoder, moved), output) if len(values) else np.empty(0)
    levels = None if labels is None else tuple(str(label) for label in labels)
    return Response(attribute_name(encoder.names, attribute), values, answers, float(row[attribute]), levels)
