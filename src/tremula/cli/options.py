"""What several commands take alike: words that commas separate, and what is to be predicted."""

from enum import StrEnum


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


def split_words(words: str | None) -> list[str]:
    """Return words that commas separate.

    Examples
    --------
    >>> split_words("age, ward,")
    ['age', 'ward']
    """
    return [word.strip() for word in (words or "").split(",") if word.strip()]
