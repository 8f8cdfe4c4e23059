"""Small random tables with nominal, numeric and missing values, and a slow, obvious oracle for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tremula.queries import Question, Schema
from tremula.queries.question import Path, joint_shape, narrow

NOMINAL = ["colour", "flag", "with null"]


def random_table(seed: int, n_rows: int = 120) -> pd.DataFrame:
    """Make a table whose target depends on a nominal and a numeric attribute."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "colour": random.choice(["red", "green", 'b"lue; drop'], n_rows),
            "size": np.round(random.normal(size=n_rows), 1),
            "flag": random.random(n_rows) < 0.3,
            "with null": random.choice(["p", "q", None], n_rows),
        }
    )
    table.loc[random.random(n_rows) < 0.1, "size"] = np.nan
    is_high = (table["colour"] == "red") ^ (table["size"].fillna(0.0) > 0.3) ^ (random.random(n_rows) < 0.1)
    table["again"] = np.where(is_high, "yes", np.where(table["flag"], "maybe", "no"))
    table["cost"] = np.round(is_high * 5.0 + random.normal(size=n_rows), 3)
    return table


def random_paths(schema: Schema, seed: int, n_paths: int) -> list[Path]:
    """Draw paths of zero to three conditions."""
    random = np.random.default_rng(seed)
    paths: set[Path] = {()}
    while len(paths) < n_paths:
        path: Path = ()
        for attribute in random.choice(len(schema.attributes), random.integers(1, 4), replace=False).tolist():
            n_values = schema.attributes[attribute].n_values
            if schema.attributes[attribute].is_nominal:
                first = last = int(random.integers(n_values))
            else:
                first, last = sorted(random.integers(n_values, size=2).tolist())
            path = narrow(path, attribute, first, last)
        paths.add(path)
    return sorted(paths)


def naive_count(schema: Schema, table: pd.DataFrame, question: Question) -> np.ndarray:
    """Answer a question row by row."""
    names = [attribute.name for attribute in schema.attributes]
    shape = joint_shape(schema, question.attributes)
    dtype = float if schema.classes is None else int
    answer = np.zeros(shape if question.joint else (schema.n_cells, schema.n_outputs), dtype=dtype)
    for row in table[[*names, schema.target]].itertuples(index=False):
        codes = [_number(schema, place, value) for place, value in enumerate(row[:-1])]
        if not all(c.first <= codes[c.attribute] <= c.last for c in question.path):
            continue
        outputs = _outputs(schema, row[-1])
        if question.joint:
            answer[tuple(codes[attribute] for attribute in question.attributes)] += outputs
        else:
            for attribute in question.attributes:
                answer[schema.starts[attribute] + codes[attribute]] += outputs
    return answer


def _number(schema: Schema, place: int, value: Any) -> int:
    attribute = schema.attributes[place]
    if pd.isna(value):
        return attribute.n_values
    if attribute.levels is not None:
        return attribute.levels.index(value)
    return sum(value > cut for cut in attribute.cuts or ())


def _outputs(schema: Schema, value: Any) -> np.ndarray:
    if schema.classes is None:
        return np.array([1.0, value, value * value])
    return np.array([label == value for label in schema.classes], dtype=int)


def ask(schema: Schema, paths: Sequence[Path], seed: int) -> list[Question]:
    """Ask about all attributes on each path but one, and some of them jointly."""
    random = np.random.default_rng(seed)
    attributes = range(len(schema.attributes))
    questions = [Question(path, tuple(sorted(random.permutation(attributes)[:-1].tolist()))) for path in paths]
    return [*questions, *(Question(path, (2, 0), joint=True) for path in paths[:3])]
