"""Methods of the wrappers for the spread of the model's answers under noise: standard deviations and quantiles."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.errors import InvalidParameter, SamplingWarning, counted
from tremula.parameters import check_choice, check_number, read_numbers
from tremula.parameters.table import MOST_DRAWS
from tremula.smoothing.deviations import Deviations, Spread
from tremula.smoothing.distribution import AnswerDistribution
from tremula.smoothing.methods import Smoothed, Smoother, TreeSmoother
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import make_draws
from tremula.smoothing.spread import MAX_VISITS

Floats = NDArray[np.float64]


class AnswerSpreadMixin:
    """Computes how far the answers of a wrapped model spread under the noise."""

    n_jobs: int | None
    n_draws: int

    estimator_: Any
    method_: str
    _root_seed: int

    @abstractmethod
    def _read(self, X: Any, X_std: Any) -> tuple[Smoother, Floats, Noise]:
        """Return the smoother, the encoded rows and the noise on them."""

    @abstractmethod
    def _smoothed(self, X: Any, smoother: Smoother, rows: Floats, noise: Noise) -> Smoothed:
        """Return smoothed answers."""

    def spread(self, X: Any, X_std: Any = None, of: str = "answers", max_visits: float = MAX_VISITS) -> Spread:
        """Smoothed answers and the standard deviation of the model's own answers under the noise.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value, in its own units.
        of : {"answers", "margins"}, default="answers"
            Whether the answers spread, or the sums of the trees before the link.
        max_visits : float, default=2000000
            A row with too many pairs of leaves is given up after so many visits of nodes, and drawn. Infinite for no
            limit.

        Returns
        -------
        Spread
            Says for every row whether its deviations are exact, and how large their error may be.

        Notes
        -----
        The variance of a sum of trees is exact: a sum over pairs of leaves whose boxes overlap. If a link follows the
        sum, the margins are exact, and the answers only for a single tree; they are drawn for several.
        """
        check_choice("of", of, ("answers", "margins"))
        check_number("max_visits", max_visits, 1)
        smoother, rows, noise = self._read(X, X_std)
        if of == "margins" and not isinstance(smoother, TreeSmoother):
            raise InvalidParameter(
                f"of='margins' needs a model of trees, which {type(self.estimator_).__name__} is not"
            )
        answers: Floats | None
        if of == "margins" and isinstance(smoother, TreeSmoother):
            answers = smoother.smooth(rows, noise, self.n_jobs).margins
            deviations = smoother.margin_deviations(rows, noise, max_visits, self.n_jobs)
        else:
            answers = self._smoothed(X, smoother, rows, noise).answers
            deviations = self._deviations(smoother, rows, noise, max_visits, answers)
        assert answers is not None
        return Spread(answers, deviations.values, deviations.error, deviations.is_exact)

    def _deviations(
        self, smoother: Smoother, rows: Floats, noise: Noise, max_visits: float, answers: Floats
    ) -> Deviations:
        if noise.is_none:
            return Deviations(np.zeros_like(answers), np.zeros_like(answers), np.ones(len(rows), dtype=bool))
        return smoother.deviations(rows, noise, max_visits, self.n_jobs)

    def answer_distribution(
        self, X: Any, quantiles: ArrayLike = (0.05, 0.5, 0.95), X_std: Any = None, n_draws: int = 1000
    ) -> AnswerDistribution:
        """Quantiles of the model's own answers under the noise: exact for a single tree, drawn for several.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        quantiles : array of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Probabilities above 0 and below 1.
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value, in its own units.
        n_draws : int, default=1000
            Number of draws for rows that have no exact distribution.

        Returns
        -------
        AnswerDistribution
            Says for every row whether its quantiles are exact. Drawn ones have an interval that holds the true one.
        """
        check_number("n_draws", n_draws, 1, MOST_DRAWS)
        probabilities = np.atleast_1d(read_numbers("quantiles", quantiles, "numbers above 0 and below 1"))
        if probabilities.ndim != 1 or not ((probabilities > 0) & (probabilities < 1)).all():
            raise InvalidParameter(f"quantiles={quantiles!r} were given; expected numbers above 0 and below 1")
        smoother, rows, noise = self._read(X, X_std)
        draws = make_draws(self._root_seed, int(n_draws), rows.shape[1])
        return smoother.distribution(rows, noise, probabilities, draws, self.n_jobs)

    def _with_deviations(self, X: Any, X_std: Any) -> tuple[Floats, Floats]:
        """Return smoothed predictions, and the standard deviations of the model's own predictions under the noise."""
        spread = self.spread(X, X_std)
        n_drawn = int((~spread.is_exact).sum())
        if n_drawn and getattr(self, "method_", "") != "sample":  # files of release 0.1.0 have none
            warnings.warn(
                f"the standard deviations of {counted(n_drawn, 'row')} of {len(spread.is_exact):,} are drawn, with "
                f"n_draws={self.n_draws}: a link follows the sum of trees, or there are too many pairs of leaves. "
                "`spread(X)` says which rows, gives their standard errors, and takes a larger max_visits",
                SamplingWarning,
                stacklevel=3,
            )
        return spread.answers, spread.deviations
