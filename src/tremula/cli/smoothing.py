"""The steps of ``tremula smooth``: smooths a model with an amount of noise chosen on held-out rows, reports the gain.

The rows are divided: one part is used to choose the amount of noise, the other to estimate the loss before and after.
Nothing is retrained.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

import tremula as tm
from tremula.cli.class_names import doubtful_names
from tremula.cli.model_files import check_place, load_model, rows_for
from tremula.cli.options import split_words
from tremula.cli.smooth_options import Scoring
from tremula.cli.smoothed_model_files import choose_place, save_smoothed
from tremula.cli.unwrapping import model_inside
from tremula.data.table_schema import TableSchema
from tremula.data.take import take_rows
from tremula.errors import InvalidInput, SamplingWarning, counted, listed
from tremula.lab.comparison.model_pair import Change, compare_classes, compare_numbers
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.reader import Reading, read_data
from tremula.smoothing.models import read_model

LEAST_ROWS = 20
DEFAULT_SCORING = {False: "log_loss", True: "squared_error"}  # by whether it is regression
HELD_OUT = (
    "The rows must not be training rows of the model: on training rows, any model looks better than it is, and the "
    "chosen amount of noise is too small."
)


def run_smoothing(options: Mapping[str, Any]) -> None:
    """Smooth a model and save it as the options say; they have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    amount = _read_amount(given.noise)
    model, notes = _without_smoothing(load_model(given.model, given.trust))
    model, names = model_inside(model)
    if given.classes is not None:
        names = np.array(split_words(given.classes))
    place = choose_place(model, given.model, given.out)
    check_place(place, given.data)
    is_classifier = _learns_classes(model)
    task = "classification" if is_classifier else "regression"
    reading = read_data(given.data, given.target or _trained_target(model), task=task)
    problem = _problem(model, reading.dataset, names, is_classifier)
    notes += _check_class_names(model, problem, given.classes)
    soft, test = _smooth(model, problem, amount, given.test_share, given.scoring, given.seed, given.jobs)
    changes = _compare(model, soft, problem, test)
    notes += _notes(soft, changes)
    how = save_smoothed(soft, model, place, reading, names)
    report = {
        "model": str(given.model),
        **_described(model, reading),
        "rows_choosing": 0 if amount is not None else len(problem.y) - len(test),
        "rows_judging": len(test),
        **_as_dict(soft, changes, len(test)),
        "notes": [*reading.guesses, *reading.notes, *notes, how, HELD_OUT],
        "out": str(place),
    }
    print(json.dumps(report, indent=2, ensure_ascii=False)) if given.as_json else _print(report, changes)


def _described(model: Any, reading: Reading) -> dict[str, str]:
    return {
        "kind": f"{type(model).__name__} of {type(model).__module__.split('.')[0]}",
        "data": reading.dataset.source,
        "target": reading.schema.target,
    }


def _as_dict(soft: Any, changes: Sequence[Change], n_rows: int) -> dict[str, Any]:
    return {
        "method": soft.method_,
        "method_reason": soft.method_reason_,
        "noise": soft.noise_ if isinstance(soft.noise_, float) else np.asarray(soft.noise_).tolist(),
        "tried": np.asarray(getattr(soft, "noise_curve_", np.empty((0, 2)))).tolist(),
        "changes": [{**asdict(change), "verdict": change.verdict} for change in changes],
        "sentences": [change.sentence(n_rows) for change in changes],
    }


# --- arguments ---


def _read_amount(noise: str) -> float | None:
    """Read an amount of noise; None means that it is chosen."""
    if noise == "auto":
        return None
    try:
        amount = float(noise)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < np.inf:
        raise typer.BadParameter(f"--noise {noise} is not an amount: give auto, or a number from 0, such as 0.2")
    return amount


def _without_smoothing(model: Any) -> tuple[Any, list[str]]:
    if not isinstance(model, tm.DualPerturbClassifier | tm.DualPerturbRegressor):
        return model, []
    inner = model.estimator_
    if hasattr(model, SCHEMA_ATTRIBUTE) and not hasattr(inner, SCHEMA_ATTRIBUTE):
        setattr(inner, SCHEMA_ATTRIBUTE, getattr(model, SCHEMA_ATTRIBUTE))
    return inner, [
        f"The model was already smoothed ({_noise_in_words(model.noise_)}): the model inside is smoothed instead."
    ]


def _noise_in_words(noise: Any) -> str:
    if np.ndim(noise):
        return f"noise {np.min(noise):.3g} to {np.max(noise):.3g}"
    return f"noise {float(noise):.3g}"


def _trained_target(model: Any) -> str | None:
    """Return the target that the model was trained on, if known."""
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    return None if schema is None else schema.target


def _learns_classes(model: Any) -> bool:
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    if schema is not None:
        return schema.task == "classification"
    if hasattr(model, "classes_") or hasattr(model, "predict_proba"):
        return True
    return not hasattr(model, "fit") and read_model(model).classes is not None  # a bare booster


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows in the form that the model takes, and their target: class codes of the model, or numbers.

    Attributes
    ----------
    X : table
    y : array (n_rows,)
    labels : array or None
        The labels that the model predicts.
    names : list of str
        The classes as the file of rows names them, in the order of the labels.
    """

    X: Any
    y: NDArray[Any]
    labels: NDArray[Any] | None
    names: Sequence[str] = ()

    @property
    def target(self) -> NDArray[Any]:
        """The target in the labels of the model."""
        return self.y if self.labels is None else self.labels[self.y]


def _problem(model: Any, rows: Dataset, classes: NDArray[Any] | None, is_classifier: bool) -> Problem:
    if len(rows.y) < LEAST_ROWS:
        raise InvalidInput(
            f"{rows.source} has {counted(len(rows.y), 'row')}: at least {LEAST_ROWS} are needed to choose the "
            "noise and test it"
        )
    X = rows_for(model, rows)
    if not is_classifier:
        return Problem(X, rows.y, None)
    labels = np.asarray(model.classes_ if hasattr(model, "classes_") else read_model(model).classes)
    names = [str(label) for label in (labels if classes is None else classes).tolist()]
    if len(names) != len(labels):
        raise InvalidInput(
            f"--classes has {counted(len(names), 'name')}, but the model has {len(labels)} classes: name all of them"
        )
    code_of = {name: code for code, name in enumerate(names)}
    given = [str(label) for label in rows.y.tolist()]
    unknown = sorted(set(given) - set(names))
    if unknown:
        advice = "name the classes of the model in their order with --classes" if classes is None else "check --classes"
        raise InvalidInput(
            f"the target has classes {listed(unknown[:5])}, but the model knows {listed(names[:8])}: {advice}"
        )
    return Problem(X, np.array([code_of[label] for label in given]), labels, names)


def _check_class_names(model: Any, problem: Problem, classes: str | None) -> list[str]:
    """Refuse class names in a wrong order, or return a note if the order is doubtful."""
    if problem.labels is None:
        return []
    hard = tm.DualPerturbClassifier(model, noise=0.0, prefit=True).fit(problem.X)
    predicted = hard.predict_proba(problem.X).argmax(axis=1)
    message = doubtful_names(problem.y, predicted, problem.names, classes is not None)
    return [] if message is None else [message]


# --- smoothing ---


def _smooth(
    model: Any, problem: Problem, amount: float | None, test_share: float, scoring: Scoring | None, seed: int, jobs: int
) -> tuple[Any, NDArray[np.intp]]:
    """Return the smoothed model, and the rows that were not used to choose its noise."""
    choosing = test = np.arange(len(problem.y))
    if amount is None:
        choosing, test = _divide(problem, test_share, seed)
    wrapper: Any = tm.DualPerturbRegressor if problem.labels is None else tm.DualPerturbClassifier
    options = {"scoring": scoring.value if scoring is not None else DEFAULT_SCORING[problem.labels is None]}
    soft = wrapper(
        model, noise="auto" if amount is None else amount, prefit=True, n_jobs=jobs, random_state=seed, **options
    )
    X = take_rows(problem.X, choosing)
    validation = {} if amount is not None else {"X_val": X, "y_val": problem.target[choosing]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)  # the report says so
        return soft.fit(X, **validation), test


def _divide(problem: Problem, test_share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    n_rows = len(problem.y)
    stratify = problem.y if _has_each_class_in_both(problem, test_share) else None
    choosing, test = train_test_split(np.arange(n_rows), test_size=test_share, random_state=seed, stratify=stratify)
    return np.sort(choosing), np.sort(test)


def _has_each_class_in_both(problem: Problem, test_share: float) -> bool:
    """Return whether the rows can be divided so that both parts have rows of each class."""
    if problem.labels is None:
        return False
    counts = np.unique(problem.y, return_counts=True)[1]
    n_test = int(np.ceil(test_share * len(problem.y)))
    return counts.min() >= 2 and min(n_test, len(problem.y) - n_test) >= len(counts)


def _compare(model: Any, soft: Any, problem: Problem, test: NDArray[np.intp]) -> list[Change]:
    X, y = take_rows(problem.X, test), problem.y[test]
    hard = type(soft)(model, noise=0.0, prefit=True, scale=soft.scale_).fit(X)
    if problem.labels is None:
        return compare_numbers((hard.predict(X), soft.predict(X)), y)
    return compare_classes((hard.predict_proba(X), soft.predict_proba(X)), y)


def _notes(soft: Any, changes: Sequence[Change]) -> list[str]:
    notes = []
    if soft.method_ == "sample":
        notes.append(f"The model is smoothed by {soft.n_draws} random draws, not exactly: {soft.method_reason_}.")
    if changes[0].before == 0:
        notes.append("The model makes no mistake on these rows: are they its training rows?")
    if not np.any(soft.noise_):
        notes.append(
            "No amount of noise has proved to help on these rows: none is added. The saved model predicts as before."
        )
    return notes


# --- output ---


def _print(report: Mapping[str, Any], changes: Sequence[Change]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    chosen_by = f"chosen on {report['rows_choosing']:,} rows" if report["rows_choosing"] else "given"
    console.print(
        f"{report['model']} ({report['kind']}), on {report['data']}: {_noise_in_words(report['noise'])} (standard "
        f"deviations of each column), {chosen_by}; gain estimated on {report['rows_judging']:,} rows.",
        markup=False,
    )
    table = Table()
    table.add_column("")
    for heading in ("before", "smoothed", "gain", "95 % interval"):
        table.add_column(heading, justify="right")
    for change in changes:
        interval = "the same" if change.interval is None else "{:.3g} to {:.3g}".format(*change.interval)
        name = f"{change.measure}, %" if change.unit else change.measure
        numbers = [f"{number:.4g}" for number in (change.before, change.after, change.gain)]
        table.add_row(name, *numbers, interval, style="bold" if change.verdict == "after" else None)
    console.print(table)
    for sentence in (*report["sentences"], *report["notes"]):
        console.print(sentence, markup=False)
    Console(stderr=True, soft_wrap=True).print(f"wrote {report['out']}", markup=False, highlight=False)
