"""Adds the noise that a budget pays for to an answer, and removes from it again what cannot be signal.

Everything after the noise depends on noisy numbers and public ones alone, so it costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.privacy import Budget
from tremula.queries.question import EVERYWHERE, GRID, Question, Schema


def noisy_answer(
    schema: Schema, question: Question, answer: NDArray[Any], known: NDArray[np.bool_], budget: Budget, *, shrink: bool
) -> NDArray[Any]:
    """Return an answer with noise on its known cells.

    Parameters
    ----------
    schema : Schema
    question : Question
    answer : array
        The real counts, or the moments of a bounded target.
    known : bool array
        The cells that may have rows.
    budget : Budget
    shrink : bool
        Whether to make the tables of a question about classes consistent and to shrink them.
    """
    noisy = answer.copy()
    if schema.classes is None:
        for power, add_noise in enumerate(budget.moment_noise):
            column = noisy[..., power]
            column[known[..., power]] = add_noise(column[known[..., power]])
        return possible_moments(noisy)
    return noisy_tables(schema, question, answer, known, budget, shrink=shrink)


def noisy_tables(
    schema: Schema, question: Question, answer: NDArray[Any], known: NDArray[np.bool_], budget: Budget, *, shrink: bool
) -> NDArray[np.int64]:
    """Return counts of classes with noise on the known cells; parameters are those of `noisy_answer`."""
    noisy = answer.copy()
    noisy[known] = budget.add_noise(noisy[known])
    if not shrink or question.joint:
        return np.maximum(noisy, 0) if known.all() else np.where(known, np.maximum(noisy, 0), noisy)
    return _consistent(schema, question, noisy, known, budget.deviation**2)


def possible_moments(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest moments that rows on the grid of a bounded target can have.

    Examples
    --------
    >>> possible_moments(np.array([[2.0, -3000.0, -5.0], [-1.0, 40.0, 7.0]]))
    array([[ 2.e+00, -2.e+03,  2.e+06],
           [ 0.e+00,  0.e+00,  0.e+00]])
    """
    counts = np.maximum(moments[..., 0], 0)
    sums = np.clip(moments[..., 1], -GRID * counts, GRID * counts)
    least = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0)
    return np.stack([counts, sums, np.clip(moments[..., 2], least, GRID**2 * counts)], axis=-1)


def _consistent(
    schema: Schema, question: Question, noisy: NDArray[np.int64], known: NDArray[np.bool_], variance: float
) -> NDArray[np.int64]:
    """Return tables with the same rows of each class, whose dependence on the class is shrunk by the noise in it."""
    cells_of = [
        schema.cells(number).start + np.flatnonzero(known[schema.cells(number), 0]) for number in question.attributes
    ]
    cells_of = [cells for cells in cells_of if len(cells)]
    released = np.where(known, 0, noisy)
    if not cells_of:
        return released
    # The sum of a table with many cells has more noise, so it has less weight.
    sums = np.array([noisy[cells].sum(axis=0) for cells in cells_of])
    totals = np.average(sums, axis=0, weights=[1 / len(cells) for cells in cells_of])
    totals = np.maximum(totals, 1 if question.path == EVERYWHERE else 0)  # classes are public, so each has a row
    if not totals.sum():
        return released
    for cells in cells_of:
        released[cells] = whole_rows(_shrunk(noisy[cells].astype(np.float64), totals, variance))
    return released


def _shrunk(table: NDArray[np.float64], totals: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Shrink a table of values by classes with noise to given totals of the classes.

    The rows of each value are shrunk to equal ones, and their differences between classes to none, both by the factor
    of James and Stein: 1 less the expected sum of squares of the noise, over the observed sum of squares.
    """
    n_values, n_classes = table.shape
    table = table + (totals - table.sum(axis=0)) / n_values
    shares = totals / totals.sum()
    rows = table.sum(axis=1)
    dependence = table - rows[:, None] * shares
    # The noise of a cell's dependence is that of the cell, less its class's share of the noise of the row.
    noise = (n_values - 1) * variance * ((np.eye(n_classes) - shares[:, None]) ** 2).sum()
    dependence *= _factor(noise, dependence)
    mean = totals.sum() / n_values
    rows = mean + _factor((n_values - 1) * n_classes * variance, rows - mean) * (rows - mean)
    shrunk = np.maximum(np.maximum(rows, 0)[:, None] * shares + dependence, 0)
    sums = shrunk.sum(axis=0)
    return np.asarray(shrunk * np.divide(totals, sums, out=np.zeros_like(sums), where=sums > 0))


def _factor(noise: float, observed: NDArray[np.float64]) -> float:
    squares = float((observed**2).sum())
    return max(0.0, 1 - noise / squares) if squares > 0 else 0.0


def whole_rows(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round the cells of each column so that their sums are kept.

    Examples
    --------
    >>> whole_rows(np.array([[0.4], [0.4], [0.4], [1.8]])).ravel()
    array([0, 1, 0, 2])
    """
    cumulative: NDArray[np.int64] = np.rint(table.cumsum(axis=0)).astype(np.int64)
    whole: NDArray[np.int64] = cumulative.copy()
    whole[1:] -= cumulative[:-1]
    return whole
