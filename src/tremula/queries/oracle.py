"""Who answers questions about a table: counts, and nothing else, leave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tremula.errors import QueryRefused
from tremula.queries.question import EVERYWHERE, UNKNOWN, Path, Question, Schema


class Oracle(Protocol):
    """Answers questions about one table.

    Every oracle gives the same answers to the same questions about the same rows, but for attributes that it cannot
    answer for, whose cells are all UNKNOWN.
    """

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; it is cheaper to ask many at once."""


def paths_asked(questions: Sequence[Question]) -> dict[Path, list[int]]:
    """Group questions by their path.

    Examples
    --------
    >>> paths_asked([Question((), (0,)), Question((), (1,))])
    {(): [0, 1]}
    """
    grouped: dict[Path, list[int]] = {}
    for number, question in enumerate(questions):
        grouped.setdefault(question.path, []).append(number)
    return grouped


def count_rows(oracle: Oracle) -> NDArray[np.float64]:
    """Ask for the rows of each class in the whole table, or the moments of a numeric target.

    Every attribute's table has them all, but where an oracle does not know, or does not tell, some of its cells: so the
    table with the most rows is taken.
    """
    schema = oracle.schema
    answer = oracle.count([Question(EVERYWHERE, tuple(range(len(schema.attributes))))])[0]
    tables = [answer[schema.cells(number)] for number in range(len(schema.attributes))]
    if schema.classes is not None:
        tables = [table for table in tables if (table != UNKNOWN).all()]
    if not tables:
        raise QueryRefused(
            "no attribute is known for all rows: there is nothing to learn from (itemsets need a smaller min_support)"
        )
    totals = [table.sum(axis=0).astype(np.float64) for table in tables]
    return max(totals, key=lambda total: total[0] if schema.classes is None else total.sum())
