"""``tremula smooth``: soften a trained model by noise that held-out rows choose, and say whether it helped.

The rows are divided: one part chooses the noise, the other, which had no say, tells what the model loses before and
after. Nothing is trained again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import train_test_split

import tremula as tm
from tremula.cli.model_files import READERS, TRUST, check_place, load_model, rows_for
from tremula.cli.options import split_words
from tremula.cli.smoothed_model_files import choose_place, save_smoothed
from tremula.cli.unwrapping import model_inside
from tremula.data.table_schema import TableSchema
from tremula.data.take import take_rows
from tremula.errors import InvalidInput
from tremula.lab.comparison.model_pair import Change, compare_classes, compare_numbers
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.formats.table_files import listed
from tremula.lab.datasets.reader import read_data
from tremula.smoothing.models import read_model

LEAST_ROWS = 20
# By whether numbers are predicted. On a few hundred rows the error has many ties; the log loss chose noise with as few
# errors and truer probabilities, for trees, forests and boosting on seven datasets.
USUAL_SCORING = {False: "log_loss", True: "squared_error"}
HELD_OUT = (
    "The rows must be others than those that the model was trained on: on its own training rows any model looks better "
    "than it is, and the noise comes out too small."
)


class Scoring(StrEnum):
    """What the noise is judged by."""

    error = "error"
    log_loss = "log_loss"
    squared_error = "squared_error"
    absolute_error = "absolute_error"


def smooth(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help=f"The file of a trained model: {', '.join(READERS)}, or any that tm.save wrote.",
            show_default=False,
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Rows that did not train the model: a file, a table of a database, or the name of a dataset.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column to predict.", show_default="the model's, else as compare does")
    ] = None,
    noise: Annotated[
        str, typer.Option(help="Level of the noise, in standard deviations of each column, or auto: rows choose it.")
    ] = "auto",
    judge: Annotated[
        float, typer.Option(min=0.1, max=0.9, help="Share of the rows that tell of before and after; others choose.")
    ] = 0.5,
    scoring: Annotated[
        Scoring | None,
        typer.Option(help="What the noise is chosen by.", show_default="log_loss of classes, squared_error of numbers"),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Names of the classes in the order of the model's numbers, separated by commas, where it has only "
            "numbers.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file of the smoothed model.", show_default="<model>_soft.tremula"),
    ] = None,
    trust: Annotated[
        bool, typer.Option(TRUST, help="Read a pickle, which can run any program: only a file you made yourself.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides which rows judge.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processors to use; -1 is all.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Soften a trained model: what it would answer, on average, if each row were shaken a little.

    Takes models of tremula, scikit-learn, XGBoost and LightGBM as they are and trains nothing. Some of the rows choose
    the level of the noise, the others tell what the model loses before and after. The smoothed model is saved for
    tremula predict and tm.load.
    """
    level = _level(noise)
    given, notes = _unwrapped(load_model(model, trust))
    given, names = model_inside(given)
    if classes is not None:
        names = np.array(split_words(classes))
    place = choose_place(given, model, out)
    check_place(place)
    is_classifier = _learns_classes(given)
    reading = read_data(data, target or _usual_target(given), task="classification" if is_classifier else "regression")
    rows = reading.dataset
    problem = _problem(given, rows, names, is_classifier)
    soft, judged = _soften(given, problem, level, judge, scoring, seed, jobs)
    changes = _compare(given, soft, problem, judged)
    notes += _notes(soft, changes)
    how = save_smoothed(soft, given, place, reading, names)
    told = {
        "model": str(model),
        "kind": f"{type(given).__name__} of {type(given).__module__.split('.')[0]}",
        "data": rows.source,
        "target": reading.schema.target,
        "rows_choosing": 0 if level is not None else len(problem.y) - len(judged),
        "rows_judging": len(judged),
        "noise": soft.noise_ if isinstance(soft.noise_, float) else np.asarray(soft.noise_).tolist(),
        "tried": np.asarray(getattr(soft, "noise_curve_", np.empty((0, 2)))).tolist(),
        "changes": [{**asdict(change), "verdict": change.verdict} for change in changes],
        "sentences": [change.sentence(len(judged)) for change in changes],
        "notes": [*reading.guesses, *reading.notes, *notes, how, HELD_OUT],
        "out": str(place),
    }
    print(json.dumps(told, indent=2, ensure_ascii=False)) if as_json else _print(told, changes)


# --- what was given ---


def _level(noise: str) -> float | None:
    """Read a level of noise; None is to be chosen."""
    if noise == "auto":
        return None
    try:
        level = float(noise)
    except ValueError:
        level = -1.0
    if not 0 <= level < np.inf:
        raise typer.BadParameter(f"--noise {noise}: give auto, or a number that is not negative, such as 0.2")
    return level


def _unwrapped(model: Any) -> tuple[Any, list[str]]:
    if not isinstance(model, tm.DualPerturbClassifier | tm.DualPerturbRegressor):
        return model, []
    inner = model.estimator_
    if hasattr(model, SCHEMA_ATTRIBUTE) and not hasattr(inner, SCHEMA_ATTRIBUTE):
        setattr(inner, SCHEMA_ATTRIBUTE, getattr(model, SCHEMA_ATTRIBUTE))
    return inner, [f"The model was smoothed already ({_say_noise(model.noise_)}): what it wraps is taken."]


def _say_noise(noise: Any) -> str:
    if np.ndim(noise):
        return f"noise {np.min(noise):.3g} to {np.max(noise):.3g}"
    return f"noise {float(noise):.3g}"


def _usual_target(model: Any) -> str | None:
    """Return the target that the model was trained for, where it knows."""
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
    """Rows as the model takes them, and their target: codes of the model's classes, or numbers."""

    X: Any
    y: NDArray[Any]
    labels: NDArray[Any] | None

    @property
    def target(self) -> NDArray[Any]:
        """The target in the model's own labels."""
        return self.y if self.labels is None else self.labels[self.y]


def _problem(model: Any, rows: Dataset, classes: NDArray[Any] | None, is_classifier: bool) -> Problem:
    if len(rows.y) < LEAST_ROWS:
        raise InvalidInput(
            f"{rows.source} has {len(rows.y)} rows: at least {LEAST_ROWS} are needed to choose and judge"
        )
    X = rows_for(model, rows)
    if not is_classifier:
        return Problem(X, rows.y, None)
    labels = np.asarray(model.classes_ if hasattr(model, "classes_") else read_model(model).classes)
    names = [str(label) for label in (labels if classes is None else classes).tolist()]
    if len(names) != len(labels):
        raise InvalidInput(f"--classes has {len(names)} names, but the model has {len(labels)} classes: name each")
    code_of = {name: code for code, name in enumerate(names)}
    given = [str(label) for label in rows.y.tolist()]
    unknown = sorted(set(given) - set(names))
    if unknown:
        advice = "name the model's classes in their order with --classes" if classes is None else "see to their names"
        raise InvalidInput(
            f"the target has classes {listed(unknown[:5])}, but the model knows {listed(names[:8])}: {advice}"
        )
    return Problem(X, np.array([code_of[label] for label in given]), labels)


# --- the work ---


def _soften(
    model: Any, problem: Problem, level: float | None, judge: float, scoring: Scoring | None, seed: int, jobs: int
) -> tuple[Any, NDArray[np.intp]]:
    """Return the smoothed model, and the rows that had no say in its noise."""
    everything = np.arange(len(problem.y))
    choosing, judging = everything, everything
    if level is None:
        choosing, judging = _divide(problem, judge, seed)
    wrapper: Any = tm.DualPerturbRegressor if problem.labels is None else tm.DualPerturbClassifier
    options = {"scoring": scoring.value if scoring is not None else USUAL_SCORING[problem.labels is None]}
    soft = wrapper(
        model, noise="auto" if level is None else level, prefit=True, n_jobs=jobs, random_state=seed, **options
    )
    X = take_rows(problem.X, choosing)
    validation = {} if level is not None else {"X_val": X, "y_val": problem.target[choosing]}
    return soft.fit(X, **validation), judging


def _divide(problem: Problem, judge: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    n_rows = len(problem.y)
    stratify = problem.y if _has_each_class_in_both(problem, judge) else None
    choosing, judging = train_test_split(np.arange(n_rows), test_size=judge, random_state=seed, stratify=stratify)
    return np.sort(choosing), np.sort(judging)


def _has_each_class_in_both(problem: Problem, judge: float) -> bool:
    """Whether rows can be divided so that either part has rows of each class."""
    if problem.labels is None:
        return False
    counts = np.unique(problem.y, return_counts=True)[1]
    n_judging = int(np.ceil(judge * len(problem.y)))
    return counts.min() >= 2 and min(n_judging, len(problem.y) - n_judging) >= len(counts)


def _compare(model: Any, soft: Any, problem: Problem, judged: NDArray[np.intp]) -> list[Change]:
    X, y = take_rows(problem.X, judged), problem.y[judged]
    hard = type(soft)(model, noise=0.0, prefit=True, scale=soft.scale_).fit(X)
    if problem.labels is None:
        return compare_numbers((hard.predict(X), soft.predict(X)), y)
    return compare_classes((hard.predict_proba(X), soft.predict_proba(X)), y)


def _notes(soft: Any, changes: Sequence[Change]) -> list[str]:
    notes = []
    if changes[0].before == 0:
        notes.append("The model makes no mistake on these rows: are they those that it was trained on?")
    if not np.any(soft.noise_):
        notes.append("The best level is no noise: smoothing does not help here, and the model saved answers as before.")
    return notes


# --- what is shown ---


def _print(told: Mapping[str, Any], changes: Sequence[Change]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    chose = f"{told['rows_choosing']:,} rows chose" if told["rows_choosing"] else "you chose"
    console.print(
        f"{told['model']} ({told['kind']}), on {told['data']}: {chose} {_say_noise(told['noise'])} (standard "
        f"deviations of each column); {told['rows_judging']:,} rows judge.",
        markup=False,
    )
    table = Table()
    table.add_column("")
    for heading in ("before", "smoothed", "gain", "95 % interval"):
        table.add_column(heading, justify="right")
    for change in changes:
        low, high = change.interval
        name = f"{change.measure}, %" if change.unit else change.measure
        numbers = [f"{number:.4g}" for number in (change.before, change.after, change.gain)]
        table.add_row(name, *numbers, f"{low:.3g} to {high:.3g}", style="bold" if change.verdict == "after" else None)
    console.print(table)
    for sentence in (*told["sentences"], *told["notes"]):
        console.print(sentence, markup=False)
    Console(stderr=True, soft_wrap=True).print(f"wrote {told['out']}", markup=False, highlight=False)
