"""The choice of walk. The table is in `walks.h`; here each of its entries becomes a call.

A walk goes through the sorted list of a numeric attribute in one node, puts its best cut into `best` and returns how
many cuts it tried. It is written once and handed its options as constants, so that the compiler makes a loop of its
own for each combination.
"""

from libc.stdint cimport int64_t, uint8_t

from tremula._kernels.criteria cimport FIFTH_ROOT_VARIANCE, GAIN_RATIO, SYMMETRIC_UNCERTAINTY, VARIANCE
from tremula._kernels.cuts cimport has_long_runs
from tremula._kernels.grower cimport COUNTED, WIDE, Cut, Grower, Known, Stretch
from tremula._kernels.medians cimport walk_medians
from tremula._kernels.walks_counted cimport walk_counted_gains, walk_counted_squares, walk_counted_terms
from tremula._kernels.walks_measured cimport walk_measured_sums
from tremula._kernels.walks_statistics cimport walk_statistics
from tremula._kernels.walks_targets cimport walk_several_counts, walk_several_sums
from tremula._kernels.walks_two cimport has_two_values, two_values_gain, two_values_squares
from tremula._kernels.walks_weighted cimport walk_weighted_gains, walk_weighted_runs, walk_weighted_terms

cdef extern from "walks.h" nogil:
    enum Walk:
        NO_WALK
        WALK_COUNTED_GAINS
        WALK_COUNTED_SQUARES
        WALK_COUNTED_TERMS
        WALK_WEIGHTED_GAINS
        WALK_WEIGHTED_TERMS
        WALK_MEASURED_SUMS
        WALK_MEDIANS
        WALK_SEVERAL_COUNTS
        WALK_SEVERAL_SUMS
        WALK_STATISTICS
        N_WALKS
    const uint8_t WALK_OF[6][8]
    const uint8_t COLLECTING_WALK_OF[6]


cdef inline int64_t counted_gains(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    cdef bint by_runs = has_long_runs(g, list)
    if g.rules.criterion == GAIN_RATIO or known.min_side > 1.0:
        if by_runs:
            return walk_counted_gains(g, True, True, list, known, best)
        return walk_counted_gains(g, False, True, list, known, best)
    if by_runs:
        return walk_counted_gains(g, True, False, list, known, best)
    return walk_counted_gains(g, False, False, list, known, best)


cdef inline int64_t weighted_gains(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    cdef bint wide = g.rows.kind == WIDE
    if has_long_runs(g, list):
        return walk_weighted_runs(g, wide, list, known, best)
    return walk_weighted_gains(g, wide, list, known, best)


cdef inline int64_t weighted_terms(Grower* g, bint collect, const Stretch* list, const Known* known,
                                   Cut* best) noexcept nogil:
    cdef int criterion = g.rules.criterion
    cdef bint by_runs = has_long_runs(g, list)
    if g.rows.kind == WIDE:
        return walk_weighted_terms(g, criterion, collect, by_runs, True, list, known, best)
    if by_runs:
        return walk_weighted_terms(g, criterion, collect, True, False, list, known, best)
    return walk_weighted_terms(g, criterion, collect, False, False, list, known, best)


cdef inline int64_t walk(Grower* g, bint collect, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Find the best cut of a numeric attribute, or keep every cut if `collect`; returns the number of cuts tried."""
    cdef int kind = COUNTED if g.node.counted else g.rows.kind
    cdef int chosen = COLLECTING_WALK_OF[kind] if collect else WALK_OF[kind][g.rules.criterion]
    if chosen == WALK_MEDIANS:
        return walk_medians(g, False, list, known, best)
    if chosen == WALK_STATISTICS or g.columns.directions != NULL:
        return walk_statistics(g, list, known, best)
    if chosen == WALK_SEVERAL_SUMS:
        return walk_several_sums(g, list, known, best)
    if chosen == WALK_SEVERAL_COUNTS:
        if g.targets.are_counted:
            return walk_several_counts(g, list, known, best)
        return walk_statistics(g, list, known, best)
    if (chosen == WALK_COUNTED_GAINS or chosen == WALK_COUNTED_SQUARES) and has_two_values(g, list):
        if chosen == WALK_COUNTED_GAINS:
            return two_values_gain(g, list, known, best)
        return two_values_squares(g, list, known, best)
    if chosen == WALK_COUNTED_GAINS:
        return counted_gains(g, list, known, best)
    if chosen == WALK_COUNTED_SQUARES:
        if has_long_runs(g, list):
            return walk_counted_squares(g, True, list, known, best)
        return walk_counted_squares(g, False, list, known, best)
    if chosen == WALK_COUNTED_TERMS:
        if collect:
            return walk_counted_terms(g, g.rules.criterion, True, list, known, best)
        return walk_counted_terms(g, SYMMETRIC_UNCERTAINTY, False, list, known, best)
    if chosen == WALK_WEIGHTED_GAINS:
        return weighted_gains(g, list, known, best)
    if chosen == WALK_WEIGHTED_TERMS:
        return weighted_terms(g, collect, list, known, best)
    if g.rules.criterion == VARIANCE:
        return g.search.walk_variance(g, list, known, best)
    return walk_measured_sums(g, FIFTH_ROOT_VARIANCE, list, known, best)
