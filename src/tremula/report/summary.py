"""The results of a comparison as one plain dict, the source of the table, the page and ``--json``.

It contains only numbers, strings, lists and dicts, so it can be stored as JSON. Errors are in percent. Every metric has
a mean over the splits and an interval that accounts for training rows shared between splits.
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
from tremula.lab.comparison.uncertainty_scores import COVERAGE
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
    "Intervals are those of the mean, by the corrected resampled t test, which accounts for overlapping training sets. "
    "Whether two methods differ is decided by the test of the pair, not by whether their intervals overlap."
)

COVERING = (
    f"Coverage is the share of test rows whose target is in its {100 * COVERAGE:g} % interval or set of classes, which "
    "are calibrated on the rows that members left out; methods that leave no rows out have none. Narrow intervals and "
    "small sets are better only if their coverage is as asked for."
)


@dataclass(frozen=True)
class Metric:
    """A metric: its name in the values of a result, how it is shown, and its name in verdicts."""

    name: str
    label: str
    unit: str = ""
    scale: float = 1.0
    less_is_better: bool = True
    scoring: str = ""
    aim: float | None = None  # the best value, where neither less nor more is better
    is_optional: bool = False  # left out if no method has it

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the summary."""
        entry = {"name": self.name, "label": self.label, "unit": self.unit, "less_is_better": self.less_is_better}
        return entry if self.aim is None else {**entry, "aim": self.aim}


COVERED = Metric("coverage", "coverage", "%", 100.0, aim=100 * COVERAGE, is_optional=True)
METRICS: dict[str, tuple[Metric, ...]] = {
    "classification": (
        Metric("error", "error", "%", 100.0, scoring="error"),
        Metric("log_loss", "log loss", scoring="log_loss"),
        Metric("brier", "Brier score", scoring="Brier score"),
        COVERED,
        Metric("set_size", "set size", scoring="set size", is_optional=True),
    ),
    "regression": (
        Metric("rmse", "RMSE", scoring="RMSE"),
        Metric("mae", "MAE", scoring="MAE"),
        Metric("r2", "R²", less_is_better=False),
        COVERED,
        Metric("width", "interval width", scoring="interval width", is_optional=True),
    ),
}


def summarize(
    dataset: Dataset,
    methods: Sequence[Method],
    validation: CrossValidation,
    *,
    target: str | None = None,
    baseline: str | None = None,
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
    baseline : str, default=None
        Name of the method that sentences compare the others with; None means the best method.
    guesses, notes : sequence of str
        What was guessed about the data, and other notes for the reader.
    command : str, default=''
        The command that repeats the comparison.

    Returns
    -------
    dict
        With the keys ``task``, ``headline``, ``sentences``, ``dataset``, ``protocol``, ``metrics``, ``methods``
        (ranked), ``pairs``, ``calibration``, ``predicted``, ``guesses``, ``notes``, ``versions`` and ``command``.
    """
    metrics = [metric for metric in METRICS[dataset.task] if not metric.is_optional or _is_measured(metric, validation)]
    ranked = _rank(methods, validation, metrics[0])
    rows = [_summarize_method(method, validation, metrics, rank) for rank, method in enumerate(ranked, start=1)]
    for row in rows:
        row["lowest"] = row["metrics"][metrics[0].name]["mean"] == rows[0]["metrics"][metrics[0].name]["mean"]
    pairs = [pair for metric in metrics if metric.scoring for pair in _pairs(ranked, dataset, validation, metric)]
    named = baseline if baseline in validation.results else None  # a baseline that failed is ignored
    compared = pairs if named is None else _pairs(ranked, dataset, validation, metrics[0], named)
    sentences = say_results(rows, compared, metrics[0].as_dict(), named)
    failed = [
        _failure(method, validation.failures[method.name]) for method in methods if method.name in validation.failures
    ]
    return {
        "schema": SCHEMA,
        "task": dataset.task,
        "headline": sentences[0],
        "sentences": sentences,
        "dataset": describe(dataset, target),
        "guesses": list(guesses),
        "protocol": _protocol(dataset, validation),
        "metrics": [metric.as_dict() for metric in metrics],
        "methods": rows + failed,
        "pairs": pairs,
        "calibration": _calibration(ranked, validation) if dataset.task == "classification" else None,
        "predicted": _predicted(ranked, dataset, validation) if dataset.task == "regression" else None,
        "notes": [*notes, READING, *_notes(dataset, validation), *([COVERING] if COVERED in metrics else [])],
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


def rank_methods(methods: Sequence[Method], dataset: Dataset, validation: CrossValidation) -> list[Method]:
    """Return the methods that did not fail, the best first."""
    return _rank(methods, validation, METRICS[dataset.task][0])


def _rank(methods: Sequence[Method], validation: CrossValidation, metric: Metric) -> list[Method]:
    return sorted(
        (method for method in methods if method.name in validation.results),
        key=lambda method: float(np.mean([result.values[metric.name] for result in validation.results[method.name]])),
    )


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
    """Clip an interval to 0 and 100; if all splits have the same error, return that of a single test set."""
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
    ranked: Sequence[Method], dataset: Dataset, validation: CrossValidation, metric: Metric, baseline: str | None = None
) -> list[dict[str, Any]]:
    """Return the verdicts on all pairs, or on those with a baseline, corrected for their number."""
    measured = [
        method for method in ranked if all(metric.name in result.values for result in validation.results[method.name])
    ]
    if len(measured) < 2:
        return []
    comparison = _as_comparison(measured, dataset, validation, metric)
    names = {method.label: method.name for method in measured}
    label = next((method.label for method in measured if method.name == baseline), None)
    verdicts = comparison.verdicts(label, correction=CORRECTION, confidence=CONFIDENCE)
    return [_pair(verdict, names, metric) for verdict in verdicts]


def _as_comparison(
    methods: Sequence[Method], dataset: Dataset, validation: CrossValidation, metric: Metric
) -> Comparison:
    """Return the errors by method and split as a `Comparison`, which tests them."""
    errors = [[result.values[metric.name] for result in validation.results[method.name]] for method in methods]
    return Comparison(
        names=[method.label for method in methods],
        errors=np.array(errors),
        predictions=[],
        probabilities=[],
        train_rows=[train for train, _ in validation.splits],
        test_rows=[test for _, test in validation.splits],
        y=dataset.y,
        classes=None,
        scoring=metric.scoring,
    )


def _pair(verdict: Verdict, names: Mapping[str, str], metric: Metric) -> dict[str, Any]:
    result = verdict.result
    low, high = result.interval
    outcome = {None: "no difference shown", verdict.first: "better", verdict.second: "worse"}[verdict.better]
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
        "verdict": outcome,
        "sentence": verdict.sentence,
    }


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


# --- the protocol ---


def _protocol(dataset: Dataset, validation: CrossValidation) -> dict[str, Any]:
    stratified = "stratified " if dataset.task == "classification" else ""
    folds, repeats = validation.folds.folds, validation.folds.repeats
    times = f", repeated {repeats} times" if repeats > 1 else ""
    five_by_two = (repeats, folds) == (5, 2)
    return {
        "kind": f"{stratified}cross-validation",
        "words": f"{folds}-fold {stratified}cross-validation{times}, seed {validation.seed}",
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
    notes = []
    if dataset.task == "classification":
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
