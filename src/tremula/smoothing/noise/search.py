"""Chooses how much to shake: the level of noise that rows which did not train the model judge best.

No noise is always a candidate and ties go to the smaller level, so that noise is added only where it helped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.combine import largest
from tremula.losses import absolute_errors, log_losses, squared_errors, zero_one_losses

Floats = NDArray[np.float64]

MAX_EVALUATIONS = 15  # of the paper
GOLDEN = (5.0**0.5 - 1.0) / 2.0
FACTORS = (0.0, 0.5, 2.0)  # tried on the level of each attribute
N_SWEEPS = 2
LEAST_AMOUNT = 0.1  # where the search by attribute starts from if no common noise helped


# Losses of rows, from their targets and the model's outputs. A class that the model does not know has code -1.
LOSSES: dict[str, Callable[[NDArray[Any], Floats], Floats]] = {
    "error": lambda codes, probabilities: zero_one_losses(codes, largest(probabilities)),
    "log_loss": log_losses,
    "squared_error": lambda target, outputs: squared_errors(target, outputs[:, 0]),
    "absolute_error": lambda target, outputs: absolute_errors(target, outputs[:, 0]),
}


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows that judge a level of noise.

    Attributes
    ----------
    answers : callable
        From one level for each attribute to the model's smoothed answers for these rows, (n_rows, n_outputs).
    target : array (n_rows,)
        Class codes, or numbers.
    weights : float64 array (n_rows,) or None
    """

    answers: Callable[[Floats], Floats]
    target: NDArray[Any]
    weights: Floats | None = None


@dataclass(frozen=True, eq=False)
class PooledLoss:
    """The mean loss over all rows that judge, as a function of the level."""

    judges: Sequence[ValidationRows]
    scoring: str
    n_attributes: int

    def __call__(self, level: float | Floats) -> float:
        """Mean loss at one level for all attributes, or one for each."""
        levels = np.broadcast_to(np.asarray(level, dtype=np.float64), (self.n_attributes,))
        total = weight = 0.0
        for judge in self.judges:
            losses = LOSSES[self.scoring](judge.target, judge.answers(levels))
            weights = np.ones(len(losses)) if judge.weights is None else judge.weights
            total, weight = total + float(losses @ weights), weight + float(weights.sum())
        return total / weight


@dataclass(frozen=True, eq=False)
class ChosenNoise:
    """The level that was chosen, and all that were tried.

    Attributes
    ----------
    level : float or float64 array (n_attributes,)
    curve : float64 array (n_tried, 2)
        Levels common to all attributes with their losses, in order of the level.
    loss : float
        Loss at the level chosen.
    """

    level: float | Floats
    curve: Floats
    loss: float


def golden_section(
    loss: Callable[[float], float], max_level: float, max_evaluations: int = MAX_EVALUATIONS
) -> ChosenNoise:
    """Search between no noise and `max_level` for the level of least loss, which should fall and then rise.

    Examples
    --------
    >>> chosen = golden_section(lambda level: (level - 0.3) ** 2, max_level=2.0)
    >>> round(chosen.level, 2), len(chosen.curve)
    (0.3, 15)
    >>> golden_section(lambda level: 1.0, max_level=2.0).level
    0.0
    """
    seen: dict[float, float] = {0.0: loss(0.0)}

    def judged(level: float) -> float:
        if level not in seen:
            seen[level] = loss(level)
        return seen[level]

    low, high = 0.0, float(max_level)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(max_evaluations - 2):  # the first time two levels are new, then one
        if judged(left) <= judged(right):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
    best = min(seen, key=lambda level: (seen[level], level))
    return ChosenNoise(best, np.array(sorted(seen.items())), seen[best])


def search_by_attribute(loss: Callable[[Floats], float], start: ChosenNoise, tested: NDArray[np.bool_]) -> ChosenNoise:
    """Change the level of one attribute after the other, as long as the loss gets less.

    Parameters
    ----------
    loss : callable
        From one level for each attribute to the loss.
    start : ChosenNoise
        The level common to all that the search starts from.
    tested : bool array (n_attributes,)
        Attributes worth trying; the levels of others stay.

    Examples
    --------
    >>> import numpy as np
    >>> start = golden_section(lambda level: (level - 0.5) ** 2, max_level=2.0)
    >>> search_by_attribute(lambda levels: float(levels[1]), start, np.array([True, True])).level.round(1)
    array([0.5, 0. ])
    """
    levels = np.full(len(tested), float(start.level))
    best = start.loss
    for _ in range(N_SWEEPS):
        before = best
        for attribute in np.flatnonzero(tested):
            base = max(levels[attribute], LEAST_AMOUNT)
            for level in (factor * base for factor in FACTORS):
                tried = levels.copy()
                tried[attribute] = level
                found = loss(tried) if level != levels[attribute] else best
                if found < best:
                    best, levels = found, tried
        if best == before:
            break
    return ChosenNoise(levels, start.curve, best)
