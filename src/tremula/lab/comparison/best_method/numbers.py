"""Predicted numbers as plain dicts: residuals, and whether predictions are right on average."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tremula.lab.comparison.best_method.held_out import HeldOut

MOST_POINTS = 400
MOST_GROUPS = 10
FEWEST_ROWS = 5  # of a group
CONFIDENCE = 0.95


def describe_residuals(held_out: HeldOut, seed: int) -> dict[str, Any]:
    """Return quantiles of the residuals, predicted minus true, and some rows to draw.

    Examples
    --------
    >>> held_out = HeldOut(np.arange(3), np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 5.0]))
    >>> residuals = describe_residuals(held_out, seed=0)
    >>> residuals["median_size"], residuals["points"]
    (0.5, [[1.5, 0.5], [2.0, 0.0], [5.0, 2.0]])
    """
    residuals = np.asarray(held_out.answers - held_out.truth, dtype=float)
    n_rows = len(residuals)
    drawn = np.sort(np.random.default_rng([seed, 5]).permutation(n_rows)[:MOST_POINTS])
    low, high = _mean_interval(residuals)
    return {
        "rows": n_rows,
        "median_size": float(np.median(np.abs(residuals))),
        "size_of_nine_in_ten": float(np.quantile(np.abs(residuals), 0.9)),
        "mean": float(residuals.mean()),
        "mean_low": low,
        "mean_high": high,
        "too_high": float((residuals > 0).mean()),
        "points": [[float(held_out.answers[place]), float(residuals[place])] for place in drawn],
    }


def describe_groups(held_out: HeldOut) -> list[dict[str, Any]]:
    """Return the mean prediction and the mean true value of rows with like predictions, with its interval."""
    order = np.argsort(held_out.answers, kind="stable")
    n_groups = min(MOST_GROUPS, len(order) // FEWEST_ROWS)
    groups = []
    for places in np.array_split(order, n_groups) if n_groups else []:
        truth = np.asarray(held_out.truth[places], dtype=float)
        low, high = _mean_interval(truth)
        means = {"predicted": float(held_out.answers[places].mean()), "observed": float(truth.mean())}
        groups.append({**means, "low": low, "high": high, "rows": len(places)})
    return groups


def _mean_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of a mean by Student's t; both ends are the mean if all values are the same."""
    if len(values) < 2:
        return float(values.mean()), float(values.mean())
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def largest_misses(held_out: HeldOut, n_cases: int) -> list[dict[str, Any]]:
    """Return the rows with the largest residuals."""
    sizes = np.abs(held_out.answers - held_out.truth)
    return [case_of(held_out, int(place)) for place in np.argsort(-sizes, kind="stable")[:n_cases]]


def case_of(held_out: HeldOut, place: int) -> dict[str, Any]:
    """Return the row, the true and the predicted number of a prediction."""
    return {
        "row": int(held_out.rows[place]) + 1,
        "truth": float(held_out.truth[place]),
        "answer": float(held_out.answers[place]),
    }
