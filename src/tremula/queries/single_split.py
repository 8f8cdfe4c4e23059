"""Spends a budget that is small for the table on one split of one attribute, instead of on a table of each attribute.

The number of rows is counted first, with noise. If it is large, every attribute gets its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.noisy_answers import noisy_tables, whole_rows
from tremula.queries.privacy import Budget
from tremula.queries.question import Attribute, Question, Schema

ROWS_SHARE = 0.05  # of the cost, for the number of rows
CHOICE_SHARE = 0.6  # of the rest, for the choice of the split; what is left pays for its counts
# Chosen on breast-w, credit-g, diabetes and vote: below so many rows for each unit of noise one split is more accurate.
ROWS_PER_DEVIATION = 18.0


def split_or_tables(
    schema: Schema, question: Question, answer: NDArray[Any], known: NDArray[np.bool_], budget: Budget, *, shrink: bool
) -> NDArray[np.int64]:
    """Return an answer about all rows by the cost of its tables: tables with noise, or one split of one attribute."""
    cost = budget.per_table * len(question.attributes)
    rows = answer[schema.cells(question.attributes[0])].sum(keepdims=True).ravel()
    n_rows = int(budget.noise_for(ROWS_SHARE * cost)(rows)[0])
    rest = budget.with_table_cost(budget.per_table * (1 - ROWS_SHARE))
    if n_rows >= ROWS_PER_DEVIATION * rest.deviation:
        return noisy_tables(schema, question, answer, known, rest, shrink=shrink)
    return _single_split(schema, question, answer, budget, cost * (1 - ROWS_SHARE))


def _single_split(
    schema: Schema, question: Question, answer: NDArray[Any], budget: Budget, cost: float
) -> NDArray[np.int64]:
    """Choose a split by the rows that its two parts classify correctly, and count these parts with noise.

    A row changes the number of correct rows by at most 1, in the same direction for all splits.
    """
    splits = [(number, part) for number in question.attributes for part in _parts(schema.attributes[number])]
    counts = [_part_counts(answer[schema.cells(number)], part) for number, part in splits]
    scores = np.array([own.max(axis=1).sum() for own in counts])
    chosen = budget.choose(scores, CHOICE_SHARE * cost)
    noisy = budget.noise_for((1 - CHOICE_SHARE) * cost)(counts[chosen].ravel()).reshape(2, -1)
    parts = np.maximum(noisy, 0).astype(np.float64)
    parts += np.maximum(1 - parts.sum(axis=0), 0) / 2  # classes are public, so each has a row
    attribute, part = splits[chosen]
    released = schema.empty_answer()
    for number in question.attributes:
        inside = part if number == attribute else np.ones(schema.attributes[number].n_values + 1, dtype=bool)
        first = parts[0] if number == attribute else parts.sum(axis=0)
        values = np.where(inside[:, None], first / inside.sum(), parts[1] / max((~inside).sum(), 1))
        released[schema.cells(number)] = whole_rows(values)
    return released


def _parts(attribute: Attribute) -> Iterator[NDArray[np.bool_]]:
    """Yield the values on one side of each split in two: one level, or the bins below a cut."""
    values = np.arange(attribute.n_values + 1)
    if attribute.is_nominal:
        yield from (values == value for value in values)
    elif attribute.n_values == 1:
        yield values < 1  # numbers against missing
    else:
        yield from (values < cut for cut in range(1, attribute.n_values))


def _part_counts(table: NDArray[np.int64], part: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.array([table[part].sum(axis=0), table[~part].sum(axis=0)])
