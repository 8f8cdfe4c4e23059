"""Walks over the sorted list of a numeric attribute for rows of several targets: sums of squares on both sides."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from tremula._kernels.criteria cimport GINI, VARIANCE
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch


cdef inline int64_t walk_several_counts(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Classes and whole weights: sums of squares are updated without error; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const double* whole = known.statistics + 1
    cdef const int32_t* codes
    cdef double* left = g.walk.left
    cdef double least = known.min_side - 1e-9, weight = 0.0, other, w, first = 0.0, second = 0.0
    cdef int64_t p, t, k, row, n = g.targets.n_targets, n_tried = 0
    memset(left, 0, g.targets.n_outputs * sizeof(double))
    for k in range(g.targets.n_outputs):
        second += whole[k] * whole[k]
    for p in range(list.start, list.end - 1):
        row = words[p] & g.columns.row_mask
        w = g.rows.records[row].weight
        codes = g.targets.codes + row * n
        weight += w
        for t in range(n):
            k = codes[t]
            first += w * (2.0 * left[k] + w)
            second -= w * (2.0 * (whole[k] - left[k]) - w)
            left[k] += w
        if not ((words[p] ^ words[p + 1]) & g.columns.rank_mask):
            continue
        other = known.whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        consider(g, GINI, False, (first / weight + second / other) / n, 0.0, p + 1, known, best)
    return n_tried


cdef inline int64_t walk_several_sums(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Numbers; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const double* whole = known.statistics + 1
    cdef const double* numbers
    cdef double* left = g.walk.left
    cdef double least = known.min_side - 1e-9, weight = 0.0, other, w, first, second
    cdef int64_t p, t, row, n = g.targets.n_targets, n_tried = 0
    memset(left, 0, n * sizeof(double))
    for p in range(list.start, list.end - 1):
        row = words[p] & g.columns.row_mask
        w = g.rows.records[row].weight
        numbers = g.targets.numbers + row * n
        weight += w
        for t in range(n):
            left[t] += w * numbers[t]
        if not ((words[p] ^ words[p + 1]) & g.columns.rank_mask):
            continue
        other = known.whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        first = 0.0
        second = 0.0
        for t in range(n):
            first += left[t] * left[t]
            second += (whole[t] - left[t]) * (whole[t] - left[t])
        consider(g, VARIANCE, False, (first / weight + second / other) / n, 0.0, p + 1, known, best)
    return n_tried
