"""The decision on a comparison as plain dicts, for each metric: the one source of what is said, drawn and marked.

Differences and intervals are first minus second, in the units shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tremula.diagnostics import Decision, decide, detectable_difference, planned_repetitions
from tremula.diagnostics.comparison.comparison import Comparison
from tremula.diagnostics.comparison.decision import ratio_of
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.diagnostics.significance.planning import MOST_REPETITIONS
from tremula.lab.comparison.constant import LABELS, measure_constant
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import Metric
from tremula.lab.datasets import Dataset

CONFIDENCE = 0.95
CORRECTION = "holm"
REGION = 0.01  # of practical equivalence: a point, or 1 % of the constant's error in the units of the target
FEWEST_SPLITS = 5  # to test whether a method beats the constant prediction
CONSTANT = "the constant prediction"


@dataclass(frozen=True)
class Question:
    """What a comparison is asked.

    Attributes
    ----------
    baseline : str or None
        Name of the method that the others are compared with.
    all_pairs : bool
        Whether every pair is tested.
    region : float or None
        Differences of the first metric that do not matter, in the units shown; None means one point, or 1 % of the
        constant's error.
    share_of_level : float
        The share of the level that may be spent, if there are several looks.
    """

    baseline: str | None = None
    all_pairs: bool = False
    region: float | None = None
    share_of_level: float = 1.0


def decide_metrics(
    ranked: Sequence[Method],
    dataset: Dataset,
    validation: CrossValidation,
    metrics: Sequence[Metric],
    question: Question,
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the verdict on each pair tested, for all metrics, and the decision by the first one.

    Parameters
    ----------
    ranked : sequence of Method
        The methods, the best first.
    dataset : Dataset
    validation : CrossValidation
    metrics : sequence of Metric
        The first one decides.
    question : Question

    Returns
    -------
    pairs : list of dict
    decision : dict or None
        None for a single method.
    """
    constant = measure_constant(dataset, validation.splits, metrics[0])
    pairs: list[dict[str, Any]] = []
    first: dict[str, Any] | None = None
    for metric in metrics:
        measured = [method for method in ranked if _has(metric, validation, method)]
        if not metric.scoring or len(measured) < 2:
            continue
        comparison = _as_comparison(measured, dataset, validation, metric)
        names = {method.label: method.name for method in measured}
        region = _region(metric, constant, question if metric is metrics[0] else Question())
        decision = _decide(comparison, names, question, region)
        of_metric = [_pair(verdict, names, metric) for verdict in decision.verdicts]
        pairs += of_metric
        if metric is metrics[0]:
            first = _as_dict(decision, names, metric)
            first["plan"] = _plan(decision, comparison, validation, metric, region)
    return pairs, first


def compare_with_constant(
    ranked: Sequence[Method],
    dataset: Dataset,
    validation: CrossValidation,
    metric: Metric,
    share_of_level: float = 1.0,
) -> dict[str, Any]:
    """Return the value of the constant prediction, and which methods are shown to be better.

    With fewer than five splits a test shows almost nothing; then the means alone decide, which is said.
    """
    values = measure_constant(dataset, validation.splits, metric)
    errors = [metric.sign * split[metric.name] for split in values]
    measured = _as_comparison(ranked, dataset, validation, metric)
    alone = replace(measured, names=[CONSTANT], errors=np.array([errors]), predictions=[[]], probabilities=[None])
    joined = measured.join(alone)
    verdicts = decide(joined, baseline=CONSTANT, confidence=CONFIDENCE, share_of_level=share_of_level).verdicts
    names = {method.label: method.name for method in ranked}
    is_tested = len(errors) >= FEWEST_SPLITS
    better = [v.first for v in verdicts if (v.better == v.first if is_tested else v.result.difference < 0)]
    always = [label for label, row in zip(measured.names, measured.errors) if (row < errors).all()]
    return {
        "label": LABELS[dataset.task],
        "error": metric.scale * float(np.mean([split[metric.name] for split in values])),
        "is_tested": is_tested,
        "beaten_by": [names[label] for label in better],
        "lower_in_all_splits": always,
        "n_splits": len(errors),
        "p_values": {names[verdict.first]: verdict.adjusted_p_value for verdict in verdicts},
    }


def _decide(comparison: Comparison, names: Mapping[str, str], question: Question, region: float) -> Decision:
    baseline = next((label for label, name in names.items() if name == question.baseline), None)
    return decide(
        comparison,
        baseline=baseline,
        all_pairs=question.all_pairs,
        correction=CORRECTION,
        confidence=CONFIDENCE,
        region=region,
        share_of_level=question.share_of_level,
    )


def _region(metric: Metric, constant: Sequence[Mapping[str, float]], question: Question) -> float:
    """Return the differences that do not matter, in the units measured."""
    if question.region is not None:
        return question.region / metric.scale
    values = [split[metric.name] for split in constant if metric.name in split]
    return REGION * abs(float(np.mean(values))) if metric.of_target and values else REGION


def _has(metric: Metric, validation: CrossValidation, method: Method) -> bool:
    return all(metric.name in result.values for result in validation.results[method.name])


def _as_comparison(
    methods: Sequence[Method], dataset: Dataset, validation: CrossValidation, metric: Metric
) -> Comparison:
    """Return the errors by method and split as a `Comparison`, which tests them; less is better."""
    errors = [
        [metric.sign * result.values[metric.name] for result in validation.results[method.name]] for method in methods
    ]
    return Comparison(
        names=[method.label for method in methods],
        errors=np.array(errors),
        predictions=[[] for _ in methods],
        probabilities=[None for _ in methods],
        train_rows=[train for train, _ in validation.splits],
        test_rows=[test for _, test in validation.splits],
        y=dataset.y,
        classes=None,
        scoring=metric.scoring,
    )


def _pair(verdict: Verdict, names: Mapping[str, str], metric: Metric) -> dict[str, Any]:
    result = verdict.result
    low, high = sorted(metric.sign * metric.scale * end for end in result.interval)
    outcome = {None: "no difference shown", verdict.first: "better", verdict.second: "worse"}[verdict.better]
    return {
        "first": names[verdict.first],
        "second": names[verdict.second],
        "metric": metric.name,
        "difference": metric.sign * metric.scale * result.difference,
        "low": _or_none(low),
        "high": _or_none(high),
        "test": result.test,
        "p_value": result.p_value,
        "p_adjusted": verdict.adjusted_p_value,
        "verdict": outcome,
        "sentence": verdict.sentence,
        "probabilities": _probabilities(verdict, metric),
        "practical_sentence": verdict.practical_sentence,
    }


def _probabilities(verdict: Verdict, metric: Metric) -> dict[str, float] | None:
    given = verdict.probabilities
    if given is None:
        return None
    region = metric.scale * given.region
    return {"better": given.better, "equal": given.equal, "worse": given.worse, "region": region}


def _as_dict(decision: Decision, names: Mapping[str, str], metric: Metric) -> dict[str, Any]:
    return {
        "question": decision.question,
        "metric": metric.name,
        "baseline": None if decision.baseline is None else names[decision.baseline],
        "leader": names[decision.leader],
        "may_be_best": [names[label] for label in decision.may_be_best],
        "worse": [names[label] for label in decision.worse],
        "clear": decision.is_clear(),
    }


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


# --- what more would show ---


def _plan(
    decision: Decision, comparison: Comparison, validation: CrossValidation, metric: Metric, region: float
) -> dict[str, Any] | None:
    """Return how many repetitions would show a difference as large as the region, if the decision is not clear."""
    if decision.is_clear() or comparison.choose_test() != "corrected t" or validation.folds.in_time:
        return None
    verdict = max(decision.undecided, key=lambda verdict: verdict.result.interval[1] - verdict.result.interval[0])
    first, second = (comparison.errors[comparison.place(name)] for name in (verdict.first, verdict.second))
    deviation, ratio, folds = float(np.std(first - second, ddof=1)), ratio_of(comparison), validation.folds.folds
    confidence = 1 - (1 - CONFIDENCE) / len(decision.verdicts)
    repetitions = planned_repetitions(deviation, ratio, cv=folds, difference=region, confidence=confidence)
    n_splits = (repetitions or MOST_REPETITIONS) * folds
    shown = detectable_difference(deviation, ratio, n_splits, confidence=confidence)
    return {
        "pair": [verdict.first, verdict.second],
        "folds": folds,
        "repetitions": repetitions,
        "most_repetitions": MOST_REPETITIONS,
        "difference": metric.scale * region,
        "shown_difference": metric.scale * shown,
        "seconds": seconds_of(validation) * (repetitions or MOST_REPETITIONS) / validation.folds.repeats,
    }


def seconds_of(validation: CrossValidation) -> float:
    """Return the time that all fits and predictions took."""
    return sum(
        result.fit_seconds + result.predict_seconds for results in validation.results.values() for result in results
    )
