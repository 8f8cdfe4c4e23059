"""Trains one method on all rows of a table, and stores the schema that new rows must match.

A model of tremula takes frames with the columns it was trained on. A model of another library gets a pipeline step that
converts the columns.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from tremula import __version__
from tremula.data.table_schema import TableSchema
from tremula.errors import InvalidParameter
from tremula.lab.comparison.cross_validation import checksum
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.trial import MethodFailed
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.schema import ReadColumns, table_of

SCHEMA_ATTRIBUTE = "table_"


def fit_method(method: Method, dataset: Dataset, schema: TableSchema, seed: int = 0, **options: Any) -> Any:
    """Train a method on all rows; the model gets the schema as its attribute `table_`.

    Parameters
    ----------
    method : Method
    dataset : Dataset
    schema : TableSchema
        The columns of the dataset.
    seed : int, default=0
        The `random_state` of the method.
    **options
        Further parameters to set, if the estimator has them.

    Returns
    -------
    estimator
    """
    model = method.build(dataset.nominal, seed)
    model.set_params(**{name: value for name, value in options.items() if name in model.get_params()})
    table = table_of(dataset)
    if method.library != "tremula":
        model = Pipeline([("columns", ReadColumns(schema.as_read())), ("model", model)])
    try:
        model.fit(table, dataset.y)
    except InvalidParameter:
        raise
    except ValueError as error:
        raise MethodFailed(f"method {method.name!r} cannot learn from {dataset.name!r}: {error}") from error
    setattr(model, SCHEMA_ATTRIBUTE, replace(schema, made_from=_made_from(method, dataset, schema, seed)))
    return model


def is_made_from(model: Any, method: Method, dataset: Dataset, schema: TableSchema, seed: int) -> bool:
    """Return whether `fit_method` would return this model for these arguments."""
    origin = getattr(getattr(model, SCHEMA_ATTRIBUTE, None), "made_from", "")
    return bool(origin == _made_from(method, dataset, schema, seed))


def _made_from(method: Method, dataset: Dataset, schema: TableSchema, seed: int) -> str:
    # The rows hold codes: the same codes with other level names are another table.
    names = repr((schema.names, schema.kinds, schema.levels, schema.target, schema.task))
    digest = hashlib.sha256(names.encode()).hexdigest()[:16]
    return f"{checksum(dataset)} {digest} {method.name} {seed} {__version__}"
