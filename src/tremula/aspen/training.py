"""Trains the parts of an Aspen one after the other: members of families, then corrections of their blend.

Callbacks are told of each part; once one of them asks to stop, nothing further is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.aspen.boosted_corrections import EVERY, N_PARTS, Boosting, average, make_parts
from tremula.aspen.families import Family, FamilyTraining, TrainingTable
from tremula.aspen.family_members import FamilyMembers, ScoringRows
from tremula.aspen.task import Task
from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.parallel import train_members
from tremula.perturb import Sample
from tremula.trees.tree import Tree


@dataclass(frozen=True)
class Corrections:
    """Trees that correct a blend.

    Attributes
    ----------
    trees : list of Tree
        Empty if no correction helps.
    n_rounds : int
        Rounds of boosting they come from.
    predictions : array (n_rows, n_outputs)
        Corrected predictions of the scoring rows, each by trees that were grown without it.
    was_tried : bool
        Whether boosting was completed: it needs enough rows, and no callback that stops it.
    """

    trees: list[Tree]
    n_rounds: int
    predictions: np.ndarray
    was_tried: bool


@dataclass
class PartTrainer:
    """Trains members and corrections from one table, and tells callbacks of each.

    Attributes
    ----------
    table : TrainingTable
    sample : Sample
    root_seed : int
    tasks : MemberTasks
        Callbacks.
    n_jobs, verbose : as of the estimator
    trained : list
        All members so far, with those that a warm start keeps.
    is_stopped : bool
        Whether a callback asked to stop.
    """

    table: TrainingTable
    sample: Sample
    root_seed: int
    tasks: MemberTasks
    n_jobs: int | None
    verbose: int
    trained: list[Member] = field(default_factory=list)
    is_stopped: bool = False

    @property
    def n_outputs(self) -> int:
        """Number of classes; 1 for numbers."""
        return max(self.sample.n_classes, 1)

    def grow(self, members: FamilyMembers, family: Family, n_members: int) -> None:
        """Train the members that a family still lacks."""
        training = FamilyTraining.of(family, self.table, self.sample, self.root_seed)
        for trained in self._each(training, range(len(members.members), n_members)):
            members.add(trained.member, trained.rows, trained.predictions)
            self.trained.append(trained.member)
            self._end_part()

    def correct(self, margins: np.ndarray, scoring: ScoringRows, task: Task, n_rounds: int) -> Corrections:
        """Boost from the out-of-bag margins of a blend, and keep the number of rounds with the least loss.

        Parameters
        ----------
        margins : array (n_scoring, n_outputs)
            Margins of the scoring rows.
        scoring : ScoringRows
        task : Task
        n_rounds : int
            At most so many rounds.
        """
        start = np.zeros((self.sample.n_rows, self.n_outputs))
        start[scoring.rows] = margins
        parts = make_parts(self.sample, scoring.rows, self.root_seed) if len(scoring) >= 2 * N_PARTS else []
        boosting = Boosting(self.table.columns, self.sample, parts, start, self.root_seed, n_rounds)
        boosted = []
        for part in self._each(boosting, range(len(parts))):
            boosted.append(part)
            self._end_part()
        if len(boosted) < len(parts) or not parts:
            return Corrections([], 0, task.predictions(margins), was_tried=False)
        rows = np.concatenate([part.rows for part in boosted])
        stages = np.concatenate([part.margins for part in boosted], axis=1)
        held_out = ScoringRows.of(self.sample, rows)
        losses = np.array([task.loss(task.predictions(stage), held_out) for stage in stages])
        best = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
        start[rows] = stages[best]
        trees = average(boosted, best * EVERY)
        return Corrections(trees, best * EVERY, task.predictions(start[scoring.rows]), was_tried=True)

    def _each(self, training: Callable[[range], list[Any]], numbers: range) -> Iterator[Any]:
        if self.is_stopped or not len(numbers):
            return
        with closing(train_members(training, numbers, self.n_jobs, self.verbose)) as trained:
            for result in self.tasks.each(trained, len(numbers)):
                yield result
                if self.is_stopped:
                    break

    def _end_part(self) -> None:
        count = len(self.trained)
        self.is_stopped |= self.tasks.end_member(
            lambda: {"members_": list(self.trained), "member_weights_": np.full(count, 1.0 / count)}
        )
