"""What differs between classes and numbers: how predictions are scored, weighed, calibrated and corrected.

Margins are what corrections are added to: logarithms of class probabilities, or the numbers themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np
from scipy.special import softmax

from tremula.aspen.blend_weights import class_weights, find_power, number_weights
from tremula.aspen.family_members import ScoringRows
from tremula.combine import largest
from tremula.losses import log_losses, log_probabilities, squared_errors, zero_one_losses
from tremula.perturb import Sample

N_BINS = 10  # of confidence, by which calibration is measured
PRIOR_SHARE = 0.008  # of the class frequencies in training, mixed into every prediction: no class is impossible


class Task(Protocol):
    """Classification or regression, as Aspen needs it."""

    loss_name: ClassVar[str]

    @property
    def power(self) -> float:
        """Power to which class probabilities are raised; 1 for numbers."""

    def calibrated(self, means: np.ndarray, scoring: ScoringRows) -> Self:
        """Learn from mean out-of-bag predictions how confident they should be."""

    def weakened(self, share: float) -> Self:
        """Return the task with this share of the margins of mean predictions; numbers have no other share than 1."""

    def margins(self, means: np.ndarray) -> np.ndarray:
        """Margins of mean predictions."""

    def predictions(self, margins: np.ndarray) -> np.ndarray:
        """Class probabilities, or numbers, of margins."""

    def loss(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Loss by which families are chosen; NaN without rows to score."""

    def error_rate(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Weighted share of wrong classes; NaN for numbers, or without rows to score."""

    def calibration_error(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Mean distance between confidence and accuracy; NaN for numbers, or without rows to score."""

    def weigh(self, predictions: np.ndarray, scoring: ScoringRows) -> np.ndarray:
        """Weights of families in the blend, from predictions of shape (n_families, n_rows, n_outputs)."""


@dataclass(frozen=True)
class ClassTask:
    """Classification: log loss, and class probabilities raised to a power.

    Attributes
    ----------
    prior : array (n_classes,)
        Class frequencies in training.
    power : float
    """

    prior: np.ndarray
    power: float = 1.0
    loss_name: ClassVar[str] = "log loss"

    @classmethod
    def of(cls, sample: Sample) -> ClassTask:
        """Learn the class frequencies."""
        counts = np.bincount(sample.target, sample.weights, sample.n_classes)
        return cls(counts / counts.sum())

    def with_prior(self, means: np.ndarray) -> np.ndarray:
        """Mix a small share of the class frequencies into class probabilities."""
        return (1.0 - PRIOR_SHARE) * means + PRIOR_SHARE * self.prior

    def calibrated(self, means: np.ndarray, scoring: ScoringRows) -> ClassTask:
        """Find the power with the least log loss; it stays as it is without rows to score."""
        if not scoring.can_score:
            return self
        return replace(self, power=find_power(self.with_prior(means), scoring.target, scoring.weights))

    def weakened(self, share: float) -> ClassTask:
        """Multiply the power."""
        return replace(self, power=share * self.power)

    def margins(self, means: np.ndarray) -> np.ndarray:
        """Logarithms of the powers of class probabilities."""
        return self.power * log_probabilities(self.with_prior(means))

    def predictions(self, margins: np.ndarray) -> np.ndarray:
        """Class probabilities."""
        return np.asarray(softmax(margins, axis=1))

    def loss(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Log loss."""
        return scoring.mean(log_losses(scoring.target, predictions))

    def error_rate(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Weighted share of wrong classes."""
        if predictions.shape[1] == 1:  # the only class is never wrong
            return float("nan")
        return scoring.mean(zero_one_losses(scoring.target, largest(predictions)))

    def calibration_error(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Mean distance between the probability of the predicted class and how often it is right, by bins of 0.1.

        Examples
        --------
        >>> rows = ScoringRows(np.arange(2), np.array([0, 1]), np.ones(2))
        >>> ClassTask(np.array([0.5, 0.5])).calibration_error(np.array([[0.75, 0.25], [0.75, 0.25]]), rows)
        0.25
        """
        if predictions.shape[1] == 1 or not scoring.can_score:
            return float("nan")
        confidence = predictions.max(axis=1)
        excess = scoring.weights * (confidence - 1.0 + zero_one_losses(scoring.target, largest(predictions)))
        bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
        return float(np.abs(np.bincount(bins, excess)).sum() / scoring.weights.sum())

    def weigh(self, predictions: np.ndarray, scoring: ScoringRows) -> np.ndarray:
        """Weights of the mixture with the least log loss."""
        return class_weights(predictions, scoring.target, scoring.weights)


@dataclass(frozen=True)
class NumberTask:
    """Regression: root mean squared error, and nothing to calibrate."""

    power: ClassVar[float] = 1.0
    loss_name: ClassVar[str] = "RMSE"

    def calibrated(self, means: np.ndarray, scoring: ScoringRows) -> NumberTask:
        """Return the task as it is."""
        return self

    def weakened(self, share: float) -> NumberTask:
        """Return the task as it is."""
        return self

    def margins(self, means: np.ndarray) -> np.ndarray:
        """Return the numbers themselves."""
        return means

    def predictions(self, margins: np.ndarray) -> np.ndarray:
        """Return the numbers themselves."""
        return margins

    def loss(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Root mean squared error."""
        return float(np.sqrt(scoring.mean(squared_errors(scoring.target, predictions[:, 0]))))

    def error_rate(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Return NaN: numbers are not right or wrong."""
        return float("nan")

    def calibration_error(self, predictions: np.ndarray, scoring: ScoringRows) -> float:
        """Return NaN: numbers have no probabilities."""
        return float("nan")

    def weigh(self, predictions: np.ndarray, scoring: ScoringRows) -> np.ndarray:
        """Weights of the mean with the least squared error."""
        return number_weights(predictions, scoring.target, scoring.weights)
