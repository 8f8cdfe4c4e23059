"""The results of a comparison as one plain dict: what the table, the page and ``--json`` all show.

Only numbers, strings, lists and dicts are inside, so it can be stored as JSON. Errors are in percent; of every metric
there is a mean over the splits and an interval that allows for splits that share training rows.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from tremula.diagnostics import binomial_interval, corrected_t_test
from tremula.diagnostics.comparison.comparison import Comparison
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.lab.comparison.calibration import reliability
from tremula.lab.comparison.cross_validation import CrossValidation
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.result import Result
from tremula.report.data_description import describe
from tremula.report.sentences import say_results

SCHEMA = 2
CONFIDENCE = 0.95
CORRECTION = "holm"
USED = {
    "tremula": ("tremula", "numpy", "scikit-learn"),
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost", "xgboost-cpu"),
}
MOST_POINTS = 400
READING = (
    "An interval is that of the mean over other samples of the same kind, by the corrected resampled t test: training "
    "sets of the splits overlap, and that is allowed for. Whether two methods differ is told by the test of the pair, "
    "not by whether their intervals overlap."
)


@dataclass(frozen=True)
class Metric:
    """What is measured: its name among a result's values, how it is shown, and what verdicts call it."""

    name: str
    label: str
    unit: str = ""
    scale: float = 1.0
    less_is_better: bool = True
    scoring: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return what the page needs to know of it."""
        return {"name": self.name, "label": self.label, "unit": self.unit, "less_is_better": self.less_is_better}


METRICS: dict[str, tuple[Metric, ...]] = {
    "classification": (
        Metric("error", "error", "%", 100.0, scoring="error"),
        Metric("log_loss", "log loss", scoring="log loss"),
        Metric("brier", "Brier score", scoring="Brier score"),
    ),
    "regression": (
        Metric("rmse", "RMSE", scoring="RMSE"),
        Metric("mae", "MAE", scoring="MAE"),
        Metric("r2", "R²", less_is_better=False),
    ),
}


def summarize(
    dataset: Dataset,
    methods: Sequence[Method],
    found: CrossValidation,
    *,
    target: str | None = None,
    baseline: str | None = None,
    guesses: Sequence[str] = (),
    notes: Sequence[str] = (),
    command: str = "",
) -> dict[str, Any]:
    """Gather everything a reader needs to judge and repeat the comparison.

    Parameters
    ----------
    dataset : Dataset
        What was compared on.
    methods : sequence of Method
        What was compared.
    found : CrossValidation
        What came out.
    target : str, default=None
        What the target is called.
    baseline : str, default=None
        The name of the method that sentences compare the others with; None is the best.
    guesses, notes : sequence of str
        What was guessed of the data, and what else to know of it.
    command : str, default=''
        How to do it again.

    Returns
    -------
    dict
        With the keys ``task``, ``headline``, ``sentences``, ``dataset``, ``protocol``, ``metrics``, ``methods``
        (ranked), ``pairs``, ``calibration``, ``predicted``, ``guesses``, ``notes``, ``versions`` and ``command``.
    """
    metrics = METRICS[dataset.task]
    ranked = _rank(methods, found, metrics[0])
    rows = [_summarize_method(method, found, metrics, rank) for rank, method in enumerate(ranked, start=1)]
    for row in rows:
        row["lowest"] = row["metrics"][metrics[0].name]["mean"] == rows[0]["metrics"][metrics[0].name]["mean"]
    pairs = [pair for metric in metrics if metric.scoring for pair in _pairs(ranked, dataset, found, metric)]
    named = baseline if baseline in found.results else None  # one that failed is compared with nobody
    told = pairs if named is None else _pairs(ranked, dataset, found, metrics[0], named)
    sentences = say_results(rows, told, metrics[0].as_dict(), named)
    failed = [_failure(method, found.failures[method.name]) for method in methods if method.name in found.failures]
    return {
        "schema": SCHEMA,
        "task": dataset.task,
        "headline": sentences[0],
        "sentences": sentences,
        "dataset": describe(dataset, target),
        "guesses": list(guesses),
        "protocol": _protocol(dataset, found),
        "metrics": [metric.as_dict() for metric in metrics],
        "methods": rows + failed,
        "pairs": pairs,
        "calibration": _calibration(ranked, found) if dataset.task == "classification" else None,
        "predicted": _predicted(ranked, dataset, found) if dataset.task == "regression" else None,
        "notes": [*notes, READING, *_notes(dataset, found)],
        "versions": _versions(methods),
        "command": command,
    }


def only_finite(told: Any) -> Any:
    """Return the same with None for every number that is none: JSON knows neither NaN nor infinity.

    Examples
    --------
    >>> only_finite({"low": float("nan"), "folds": [1.0, float("inf")]})
    {'low': None, 'folds': [1.0, None]}
    """
    if isinstance(told, Mapping):
        return {name: only_finite(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [only_finite(value) for value in told]
    return _or_none(told) if isinstance(told, float) else told


def rank_methods(methods: Sequence[Method], dataset: Dataset, found: CrossValidation) -> list[Method]:
    """Return the methods that did not fail, the best first."""
    return _rank(methods, found, METRICS[dataset.task][0])


def _rank(methods: Sequence[Method], found: CrossValidation, metric: Metric) -> list[Method]:
    return sorted(
        (method for method in methods if method.name in found.results),
        key=lambda method: float(np.mean([result.values[metric.name] for result in found.results[method.name]])),
    )


# --- a method ---


def _summarize_method(method: Method, found: CrossValidation, metrics: Sequence[Metric], rank: int) -> dict[str, Any]:
    results = found.results[method.name]
    leaves = [int(result.values["leaves"]) for result in results if "leaves" in result.values]
    measured = {metric.name: _mean_and_interval(results, found, metric) for metric in metrics}
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


def _mean_and_interval(results: Sequence[Result], found: CrossValidation, metric: Metric) -> dict[str, Any] | None:
    if not all(metric.name in result.values for result in results):
        return None
    values = np.array([metric.scale * result.values[metric.name] for result in results])
    train, test = ([len(rows) for rows in part] for part in zip(*found.splits))
    result = corrected_t_test(values, np.zeros(len(values)), n_train=train, n_test=test, confidence=CONFIDENCE)
    low, high = result.interval
    if metric.name == "error":
        low, high = _within_percent(low, high, results)
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
    """Return an interval within 0 and 100; where all splits have the same error, that of a single test set."""
    if low < high:
        return max(low, 0.0), min(high, 100.0)
    n_rows = sum(result.n_test for result in results)
    n_wrong = round(sum(result.n_test * result.values["error"] for result in results))
    ends = binomial_interval(n_wrong, n_rows, confidence=CONFIDENCE)
    return 100 * ends[0], 100 * ends[1]


def _failure(method: Method, message: str) -> dict[str, Any]:
    named = {"name": method.name, "label": method.label, "library": method.library, "family": method.family}
    return {**named, "rank": None, "lowest": False, "error": message}


# --- pairs ---


def _pairs(
    ranked: Sequence[Method], dataset: Dataset, found: CrossValidation, metric: Metric, baseline: str | None = None
) -> list[dict[str, Any]]:
    """Return the verdicts on all pairs, or on those with a baseline, corrected for their number."""
    measured = [
        method for method in ranked if all(metric.name in result.values for result in found.results[method.name])
    ]
    if len(measured) < 2:
        return []
    comparison = _as_comparison(measured, dataset, found, metric)
    names = {method.label: method.name for method in measured}
    label = next((method.label for method in measured if method.name == baseline), None)
    verdicts = comparison.verdicts(label, correction=CORRECTION, confidence=CONFIDENCE)
    return [_pair(verdict, names, metric) for verdict in verdicts]


def _as_comparison(methods: Sequence[Method], dataset: Dataset, found: CrossValidation, metric: Metric) -> Comparison:
    """Return what `tremula.diagnostics` tests: errors by method and split."""
    errors = [[result.values[metric.name] for result in found.results[method.name]] for method in methods]
    return Comparison(
        names=[method.label for method in methods],
        errors=np.array(errors),
        predictions=[],
        probabilities=[],
        train_rows=[train for train, _ in found.splits],
        test_rows=[test for _, test in found.splits],
        y=dataset.y,
        classes=None,
        scoring=metric.scoring,
    )


def _pair(verdict: Verdict, names: Mapping[str, str], metric: Metric) -> dict[str, Any]:
    result = verdict.result
    low, high = result.interval
    told = {None: "no difference shown", verdict.first: "better", verdict.second: "worse"}[verdict.better]
    return {
        "first": names[verdict.first],
        "second": names[verdict.second],
        "metric": metric.name,
        "difference": metric.scale * result.difference,
        "low": _or_none(metric.scale * low),
        "high": _or_none(metric.scale * high),
        "test": result.test,
        "p_value": result.p_value,
        "p_adjusted": verdict.adjusted_p_value,
        "verdict": told,
        "sentence": verdict.sentence,
    }


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


# --- the protocol ---


def _protocol(dataset: Dataset, found: CrossValidation) -> dict[str, Any]:
    stratified = "stratified " if dataset.task == "classification" else ""
    folds, repeats = found.folds.folds, found.folds.repeats
    times = f", repeated {repeats} times" if repeats > 1 else ""
    five_by_two = (repeats, folds) == (5, 2)
    return {
        "kind": f"{stratified}cross-validation",
        "words": f"{folds}-fold {stratified}cross-validation{times}, seed {found.seed}",
        "folds": folds,
        "repeats": repeats,
        "splits": found.folds.n_splits,
        "seed": found.seed,
        "train_rows": int(np.mean([len(train) for train, _ in found.splits])),
        "test_rows": int(np.mean([len(test) for _, test in found.splits])),
        "confidence": CONFIDENCE,
        "test": "5x2 F" if five_by_two else "corrected t",
        "correction": CORRECTION,
    }


def _notes(dataset: Dataset, found: CrossValidation) -> list[str]:
    notes = []
    if dataset.task == "classification":
        counts, folds = np.unique(dataset.y, return_counts=True)[1], found.folds.folds
        rare = int((counts < folds).sum())
        if rare:
            notes.append(f"{rare} of {len(counts)} classes have fewer than {folds} rows: some folds test none of them.")
    return notes


# --- what the page shows beside the table ---


def _calibration(ranked: Sequence[Method], found: CrossValidation) -> list[dict[str, Any]]:
    told = []
    for method in ranked:
        counted = reliability(result.values for result in found.results[method.name])
        if counted["rows"]:
            told.append({"method": method.name, "label": method.label, **counted})
    return told


def _predicted(ranked: Sequence[Method], dataset: Dataset, found: CrossValidation) -> list[dict[str, Any]]:
    """Return the truth and the answer for some rows, the same for all methods, of the first repetition."""
    drawn = np.random.default_rng(found.seed).permutation(len(dataset.y))[:MOST_POINTS]
    told = []
    for method in ranked:
        answers = np.full(len(dataset.y), np.nan)
        for (_, test), result in list(zip(found.splits, found.results[method.name]))[: found.folds.folds]:
            if result.outcome.predictions is not None:
                answers[test] = result.outcome.predictions
        points = [[float(dataset.y[row]), float(answers[row])] for row in drawn if np.isfinite(answers[row])]
        told.append({"method": method.name, "label": method.label, "points": points})
    return told


def _versions(methods: Iterable[Method]) -> dict[str, str]:
    packages = [
        *USED["tremula"],
        *(name for m in methods for name in USED.get(m.library, ()) if m.library != "tremula"),
    ]
    found = {"python": platform.python_version()}
    for name in dict.fromkeys(packages):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # another distribution of the same library
            continue
    return found
