"""Exact Shapley values of a sum of trees, in polynomial time, for blocks of rows in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

import tremula._kernels.shapley as kernel
from tremula.explanations.leaf_factors import LeafFactors

Floats = NDArray[np.float64]

ROWS_AT_ONCE = 64
BACKGROUND_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class ShapleySum:
    """The Shapley values of a sum of trees.

    Attributes
    ----------
    games : list of LeafGames
        The leaves of each tree.
    factors : LeafFactors
        How rows take the branches of the trees.
    n_attributes, n_margins : int
    n_jobs : int or None
        Blocks of rows computed in parallel; the values do not depend on it.
    """

    games: Sequence[kernel.LeafGames]
    factors: LeafFactors
    n_attributes: int
    n_margins: int
    n_jobs: int | None

    def by_shares(self, rows: Floats, shares: Sequence[Floats]) -> Floats:
        """Return path-dependent values: an unknown attribute takes every branch by its share.

        Parameters
        ----------
        rows : float64 array (n_rows, n_attributes)
        shares : for each tree a float64 array (n_nodes,)
            Share of every node in the training weight of its parent.

        Returns
        -------
        float64 array (n_rows, n_attributes, n_margins)
        """
        unknown = [np.empty(len(each)) for each in shares]
        for games, given, products in zip(self.games, shares, unknown):
            kernel.multiply_shares(games, given, products)

        def add(part: Floats, out: Floats) -> None:
            for number, games in enumerate(self.games):
                kernel.add_by_shares(games, self.factors.factors(number, games, part), unknown[number], out)

        return self._over_rows(rows, add)

    def by_background(self, rows: Floats, background: Floats) -> Floats:
        """Return interventional values: unknown attributes have the values of each background row, and the mean counts.

        Returns
        -------
        float64 array (n_rows, n_attributes, n_margins)
        """
        scale = 1.0 / len(background)

        def add(part: Floats, out: Floats) -> None:
            for number, games in enumerate(self.games):
                known = FactorBits(games, self.factors.factors(number, games, part), len(part))
                for first in range(0, len(background), BACKGROUND_AT_ONCE):
                    others = background[first : first + BACKGROUND_AT_ONCE]
                    unknown = FactorBits(games, self.factors.factors(number, games, others), len(others))
                    _add_by_background(games, known, unknown, scale, out)

        return self._over_rows(rows, add)

    def _over_rows(self, rows: Floats, add: Callable[[Floats, Floats], None]) -> Floats:
        """Apply a function to blocks of rows and of their values."""
        values = np.zeros((len(rows), self.n_attributes, self.n_margins))
        parts = [slice(first, first + ROWS_AT_ONCE) for first in range(0, len(rows), ROWS_AT_ONCE)]
        if effective_n_jobs(self.n_jobs) == 1 or len(parts) < 2:
            for part in parts:
                add(rows[part], values[part])
        else:
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(add)(rows[part], values[part]) for part in parts)
        return values


class FactorBits:
    """Factors of rows in a tree, and as bits where they are 0 or 1, as they are without missing values and noise."""

    def __init__(self, games: kernel.LeafGames, factors: Floats, n_rows: int) -> None:
        self.factors, self.n_rows = factors, n_rows
        self.is_whole = np.zeros(n_rows, np.uint8)
        self.bits = np.zeros((factors.shape[1], n_rows), np.uint64)
        if games.most_factors <= kernel.MOST_BITS:
            kernel.fill_bits(games, factors, self.bits, self.is_whole)


def _add_by_background(
    games: kernel.LeafGames, known: FactorBits, unknown: FactorBits, scale: float, out: Floats
) -> None:
    """Add the values of rows: by counts of bits where all factors are 0 or 1, else by quadrature."""
    is_whole = known.is_whole * np.uint8(unknown.is_whole.all())
    if is_whole.any():
        tables = shares_of_players(games.most_factors)
        kernel.add_by_whole_background(games, known.bits, unknown.bits, tables, scale, is_whole, out)
    if not is_whole.all():
        kernel.add_by_background(games, known.factors, unknown.factors, unknown.n_rows, scale, is_whole, out)


@cache
def shares_of_players(most: int) -> Floats:
    """Return the Shapley values of a game that is won by all of n players, if none of m others plays.

    Returns
    -------
    float64 array (2, most + 1, most + 1)
        For n and m the value of each of the n, (n - 1)! m! / (n + m)!, and what each of the m loses, with n and m
        exchanged; 0 where there are none.

    Examples
    --------
    >>> shares_of_players(2)[0].round(3)
    array([[0.   , 0.   , 0.   ],
           [1.   , 0.5  , 0.333],
           [0.5  , 0.167, 0.083]])
    """
    values = np.zeros((most + 1, most + 1))
    for n in range(1, most + 1):
        for m in range(most + 1):
            values[n, m] = 1.0 / (n * comb(n + m, m))
    return np.stack([values, values.T])
