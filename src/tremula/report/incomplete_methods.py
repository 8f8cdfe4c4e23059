"""Methods that failed on some splits: compared with the best on the splits that both have, and never ranked.

A method may fail where it would have done badly, so what is left flatters it; the sentence says how many splits it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.diagnostics import adjust_p_values, corrected_t_test
from tremula.diagnostics.significance.paired import say_p
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import Metric
from tremula.report.decisions import CONFIDENCE

FEWEST_SPLITS = 3


def compare_unfinished(
    best: Method, methods: Sequence[Method], validation: CrossValidation, metric: Metric, share_of_level: float = 1.0
) -> list[dict[str, Any]]:
    """Return, for each method that failed on some splits, its difference from the best on the others.

    The test is the corrected t test over the shared splits, with Holm's correction for the number of such methods.

    Parameters
    ----------
    best : Method
        The best of the methods that never failed.
    methods : sequence of Method
    validation : CrossValidation
    metric : Metric
    share_of_level : float, default=1.0
        As in `tremula.diagnostics.decide`.

    Returns
    -------
    list of dict
        With the keys ``name``, ``label``, ``splits``, ``difference``, ``p_adjusted``, ``verdict`` and ``sentence``;
        without methods that finished fewer than three splits.
    """
    unfinished = {
        method: validation.unfinished[method.name]
        for method in methods
        if len(validation.unfinished.get(method.name, ())) >= FEWEST_SPLITS
    }
    tests = [_test(best, results, validation, metric) for results in unfinished.values()]
    if not tests:
        return []
    adjusted = np.minimum(adjust_p_values([test.p_value for test in tests]) / share_of_level, 1.0)
    return [
        _entry(method, best, len(results), len(validation.splits), metric, test.difference, float(p_value))
        for (method, results), test, p_value in zip(unfinished.items(), tests, adjusted)
    ]


def _test(best: Method, results: Sequence[Any], validation: CrossValidation, metric: Metric) -> Any:
    shared = [result.split for result in results]
    of_best = {result.split: result for result in validation.results[best.name]}
    errors = [metric.sign * result.values[metric.name] for result in results]
    best_errors = [metric.sign * of_best[split].values[metric.name] for split in shared]
    train, test = ([len(validation.splits[split][part]) for split in shared] for part in (0, 1))
    return corrected_t_test(errors, best_errors, n_train=train, n_test=test, confidence=CONFIDENCE)


def _entry(
    method: Method, best: Method, n_shared: int, n_splits: int, metric: Metric, difference: float, p_value: float
) -> dict[str, Any]:
    shown = p_value <= 1 - CONFIDENCE and difference != 0
    verdict = ("worse" if difference > 0 else "better") if shown else "no difference shown"
    size = f"{metric.scale * abs(difference):.3g}{' points' if metric.unit == '%' else f' in {metric.label}'}"
    words = {"worse": "worse than", "better": "better than"}.get(verdict, "not shown to differ from")
    failed = f"{method.label} failed on {n_splits - n_shared} of {n_splits} splits"
    lead = f"{size} {'behind' if difference > 0 else 'ahead'} (corrected t, p {say_p(p_value)})"
    return {
        "name": method.name,
        "label": method.label,
        "splits": n_shared,
        "difference": metric.sign * metric.scale * difference,
        "p_adjusted": p_value,
        "verdict": verdict,
        "sentence": f"{failed}; on the other {n_shared} it is {words} {best.label}: {lead}.",
    }
