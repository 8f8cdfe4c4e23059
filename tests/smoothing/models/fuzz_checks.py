"""What must hold for a model that is called exact: three ways to refute it.

Its trees give the model's own predictions; with hardly any noise so do the smoothed answers to training rows; and with
noise the smoothed margins are the means over perturbed rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tremula as tm
from tremula.data.take import count_rows, take_rows
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel

from .draws import draws_of

N_DRAWS = 2000
N_ROWS = 2  # that are drawn
PRECISION = 2e-5  # of models in single precision
LOG_CHANCE = 21.0  # a comparison fails by chance once in exp(21) / 2 times, whatever the distribution


def wrapper(estimator: Any, learns_classes: bool, noise: float, thresholds: str) -> Any:
    """Return a wrapper of the model, to be fitted."""
    kind = tm.DualPerturbClassifier if learns_classes else tm.DualPerturbRegressor
    flip = 0.2 if thresholds == "kept" else 0.0
    return kind(estimator, noise=noise, flip=flip, method="exact", thresholds=thresholds)


def outcome_of(estimator: Any, learns_classes: bool, table: Any, others: Any, random: np.random.Generator) -> str:
    """Return "exact", "refused" or "rows refused", or what is wrong with a model that is called exact."""
    try:
        soft = wrapper(estimator, learns_classes, 0.3, "kept").fit(table)
    except (UnsupportedModel, InvalidParameter):
        return "refused"
    except InvalidInput:
        return "rows refused"
    for rows in (table, others):
        try:
            wrong = misread(soft, rows)
        except InvalidInput:
            return "rows refused"
        if wrong:
            return wrong
    return changed_by_little_noise(estimator, learns_classes, table) or other_than_draws(soft, table, random) or "exact"


def scale_of(answers: np.ndarray, model: Any) -> float:
    """Return the magnitude of answers, or of the terms of numbers that cancel each other."""
    whole = model.sum
    terms = _range(whole) + float(np.abs(whole.offset).max()) if whole.link.is_identity else 0.0
    return max(float(np.abs(answers).max()), terms, 1e-300)


def misread(soft: Any, rows: Any) -> str:
    """Return how far the trees are from the model's own predictions, if they are."""
    model = soft._wrapped.trees
    soft._wrapped.rows(rows)  # refuses rows that the model does not take
    own, read = model.unsmoothed(rows), model.answers(rows)
    apart = float(np.abs(own - read).max())
    return "" if apart <= PRECISION * scale_of(own, model) else f"its trees differ by {apart:.3g}"


def changed_by_little_noise(estimator: Any, learns_classes: bool, table: Any) -> str:
    """Return how far answers with hardly any noise are from those without, if they are."""
    little = wrapper(estimator, learns_classes, 1e-10, "centered").fit(table)
    own, smoothed = little._wrapped.unsmoothed(table), little.smooth(table).answers
    apart, scale = float(np.abs(own - smoothed).max()), scale_of(own, little._wrapped.trees)
    return "" if apart <= PRECISION * scale else f"little noise changes answers by {apart:.3g}"


def other_than_draws(soft: Any, table: Any, random: np.random.Generator) -> str:
    """Return how far smoothed margins are from means over draws, or trees from the model for a draw, if they are."""
    model = soft._wrapped.trees
    for row in random.integers(count_rows(table), size=N_ROWS):
        drawn = draws_of(soft, table, int(row), N_DRAWS, random)
        margins, own = model.margins(drawn), model.unsmoothed(drawn)
        apart = float(np.abs(model.sum.link.answers(margins) - own).max())
        if not apart <= PRECISION * scale_of(own, model):
            return f"for a perturbed row its trees differ by {apart:.3g}"
        smoothed = soft.smooth(take_rows(table, np.array([row])))
        # The empirical Bernstein bound of Maurer and Pontil (2009).
        allowed = np.sqrt(2.0 * LOG_CHANCE / N_DRAWS) * margins.std(axis=0, ddof=1)
        allowed += 7.0 * LOG_CHANCE / (3.0 * (N_DRAWS - 1)) * _range(model.sum)
        allowed += 1e-6 * max(float(np.abs(margins).max()), 1e-300)
        away = np.abs(margins.mean(axis=0) - smoothed.margins[0])
        if not (away <= allowed).all():
            return f"a smoothed margin is {away.max():.3g} from draws, {allowed.max():.3g} are allowed"
    return ""


def _range(model: Any) -> float:
    """Return the largest range of a margin."""
    return float(sum(abs(weight) * np.ptp(tree.values) for tree, weight in zip(model.trees, model.weights)))
