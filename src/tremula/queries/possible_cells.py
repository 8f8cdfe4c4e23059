"""Which cells of an answer may have rows: noise on all others would let a tree split where no row can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import Path, Question, Schema, joint_shape


def possible_cells(schema: Schema, question: Question) -> NDArray[np.bool_]:
    """Whether each cell may have rows: its attribute is asked about, and the path allows its value."""
    if not question.joint:
        possible = np.zeros((schema.n_cells, schema.n_outputs), dtype=bool)
        for attribute in question.attributes:
            possible[schema.cells(attribute)] = _allowed_values(schema, question.path, attribute)[:, None]
        return possible
    possible = np.ones(joint_shape(schema, question.attributes), dtype=bool)
    for axis, attribute in enumerate(question.attributes):
        shape = [-1 if place == axis else 1 for place in range(possible.ndim)]
        possible &= _allowed_values(schema, question.path, attribute).reshape(shape)
    return possible


def _allowed_values(schema: Schema, path: Path, attribute: int) -> NDArray[np.bool_]:
    values = np.arange(schema.attributes[attribute].n_values + 1)
    for condition in path:
        if condition.attribute == attribute:
            return np.asarray((values >= condition.first) & (values <= condition.last))
    return np.ones(len(values), dtype=bool)
