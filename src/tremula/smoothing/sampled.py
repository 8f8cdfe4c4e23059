"""Dual perturb and combine by drawing, for any model: shake each row many times, ask the model, combine the answers.

All rows are shaken by the same draws. So an answer depends on its row and the seed alone: not on the other rows, their
order, nor the number of jobs; and it changes little where the row does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tremula.seeds import member_generator

Floats = NDArray[np.float64]

ROWS_PER_BLOCK = 1024  # rows worked on by one job: never changes, so that neither do the bits of an answer
ROWS_PER_CALL = 16384  # rows and draws given to the model at a time


@dataclass(frozen=True, eq=False)
class Draws:
    """What shakes the rows: for each draw a standard normal number and two uniform ones for every attribute.

    Attributes
    ----------
    normal : float64 array (n_draws, n_attributes)
    chance, choice : float64 arrays (n_draws, n_attributes)
        Whether a nominal level is replaced, and by which.
    """

    normal: Floats
    chance: Floats
    choice: Floats


def make_draws(root_seed: int, n_draws: int, n_attributes: int) -> Draws:
    """Draw what shakes the rows; more samples keep the draws of fewer.

    Examples
    --------
    >>> few, many = make_draws(7, 3, 2), make_draws(7, 5, 2)
    >>> bool((few.normal == many.normal[:3]).all())
    True
    """
    shape = (n_draws, n_attributes)
    streams = [member_generator(root_seed, number) for number in range(3)]
    return Draws(streams[0].standard_normal(shape), streams[1].random(shape), streams[2].random(shape))


def other_level(levels: Floats, choice: float, shares: Floats) -> Floats:
    """Replace each level by another, drawn from the training shares of the others; missing ones stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> other_level(np.array([0.0, 1.0, 2.0]), 0.5, np.array([0.5, 0.25, 0.25]))
    array([2., 0., 0.])
    """
    table = np.arange(len(shares), dtype=np.float64)
    for level in range(len(shares)):
        others = np.where(np.arange(len(shares)) == level, 0.0, shares)
        if others.sum() > 0:
            table[level] = np.searchsorted(np.cumsum(others / others.sum()), choice, side="right")
    present = ~np.isnan(levels)
    out = levels.copy()
    out[present] = np.minimum(table[levels[present].astype(np.intp)], len(shares) - 1)
    return out


def shake(
    rows: Floats, noise_sd: Floats, draws: Draws, number: int, flip: float, level_shares: tuple[Floats | None, ...]
) -> Floats:
    """Return the rows as one draw shakes them: numbers moved by noise, levels replaced with probability `flip`."""
    shaken = rows + noise_sd * draws.normal[number]
    for attribute, shares in enumerate(level_shares):
        if shares is not None:
            replaced = draws.chance[number, attribute] < flip
            choice = draws.choice[number, attribute]
            shaken[:, attribute] = other_level(rows[:, attribute], choice, shares) if replaced else rows[:, attribute]
    return shaken


def sample_answers(
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float = 0.0,
    level_shares: tuple[Floats | None, ...] = (),
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Mean and standard deviation of a model's answers to shaken rows.

    Parameters
    ----------
    answer : callable
        From rows to answers, shape (n_rows, n_outputs).
    rows : float64 array (n_rows, n_attributes)
    noise_sd : float64 array (n_attributes,) or (n_rows, n_attributes)
        Standard deviation of the noise on every attribute, or value.
    draws : Draws
    flip : float, default=0.0
        Probability that a nominal level is replaced.
    level_shares : tuple of arrays or None, one an attribute
        Training shares of the levels of nominal attributes.
    n_jobs : int or None, default=None

    Returns
    -------
    means, deviations : float64 arrays (n_rows, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> means, deviations = sample_answers(
    ...     lambda rows: (rows > 0).astype(float), np.array([[1.0]]), np.array([1.0]), make_draws(0, 10_000, 1)
    ... )
    >>> means.round(1), deviations.round(1)  # Φ(1) = 0.84
    (array([[0.8]]), array([[0.4]]))
    """
    spread = np.broadcast_to(noise_sd, rows.shape)
    starts = range(0, len(rows), ROWS_PER_BLOCK)
    blocks = [slice(start, start + ROWS_PER_BLOCK) for start in starts]
    work = (delayed(_sum_block)(answer, rows[b], spread[b], draws, flip, level_shares) for b in blocks)
    sums: list[Any] = Parallel(n_jobs=n_jobs, require="sharedmem")(work)
    n_draws = len(draws.normal)
    means = np.concatenate([total for total, _ in sums]) / n_draws
    squares = np.concatenate([total for _, total in sums]) / n_draws
    return means, np.sqrt(np.maximum(squares - means**2, 0.0))


def _sum_block(
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float,
    level_shares: tuple[Floats | None, ...],
) -> tuple[Floats, Floats]:
    """Sum of the answers, and of their squares, draw by draw; small blocks ask for several draws in one call."""
    n_draws, at_once = len(draws.normal), max(1, ROWS_PER_CALL // len(rows))
    total: Any = 0.0
    squares: Any = 0.0
    for first in range(0, n_draws, at_once):
        numbers = range(first, min(first + at_once, n_draws))
        shaken = [shake(rows, noise_sd, draws, number, flip, level_shares) for number in numbers]
        answers = answer(np.concatenate(shaken)).reshape(len(numbers), len(rows), -1)
        for given in answers:
            total, squares = total + given, squares + given**2
    return total, squares
