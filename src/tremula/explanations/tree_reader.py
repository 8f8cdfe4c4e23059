"""Reads a fitted model as a sum of trees; errors say what an explanation needs."""

from __future__ import annotations

import re
from typing import Any

from tremula.errors import UnsupportedModel
from tremula.smoothing.models import TreeModel, read_model

ADVICE_OF_SMOOTHING = re.compile(r"[;:.,]? *(give a model of a supported kind,? )?(or )?use method=.*", re.DOTALL)


def read_trees(model: Any, X: Any = None) -> TreeModel:
    """Read the trees of a fitted model.

    Parameters
    ----------
    model : fitted estimator
    X : table, optional
        Rows of the training, on which the trees are compared with the model too.

    Raises
    ------
    UnsupportedModel
        The predictions of the model are no sum of trees.
    """
    try:
        return read_model(model, X)
    except UnsupportedModel as error:
        reason = ADVICE_OF_SMOOTHING.sub("", str(error))
        raise UnsupportedModel(
            f"{reason}. An explanation needs trees that are averaged or summed: use such a model (combine='average')"
        ) from error
