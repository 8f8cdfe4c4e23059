"""The columns of a training table, and the forms of them that trees grow from: sorted lists and codes.

Each form is made when it is first asked for, once for all members of an ensemble.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from tremula._kernels.sort import rank_rows as _rank_rows
from tremula._kernels.sort import sort_columns as _sort_columns
from tremula._kernels.sort import sort_items as _sort_items
from tremula._kernels.words import ROW_BITS, WIDE_ROW_BITS
from tremula.trees.coding import BYTE_CODES, CodedColumns, KernelCodes, code_columns, with_pieces
from tremula.trees.missing_values import NO_TWIN, CompleteTable, complete_table
from tremula.trees.row_numbers import numbering_columns

# A table of fewer rows has packed words, see `_kernels/words.pxd`.
MAX_PACKED_ROWS = 1 << ROW_BITS
# By which it is told whether columns have many distinct values.
ROWS_LOOKED_AT, COLUMNS_LOOKED_AT = 300, 64


@dataclass(frozen=True)
class SortedLists:
    """The known values of columns in order: words of row and rank, a list per attribute."""

    lists: np.ndarray
    lengths: np.ndarray


# Threads that grow members of one ensemble sort and code its columns once.
_PREPARING = Lock()


@dataclass(frozen=True)
class Columns:
    """The columns of a table, and what trees grow from: sorted lists or codes, made when first asked for.

    Attributes
    ----------
    values : float64 array (n_rows, n_attributes)
        Nominal columns hold level codes; NaN is missing.
    n_levels : int32 array (n_attributes,)
        0 for a numeric attribute.
    gap : float
        A value at most this much above its predecessor cannot be told from it (C4.5: 1e-5).
    row_bits : int
        Bits of a word that hold the row.
    serves_once : bool
        Whether the next tree may use the lists up.
    max_bins : int, optional
        Number of codes of a numeric column; None gives each value its own.
    given_lists : SortedLists, optional
        Lists that were sorted before.
    has_missing_branch : bool
        Whether trees learn which branch missing values take, instead of dividing their rows between all.
    table : CompleteTable, optional
        What these columns were made of, if missing values were replaced.
    nominal : str
        How nominal columns are split, see `level_numbers`.
    base : Columns, optional
        Columns that these differ from in those of `renewed` alone; other lists and codes are taken from there.
    renewed : tuple of int
        The columns that are not those of the base.
    directions : int8 array (n_attributes,), optional
        1 or -1 where predictions may not fall or not rise with an attribute of the table; see `monotonic`.
    renewed_codes : CodedColumns, optional
        Their codes, with the value of each, if these are known.
    ignored : tuple of int
        Columns that no tree tests, see `identifiers`.
    """

    values: np.ndarray
    n_levels: np.ndarray
    gap: float = 0.0
    row_bits: int = ROW_BITS
    serves_once: bool = False
    max_bins: int | None = None
    given_lists: SortedLists | None = None
    has_missing_branch: bool = False
    table: CompleteTable | None = None
    nominal: str = "subsets"
    base: Columns | None = None
    renewed: tuple[int, ...] = ()
    directions: np.ndarray | None = None
    renewed_codes: CodedColumns | None = None
    ignored: tuple[int, ...] = ()

    is_sparse: ClassVar[bool] = False  # see `sparse_columns`

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return int(self.values.shape[0])

    @property
    def n_attributes(self) -> int:
        """Columns of the table."""
        return int(self.values.shape[1])

    @property
    def lists(self) -> np.ndarray:
        """The sorted list of each attribute."""
        return self.sorted.lists

    @property
    def lengths(self) -> np.ndarray:
        """Number of known values of each attribute."""
        return self.sorted.lengths

    def __getstate__(self) -> dict[str, object]:
        """Leave out what can be made again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def is_complete(self) -> bool:
        """Whether no value is missing."""
        return not bool(np.isnan(self.values).any())

    @property
    def to_grow_from(self) -> Columns:
        """These columns; or, if trees learn the branch of missing values and there are any, those without them."""
        if self.is_complete or not self.has_missing_branch:
            return self
        with _PREPARING:
            return self._completed

    @cached_property
    def _completed(self) -> Columns:
        table = complete_table(self.values, self.n_levels)
        return replace(self, values=table.values, n_levels=table.n_levels, has_missing_branch=False, table=table)

    def with_numbers(
        self, columns: np.ndarray, values: np.ndarray | None, codes: CodedColumns | None = None
    ) -> Columns:
        """Return these columns with numbers instead of levels in some of them, for one tree; with codes if known.

        Without `values`, these follow from the codes, and are made when they are asked for.
        """
        n_levels, table = self.n_levels.copy(), self.table
        n_levels[columns] = 0
        if table is not None:
            missing_level = table.missing_level.copy()
            missing_level[columns] = -1
            table = table._replace(missing_level=missing_level)
        renewed = tuple(int(column) for column in columns)
        given: dict[str, Any] = {
            "n_levels": n_levels,
            "table": table,
            "nominal": "subsets",
            "base": self,
            "renewed": renewed,
        }
        if values is None:
            return NumberedColumns.of(self, renewed_codes=codes, **given)
        codes = codes if self.max_bins is None else None
        return replace(self, values=values, renewed_codes=codes, **given)

    @cached_property
    def short_levels(self) -> dict[int, np.ndarray]:
        """The levels of nominal columns that a byte tells apart, by column; for columns that are complete."""
        short = np.flatnonzero((self.n_levels > 0) & (self.n_levels <= BYTE_CODES))
        return {int(column): self.values[:, column].astype(np.uint8) for column in short}

    @cached_property
    def numbering(self) -> np.ndarray:
        """The numeric columns that number the rows."""
        return numbering_columns(self.values, self.n_levels)

    def column(self, number: int) -> np.ndarray:
        """Return the values of a column."""
        return np.asarray(self.values[:, number])

    @cached_property
    def n_judged(self) -> int:
        """Number of attributes: columns but for the twins of others."""
        return self.n_attributes if self.table is None else self.table.n_attributes

    @cached_property
    def twins(self) -> np.ndarray:
        """The twin of each column, or NO_TWIN."""
        return np.full(self.n_attributes, NO_TWIN, np.int32) if self.table is None else self.table.twins

    @cached_property
    def missing_level(self) -> np.ndarray:
        """The level of each column that stands for missing ones, or -1."""
        return np.full(self.n_attributes, -1, np.int32) if self.table is None else self.table.missing_level

    @property
    def sorted(self) -> SortedLists:
        """The sorted lists of all attributes."""
        if self.base is not None:
            return self._renewed_lists
        with _PREPARING:
            return self._sorted

    @property
    def coded(self) -> CodedColumns:
        """The codes of all values; for columns that are complete."""
        if self.base is not None:
            return self._renewed_codes
        with _PREPARING:
            return self._coded

    @cached_property
    def _sorted(self) -> SortedLists:
        return self.given_lists if self.given_lists is not None else self._sort(self.values)

    def _sort(self, values: np.ndarray) -> SortedLists:
        lists = np.empty((values.shape[1], self.n_rows), np.uint64)
        lengths = np.empty(values.shape[1], np.int64)
        _sort_columns(values, self.gap, self.row_bits, lists, lengths)
        return SortedLists(lists, lengths)

    def short_lists(self) -> np.ndarray:
        """Sort the columns into lists of half the length, for one tree; for columns that are complete."""
        items, lengths = np.empty((self.n_attributes, self.n_rows), np.uint32), np.empty(self.n_attributes, np.int64)
        _sort_items(self.values, self.gap, self.row_bits, items, lengths)
        return items

    @cached_property
    def _renewed_lists(self) -> SortedLists:
        assert self.base is not None
        lists, lengths = self.base.sorted.lists.copy(), self.base.sorted.lengths.copy()
        part, columns = self._sort(np.ascontiguousarray(self.values[:, self.renewed])), list(self.renewed)
        lists[columns], lengths[columns] = part.lists, part.lengths
        return SortedLists(lists, lengths)

    @cached_property
    def _renewed_codes(self) -> CodedColumns:
        assert self.base is not None
        columns, part = list(self.renewed), self.renewed_codes
        if part is None:
            part = code_columns(np.ascontiguousarray(self.values[:, columns]), self.n_levels[columns], self.max_bins)
        return self.base.coded.with_columns(columns, part)

    @cached_property
    def _coded(self) -> CodedColumns:
        return code_columns(self.values, self.n_levels, self.max_bins)

    @cached_property
    def share_of_many_values(self) -> float:
        """About the share of the columns, numeric ones, with more distinct values than a byte tells apart.

        Some rows of some columns tell, so that nothing need be sorted.
        """
        chosen = np.linspace(0, self.n_attributes - 1, min(self.n_attributes, COLUMNS_LOOKED_AT)).astype(np.int64)
        rows = np.linspace(0, self.n_rows - 1, min(self.n_rows, ROWS_LOOKED_AT)).astype(np.int64)
        values = np.sort(self.values[np.ix_(rows, chosen)], axis=0)
        n_values = 1 + np.count_nonzero(values[1:] != values[:-1], axis=0)
        return float(np.mean((n_values > BYTE_CODES) & (self.n_levels[chosen] == 0)))

    @property
    def has_few_values(self) -> bool:
        """Whether a table of the distinct values is small, and serves several trees: quicker to look up than rows."""
        return not self.serves_once and int(self.coded.n_codes.sum(dtype=np.int64)) <= self.n_rows

    @property
    def distinct_values(self) -> np.ndarray:
        """The value of each code, to compute thresholds from."""
        if self.base is None:
            with _PREPARING:
                return self._distinct_values
        if self.renewed_codes is None or self.renewed_codes.low is None:
            return self.coded.distinct_values(self.values)
        pieces = self.base.distinct_values, self.base.coded.first, list(self.renewed)
        return with_pieces(*pieces, self.renewed_codes.low, self.renewed_codes.first)

    @cached_property
    def _distinct_values(self) -> np.ndarray:
        return self._coded.distinct_values(self.values)

    @cached_property
    def kernel_tables(self) -> dict[bool, KernelCodes]:
        """The codes as the kernel takes them, without and with drawn thresholds; see `growing_coded`."""
        return {}

    @cached_property
    def values_by_column(self) -> np.ndarray:
        """The values with those of a column side by side, for trees that read them again and again."""
        return np.asfortranarray(self.values)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The rank of every value in its column, by column and row; for columns that are complete."""
        ranks = np.empty(self.lists.shape, np.uint32)
        _rank_rows(self.lists, self.row_bits, ranks)
        return ranks


class NumberedColumns(Columns):
    """Columns with numbers of few levels, for one tree, which seldom looks at anything but their codes."""

    base: Columns
    renewed_codes: CodedColumns

    @classmethod
    def of(cls, columns: Columns, **changes: Any) -> NumberedColumns:
        """Return columns with these changes, and with `values` still to be made."""
        numbered = object.__new__(cls)
        kept = {field.name: getattr(columns, field.name) for field in fields(columns) if field.name != "values"}
        numbered.__dict__.update(kept | changes)
        return numbered

    @cached_property
    def values(self) -> np.ndarray:
        """The values of the table, and numbers in the place of levels."""
        values, part = self.base.values.copy(), self.renewed_codes
        assert part.low is not None
        for place, column in enumerate(self.renewed):
            values[:, column] = part.low[part.first[place] + part.codes[:, place].astype(np.intp)]
        return values

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.renewed_codes.codes)

    @property
    def n_attributes(self) -> int:
        """Columns of the table."""
        return len(self.n_levels)

    @cached_property
    def is_complete(self) -> bool:
        """Whether no value is missing: levels are all known."""
        return self.base.is_complete

    @cached_property
    def share_of_many_values(self) -> float:
        """That of the table, as the levels are few."""
        return self.base.share_of_many_values


def read_columns(values: np.ndarray, n_levels: np.ndarray, gap: float = 0.0) -> Columns:
    """Return the columns of a table for trees to grow from.

    Parameters
    ----------
    values : float64 array (n_rows, n_attributes)
        Nominal columns hold level codes; NaN is missing.
    n_levels : int32 array (n_attributes,)
        0 for a numeric attribute.
    gap : float, default=0.0
        A value at most this much above its predecessor cannot be told from it (C4.5: 1e-5).

    Examples
    --------
    >>> import numpy as np
    >>> columns = read_columns(np.array([[2.0], [1.0]]), np.zeros(1, np.int32))
    >>> columns.lists & 1  # the row of each value, in order
    array([[1, 0]], dtype=uint64)
    """
    row_bits = ROW_BITS if len(values) < MAX_PACKED_ROWS else WIDE_ROW_BITS
    return Columns(values, np.ascontiguousarray(n_levels, np.int32), gap, row_bits)
