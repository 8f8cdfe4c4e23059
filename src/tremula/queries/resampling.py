"""Resamples tables of counts as a bootstrap sample of the rows would, and computes the gain of splits on them.

All functions take a stack of tables, one for each node, and draw for them in order from one random stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.noise as kernel

LEAST_GAIN = 1e-6  # bits, or share of the variance; a smaller gain is rounding error


def resample(counts: NDArray[np.int64], random: np.random.Generator, draws_per_row: int = 1) -> NDArray[np.int64]:
    """Draw as many rows as each table has, with replacement, and count them by cell: one multinomial for each table.

    Parameters
    ----------
    counts : int array (n_tables, ...)
        The cells of each table, in any shape.
    random : numpy.random.Generator
        Cells are drawn one after the other with NumPy's binomial: by inversion, or by BTPE if counts are large.
    draws_per_row : int
        Draw so many times the rows.

    Examples
    --------
    >>> drawn = resample(np.array([[30, 0, 70]]), np.random.default_rng(0))
    >>> drawn.sum(), drawn[0, 1]
    (np.int64(100), np.int64(0))
    """
    tables = np.ascontiguousarray(counts.reshape(len(counts), -1) * draws_per_row, dtype=np.int64)
    drawn = np.empty_like(tables)
    kernel.resample(random.bit_generator, tables, drawn)
    return drawn.reshape(counts.shape)


def resample_moments(
    moments: NDArray[np.float64], random: np.random.Generator, draws_per_row: int = 1
) -> NDArray[np.float64]:
    """Draw rows with replacement if only their number, sum and sum of squares are known in each cell.

    The number of rows drawn from each cell is a multinomial, as for classes. The sum of n rows drawn from a cell with
    mean m and variance v is drawn from its limit, the normal distribution of mean n m and variance n v. The sum of
    squares is n (m² + v).
    """
    counts = np.rint(moments[..., 0]).astype(np.int64)
    drawn = resample(counts, random, draws_per_row)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, moments[..., 1] / counts, 0.0)
        squares = np.where(counts > 0, moments[..., 2] / counts, 0.0)
    deviations = np.sqrt(np.maximum(squares - means**2, 0.0))
    sums = drawn * means + np.sqrt(drawn) * deviations * random.standard_normal(drawn.shape)
    return np.stack([drawn, sums, drawn * squares], axis=-1)


def deviation(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squared deviations from the mean of each table."""
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(moments[..., 0] > 0, moments[..., 1] * (moments[..., 1] / moments[..., 0]), 0.0)
    return moments[..., 2] - explained


def branch_gains(tables: NDArray[Any], is_numeric_target: bool) -> NDArray[np.float64]:
    """Return the gain of a split with one branch for each value: the impurity of the node less that of its branches.

    The impurity is the entropy of the classes in bits, or the variance of a numeric target.

    Parameters
    ----------
    tables : array (n_tables, n_values + 1, n_outputs)
        The last value stands for missing. Such rows take no branch: the gain is that of the other rows, times their
        share.
    is_numeric_target : bool
    """
    if is_numeric_target:
        known = tables[:, :-1]
        gain = deviation(known.sum(axis=1)) - deviation(known).sum(axis=1)
        return np.asarray(gain / np.maximum(tables[..., 0].sum(axis=1), 1))
    gains = np.empty(len(tables))
    kernel.branch_gains(np.ascontiguousarray(tables), np.empty(tables.shape[2], dtype=np.int64), gains)
    return gains


def best_cuts(tables: NDArray[Any], is_numeric_target: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the gain of the best binary split, and the last value of its lower branch; -inf if there is no split."""
    gains, cuts = np.empty(len(tables)), np.empty(len(tables), dtype=np.int64)
    if is_numeric_target:
        below = np.cumsum(tables[:, :-1], axis=1)
        total, below = below[:, -1:], below[:, :-1]
        reductions = deviation(total) - deviation(below) - deviation(total - below)
        reductions[(below[..., 0] == 0) | ((total - below)[..., 0] == 0)] = -np.inf
        cuts = reductions.argmax(axis=1)
        gains = reductions[np.arange(len(tables)), cuts] / np.maximum(tables[..., 0].sum(axis=1), 1)
    else:
        kernel.best_cuts(np.ascontiguousarray(tables), np.empty((2, tables.shape[2]), dtype=np.int64), gains, cuts)
    return gains, cuts
