"""Fits an amount of noise for each attribute, or for each tree and attribute, by gradient descent.

Validation rows are divided into two halves. The amounts are fitted to one half and judged on the other: this gives the
number of steps, and the losses that decide whether the amounts are accepted at all. The accepted ones are then fitted
to all rows, by as many steps. Nothing is drawn at random.

What is fitted are the ratios of the amounts: in the end all are multiplied by the factor with which the whole model
has the least loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tremula.smoothing.noise.grid import Trial, choose_trial, for_each_attribute, try_amount
from tremula.smoothing.noise.search import ChosenNoise, PooledLoss
from tremula.smoothing.noise.slopes import LossWithSlopes, with_slopes, without_axis

Floats = NDArray[np.float64]

MAX_STEPS = 20
LEAST_SHARE = 1 / 256  # of the largest amount: amounts fitted below it become 0
RIDGE = 0.002  # penalty, as a share of the loss, for the square of an amount's change in units of a factor e
SIZES = 2.0 ** np.arange(-2.0, 1.5, 0.5)  # by which fitted amounts are multiplied
LEAST_START = 1 / 32  # of the largest amount: the descent starts no lower, since without noise nothing has a slope


@dataclass(frozen=True, eq=False)
class Descent:
    """The loss of validation rows as a function of the logarithms of amounts.

    Attributes
    ----------
    parts : sequence of LossWithSlopes
        Losses of rows; their losses are concatenated.
    is_free : bool array (n_attributes,)
        Attributes whose amounts are fitted; those of the others stay.
    max_amount : float
    """

    parts: Sequence[LossWithSlopes]
    is_free: NDArray[np.bool_]
    max_amount: float

    def losses_and_slopes(self, amounts: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return the losses of all rows, and the derivatives of their weighted sum by the logarithms of amounts."""
        losses, slopes, start = [], np.zeros_like(amounts), 0
        for part in self.parts:
            part_losses, part_slopes = part(amounts)
            slopes += part_slopes(weights[start : start + len(part_losses)])
            losses.append(part_losses)
            start += len(part_losses)
        return np.concatenate(losses), slopes

    def losses(self, amounts: Floats) -> Floats:
        """Return the losses of all rows."""
        return np.concatenate([part(amounts)[0] for part in self.parts])

    def path(self, start: Floats, weights: Floats, n_steps: int) -> list[tuple[Floats, Floats]]:
        """Descend from amounts (1 or n_trees, n_attributes) and return the amounts and row losses after each step."""
        share, first = weights / weights.sum(), np.log(start[:, self.is_free]).ravel()
        unit = float(self.losses(start) @ share) or 1.0
        seen: dict[bytes, Floats] = {}

        def amounts_at(logarithms: Floats) -> Floats:
            amounts = start.copy()
            amounts[:, self.is_free] = np.exp(logarithms).reshape(len(start), -1)
            return amounts

        def value(logarithms: Floats) -> tuple[float, Floats]:
            losses, slopes = self.losses_and_slopes(amounts_at(logarithms), share)
            seen[logarithms.tobytes()] = losses
            ridge, moved = RIDGE / len(start), logarithms - first
            value = float(losses @ share) / unit + ridge * float(moved @ moved)
            return value, slopes[:, self.is_free].ravel() / unit + 2.0 * ridge * moved

        steps = [first]
        limits = [(np.log(self.max_amount * LEAST_SHARE), np.log(self.max_amount))] * len(first)
        minimize(
            value,
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            callback=lambda logarithms: steps.append(logarithms.copy()),
            options={"maxiter": n_steps},
        )
        return [(amounts_at(step), seen[step.tobytes()]) for step in steps if step.tobytes() in seen]


def halves_of(target: NDArray[Any]) -> NDArray[np.bool_]:
    """Divide rows into two halves alike: every other one in the order of the target.

    Examples
    --------
    >>> halves_of(np.array([1, 0, 0, 1, 1, 0])).tolist()
    [True, False, True, False, True, False]
    """
    is_first = np.zeros(len(target), dtype=bool)
    is_first[np.argsort(target, kind="stable")[1::2]] = True
    return is_first


@dataclass(frozen=True, eq=False)
class AmountFit:
    """Fits amounts by descent and judges them on rows they were not fitted to.

    Attributes
    ----------
    loss : PooledLoss
        Judges amounts.
    descent : Descent
        Of the same rows.
    """

    loss: PooledLoss
    descent: Descent

    def __call__(self, rival: ChosenNoise, start: Floats) -> ChosenNoise:
        """Return the fitted amounts, or the rival unless they beat it on rows they were not fitted to.

        Parameters
        ----------
        rival : ChosenNoise
            The amounts to beat.
        start : float64 array (1 or n_trees, n_attributes)
            Amounts to start from.
        """
        weights = self.loss.weights
        is_first = halves_of(np.concatenate([part.target for part in self.loss.parts]))
        paths = [self.descent.path(start, weights * half, MAX_STEPS) for half in (is_first, ~is_first)]
        n_steps = max(map(len, paths))
        paths = [path + [path[-1]] * (n_steps - len(path)) for path in paths]
        crossed = [np.where(is_first, second, first) @ weights for (_, first), (_, second) in zip(*paths)]
        best = int(np.argmin(crossed))
        if best == 0 or not self._is_accepted(rival, [path[best][0] for path in paths], is_first):
            return rival
        amounts = self._sized(self.descent.path(start, weights, best)[-1][0])
        return ChosenNoise(amounts, rival.curve, self.loss(amounts))

    def _is_accepted(self, rival: ChosenNoise, fitted: list[Floats], is_first: NDArray[np.bool_]) -> bool:
        """Whether amounts beat the rival. The first were fitted to the rows of `is_first`, the second to the others."""
        first, second = (try_amount(self.loss, self._sized(amounts)) for amounts in fitted)
        errors = None
        if first.errors is not None and second.errors is not None:
            errors = np.where(is_first, second.errors, first.errors)
        trial = Trial(second.amount, np.where(is_first, second.losses, first.losses), errors)
        return choose_trial([try_amount(self.loss, rival.amount), trial], self.loss.weights) is trial

    def _sized(self, amounts: Floats) -> Floats:
        """Multiply all amounts by the factor of least loss, and set those below the lower limit to 0."""
        largest, free = self.descent.max_amount, self.descent.is_free
        candidates = []
        for size in SIZES:
            scaled = amounts.copy()
            scaled[:, free] = np.minimum(size * amounts[:, free], largest)
            candidates.append(without_axis(np.where(scaled < 1.001 * LEAST_SHARE * largest, 0.0, scaled)))
        return min(candidates, key=self.loss)


def make_descent(loss: PooledLoss, is_free: NDArray[np.bool_], max_amount: float) -> Descent | None:
    """Return the descent of the loss; None if it has no derivatives, or there is nothing to fit."""
    parts = [with_slopes(part, loss.scoring) for part in loss.parts]
    known = [part for part in parts if part is not None]
    return Descent(known, is_free, max_amount) if len(known) == len(parts) and is_free.any() else None


def descend_from(loss: PooledLoss, descent: Descent, common: ChosenNoise, n_trees: int | None) -> ChosenNoise:
    """Fit an amount for each attribute, and then for each tree and attribute if the number of trees is given.

    Parameters
    ----------
    loss : PooledLoss
    descent : Descent
        Of the same rows.
    common : ChosenNoise
        The chosen amount for all attributes alike.
    n_trees : int or None

    Returns
    -------
    ChosenNoise
        With amounts (n_attributes,), or (n_trees, n_attributes) if these are better than the former.
    """
    fit, limits = AmountFit(loss, descent), (LEAST_SHARE * descent.max_amount, descent.max_amount)
    tried = common.curve[common.curve[:, 0] > 0]
    start = max(float(common.amount) or float(tried[np.argmin(tried[:, 1]), 0]), LEAST_START * descent.max_amount)
    each = fit(common, np.full((1, loss.n_attributes), start))
    if n_trees is None:
        return for_each_attribute(loss, each)
    amounts = np.full(loss.n_attributes, start) if each is common else np.clip(each.amount, *limits)
    return fit(for_each_attribute(loss, each), np.tile(amounts, (n_trees, 1)))
