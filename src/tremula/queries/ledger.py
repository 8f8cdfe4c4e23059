"""Entries of the ledger of a guarded oracle, and paths in words."""

from __future__ import annotations

from dataclasses import dataclass

from tremula.queries.question import Path, Schema


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
