"""Nominal attributes: the levels in a node are tabulated first and judged from the table."""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from tremula._kernels.criteria cimport worth_of, x_log_x
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport MEASURED, Cut, Grower, GroupKey, Known, Stretch
from tremula._kernels.statistics cimport add_words, weight_of, within_of
from tremula._kernels.targets cimport has_several
from tremula._kernels.walks_statistics cimport is_allowed


cdef inline void tabulate_groups(Grower* g, const Stretch* list) noexcept nogil:
    """Statistics of every level present; group i is the stretch of the list from `start[i]` to `start[i + 1]`."""
    cdef const uint64_t* words = list.words
    cdef int64_t p = list.start, end = list.end, first
    g.groups.n_groups = 0
    while p < end:
        first = p
        while p < end and not ((words[p] ^ words[first]) & g.columns.rank_mask):
            p += 1
        memset(g.groups.statistics + g.groups.n_groups * g.rows.n_statistics, 0, g.rows.n_statistics * sizeof(double))
        add_words(g, words, first, p, g.groups.statistics + g.groups.n_groups * g.rows.n_statistics)
        g.groups.start[g.groups.n_groups] = first
        g.groups.n_groups += 1
    g.groups.start[g.groups.n_groups] = end


cdef inline void judge_multiway(Grower* g, const Known* known, Cut* best) noexcept nogil:
    """One branch for every level."""
    cdef int64_t group, n_heavy = 0
    cdef double within = 0.0, branches = 0.0, weight
    cdef const double* statistics
    for group in range(g.groups.n_groups):
        statistics = g.groups.statistics + group * g.rows.n_statistics
        weight = weight_of(g, statistics)
        n_heavy += weight >= g.rules.min_branch_weight - 1e-9
        within += within_of(g, statistics, weight)
        branches += x_log_x(weight)
    if n_heavy < 2 and not g.rules.branch_veto:
        return
    best.worth = worth_of(g.rules.criterion, within, branches, &known.whole)
    best.branches = branches
    best.place = 0


cdef inline int by_key(const void* a, const void* b) noexcept nogil:
    cdef const GroupKey* x = <const GroupKey*> a
    cdef const GroupKey* y = <const GroupKey*> b
    if x.key != y.key:
        return 1 if x.key > y.key else -1
    return 1 if x.group > y.group else -1


cdef inline void order_groups(Grower* g, int64_t code) noexcept nogil:
    """Levels by the share of class `code`, by the mean target, or by that of the output `code` of several targets."""
    cdef int64_t group, place
    cdef GroupKey item
    cdef const double* statistics
    for group in range(g.groups.n_groups):
        statistics = g.groups.statistics + group * g.rows.n_statistics
        g.groups.order[group].group = group
        if g.rows.kind == MEASURED:
            g.groups.order[group].key = statistics[1] / statistics[0]
        elif has_several(g):
            g.groups.order[group].key = statistics[1 + code] / statistics[0]
        else:
            g.groups.order[group].key = statistics[code] / weight_of(g, statistics)
    if g.groups.n_groups > 32:
        qsort(g.groups.order, g.groups.n_groups, sizeof(GroupKey), by_key)
        return
    for group in range(1, g.groups.n_groups):
        item = g.groups.order[group]
        place = group
        while place > 0 and g.groups.order[place - 1].key > item.key:
            g.groups.order[place] = g.groups.order[place - 1]
            place -= 1
        g.groups.order[place] = item


cdef inline int64_t judge_levels(Grower* g, const Known* known, Cut* best) noexcept nogil:
    """Each level against all others; the place of a cut is the group of the level."""
    cdef int64_t group, k, n_tried = 0
    cdef double weight, other, within
    cdef double least = known.min_side - 1e-9
    cdef const double* statistics
    for group in range(g.groups.n_groups):
        statistics = g.groups.statistics + group * g.rows.n_statistics
        for k in range(g.rows.n_statistics):
            g.walk.right_terms[k] = known.statistics[k] - statistics[k]
        weight = weight_of(g, statistics)
        other = known.whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        if not is_allowed(g, known, statistics, g.walk.right_terms, 0):
            continue
        within = within_of(g, statistics, weight) + within_of(g, g.walk.right_terms, other)
        consider(g, g.rules.criterion, False, within, x_log_x(weight) + x_log_x(other), group, known, best)
    return n_tried


cdef inline int64_t judge_subsets(Grower* g, const Known* known, Cut* best) noexcept nogil:
    """Cuts of the levels in the order of one class's share; with more than two classes, of each class in turn.

    With several targets the levels are ordered by each class of each target, or by each number, in turn.

    The place of a cut is `code * n_groups + number of levels in the first branch`.
    """
    cdef int64_t n_orders = g.rows.n_classes if g.rows.kind != MEASURED and g.rows.n_classes > 2 else 1
    cdef int64_t code, i, k, n_tried = 0
    cdef double weight, other, within
    cdef double least = known.min_side - 1e-9
    cdef const double* statistics
    if has_several(g):
        n_orders = g.targets.n_outputs
    for code in range(n_orders):
        order_groups(g, code)
        memset(g.walk.left, 0, g.rows.n_statistics * sizeof(double))
        for i in range(g.groups.n_groups - 1):
            statistics = g.groups.statistics + g.groups.order[i].group * g.rows.n_statistics
            for k in range(g.rows.n_statistics):
                g.walk.left[k] += statistics[k]
                g.walk.right_terms[k] = known.statistics[k] - g.walk.left[k]
            weight = weight_of(g, g.walk.left)
            other = known.whole.weight - weight
            if weight < least or other < least or other <= 0.0:
                continue
            n_tried += 1
            if not is_allowed(g, known, g.walk.left, g.walk.right_terms, 0):
                continue
            within = within_of(g, g.walk.left, weight) + within_of(g, g.walk.right_terms, other)
            consider(g, g.rules.criterion, False, within, x_log_x(weight) + x_log_x(other),
                     code * g.groups.n_groups + i + 1, known, best)
    return n_tried
