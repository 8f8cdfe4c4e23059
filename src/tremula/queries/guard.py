"""Rules of disclosure around any oracle: what is too small to tell is not told, and a privacy budget is never exceeded.

Every question is entered into a ledger with what became of it and what it cost; what is refused is not sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.display import ShortTable, ShownAsTable
from tremula.errors import BudgetExhausted, InvalidInput, MissingLibrary, QueryRefused
from tremula.parameters import check_flag, check_number
from tremula.persistence.atomic_write import write_atomically
from tremula.queries.oracle import Oracle
from tremula.queries.question import UNKNOWN, Path, Question, Schema, narrow
from tremula.queries.sql.path_covers import cover_paths

LEVELS_PAID_FOR = 8  # by default the budget lasts for so many levels of trees that agree


@dataclass(frozen=True)
class Entry:
    """A line of the ledger.

    Attributes
    ----------
    number : int
    time : str
        Of asking, in UTC.
    path : str
        The conditions, in words.
    attributes : tuple of str
        What was to be counted.
    joint : bool
    fate : {"answered", "refused", "failed"}
        Failed if the oracle behind raised an error: then nothing was told.
    cost : float
        What the batch it was part of had cost by then, if this entry ends it: the budget is spent by batch.
    withheld : int
        Cells that were not told because they were too small.
    """

    number: int
    time: str
    path: str
    attributes: tuple[str, ...]
    joint: bool
    fate: str
    cost: float
    withheld: int


class GuardedOracle(ShownAsTable):
    """Answers of another oracle under rules of disclosure.

    Parameters
    ----------
    oracle : Oracle
        Who answers.
    min_count : int, default=5
        A cell with fewer rows, but some, is told as 0; a path known to have fewer is not asked about.
    round_to : int or None, default=None
        Counts are rounded to the nearest multiple of it.
    epsilon : float or None, default=None
        Privacy budget: noise from OpenDP's discrete Laplace mechanism is added to every count such that all answers
        together are `epsilon`-differentially private, two tables being neighbours if one has one row more. A batch
        that would cost more than is left is refused.
    epsilon_per_table : float or None, default=None
        What one table of counts costs; by default the budget is laid out for eight levels of trees that agree.
    allow_joint : bool, default=True
        Whether attributes may be counted together.

    Attributes
    ----------
    ledger : list of Entry
        Every question and what became of it.
    spent : float
        What is spent of the budget.

    Notes
    -----
    A row is in one cell of each table, so a table has sensitivity 1; tables on paths that exclude one another share a
    cost, all others add up. What was answered is kept and told again for nothing. The classes, the levels and the cuts
    of numeric attributes are taken as public. Suppressed and rounded cells do not withstand someone who compares
    overlapping tables; only `epsilon` does. Noise is drawn by OpenDP from the machine's entropy: it has no seed.

    Examples
    --------
    >>> from tremula.queries import ArrayOracle, GuardedOracle, Question
    >>> oracle = ArrayOracle([["sun"]] * 9 + [["rain"]], ["play"] * 8 + ["stay"] * 2, categorical_features=[0])
    >>> guarded = GuardedOracle(oracle, min_count=5)
    >>> guarded.count([Question((), (0,))])[0]
    array([[0, 0],
           [8, 0],
           [0, 0]])
    >>> guarded.ledger[0].withheld
    2
    """

    def __init__(
        self,
        oracle: Oracle,
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
        self.ledger: list[Entry] = []
        self.spent = 0.0
        self._oracle = oracle
        self._min_count = min_count
        self._round_to = round_to
        self._allow_joint = allow_joint
        self._epsilon = epsilon
        self._per_table = _price_of_table(oracle.schema, epsilon, epsilon_per_table)
        self._add_noise = None if self._per_table is None else _noise_of(self._per_table)
        self._told: dict[Question, NDArray[Any]] = {}
        self._rows_on: dict[Path, float] = {}

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._oracle.schema

    def _short_table(self) -> ShortTable:
        budget = "" if self._epsilon is None else f", {self.spent:.3g} of {self._epsilon:.3g} epsilon spent"
        rows = [
            (str(entry.number), entry.path, ", ".join(entry.attributes), entry.fate, str(entry.withheld))
            for entry in self.ledger
        ]
        caption = f"ledger of {len(self.ledger)} questions{budget}"
        return ShortTable(caption, ["question", "path", "attributes", "fate", "cells withheld"], rows)

    @property
    def left(self) -> float:
        """What is left of the budget; infinite without one."""
        return np.inf if self._epsilon is None else self._epsilon - self.spent

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order, as far as the rules allow."""
        new = [question for question in dict.fromkeys(questions) if question not in self._told]
        self._check_joint(new)
        allowed = [question for question in new if self._rows_on.get(question.path, np.inf) >= self._min_count]
        cost = self._cost(allowed)
        if cost > self.left * (1 + 1e-12):
            self._enter(allowed, "refused", 0.0, [0] * len(allowed))
            raise BudgetExhausted(
                f"a batch of {len(allowed)} questions costs {cost:.3g} of a privacy budget of {self._epsilon:g}, of "
                f"which {self.left:.3g} is left: nothing was sent"
            )
        self._tell(allowed, cost)
        for question in new:
            if question not in self._told:
                self._told[question] = self._unknown(question)
                self._enter([question], "refused", 0.0, [0])
        return [self._told[question] for question in questions]

    def export_ledger(self, path: str | os.PathLike[str]) -> None:
        """Write the ledger to a file, one line of JSON a question; the file is replaced in one step."""
        lines = [json.dumps(asdict(entry), ensure_ascii=False) for entry in self.ledger]
        write_atomically(path, ("\n".join(lines) + "\n").encode())

    def _check_joint(self, questions: Sequence[Question]) -> None:
        if not self._allow_joint and any(question.joint for question in questions):
            refused = [question for question in questions if question.joint]
            self._enter(refused, "refused", 0.0, [0] * len(refused))
            raise QueryRefused("attributes may not be counted together here: set n_joint_features=1")

    def _cost(self, questions: Sequence[Question]) -> float:
        """Add up over sets of paths that exclude one another; within a set the dearest path counts."""
        if self._per_table is None or not questions:
            return 0.0
        tables = [1 if question.joint else len(question.attributes) for question in questions]
        paths = list(dict.fromkeys(question.path for question in questions))
        n_tables = [sum(n for n, question in zip(tables, questions) if question.path == path) for path in paths]
        covers = cover_paths(paths, len(self.schema.attributes))
        return self._per_table * sum(max(n_tables[number] for number in cover.numbers) for cover in covers)

    def _tell(self, questions: Sequence[Question], cost: float) -> None:
        withheld = []
        try:
            answers = self._oracle.count(questions)
        except Exception:  # nothing was told, so nothing is spent
            self._enter(questions, "failed", 0.0, [0] * len(questions))
            raise
        self.spent += cost
        for question, answer in zip(questions, answers, strict=True):
            told, n_withheld = self._guarded(question, answer)
            self._told[question] = told
            withheld.append(n_withheld)
            if not question.joint:
                self._note_sizes(question, told)
        self._enter(questions, "answered", cost, withheld)

    def _guarded(self, question: Question, answer: NDArray[Any]) -> tuple[NDArray[Any], int]:
        told = answer.copy()
        asked = self._asked_cells(question, told)
        known = asked & (told != UNKNOWN) if self.schema.classes is not None else asked
        if self._add_noise is not None:
            told[known] = np.maximum(self._add_noise(told[known]), 0)
        counts = told if self.schema.classes is not None else told[..., 0]
        small = (counts > 0) & (counts < self._min_count)
        told[small] = 0
        if self._round_to is not None:
            self._round(told, known)
        return told, int(small.sum())

    def _asked_cells(self, question: Question, answer: NDArray[Any]) -> NDArray[np.bool_]:
        """Cells that may have rows: those of the attributes asked about, but for values that the path rules out."""
        if not question.joint:
            asked = np.zeros(answer.shape, dtype=bool)
            for attribute in question.attributes:
                asked[self.schema.cells(attribute)] = self._possible(question.path, attribute)[:, None]
            return asked
        asked = np.ones(answer.shape, dtype=bool)
        for axis, attribute in enumerate(question.attributes):
            shape = [-1 if place == axis else 1 for place in range(answer.ndim)]
            asked &= self._possible(question.path, attribute).reshape(shape)
        return asked

    def _possible(self, path: Path, attribute: int) -> NDArray[np.bool_]:
        values = np.arange(self.schema.attributes[attribute].n_values + 1)
        for condition in path:
            if condition.attribute == attribute:
                return (values >= condition.first) & (values <= condition.last)
        return values >= 0

    def _round(self, told: NDArray[Any], known: NDArray[np.bool_]) -> None:
        step = self._round_to or 1
        if self.schema.classes is not None:
            told[known] = (told[known] + step // 2) // step * step
            return
        counts = told[..., 0].copy()
        rounded = np.floor((counts + step / 2) / step) * step
        # Sums go with their counts, so that means stay.
        told *= np.where(counts > 0, rounded / np.maximum(counts, 1), 0.0)[..., None]

    def _note_sizes(self, question: Question, told: NDArray[Any]) -> None:
        """Note how many rows each longer path has: those too small are not to be asked about."""
        if self._add_noise is not None:
            return  # sizes are noise there, and what is told is private anyway
        for attribute in question.attributes:
            table = told[self.schema.cells(attribute)]
            if (table == UNKNOWN).any():
                continue
            sizes = table[:-1, 0] if self.schema.classes is None else table[:-1].sum(axis=1)
            if self.schema.attributes[attribute].is_nominal:
                for value, size in enumerate(sizes.tolist()):
                    self._rows_on[narrow(question.path, attribute, value, value)] = size

    def _unknown(self, question: Question) -> NDArray[Any]:
        if question.joint or self.schema.classes is None:
            raise QueryRefused(
                f"path {self._words(question.path)!r} has fewer than {self._min_count} rows: it is not asked about"
            )
        answer = self.schema.empty_answer()
        for attribute in question.attributes:
            answer[self.schema.cells(attribute)] = UNKNOWN
        return answer

    def _enter(self, questions: Sequence[Question], fate: str, cost: float, withheld: Sequence[int]) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for place, (question, n_withheld) in enumerate(zip(questions, withheld)):
            names = tuple(self.schema.attributes[attribute].name for attribute in question.attributes)
            ends_batch = place == len(questions) - 1
            entry = Entry(
                len(self.ledger), now, self._words(question.path), names, question.joint, fate,
                cost if ends_batch else 0.0, n_withheld,
            )  # fmt: skip
            self.ledger.append(entry)

    def _words(self, path: Path) -> str:
        words = []
        for condition in path:
            attribute = self.schema.attributes[condition.attribute]
            if attribute.levels is not None:
                levels = attribute.levels[condition.first : condition.last + 1]
                words.append(f"{attribute.name} = {' or '.join(map(str, levels))}")
            else:
                cuts = ("-inf", *map(str, attribute.cuts or ()), "inf")
                words.append(f"{cuts[condition.first]} < {attribute.name} <= {cuts[condition.last + 1]}")
        return " and ".join(words)


def _price_of_table(schema: Schema, epsilon: float | None, per_table: float | None) -> float | None:
    if epsilon is None:
        if per_table is not None:
            raise InvalidInput("epsilon_per_table was given without epsilon: give the whole budget too")
        return None
    check_number("epsilon", epsilon, 0.0, above=True)
    if schema.classes is None:
        raise InvalidInput("epsilon was given, but sums of a numeric target have no bound: only classes can be private")
    if per_table is None:
        return epsilon / (LEVELS_PAID_FOR * len(schema.attributes))
    check_number("epsilon_per_table", per_table, 0.0, above=True)
    return float(per_table)


def _noise_of(epsilon: float) -> Any:
    """Return the mechanism that makes a table of whole numbers private at this price."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingLibrary("a privacy budget needs OpenDP: pip install 'tremula[privacy]'") from error
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=1.0 / epsilon)
    return lambda counts: np.array(mechanism([int(count) for count in counts]), dtype=np.int64)
