"""Smoothers: trees exactly or by the path product, linear scores in closed form, any other model by sampling.

Each takes rows and the noise on them, and returns the answers with a bound on their error. Without noise the answers
are those of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter
from tremula.smoothing.bandwidths import gradient_per_tree, soften_per_tree
from tremula.smoothing.certificate import most_tests
from tremula.smoothing.deviations import Deviations, answer_deviations, margin_deviations, with_draws
from tremula.smoothing.distribution import AnswerDistribution, distribution_by_draws, distribution_of_tree, filled
from tremula.smoothing.exact import Softened, gradient, soften
from tremula.smoothing.linear import QUADRATURE_ERROR, LinearScore
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import Draws, Moments, sample_moments
from tremula.smoothing.spread import TOLERANCE as PAIR_TOLERANCE
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

METHODS = ("auto", "exact", "path", "sample")
NO_CERTIFICATE = (
    "a model smoothed by sampling (method='sample') has no certificate, which needs exact answers: use a model of "
    "trees or a linear one with method='exact'"
)


@dataclass(frozen=True, eq=False, repr=False)
class Smoothed:
    """Smoothed answers.

    Attributes
    ----------
    answers : float64 array (n_rows, n_classes) or (n_rows, 1)
        Class shares, or numbers.
    bound : float64 array (n_rows,)
        Largest error of a row's answers, from parts of trees that were cut off or from quadrature; rounding is not
        included. For answers by sampling, the largest standard error, which is not a bound.
    margins : float64 array (n_rows, n_margins) or None
        Margins before the link; only for trees.
    margin_bound : float64 array (n_rows,) or None
        Largest error of the margins.
    """

    answers: Floats
    bound: Floats
    margins: Floats | None = None
    margin_bound: Floats | None = None

    def __repr__(self) -> str:
        n_rows, n_outputs = self.answers.shape
        worst = f", off by at most {self.bound.max():.2g}" if n_rows else ""
        return f"Smoothed({n_rows} rows, {n_outputs} answers each{worst})"


class Smoother(Protocol):
    """A model under noise."""

    def smooth(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Smoothed:
        """Smoothed answers for each row."""

    def deviations(self, rows: Floats, noise: Noise, max_visits: float, n_jobs: int | None) -> Deviations:
        """Return the standard deviation of each of the model's answers under the noise."""

    def distribution(
        self, rows: Floats, noise: Noise, probabilities: Floats, draws: Draws, n_jobs: int | None
    ) -> AnswerDistribution:
        """Return quantiles of each of the model's answers under the noise; draws are for models that need them."""

    def gradient(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Floats:
        """Return the derivative of each smoothed answer in every attribute, (n_rows, n_outputs, n_attributes)."""


# --- trees ---


@dataclass(frozen=True, eq=False)
class TreeSmoother:
    """A sum of trees, in the exact form or the paper's product along paths."""

    model: TreeSum
    method: str
    tol: float
    draws: Draws | None = None

    def smooth(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Smoothed:
        """Smooth the margins, and put them through the link."""
        softened = self._soften(rows, noise, n_jobs)
        link = self.model.link
        bound = link.answer_bound(softened.margins, softened.bound)
        return Smoothed(link.answers(softened.margins), bound, softened.margins, softened.bound)

    def deviations(self, rows: Floats, noise: Noise, max_visits: float, n_jobs: int | None) -> Deviations:
        """Return standard deviations: by pairs of leaves; by draws if there are too many, or a link follows."""
        assert self.draws is not None
        noise = self._common_noise(noise)
        known = answer_deviations(self.model, rows, noise, min(self.tol, PAIR_TOLERANCE), max_visits, n_jobs)
        return with_draws(known, self.model.answers, rows, noise, self.draws, n_jobs)

    def margin_deviations(self, rows: Floats, noise: Noise, max_visits: float, n_jobs: int | None) -> Deviations:
        """Return the standard deviations of the margins: by pairs of leaves, or by draws if there are too many."""
        assert self.draws is not None
        noise = self._common_noise(noise)
        known = margin_deviations(self.model, rows, noise, min(self.tol, PAIR_TOLERANCE), max_visits, n_jobs)
        return with_draws(known, self.model.margins, rows, noise, self.draws, n_jobs)

    def distribution(
        self, rows: Floats, noise: Noise, probabilities: Floats, draws: Draws, n_jobs: int | None
    ) -> AnswerDistribution:
        """Return exact quantiles of a single tree, drawn ones of several and of rows that take several leaves."""
        noise = self._common_noise(noise)
        if len(self.model.trees) > 1:
            return distribution_by_draws(self.model.answers, rows, noise, probabilities, draws, n_jobs)
        exact = distribution_of_tree(self.model, rows, noise, probabilities, n_jobs)
        return filled(exact, self.model.answers, rows, noise, draws, n_jobs)

    def _common_noise(self, noise: Noise) -> Noise:
        """Return the noise that all trees have in common; refuse if each has its own."""
        if noise.is_per_tree and len(self.model.trees) > 1:
            raise InvalidParameter(
                "the spread of the answers was asked for, but each tree has noise of its own, so the model has no "
                "distribution of answers under common noise: use one amount for each attribute"
            )
        return noise.of_tree(0)

    def draws_on_path(self) -> NDArray[np.int64]:
        """Count how often the noise of an attribute is drawn on a path; 0 if the attribute is not tested."""
        tests = most_tests(self.model)
        return tests if self.method == "path" else np.minimum(tests, 1)

    def gradient(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Floats:
        """Differentiate the margins and apply the chain rule to the link."""
        differentiate = gradient_per_tree if noise.is_per_tree else gradient
        slopes = differentiate(self.model, rows, noise.sd, tol=self.tol, n_jobs=n_jobs, **self._options(noise))
        return self.model.link.slopes(self._soften(rows, noise, n_jobs).margins, slopes)

    def _soften(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Softened:
        smooth = soften_per_tree if noise.is_per_tree else soften
        return smooth(self.model, rows, noise.sd, tol=self.tol, n_jobs=n_jobs, **self._options(noise))

    def _options(self, noise: Noise) -> dict[str, Any]:
        return {"form": self.method, "flip": noise.flip, "level_shares": noise.level_shares or None}


# --- linear scores ---


@dataclass(frozen=True, eq=False)
class LinearSmoother:
    """A linear score whose answer is a number, or the share of the second of two classes."""

    score: LinearScore
    is_classifier: bool
    method: ClassVar[str] = "exact"

    def smooth(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Smoothed:
        """Mean of a function of one normal number."""
        means, _ = self.score.expected(rows, noise.sd)
        bound = np.full(len(rows), QUADRATURE_ERROR if self.score.link == "logistic" else 0.0)
        return Smoothed(self._outputs(means, 1.0 - means), bound)

    def deviations(self, rows: Floats, noise: Noise, max_visits: float, n_jobs: int | None) -> Deviations:
        """Return exact ones."""
        deviations = self.score.expected(rows, noise.sd)[1]
        values = self._outputs(deviations, deviations)
        # A quadrature error of E p and E p² is one of the variance.
        error = np.sqrt(values**2 + 2 * QUADRATURE_ERROR) - values if self.score.link == "logistic" else 0.0 * values
        return Deviations(values, error, np.ones(len(rows), dtype=bool))

    def distribution(
        self, rows: Floats, noise: Noise, probabilities: Floats, draws: Draws, n_jobs: int | None
    ) -> AnswerDistribution:
        """Return exact quantiles: the answer rises with a normal number."""
        second = self.score.quantiles(rows, noise.sd, probabilities)
        quantiles = second[:, None]
        if self.is_classifier:
            quantiles = np.stack([1.0 - self.score.quantiles(rows, noise.sd, 1.0 - probabilities), second], axis=1)
        return AnswerDistribution(probabilities, quantiles, quantiles, quantiles, np.ones(len(rows), dtype=bool))

    def gradient(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Floats:
        """Differentiate in the score, and the score in every attribute."""
        slopes = self.score.gradient(rows, noise.sd)
        return np.stack([-slopes, slopes] if self.is_classifier else [slopes], axis=1)

    def _outputs(self, second: Floats, first: Floats) -> Floats:
        return np.column_stack([first, second]) if self.is_classifier else second[:, None]


# --- anything ---


@dataclass(frozen=True, eq=False)
class SampledSmoother:
    """Any model, by drawing."""

    answer: Callable[[Floats], Floats]
    draws: Draws
    method: ClassVar[str] = "sample"

    def smooth(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Smoothed:
        """Mean answer over the draws."""
        if noise.is_none:
            return Smoothed(self.answer(rows), np.zeros(len(rows)))
        moments = self._moments(rows, noise, n_jobs)
        return Smoothed(moments.means, moments.deviations.max(axis=1) / np.sqrt(len(self.draws.normal)))

    def deviations(self, rows: Floats, noise: Noise, max_visits: float, n_jobs: int | None) -> Deviations:
        """Return the standard deviation over the draws."""
        moments = self._moments(rows, noise, n_jobs)
        return Deviations(moments.deviations, moments.deviation_errors, np.zeros(len(rows), dtype=bool))

    def distribution(
        self, rows: Floats, noise: Noise, probabilities: Floats, draws: Draws, n_jobs: int | None
    ) -> AnswerDistribution:
        """Return quantiles over the draws."""
        return distribution_by_draws(self.answer, rows, noise, probabilities, draws, n_jobs)

    def gradient(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Floats:
        """Refuse: a mean over draws of a model with jumps has no derivative."""
        raise InvalidParameter(
            "gradient was called for a model smoothed by sampling (method='sample'), which has no exact derivative: "
            "use a model of trees or a linear one with method='exact'"
        )

    def _moments(self, rows: Floats, noise: Noise, n_jobs: int | None) -> Moments:
        return sample_moments(self.answer, rows, noise.sd, self.draws, noise.flip, noise.level_shares, n_jobs)
