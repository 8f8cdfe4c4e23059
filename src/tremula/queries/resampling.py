"""Tables of counts as a bootstrap sample of the rows would have made them, and what splits are worth on them.

All functions take a stack of tables, one for each node, and draw for them in their order from one stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula._kernels.noise as kernel

LEAST_GAIN = 1e-6  # bits; less is rounding


def resample(counts: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Draw as many rows as there are, with replacement, and count them by cell: a multinomial for each table.

    Parameters
    ----------
    counts : int array (n_tables, ...)
        The cells of each table, in any shape.
    random : numpy.random.Generator
        Cells are drawn one after the other as NumPy's binomials: by inversion, or by BTPE where they are large.

    Examples
    --------
    >>> drawn = resample(np.array([[30, 0, 70]]), np.random.default_rng(0))
    >>> drawn.sum(), drawn[0, 1]
    (np.int64(100), np.int64(0))
    """
    tables = np.ascontiguousarray(counts.reshape(len(counts), -1), dtype=np.int64)
    drawn = np.empty_like(tables)
    kernel.resample(random.bit_generator, tables, drawn)
    return drawn.reshape(counts.shape)


def resample_moments(moments: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Draw rows with replacement where only their number, sum and sum of squares are known in each cell.

    The number in each cell is drawn as for classes. The sum of n drawn from a cell of mean m and variance v is drawn
    from a normal distribution of mean n m and variance n v, which is its limit; the sum of squares is n (m² + v).
    """
    counts = np.rint(moments[..., 0]).astype(np.int64)
    drawn = resample(counts, random)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, moments[..., 1] / counts, 0.0)
        squares = np.where(counts > 0, moments[..., 2] / counts, 0.0)
    deviations = np.sqrt(np.maximum(squares - means**2, 0.0))
    sums = drawn * means + np.sqrt(drawn) * deviations * random.standard_normal(drawn.shape)
    return np.stack([drawn, sums, drawn * squares], axis=-1)


def deviation(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of squared distances from the mean, by table."""
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(moments[..., 0] > 0, moments[..., 1] ** 2 / moments[..., 0], 0.0)
    return moments[..., 2] - explained


def branch_gains(tables: NDArray[Any], is_numeric_target: bool) -> NDArray[np.float64]:
    """Worth of one branch a value: what is known of the target less what is known in the branches, per row.

    Parameters
    ----------
    tables : array (n_tables, n_values + 1, n_outputs)
        The last value is missing: such rows take no branch, and the worth is that of the others times their share.
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
    """Worth of the best cut of the values in two, and the value it comes after; -inf where there is none."""
    gains, cuts = np.empty(len(tables)), np.empty(len(tables), dtype=np.int64)
    if is_numeric_target:
        below = np.cumsum(tables[:, :-1], axis=1)
        total, below = below[:, -1:], below[:, :-1]
        worth = deviation(total) - deviation(below) - deviation(total - below)
        worth[(below[..., 0] == 0) | ((total - below)[..., 0] == 0)] = -np.inf
        cuts = worth.argmax(axis=1)
        gains = worth[np.arange(len(tables)), cuts] / np.maximum(tables[..., 0].sum(axis=1), 1)
    else:
        kernel.best_cuts(np.ascontiguousarray(tables), np.empty((2, tables.shape[2]), dtype=np.int64), gains, cuts)
    return gains, cuts
