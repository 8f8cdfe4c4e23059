"""Standard deviations of a model's answers under noise: by pairs of leaves, or by draws.

An exact deviation comes with a bound of its error. A drawn one comes with a standard error and is marked as not exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import Draws, sample_moments
from tremula.smoothing.spread import variances
from tremula.trees.links import IDENTITY
from tremula.trees.structure import LEVEL_UNSEEN
from tremula.trees.tree_sum import TreeSum, tree_with_values

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Deviations:
    """Standard deviations of answers.

    Attributes
    ----------
    values : float64 array (n_rows, n_outputs)
    error : float64 array (n_rows, n_outputs)
        Largest error if it is exact, apart from rounding; else the standard error.
    is_exact : bool array (n_rows,)
    """

    values: Floats
    error: Floats
    is_exact: Flags


@dataclass(frozen=True, eq=False, repr=False)
class Spread:
    """Smoothed answers, and the standard deviation of the model's answer under the noise.

    Attributes
    ----------
    answers : float64 array (n_rows, n_outputs)
        Smoothed class shares or numbers; or expected margins.
    deviations : float64 array (n_rows, n_outputs)
        Standard deviation of the model's answer, or of its margin.
    error : float64 array (n_rows, n_outputs)
        Where `is_exact`, the largest error of the deviation, caused by parts of trees that `tol` cut off; rounding is
        not included. Elsewhere the standard error of the deviation, estimated from the draws; NaN if all of them agree.
    is_exact : bool array (n_rows,)
        Whether a row's deviations were computed, and not drawn.
    """

    answers: Floats
    deviations: Floats
    error: Floats
    is_exact: Flags

    def __repr__(self) -> str:
        n_rows, n_outputs = self.answers.shape
        return f"Spread({n_rows} rows, {n_outputs} answers each, {int(self.is_exact.sum())} rows exact)"


def takes_several_leaves(model: TreeSum, rows: Floats) -> Flags:
    """Whether the answer to a row may be a mixture of leaves, since a tested value is missing or its level unseen."""
    if all(np.isin(shares, (0.0, 1.0)).all() for shares in model.shares):
        return np.zeros(len(rows), dtype=bool)
    if any((tree.subsets == LEVEL_UNSEEN).any() for tree in model.trees):
        return np.ones(len(rows), dtype=bool)
    is_tested = np.zeros(model.n_attributes, dtype=bool)
    for tree in model.trees:
        is_tested[tree.attribute[~tree.is_leaf]] = True
    is_missing = np.isnan(rows) | ((model.n_levels > 0) & ~((rows >= 0) & (rows < model.n_levels)))
    return np.asarray(is_missing[:, is_tested].any(axis=1))


def with_linked_leaves(model: TreeSum) -> TreeSum:
    """Return a model of one tree whose leaves hold its answers, so that no link is left."""
    tree, output = model.trees[0], int(model.outputs[0])
    margins = np.tile(model.offset, (len(tree.values), 1))
    margins[:, slice(None) if output < 0 else slice(output, output + 1)] += model.weights[0] * tree.values
    answers = model.link.answers(margins)
    return replace(
        model,
        trees=(tree_with_values(tree, answers),),
        weights=np.ones(1),
        outputs=np.full(1, -1),
        offset=np.zeros(answers.shape[1]),
        link=IDENTITY,
    )


def margin_deviations(
    model: TreeSum, rows: Floats, noise: Noise, tol: float, max_visits: float, n_jobs: int | None
) -> Deviations:
    """Compute the standard deviations of a model's margins by pairs of leaves; NaN for rows with too many pairs."""
    spread = variances(
        model,
        rows,
        noise.sd,
        flip=noise.flip,
        level_shares=noise.level_shares or None,
        tol=tol,
        max_visits=max_visits,
        n_jobs=n_jobs,
    )
    deviations = np.sqrt(spread.values)
    below = deviations - np.sqrt(np.maximum(spread.values - spread.bound, 0.0))
    error = np.where(
        spread.is_known[:, None], np.maximum(below, np.sqrt(spread.values + spread.bound) - deviations), np.inf
    )
    return Deviations(deviations, error, spread.is_known)


def answer_deviations(
    model: TreeSum, rows: Floats, noise: Noise, tol: float, max_visits: float, n_jobs: int | None
) -> Deviations:
    """Compute the standard deviations of a model's answers where no draws are needed; NaN elsewhere.

    They are those of the margins if there is no link. A link can be put into the leaves of a single tree, unless values
    are missing: the link of a mixture is no mixture of links.
    """
    if model.link.is_identity:
        return margin_deviations(model, rows, noise, tol, max_visits, n_jobs)
    n_outputs = model.link.answers(model.offset[None]).shape[1]
    values, error = np.full((len(rows), n_outputs), np.nan), np.full((len(rows), n_outputs), np.inf)
    is_exact = np.zeros(len(rows), dtype=bool)
    if len(model.trees) == 1:
        alone = ~takes_several_leaves(model, rows)
        part = noise_of_rows(noise, alone)
        known = margin_deviations(with_linked_leaves(model), rows[alone], part, tol, max_visits, n_jobs)
        values[alone], error[alone], is_exact[alone] = known.values, known.error, known.is_exact
    return Deviations(values, error, is_exact)


def noise_of_rows(noise: Noise, rows: Flags) -> Noise:
    """Return the noise of some of the rows."""
    return replace(noise, sd=noise.sd[rows]) if noise.sd.ndim == 2 else noise


def with_draws(
    known: Deviations,
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise: Noise,
    draws: Draws,
    n_jobs: int | None,
) -> Deviations:
    """Fill in by draws the deviations of rows that have none."""
    left = ~known.is_exact
    if not left.any():
        return known
    part = noise_of_rows(noise, left)
    drawn = sample_moments(answer, rows[left], part.sd, draws, part.flip, part.level_shares, n_jobs)
    known.values[left], known.error[left] = drawn.deviations, drawn.deviation_errors
    return known
