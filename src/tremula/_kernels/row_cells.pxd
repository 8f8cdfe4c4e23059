"""Rows as arrays of cells, as `descent.h` describes them."""

from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tremula._kernels.nodes cimport Node
from tremula._kernels.route cimport FAILED

cdef extern from "descent.h" nogil:
    enum:
        N_LANES
        BYTES
        WORDS
        NUMBERS
        PLAIN
        MISSING_NUMBERS
        LEVELS
        MISSING_BYTE
        UNKNOWN_LEVEL
        FIRST_ENTRY
    const uint32_t NOMINAL
    const uint32_t MISSING_WORD
    const int32_t IS_SPLIT
    const double FIRST_LEVEL
    ctypedef struct NumberNode:
        double limit
        uint64_t first_entry
        uint32_t attribute, child
    ctypedef struct FlatTree:
        const void* nodes
        const int32_t* answers
        const double* values
        int32_t n_values, output, is_vote
    ctypedef struct FlatRows:
        void* cells
        Py_ssize_t width
        const uint8_t* table
        int form, kind
    ctypedef struct Descents:
        Py_ssize_t n
        uint32_t* row
        uint32_t* node
        uint32_t* moving
    Py_ssize_t cell_size_of(int form)
    void follow_rows(const FlatTree* tree, const FlatRows* rows, const Descents* descents)
    void follow_trees(const FlatTree* tree, const FlatRows* rows, const Descents* descents)

cdef extern from "places.h" nogil:
    enum:
        N_NUMBERS
    uint32_t place_of(const double* thresholds, int64_t n_thresholds, double threshold)
    void count_smaller(const double* thresholds, int64_t n_thresholds, const double* numbers, uint32_t* places)


cdef inline double limit_of(const Node* node, bint strict) noexcept nogil:
    """The largest number that takes the first branch of a numeric split."""
    return nextafter(node.threshold, -INFINITY) if strict else node.threshold


cdef class RowCells:
    """How the rows of a table become cells: the attributes that trees test, with their limits or levels."""

    cdef int form
    cdef Py_ssize_t width               # cells of a row
    cdef bint has_levels
    cdef bint are_rows                  # whether cells are the numbers of a row, all of them in their order
    cdef const int32_t[::1] attributes
    cdef int32_t[::1] columns           # of every attribute, -1 if no tree tests it
    cdef const int32_t[::1] n_levels    # of each attribute that is tested, 0 if it is numeric
    cdef const int64_t[::1] starts      # of the limits of each
    cdef const double[::1] limits

    cdef uint32_t code_of(self, Py_ssize_t column, double limit) noexcept nogil
    cdef bint are_in(self, const double[:, :] X) noexcept nogil
    cdef int fill(self, const double[:, :] X, FlatRows* rows) except FAILED nogil
    cdef bint fill_group(self, const double[:, :] X, Py_ssize_t first, void* cells) except FAILED nogil
    cdef bint find_places(self, double* numbers, Py_ssize_t column, uint32_t* places) noexcept nogil
