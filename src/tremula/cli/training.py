"""The steps of ``tremula fit``: trains one method on all rows, estimates its error, and saves it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console

from tremula.cli.comparison import choose_folds
from tremula.cli.comparison_table import print_data
from tremula.cli.model_files import check_ending, check_place
from tremula.cli.model_saving import write_fitted
from tremula.cli.options import check_task_and_jobs, split_words
from tremula.cli.time_order import in_time_order
from tremula.cli.working import reading_of, without_identifier_warnings, working
from tremula.diagnostics.significance.out_of_bag import out_of_bag_interval
from tremula.errors import InvalidParameter
from tremula.lab.comparison.cross_validation import cross_validate
from tremula.lab.comparison.methods import METHODS_OF, Method, UnknownMethod, choose_methods
from tremula.lab.comparison.metrics import METRICS
from tremula.lab.comparison.peers import LIBRARIES, choose_peers
from tremula.lab.comparison.refit import fit_method
from tremula.lab.comparison.splits import read_folds
from tremula.lab.datasets.reader import Reading, read_data
from tremula.report.summary import summarize

FOLDS_WITHOUT_OUT_OF_BAG_ROWS = "5"
OUT_OF_BAG = "out-of-bag rows"
TUNED_OUT_OF_BAG = ("aspen", "smeared-bagging")  # these choose their settings on out-of-bag rows


def run_training(options: Mapping[str, Any]) -> None:
    """Train a method and save it; the options have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    check_task_and_jobs(given.task, given.jobs)
    check_place(given.out, given.data)
    check_ending(given.out)
    wanted_folds = None if given.cv is None else read_folds(given.cv)
    reading, notes = _read(given, in_time=wanted_folds is not None and wanted_folds.in_time)
    chosen = _choose(given.method, reading.dataset.task)
    if not given.as_json:
        print_data(reading, notes)
    with working(f"training {chosen.label} on {len(reading.dataset.y):,} rows"), without_identifier_warnings():
        model, score = _fit(chosen, reading, given.seed, given.jobs, out_of_bag=wanted_folds is None)
    if score is None:
        folds = wanted_folds or choose_folds(read_folds(FOLDS_WITHOUT_OUT_OF_BAG_ROWS), reading)[0]
        score = _score_by_folds(chosen, reading, folds, given.seed, given.jobs)
    written = write_fitted(model, given.out)
    if given.as_json:
        described = _as_dict(chosen, reading, score, written) | {"ignored": getattr(model, "ignored_features_", [])}
        print(json.dumps(described, indent=2, ensure_ascii=False))
    else:
        Console(highlight=False).print(_sentence(chosen, reading, score), style="bold", markup=False)
        Console(stderr=True, soft_wrap=True).print(f"wrote {written}", markup=False, highlight=False)


def _read(given: SimpleNamespace, in_time: bool) -> tuple[Reading, list[str]]:
    """Return the rows, in the order of time if wanted, and notes on that order."""
    dropped, used = split_words(given.drop), split_words(given.use)
    with working(reading_of(given.data)):
        reading = read_data(
            given.data, given.target, task=given.task, drop=dropped, table=given.table, check=True, use=used
        )
    return in_time_order(reading) if in_time else (reading, [])


def _as_dict(method: Method, reading: Reading, score: dict[str, Any], written: Path) -> dict[str, Any]:
    return {
        "method": method.name,
        "label": method.label,
        "task": reading.dataset.task,
        "target": reading.schema.target,
        "rows": len(reading.dataset.y),
        "attributes": list(reading.schema.names),
        "score": score,
        "guesses": list(reading.guesses),
        "notes": list(reading.notes),
        "findings": [asdict(finding) for finding in reading.findings],
        "file": str(written),
    }


def _choose(name: str, task: str) -> Method:
    """Return a method by name, also one of another installed library."""
    if name not in METHODS_OF[task]:
        for library in LIBRARIES:
            if name == library or name.startswith(f"{library}-"):
                for peer in choose_peers([library], task):
                    if peer.name == name:
                        return peer
                raise UnknownMethod(
                    f"no method {name!r} (there are {', '.join(peer.name for peer in choose_peers([library], task))}): "
                    "name one of these"
                )
    return choose_methods([name], task)[0]


def _fit(method: Method, reading: Reading, seed: int, jobs: int, out_of_bag: bool) -> tuple[Any, dict[str, Any] | None]:
    """Return the trained model, and its out-of-bag score if wanted and possible."""
    options = {"n_jobs": jobs}
    if out_of_bag:
        try:
            model = fit_method(method, reading.dataset, reading.schema, seed, oob_score=True, **options)
            by = f"{OUT_OF_BAG}, which also chose its settings" if method.name in TUNED_OUT_OF_BAG else OUT_OF_BAG
            return model, _score_out_of_bag(model, reading, by)
        except InvalidParameter:  # every member is trained on all rows
            pass
    return fit_method(method, reading.dataset, reading.schema, seed, **options), None


def _score_out_of_bag(model: Any, reading: Reading, by: str) -> dict[str, Any] | None:
    y = reading.dataset.y
    attribute = {"regression": "oob_prediction_", "classification": "oob_decision_function_"}[reading.dataset.task]
    answers = getattr(model, attribute, None)
    if answers is None:
        return None
    has_answer = np.isfinite(answers).reshape(len(y), -1).all(axis=1)
    if not has_answer.any():
        return None
    if reading.dataset.task == "regression":
        return _score("rmse", float(np.sqrt(np.mean((y[has_answer] - answers[has_answer]) ** 2))), None, None, by)
    n_wrong = int((model.classes_[answers[has_answer].argmax(axis=1)] != y[has_answer]).sum())
    low, high = out_of_bag_interval(n_wrong, int(has_answer.sum()))
    return _score("error", 100 * n_wrong / int(has_answer.sum()), 100 * low, 100 * high, by)


def _score_by_folds(method: Method, reading: Reading, folds: Any, seed: int, jobs: int) -> dict[str, Any]:
    validation = cross_validate([method], reading.dataset, folds, seed, n_jobs=jobs)
    summary = summarize(reading.dataset, [method], validation)
    name = METRICS[reading.dataset.task][0].name
    measured = summary["methods"][0]["metrics"][name]
    return _score(name, measured["mean"], measured["low"], measured["high"], summary["protocol"]["words"])


def _score(name: str, value: float, low: float | None, high: float | None, by: str) -> dict[str, Any]:
    return {"metric": name, "value": value, "low": low, "high": high, "by": by}


def _sentence(method: Method, reading: Reading, score: dict[str, Any]) -> str:
    metric = next(metric for metric in METRICS[reading.dataset.task] if metric.name == score["metric"])
    unit = " %" if metric.unit == "%" else ""
    form = ".2f" if unit else ".4g"
    interval = "" if score["low"] is None else f", 95 % interval {score['low']:{form}} to {score['high']:{form}}"
    return (
        f"{method.label} predicts {reading.schema.target!r} with {metric.label} {score['value']:{form}}{unit}"
        f"{interval} ({score['by']})."
    )
