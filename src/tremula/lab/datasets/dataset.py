"""A dataset: one matrix, the target, and what the numbers in them mean."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.data.column import date_text
from tremula.data.names import attribute_names
from tremula.display import ShortTable, ShownAsTable
from tremula.errors import MissingLibrary, counted

TASKS = ("classification", "regression")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ShownAsTable):
    """A problem, ready for any method.

    Attributes
    ----------
    name : str
        What reports call it.
    source : str
        Where it came from.
    X : ndarray of shape (n_rows, n_attributes)
        Numbers, and for nominal attributes codes of levels; NaN is missing.
    y : ndarray of shape (n_rows,)
        The class labels, or in regression the numbers to predict.
    nominal : tuple of int
        The attributes of `X` that are nominal.
    task : {'classification', 'regression'}
        What is to be predicted.
    attributes : tuple of str
        The names of the attributes; empty where they have none.
    levels : tuple of ndarray or None
        For each attribute its levels in the order of their codes, or None where it is numeric; empty where none is
        nominal.
    official_split : (ndarray, ndarray) or None
        Numbers of the training and of the test rows, where the collectors of the data divided it.
    dates : tuple of int
        The attributes of `X` that are dates, as days since 1970.
    """

    name: str
    source: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    nominal: tuple[int, ...] = ()
    task: str = "classification"
    attributes: tuple[str, ...] = ()
    levels: tuple[NDArray[Any] | None, ...] = ()
    official_split: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    dates: tuple[int, ...] = ()

    def _short_table(self) -> ShortTable:
        names = self.attribute_names
        kinds = [f"nominal, {self._n_levels(each)} levels" if each in self.nominal else "numeric" for each in self._all]
        missing = np.isnan(self.X).sum(axis=0)
        rows = [(name, kind, str(count) if count else "") for name, kind, count in zip(names, kinds, missing)]
        return ShortTable(str(self), ["attribute", "kind", "missing"], rows)

    @property
    def _all(self) -> range:
        return range(self.X.shape[1])

    def _n_levels(self, attribute: int) -> int:
        levels = self.levels[attribute] if self.levels else None
        return len(np.unique(self.X[:, attribute])) if levels is None else len(levels)

    def __str__(self) -> str:
        target = f"{len(np.unique(self.y))} classes" if self.task == "classification" else "a number"
        n_rows, n_attributes = self.X.shape
        return f"{self.name} ({self.source}): {n_rows} rows, {counted(n_attributes, 'attribute')}, {target} to predict"

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes; ``x0``, ``x1``, ... where they have none."""
        return attribute_names(self.attributes, self.X.shape[1])

    def take(self, rows: ArrayLike) -> "Dataset":
        """Return the dataset of these rows, with the same levels and without an official split.

        Parameters
        ----------
        rows : array of int or bool

        Examples
        --------
        >>> from tremula.lab.datasets import load_dataset
        >>> load_dataset("wine").take([0, 100]).y.tolist()
        ['class_0', 'class_1']
        """
        return replace(self, X=self.X[np.asarray(rows)], y=self.y[np.asarray(rows)], official_split=None)

    def frame(self) -> Any:
        """Return the attributes as a pandas frame, with category columns for the nominal ones.

        Such a column has all levels of the dataset, also those that a part of its rows does not have.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingLibrary("a frame needs pandas, which is not installed: pip install pandas") from error
        names = self.attribute_names
        columns: dict[str, Any] = dict(zip(names, self.X.T))
        for index in self.nominal:
            codes = np.nan_to_num(self.X[:, index], nan=-1).astype(int)
            columns[names[index]] = pandas.Categorical.from_codes(codes, self.level_names(index))
        return pandas.DataFrame(columns)

    def value(self, row: int, attribute: int) -> str | float | None:
        """Return a value as people write it: a level, a date or a number; None where missing.

        Examples
        --------
        >>> from tremula.lab.datasets import load_dataset
        >>> load_dataset("iris").value(0, 2)
        1.4
        """
        code = float(self.X[row, attribute])
        if np.isnan(code):
            return None
        if attribute in self.dates:
            return date_text(code)
        return str(self.level_names(attribute)[int(code)]) if attribute in self.nominal else code

    def level_names(self, attribute: int) -> list[Any]:
        """Return the levels of a nominal attribute in the order of their codes; without names, the codes."""
        levels = self.levels[attribute] if self.levels else None
        if levels is not None:
            return list(levels)
        return list(range(int(np.nanmax(self.X[:, attribute], initial=-1)) + 1))
