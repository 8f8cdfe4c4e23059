"""The counts of a site as one row of words, in the value numbers of all sites together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import Question, Schema
from tremula.queries.remote.messages import cells_asked
from tremula.queries.remote.refusal import Refusal
from tremula.queries.site_schemas import SiteCodes


def as_words(
    merged: Schema, codes: SiteCodes, questions: list[Question], count: Callable[[list[Question]], list[NDArray[Any]]]
) -> NDArray[np.uint64]:
    """Return the counts of all questions in one row of words; levels that the site does not have are 0."""
    translated = [codes.to_site(question) for question in questions]
    answers = iter(count([question for question in translated if question is not None]))
    cells = [
        np.zeros(cells_asked(merged, question), dtype=np.int64)
        if own is None
        else _asked(merged, question, codes.from_site(question, next(answers)))
        for own, question in zip(translated, questions)
    ]
    row = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
    if (row < 0).any():
        raise Refusal(403, "this site does not know all counts, and unknown ones cannot be added up", "QueryRefused")
    return row.astype(np.uint64)


def _asked(schema: Schema, question: Question, answer: NDArray[Any]) -> NDArray[Any]:
    if question.joint:
        return answer.ravel()
    return np.concatenate([answer[schema.cells(attribute)] for attribute in question.attributes]).ravel()
