"""The walk over the sorted list of a numeric attribute, for MEASURED rows: a numeric target."""

from libc.stdint cimport int64_t, uint64_t

from tremula._kernels.criteria cimport FIFTH_ROOT_VARIANCE, Whole, fifth_root_term, least_fifth_root_term
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch


# After row p is read, `weight`, `total` and `squares` are the sums of weight, weighted target and weighted squared
# target left of a cut behind it. `bar` is the sum `within` of the best cut less slack: a cut whose sum is certainly
# above it is skipped before its fifth roots are taken.

cdef inline int64_t walk_measured_sums(Grower* g, int criterion, const Stretch* list, const Known* known,
                                       Cut* best) noexcept nogil:
    """Variance, or its fifth root; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const double* all_rows = known.statistics
    cdef double slack = known.slack
    cdef double least = known.min_side - 1e-9
    cdef double weight = 0.0, total = 0.0, squares = 0.0, other, rest, w, y, within
    cdef double bar = whole.within - best.worth - slack     # fifth roots: a cut of a larger sum is not the best
    cdef int64_t p, n_tried = 0
    cdef uint64_t word
    for p in range(list.start, list.end - 1):
        word = words[p]
        w = g.rows.records[word & g.columns.row_mask].weight
        y = g.rows.records[word & g.columns.row_mask].target.number
        weight += w
        total += w * y
        if criterion == FIFTH_ROOT_VARIANCE:
            squares += w * y * y
        if (word ^ words[p + 1]) & g.columns.rank_mask:
            other = whole.weight - weight
            if weight < least:
                continue
            if other < least or other <= 0.0:
                break
            n_tried += 1
            rest = all_rows[1] - total
            if criterion == FIFTH_ROOT_VARIANCE:
                if (least_fifth_root_term(weight, total, squares, g.node.noise)
                        + least_fifth_root_term(other, rest, all_rows[2] - squares, g.node.noise)) > bar:
                    continue
                within = (fifth_root_term(weight, total, squares, g.node.noise)
                          + fifth_root_term(other, rest, all_rows[2] - squares, g.node.noise))
            else:
                within = total * total / weight + rest * rest / other
            consider(g, criterion, False, within, 0.0, p + 1, known, best)
            bar = whole.within - best.worth - slack
    return n_tried
