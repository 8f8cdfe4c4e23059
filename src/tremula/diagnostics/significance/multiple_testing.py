"""Multiple testing: p-values adjusted for the number of tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tremula.diagnostics.significance.paired import Floats, read_floats
from tremula.errors import InvalidInput
from tremula.parameters import check_choice


def _bonferroni(p_values: Floats) -> Floats:
    return np.minimum(p_values * len(p_values), 1.0)


def _holm(p_values: Floats) -> Floats:
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "holm": _holm,
    "bonferroni": _bonferroni,
    "benjamini-hochberg": lambda p_values: np.asarray(stats.false_discovery_control(p_values, method="bh")),
    "none": lambda p_values: p_values.copy(),
}


def adjust_p_values(p_values: ArrayLike, correction: str = "holm") -> Floats:
    """Adjust the p-values of several tests, so that each can be compared with the error rate for all tests.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        Unadjusted p-values.
    correction : {'holm', 'bonferroni', 'benjamini-hochberg', 'none'}, default='holm'
        Holm and Bonferroni bound the probability of any false positive (Holm is never less powerful); Benjamini and
        Hochberg bound the expected share of false positives.

    Returns
    -------
    array of shape (n_tests,)
        In the order given.

    Examples
    --------
    >>> adjust_p_values([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    check_choice("correction", correction, CORRECTIONS)
    numbers = read_floats("p_values", p_values)
    if numbers.ndim != 1 or not len(numbers) or not ((numbers >= 0) & (numbers <= 1)).all():
        raise InvalidInput(
            f"p_values is {np.array2string(numbers, threshold=5)}: give a list of numbers from 0 to 1, none NaN"
        )
    return CORRECTIONS[correction](numbers)
