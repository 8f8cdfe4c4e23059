"""``tremula fit``: trains one method on all rows, estimates its error, and saves it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from tremula.cli.comparison import choose_folds
from tremula.cli.comparison_table import print_data
from tremula.cli.model_files import check_ending, check_place
from tremula.cli.model_saving import write_fitted
from tremula.cli.options import (
    DropOption,
    TableOption,
    TargetOption,
    TaskOption,
    UseOption,
    check_task_and_jobs,
    split_words,
)
from tremula.cli.time_order import in_time_order
from tremula.cli.working import reading_of, without_identifier_warnings, working
from tremula.diagnostics.significance.out_of_bag import out_of_bag_interval
from tremula.errors import InvalidParameter
from tremula.lab.comparison.cross_validation import cross_validate
from tremula.lab.comparison.methods import (
    METHODS,
    METHODS_OF,
    REGRESSION_METHODS,
    Method,
    UnknownMethod,
    choose_methods,
)
from tremula.lab.comparison.metrics import METRICS
from tremula.lab.comparison.peers import LIBRARIES, choose_peers
from tremula.lab.comparison.refit import fit_method
from tremula.lab.comparison.splits import read_folds
from tremula.lab.datasets.reader import Reading, read_data
from tremula.report.summary import summarize

DEFAULT_METHOD = "aspen"
DEFAULT_FILE = Path("model.tremula")
FOLDS_WITHOUT_OUT_OF_BAG_ROWS = "5"
OUT_OF_BAG = "out-of-bag rows"
TUNED_OUT_OF_BAG = ("aspen", "smeared-bagging")  # these choose their settings on out-of-bag rows


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, ARFF or Parquet file, a table of a database (duckdb:///folder/file.duckdb#table), or the "
        "name of a dataset.",
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        help=f"Method to train. Classification: {', '.join(METHODS)}. Regression: {', '.join(REGRESSION_METHODS)}. "
        "Or a method of another library, such as sklearn-boosting, lightgbm or xgboost.",
    ),
]
CvOption = Annotated[
    str | None,
    typer.Option(
        help="Estimate the error by cross-validation: number of folds (10), repetitions and folds (5x2), or time.",
        show_default="out-of-bag rows, else 5 folds",
    ),
]
OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="File to write; the extension may also be .joblib or .skops."),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.")]
JobsOption = Annotated[
    int, typer.Option(help="Number of members or folds trained in parallel; -1 uses all processors.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def fit(
    data: DataArgument,
    target: TargetOption = None,
    method: MethodOption = DEFAULT_METHOD,
    task: TaskOption = None,
    cv: CvOption = None,
    drop: DropOption = None,
    use: UseOption = None,
    table: TableOption = None,
    out: OutOption = DEFAULT_FILE,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Train one method on all rows and save it.

    The error is estimated on rows that were not used for training: the out-of-bag rows of an ensemble, or the held-out
    folds of a cross-validation.
    """
    check_task_and_jobs(task, jobs)
    check_place(out)
    check_ending(out)
    wanted_folds = None if cv is None else read_folds(cv)
    dropped, used = split_words(drop), split_words(use)
    with working(reading_of(data)):
        reading = read_data(data, target, task=task, drop=dropped, table=table, check=True, use=used)
    notes: list[str] = []
    if wanted_folds is not None and wanted_folds.in_time:
        reading, notes = in_time_order(reading)
    chosen = _choose(method, reading.dataset.task)
    if not as_json:
        print_data(reading, notes)
    with working(f"training {chosen.label} on {len(reading.dataset.y):,} rows"), without_identifier_warnings():
        model, score = _fit(chosen, reading, seed, jobs, out_of_bag=wanted_folds is None)
    if score is None:
        folds = wanted_folds or choose_folds(read_folds(FOLDS_WITHOUT_OUT_OF_BAG_ROWS), reading)[0]
        score = _score_by_folds(chosen, reading, folds, seed, jobs)
    written = write_fitted(model, out)
    if as_json:
        described = _as_dict(chosen, reading, score, written) | {"ignored": getattr(model, "ignored_features_", [])}
        print(json.dumps(described, indent=2, ensure_ascii=False))
    else:
        Console(highlight=False).print(_sentence(chosen, reading, score), style="bold", markup=False)
        Console(stderr=True, soft_wrap=True).print(f"wrote {written}", markup=False, highlight=False)


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
