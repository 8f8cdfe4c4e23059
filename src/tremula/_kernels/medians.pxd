"""The absolute error: medians of rows, and what they leave.

Weights and weighted targets are kept in a Fenwick tree over the targets in order, so that adding a row and finding the
median take time in the logarithm of the number of targets. Rows are added one by one but never taken away one by one:
the tree is emptied, and rounding leaves nothing behind. It is empty between two calls. Splits are binary.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Frame, Grower, Known, Middle, Stretch
from tremula._kernels.monotonic cimport direction_of_place, is_in_order
from tremula._kernels.nominal cimport order_groups
from tremula._kernels.partition cimport BOTH


# ---- the tree

cdef inline void add_target(Grower* g, uint32_t row, double weight) noexcept nogil:
    cdef int64_t rank = g.medians.ranks[row]
    cdef double product = weight * g.medians.targets[rank]
    g.medians.weight += weight
    g.medians.total += product
    while rank <= g.medians.n_targets:
        g.medians.weights[rank] += weight
        g.medians.totals[rank] += product
        rank += rank & -rank


cdef inline void remove_target(Grower* g, uint32_t row) noexcept nogil:
    """Empty the places that a row was added to; where one is empty already, those after it are too."""
    cdef int64_t rank = g.medians.ranks[row]
    g.medians.weight = 0.0
    g.medians.total = 0.0
    while rank <= g.medians.n_targets and g.medians.weights[rank] != 0.0:
        g.medians.weights[rank] = 0.0
        g.medians.totals[rank] = 0.0
        rank += rank & -rank


cdef inline void add_word(Grower* g, uint64_t word) noexcept nogil:
    cdef int64_t row = <int64_t> (word & g.columns.row_mask)
    add_target(g, <uint32_t> row, g.rows.records[row].weight)


cdef inline void remove_words(Grower* g, const uint64_t* words, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t p
    for p in range(start, end):
        remove_target(g, <uint32_t> (words[p] & g.columns.row_mask))


cdef inline Middle middle_of_rows(Grower* g) noexcept nogil:
    """Median and absolute error of the rows added; where half of the weight is below a gap, the middle of the gap.

    Sums of weights that differ by rounding alone are equal.
    """
    cdef Middle middle
    cdef int64_t step = g.medians.largest_step, low = 0, high = 0
    cdef double below = 0.0, total_below = 0.0, up_to = 0.0, half = g.medians.weight / 2
    cdef double least = half * (1.0 - 1e-12), most = half * (1.0 + 1e-12)
    while step > 0:
        if low + step <= g.medians.n_targets and below + g.medians.weights[low + step] < least:
            low += step
            below += g.medians.weights[low]
            total_below += g.medians.totals[low]
        if high + step <= g.medians.n_targets and up_to + g.medians.weights[high + step] <= most:
            high += step
            up_to += g.medians.weights[high]
        step //= 2
    middle.median = g.medians.targets[low + 1] / 2 + g.medians.targets[high + 1] / 2
    if low == high:                     # halves of the least numbers would not add up to them
        middle.median = g.medians.targets[low + 1]
    middle.loss = (g.medians.targets[low + 1] * (2.0 * below - g.medians.weight)
                   + g.medians.total - 2.0 * total_below)
    return middle


cdef inline Middle middle_of_words(Grower* g, const uint64_t* words, int64_t start, int64_t end) noexcept nogil:
    cdef Middle middle
    cdef int64_t p
    for p in range(start, end):
        add_word(g, words[p])
    middle = middle_of_rows(g)
    remove_words(g, words, start, end)
    return middle


# ---- nodes

cdef inline void measure_root(Grower* g, double* statistics) noexcept nogil:
    cdef Middle middle
    cdef int64_t row
    for row in range(g.rows.n_rows):
        if g.rows.present[row]:
            add_target(g, <uint32_t> row, g.rows.records[row].weight)
    middle = middle_of_rows(g)
    for row in range(g.rows.n_rows):
        remove_target(g, <uint32_t> row)
    statistics[3] = middle.median
    statistics[4] = middle.loss


cdef inline void measure_middle(Grower* g, const Frame* frame, const Stretch* list, int64_t child,
                                double* statistics) noexcept nogil:
    """Median and absolute error of a child, to its statistics; `measure_unknown` flagged rows that go to all."""
    cdef bint has_unknown = list.end - list.start < frame.end - frame.start
    cdef Middle middle
    cdef int64_t i, p
    for i in range(g.division.n_segments):
        if g.division.segments[i].child == child:
            for p in range(g.division.segments[i].start, g.division.segments[i].end):
                add_word(g, list.words[p])
    if has_unknown:
        for p in range(frame.start, frame.end):
            if g.division.flag[g.pending.rows[p]] == BOTH:
                add_target(g, g.pending.rows[p], g.pending.weights[p] * g.division.shares[child])
    middle = middle_of_rows(g)
    for i in range(g.division.n_segments):
        if g.division.segments[i].child == child:
            remove_words(g, list.words, g.division.segments[i].start, g.division.segments[i].end)
    if has_unknown:
        for p in range(frame.start, frame.end):
            remove_target(g, g.pending.rows[p])
    statistics[3] = middle.median
    statistics[4] = middle.loss


# ---- cuts

# Going back, `after[p]` gets the middle of the rows from p on, wherever a cut may be before p; after row p is added
# going forward, the rows in the tree are those left of a cut behind it.

cdef inline int64_t walk_medians(Grower* g, bint nominal, const Stretch* list, const Known* known,
                                 Cut* best) noexcept nogil:
    """Find the best cut of a list, of levels in their order if `nominal`; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef Middle* after = g.medians.after
    cdef Middle left, whole
    cdef double least = known.min_side - 1e-9, weight, other
    cdef int64_t p, n_levels = 0, n_tried = 0
    for p in range(list.end - 1, list.start, -1):
        add_word(g, words[p])
        if (words[p - 1] ^ words[p]) & g.columns.rank_mask:
            after[p - list.start] = middle_of_rows(g)
    add_word(g, words[list.start])
    whole = middle_of_rows(g)
    remove_words(g, words, list.start, list.end)
    for p in range(list.start, list.end - 1):
        add_word(g, words[p])
        if not ((words[p] ^ words[p + 1]) & g.columns.rank_mask):
            continue
        n_levels += 1
        weight = g.medians.weight
        other = known.whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        left = middle_of_rows(g)
        if g.columns.directions != NULL and not is_in_order(
                g, left.median, after[p + 1 - list.start].median,
                0 if nominal else direction_of_place(g, best, list, p + 1)):
            continue
        consider(g, g.rules.criterion, False, left.loss + after[p + 1 - list.start].loss - whole.loss, 0.0,
                 n_levels if nominal else p + 1, known, best)
    remove_words(g, words, list.start, list.end)
    return n_tried


cdef inline int64_t judge_subsets_by_medians(Grower* g, const Stretch* list, const Known* known,
                                             Cut* best) noexcept nogil:
    """Cuts of the levels in the order of their mean target; `tabulate_groups` has found these."""
    cdef Stretch ordered = list[0]
    cdef int64_t i, group, n, place = 0
    order_groups(g, 0)
    for i in range(g.groups.n_groups):
        group = g.groups.order[i].group
        n = g.groups.start[group + 1] - g.groups.start[group]
        memcpy(g.medians.words + place, list.words + g.groups.start[group], n * sizeof(uint64_t))
        place += n
    ordered.words = g.medians.words
    ordered.start = 0
    ordered.end = place
    return walk_medians(g, True, &ordered, known, best)
