"""Compares two models on the same held-out rows: the loss of each, and the difference with an interval.

The losses are paired by row, so the interval is that of the difference.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import TestResult, mcnemar_test, paired_t_test
from tremula.losses import log_losses, squared_errors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """The change of one loss.

    Attributes
    ----------
    measure : str
    unit : str
        Unit of all numbers; empty if they have none.
    before, after : float
        Loss of each model.
    gain : float
        Loss before minus after: positive if the second model is better.
    interval : tuple of two floats, or None
        95 % interval of the gain; None if both models predict the same for all rows.
    p_value : float
    """

    measure: str
    unit: str
    before: float
    after: float
    gain: float
    interval: tuple[float, float] | None
    p_value: float

    @property
    def verdict(self) -> str:
        """The better model: "after", "before", "open" if the interval includes zero, or "same"."""
        if self.interval is None:
            return "same"
        low, high = self.interval
        return "after" if low > 0 else "before" if high < 0 else "open"

    def sentence(self, n_rows: int) -> str:
        """Return the change as a sentence."""
        if self.interval is None:
            return f"By {self.measure}, nothing changes: both models predict the same for all {n_rows:,} rows."
        written = ".2f" if self.unit else ".3g"
        low, high = (format(bound, written) for bound in self.interval)
        gain = f"{format(abs(self.gain), written)}{self.unit}"
        comparison = {
            "after": f"is better by {gain}",
            "before": f"is worse by {gain}",
            "open": f"is not shown to differ, {gain} {'more' if self.gain < 0 else 'less'}",
        }[self.verdict]
        return (
            f"By {self.measure}, on {n_rows:,} rows not used to choose the noise, the smoothed model {comparison} (95 "
            f"% interval of the gain {low} to {high})."
        )


def compare_classes(shares: tuple[Floats, Floats], codes: NDArray[np.int64]) -> list[Change]:
    """Compare the class shares that two models give, by errors and by log loss.

    Parameters
    ----------
    shares : two arrays of shape (n_rows, n_classes)
        Class probabilities of the model before and after smoothing.
    codes : int array of shape (n_rows,)
        The column of each row's class; -1 for a class that the models do not know.

    Examples
    --------
    >>> hard, soft = np.eye(2)[[0, 0, 0, 1] * 20], np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2], [0.3, 0.7]] * 20)
    >>> error, log_loss = compare_classes((hard, soft), np.array([0, 1, 0, 1] * 20))
    >>> error.before, error.after, error.verdict
    (25.0, 0.0, 'after')
    """
    wrong = [each.argmax(axis=1) != codes for each in shares]
    losses = [log_losses(codes, each) for each in shares]
    changes = [
        _change("error", " points", 100.0, wrong, mcnemar_test),
        _change("log loss", "", 1.0, losses, paired_t_test),
    ]
    if np.array_equal(*shares):
        return [replace(change, interval=None) for change in changes]
    if np.array_equal(*wrong):
        # No row is won or lost. A share of such rows up to this bound would still be unseen with a chance of 2.5 %.
        most = 100.0 * (1.0 - 0.025 ** (1.0 / len(codes)))
        changes[0] = replace(changes[0], interval=(-most, most))
    return changes


def compare_numbers(predicted: tuple[Floats, Floats], target: Floats) -> list[Change]:
    """Compare the numbers that two models predict, by the root of their mean squared error.

    The difference of two roots is that of the squares divided by the sum of the roots; so is its interval, in which
    that sum is taken as given.
    """
    squares = [squared_errors(target, each) for each in predicted]
    is_same = np.array_equal(*predicted)
    change = _change("root mean squared error", "", 1.0, squares, paired_t_test)
    before, after = change.before**0.5, change.after**0.5
    both = before + after or 1.0
    interval = None
    if change.interval is not None and not is_same:
        low, high = change.interval
        interval = (low / both, high / both)
    return [replace(change, before=before, after=after, gain=change.gain / both, interval=interval)]


def _change(measure: str, unit: str, scale: float, losses: list[Any], test: Callable[..., TestResult]) -> Change:
    before, after = (scale * float(np.mean(each)) for each in losses)
    result = test(*losses)
    low, high = (scale * bound for bound in result.interval)
    return Change(measure, unit, before, after, scale * result.difference, (low, high), result.p_value)
