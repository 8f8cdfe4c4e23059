"""Which published numbers of each paper are judged, in which columns of which tables, and which cannot be had.

A number that was measured in several readings counts once, by the reading named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Row = Mapping[str, str]
INSIDE, OUTSIDE = "within", ("better", "worse", "outside", "smaller", "larger")


def _any_row(row: Row) -> bool:
    return True


@dataclass(frozen=True)
class JudgedNumbers:
    """Numbers of one kind that a paper published.

    Attributes
    ----------
    name : str
    tables : sequence of str
        Names of our tables.
    columns : sequence of str
        Columns with verdicts.
    n_published : int
    n_absent : int
        How many cannot be obtained or compared.
    reason : str
        Why.
    counts : callable from row to bool
        Which rows count.
    power_parts : tuple of int, optional
        Numbers of the fractions of the column "power" that belong to these columns; all of them by default.
    words : mapping of str to str, optional
        What a table or column stands for, in the list of the numbers that are outside.
    """

    name: str
    tables: Sequence[str]
    columns: Sequence[str]
    n_published: int
    n_absent: int = 0
    reason: str = ""
    counts: Callable[[Row], bool] = _any_row
    power_parts: tuple[int, ...] | None = None
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Count:
    """How many numbers were published, measured, and are within and outside; `power` is None where it is not known.

    `misses` names those outside, by the verdict on them.
    """

    numbers: JudgedNumbers
    within: int
    outside: int
    power: float | None
    misses: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def measured(self) -> int:
        """How many numbers have a verdict."""
        return self.within + self.outside


def count_verdicts(numbers: JudgedNumbers, tables: Mapping[str, Sequence[Row]]) -> Count:
    """Count the verdicts on published numbers in our tables.

    Parameters
    ----------
    numbers : JudgedNumbers
    tables : mapping of str to rows
        Rows as printed, by the name of the table.

    Returns
    -------
    Count
    """
    rows = [row for name in numbers.tables for row in tables.get(name, ()) if numbers.counts(row)]
    words = [row[column] for row in rows for column in numbers.columns if column in row]
    powers = [power for row in rows if row.get("power") for power in _powers(row["power"], numbers.power_parts)]
    misses = {word: names for word in OUTSIDE if (names := list(_misses(numbers, tables, word)))}
    n_outside = sum(map(len, misses.values()))
    return Count(numbers, words.count(INSIDE), n_outside, sum(powers) / len(powers) if powers else None, misses)


def _misses(numbers: JudgedNumbers, tables: Mapping[str, Sequence[Row]], verdict: str) -> Iterator[str]:
    for table in numbers.tables:
        for row in filter(numbers.counts, tables.get(table, ())):
            yield from (_name(numbers, table, row, column) for column in numbers.columns if row.get(column) == verdict)


def _name(numbers: JudgedNumbers, table: str, row: Row, column: str) -> str:
    """Name a number, such as "letter, bagged C4.5"."""
    against = f"against {row['against']}" if "against" in row else ""
    parts = [next(iter(row.values())), row.get("method"), against, numbers.words.get(table), numbers.words.get(column)]
    return ", ".join(part for part in parts if part)


def _powers(text: str, numbers: tuple[int, ...] | None) -> list[float]:
    """Return the shares in a cell such as "2 of 3; 1 of 3" or "0.42"."""
    shares = []
    parts = text.split("; ")
    for part in parts if numbers is None else [parts[number] for number in numbers]:
        rejected, of, total = part.partition(" of ")
        shares += [float(rejected) / float(total)] if of else [] if part == "-" else [float(part)]
    return shares


def _official(row: Row) -> bool:
    return not row["dataset"].endswith("random test set")


def _class_aware(row: Row) -> bool:
    return not row["dataset"].endswith(("equal frequency", "class-aware on all rows"))


NO_DATA = "Omib, VST and Dig44 are not available"
KINDS_OF_GEURTS = {"table2_tree": "one tree", "table2_bagged": "bagged trees"}
PUBLISHED: dict[str, Sequence[JudgedNumbers]] = {
    "geurts2001": (
        JudgedNumbers(
            "errors of Table 2, of satellite and pendigits with the official test set",
            ("table2_tree", "table2_bagged"),
            ("verdict on the error", "on the error with noise"),
            36,
            12,
            NO_DATA,
            _official,
            (0, 1),
            {**KINDS_OF_GEURTS, "verdict on the error": "without noise", "on the error with noise": "with noise"},
        ),
        JudgedNumbers(
            "amounts of noise of Table 2",
            ("table2_tree", "table2_bagged"),
            ("on λ",),
            18,
            6,
            NO_DATA,
            _official,
            (2,),
            KINDS_OF_GEURTS,
        ),
    ),
    "dietterich2000": (
        JudgedNumbers(
            "errors of Table 1", ("table1_judged",), ("verdict",), 132, 92, "23 of its 33 rows are not at hand"
        ),
        JudgedNumbers("wins, losses and ties of Table 2", ("table2",), ("verdict",), 6),
        JudgedNumbers("wins, losses and ties of Table 3", ("table3",), ("verdict",), 24),
    ),
    "variance_reduction": (
        JudgedNumbers(
            "errors of Breiman's table, of soybean with 307 rows",
            ("bagging",),
            ("verdict, tree", "verdict, bagged"),
            14,
            2,
            "heart has copies of rows in learning and test set",
            lambda row: row["dataset"] != "soybean, all rows",
            words={"verdict, tree": "one tree", "verdict, bagged": "bagged trees"},
        ),
    ),
    "frank2006": (
        JudgedNumbers(
            "means of Tables 1 and 2, four methods on 45 datasets", (), (), 180, 180, "the tables are not at hand"
        ),
    ),
    "vanassche2006": (
        JudgedNumbers(
            "accuracies of Table 1, with class-aware cuts", ("table1_accuracy",), ("verdict",), 36, counts=_class_aware
        ),
        JudgedNumbers(
            "sizes of Table 1, with class-aware cuts",
            ("table1_size",),
            ("SB is", "SB_stop is", "Bag is"),
            36,
            counts=_class_aware,
            words={f"{method} is": method for method in ("SB", "SB_stop", "Bag")},
        ),
        JudgedNumbers("seconds of Table 1", (), (), 36, 36, "they are those of another computer and language, of 2006"),
        JudgedNumbers(
            "ratios of these seconds, SB_stop to SB",
            ("table1_seconds",),
            ("SB_stop / SB is",),
            12,
            counts=_class_aware,
            power_parts=(0,),
        ),
        JudgedNumbers(
            "ratios of these seconds, SB to Bag",
            ("table1_seconds",),
            ("SB / Bag is",),
            12,
            counts=_class_aware,
            power_parts=(1,),
        ),
        JudgedNumbers("shares of Figure 1", ("figure1",), ("verdict",), 2, counts=lambda row: bool(row["verdict"])),
    ),
}
