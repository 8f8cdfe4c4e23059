"""A column of a table as read: an array of numbers, or codes and the levels that they stand for."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Column:
    """A typed column.

    Attributes
    ----------
    kind : {'number', 'date', 'nominal'}
    values : ndarray of shape (n_rows,)
        Numbers, or dates as days since 1970: float64, NaN where missing. Of a nominal column the codes of its levels:
        int32, -1 where missing.
    levels : ndarray of str or None
        The levels of a nominal column, sorted; None of others.
    declared : bool
        Whether the source itself declares the column as nominal.
    integer : bool
        Whether the source declares whole numbers.
    form : str
        How the text of a column of dates was written, for ``strptime``; empty for ISO dates and for others.
    """

    kind: str
    values: NDArray[Any]
    levels: NDArray[Any] | None = None
    declared: bool = False
    integer: bool = False
    form: str = ""

    @property
    def kind_and_form(self) -> str:
        """The kind, for dates with their form, as the schema of a model keeps it."""
        return f"{self.kind} {self.form}".rstrip()

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """For each row whether the value is missing."""
        missing: NDArray[np.bool_] = np.isnan(self.values) if self.levels is None else self.values < 0
        return missing

    def take(self, rows: NDArray[np.bool_]) -> Self:
        """Return the column of some rows; levels that these do not have are dropped."""
        values = self.values[rows]
        if self.levels is None:
            return replace(self, values=values)
        used = np.bincount(values[values >= 0], minlength=len(self.levels)) > 0
        code_of = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
        return replace(self, values=code_of[values], levels=self.levels[used])

    def as_floats(self, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Return the column, or some rows, as a matrix holds it: numbers, days or codes, NaN where missing."""
        values = self.values[rows]
        return values if self.levels is None else np.where(values < 0, np.nan, values)

    def as_levels(self) -> tuple[list[str], NDArray[Any]]:
        """Return the distinct values as text, and for each row the number of its own, -1 where missing."""
        if self.levels is not None:
            return self.levels.tolist(), self.values
        codes = np.full(len(self.values), -1)
        present = ~np.isnan(self.values)
        distinct, codes[present] = np.unique(self.values[present], return_inverse=True)
        return [str(int(value)) if value.is_integer() else str(value) for value in distinct.tolist()], codes

    def as_objects(self) -> NDArray[Any]:
        """Return the values as Python's: text, whole numbers or floats, None where missing."""
        if self.levels is not None:
            return np.asarray(np.append(self.levels, [None])[self.values])
        objects: NDArray[Any] = self.values.astype(object)
        if self.integer:
            objects[~self.is_missing] = self.values[~self.is_missing].astype(np.int64)
        objects[self.is_missing] = None
        return objects

    def __len__(self) -> int:
        return len(self.values)
