"""What several commands take alike: the options of rows to learn from, words that commas separate, and their checks."""

from enum import StrEnum
from typing import Annotated

import typer

from tremula.errors import InvalidParameter


class Task(StrEnum):
    """What is to be predicted."""

    classification = "classification"
    regression = "regression"


class TaskOrAuto(StrEnum):
    """What is to be predicted, or that the target's type decides."""

    auto = "auto"
    classification = Task.classification.value
    regression = Task.regression.value


TASKS = tuple(task.value for task in Task)

TargetOption = Annotated[
    str | None,
    typer.Option(help="The column to predict.", show_default="the column 'target' or 'class', else the last"),
]
TaskOption = Annotated[str | None, typer.Option(help=f"What to predict: {' or '.join(TASKS)}.", show_default="guessed")]
DropOption = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
TableOption = Annotated[str | None, typer.Option(help="The table of a database, if not written behind its URL.")]


def check_task_and_jobs(task: str | None, jobs: int) -> None:
    """Refuse a task that there is not, and work that nobody does."""
    if task not in (*TASKS, None):
        raise typer.BadParameter(f"--task {task}: give {' or '.join(TASKS)}")
    if jobs == 0:
        raise InvalidParameter("--jobs 0 does nothing: give 1 or more, or -1 for all processors")


def split_words(words: str | None) -> list[str]:
    """Return words that commas separate.

    Examples
    --------
    >>> split_words("age, ward,")
    ['age', 'ward']
    """
    return [word.strip() for word in (words or "").split(",") if word.strip()]
