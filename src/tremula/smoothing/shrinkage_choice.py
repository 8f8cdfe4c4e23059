"""Chooses the strength of hierarchical shrinkage together with the noise, on the same validation rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.target import read_weights
from tremula.errors import InvalidParameter
from tremula.smoothing.noise.choice import NoiseChoiceMixin
from tremula.smoothing.noise.grid import Trial, choose_trial, try_amount
from tremula.smoothing.noise.search import PooledLoss
from tremula.smoothing.shrinkage import find_node_weights
from tremula.smoothing.trained_model import WrappedModel

Floats = NDArray[np.float64]

STRENGTHS = (0.0, 0.1, 1.0, 10.0, 25.0, 50.0, 100.0, 500.0)  # those of the paper, and none


class ShrinkageChoiceMixin(NoiseChoiceMixin):
    """Chooses shrinkage and noise of a wrapper when it is fitted.

    The noise is chosen without shrinkage first, then the strength at this noise and at none, then the noise once more.
    As noise must prove to help, so must shrinkage: its loss must be lower by a standard error of the paired difference.
    """

    shrinkage: Any

    shrinkage_: float
    shrinkage_curve_: Floats
    node_weights_: list[Floats] | None
    node_weights_source_: str

    def _shrink_and_choose_noise(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> None:
        for name in ("shrinkage_curve_", "node_weights_source_"):
            self.__dict__.pop(name, None)
        self.shrinkage_, self.node_weights_, self._fold_copies = 0.0, None, []
        given = X, y, sample_weight, X_val, y_val
        if self.shrinkage != 0.0:
            self._find_node_weights(X, y, sample_weight)
        if self.shrinkage == "auto":
            self._choose_both(*given)
        else:
            self._set_shrinkage(float(self.shrinkage))
            self._choose_noise(*given)
        del self._fold_copies

    def _find_node_weights(self, X: Any, y: Any, sample_weight: Any) -> None:
        trees = self._wrapped.trees
        if trees is None:
            raise InvalidParameter(
                f"shrinkage={self.shrinkage!r} was given, but {type(self.estimator_).__name__} cannot be read as "
                f"trees, and only trees can be shrunken: set shrinkage=0. The reason: {self._wrapped.unread}"
            )
        weights = None if X is None else read_weights(sample_weight, len(trees.rows(X)))
        self.node_weights_, self.node_weights_source_ = find_node_weights(trees, X, y, weights)

    @abstractmethod
    def _replace_wrapped(self, wrapped: WrappedModel) -> None:
        """Use another form of the wrapped model from now on."""

    def _set_shrinkage(self, strength: float) -> None:
        self.shrinkage_ = strength
        self._replace_wrapped(self._wrapped.with_shrinkage(self.node_weights_, strength))

    def _choose_both(self, *given: Any) -> None:
        self._choose_noise(*given)
        alone = self.noise_
        losses: list[PooledLoss] = []
        trials: list[tuple[float, Trial]] = []
        for strength in STRENGTHS:
            self._set_shrinkage(strength)
            losses.append(PooledLoss(self._validation_rows(*given), self.scoring, self.n_features_in_))
            amounts = [alone, 0.0] if np.any(alone) and isinstance(self.noise, str) else [alone]
            trials += [(strength, try_amount(losses[-1], amount)) for amount in amounts]
        weights = losses[0].weights
        self.shrinkage_curve_ = np.array(
            [[strength, trial.losses @ weights / weights.sum()] for strength, trial in trials if trial.amount is alone]
        )
        strength, best = _choose(trials, weights)
        if strength > 0 and isinstance(self.noise, str):
            self._set_shrinkage(strength)
            self._choose_noise(*given)
            again = strength, try_amount(losses[STRENGTHS.index(strength)], self.noise_)
            strength, best = _choose([trials[0], (strength, best), again], weights)
        self._set_shrinkage(strength)
        self.noise_ = best.amount
        if isinstance(self.noise, str):
            self.noise_loss_ = float(best.losses @ weights / weights.sum())


def _choose(trials: list[tuple[float, Trial]], weights: Floats) -> tuple[float, Trial]:
    chosen = choose_trial([trial for _, trial in trials], weights)
    return next(pair for pair in trials if pair[1] is chosen)
