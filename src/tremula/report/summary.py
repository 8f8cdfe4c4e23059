"""The results of a comparison as one plain dict, the source of the table, the page and ``--json``.

It contains only numbers, strings, lists and dicts, so it can be stored as JSON. Errors are in percent. Every metric has
a mean over the splits and an interval that accounts for training rows shared between splits.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from tremula.diagnostics import binomial_interval, corrected_t_test
from tremula.lab.comparison.calibration import reliability
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.comparison.metrics import COVERED, METRICS, Metric, measured_metrics
from tremula.lab.comparison.uncertainty_scores import COVERAGE
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.result import Result
from tremula.report.data_description import describe
from tremula.report.decisions import CONFIDENCE, CORRECTION, Question, compare_with_constant, decide_metrics
from tremula.report.incomplete_methods import compare_unfinished
from tremula.report.sentences import say_answer, say_results

SCHEMA = 3
USED = {
    "tremula": ("tremula", "numpy", "scikit-learn"),
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost", "xgboost-cpu"),
    "catboost": ("catboost",),
    "ydf": ("ydf",),
    "scikit-learn-intelex": ("scikit-learn-intelex",),
}
MOST_POINTS = 400
WITHIN_ONE = ("auc", "f1")
READING = (
    "Intervals are those of the mean, by the corrected resampled t test, which accounts for overlapping training sets. "
    "Whether two methods differ is decided by the test of the pair, not by whether their intervals overlap."
)

IN_TIME = (
    "Each fold is tested by models of all rows before it. Intervals and tests treat these folds like shuffled ones; "
    "if methods slowly get better or worse, they are too sure. The analyses mix the rows."
)
COVERING = (
    f"Coverage is the share of test rows whose target is in its {100 * COVERAGE:g} % interval or set of classes, which "
    "are calibrated on the rows that members left out; methods that leave no rows out have none. Narrow intervals and "
    "small sets are better only if their coverage is as asked for."
)


NO_QUESTION = Question()


def summarize(
    dataset: Dataset,
    methods: Sequence[Method],
    validation: CrossValidation,
    *,
    target: str | None = None,
    metric: Metric | None = None,
    question: Question = NO_QUESTION,
    guesses: Sequence[str] = (),
    notes: Sequence[str] = (),
    command: str = "",
) -> dict[str, Any]:
    """Summarize a comparison: everything a reader needs to judge and repeat it.

    Parameters
    ----------
    dataset : Dataset
        The data.
    methods : sequence of Method
        The methods compared.
    validation : CrossValidation
        Their results.
    target : str, default=None
        Name of the target.
    metric : Metric, default=None
        What methods are ranked by; None means the error or the RMSE.
    question : Question
        Which pairs are tested; by default those with the best method.
    guesses, notes : sequence of str
        What was guessed about the data, and other notes for the reader.
    command : str, default=''
        The command that repeats the comparison.

    Returns
    -------
    dict
        With the keys ``task``, ``answer``, ``headline``, ``sentences``, ``decision``, ``dataset``, ``protocol``,
        ``metrics``, ``methods`` (ranked), ``pairs``, ``calibration``, ``predicted``, ``guesses``, ``notes``,
        ``versions`` and ``command``.
    """
    chosen = METRICS[dataset.task][0] if metric is None else metric
    metrics = [
        entry for entry in measured_metrics(chosen, dataset) if not entry.is_optional or _is_measured(entry, validation)
    ]
    ranked = _rank(methods, validation, chosen)
    rows = [_summarize_method(method, validation, metrics, rank) for rank, method in enumerate(ranked, start=1)]
    for row in rows:
        row["lowest"] = row["metrics"][chosen.name]["mean"] == rows[0]["metrics"][chosen.name]["mean"]
    pairs, decision = decide_metrics(ranked, dataset, validation, metrics, question)
    constant = compare_with_constant(ranked, dataset, validation, chosen, question.share_of_level)
    sentences = say_results(rows, pairs, decision, chosen.as_dict(), constant)
    failed = [
        _failure(method, validation.failures[method.name]) for method in methods if method.name in validation.failures
    ]
    unfinished = compare_unfinished(ranked[0], methods, validation, chosen, question.share_of_level)
    return {
        "schema": SCHEMA,
        "task": dataset.task,
        "answer": say_answer(rows, decision, chosen.as_dict(), constant),
        "headline": sentences[0],
        "sentences": sentences,
        "decision": decision,
        "dataset": describe(dataset, target) | {"baseline": constant},
        "guesses": list(guesses),
        "protocol": _protocol(dataset, validation),
        "metrics": [metric.as_dict() for metric in metrics],
        "methods": rows + failed,
        "pairs": pairs,
        "unfinished": unfinished,
        "calibration": _calibration(ranked, validation) if dataset.task == "classification" else None,
        "predicted": _predicted(ranked, dataset, validation) if dataset.task == "regression" else None,
        "notes": [
            *notes,
            *(entry["sentence"] for entry in unfinished),
            READING,
            *_notes(dataset, validation),
            *([COVERING] if COVERED in metrics else []),
        ],
        "versions": _versions(methods),
        "command": command,
    }


def _is_measured(metric: Metric, validation: CrossValidation) -> bool:
    """Whether some method has the metric on all splits."""
    return any(all(metric.name in result.values for result in results) for results in validation.results.values())


def only_finite(value: Any) -> Any:
    """Replace every NaN and infinity by None, since JSON has neither.

    Examples
    --------
    >>> only_finite({"low": float("nan"), "folds": [1.0, float("inf")]})
    {'low': None, 'folds': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {name: only_finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [only_finite(entry) for entry in value]
    return _or_none(value) if isinstance(value, float) else value


def rank_methods(
    methods: Sequence[Method], dataset: Dataset, validation: CrossValidation, metric: Metric | None = None
) -> list[Method]:
    """Return the methods that did not fail, the best first."""
    return _rank(methods, validation, METRICS[dataset.task][0] if metric is None else metric)


def _rank(methods: Sequence[Method], validation: CrossValidation, metric: Metric) -> list[Method]:
    def badness(method: Method) -> float:
        return metric.sign * float(np.mean([result.values[metric.name] for result in validation.results[method.name]]))

    return sorted((method for method in methods if method.name in validation.results), key=badness)


# --- a method ---


def _summarize_method(
    method: Method, validation: CrossValidation, metrics: Sequence[Metric], rank: int
) -> dict[str, Any]:
    results = validation.results[method.name]
    leaves = [int(result.values["leaves"]) for result in results if "leaves" in result.values]
    measured = {metric.name: _mean_and_interval(results, validation, metric) for metric in metrics}
    seconds = [result.predict_seconds for result in results]
    return {
        "name": method.name,
        "label": method.label,
        "library": method.library,
        "family": method.family,
        "rank": rank,
        "metrics": measured,
        "fit_milliseconds": 1000 * float(np.median([result.fit_seconds for result in results])),
        "predict_milliseconds": 1000 * float(np.median(seconds)),
        "predict_microseconds_a_row": 1e6
        * float(np.median([result.predict_seconds / result.n_test for result in results])),
        "leaves_mean": float(np.mean(leaves)) if leaves else None,
    }


def _mean_and_interval(results: Sequence[Result], validation: CrossValidation, metric: Metric) -> dict[str, Any] | None:
    if not all(metric.name in result.values for result in results):
        return None
    values = np.array([metric.scale * result.values[metric.name] for result in results])
    train, test = ([len(rows) for rows in part] for part in zip(*validation.splits))
    result = corrected_t_test(values, np.zeros(len(values)), n_train=train, n_test=test, confidence=CONFIDENCE)
    low, high = result.interval
    if metric.name == "error":
        low, high = _within_percent(low, high, results)
    elif metric.unit == "%":
        low, high = max(low, 0.0), min(high, 100.0)
    elif metric.name in WITHIN_ONE:
        low, high = max(low, 0.0), min(high, 1.0)
    elif metric.less_is_better:
        low = max(low, 0.0)
    return {
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)),
        "low": float(low),
        "high": float(high),
        "folds": [float(value) for value in values],
    }


def _within_percent(low: float, high: float, results: Sequence[Result]) -> tuple[float, float]:
    """Clip an interval to 0 and 100; if all splits have equally many errors, return that of a single test set."""
    n_wrong = [round(result.n_test * result.values["error"]) for result in results]
    if low < high and len(set(n_wrong)) > 1:
        return max(low, 0.0), min(high, 100.0)
    n_rows = sum(result.n_test for result in results)
    ends = binomial_interval(sum(n_wrong), n_rows, confidence=CONFIDENCE)
    return 100 * ends[0], 100 * ends[1]


def _failure(method: Method, message: str) -> dict[str, Any]:
    named = {"name": method.name, "label": method.label, "library": method.library, "family": method.family}
    return {**named, "rank": None, "lowest": False, "error": message}


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


# --- the protocol ---


def _protocol(dataset: Dataset, validation: CrossValidation) -> dict[str, Any]:
    stratified = "stratified " if dataset.task == "classification" else ""
    kind = "validation in time order" if validation.folds.in_time else f"{stratified}cross-validation"
    folds, repeats = validation.folds.folds, validation.folds.repeats
    times = f", repeated {repeats} times" if repeats > 1 else ""
    five_by_two = (repeats, folds) == (5, 2)
    return {
        "kind": kind,
        "in_time": validation.folds.in_time,
        "words": f"{folds}-fold {kind}{times}, seed {validation.seed}",
        "folds": folds,
        "repeats": repeats,
        "splits": validation.folds.n_splits,
        "seed": validation.seed,
        "train_rows": int(np.mean([len(train) for train, _ in validation.splits])),
        "test_rows": int(np.mean([len(test) for _, test in validation.splits])),
        "confidence": CONFIDENCE,
        "test": "5x2 F" if five_by_two else "corrected t",
        "correction": CORRECTION,
    }


def _notes(dataset: Dataset, validation: CrossValidation) -> list[str]:
    notes = [IN_TIME] if validation.folds.in_time else []
    if dataset.task == "classification" and not validation.folds.in_time:
        counts, folds = np.unique(dataset.y, return_counts=True)[1], validation.folds.folds
        rare = int((counts < folds).sum())
        if rare:
            notes.append(f"{rare} of {len(counts)} classes have fewer than {folds} rows: some folds do not test them.")
    return notes


# --- calibration and predictions ---


def _calibration(ranked: Sequence[Method], validation: CrossValidation) -> list[dict[str, Any]]:
    curves = []
    for method in ranked:
        counted = reliability(result.values for result in validation.results[method.name])
        if counted["rows"]:
            curves.append({"method": method.name, "label": method.label, **counted})
    return curves


def _predicted(ranked: Sequence[Method], dataset: Dataset, validation: CrossValidation) -> list[dict[str, Any]]:
    """Return true and predicted values for some rows of the first repetition, the same rows for all methods."""
    drawn = np.random.default_rng(validation.seed).permutation(len(dataset.y))[:MOST_POINTS]
    clouds = []
    for method in ranked:
        answers = np.full(len(dataset.y), np.nan)
        for (_, test), result in list(zip(validation.splits, validation.results[method.name]))[
            : validation.folds.folds
        ]:
            if result.outcome.predictions is not None:
                answers[test] = result.outcome.predictions
        points = [[float(dataset.y[row]), float(answers[row])] for row in drawn if np.isfinite(answers[row])]
        clouds.append({"method": method.name, "label": method.label, "points": points})
    return clouds


def _versions(methods: Iterable[Method]) -> dict[str, str]:
    packages = [
        *USED["tremula"],
        *(name for m in methods for name in USED.get(m.library, ()) if m.library != "tremula"),
    ]
    versions = {"python": platform.python_version()}
    for name in dict.fromkeys(packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # another distribution of the same library
            continue
    return versions
