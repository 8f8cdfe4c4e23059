"""Searches for the amount of noise with the least loss on validation rows, which did not train the model.

No noise is always a candidate and ties go to the smaller amount, so noise is added only where it helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.combine import largest
from tremula.losses import absolute_errors, log_losses, squared_errors, zero_one_losses

Floats = NDArray[np.float64]

SEARCHES = ("grid", "golden_section")
MAX_EVALUATIONS = 15  # of the paper
GOLDEN = (5.0**0.5 - 1.0) / 2.0
FACTORS = (0.0, 0.5, 2.0)  # by which the amount of an attribute is multiplied
N_SWEEPS = 2
LEAST_AMOUNT = 0.1  # start of the search by attribute if the same noise on all attributes did not help


# Losses of rows, from their targets and the model's outputs. A class that the model does not know has code -1.
RowLoss = Callable[[NDArray[Any], Floats], Floats]
LOSSES: dict[str, RowLoss] = {
    "error": lambda codes, probabilities: zero_one_losses(codes, largest(probabilities)),
    "log_loss": log_losses,
    "squared_error": lambda target, outputs: squared_errors(target, outputs[:, 0]),
    "absolute_error": lambda target, outputs: absolute_errors(target, outputs[:, 0]),
}


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows on which amounts of noise are compared.

    Attributes
    ----------
    answers : callable
        From one amount for each attribute, or for each tree and attribute, to the model's smoothed answers for these
        rows, (n_rows, n_outputs).
    target : array (n_rows,)
        Class codes, or numbers.
    weights : float64 array (n_rows,) or None
    """

    answers: Callable[[Floats], Floats]
    target: NDArray[Any]
    weights: Floats | None = None

    def losses(self, amounts: Floats, scorings: Sequence[str]) -> Floats:
        """Return the losses of the rows, (n_scorings, n_rows), at one amount for each attribute."""
        answers = self.answers(amounts)
        return np.array([LOSSES[scoring](self.target, answers) for scoring in scorings])


@dataclass(frozen=True, eq=False)
class PooledLoss:
    """The mean loss over all validation rows, as a function of the amount of noise."""

    parts: Sequence[ValidationRows]
    scoring: str
    n_attributes: int

    def __call__(self, amount: float | Floats) -> float:
        """Mean loss at one amount for all attributes, one for each, or one for each tree and attribute."""
        return float(self.of_rows(amount, [self.scoring])[0] @ self.weights) / float(self.weights.sum())

    def of_rows(self, amount: float | Floats, scorings: Sequence[str]) -> Floats:
        """Losses of all rows, (n_scorings, n_rows)."""
        amounts = np.asarray(amount, dtype=np.float64)
        if amounts.ndim < 2:
            amounts = np.broadcast_to(amounts, (self.n_attributes,))
        return np.concatenate([part.losses(amounts, scorings) for part in self.parts], axis=1)

    @cached_property
    def weights(self) -> Floats:
        """Weights of all rows."""
        each = [np.ones(len(part.target)) if part.weights is None else part.weights for part in self.parts]
        return np.concatenate(each)


@dataclass(frozen=True, eq=False)
class ChosenNoise:
    """The chosen amount, and all amounts that were tried.

    Attributes
    ----------
    amount : float or float64 array (n_attributes,) or (n_trees, n_attributes)
    curve : float64 array (n_tried, 2)
        Amounts for all attributes alike with their losses, sorted by amount.
    loss : float
        Loss at the chosen amount.
    """

    amount: float | Floats
    curve: Floats
    loss: float


def golden_section(
    loss: Callable[[float], float], max_amount: float, max_evaluations: int = MAX_EVALUATIONS
) -> ChosenNoise:
    """Search between no noise and `max_amount` for the amount of least loss, which should fall and then rise.

    Examples
    --------
    >>> chosen = golden_section(lambda amount: (amount - 0.3) ** 2, max_amount=2.0)
    >>> round(chosen.amount, 2), len(chosen.curve)
    (0.3, 15)
    >>> golden_section(lambda amount: 1.0, max_amount=2.0).amount
    0.0
    """
    seen: dict[float, float] = {0.0: loss(0.0)}

    def loss_at(amount: float) -> float:
        if amount not in seen:
            seen[amount] = loss(amount)
        return seen[amount]

    low, high = 0.0, float(max_amount)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(max_evaluations - 2):  # the first step evaluates two new amounts, each later one a single one
        if loss_at(left) <= loss_at(right):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
    best = min(seen, key=lambda amount: (seen[amount], amount))
    return ChosenNoise(best, np.array(sorted(seen.items())), seen[best])


def search_by_attribute(loss: Callable[[Floats], float], start: ChosenNoise, tested: NDArray[np.bool_]) -> ChosenNoise:
    """Change the amount of one attribute after the other, as long as the loss decreases.

    Parameters
    ----------
    loss : callable
        From one amount for each attribute to the loss.
    start : ChosenNoise
        The amount for all attributes alike that the search starts from.
    tested : bool array (n_attributes,)
        Attributes to try; the amounts of the others stay.

    Examples
    --------
    >>> import numpy as np
    >>> start = golden_section(lambda amount: (amount - 0.5) ** 2, max_amount=2.0)
    >>> search_by_attribute(lambda amounts: float(amounts[1]), start, np.array([True, True])).amount.round(1)
    array([0.5, 0. ])
    """
    amounts = np.full(len(tested), float(start.amount))
    best = start.loss
    for _ in range(N_SWEEPS):
        before = best
        for attribute in np.flatnonzero(tested):
            base = max(amounts[attribute], LEAST_AMOUNT)
            for amount in (factor * base for factor in FACTORS):
                tried = amounts.copy()
                tried[attribute] = amount
                new_loss = loss(tried) if amount != amounts[attribute] else best
                if new_loss < best:
                    best, amounts = new_loss, tried
        if best == before:
            break
    return ChosenNoise(amounts, start.curve, best)
