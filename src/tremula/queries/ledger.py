"""Entries of the ledger of a guarded oracle, paths in words, and questions and rules as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from tremula.queries.question import Condition, Path, Question, Schema


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of the ledger: one question.

    Attributes
    ----------
    number : int
    time : str
        Time of the question, in UTC.
    path : str
        The conditions, in words.
    attributes : tuple of str
        Names of the attributes to count.
    joint : bool
        Whether they were to be counted jointly.
    outcome : {"answered", "estimated", "refused", "failed"}
        "estimated" if the path has no disclosed counts of its own: the answer follows from those of other paths.
        "failed" if the guarded oracle raised an error; nothing was disclosed then.
    cost : float
        Cost of the whole batch in the entry of its last question, else 0: the budget is spent by batch.
    suppressed : int
        Number of cells without a count of their own: it was too small, or was merged with one that was.
    """

    number: int
    time: str
    path: str
    attributes: tuple[str, ...]
    joint: bool
    outcome: str
    cost: float
    suppressed: int


def path_in_words(schema: Schema, path: Path) -> str:
    """Return the conditions of a path in words; empty for all rows."""
    words = []
    for condition in path:
        attribute = schema.attributes[condition.attribute]
        if attribute.levels is not None:
            levels = attribute.levels[condition.first : condition.last + 1]
            words.append(f"{attribute.name} = {' or '.join(map(str, levels))}")
        else:
            cuts = ("-inf", *map(str, attribute.cuts or ()), "inf")
            words.append(f"{cuts[condition.first]} < {attribute.name} <= {cuts[condition.last + 1]}")
    return " and ".join(words)


def rules_of(
    schema: Schema,
    min_count: int,
    epsilon: float | None,
    delta: float | None,
    rows_per_person: int,
    rho: float | None = None,
) -> dict[str, Any]:
    """Return what a ledger file belongs to: the columns of a table, the unit of privacy and the rules of its guard."""
    rules = {
        "format": 1,
        "columns": [attribute.name for attribute in schema.attributes],
        "target": schema.target,
        "classes": None if schema.classes is None else [str(label) for label in schema.classes],
        "min_count": min_count,
        "epsilon": epsilon,
        "delta": delta,
        "rows_per_person": rows_per_person,
        "person_id": schema.person_id,
        "target_bounds": schema.target_bounds,
    }
    return rules if rho is None else rules | {"rho": rho}


def digest(schema: Schema) -> str:
    """Return a checksum of a schema with its levels and cuts."""
    described = asdict(schema)
    for field in ("person_id", "rows_per_person", "target_bounds", "from_rows"):  # rules, not levels or cuts
        del described[field]
    return sha256(repr(described).encode()).hexdigest()[:16]


def question_in_json(question: Question) -> list[Any]:
    """Return a question as lists of numbers."""
    return [[list(condition) for condition in question.path], list(question.attributes), question.joint]


def question_from(numbers: list[Any]) -> Question:
    """Return the question that `question_in_json` was given."""
    path, attributes, joint = numbers
    return Question(tuple(Condition(*condition) for condition in path), tuple(attributes), joint)
