"""Trains what an Aspen is made of, one after the other: members of families, then corrections of their blend.

Callbacks are told of each; once one of them wants no more, nothing further is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from tremula.aspen.boosted_corrections import EVERY, N_PARTS, N_ROUNDS, Boosting, Part, average, make_parts
from tremula.aspen.families import Family, FamilyTraining
from tremula.aspen.family_members import Group, Judges
from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.member import TreeTrainer
from tremula.parallel import train_members
from tremula.perturb import Sample
from tremula.perturb.sample import Values

if TYPE_CHECKING:
    from tremula.aspen.base import Aspen

N_TRIED = 20  # members by which a family is judged first


class Growing:
    """Trains what an Aspen is made of one after the other, and tells callbacks of each."""

    def __init__(
        self, model: Aspen, trainer: TreeTrainer, sample: Sample, known: Values, tasks: MemberTasks, n_outputs: int
    ) -> None:
        self.model, self.trainer, self.sample, self.known = model, trainer, sample, known
        self.tasks, self.n_outputs = tasks, n_outputs
        self.is_stopped = self.has_boosted = False
        self.trained: list[Member] = []

    def grow(self, group: Group, family: Family, n_members: int) -> None:
        """Train the members that a group wants of so many."""
        training = FamilyTraining.of(family, self.trainer, self.sample, self.known, self.model._root_seed)
        for one in self._each(training, range(len(group.members), n_members)):
            group.add(one.member, one.rows, one.answers)
            self.trained.append(one.member)
            self._end_member()

    def correct(self, start: np.ndarray, judges: Judges) -> tuple[np.ndarray, int]:
        """Boost from what a blend says of rows it has not seen; return the answers then, and how many rounds paid."""
        model, n_rounds = self.model, N_ROUNDS if self.model._ceiling() >= N_TRIED else EVERY
        margins = np.zeros((self.sample.n_rows, self.n_outputs))
        margins[judges.rows] = start
        parts = make_parts(self.sample, judges.rows, model._root_seed) if len(judges) >= 2 * N_PARTS else []
        boosting = Boosting(self.trainer.columns, self.sample, parts, margins, model._root_seed, n_rounds)
        boosted: list[Part] = []
        for part in self._each(boosting, range(len(parts))):
            boosted.append(part)
            self._end_member()
        if len(boosted) < len(parts) or not parts:
            return model._as_answers(start), 0
        self.has_boosted = True
        rows = np.concatenate([part.rows for part in boosted])
        stages = np.concatenate([part.margins for part in boosted], axis=1)
        judged = Judges.of(self.sample, rows)
        losses = np.array([model._loss(model._as_answers(stage), judged) for stage in stages])
        best = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
        model.corrections_ = average(boosted, best * EVERY)
        margins[rows] = stages[best]
        return model._as_answers(margins[judges.rows]), best * EVERY

    def _each(self, training: Callable[[range], list[Any]], numbers: range) -> Iterator[Any]:
        if self.is_stopped or not len(numbers):
            return
        with closing(train_members(training, numbers, self.model.n_jobs, self.model.verbose)) as trained:
            for result in self.tasks.each(trained, len(numbers)):
                yield result
                if self.is_stopped:
                    break

    def _end_member(self) -> None:
        count = len(self.trained)
        self.is_stopped |= self.tasks.end_member(
            lambda: {"members_": list(self.trained), "member_weights_": np.full(count, 1.0 / count)}
        )
