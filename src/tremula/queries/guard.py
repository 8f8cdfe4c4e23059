"""Guards any oracle by rules of disclosure: small counts are withheld, and a privacy budget is never exceeded.

A ledger records every question with its outcome and its cost. Refused questions are not sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.display import ShortTable, ShownAsTable
from tremula.errors import BudgetExhausted, QueryRefused
from tremula.parameters import check_flag, check_number
from tremula.persistence.atomic_write import write_atomically
from tremula.queries.disclosure import Disclosure
from tremula.queries.ledger import LedgerEntry, path_in_words
from tremula.queries.oracle import Oracle
from tremula.queries.privacy import cost_of_table, laplace_noise
from tremula.queries.question import UNKNOWN, Path, Question, Schema
from tremula.queries.sql.path_covers import cover_paths


class GuardedOracle(ShownAsTable):
    """Answers of another oracle under rules of disclosure.

    Parameters
    ----------
    oracle : Oracle
        The oracle to guard.
    min_count : int, default=5
        No count from 1 to `min_count` - 1 follows from all answers together. Values with fewer rows are merged into
        groups, whose rows are divided among their values. One tree of regions is disclosed for each class. Counts on
        other paths are estimated from it: the ledger says which. With a budget, noisy counts below it are returned as
        0 instead.
    round_to : int or None, default=None
        Counts are rounded to the nearest multiple of it.
    epsilon : float or None, default=None
        Privacy budget. OpenDP's discrete Laplace mechanism adds noise to every count, such that all answers together
        are `epsilon`-differentially private. Neighbouring tables differ by one row. A batch that costs more than the
        remaining budget is refused.
    epsilon_per_table : float or None, default=None
        Cost of one table of counts. By default the budget suffices for trees of depth 8, if all members have the same
        tree.
    allow_joint : bool, default=True
        Whether attributes may be counted jointly.

    Attributes
    ----------
    ledger : list of LedgerEntry
        Every question and its outcome.
    spent : float
        The part of the budget that is spent.

    Notes
    -----
    A row is in one cell of each table, so a table has sensitivity 1. Tables on mutually exclusive paths share one cost;
    the costs of all others add up. Answers are cached: the same question costs nothing the second time. Classes, levels
    and the cuts of numeric attributes are taken as public. OpenDP draws the noise from the machine's entropy: it has no
    seed. `round_to` alone does not withstand an attacker who compares overlapping tables. The guide on private data
    says what each rule promises and what it does not.

    Examples
    --------
    >>> from tremula.queries import ArrayOracle, GuardedOracle, Question
    >>> oracle = ArrayOracle([["sun"]] * 9 + [["rain"]], ["play"] * 8 + ["stay"] * 2, categorical_features=[0])
    >>> guarded = GuardedOracle(oracle, min_count=5)
    >>> guarded.count([Question((), (0,))])[0]
    array([[0, 0],
           [8, 0],
           [0, 0]])
    >>> guarded.ledger[0].suppressed
    3
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        min_count: int = 5,
        round_to: int | None = None,
        epsilon: float | None = None,
        epsilon_per_table: float | None = None,
        allow_joint: bool = True,
    ) -> None:
        check_number("min_count", min_count, 0, whole=True)
        check_flag("allow_joint", allow_joint)
        if round_to is not None:
            check_number("round_to", round_to, 1, whole=True)
        self.ledger: list[LedgerEntry] = []
        self.spent = 0.0
        self._oracle = oracle
        self._min_count = min_count
        self._round_to = round_to
        self._allow_joint = allow_joint
        self._epsilon = epsilon
        self._per_table = cost_of_table(oracle.schema, epsilon, epsilon_per_table)
        self._add_noise = None if self._per_table is None else laplace_noise(self._per_table)
        self._answers: dict[Question, NDArray[Any]] = {}
        protects_cells = epsilon is None and min_count > 1
        self._disclosure = Disclosure(oracle, min_count, lambda division: None) if protects_cells else None

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._oracle.schema

    def _short_table(self) -> ShortTable:
        budget = "" if self._epsilon is None else f", {self.spent:.3g} of {self._epsilon:.3g} epsilon spent"
        rows = [
            (str(entry.number), entry.path, ", ".join(entry.attributes), entry.outcome, str(entry.suppressed))
            for entry in self.ledger
        ]
        caption = f"ledger of {len(self.ledger)} questions{budget}"
        return ShortTable(caption, ["question", "path", "attributes", "outcome", "cells suppressed"], rows)

    @property
    def left(self) -> float:
        """The part of the budget that is left; infinite without a budget."""
        return np.inf if self._epsilon is None else self._epsilon - self.spent

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order, as far as the rules allow."""
        new = [question for question in dict.fromkeys(questions) if question not in self._answers]
        self._check_joint(new)
        if self._disclosure is not None:
            self._disclose(self._disclosure, new)
        else:
            self._pay_and_ask(new)
        return [self._answers[question] for question in questions]

    def _pay_and_ask(self, questions: Sequence[Question]) -> None:
        cost = self._cost(questions)
        if cost > self.left * (1 + 1e-12):
            self._record(questions, "refused")
            raise BudgetExhausted(
                f"a batch of {len(questions)} questions costs {cost:.3g} of a privacy budget of {self._epsilon:g}, of "
                f"which {self.left:.3g} is left: nothing was sent"
            )
        self._ask(questions, cost)

    def _disclose(self, disclosure: Disclosure, questions: Sequence[Question]) -> None:
        """Answer from counts that are safe to disclose."""
        joint = [question for question in questions if question.joint]
        if joint and self.schema.classes is None:
            self._record(joint, "refused")
            raise QueryRefused("joint sums of a numeric target are not protected by min_count: set n_joint_features=1")
        try:
            answers = disclosure.answer(questions)
        except Exception:
            self._record(questions, "failed")
            raise
        for question, by_class in zip(questions, answers, strict=True):
            answer = np.concatenate([own.counts for own in by_class], axis=-1)
            if self.schema.classes is not None:
                answer = np.rint(answer).astype(np.int64)
            if not question.joint:
                self._leave_out_small_levels(answer)
            if self._round_to is not None:
                self._round(answer, answer > 0)
            self._answers[question] = answer
            outcome = "answered" if all(own.is_exact for own in by_class) else "estimated"
            self._record([question], outcome, suppressed=[sum(own.n_withheld for own in by_class)])

    def _leave_out_small_levels(self, answer: NDArray[Any]) -> None:
        """Set levels to 0 of which too few rows are expected, so that no branch of a tree is for them."""
        n_rows = answer[:, 0] if self.schema.classes is None else answer.sum(axis=1)
        for number, attribute in enumerate(self.schema.attributes):
            if attribute.is_nominal:
                cells = self.schema.cells(number)
                answer[cells][n_rows[cells] < self._min_count] = 0

    def export_ledger(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger to a file as JSON Lines, one line for each question; the file is replaced in one step."""
        lines = [json.dumps(asdict(entry), ensure_ascii=False) for entry in self.ledger]
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())

    def _check_joint(self, questions: Sequence[Question]) -> None:
        if not self._allow_joint and any(question.joint for question in questions):
            self._record([question for question in questions if question.joint], "refused")
            raise QueryRefused("the oracle does not allow joint counts of attributes: set n_joint_features=1")

    def _cost(self, questions: Sequence[Question]) -> float:
        """Return the cost of a batch: the sum over sets of mutually exclusive paths of the dearest path in each."""
        if self._per_table is None or not questions:
            return 0.0
        tables = [1 if question.joint else len(question.attributes) for question in questions]
        paths = list(dict.fromkeys(question.path for question in questions))
        n_tables = [sum(n for n, question in zip(tables, questions) if question.path == path) for path in paths]
        covers = cover_paths(paths, len(self.schema.attributes))
        return self._per_table * sum(max(n_tables[number] for number in cover.numbers) for cover in covers)

    def _ask(self, questions: Sequence[Question], cost: float) -> None:
        """Ask the guarded oracle, guard its answers, and pay for them."""
        try:
            answers = self._oracle.count(questions)
        except Exception:  # nothing was disclosed, so nothing is spent
            self._record(questions, "failed")
            raise
        self.spent += cost
        suppressed = []
        for question, answer in zip(questions, answers, strict=True):
            guarded, n_suppressed = self._guard(question, answer)
            self._answers[question] = guarded
            suppressed.append(n_suppressed)
        self._record(questions, "answered", cost, suppressed)

    def _guard(self, question: Question, answer: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return the answer with noise, suppression and rounding, and the number of suppressed cells."""
        guarded = answer.copy()
        possible = self._possible_cells(question, guarded)
        known = possible & (guarded != UNKNOWN) if self.schema.classes is not None else possible
        if self._add_noise is not None:
            guarded[known] = np.maximum(self._add_noise(guarded[known]), 0)
        counts = guarded if self.schema.classes is not None else guarded[..., 0]
        is_small = (counts > 0) & (counts < self._min_count)
        guarded[is_small] = 0
        if self._round_to is not None:
            self._round(guarded, known)
        return guarded, int(is_small.sum())

    def _possible_cells(self, question: Question, answer: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each cell may have rows: its attribute is asked about, and the path allows its value."""
        if not question.joint:
            possible = np.zeros(answer.shape, dtype=bool)
            for attribute in question.attributes:
                possible[self.schema.cells(attribute)] = self._allowed_values(question.path, attribute)[:, None]
            return possible
        possible = np.ones(answer.shape, dtype=bool)
        for axis, attribute in enumerate(question.attributes):
            shape = [-1 if place == axis else 1 for place in range(answer.ndim)]
            possible &= self._allowed_values(question.path, attribute).reshape(shape)
        return possible

    def _allowed_values(self, path: Path, attribute: int) -> NDArray[np.bool_]:
        values = np.arange(self.schema.attributes[attribute].n_values + 1)
        for condition in path:
            if condition.attribute == attribute:
                return (values >= condition.first) & (values <= condition.last)
        return values >= 0

    def _round(self, answer: NDArray[Any], known: NDArray[np.bool_]) -> None:
        step = self._round_to or 1
        if self.schema.classes is not None:
            answer[known] = (answer[known] + step // 2) // step * step
            return
        counts = answer[..., 0].copy()
        rounded = np.floor((counts + step / 2) / step) * step
        # Sums are scaled with their counts, which keeps the means.
        answer *= np.where(counts > 0, rounded / np.maximum(counts, 1), 0.0)[..., None]

    def _record(
        self, questions: Sequence[Question], outcome: str, cost: float = 0.0, suppressed: Sequence[int] | None = None
    ) -> None:
        """Add questions of one outcome to the ledger; the last of them has the cost."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for place, question in enumerate(questions):
            entry = LedgerEntry(
                number=len(self.ledger),
                time=now,
                path=path_in_words(self.schema, question.path),
                attributes=tuple(self.schema.attributes[attribute].name for attribute in question.attributes),
                joint=question.joint,
                outcome=outcome,
                cost=cost if place == len(questions) - 1 else 0.0,
                suppressed=0 if suppressed is None else suppressed[place],
            )
            self.ledger.append(entry)
