"""What other kernels need to send a row down one tree: a view of the tree, and the mixing of leaf values."""

from libc.stdint cimport int32_t, uint8_t

from tremula._kernels.nodes cimport Node

cdef enum:
    FAILED = -2             # a bounds check failed (checked builds only)


cdef struct Arrays:                     # of a valid tree
    const Node* nodes
    const uint8_t* subsets
    const int32_t* n_levels
    const double* values                # one row after the other
    Py_ssize_t n_outputs
    bint strict


cdef inline double weight_of_branches(const Node* nodes, const Node* here) noexcept nogil:
    cdef double total = 0.0
    cdef int32_t child
    for child in range(here.first_child, here.first_child + here.n_branches):
        total += nodes[child].weight
    return total


cdef inline double share_of(const Node* here, const Node* child, double total) noexcept nogil:
    """Part of what reaches a split that a branch gets when the value is missing."""
    return child.weight / total if total > 0 else 1.0 / here.n_branches


cdef class TreeView:
    """The arrays of one tree, which stay alive with it."""

    cdef const Node[::1] nodes
    cdef const uint8_t[::1] subsets
    cdef const int32_t[::1] n_levels
    cdef const double[:, ::1] values
    cdef Arrays arrays


cdef class Mixture:
    """Buffers to mix leaf values where values are missing, in trees of at most this depth and so many outputs.

    Row `level` of the arrays describes the split open at that level: `pending` holds the node and its next branch,
    `shares` the weight of its branches and the share of the one being followed, `sums` the sum so far.
    """

    cdef Py_ssize_t depth, n_outputs
    cdef int32_t[:, ::1] pending
    cdef double[:, ::1] shares
    cdef double[:, ::1] sums
    cdef bint is_ready

    cdef int prepare(self) except FAILED


cdef int32_t descend_from(const Arrays* tree, const double[:, :] X, Py_ssize_t row, int32_t node) except FAILED nogil
cdef int mix(
    const Arrays* tree, const double[:, :] X, Py_ssize_t row, int32_t start, Mixture mixture,
) except FAILED nogil
