"""The program of a tree for the smoothing kernel, as `program.h` declares it, and the class that makes and owns one."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from tremula._kernels.nodes cimport Node

cdef extern from "program.h" nogil:
    enum:
        NUMERIC
        SLOPE
        NOMINAL
    ctypedef struct Factor:
        int32_t high, low
        double missing
    ctypedef struct Step:
        int32_t source, target, first_factor, n_factors, split, next
    ctypedef struct Split:
        double threshold, last, part
        int32_t attribute, kind, column, first_open, n_open, n_branches, n_levels, kept, is_pair
        int32_t low, middle, high
    enum:
        TO_FORK
        TO_ONE_VALUE
        TO_VALUES
    ctypedef struct Branch:
        double value
        int32_t kind, place
    ctypedef struct Fork:
        Branch left, right
        int32_t source, split, column, low, middle, high, next
    ctypedef struct Program:
        const Step* steps
        const Split* splits
        const Factor* factors
        const Factor* open
        const double* kept
        const int32_t* value_start
        const int32_t* value_output
        const double* value
        const double* mean
        double spread
        int32_t n_steps, n_splits
        const Fork* forks
        int32_t n_forks

cdef enum:
    ZEROS = 0                   # columns that every block has
    ONES = 1

cdef struct Buffer:
    char* data
    Py_ssize_t used, capacity

cdef struct Place:
    # What is known of a node when its turn comes.
    int32_t parent
    int32_t n_nodes             # from here down
    int32_t step                # its own, -1 before its turn
    int32_t weights             # register that holds its weights
    int32_t first_open, n_open  # stretch of `open_edges`
    int32_t slot                # first column that is free for the splits from here down
    int32_t high, low           # what is left of the attribute that the parent tests
    int32_t kept                # the same of a nominal one; -1 for all its levels
    int32_t n_sloped            # tests of the attribute to differentiate by, above this node
    double top, bottom          # the thresholds of `high` and `low`
    double missing              # share of a row without a value of that attribute

cdef class TreeProgram:
    # the program
    cdef Buffer steps, splits, factors, open, kept, forks
    cdef Program program
    cdef readonly int32_t n_registers, n_own, n_leaves
    cdef object arrays
    # the tree, while the program is made
    cdef const Node[::1] nodes
    cdef const uint8_t[::1] subsets
    cdef const int32_t[::1] n_levels
    cdef const double[::1] shares
    cdef const double[::1] thresholds
    cdef const double[::1] last
    cdef const int32_t[::1] columns
    cdef int32_t first_own
    cdef const int32_t[::1] level_start
    cdef const double[::1] level_shares
    cdef const int32_t[::1] value_start
    cdef const int32_t[::1] value_output
    cdef const double[::1] value
    cdef bint paths
    cdef int32_t slope_of, rank
    # scratch, while the program is made
    cdef Place* places
    cdef uint64_t* tested
    cdef int32_t* open_edges
    cdef int32_t* waiting
    cdef int32_t* step_parents
    cdef Py_ssize_t n_words, n_edges

    cdef void forget(self) noexcept
    cdef int survey(self) except -1
    cdef int find_subtrees(self) except -1
    cdef bint is_tested_below(self, int32_t node, int32_t attribute) noexcept
    cdef bint is_flat(self, int32_t node) noexcept
    cdef bint is_sloped(self, int32_t node) noexcept
    cdef int arrive(self, int32_t node) except -1
    cdef int add_factor(self, Buffer* buffer, int32_t edge) except -1
    cdef int part(self, int32_t node) except -1
    cdef int32_t write_open(self, Split* split, int32_t node) except -2
    cdef int pass_on(self, const Split* split, int32_t node, int32_t before, int32_t n_slots) except -1
    cdef int divide(self, int32_t node, int32_t before, int32_t n_levels) except -1
    cdef bint is_pair(self, const Step* first) except -1
    cdef int close(self) except -1
    cdef bint is_all_numeric(self) noexcept
    cdef int fork(self) except -1
    cdef int lead(self, Branch* branch, const Step* step, int32_t number, const int32_t* sources) except -1
    cdef int finish(self, const double[::1] mean, double spread) except -1
