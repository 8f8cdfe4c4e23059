"""Repeats a cross-validation until the decision is clear; the looks together keep the level of the tests."""

from collections.abc import Callable
from dataclasses import replace

from tremula.diagnostics import plan_looks
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import Metric
from tremula.lab.comparison.splits import Folds
from tremula.lab.datasets import Dataset
from tremula.report.decisions import Question, decide_metrics
from tremula.report.sentences import listed
from tremula.report.summary import rank_methods

MOST_REPETITIONS = 10


def validate_until_clear(
    validate: Callable[[Folds], CrossValidation],
    methods: list[Method],
    dataset: Dataset,
    metric: Metric,
    folds: Folds,
    question: Question,
) -> tuple[CrossValidation, Question, str]:
    """Return the last cross-validation, the question with its share of the level, and a note on the looks."""
    most = folds.repeats if folds.repeats > 1 else MOST_REPETITIONS
    looked: list[str] = []
    for look in plan_looks(most):
        asked = replace(question, share_of_level=look.share_of_level)
        validation = validate(Folds(folds.folds, look.repetitions))
        looked.append(str(look.repetitions))
        ranked = rank_methods(methods, dataset, validation, metric)
        _, decision = decide_metrics(ranked, dataset, validation, [metric], asked)
        if decision is None or decision["clear"]:
            break
    return validation, asked, _say_looks(looked, most)


def _say_looks(looked: list[str], most: int) -> str:
    times = f"after {listed(looked)} of at most {most} repetitions"
    return (
        f"The decision was looked at {times}. Each look spends a share of the 5 % level, so that all keep it together."
    )
