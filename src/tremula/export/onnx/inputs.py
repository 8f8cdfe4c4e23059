"""The inputs of a graph: one matrix, or a column for each attribute if some levels are words; levels become codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.errors import UnsupportedModel
from tremula.export.model import ExportedModel
from tremula.export.onnx.graph import TREE_DOMAIN, OnnxGraph

MATRIX = "X"


def has_words(model: ExportedModel) -> bool:
    """Whether some levels are words, which a matrix of numbers cannot hold."""
    return any(any(isinstance(level, str) for level in levels) for levels in model.levels if levels is not None)


def input_names(model: ExportedModel) -> tuple[str, ...]:
    """Return the names of the inputs."""
    return model.attributes if has_words(model) else (MATRIX,)


def declare_inputs(graph: OnnxGraph, model: ExportedModel) -> list[Any]:
    """Return the inputs with their types and shapes."""
    helper = graph.onnx.helper
    if not has_words(model):
        shape = ["rows", len(model.attributes)]
        return [helper.make_tensor_value_info(MATRIX, graph.number_type, shape)]
    if len(set(model.attributes)) < len(model.attributes):
        raise UnsupportedModel("two columns have the same name, which inputs of ONNX cannot have: rename one")
    return [
        helper.make_tensor_value_info(
            name, graph.onnx.TensorProto.STRING if _is_text(levels) else graph.number_type, ["rows", 1]
        )
        for name, levels in zip(model.attributes, model.levels)
    ]


def encoded_rows(graph: OnnxGraph, model: ExportedModel) -> str:
    """Return the matrix of numbers and codes of levels; NaN where a value is missing or a level unknown."""
    if all(levels is None for levels in model.levels):
        return MATRIX
    by_column = has_words(model)
    columns = []
    for attribute, levels in enumerate(model.levels):
        column = model.attributes[attribute] if by_column else graph.column(MATRIX, attribute)
        columns.append(column if levels is None else _codes(graph, column, levels))
    return graph.add("Concat", *columns, name="encoded_rows", axis=1)


def _codes(graph: OnnxGraph, column: str, levels: list[Any]) -> str:
    """Return the codes of the levels in a column."""
    if not levels:
        return graph.add("Mul", column, graph.constant([[np.nan]]))
    keys = np.array([str(level) for level in levels], dtype=object) if _is_text(levels) else np.array(levels)
    if keys.dtype != object:
        keys = keys.astype(graph.dtype)
        if len(np.unique(keys)) < len(keys):
            raise UnsupportedModel("two levels are the same number in single precision: use dtype='float64'")
    return graph.add(
        "LabelEncoder",
        column,
        name="codes",
        domain=TREE_DOMAIN,
        keys_tensor=graph.tensor(keys),
        values_tensor=graph.tensor(np.arange(len(levels), dtype=graph.dtype)),
        default_tensor=graph.tensor(np.array([np.nan], dtype=graph.dtype)),
    )


def _is_text(levels: list[Any] | None) -> bool:
    return levels is not None and any(isinstance(level, str) for level in levels)
