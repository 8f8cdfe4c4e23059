"""Counts that need no query: those of one branch of a numeric split follow from its node and from the other branch.

Of the two branches, the one with more rows is left out of the query. Splits of nominal attributes are asked about in
full: most of their branches are leaves, which nobody else asks about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import EVERYWHERE, Condition, Path, Question, Schema, narrow

MAX_SIBLING = 0.25  # rows of a sibling that nobody else asks about, by those of the branch that is left out
Known = Mapping[Path, tuple[frozenset[int], NDArray[Any]]]  # attributes that were asked about, and their counts


@dataclass(frozen=True)
class Difference:
    """A question whose answer is that of its parent less that of the other branch of a split by `attribute`."""

    question: Question
    attribute: int
    sibling: Path

    def answer(self, schema: Schema, known: Known) -> NDArray[Any] | None:
        """Return the counts; None if one would be negative, as after a change of the table."""
        parent, sibling = known[self.question.parent][1], known[self.sibling][1]
        own = next(c for c in self.question.path if c.attribute == self.attribute)
        start = schema.cells(self.attribute).start
        left = np.zeros_like(parent)
        for attribute in self.question.attributes:
            cells = schema.cells(attribute)
            if attribute == self.attribute:
                cells = slice(start + own.first, start + own.last + 1)
                left[cells] = parent[cells]
            else:
                left[cells] = parent[cells] - sibling[cells]
        least = left if schema.classes is not None else left[:, [0, 2]]
        return left if (least >= 0).all() else None


def are_exact(schema: Schema) -> bool:
    """Whether counts can be subtracted without rounding: those of classes, and whole moments of a bounded target."""
    return schema.classes is not None or schema.target_bounds is not None


def find_differences(
    schema: Schema, questions: Sequence[Question], known: Known
) -> tuple[list[Question], list[Difference]]:
    """Divide questions into those to be asked, with siblings that this takes, and those that follow from them.

    Parameters
    ----------
    schema : Schema
    questions : sequence of Question
        None of them joint, and no path twice.
    known : mapping of Path to attributes and counts
        What was asked before.
    """
    by_path = {question.path: question for question in questions}
    asked: dict[Path, Question] = {}
    left_out: dict[Path, Difference] = {}
    for question in questions:
        difference = _difference(schema, question, known)
        if difference is None or question.path in asked or difference.sibling in left_out:
            asked.setdefault(question.path, question)
            continue
        sibling = by_path.get(difference.sibling) or _small_sibling(schema, difference, known)
        needed = set(question.attributes) - {difference.attribute}
        if sibling is None or not needed.issubset(asked.get(sibling.path, sibling).attributes):
            asked[question.path] = question
            continue
        asked.setdefault(sibling.path, sibling)
        left_out[question.path] = difference
    return list(asked.values()), list(left_out.values())


def _difference(schema: Schema, question: Question, known: Known) -> Difference | None:
    """Return how a question would follow from its parent's counts; None if it cannot, or has the fewer rows."""
    if question.parent == question.path or question.parent not in known:
        return None
    added = [condition for condition in question.path if condition not in question.parent]
    if len(added) != 1 or narrow(question.parent, *added[0]) != question.path:
        return None
    (own,) = added
    attributes, counts = known[question.parent]
    if schema.attributes[own.attribute].is_nominal or not attributes.issuperset({*question.attributes, own.attribute}):
        return None
    first, last = _span(schema, question.parent, own.attribute)
    is_lower = own.first == first
    if is_lower == (own.last == last):
        return None
    rows = _rows(schema, counts, own.attribute)
    n_own, n_all = rows[own.first : own.last + 1].sum(), rows[first : last + 1].sum()
    other = Condition(own.attribute, own.last + 1, last) if is_lower else Condition(own.attribute, first, own.first - 1)
    # Rows whose value is missing are on neither branch.
    if rows[-1] or (n_own, is_lower) <= (n_all - n_own, not is_lower):
        return None
    return Difference(question, own.attribute, narrow(question.parent, *other))


def _small_sibling(schema: Schema, difference: Difference, known: Known) -> Question | None:
    """Return a question about a sibling that nobody else asks about, if it has few rows."""
    question, attribute = difference.question, difference.attribute
    rows = _rows(schema, known[question.parent][1], attribute)
    own, other = (
        next(condition for condition in path if condition.attribute == attribute)
        for path in (question.path, difference.sibling)
    )
    n_own, n_other = (rows[condition.first : condition.last + 1].sum() for condition in (own, other))
    needed = tuple(number for number in question.attributes if number != attribute)
    if n_other > MAX_SIBLING * n_own:
        return None
    return Question(difference.sibling, needed, parent=question.parent)


def count_copies(schema: Schema, paths: Iterable[Path], parents: Mapping[Path, Path], known: Known) -> float:
    """Return the number of rows on some paths together, by the counts of the paths before; 0 if the root is unknown."""
    if EVERYWHERE not in known:
        return 0.0
    asked, of_root = known[EVERYWHERE]
    copies, n_rows = 0.0, float(_rows(schema, of_root, min(asked, default=0)).sum())
    for path in paths:
        parent = parents.get(path, path)
        added = [condition for condition in path if condition not in parent]
        attributes, counts = known.get(parent, (frozenset(), None))
        if counts is None or len(added) != 1 or added[0].attribute not in attributes:
            copies += n_rows
        else:
            copies += float(_rows(schema, counts, added[0].attribute)[added[0].first : added[0].last + 1].sum())
    return copies


def _rows(schema: Schema, counts: NDArray[Any], attribute: int) -> NDArray[Any]:
    """Return the number of rows of each value of an attribute; the last one is missing."""
    cells = counts[schema.cells(attribute)]
    return np.asarray(cells[:, 0] if schema.classes is None else cells.sum(axis=1))


def _span(schema: Schema, path: Path, attribute: int) -> tuple[int, int]:
    """Return the first and the last value of an attribute that a path allows."""
    for condition in path:
        if condition.attribute == attribute:
            return condition.first, condition.last
    return 0, schema.attributes[attribute].n_values - 1
