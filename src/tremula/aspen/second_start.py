"""Further runs of boosting, which start from a quarter of the blend's margins or from nothing, and their shares.

Where classes depend on several attributes together, a blend is too sure of what its families have learnt, and boosting
from all of it finds nothing left to correct. The margins of the runs are averaged, which is the blend to another power
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
ROWS_AGAINST = 10.0  # pseudo-rows against a further run


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
        stages = list(zip(*(part.margins for part in parts), strict=True))
        losses: list[float] = []
        for number, stage in enumerate(stages):
            if number and all(map(np.array_equal, stage, stages[number - 1])):  # all parts had stopped
                losses.append(losses[-1])
            else:
                losses.append(task.loss(task.predictions(np.concatenate(stage)), held_out))
        best = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
        return cls(best * EVERY, np.concatenate(stages[best]), average(parts, best * EVERY))


@dataclass(frozen=True)
class Mixture:
    """Weighted mean of runs of boosting.

    Attributes
    ----------
    margins : array (n_rows, n_outputs)
        Of the held-out rows, as of a run.
    trees : list of Tree
    blend_share : float
        Share of the blend's margins that the trees are added to.
    """

    margins: np.ndarray
    trees: list[Tree]
    blend_share: float = 1.0

    def joined(self, run: Run, start: float, share: float) -> Mixture:
        """Return the mixture with a share of another run, which started from a share of the blend's margins."""
        rest = 1.0 - share
        trees = scaled(self.trees, rest) + scaled(run.trees, share)
        return Mixture(rest * self.margins + share * run.margins, trees, rest * self.blend_share + share * start)


def is_promising(margins: np.ndarray, further: Part, held_out: ScoringRows, task: Task) -> bool:
    """Whether the mean with one part of a further run is better than these margins, on the part's held-out rows."""
    mean = (margins + Run.of([further], held_out, task).margins) / 2.0
    return bool(task.loss(task.predictions(mean), held_out) < task.loss(task.predictions(margins), held_out))


def find_share(first: np.ndarray, second: np.ndarray, held_out: ScoringRows, task: Task) -> float:
    """Find the share of a further run's margins with the least loss on held-out rows.

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
