"""Estimates the answers that a budget does not pay for from those that it did.

Attributes are taken as independent among the rows of one class on the path of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.noisy_answers import whole_rows
from tremula.queries.question import Condition, Question, Schema, is_within, joint_shape


@dataclass
class Estimates:
    """Answers that were paid for, and estimates from them.

    Attributes
    ----------
    schema : Schema
        With classes: estimates of the moments of a numeric target are not made.
    paid : dict of Question to array
        Answers to questions that are not joint.
    """

    schema: Schema
    paid: dict[Question, NDArray[np.int64]] = field(default_factory=dict)
    _all_shares: dict[tuple[Question, int], NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def add(self, question: Question, answer: NDArray[Any]) -> None:
        """Add an answer that was paid for."""
        if not question.joint and self.schema.classes is not None:
            self.paid[question] = answer

    def estimate(self, question: Question) -> NDArray[np.int64] | None:
        """Return an estimated answer; None if no answer on a wider path has the attributes that it needs."""
        usable = [known for known in self.paid if self._suffices(known, question)]
        if not usable:
            return None
        known = max(usable, key=lambda known: len(known.path))
        return self._from(known, question)

    @staticmethod
    def _suffices(known: Question, question: Question) -> bool:
        if not is_within(question.path, known.path):
            return False
        needed = {*question.attributes, *(new.attribute for new in _new_conditions(known, question))}
        return needed <= set(known.attributes)

    def _from(self, known: Question, question: Question) -> NDArray[np.int64]:
        """Multiply the rows of each class by the shares of the new conditions and of each value."""
        answer, conditions = self.paid[known], _new_conditions(known, question)
        rows = answer[self.schema.cells(known.attributes[0])].sum(axis=0).astype(np.float64)
        limits = {condition.attribute: condition for condition in conditions}
        for condition in conditions:
            rows *= self._shares(known, condition.attribute)[condition.first : condition.last + 1].sum(axis=0)
        if question.joint:
            shares = [self._shares(known, number, limits.get(number)) for number in question.attributes]
            joint = reduce(lambda left, right: (left[:, None] * right).reshape(-1, len(rows)), shares) * rows
            return whole_rows(joint).reshape(joint_shape(self.schema, question.attributes))
        estimated = self.schema.empty_answer()
        for number in question.attributes:
            estimated[self.schema.cells(number)] = whole_rows(self._shares(known, number, limits.get(number)) * rows)
        return estimated

    def _shares(self, known: Question, attribute: int, limit: Condition | None = None) -> NDArray[np.float64]:
        """Return the share of each value among the rows of each class, within the values that a condition allows."""
        if limit is None and (known, attribute) in self._all_shares:
            return self._all_shares[known, attribute]
        table = self.paid[known][self.schema.cells(attribute)].astype(np.float64)
        if limit is not None:
            table[: limit.first] = table[limit.last + 1 :] = 0
        sums = table.sum(axis=0)
        shares = np.asarray(np.divide(table, sums, out=np.zeros_like(table), where=sums > 0))
        if limit is None:
            self._all_shares[known, attribute] = shares
        return shares


def _new_conditions(known: Question, question: Question) -> list[Condition]:
    return [condition for condition in question.path if condition not in known.path]
