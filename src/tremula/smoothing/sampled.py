"""Dual perturb and combine by sampling, for any model: perturb each row many times and average the predictions.

All rows are perturbed by the same draws. An answer therefore depends on its row and the seed alone, not on the other
rows, their order or the number of jobs; and it changes little if the row does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from tremula.seeds import member_generator

Floats = NDArray[np.float64]

ROWS_PER_BLOCK = 1024  # rows of one job; a constant, so the bits of an answer never change
ROWS_PER_CALL = 16384  # rows, over all draws, in one call of the model


@dataclass(frozen=True, eq=False)
class Draws:
    """Random numbers that perturb the rows: for each draw, one normal and two uniform numbers an attribute.

    Attributes
    ----------
    normal : float64 array (n_draws, n_attributes)
    chance, choice : float64 arrays (n_draws, n_attributes)
        Decide whether the level of a nominal attribute is replaced, and by which.
    """

    normal: Floats
    chance: Floats
    choice: Floats


def make_draws(root_seed: int, n_draws: int, n_attributes: int) -> Draws:
    """Make the draws; the first of many are the same as those of fewer.

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
    """Replace each level by another one, drawn by the training shares of the others; NaN stays.

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


def perturb_rows(
    rows: Floats, noise_sd: Floats, draws: Draws, number: int, flip: float, level_shares: tuple[Floats | None, ...]
) -> Floats:
    """Return the rows perturbed by one draw: noise is added to numbers, levels are replaced with probability `flip`."""
    perturbed = rows + noise_sd * draws.normal[number]
    for attribute, shares in enumerate(level_shares):
        if shares is not None:
            levels, is_replaced = rows[:, attribute], draws.chance[number, attribute] < flip
            choice = draws.choice[number, attribute]
            perturbed[:, attribute] = other_level(levels, choice, shares) if is_replaced else levels
    return np.asarray(perturbed)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and standard deviation of answers over draws.

    Attributes
    ----------
    means, deviations : float64 arrays (n_rows, n_outputs)
    deviation_errors : float64 array (n_rows, n_outputs)
        Standard error of each deviation, estimated from the same draws; NaN if all draws agree.
    """

    means: Floats
    deviations: Floats
    deviation_errors: Floats


def sample_moments(
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float = 0.0,
    level_shares: tuple[Floats | None, ...] = (),
    n_jobs: int | None = None,
) -> Moments:
    """Mean and standard deviation of a model's answers to perturbed rows.

    Parameters
    ----------
    answer : callable
        From rows to answers, shape (n_rows, n_outputs).
    rows : float64 array (n_rows, n_attributes)
    noise_sd : float64 array (n_attributes,) or (n_rows, n_attributes)
        Standard deviation of the noise on every attribute, or value.
    draws : Draws
    flip : float, default=0.0
        Probability that the level of a nominal attribute is replaced.
    level_shares : tuple of arrays or None, one per attribute
        Training shares of the levels of nominal attributes.
    n_jobs : int or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> moments = sample_moments(
    ...     lambda rows: (rows > 0).astype(float), np.array([[1.0]]), np.array([1.0]), make_draws(0, 10_000, 1)
    ... )
    >>> moments.means.round(1), moments.deviations.round(1)  # Φ(1) = 0.84
    (array([[0.8]]), array([[0.4]]))
    """
    parts = _map_blocks(_block_moments, answer, rows, noise_sd, draws, flip, level_shares, n_jobs)
    return Moments(*(np.concatenate(each) for each in zip(*parts)))


def answers_of_draws(
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float = 0.0,
    level_shares: tuple[Floats | None, ...] = (),
    n_jobs: int | None = None,
) -> list[Floats]:
    """Return the answers to all draws, (n_draws, n_rows, n_outputs), in blocks of rows; see `sample_moments`."""
    blocks: list[Floats] = _map_blocks(_block_answers, answer, rows, noise_sd, draws, flip, level_shares, n_jobs)
    return blocks


def _map_blocks(
    function: Callable[..., Any],
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float,
    level_shares: tuple[Floats | None, ...],
    n_jobs: int | None,
) -> list[Any]:
    """Apply a function to the answers of every draw for each block of rows; there is at least one block."""
    spread = np.broadcast_to(noise_sd, rows.shape)
    blocks = [slice(start, start + ROWS_PER_BLOCK) for start in range(0, max(len(rows), 1), ROWS_PER_BLOCK)]

    def work(block: slice) -> Any:
        return function(_draw_answers(answer, rows[block], spread[block], draws, flip, level_shares))

    return list(Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(work)(block) for block in blocks))


def _draw_answers(
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise_sd: Floats,
    draws: Draws,
    flip: float,
    level_shares: tuple[Floats | None, ...],
) -> Iterator[Floats]:
    """Yield the answers to the rows of one block, draw by draw; small blocks put several draws into one call."""
    n_draws, at_once = len(draws.normal), max(1, ROWS_PER_CALL // max(len(rows), 1))
    for first in range(0, n_draws, at_once):
        numbers = range(first, min(first + at_once, n_draws))
        perturbed = [perturb_rows(rows, noise_sd, draws, number, flip, level_shares) for number in numbers]
        yield from answer(np.concatenate(perturbed)).reshape(len(numbers), len(rows), -1)


def _block_answers(drawn: Iterator[Floats]) -> Floats:
    return np.stack(list(drawn))


def _block_moments(drawn: Iterator[Floats]) -> tuple[Floats, Floats, Floats]:
    """Sum powers of the distance to the first draw: no digits are lost if answers are large and alike."""
    total: Any = 0.0
    powers = np.zeros(1)
    for n_draws, answers in enumerate(drawn, 1):
        if n_draws == 1:
            first, powers = answers, np.zeros((4, *answers.shape))
        total = total + answers
        distance = answers - first
        powers += [distance, distance**2, distance**3, distance**4]
    mean, square, cube, fourth = powers / n_draws
    variance = np.maximum(square - mean**2, 0.0)
    central_fourth = fourth - 4 * mean * cube + 6 * mean**2 * square - 3 * mean**4
    deviations = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(np.maximum(central_fourth - variance**2, 0.0) / n_draws) / (
            2 * deviations
        )  # 0 / 0 if draws agree
    return total / n_draws, deviations, errors
