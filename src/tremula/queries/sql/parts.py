"""Divides the rows of a database table into two parts by a keyed checksum of their values, within every query.

A row is in one part only, and in the same one in every query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tremula.queries.sql.checksum import row_checksum
from tremula.queries.sql.columns import with_target
from tremula.queries.sql.database import Database

DIGITS = 12  # of a checksum that are compared


@dataclass(frozen=True)
class Part:
    """One of two parts of the rows of a table.

    Attributes
    ----------
    share : float
        Expected share of the rows that are held out.
    key : str
        Another key holds out other rows.
    columns : tuple of str
        Columns whose values decide: those of the attributes, or that of persons.
    target : str or None
        None keeps rows together that are alike in these columns. A target tells rows apart that are alike in them and
        in the target, too, by their number among those alike.
    is_held_out : bool
        Which of the two parts this is.
    """

    share: float
    key: str
    columns: tuple[str, ...]
    target: str | None
    is_held_out: bool

    def rows(self, database: Database, table: Any) -> Any:
        """Return the rows of the table that are in this part."""
        kept, columns = table, self.columns
        if self.target is not None:
            number = "number of the row"
            while number in table.columns:
                number += "_"
            alike = [*self.columns, self.target]
            place = database.ibis.row_number().over(group_by=alike, order_by=self.target).cast("int64")
            kept, columns = table.mutate(**{number: place}), (*alike, number)
        digits = row_checksum(database, kept, columns, self.key).substr(0, DIGITS)
        limit = f"{round(self.share * 16**DIGITS):0{DIGITS}x}"
        kept = kept.filter(digits < limit if self.is_held_out else digits >= limit)
        return kept.select(*table.columns)


def count_different_rows(database: Database, columns: Sequence[str], target: str) -> tuple[int, int]:
    """Return the number of rows with a target, and the number of different rows among them, by the other columns."""

    def counted(table: Any) -> Any:
        known = with_target(database, table, target)
        rows = known.select(**{f"a{place}": known[name] for place, name in enumerate(columns)})
        groups = rows.group_by(rows.columns).agg(c=rows.count())
        return groups.aggregate(n=groups.c.sum().cast("int64"), different=groups.count())

    fetched = database.fetch(counted)
    return int(fetched.column("n")[0].as_py()), int(fetched.column("different")[0].as_py())
