"""Distribution of a model's answer under noise: quantiles, exact for a single tree and drawn for other models.

A drawn quantile comes with an interval that holds the true one, and is marked as not exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import binom

from tremula.smoothing.deviations import Flags, Floats, noise_of_rows, takes_several_leaves, with_linked_leaves
from tremula.smoothing.exact import ROWS_AT_ONCE, leaf_weights
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import Draws, answers_of_draws
from tremula.trees.tree_sum import TreeSum

CONFIDENCE = 0.95  # of the interval around a drawn quantile
ROUNDING = 1e-12  # by which a sum of leaf weights may fall short of a probability


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
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise: Noise,
    probabilities: Floats,
    draws: Draws,
    n_jobs: int | None,
) -> AnswerDistribution:
    """Draw quantiles of any model's answers."""
    parts = [
        drawn_quantiles(each, probabilities)
        for each in answers_of_draws(answer, rows, noise.sd, draws, noise.flip, noise.level_shares, n_jobs)
    ]
    quantiles, low, high = (np.concatenate(each) for each in zip(*parts))
    return AnswerDistribution(probabilities, quantiles, low, high, np.zeros(len(rows), dtype=bool))


def distribution_of_tree(
    model: TreeSum, rows: Floats, noise: Noise, probabilities: Floats, n_jobs: int | None
) -> AnswerDistribution:
    """Compute the distribution of a single tree's answer; rows that take several leaves are not exact."""
    linked = with_linked_leaves(model)
    tree = linked.trees[0]
    answers = tree.values[tree.nodes["index"][tree.is_leaf]]
    options: dict[str, Any] = {"flip": noise.flip, "level_shares": noise.level_shares or None, "n_jobs": n_jobs}
    weights = np.empty((len(rows), len(answers)))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        sd = noise.sd[part] if noise.sd.ndim == 2 else noise.sd
        weights[part] = leaf_weights(linked, 0, rows[part], sd, **options)
    quantiles = leaf_quantiles(answers, weights, probabilities)
    is_exact = ~takes_several_leaves(model, rows)
    return AnswerDistribution(probabilities, quantiles, quantiles, quantiles, is_exact, answers, weights)


def filled(
    exact: AnswerDistribution,
    answer: Callable[[Floats], Floats],
    rows: Floats,
    noise: Noise,
    draws: Draws,
    n_jobs: int | None,
) -> AnswerDistribution:
    """Replace the quantiles of rows that are not exact by drawn ones."""
    left = ~exact.is_exact
    if not left.any():
        return exact
    drawn = distribution_by_draws(answer, rows[left], noise_of_rows(noise, left), exact.probabilities, draws, n_jobs)
    quantiles, low, high = exact.quantiles.copy(), exact.low.copy(), exact.high.copy()
    quantiles[left], low[left], high[left] = drawn.quantiles, drawn.low, drawn.high
    return replace(exact, quantiles=quantiles, low=low, high=high)
