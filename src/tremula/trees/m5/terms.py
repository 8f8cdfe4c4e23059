"""The numeric terms of a model tree: numeric attributes as they are, nominal attributes as ordered 0/1 columns.

Every term has a value in every row: missing values are replaced by the training mean or the most common level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tremula.data.names import attribute_name
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.trees.columns import Columns, SortedLists, read_columns

PLACE = -1  # `from_place` of a term that is the place of a level
MAX_TERMS = 500  # of levels: models are fitted in time that grows with the fourth power
MAX_CELLS = 100_000_000  # rows times terms of levels, at 16 bytes each


def _column_means(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the known values of each column, 0 if there are none."""
    known = ~np.isnan(values)
    totals = weights @ known
    with np.errstate(over="ignore", invalid="ignore"):
        sums = weights @ np.where(known, values, 0.0)
    means = np.divide(sums, totals, out=np.zeros(len(sums)), where=totals > 0)
    for column in np.flatnonzero(~np.isfinite(means)):  # the sum overflowed; the mean does not
        is_known = known[:, column]
        means[column] = (weights[is_known] / totals[column]) @ values[is_known, column]
    return np.asarray(means)


def _mean_by_level(codes: np.ndarray, n_levels: int, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean target of each level; the mean of all rows for a level without rows."""
    counts = np.bincount(codes, weights, n_levels)
    sums = np.bincount(codes, weights * target, n_levels)
    mean = float(np.average(target, weights=weights))
    return np.asarray(np.divide(sums, counts, out=np.full(n_levels, mean), where=counts > 0))


def has_term_per_level(n_levels: np.ndarray, n_rows: int) -> np.ndarray:
    """Return for each attribute whether its levels become a term each: those with few levels, up to a number of terms.

    Examples
    --------
    >>> has_term_per_level(np.array([0, 450, 3, 100]), n_rows=1000)
    array([ True, False,  True,  True])
    """
    order = np.argsort(n_levels, kind="stable")
    n_terms = np.cumsum(np.maximum(n_levels[order] - 1, 0))
    fits = np.empty(len(n_levels), bool)
    fits[order] = (n_terms <= min(MAX_TERMS, MAX_CELLS // max(n_rows, 1))) | (n_levels[order] <= 2)
    return fits


def terms_of(n_levels: np.ndarray, is_expanded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the attribute of each term, and the first place for which it is 1; 0 for a number, -1 for a place itself.

    Examples
    --------
    >>> terms_of(np.array([0, 3, 1, 9]), np.array([True, True, True, False]))
    (array([0, 1, 1, 2, 3], dtype=int32), array([ 0,  1,  2,  1, -1], dtype=int32))
    """
    n_terms = np.where(is_expanded, np.maximum(n_levels - 1, 1), 1)  # with one level there is a term that is always 0
    attribute_of = np.repeat(np.arange(len(n_levels), dtype=np.int32), n_terms)
    firsts = np.repeat(np.cumsum(n_terms) - n_terms, n_terms)
    first_place = np.where(is_expanded[attribute_of], np.arange(len(attribute_of)) - firsts + 1, PLACE)
    return attribute_of, np.where(n_levels[attribute_of] == 0, 0, first_place).astype(np.int32)


@storable
@dataclass(frozen=True, eq=False)
class Terms:
    """Turns the columns of a table into numeric terms.

    The k levels of a nominal attribute are sorted by their mean target, and become k - 1 terms: term j is 1 for the
    levels from place j on, else 0. An attribute with too many levels becomes one term, the place of the level.

    Attributes
    ----------
    n_levels : int32 array (n_attributes,)
        Number of levels; 0 for a numeric attribute.
    fill : float64 array (n_attributes,)
        Replacement of a missing value: the mean, or the code of the most common level.
    places : int32 array
        Place of each level in the order of its attribute, for all nominal attributes one after the other.
    attribute : int32 array (n_terms,)
        Attribute of each term.
    from_place : int32 array (n_terms,)
        First place for which the term is 1; 0 for a numeric attribute, -1 for a term that is the place itself.
    """

    n_levels: np.ndarray
    fill: np.ndarray
    places: np.ndarray
    attribute: np.ndarray
    from_place: np.ndarray

    def _check_stored(self) -> None:
        n_attributes = len(self.n_levels)
        require_numbers("n_levels", self.n_levels, (None,), "i", 0)
        require_numbers("attribute", self.attribute, (None,), "i", 0)
        require_numbers("from_place", self.from_place, (len(self.attribute),), "i", PLACE)
        require_numbers("fill", self.fill, (n_attributes,))
        require_numbers("places", self.places, (int(self.n_levels.sum(dtype=np.int64)),), "i", 0)
        is_nominal = self.n_levels > 0
        require((self.fill[is_nominal] < self.n_levels[is_nominal]).all(), "a missing value becomes an unknown level")
        require((self.fill[is_nominal] >= 0).all() and np.isfinite(self.fill).all(), "a missing value has no number")
        for attribute in np.flatnonzero(is_nominal):
            places = np.sort(self.places_of(int(attribute)))
            require(np.array_equal(places, np.arange(len(places))), "levels are not in an order")
        expected = terms_of(self.n_levels, ~np.isin(np.arange(n_attributes), self.attribute[self.from_place == PLACE]))
        is_same = np.array_equal(self.attribute, expected[0]) and np.array_equal(self.from_place, expected[1])
        require(is_same and self.attribute.dtype == self.from_place.dtype == np.int32, "terms are not those of M5'")

    @classmethod
    def learn(cls, values: np.ndarray, n_levels: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Terms:
        """Learn the replacements of missing values and the order of levels from training rows."""
        fill = np.zeros(len(n_levels))
        numeric = n_levels == 0
        fill[numeric] = _column_means(values[:, numeric], weights)
        places = [np.empty(0, np.int32)]
        for attribute in np.flatnonzero(~numeric):
            column, count = values[:, attribute], int(n_levels[attribute])
            known = ~np.isnan(column)
            fill[attribute] = np.bincount(column[known].astype(np.intp), weights[known], count).argmax()
            codes = np.where(known, column, fill[attribute]).astype(np.intp)
            order = np.argsort(_mean_by_level(codes, count, target, weights), kind="stable")
            places.append(np.argsort(order).astype(np.int32))
        terms = terms_of(n_levels, has_term_per_level(n_levels, len(values)))
        return cls(np.asarray(n_levels, np.int32), fill, np.concatenate(places), *terms)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.attribute)

    @property
    def is_plain(self) -> bool:
        """Whether all attributes are numeric, so that the terms are the columns."""
        return not self.n_levels.any()

    def places_of(self, attribute: int) -> np.ndarray:
        """Return the places of the levels of a nominal attribute."""
        first = int(self.n_levels[:attribute].sum())
        return self.places[first : first + int(self.n_levels[attribute])]

    def levels_above(self, term: int, threshold: float) -> np.ndarray:
        """Return whether the term is above a threshold, for each level of its nominal attribute."""
        places, first = self.places_of(int(self.attribute[term])), self.from_place[term]
        return np.asarray((places if first == PLACE else places >= first) > threshold)

    def complete(self, values: np.ndarray) -> np.ndarray:
        """Return the rows with missing values replaced; the same array if there are none."""
        missing = np.isnan(values)
        return np.where(missing, self.fill, values) if missing.any() else values

    def evaluate(self, completed: np.ndarray) -> np.ndarray:
        """Return the terms of completed rows, shape (n_rows, n_terms); the same array if all attributes are numeric."""
        if self.is_plain:
            return completed
        out = np.empty((len(completed), self.n_terms))
        numeric = self.from_place == 0
        out[:, numeric] = completed[:, self.attribute[numeric]]
        for attribute in np.flatnonzero(self.n_levels):
            of_attribute = np.flatnonzero((self.attribute == attribute) & ~numeric)
            place = self.places_of(int(attribute))[completed[:, attribute].astype(np.intp)]
            is_place = self.from_place[of_attribute[0]] == PLACE
            out[:, of_attribute] = place[:, None] if is_place else place[:, None] >= self.from_place[of_attribute]
        return out

    def sort(self, columns: Columns, evaluated: np.ndarray) -> Columns:
        """Sort the terms; numeric columns without missing values are already sorted."""
        complete = (columns.lengths == columns.n_rows) & (self.n_levels == 0)
        if complete.all():
            return columns
        is_sorted = complete[self.attribute]
        fresh = read_columns(np.asfortranarray(evaluated[:, ~is_sorted]), np.zeros((~is_sorted).sum(), np.int32))
        lists = np.empty((self.n_terms, columns.n_rows), np.uint64)
        lists[is_sorted] = columns.lists[self.attribute[is_sorted]]
        lists[~is_sorted] = fresh.lists
        lengths = np.full(self.n_terms, columns.n_rows, np.int64)
        kinds = np.zeros(self.n_terms, np.int32)
        given = SortedLists(lists, lengths)
        return replace(columns, values=evaluated, n_levels=kinds, given_lists=given, serves_once=True, ignored=())

    def name(self, term: int, names: Sequence[str] | None, levels: Sequence[Any]) -> str:
        """Return the name of a term: that of a column, or a set of levels."""
        attribute = int(self.attribute[term])
        name = attribute_name(names, attribute)
        if self.from_place[term] <= 0:
            return name if self.from_place[term] == 0 else f"[place of {name}]"
        order = np.argsort(self.places_of(attribute))[self.from_place[term] :]
        texts = [str(levels[attribute][level]) for level in np.sort(order)]
        return f"[{name} = {texts[0]}]" if len(texts) == 1 else f"[{name} in {{{', '.join(texts)}}}]"
