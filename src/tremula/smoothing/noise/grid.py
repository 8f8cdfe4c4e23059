"""Chooses the amount of noise from a grid in logarithmic steps, and refuses noise that has not proved to help.

An amount is accepted if its mean loss on the validation rows is below that without noise by at least one standard error
of the paired difference. Where classes are judged by log loss, the amount must not cost errors: log loss alone rewards
noise for making a tree less certain even where it predicts more wrong classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.smoothing.noise.search import ChosenNoise, PooledLoss

Floats = NDArray[np.float64]

N_AMOUNTS = 17
STEPS_TO_DOUBLE = 2  # neighbouring amounts differ by the root of 2
MIN_GAIN = 1.0  # standard errors by which the loss must be below that without noise
CLEARLY = 2.0  # standard errors by which a loss is clearly above another
N_WORSE = 2  # amounts in succession that are clearly worse than the best so far end the search


@dataclass(frozen=True)
class MeanDifference:
    """Mean of paired differences and its standard error."""

    mean: float
    standard_error: float

    def exceeds(self, n_standard_errors: float) -> bool:
        """Whether the mean is above 0 and above so many standard errors."""
        return self.mean > 0.0 and self.mean > n_standard_errors * self.standard_error


def _mean(losses: Floats, weights: Floats) -> float:
    return float(losses @ weights) / float(weights.sum())


def mean_difference(first: Floats, second: Floats, weights: Floats) -> MeanDifference:
    """Compare the losses of the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> mean_difference(np.array([1.0, 3.0]), np.array([0.0, 0.0]), np.ones(2))
    MeanDifference(mean=2.0, standard_error=1.0)
    """
    differences = first - second
    mean, n_rows = _mean(differences, weights), int(np.count_nonzero(weights))
    if n_rows < 2:
        return MeanDifference(mean, np.inf)
    # Losses are squares of targets, so their squares may overflow or vanish. A power of two leaves all digits.
    unit = 2.0 ** int(np.frexp(np.abs(differences).max())[1] - 1)
    squares = float(weights**2 @ ((differences - mean) / unit) ** 2) * n_rows / (n_rows - 1)
    return MeanDifference(mean, unit * squares**0.5 / float(weights.sum()))


@dataclass(frozen=True, eq=False)
class Trial:
    """Losses of the validation rows at one amount, or one for each attribute; and errors where these count too."""

    amount: float | Floats
    losses: Floats
    errors: Floats | None = None


def try_amount(loss: PooledLoss, amount: float | Floats) -> Trial:
    """Return the losses of all validation rows; with log loss as the judge, also their errors."""
    losses, *errors = loss.of_rows(amount, [loss.scoring, "error"] if loss.scoring == "log_loss" else [loss.scoring])
    return Trial(amount, losses, *errors)


def grid_amounts(max_amount: float) -> Floats:
    """Return the amounts of the grid from small to large, no noise first.

    Examples
    --------
    >>> grid_amounts(2.0).round(3)
    array([0.   , 0.008, 0.011, 0.016, 0.022, 0.031, 0.044, 0.062, 0.088,
           0.125, 0.177, 0.25 , 0.354, 0.5  , 0.707, 1.   , 1.414, 2.   ])
    """
    return np.concatenate([[0.0], max_amount * 2.0 ** (-np.arange(N_AMOUNTS)[::-1] / STEPS_TO_DOUBLE)])


def grid_search(trial_of: Callable[[float], Trial], weights: Floats, max_amount: float) -> ChosenNoise:
    """Choose an amount of the grid, or no noise.

    Parameters
    ----------
    trial_of : callable
        From an amount for all attributes alike to the losses of the validation rows.
    weights : float64 array (n_rows,)
        Weights of the rows.
    max_amount : float
        The largest amount; larger ones than those that are clearly worse than the best are not tried.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.linspace(0.9, 1.1, 50)
    >>> valley = lambda amount: Trial(amount, rows * (amount - 0.3) ** 2)
    >>> chosen = grid_search(valley, np.ones(50), max_amount=2.0)
    >>> round(chosen.amount, 2), len(chosen.curve)
    (0.25, 14)
    >>> grid_search(lambda amount: Trial(amount, rows), np.ones(50), max_amount=2.0).amount
    0.0
    """
    trials = _try_amounts(trial_of, weights, max_amount)
    chosen = choose_trial(trials, weights)
    curve = np.array([[trial.amount, _mean(trial.losses, weights)] for trial in trials])
    return ChosenNoise(chosen.amount, curve, _mean(chosen.losses, weights))


def _try_amounts(trial_of: Callable[[float], Trial], weights: Floats, max_amount: float) -> list[Trial]:
    """Try larger and larger amounts until some in succession are clearly worse than the best."""
    amounts = grid_amounts(max_amount).tolist()
    trials = [trial_of(amounts[0])]
    best, n_worse = trials[0], 0
    for amount in amounts[1:]:
        trial = trial_of(amount)
        trials.append(trial)
        increase = mean_difference(trial.losses, best.losses, weights)
        best = trial if increase.mean < 0 else best
        n_worse = n_worse + 1 if increase.exceeds(CLEARLY) else 0
        if n_worse == N_WORSE:
            break
    return trials


def accept_each(loss: PooledLoss, common: ChosenNoise, each: ChosenNoise) -> ChosenNoise:
    """Return amounts for each attribute if they beat the common amount as noise must beat no noise, else the latter.

    Parameters
    ----------
    loss : PooledLoss
    common : ChosenNoise
        With one amount for all attributes alike.
    each : ChosenNoise
        With one amount for each attribute.
    """
    reference, trial = (try_amount(loss, chosen.amount) for chosen in (common, each))
    return each if choose_trial([reference, trial], loss.weights) is trial else for_each_attribute(loss, common)


def for_each_attribute(loss: PooledLoss, chosen: ChosenNoise) -> ChosenNoise:
    """Repeat a common amount for each attribute."""
    return replace(chosen, amount=np.broadcast_to(chosen.amount, (loss.n_attributes,)).copy())


def choose_trial(trials: Sequence[Trial], weights: Floats) -> Trial:
    """Return the trial of least loss without more errors if it beats the first one clearly enough, else the first."""
    candidates = [trial for trial in trials if not _costs_errors(trial, trials, weights)]
    best = min(candidates, key=lambda trial: _mean(trial.losses, weights))
    return best if mean_difference(trials[0].losses, best.losses, weights).exceeds(MIN_GAIN) else trials[0]


def _costs_errors(trial: Trial, trials: Sequence[Trial], weights: Floats) -> bool:
    """Whether there are more errors than in the first trial, or clearly more than in the best one."""
    if trial.errors is None:
        return False
    errors = [each.errors for each in trials if each.errors is not None]
    fewest = min(errors, key=lambda each: _mean(each, weights))
    more_than_first = mean_difference(trial.errors, errors[0], weights).exceeds(0.0)
    return more_than_first or mean_difference(trial.errors, fewest, weights).exceeds(CLEARLY)
