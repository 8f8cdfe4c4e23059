"""Diversity of members, from the rows that each predicts correctly, after Kuncheva and Whitaker (2003).

Each takes an array (n_members, n_rows) that is 1 where a member is right and 0 where it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def mean_over_pairs(values: np.ndarray) -> float:
    """Return the mean of a symmetric table over pairs of different members, NaN left out.

    Examples
    --------
    >>> import numpy as np
    >>> mean_over_pairs(np.array([[1.0, 0.2, 0.6], [0.2, 1.0, np.nan], [0.6, np.nan, 1.0]]))
    0.4
    """
    above = values[np.triu_indices(len(values), 1)]
    known = above[~np.isnan(above)]
    return float(known.mean()) if len(known) else float("nan")


def _disagreement(right: np.ndarray) -> float:
    alone = right @ (1 - right).T
    return mean_over_pairs((alone + alone.T) / right.shape[1])


def _double_fault(right: np.ndarray) -> float:
    return mean_over_pairs((1 - right) @ (1 - right).T / right.shape[1])


def _q_statistic(right: np.ndarray) -> float:
    wrong = 1 - right
    alike, unlike = (right @ right.T) * (wrong @ wrong.T), (right @ wrong.T) * (wrong @ right.T)
    total = alike + unlike
    return mean_over_pairs(np.divide(alike - unlike, total, out=np.full_like(total, np.nan), where=total > 0))


def _entropy(right: np.ndarray) -> float:
    n_members, n_right = len(right), right.sum(axis=0)
    return float(np.minimum(n_right, n_members - n_right).mean() / (n_members - np.ceil(n_members / 2)))


def _kohavi_wolpert(right: np.ndarray) -> float:
    n_members, n_right = len(right), right.sum(axis=0)
    return float((n_right * (n_members - n_right)).mean() / n_members**2)


def _interrater_agreement(right: np.ndarray) -> float:
    n_members, accuracy = len(right), right.mean()
    spread = n_members * accuracy * (1 - accuracy)
    return float(1 - _kohavi_wolpert(right) * n_members**2 / ((n_members - 1) * spread)) if spread > 0 else 1.0


DIVERSITY: dict[str, Callable[[np.ndarray], float]] = {
    "disagreement": _disagreement,
    "double_fault": _double_fault,
    "q_statistic": _q_statistic,
    "entropy": _entropy,
    "kohavi_wolpert": _kohavi_wolpert,
    "interrater_agreement": _interrater_agreement,
}
