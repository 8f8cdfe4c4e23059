"""``tremula fit``: train one method on all rows, say how well it can be expected to do, and keep it in a file."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from tremula.cli.compare import choose_folds
from tremula.cli.comparison_table import print_data
from tremula.cli.model_files import check_ending, check_place
from tremula.cli.model_saving import write_fitted
from tremula.cli.options import DropOption, TableOption, TargetOption, TaskOption, check_task_and_jobs, split_words
from tremula.diagnostics import binomial_interval
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
from tremula.lab.comparison.peers import LIBRARIES, choose_peers
from tremula.lab.comparison.refit import fit_method
from tremula.lab.comparison.splits import read_folds
from tremula.lab.datasets.reader import Reading, read_data
from tremula.report.summary import METRICS, summarize

USUAL_METHOD = "aspen"
USUAL_FILE = Path("model.tremula")
FOLDS_WITHOUT_LEFT_OUT_ROWS = "5"
LEFT_OUT = "rows left out of members"
CHOSEN_ON_THEM = ("aspen", "smeared-bagging")  # these look at the rows left out when they choose their settings


def fit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, TSV, ARFF or Parquet file, a table of a database (duckdb:///folder/file.duckdb#table), or the "
            "name of a dataset.",
        ),
    ],
    target: TargetOption = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"Which. Classification: {', '.join(METHODS)}. Regression: {', '.join(REGRESSION_METHODS)}. "
            "Or one of another library, such as sklearn-boosting, lightgbm or xgboost.",
        ),
    ] = USUAL_METHOD,
    task: TaskOption = None,
    cv: Annotated[
        str | None,
        typer.Option(
            help="Judge it by cross-validation: folds (10), or repetitions and folds (5x2).",
            show_default="by rows left out of members, else 5 folds",
        ),
    ] = None,
    drop: DropOption = None,
    table: TableOption = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The file to write; its ending may also be .joblib or .skops."),
    ] = USUAL_FILE,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.")] = 0,
    jobs: Annotated[int, typer.Option(help="Members, or folds, trained at a time; -1 is all processors.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is known of the model as JSON.")] = False,
) -> None:
    """Train one method on all rows and keep it.

    The score is measured on rows that the model, or a copy of it, has not seen: those left out of an ensemble's
    members, or the folds of a cross-validation.
    """
    check_task_and_jobs(task, jobs)
    check_place(out)
    check_ending(out)
    wanted = None if cv is None else read_folds(cv)
    reading = read_data(data, target, task=task, drop=split_words(drop), table=table)
    chosen = _choose(method, reading.dataset.task)
    if not as_json:
        print_data(reading, ())
    model, score = _fit_and_judge(chosen, reading, wanted is None, seed, jobs)
    if score is None:
        folds = wanted or choose_folds(read_folds(FOLDS_WITHOUT_LEFT_OUT_ROWS), reading)[0]
        score = _judge_by_folds(chosen, reading, folds, seed, jobs)
    written = write_fitted(model, out)
    told = {
        "method": chosen.name,
        "label": chosen.label,
        "task": reading.dataset.task,
        "target": reading.schema.target,
        "rows": len(reading.dataset.y),
        "attributes": list(reading.schema.names),
        "score": score,
        "guesses": list(reading.guesses),
        "notes": list(reading.notes),
        "file": str(written),
    }
    if as_json:
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        Console(highlight=False).print(_sentence(chosen, reading, score), style="bold", markup=False)
        Console(stderr=True, soft_wrap=True).print(f"wrote {written}", markup=False, highlight=False)


def _choose(name: str, task: str) -> Method:
    """Look a method up, also among those of the libraries that are installed."""
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


def _fit_and_judge(
    method: Method, reading: Reading, by_left_out: bool, seed: int, jobs: int
) -> tuple[Any, dict[str, Any] | None]:
    """Train; where members leave rows out, judge by those rows."""
    options = {"n_jobs": jobs}
    if by_left_out:
        try:
            model = fit_method(method, reading.dataset, reading.schema, seed, oob_score=True, **options)
            told = f"{LEFT_OUT}, which also chose its settings" if method.name in CHOSEN_ON_THEM else LEFT_OUT
            return model, _judge_by_left_out(model, reading, told)
        except InvalidParameter:  # every member is trained on all rows
            pass
    return fit_method(method, reading.dataset, reading.schema, seed, **options), None


def _judge_by_left_out(model: Any, reading: Reading, told: str) -> dict[str, Any] | None:
    y = reading.dataset.y
    attribute = {"regression": "oob_prediction_", "classification": "oob_decision_function_"}[reading.dataset.task]
    answers = getattr(model, attribute, None)
    if answers is None:
        return None
    judged = np.isfinite(answers).reshape(len(y), -1).all(axis=1)
    if not judged.any():
        return None
    if reading.dataset.task == "regression":
        return _score("rmse", float(np.sqrt(np.mean((y[judged] - answers[judged]) ** 2))), None, None, told)
    wrong = int((model.classes_[answers[judged].argmax(axis=1)] != y[judged]).sum())
    low, high = binomial_interval(wrong, int(judged.sum()))
    return _score("error", 100 * wrong / int(judged.sum()), 100 * low, 100 * high, told)


def _judge_by_folds(method: Method, reading: Reading, folds: Any, seed: int, jobs: int) -> dict[str, Any]:
    found = cross_validate([method], reading.dataset, folds, seed, n_jobs=jobs)
    summary = summarize(reading.dataset, [method], found)
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
