"""Options shared by several commands, and their checks."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tremula.errors import InvalidParameter


class Task(StrEnum):
    """The kind of target."""

    classification = "classification"
    regression = "regression"


class TaskOrAuto(StrEnum):
    """The kind of target, or auto: the type of the column decides."""

    auto = "auto"
    classification = Task.classification.value
    regression = Task.regression.value


TASKS = tuple(task.value for task in Task)

TargetOption = Annotated[
    str | None,
    typer.Option(help="Column to predict.", show_default="the column 'target' or 'class', else the last"),
]
TaskOption = Annotated[str | None, typer.Option(help=f"Task: {' or '.join(TASKS)}.", show_default="guessed")]
DropOption = Annotated[str | None, typer.Option(help="Columns to ignore, comma-separated.")]
UseOption = Annotated[
    str | None, typer.Option(help="Columns to use although the data check leaves them out, comma-separated.")
]
TableOption = Annotated[str | None, typer.Option(help="Table of the database, if it is not part of the URL.")]
ModelFileArgument = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="File of a model, written by tremula fit, compare or smooth, or by tm.save."),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Also read files that can run arbitrary code, such as .joblib: only those you trust."),
]


def check_task_and_jobs(task: str | None, jobs: int) -> None:
    """Raise an error for an unknown task, and for a number of jobs that joblib does not have."""
    if task not in (*TASKS, None):
        raise typer.BadParameter(f"--task {task} is not a task: give {' or '.join(TASKS)}")
    if jobs == 0:
        raise InvalidParameter("--jobs 0 is not possible: give 1 or more, or -1 for all processors")
    from tremula.parameters import check_jobs  # not for --help, which should be quick

    check_jobs("--jobs", jobs)


def split_words(text: str | None, separator: str = ",") -> list[str]:
    """Split a list such as one of comma-separated names.

    Examples
    --------
    >>> split_words("age, ward,")
    ['age', 'ward']
    """
    return [word.strip() for word in (text or "").split(separator) if word.strip()]
