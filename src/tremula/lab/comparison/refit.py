"""One method trained on all rows of a table, with what it takes to answer for other rows.

A model of tremula's takes frames with the columns it was trained on; one of another library stands behind a step that
reads the columns.
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
    """Train a method on all rows; the model has the schema as its attribute `table_`.

    Parameters
    ----------
    method : Method
    dataset : Dataset
    schema : TableSchema
        What the columns of the dataset are.
    seed : int, default=0
        Its `random_state`.
    **options
        Parameters of the estimator to set besides, where it has them.

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
    """Whether a model is what `fit_method` would give for these."""
    told = getattr(getattr(model, SCHEMA_ATTRIBUTE, None), "made_from", "")
    return bool(told == _made_from(method, dataset, schema, seed))


def _made_from(method: Method, dataset: Dataset, schema: TableSchema, seed: int) -> str:
    # The rows hold codes: the same codes under other names are another table.
    names = repr((schema.names, schema.kinds, schema.levels, schema.target, schema.task))
    digest = hashlib.sha256(names.encode()).hexdigest()[:16]
    return f"{checksum(dataset)} {digest} {method.name} {seed} {__version__}"
