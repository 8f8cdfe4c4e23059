"""Trials of what `tremula query` says of the error of its model, where the errors of model and constant are known.

The errors of held-out rows are drawn, as a database would count them; no model is grown. `error_rates.py` repeats the
trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stated_rate import COVERAGE, ERROR, StatedRate

from tremula.queries import ArrayOracle
from tremula.queries.error_estimate import ErrorEstimate, measure_error
from tremula.queries.question import Schema
from tremula.queries.sql.held_out import ErrorSums

LEVEL = 0.05
N_HELD_OUT = 200
ERROR_RATE = 0.25
TRAINING_ROWS = np.array([[0], [1]] * 4)


@dataclass(frozen=True)
class DrawnErrors:
    """Held-out rows whose predictions were drawn."""

    schema: Schema
    confusion: NDArray[np.int64] | None = None
    sums: ErrorSums | None = None
    columns: tuple[str, ...] = ("rows",)
    keeps_alike: bool = True

    def count_predictions(self, model: Any) -> Any:
        return self.confusion

    def sum_errors(self, model: Any, constant: float) -> Any:
        return self.sums


def estimate_of_classes(seed: int) -> ErrorEstimate:
    """A model and the constant "often" that are right for equally many rows, each for others."""
    random = np.random.default_rng(seed)
    is_often = random.random(N_HELD_OUT) >= ERROR_RATE
    is_right = np.where(
        is_often, random.random(N_HELD_OUT) >= ERROR_RATE / 2 / (1 - ERROR_RATE), random.random(N_HELD_OUT) < 0.5
    )
    confusion = np.zeros((2, 2), dtype=np.int64)
    truth = (~is_often).astype(int)
    np.add.at(confusion, (truth, np.where(is_right, truth, 1 - truth)), 1)
    training = ArrayOracle(TRAINING_ROWS, np.array(["often"] * 6 + ["rarely"] * 2), categorical_features=[0])
    held_out: Any = DrawnErrors(training.schema, confusion=confusion)
    return measure_error(None, training, held_out)


def estimate_of_numbers(seed: int) -> ErrorEstimate:
    """Targets x + e, predicted as 2x, or always as 0: both have the same mean squared error, 2."""
    x, noise = np.random.default_rng(seed).normal(size=(2, N_HELD_OUT))
    squared, constant = (noise - x) ** 2, (noise + x) ** 2
    sums = ErrorSums(
        N_HELD_OUT,
        float(squared.sum()),
        float((squared**2).sum()),
        float(constant.sum()),
        float(((constant - squared) ** 2).sum()),
    )
    training = ArrayOracle(TRAINING_ROWS, np.array([-1.0, 1.0] * 4), categorical_features=[0], task="regression")
    held_out: Any = DrawnErrors(training.schema, sums=sums)
    return measure_error(None, training, held_out)


def is_called_better(estimate: ErrorEstimate) -> bool:
    return estimate.p_value is not None and estimate.p_value <= LEVEL


def holds(estimate: ErrorEstimate, truth: float) -> bool:
    low, high = estimate.interval
    return low <= truth <= high


HELD_OUT = f"{N_HELD_OUT} rows held out"
OF_QUERIES = [
    StatedRate(
        "`query`: the error is below that of the constant",
        f"{HELD_OUT}, equal errors",
        ERROR,
        LEVEL,
        lambda seed: is_called_better(estimate_of_classes(seed)),
    ),
    StatedRate(
        "`query`: the root mean squared error is below that of the constant",
        f"{HELD_OUT}, equal errors",
        ERROR,
        LEVEL,
        lambda seed: is_called_better(estimate_of_numbers(seed)),
    ),
    StatedRate(
        "`query`: error of the model",
        f"{HELD_OUT}, {100 * ERROR_RATE:g} % wrong",
        COVERAGE,
        0.95,
        lambda seed: holds(estimate_of_classes(seed), ERROR_RATE),
    ),
    StatedRate(
        "`query`: root mean squared error of the model",
        f"{HELD_OUT}, normal errors",
        COVERAGE,
        0.95,
        lambda seed: holds(estimate_of_numbers(seed), 2**0.5),
    ),
]
