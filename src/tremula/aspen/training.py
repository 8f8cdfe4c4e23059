"""Trains the parts of an Aspen one after the other: members of families, then corrections of their blend.

Callbacks are told of each part; once one of them asks to stop, nothing further is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tremula.aspen.boosted_corrections import EVERY, FROM_BLEND, N_PARTS, Boosting, Part, make_parts
from tremula.aspen.families import Family, FamilyTraining, TrainingTable
from tremula.aspen.family_members import FamilyMembers, ScoringRows
from tremula.aspen.gradient_rounds import FROM_NOTHING, MAX_CLASSES, MAX_ROUND_COLUMNS, GradientRounds
from tremula.aspen.second_start import FROM_START, START, Mixture, Run, find_share, is_promising
from tremula.aspen.task import Task
from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.parallel import train_members
from tremula.perturb import Sample
from tremula.trees.tree import Tree

Joined = tuple[int, float]  # rounds and share of a run of boosting
NOT_JOINED: Joined = (0, 0.0)


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
    blend_share : float
        Share of the blend's margins that the corrections are added to.
    gradient_rounds, second_rounds : int
        Rounds of the runs of boosting from nothing and from a quarter of the blend; 0 if they have no share.
    gradient_share, second_share : float
        Shares of these runs in the margins.
    """

    trees: list[Tree]
    n_rounds: int
    predictions: np.ndarray
    was_tried: bool
    blend_share: float = 1.0
    gradient_rounds: int = 0
    gradient_share: float = 0.0
    second_rounds: int = 0
    second_share: float = 0.0


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

    def correct(self, margins: np.ndarray, scoring: ScoringRows, task: Task, is_short: bool) -> Corrections:
        """Boost from the out-of-bag margins of a blend, and keep the number of rounds with the least loss.

        Parameters
        ----------
        margins : array (n_scoring, n_outputs)
            Margins of the scoring rows.
        scoring : ScoringRows
        task : Task
        is_short : bool
            Whether a few rounds are enough, as for a trial with few members.
        """
        pace = replace(FROM_BLEND, n_rounds=EVERY) if is_short else FROM_BLEND
        start = np.zeros((self.sample.n_rows, self.n_outputs))
        start[scoring.rows] = margins
        parts = make_parts(self.sample, scoring.rows, self.root_seed) if len(scoring) >= 2 * N_PARTS else []
        boosting = Boosting(self.table.columns, self.sample, parts, start, self.root_seed, pace)
        boosted = self._boost(boosting, range(len(parts)))
        if len(boosted) < len(parts) or not parts:
            return Corrections([], 0, task.predictions(margins), was_tried=False)
        held_out = ScoringRows.of(self.sample, np.concatenate(parts))
        first = Run.of(boosted, held_out, task)
        mixture, gradient, second = Mixture(first.margins, first.trees), NOT_JOINED, NOT_JOINED
        if self.sample.n_classes and not is_short:
            mixture, gradient, second = self._join_further_runs(mixture, boosting, held_out, task)
        start[held_out.rows] = mixture.margins
        predictions = task.predictions(start[scoring.rows])
        return Corrections(mixture.trees, first.n_rounds, predictions, True, mixture.blend_share, *gradient, *second)

    def _join_further_runs(
        self, mixture: Mixture, boosting: Boosting, held_out: ScoringRows, task: Task
    ) -> tuple[Mixture, Joined, Joined]:
        """Join the runs that start from nothing and from a quarter of the blend."""
        gradient = NOT_JOINED
        n_classes, columns = self.sample.n_classes, self.table.columns
        is_small = n_classes <= MAX_CLASSES and n_classes * columns.n_attributes <= MAX_ROUND_COLUMNS
        if is_small and columns.directions is None:
            newton = replace(boosting, start=0.0 * boosting.start, pace=FROM_NOTHING, kind=GradientRounds)
            mixture, gradient = self._join(mixture, newton, 0.0, held_out, task)
        quarter = replace(boosting, start=START * boosting.start, pace=FROM_START)
        mixture, second = self._join(mixture, quarter, START, held_out, task)
        return mixture, (gradient[0], gradient[1] * (1.0 - second[1])), second

    def _join(
        self, mixture: Mixture, boosting: Boosting, start: float, held_out: ScoringRows, task: Task
    ) -> tuple[Mixture, Joined]:
        """Join a run with the share that helps; return its rounds and share."""
        run = self._run_again(boosting, mixture.margins, held_out, task)
        share = 0.0 if run is None else find_share(mixture.margins, run.margins, held_out, task)
        if run is None or not share:
            return mixture, NOT_JOINED
        return mixture.joined(run, start, share), (run.n_rounds, share)

    def _run_again(self, boosting: Boosting, margins: np.ndarray, held_out: ScoringRows, task: Task) -> Run | None:
        """Boost from another start; None unless the first part shows that it is worth the time."""
        boosted = self._boost(boosting, range(1))
        if not boosted:
            return None
        of_part = ScoringRows.of(self.sample, boosted[0].rows)
        if not is_promising(margins[: len(of_part)], boosted[0], of_part, task):
            return None
        boosted += self._boost(boosting, range(1, len(boosting.parts)))
        return Run.of(boosted, held_out, task) if len(boosted) == len(boosting.parts) else None

    def _boost(self, boosting: Boosting, numbers: range) -> list[Part]:
        """Boost without each of these parts; fewer if a callback asks to stop."""
        boosted = []
        for part in self._each(boosting, numbers):
            boosted.append(part)
            self._end_part()
        return boosted

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
