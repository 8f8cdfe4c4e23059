"""Turns rows into cells for flat forests: places among the limits of the trees' splits, which fit a byte, or numbers.

A number lies above a limit exactly if its place is larger than the limit's own. So a tree that compares places
takes every row where the tree that compares numbers does.
"""

import numpy as np

from libc.math cimport INFINITY, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tremula._kernels.nodes cimport MULTIWAY_SPLIT, Node, is_numeric
from tremula._kernels.route cimport FAILED, TreeView

cdef inline void find_levels(double* numbers, int32_t n_levels, uint32_t* levels) noexcept nogil:
    """Write levels, `n_levels` where there is none, and their cells in NUMBERS."""
    cdef Py_ssize_t lane
    for lane in range(N_NUMBERS):
        levels[lane] = <uint32_t> numbers[lane] if 0 <= numbers[lane] < n_levels else <uint32_t> n_levels
        numbers[lane] = FIRST_LEVEL + levels[lane]


cdef bint has_nan(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef int found = 0
    cdef Py_ssize_t k
    for k in range(n):
        found |= numbers[k] != numbers[k]
    return found


FORMS = {"bytes": BYTES, "words": WORDS, "numbers": NUMBERS}
# Of forms that code numbers, the most limits or levels of an attribute, and nodes of a tree. None tests more than 256.
MOST_PLACES = {"bytes": MISSING_BYTE - 1, "words": 1 << 18}
MOST_NODES = {"bytes": 1 << 16, "words": 1 << 24}
MOST_BRANCHES = UNKNOWN_LEVEL - 1


def count_splits(TreeView tree, int64_t[:, ::1] counts):
    """Add the number of numeric and of nominal splits on each attribute; returns whether a flat tree can have them all.

    It can have neither more than MOST_BRANCHES branches nor a limit below -infinity.
    """
    cdef const Node* here
    cdef Py_ssize_t node
    cdef bint is_flat = True
    for node in range(tree.nodes.shape[0]):
        here = &tree.nodes[node]
        if here.n_branches > 0:
            counts[not is_numeric(here.index), here.attribute] += 1
            if is_numeric(here.index):
                is_flat = is_flat and (here.threshold > -INFINITY if tree.arrays.strict else not isnan(here.threshold))
            elif here.index == MULTIWAY_SPLIT:
                is_flat = is_flat and here.n_branches < UNKNOWN_LEVEL
    return is_flat


def take_limits(TreeView tree, int64_t[::1] places, double[::1] out):
    """Write the limits of numeric splits, those on attribute a from places[a] on, and move the places behind them."""
    cdef const Node* here
    cdef Py_ssize_t node
    for node in range(tree.nodes.shape[0]):
        here = &tree.nodes[node]
        if here.n_branches > 0 and is_numeric(here.index):
            out[places[here.attribute]] = limit_of(here, tree.arrays.strict)
            places[here.attribute] += 1


def drop_repeats(double[::1] numbers, int64_t[::1] starts):
    """Keep one of each number in every stretch of sorted numbers, from starts[s] to starts[s + 1]; starts are moved."""
    cdef Py_ssize_t stretch, place, kept = 0
    cdef int64_t first, end = starts[0]
    for stretch in range(starts.shape[0] - 1):
        first, end = end, starts[stretch + 1]
        starts[stretch] = kept
        for place in range(first, end):
            if place == first or numbers[place] != numbers[place - 1]:
                numbers[kept] = numbers[place]
                kept += 1
    starts[starts.shape[0] - 1] = kept


cdef class RowCells:
    """How the rows of a table become cells: the attributes that trees test, with their limits or levels."""

    def __init__(
        self, str form, const int32_t[::1] attributes, const int32_t[::1] n_levels, const int64_t[::1] starts,
        const double[::1] limits,
    ):
        self.form, self.attributes, self.n_levels = FORMS[form], attributes, n_levels
        self.starts, self.limits = starts, limits
        self.width = max(1, attributes.shape[0])
        self.has_levels = np.any(n_levels)
        in_order = np.array_equal(attributes, np.arange(attributes.shape[0])) and attributes.shape[0] > 0
        self.are_rows = self.form == NUMBERS and not self.has_levels and in_order
        columns = np.full(np.max(attributes, initial=-1) + 1, -1, np.int32)
        columns[np.asarray(attributes)] = np.arange(attributes.shape[0])
        self.columns = columns

    cdef uint32_t code_of(self, Py_ssize_t column, double limit) noexcept nogil:
        """The place of a split's limit among those of its column."""
        cdef int64_t start = self.starts[column]
        return place_of(&self.limits[start], self.starts[column + 1] - start, limit)

    cdef bint are_in(self, const double[:, :] X) noexcept nogil:
        """Whether the rows of an array are cells already."""
        return (
            self.are_rows and X.shape[1] == self.width and X.strides[1] == sizeof(double)
            and X.strides[0] == X.shape[1] * <Py_ssize_t> sizeof(double)
        )

    cdef int fill(self, const double[:, :] X, FlatRows* rows) except FAILED nogil:
        """Write the cells of rows, or take the rows themselves; state the kind of descent that they need."""
        cdef Py_ssize_t group
        cdef bint has_missing = False
        if self.are_in(X):
            rows.cells = <void*> &X[0, 0]
            has_missing = has_nan(&X[0, 0], X.shape[0] * X.shape[1])
        else:
            for group in range((X.shape[0] + N_NUMBERS - 1) // N_NUMBERS):
                has_missing |= self.fill_group(X, group * N_NUMBERS, rows.cells)
        rows.form, rows.width = self.form, self.width
        rows.kind = LEVELS if self.has_levels else MISSING_NUMBERS if has_missing else PLAIN
        return 0

    cdef bint fill_group(self, const double[:, :] X, Py_ssize_t first, void* cells) except FAILED nogil:
        """Write the cells of several rows from `first` on; returns whether a number is missing."""
        cdef Py_ssize_t column, lane, place, n_lanes = min(<Py_ssize_t> N_NUMBERS, X.shape[0] - first)
        cdef double[8] numbers
        cdef uint32_t[8] places
        cdef bint has_missing = False
        for column in range(self.attributes.shape[0]):
            for lane in range(N_NUMBERS):
                numbers[lane] = X[first + min(lane, n_lanes - 1), self.attributes[column]]
            if self.n_levels[column] > 0:
                find_levels(numbers, self.n_levels[column], places)
            else:
                has_missing |= self.find_places(numbers, column, places)
            for lane in range(n_lanes):
                place = (first + lane) * self.width + column
                if self.form == BYTES:
                    (<uint8_t*> cells)[place] = <uint8_t> places[lane]
                elif self.form == WORDS:
                    (<uint32_t*> cells)[place] = places[lane]
                else:
                    (<double*> cells)[place] = numbers[lane]
        return has_missing

    cdef inline bint find_places(self, double* numbers, Py_ssize_t column, uint32_t* places) noexcept nogil:
        """Write the places of numbers among limits; returns whether one is missing."""
        cdef int64_t start
        cdef Py_ssize_t lane
        cdef uint32_t missing = MISSING_BYTE if self.form == BYTES else MISSING_WORD
        cdef bint has_missing = False
        for lane in range(N_NUMBERS):
            has_missing |= numbers[lane] != numbers[lane]
        if self.form != NUMBERS:
            start = self.starts[column]
            count_smaller(&self.limits[start], self.starts[column + 1] - start, numbers, places)
            for lane in range(N_NUMBERS):
                if numbers[lane] != numbers[lane]:
                    places[lane] = missing
        return has_missing

    def cells(self, const double[:, :] X):
        """Return the cells of rows, for tests."""
        made = np.zeros((X.shape[0], self.width), {BYTES: np.uint8, WORDS: np.uint32, NUMBERS: np.float64}[self.form])
        cdef uint8_t[:, ::1] as_bytes = made.view(np.uint8)
        cdef FlatRows rows
        rows.cells = &as_bytes[0, 0]
        self.fill(X, &rows)
        return np.asarray(X) if self.are_in(X) else made
