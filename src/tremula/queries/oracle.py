"""The protocol of oracles, which answer questions about a table with counts and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter, QueryRefused
from tremula.queries.question import EVERYWHERE, UNKNOWN, Question, Schema

MOST_RETRIES = 1000  # of one question, seconds apart
MOST_BINS = 1_000_000  # of one attribute


def schema_of(oracle: Any) -> Schema:
    """Return the schema of an oracle; refuse what is none."""
    schema = getattr(oracle, "schema", None)
    if not isinstance(schema, Schema) or not hasattr(oracle, "count"):
        raise InvalidParameter(f"oracle is of type {type(oracle).__name__}: give an oracle, such as an ArrayOracle")
    return schema


class Oracle(Protocol):
    """Answers questions about one table.

    All oracles give the same answers about the same rows. If an oracle cannot count an attribute, all cells of that
    attribute are UNKNOWN.
    """

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; one large batch is cheaper than several small ones."""


def count_rows(oracle: Oracle) -> NDArray[np.float64]:
    """Ask for the number of rows of each class in the table, or for the moments of a numeric target.

    The counts of any one attribute add up to them. If the oracle suppresses some cells, the attribute with the largest
    total is used; attributes with unknown cells are left out.
    """
    schema = oracle.schema
    answer = oracle.count([Question(EVERYWHERE, tuple(range(len(schema.attributes))))])[0]
    tables = [answer[schema.cells(number)] for number in range(len(schema.attributes))]
    if schema.classes is not None:
        tables = [table for table in tables if (table != UNKNOWN).all()]
    if not tables:
        raise QueryRefused(
            "every attribute has unknown counts, so there is nothing to learn from: mine the itemsets with a smaller "
            "min_support"
        )
    totals = [table.sum(axis=0).astype(np.float64) for table in tables]
    return max(totals, key=lambda total: total[0] if schema.classes is None else total.sum())
