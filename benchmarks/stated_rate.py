"""A rate that tremula states with what it prints: of false findings, or of intervals that hold the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

ERROR, COVERAGE = "false findings", "coverage"


class StatedRate(NamedTuple):
    """What is printed, on which data it is tried, and the rate that is stated.

    Attributes
    ----------
    statement, data : str
    kind : {"false findings", "coverage"}
        The first must not exceed the rate, the second not fall below it.
    stated : float or None
        None where no rate is stated.
    trial : callable
        From the number of a trial to what happened in it: a truth value, or a share.
    n_trials : int
    reason : str
        Why the rate is not kept, where it is not.
    """

    statement: str
    data: str
    kind: str
    stated: float | None
    trial: Callable[[int], float]
    n_trials: int = 1000
    reason: str = ""
