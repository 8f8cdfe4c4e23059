"""A second run of boosting, which starts from a quarter of the blend's margins, and its share in the corrections.

Where classes depend on several attributes together, a blend is too sure of what its families have learnt, and boosting
from all of it finds nothing left to correct. The margins of both runs are averaged, which is the blend to another power
and one sum of trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from tremula.aspen.boosted_corrections import EVERY, Pace, Part, average
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.task import Task
from tremula.trees.tree import Tree

START = 0.25  # share of the blend's margins from which the second run starts
FROM_START = Pace(n_rounds=60, patience=10, rate=0.4, shrinkage=2.0)
ROWS_AGAINST = 10.0  # pseudo-rows against the second run


@dataclass(frozen=True)
class Run:
    """A run of boosting, without each part in turn, cut off at the number of rounds with the least loss.

    Attributes
    ----------
    n_rounds : int
    margins : array (n_rows, n_outputs)
        Of the held-out rows of all parts, one part after the other.
    trees : list of Tree
        Their sum is the mean correction of the parts.
    """

    n_rounds: int
    margins: np.ndarray
    trees: list[Tree]

    @classmethod
    def of(cls, parts: Sequence[Part], held_out: ScoringRows, task: Task) -> Run:
        """Choose the number of rounds on the held-out rows."""
        stages = np.concatenate([part.margins for part in parts], axis=1)
        losses = np.array([task.loss(task.predictions(stage), held_out) for stage in stages])
        best = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
        return cls(best * EVERY, stages[best], average(parts, best * EVERY))


def is_promising(first: Part, second: Part, held_out: ScoringRows, task: Task) -> bool:
    """Whether the mean of both runs is better than the first run on the held-out rows of one part."""
    of_first, of_second = Run.of([first], held_out, task).margins, Run.of([second], held_out, task).margins
    loss = task.loss(task.predictions(of_first), held_out)
    return bool(task.loss(task.predictions((of_first + of_second) / 2.0), held_out) < loss)


def find_share(first: np.ndarray, second: np.ndarray, held_out: ScoringRows, task: Task) -> float:
    """Find the share of the second run's margins with the least loss on held-out rows.

    Examples
    --------
    >>> from tremula.aspen.task import ClassTask
    >>> rows = ScoringRows(np.arange(900), np.repeat([0, 1, 1], 300), np.ones(900))
    >>> sure, right = np.array([[3.0, 0.0]]), np.array([[0.0, np.log(2.0)]])
    >>> task = ClassTask(np.array([0.5, 0.5]))
    >>> find_share(np.repeat(sure, 900, axis=0), np.repeat(right, 900, axis=0), rows, task) > 0.9
    True
    """
    penalty = ROWS_AGAINST / len(held_out)

    def loss(share: float) -> float:
        margins = (1.0 - share) * first + share * second
        return task.loss(task.predictions(margins), held_out) + penalty * share**2

    share = float(minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-2}).x)
    return share if loss(share) < loss(0.0) else 0.0


def scaled(trees: Sequence[Tree], factor: float) -> list[Tree]:
    """Return trees with their values times a factor."""
    return [Tree(t.nodes, t.values * factor, t.subsets, t.n_levels, t.strict) for t in trees]
