"""Guards any oracle by rules of disclosure: small counts are withheld, and a privacy budget is never exceeded.

A ledger records every question with its outcome and its cost. Refused questions are not sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.display import ShortTable, ShownAsTable
from tremula.errors import BudgetExhausted, FileDamaged, InvalidInput, QueryRefused
from tremula.parameters import check_flag, check_number
from tremula.persistence.atomic_write import write_atomically
from tremula.queries.disclosure import Disclosure
from tremula.queries.domains import check_counts_all, check_public
from tremula.queries.estimates import Estimates
from tremula.queries.ledger import LedgerEntry, digest, path_in_words, question_from, question_in_json, rules_of
from tremula.queries.ledger_file import LedgerFile, Record
from tremula.queries.noisy_answers import noisy_answer
from tremula.queries.oracle import Oracle, schema_of
from tremula.queries.possible_cells import possible_cells
from tremula.queries.privacy import DEFAULT_DEPTH, make_budget
from tremula.queries.question import EVERYWHERE, UNKNOWN, Question, Schema
from tremula.queries.rounding import round_answer
from tremula.queries.single_split import split_or_tables


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
        Privacy budget, from 1e-6 to 1e6. OpenDP's discrete Laplace mechanism adds noise to every count, such that all
        answers together are `epsilon`-differentially private. Neighbouring tables differ by one person. A batch that
        costs more than the remaining budget is refused.
    epsilon_per_table : float or None, default=None
        Cost of one table of counts. By default the budget suffices for trees of depth `budget_depth`, if all members
        have the same tree.
    allow_joint : bool, default=True
        Whether attributes may be counted jointly.
    delta : float or None, default=None
        If given, all answers together are (`epsilon`, `delta`)-differentially private, and the noise is discrete
        Gaussian. Costs are then counted in rho, by zero-concentrated differential privacy, and many tables have less
        noise.
    rows_per_person : int or None, default=None
        No person has more rows in the table: the unit of privacy is a person with all of these rows. None is that of
        the oracle if it was made with `person_id`, else 1. Without `person_id` it is not checked.
    budget_depth : int, default=8
        Depth of trees that the budget suffices for. Fewer depths have less noise.
    estimate : bool, default=False
        Whether counts that the budget does not pay for are estimated from those that it paid for, instead of being
        refused. Attributes are taken as independent among the rows of a class on a path. With ``budget_depth=1`` the
        whole budget pays for the counts of the whole table. Not for numeric targets.
    single_split : bool, default=False
        With `estimate`: whether the noise is compared with the number of rows, which a twentieth of the cost of the
        first tables pays for. If it is large, the rest pays for one split of one attribute, chosen and counted with
        noise; all other attributes are taken as independent of the class.
    shrink : bool, default=True
        Whether the noisy tables of a path are made consistent and shrunk by the noise in them. If not, negative counts
        are set to 0, and no other is changed.
    key : str, bytes or None, default=None
        Secret by which `round_to` rounds each count up or down at random, always in the same way.
    ledger_file : path or None, default=None
        File for the budget and for all that is disclosed. Later guards, and other processes at the same time, continue
        with it: the budget is for all of them together, and so is the promise of `min_count`. A cost is on disk before
        its answer is given.
    rho : float or None, default=None
        Privacy budget of zero-concentrated differential privacy, instead of `epsilon`: all answers together are
        `rho`-zero-concentrated differentially private, and the noise is discrete Gaussian.
    public : "all" or sequence of str, default=()
        Columns, the target included, of which the levels, cuts or classes are public knowledge, though the oracle read
        them from the rows. With a budget all others must be stated as the oracle's `domains`, `cuts` and `classes`.

    Attributes
    ----------
    ledger : list of LedgerEntry
        Every question and its outcome.
    spent : float
        The part of the budget that is spent: epsilon, or rho with `delta` or `rho`.

    Notes
    -----
    A person is in at most `rows_per_person` cells of each table, which is its sensitivity. Tables on mutually exclusive
    paths share one cost; the costs of all others add up. Answers are cached: the same question costs nothing the second
    time. Names of columns are taken as public. OpenDP draws the noise from the machine's entropy: it has no seed.
    `round_to` alone does not withstand an attacker who compares overlapping tables. The guide on private data says what
    each rule promises and what it does not.

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
        delta: float | None = None,
        rows_per_person: int | None = None,
        budget_depth: int = DEFAULT_DEPTH,
        estimate: bool = False,
        shrink: bool = True,
        key: str | bytes | None = None,
        ledger_file: str | os.PathLike[str] | None = None,
        rho: float | None = None,
        public: Sequence[str] | str = (),
        single_split: bool = False,
    ) -> None:
        schema_of(oracle)
        check_number("min_count", min_count, 0, whole=True)
        flags = {"allow_joint": allow_joint, "estimate": estimate, "shrink": shrink, "single_split": single_split}
        for name, flag in flags.items():
            check_flag(name, flag)
        if single_split and not estimate:
            raise InvalidInput("single_split was given without estimate, which answers by the split: set estimate=True")
        if round_to is not None:
            check_number("round_to", round_to, 1, whole=True)
        self.ledger: list[LedgerEntry] = []
        self.spent = 0.0
        self._oracle = oracle
        self._min_count = min_count
        self._round_to = round_to
        self._key = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
        self._allow_joint = allow_joint
        n_rows = _rows_per_person(oracle.schema, rows_per_person)
        self._budget = make_budget(oracle.schema, epsilon, delta, epsilon_per_table, n_rows, budget_depth, rho)
        if self._budget is not None:
            check_public(oracle.schema, public)
            check_counts_all(oracle)
        self._shrink, self._single_split = shrink, single_split
        self._answers: dict[Question, NDArray[Any]] = {}
        self._estimates = Estimates(oracle.schema) if estimate else None
        protects_cells = self._budget is None and min_count > 1
        self._disclosure = Disclosure(oracle, min_count, self._store_division) if protects_cells else None
        self._lock = RLock()
        self._write: Callable[[Record], None] = ignore
        self._failure: Exception | None = None
        self._digest = digest(oracle.schema)
        self._file = None
        if ledger_file is not None:
            rules = rules_of(oracle.schema, min_count, epsilon, delta, n_rows, rho)
            self._file = LedgerFile(ledger_file, rules)
            self._continue_ledger([])

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._oracle.schema

    def _short_table(self) -> ShortTable:
        own = self._budget
        budget = "" if own is None else f", {self.spent:.3g} of {own.total:.3g} {own.unit} spent"
        rows = [
            (str(entry.number), entry.path, ", ".join(entry.attributes), entry.outcome, str(entry.suppressed))
            for entry in self.ledger
        ]
        caption = f"ledger of {len(self.ledger)} questions{budget}"
        return ShortTable(caption, ["question", "path", "attributes", "outcome", "cells suppressed"], rows)

    @property
    def left(self) -> float:
        """The part of the budget that is left; infinite without a budget."""
        return np.inf if self._budget is None else self._budget.total - self.spent

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order, as far as the rules allow."""
        with self._lock:
            if self._file is None:
                self._answer_new(questions)
            else:
                self._continue_ledger(questions)
            return [self._answers[question].copy() for question in questions]

    def _continue_ledger(self, questions: Sequence[Question]) -> None:
        """Answer questions while the ledger file is locked, after what other guards have added to it."""
        assert self._file is not None
        if self._failure is not None:
            raise self._failure
        # A guard that has not taken over all records, whatever interrupted it, must not answer.
        self._failure = FileDamaged(f"reading the ledger {str(self._file.path)!r} was interrupted: make a new guard")
        with self._file.open() as (records, write):
            try:
                for record in records:
                    self._apply(record)
            except Exception as error:
                self._failure = error
                raise
            self._failure = None
            self._write = write
            try:
                self._answer_new(questions)
            finally:
                self._write = ignore

    def _apply(self, record: Record) -> None:
        """Take over a record of the ledger file."""
        is_own_schema = record["schema"] == self._digest
        self.spent += record.get("cost", 0.0)
        if "division" in record and self._disclosure is not None:
            if not is_own_schema:
                raise InvalidInput(
                    f"the ledger {str(self._file.path if self._file else '')!r} has counts of other levels or cuts: "
                    "give the levels and cuts of the first time"
                )
            self._disclosure.apply(record["division"])
        if "answers" in record and is_own_schema:
            dtype = self.schema.empty_answer().dtype
            for question, answer in record["answers"]:
                self._take_over(question_from(question), np.array(answer, dtype=dtype))

    def _store_division(self, division: Record) -> None:
        self._write({"schema": self._digest, "division": division})

    def _answer_new(self, questions: Sequence[Question]) -> None:
        new = [question for question in dict.fromkeys(questions) if question not in self._answers]
        if not new:
            return
        self._check_joint(new)
        if self._disclosure is not None:
            self._disclose(self._disclosure, new)
        else:
            self._pay_and_ask(new)

    def _pay_and_ask(self, questions: Sequence[Question]) -> None:
        budget, estimates = self._budget, self._estimates
        is_spent = budget is not None and self.left < budget.per_table  # computing the cost takes longer
        if is_spent and estimates is not None and self._answer_by_estimates(estimates, questions):
            return
        cost = 0.0 if budget is None else budget.cost(questions, len(self.schema.attributes))
        if budget is not None and self.spent + cost > budget.total * (1 + 1e-12):
            if estimates is not None and self._answer_by_estimates(estimates, questions):
                return
            self._record(questions, "refused")
            raise BudgetExhausted(
                f"a batch of {len(questions)} questions costs {cost:.3g} of a privacy budget of {budget.total:g}, of "
                f"which {self.left:.3g} is left: nothing was sent"
            )
        self._ask(questions, cost)

    def _answer_by_estimates(self, estimates: Estimates, questions: Sequence[Question]) -> bool:
        """Estimate the answers to a batch from earlier ones; whether all of them could be."""
        estimated = {question: estimates.estimate(question) for question in questions}
        if any(answer is None for answer in estimated.values()):
            return False
        self._record(questions, "estimated")
        self._answers |= {question: answer for question, answer in estimated.items() if answer is not None}
        return True

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
        given = {}
        for question, by_class in zip(questions, answers, strict=True):
            answer = np.concatenate([own.counts for own in by_class], axis=-1)
            if self.schema.classes is not None:
                answer = np.rint(answer).astype(np.int64)
            if not question.joint:
                self._leave_out_small_levels(answer)
            if self._round_to is not None:
                round_answer(self.schema, question, answer, answer > 0, self._round_to, self._key)
            given[question] = answer
            outcome = "answered" if all(own.is_exact for own in by_class) else "estimated"
            self._record([question], outcome, suppressed=[sum(own.n_withheld for own in by_class)])
        self._keep(given)

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

    def _ask(self, questions: Sequence[Question], cost: float) -> None:
        """Ask the guarded oracle, pay for its answers, and guard them."""
        try:
            answers = self._oracle.count(questions)
        except Exception:  # nothing was disclosed, so nothing is spent
            self._record(questions, "failed")
            raise
        self.spent += cost  # first, so that an interruption can only make this guard spend less
        self._write({"schema": self._digest, "cost": cost})
        guarded = [self._guard(question, answer) for question, answer in zip(questions, answers, strict=True)]
        self._record(questions, "answered", cost, [n_suppressed for _, n_suppressed in guarded])
        self._keep({question: answer for question, (answer, _) in zip(questions, guarded)})

    def _keep(self, answers: dict[Question, NDArray[Any]]) -> None:
        """Keep answers, so that a question always has the same one."""
        if self._file is not None:
            given = [(question_in_json(question), answer.tolist()) for question, answer in answers.items()]
            self._write({"schema": self._digest, "answers": given})
        for question, answer in answers.items():
            self._take_over(question, answer)

    def _take_over(self, question: Question, answer: NDArray[Any]) -> None:
        self._answers[question] = answer
        if self._estimates is not None:
            self._estimates.add(question, answer)

    def _guard(self, question: Question, answer: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return the answer with noise, suppression and rounding, and the number of suppressed cells."""
        guarded = answer.copy()
        possible = possible_cells(self.schema, question)
        known = possible & (guarded != UNKNOWN) if self.schema.classes is not None else possible
        if self._budget is not None:
            is_first = question.path == EVERYWHERE and not question.joint and self.schema.classes is not None
            release = split_or_tables if self._single_split and is_first else noisy_answer
            guarded = release(self.schema, question, answer, known, self._budget, shrink=self._shrink)
        counts = guarded if self.schema.classes is not None else guarded[..., 0]
        is_small = (counts > 0) & (counts < self._min_count)
        guarded[is_small] = 0
        if self._round_to is not None:
            round_answer(self.schema, question, guarded, known, self._round_to, self._key)
        return guarded, int(is_small.sum())

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


def _rows_per_person(schema: Schema, given: int | None) -> int:
    """Return the number of rows of a person, as given or as the oracle limits it."""
    if given is None:
        return schema.rows_per_person
    check_number("rows_per_person", given, 1, whole=True)
    if given < schema.rows_per_person:
        raise InvalidInput(
            f"rows_per_person is {given}, but the oracle counts up to {schema.rows_per_person} rows of a person: leave "
            "it out"
        )
    return given


def ignore(record: Record) -> None:
    """Take a record, where there is no ledger file."""
