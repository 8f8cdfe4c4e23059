"""Removes the wrappers that ``tremula fit`` and ``compare`` add to a model of another library."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tremula.data.table_schema import TableSchema
from tremula.errors import MissingLibrary, UnsupportedModel
from tremula.lab.comparison.peers import CodedClassifier, NominalBooster
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.schema import ReadColumns
from tremula.smoothing.models import read_model


def model_inside(model: Any) -> tuple[Any, NDArray[Any] | None]:
    """Return the tree model inside the wrappers, with its table, and its class labels if it knows only class codes.

    The given model is returned if it has no wrappers, if levels would have to be coded, or if the model inside cannot
    be read as trees.
    """
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    is_ours = isinstance(model, Pipeline) and isinstance(model.steps[0][1], ReadColumns)
    if not is_ours or schema is None or any(levels is not None for levels in schema.levels):
        return model, None
    inner, labels = model.steps[-1][1], None
    while isinstance(inner, CodedClassifier | NominalBooster):
        labels = inner.classes_ if isinstance(inner, CodedClassifier) else labels
        inner = inner.estimator
    try:
        read_model(inner)
    except (UnsupportedModel, MissingLibrary):
        return model, None
    setattr(inner, SCHEMA_ATTRIBUTE, schema)
    return inner, None if labels is None else np.asarray(labels)
