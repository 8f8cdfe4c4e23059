"""How SQL engines write names, words and doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGEST_DOUBLE = 1.7976931348623157e308


@dataclass(frozen=True)
class Dialect:
    """A dialect of SQL.

    Attributes
    ----------
    quote : str
        Character around names.
    has_backslashes : bool
        Whether a backslash inside a word is an escape character.
    doubles_quotes : bool
        Whether a quotation mark inside a word is doubled; else it is escaped by a backslash.
    double_suffix : str
        What makes a number with an exponent a double, where it would be a decimal, which rounds differently.
    greatest : str
        Function of the largest of several columns.
    has_lists : bool
        Whether ``IN`` lists are written; DuckDB plans each as a join, which takes long.
    max_characters : int or None
        Longest query that the documentation of the engine allows.
    max_depth : int or None
        Depth of trees whose expressions all releases of the engine can read.
    depth_note : str
        Which releases cannot read deeper ones.
    """

    quote: str = '"'
    has_backslashes: bool = False
    doubles_quotes: bool = True
    double_suffix: str = ""
    greatest: str = "GREATEST"
    has_lists: bool = True
    max_characters: int | None = None
    max_depth: int | None = None
    depth_note: str = ""

    def identifier(self, name: str) -> str:
        """Return the quoted name of a column or table.

        Examples
        --------
        >>> DIALECTS["postgres"].identifier('a "b" c'), DIALECTS["mysql"].identifier("a b")
        ('"a ""b"" c"', '`a b`')
        """
        if self.has_backslashes and self.quote == "`" and not self.doubles_quotes:
            name = name.replace("\\", "\\\\")
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def literal(self, value: Any) -> str:
        r"""Return the literal of a label or level: a boolean, integer, double, or else a word.

        Examples
        --------
        >>> DIALECTS["duckdb"].literal("it's"), DIALECTS["bigquery"].literal("it's"), DIALECTS["spark"].literal(0.5)
        ("'it''s'", "'it\\'s'", '0.5e0D')
        """
        if isinstance(value, bool | np.bool_):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int | np.integer):
            return str(int(value))
        if isinstance(value, float | np.floating):
            return self.double(float(value))
        text = str(value)
        if self.has_backslashes:
            text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return "'" + text.replace("'", "''" if self.doubles_quotes else "\\'") + "'"

    def double(self, value: float) -> str:
        """Return the literal of a double, with all digits and an exponent."""
        text = repr(float(value))
        return (text if "e" in text else f"{text.removesuffix('.0')}e0") + self.double_suffix

    @property
    def zero(self) -> str:
        """The number 0; terms of a sum that are 0 are left out."""
        return self.double(0.0)

    @property
    def largest_double(self) -> str:
        """No number exceeds it. NULL and NaN fail the comparison, whether an engine sorts NaN last or not at all."""
        return self.double(LARGEST_DOUBLE)

    def largest_of(self, names: Sequence[str]) -> str:
        """Return the largest of some columns."""
        return names[0] if len(names) == 1 else f"{self.greatest}({', '.join(names)})"

    def among(self, name: str, values: Sequence[str]) -> str:
        """Return the test whether a column holds one of some values."""
        if len(values) == 1:
            return f"{name} = {values[0]}"
        if self.has_lists:
            return f"{name} IN ({', '.join(values)})"
        return f"({' OR '.join(f'{name} = {value}' for value in values)})"


DIALECTS = {
    "duckdb": Dialect(has_lists=False),
    "postgres": Dialect(double_suffix="::float8"),
    "sqlite": Dialect(greatest="MAX", max_depth=8, depth_note="SQLite before 3.46 can read"),
    "mysql": Dialect(quote="`", has_backslashes=True),
    "bigquery": Dialect(quote="`", has_backslashes=True, doubles_quotes=False, max_characters=1_000_000),
    "snowflake": Dialect(has_backslashes=True, double_suffix="::DOUBLE", max_characters=1_000_000),
    "spark": Dialect(quote="`", has_backslashes=True, doubles_quotes=False, double_suffix="D"),
}
