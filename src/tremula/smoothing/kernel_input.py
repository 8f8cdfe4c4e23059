"""Checks rows, noise and level shares, and arranges them for the smoothing kernel.

Blocks of rows are independent: results do not depend on how they are spread over threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray

import tremula._kernels.soften as kernel
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parallel import cut
from tremula.parameters import check_choice, check_number
from tremula.smoothing.tree_program import LARGEST, TreePrograms, finite, order_rows, programs_of
from tremula.trees.tree_sum import TreeSum

FORMS = ("exact", "path")


@dataclass(frozen=True)
class KernelInput:
    """Rows in an order that suits the kernel, the inverse of their noise, and the programs of the trees."""

    order: NDArray[np.intp]
    rows: NDArray[np.float64]
    inverse: NDArray[np.float64]
    is_missing: NDArray[np.uint8]
    own: NDArray[np.float64]
    others: NDArray[np.float64]
    programs: TreePrograms
    tol: float
    n_jobs: int | None

    def run(self, steps: list[kernel.TreeProgram], n_outputs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum of the trees for each row, and bounds of the error, in the original order of the rows."""
        sums, bound = np.zeros((len(self.rows), n_outputs)), np.zeros(len(self.rows))

        def work(blocks: range) -> None:
            part = slice(blocks.start * kernel.ROWS_IN_BLOCK, blocks.stop * kernel.ROWS_IN_BLOCK)
            inverse = self.inverse if len(self.inverse) == 1 else self.inverse[part]
            levels = (self.own, self.others, self.programs.level_start)
            end = self.programs.thresholds.end
            rows = (self.rows[part], inverse, self.is_missing[part], self.order[part])
            kernel.run(steps, rows, levels, self.tol, end, sums, bound)

        n_blocks = -(-len(self.rows) // kernel.ROWS_IN_BLOCK)
        parts = cut(range(n_blocks), effective_n_jobs(self.n_jobs))
        if len(parts) <= 1:
            for part in parts:
                work(part)
        else:
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(delayed(work)(part) for part in parts)
        return sums, bound


def prepare(
    model: TreeSum,
    X: NDArray[np.float64],
    noise_sd: ArrayLike,
    form: str,
    flip: float,
    level_shares: Sequence[ArrayLike | None] | None,
    tol: float,
    n_jobs: int | None,
) -> KernelInput:
    """Check all input and arrange it for the kernel."""
    check_choice("form", form, FORMS)
    check_number("flip", flip, 0, 1)
    check_number("tol", tol, 0)
    rows = _check_rows(model, X)
    noise = _check_noise(model, rows, noise_sd)
    shares = _check_shares(model, level_shares, flip)
    own, others = _flip_weights(model, shares, flip)
    is_missing = np.zeros(len(rows), dtype=bool)
    if not _has_finite_differences(rows):
        rows = finite(rows)
        is_missing = np.logical_or.reduce(np.isnan(rows[:, _used(model)]), axis=1)
    order = order_rows(model, rows, is_missing)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(noise > 0, 1.0 / noise, 0.0)
    inverse[np.isinf(inverse)] = 0.0
    return KernelInput(
        order=order,
        rows=rows.take(order, axis=0),
        inverse=np.ascontiguousarray(inverse[order] if len(inverse) > 1 else inverse),
        is_missing=is_missing[order].astype(np.uint8),
        own=own,
        others=others,
        programs=programs_of(model, shares, form == "path"),
        tol=float(tol),
        n_jobs=n_jobs,
    )


def _has_finite_differences(rows: NDArray[np.float64]) -> bool:
    """Whether no value is missing and all differences of values are finite."""
    return rows.size > 0 and bool(rows.min() >= -LARGEST and rows.max() <= LARGEST)


def _used(model: TreeSum) -> NDArray[np.intp]:
    """Return the attributes that some tree tests."""
    is_used = np.zeros(model.n_attributes + 1, dtype=bool)
    for tree in model.trees:
        is_used[tree.attribute] = True
    return np.flatnonzero(is_used[:-1])


def _check_rows(model: TreeSum, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows with NaN in place of unknown levels."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != model.n_attributes:
        raise InvalidInput(
            f"X has shape {rows.shape}: expected (n_rows, {model.n_attributes}), one column an attribute"
        )
    if not model.n_levels.any():
        return rows
    is_unknown = (model.n_levels > 0) & ~((rows >= 0) & (rows < model.n_levels))
    return np.where(is_unknown, np.nan, rows) if is_unknown.any() else rows


def _check_noise(model: TreeSum, rows: NDArray[np.float64], noise_sd: ArrayLike) -> NDArray[np.float64]:
    """Return the noise of each attribute, one row for all rows or one for each; 0 for nominal attributes."""
    noise = np.asarray(noise_sd, dtype=np.float64)
    if noise.shape not in ((model.n_attributes,), rows.shape):
        raise InvalidParameter(
            f"noise_sd has shape {noise.shape}: expected ({model.n_attributes},), one per attribute, "
            f"or {rows.shape}, one a value"
        )
    noise = np.where(model.n_levels > 0, 0.0, np.atleast_2d(noise))
    if not (np.isfinite(noise).all() and (noise >= 0).all()):
        worst = noise[~(np.isfinite(noise) & (noise >= 0))][0]
        raise InvalidParameter(f"noise_sd has an entry {worst}: expected finite standard deviations of at least 0")
    return noise


def _check_shares(model: TreeSum, level_shares: Sequence[ArrayLike | None] | None, flip: float) -> NDArray[np.float64]:
    """Return the shares of the levels of all nominal attributes, concatenated; zeros if no level is flipped."""
    n_levels = model.n_levels
    if not flip or not n_levels.any():
        return np.zeros(n_levels.sum())
    if level_shares is None or len(level_shares) != model.n_attributes:
        given = "None" if level_shares is None else f"{len(level_shares)} entries"
        raise InvalidParameter(
            f"level_shares has {given}: to flip levels it needs {model.n_attributes}, one per attribute "
            f"(None where it is numeric)"
        )
    parts = []
    for attribute in map(int, np.flatnonzero(n_levels)):
        shares = np.asarray(level_shares[attribute], dtype=np.float64)
        if shares.shape != (n_levels[attribute],) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
            raise InvalidParameter(
                f"level_shares[{attribute}] is {level_shares[attribute]!r}: expected the frequencies of "
                f"{n_levels[attribute]} levels, at least one of them above 0"
            )
        parts.append(shares / shares.sum())
    return np.concatenate(parts)


def _flip_weights(
    model: TreeSum, shares: NDArray[np.float64], flip: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for every level the factor of its own value, and that of the mean over all levels.

    With f = `flip` and p the frequency of level v, the expected g is (1 - f) g(v) + f (mean of g - p g(v)) / (1 - p).
    """
    own, others = np.ones(len(shares) + 1), np.zeros(len(shares) + 1)
    start = 0
    for n_levels in model.n_levels[model.n_levels > 0] if flip else ():
        part = slice(start, start + n_levels)
        rest = np.array([np.delete(shares[part], level).sum() for level in range(n_levels)])
        can_change = rest > 0
        others[part][can_change] = flip / rest[can_change]
        own[part][can_change] = 1.0 - flip - others[part][can_change] * shares[part][can_change]
        start += n_levels
    return own, others
