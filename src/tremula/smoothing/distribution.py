"""Distribution of a model's answer under noise: standard deviations and quantiles, each with its error.

An exact number comes with a bound of its error. A number from draws comes with a standard error, or with an interval, and
is marked as not exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tremula.smoothing.exact import ROWS_AT_ONCE, leaf_weights
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import Draws, answers_of_draws, sample_moments
from tremula.smoothing.spread import variances
from tremula.trees.structure import LEVEL_UNSEEN
from tremula.trees.tree_sum import TreeSum, tree_with_values

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CONFIDENCE = 0.95  # of the interval around a drawn quantile
ROUNDING = 1e-12  # by which a sum of leaf weights may fall short of a probability


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
        not included. Elsewhere the standard error of the deviation, estimated from the draws.
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


@dataclass(frozen=True, eq=False, repr=False)
class AnswerDistribution:
    """Quantiles of the model's answer under the noise.

    Attributes
    ----------
    probabilities : float64 array (n_quantiles,)
    quantiles : float64 array (n_rows, n_outputs, n_quantiles)
        The least number that the answer does not exceed with this probability.
    low, high : float64 arrays (n_rows, n_outputs, n_quantiles)
        An interval that holds the quantile with a confidence of 95 %, from the order of the draws; where `is_exact`,
        the quantile itself.
    is_exact : bool array (n_rows,)
        Whether a row's quantiles were computed, and not drawn.
    leaf_answers : float64 array (n_leaves, n_outputs) or None
        For a single tree the answer of every leaf.
    leaf_weights : float64 array (n_rows, n_leaves) or None
        For a single tree the probability of every leaf: with `leaf_answers` the whole distribution, where `is_exact`.
    """

    probabilities: Floats
    quantiles: Floats
    low: Floats
    high: Floats
    is_exact: Flags
    leaf_answers: Floats | None = None
    leaf_weights: Floats | None = None

    def __repr__(self) -> str:
        n_rows, n_outputs, n_quantiles = self.quantiles.shape
        exact = int(self.is_exact.sum())
        return f"AnswerDistribution({n_rows} rows, {n_outputs} answers, {n_quantiles} quantiles, {exact} rows exact)"


# --- trees ---


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
    answers = model.linked(margins)
    return replace(
        model,
        trees=(tree_with_values(tree, answers),),
        weights=np.ones(1),
        outputs=np.full(1, -1),
        offset=np.zeros(answers.shape[1]),
        link=replace(model, link="identity").link,
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
    error = np.where(spread.is_known[:, None], np.maximum(below, np.sqrt(spread.values + spread.bound) - deviations), np.inf)
    return Deviations(deviations, error, spread.is_known)


def answer_deviations(
    model: TreeSum, rows: Floats, noise: Noise, tol: float, max_visits: float, n_jobs: int | None
) -> Deviations:
    """Compute the standard deviations of a model's answers where no draws are needed; NaN elsewhere.

    They are those of the margins if there is no link. A link can be put into the leaves of a single tree, unless values
    are missing: the link of a mixture is no mixture of links.
    """
    if model.link == "identity":
        return margin_deviations(model, rows, noise, tol, max_visits, n_jobs)
    n_outputs = model.linked(model.offset[None]).shape[1]
    values, error = np.full((len(rows), n_outputs), np.nan), np.full((len(rows), n_outputs), np.inf)
    is_exact = np.zeros(len(rows), dtype=bool)
    if len(model.trees) == 1:
        alone = ~takes_several_leaves(model, rows)
        part = replace(noise, sd=noise.sd[alone] if noise.sd.ndim == 2 else noise.sd)
        known = margin_deviations(with_linked_leaves(model), rows[alone], part, tol, max_visits, n_jobs)
        values[alone], error[alone], is_exact[alone] = known.values, known.error, known.is_exact
    return Deviations(values, error, is_exact)


def with_draws(known: Deviations, answer: Callable[[Floats], Floats], rows: Floats, noise: Noise, draws: Draws,
               n_jobs: int | None) -> Deviations:
    """Fill in by draws the deviations of rows that have none."""
    if known.is_exact.all():
        return known
    left = ~known.is_exact
    part = replace(noise, sd=noise.sd[left] if noise.sd.ndim == 2 else noise.sd)
    drawn = sample_moments(answer, rows[left], part.sd, draws, part.flip, part.level_shares, n_jobs)
    known.values[left], known.error[left] = drawn.deviations, drawn.deviation_errors
    return known


# --- quantiles ---


def leaf_quantiles(answers: Floats, weights: Floats, probabilities: Floats) -> Floats:
    """Quantiles of a number that takes each of the given answers with a probability, for every row and output.

    Examples
    --------
    >>> import numpy as np
    >>> leaf_quantiles(np.array([[3.0], [1.0]]), np.array([[0.25, 0.75]]), np.array([0.5, 0.75, 0.9]))
    array([[[1., 1., 3.]]])
    """
    out = np.empty((len(weights), answers.shape[1], len(probabilities)))
    for output in range(answers.shape[1]):
        order = np.argsort(answers[:, output], kind="stable")
        below = np.cumsum(weights[:, order], axis=1)
        for number, probability in enumerate(probabilities):
            place = (below < probability * below[:, -1:] - ROUNDING).sum(axis=1)
            out[:, output, number] = answers[order[place], output]
    return out


def drawn_quantiles(drawn: Floats, probabilities: Floats) -> tuple[Floats, Floats, Floats]:
    """Quantiles over draws, (n_draws, n_rows, n_outputs), and an interval for each from the order of the draws.

    Of n draws at most k lie below a quantile with a binomial probability, whatever the distribution is.
    """
    ordered, n_draws = np.sort(drawn, axis=0), len(drawn)
    ranks = np.clip(np.ceil(probabilities * n_draws - ROUNDING).astype(int) - 1, 0, n_draws - 1)
    lowest = binom.ppf((1 - CONFIDENCE) / 2, n_draws, probabilities).astype(int) - 1
    highest = binom.ppf((1 + CONFIDENCE) / 2, n_draws, probabilities).astype(int)
    middle, low, high = (
        np.moveaxis(ordered[np.clip(places, 0, n_draws - 1)], 0, -1) for places in (ranks, lowest, highest)
    )
    # Before the first draw and beyond the last one there may be anything.
    low = np.where(lowest < 0, -np.inf, low)
    return middle, low, np.where(highest > n_draws - 1, np.inf, high)


def distribution_by_draws(
    answer: Callable[[Floats], Floats], rows: Floats, noise: Noise, probabilities: Floats, draws: Draws,
    n_jobs: int | None,
) -> AnswerDistribution:
    """Draw quantiles of any model's answers."""
    parts = [
        drawn_quantiles(each, probabilities)
        for each in answers_of_draws(answer, rows, noise.sd, draws, noise.flip, noise.level_shares, n_jobs)
    ]
    quantiles, low, high = (np.concatenate(each) for each in zip(*parts))
    return AnswerDistribution(probabilities, quantiles, low, high, np.zeros(len(rows), dtype=bool))


def distribution_of_tree(model: TreeSum, rows: Floats, noise: Noise, probabilities: Floats,
                         n_jobs: int | None) -> AnswerDistribution:
    """Compute the distribution of a single tree's answer; rows that take several leaves are not exact."""
    linked = with_linked_leaves(model)
    tree = linked.trees[0]
    answers = tree.values[tree.nodes["index"][tree.is_leaf]]
    options = {"flip": noise.flip, "level_shares": noise.level_shares or None, "n_jobs": n_jobs}
    weights = np.empty((len(rows), len(answers)))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        sd = noise.sd[part] if noise.sd.ndim == 2 else noise.sd
        weights[part] = leaf_weights(linked, 0, rows[part], sd, **options)
    quantiles = leaf_quantiles(answers, weights, probabilities)
    is_exact = ~takes_several_leaves(model, rows)
    return AnswerDistribution(probabilities, quantiles, quantiles, quantiles, is_exact, answers, weights)
