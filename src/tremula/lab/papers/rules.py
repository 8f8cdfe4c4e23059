"""Rules that judge the claims of a paper: what holds, what would have made it "does not hold", and the rule's power.

A rule reads the rows of a printed table and nothing else, so that a reader can check it. Its power is the share of
wrong outcomes that it rejects; these are made by shuffling the table.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tremula.lab.papers.paper import ShownTable

Row = Mapping[str, Any]
Rows = Sequence[Row]
Shuffle = Callable[[Rows, random.Random], Rows]

N_SHUFFLES = 500
OPEN = "open"  # instead of a published number: a question that the paper leaves open, judged as its claims are
CLAIM_COLUMNS = ("claim", "published", "ours", "verdict", "would not hold if", "power")
POWER_NOTE = (
    f"Power: the share of wrong outcomes that the rule rejects. Wrong outcomes are {N_SHUFFLES} shuffles of our table, "
    "without those that leave it as it is: "
)


@dataclass(frozen=True)
class Finding:
    """What a table says of a claim.

    Attributes
    ----------
    ours : str
    holds : bool or None
        None where it was not measured.
    """

    ours: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]


@dataclass(frozen=True)
class Rule:
    """A claim of a paper and how it is judged.

    Attributes
    ----------
    claim, published : str
        What the paper says, and its number.
    fails_if : str
        The results with which the claim would not hold, in words.
    judge : callable from rows to Finding
    shuffle : callable from (rows, random.Random) to rows
        Returns one wrong outcome.

    Examples
    --------
    >>> from tremula.lab.papers.rules import Finding, Rule, permuted
    >>> rule = Rule(
    ...     "bagging is best", "on a", "another method is best",
    ...     lambda rows: Finding(str(rows[0]["error"]), rows[0]["error"] < min(row["error"] for row in rows[1:])),
    ...     permuted("error"),
    ... )
    >>> rows = [{"error": 0.1}, {"error": 0.2}, {"error": 0.3}]
    >>> rule.judge(rows).verdict, round(rule.power(rows), 1)
    ('holds', 0.8)
    """

    claim: str
    published: str
    fails_if: str
    judge: Callable[[Rows], Finding]
    shuffle: Shuffle

    def power(self, rows: Rows) -> float | None:
        """Return the share of shuffled tables with which the claim would not hold; None if no shuffle changes it."""
        draw = random.Random(0)
        shuffles = (self.shuffle(rows, draw) for _ in range(N_SHUFFLES))
        wrong = [shuffled for shuffled in shuffles if list(shuffled) != list(rows)]
        return sum(self.judge(rows).holds is False for rows in wrong) / len(wrong) if wrong else None

    def line(self, rows: Rows) -> list[Any]:
        """Return the row of a table of claims."""
        finding = self.judge(rows)
        power = None if finding.holds is None else self.power(rows)
        shown = None if power is None else f"{power:.2f}"
        return [self.claim, self.published, finding.ours, finding.verdict, self.fails_if, shown]


def permuted(*columns: str) -> Shuffle:
    """Return a shuffle that gives the values of some columns, together, to other rows."""

    def shuffle(rows: Rows, draw: random.Random) -> Rows:
        order = draw.sample(range(len(rows)), len(rows))
        return [{**row, **{name: rows[other][name] for name in columns}} for row, other in zip(rows, order)]

    return shuffle


def exchanged(exchange: Callable[[Row], Row]) -> Shuffle:
    """Return a shuffle that exchanges, in every row with probability a half, the two things that are compared."""
    return lambda rows, draw: [exchange(row) if draw.random() < 0.5 else row for row in rows]


def claims_table(
    name: str, caption: str, rules: Sequence[Rule], rows: Rows, shuffled: str, notes: Sequence[str] = ()
) -> ShownTable:
    """Return the claims of a paper about a table, judged by rules.

    Parameters
    ----------
    name, caption : str
    rules : sequence of Rule
    rows : sequence of mappings
        The table.
    shuffled : str
        How wrong outcomes are made, in words.
    notes : sequence of str
    """
    lines = [rule.line(rows) for rule in rules] if rows else []
    return ShownTable(name, caption, CLAIM_COLUMNS, lines, [*notes, POWER_NOTE + shuffled])
