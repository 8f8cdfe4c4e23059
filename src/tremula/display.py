"""Display of results: short text at a prompt, a small table in a notebook.

A result says once what its table holds; both forms are made of that, and neither ever lists long arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MOST_ROWS = 20  # a longer table is cut, and says by how much
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?( ?[%*])?|[+-]?(inf|nan)")


def harmless_cell(cell: Any) -> Any:
    """Return a cell of a CSV file, a text that a spreadsheet would run as a formula with a leading apostrophe.

    Examples
    --------
    >>> [harmless_cell(cell) for cell in ("=1+2", "-0.5", "-2+3+cmd|' /C calc'!A0", 1.5)]
    ["'=1+2", '-0.5', "'-2+3+cmd|' /C calc'!A0", 1.5]
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


@dataclass(frozen=True)
class ShortTable:
    """Content that a result displays.

    Attributes
    ----------
    caption : str
        One sentence, or what the numbers are.
    columns : sequence of str
    rows : sequence of sequences of str
    notes : sequence of str
        Sentences under the table.

    Examples
    --------
    >>> table = ShortTable("error over 10 splits", ["method", "mean"], [["C4.5", "0.08"], ["naive Bayes", "0.03"]])
    >>> print(table.text())
    error over 10 splits
    method       mean
    C4.5         0.08
    naive Bayes  0.03
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    @property
    def _rest(self) -> list[str]:
        hidden = len(self.rows) - MOST_ROWS
        return [*([f"and {hidden} more"] if hidden > 0 else []), *self.notes]

    def text(self) -> str:
        """Return the table in columns of equal width, under its caption."""
        lines = [list(self.columns), *map(list, self.rows[:MOST_ROWS])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        written = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([self.caption, *written, *self._rest])

    def html(self) -> str:
        """Return the table as an element, the first cell of a row as its heading."""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
            for row in self.rows[:MOST_ROWS]
        )
        rest = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._rest)
        caption = f'<caption style="caption-side: top; text-align: left">{escape(self.caption)}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class ShownAsTable:
    """Mixin for results that display a `ShortTable` at a prompt and in a notebook.

    Dataclasses derived from it are made with ``repr=False``, so that theirs does not list every array.
    """

    def _short_table(self) -> ShortTable:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._short_table().text()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._short_table().html()
