"""The walk over the sorted list of a numeric attribute that judges any criterion from the statistics of both sides.

It keeps constraints of order, too. Walks of one criterion are quicker.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from tremula._kernels.criteria cimport POISSON, is_information, x_log_x
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch
from tremula._kernels.monotonic cimport direction_of_place, keeps_order
from tremula._kernels.statistics cimport add_words, weight_of, within_of
from tremula._kernels.targets cimport has_several, have_positive_sums


cdef inline bint is_allowed(Grower* g, const Known* known, const double* left, const double* right,
                            int direction) noexcept nogil:
    """Whether a cut keeps the constraints, and both sides have a target above 0 if their logarithm counts."""
    cdef double nothing = 1e-13 * known.statistics[1]       # what rounding may leave of 0
    if has_several(g):
        return g.rules.criterion != POISSON or have_positive_sums(g, known.statistics, left, right)
    if g.rules.criterion == POISSON and (left[1] <= nothing or right[1] <= nothing):
        return False
    return g.columns.directions == NULL or keeps_order(g, known, left, right, direction)


# After row p is read, `left` has the statistics of the rows left of a cut behind it.

cdef inline int64_t walk_statistics(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Any criterion that follows from statistics; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef double* left = g.walk.left
    cdef double* right = g.walk.right_terms
    cdef double least = known.min_side - 1e-9, weight, other, within, branches = 0.0
    cdef int64_t p, k, n_tried = 0
    cdef int direction = 0
    memset(left, 0, g.rows.n_statistics * sizeof(double))
    for p in range(list.start, list.end - 1):
        add_words(g, words, p, p + 1, left)
        if not ((words[p] ^ words[p + 1]) & g.columns.rank_mask):
            continue
        weight = weight_of(g, left)
        other = known.whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        for k in range(g.rows.n_statistics):
            right[k] = known.statistics[k] - left[k]
        if g.columns.directions != NULL:
            direction = direction_of_place(g, best, list, p + 1)
        if not is_allowed(g, known, left, right, direction):
            continue
        within = within_of(g, left, weight) + within_of(g, right, other)
        if is_information(g.rules.criterion):
            branches = x_log_x(weight) + x_log_x(other)
        consider(g, g.rules.criterion, False, within, branches, p + 1, known, best)
    return n_tried
