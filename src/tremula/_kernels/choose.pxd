"""Judges the attributes of a node and chooses the split."""

from libc.math cimport INFINITY, NAN, log2
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from tremula._kernels.criteria cimport (
    GAIN_RATIO, GINI, SYMMETRIC_UNCERTAINTY, Whole, gain_ratio, term_of, unit_of_worth, worth_of, x_log_x,
)
from tremula._kernels.grower cimport MEASURED, SUBSET_SPLIT, WEIGHTED, WIDE, Cut, Frame, Grower
from tremula._kernels.loose cimport add_first, gather_values, loose_list
from tremula._kernels.nodes cimport MULTIWAY_SPLIT, NUMERIC_SPLIT
from tremula._kernels.scan cimport (
    add_words, describe_whole, first_above, has_long_runs, judge_multiway, judge_subsets, load_counts, min_side,
    tabulate_groups, value_at, walk_counts, walk_gains, walk_gini, walk_targets, walk_weighted_gains,
    walk_weighted_runs, walk_weights, weight_of, within_of,
)


cdef inline int64_t draw_below(Grower* g, int64_t n) noexcept nogil:
    """A uniform whole number in [0, n): Lemire's multiplication, rejecting the uneven rest."""
    cdef uint64_t product = <uint64_t> g.random.next_uint32(g.random.state) * <uint64_t> n
    cdef uint64_t uneven
    if (product & 0xFFFFFFFFu) < <uint64_t> n:
        uneven = ((<uint64_t> 1 << 32) - <uint64_t> n) % <uint64_t> n
        while (product & 0xFFFFFFFFu) < uneven:
            product = <uint64_t> g.random.next_uint32(g.random.state) * <uint64_t> n
    return <int64_t> (product >> 32)


cdef inline void list_bounds(Grower* g, const Frame* frame, int64_t a, int64_t* start, int64_t* end) noexcept nogil:
    cdef int64_t slot = g.incomplete_slot[a]
    if slot < 0:
        start[0] = frame.start
        end[0] = frame.end
    else:
        start[0] = g.bounds[2 * slot]
        end[0] = g.bounds[2 * slot + 1]


cdef inline bint has_gathered_values(Grower* g, int64_t a) noexcept nogil:
    """Whether an attribute is judged by the values of the node's rows, in no order, instead of by a list."""
    return g.loose and g.rules.random_threshold and g.n_levels[g.attributes[a]] == 0


cdef inline uint64_t* list_of(Grower* g, const Frame* frame, int64_t a, int64_t* start, int64_t* end) noexcept nogil:
    """The list of an attribute in a node, and where in it the node's rows are."""
    if g.loose:
        start[0] = 0
        end[0] = frame.end - frame.start
        return loose_list(g, frame, a)
    list_bounds(g, frame, a, start, end)
    return g.lists[a]


# ---- one numeric attribute

cdef inline int64_t walk_counted(Grower* g, bint collect, bint by_runs, const uint64_t* words, int64_t start,
                                 int64_t end, const Whole* whole, Cut* best) noexcept nogil:
    """The walk for rows that are counted; the criterion is handed on as a constant so that each gets its own loop."""
    cdef int criterion = g.rules.criterion
    if collect:
        return walk_counts(g, criterion, True, words, start, end, whole, best)
    if criterion <= GAIN_RATIO:
        if criterion == GAIN_RATIO or min_side(g, whole.weight) > 1.0:
            if by_runs:
                return walk_gains(g, True, True, words, start, end, whole, best)
            return walk_gains(g, False, True, words, start, end, whole, best)
        if by_runs:
            return walk_gains(g, True, False, words, start, end, whole, best)
        return walk_gains(g, False, False, words, start, end, whole, best)
    if criterion == GINI:
        if by_runs:
            return walk_gini(g, True, words, start, end, whole, best)
        return walk_gini(g, False, words, start, end, whole, best)
    return walk_counts(g, SYMMETRIC_UNCERTAINTY, False, words, start, end, whole, best)


cdef inline int64_t walk(Grower* g, bint collect, const uint64_t* words, int64_t start, int64_t end,
                         const Whole* whole, const double* known, const double* known_terms, Cut* best) noexcept nogil:
    """The walk for the kind of rows."""
    cdef int criterion = g.rules.criterion
    cdef bint by_runs
    if g.rows_kind == MEASURED:
        return walk_targets(g, criterion, words, start, end, whole, known, best)
    by_runs = has_long_runs(g, words, start, end)
    if g.counted:
        return walk_counted(g, collect, by_runs, words, start, end, whole, best)
    if criterion <= GAIN_RATIO and not collect:
        if by_runs:
            return walk_weighted_runs(g, g.rows_kind == WIDE, words, start, end, whole, known, best)
        return walk_weighted_gains(g, g.rows_kind == WIDE, words, start, end, whole, known, known_terms, best)
    if g.rows_kind == WIDE:
        return walk_weights(g, criterion, collect, by_runs, True, words, start, end, whole, known, known_terms, best)
    if by_runs:
        return walk_weights(g, criterion, collect, True, False, words, start, end, whole, known, known_terms, best)
    return walk_weights(g, criterion, collect, False, False, words, start, end, whole, known, known_terms, best)


cdef inline double draw_threshold(Grower* g, double low, double high) noexcept nogil:
    """Extra trees: drawn uniformly between the least and the largest value in the node."""
    cdef double threshold = low + g.random.next_double(g.random.state) * (high - low)
    return threshold if threshold < high else low


cdef inline void judge_threshold(Grower* g, double threshold, int64_t place, const Whole* whole, const double* known,
                                 Cut* best) noexcept nogil:
    """Judge a drawn threshold whose first branch is in `left`."""
    cdef double weight = weight_of(g, g.left), other = whole.weight - weight, within
    cdef double least = min_side(g, whole.weight) - 1e-9
    cdef int64_t k
    for k in range(g.n_statistics):
        g.right_terms[k] = known[k] - g.left[k]
    if weight < least or other < least or other <= 0.0:
        return
    within = within_of(g, g.left, weight) + within_of(g, g.right_terms, other)
    best.branches = x_log_x(weight) + x_log_x(other)
    best.worth = worth_of(g.rules.criterion, within, best.branches, whole)
    best.threshold = threshold
    best.place = place


cdef inline void judge_drawn_threshold(Grower* g, const Frame* frame, int64_t attribute, const uint64_t* words,
                                       int64_t start, int64_t end, const Whole* whole, const double* known,
                                       Cut* best) noexcept nogil:
    """Without a list, from the gathered values; where the second branch starts is then found by `part_by_threshold`."""
    cdef double threshold
    cdef int64_t place = 0
    memset(g.left, 0, g.n_statistics * sizeof(double))
    if words == NULL:
        threshold = draw_threshold(g, g.loose_low, g.loose_high)
        add_first(g, frame, threshold, g.left)
    else:
        threshold = draw_threshold(g, value_at(g, words[start], attribute), value_at(g, words[end - 1], attribute))
        place = first_above(g, words, start, end, attribute, threshold)
        add_words(g, words, start, place, g.left)
    judge_threshold(g, threshold, place, whole, known, best)


cdef inline void pick_cut_by_ratio(Grower* g, const Whole* whole, Cut* best) noexcept nogil:
    """Before Release 8: the cut of largest gain ratio among those of at least average gain."""
    cdef double average = 0.0, ratio, best_ratio = 0.0
    cdef int64_t i
    for i in range(g.n_cuts):
        average += g.cuts[i].gain
    average /= g.n_cuts
    for i in range(g.n_cuts):
        if g.cuts[i].gain < average - g.rules.tolerance * whole.node_weight:
            continue
        ratio = gain_ratio(g.cuts[i].gain, g.cuts[i].branches, whole)
        if best.place < 0 or ratio > best_ratio + g.rules.tolerance:
            best_ratio = ratio
            best.worth = g.cuts[i].gain
            best.branches = g.cuts[i].branches
            best.place = g.cuts[i].place


# ---- ranking

cdef inline void offer(Grower* g, const Cut* cut) noexcept nogil:
    """Keep the cut if it is among the n best so far."""
    cdef int64_t i, worst = 0
    if g.n_candidates < g.rules.n_best:
        g.candidates[g.n_candidates] = cut[0]
        g.n_candidates += 1
        return
    for i in range(1, g.n_candidates):
        if g.candidates[i].worth < g.candidates[worst].worth:
            worst = i
    if cut.worth > g.candidates[worst].worth:
        g.candidates[worst] = cut[0]


cdef inline void offer_if_allowed(Grower* g, const Cut* cut, const Whole* whole) noexcept nogil:
    """A gain of nothing is allowed, and may come out below it by rounding."""
    if cut.gain >= -1e-9 * whole.node_weight and cut.gain >= g.least_gain:
        offer(g, cut)


cdef inline void offer_all_cuts(Grower* g, const Cut* template, double cost, const Whole* whole) noexcept nogil:
    """Randomized C4.5: each threshold is a candidate of its own, if its gain ratio is not negative."""
    cdef int64_t i
    cdef Cut cut = template[0]
    for i in range(g.n_cuts):
        cut.gain = g.cuts[i].gain - cost
        cut.place = g.cuts[i].place
        cut.worth = gain_ratio(cut.gain, g.cuts[i].branches, whole) if g.rules.criterion == GAIN_RATIO else cut.gain
        offer_if_allowed(g, &cut, whole)


cdef inline void rank_with_missing_spread(Grower* g, const uint64_t* words, int64_t start, int64_t end,
                                          const double* statistics, const double* known, const Whole* whole,
                                          Cut* best) noexcept nogil:
    """REPTree: what the chosen cut is worth once the missing rows are spread over its branches."""
    cdef int64_t group, k, n_branches = g.n_groups
    cdef double share, weight, within = 0.0, branches = 0.0
    cdef double* branch
    if best.kind == NUMERIC_SPLIT:
        n_branches = 2
        memset(g.group_statistics, 0, 2 * g.n_statistics * sizeof(double))
        add_words(g, words, start, best.place, g.group_statistics)
        for k in range(g.n_statistics):
            g.group_statistics[g.n_statistics + k] = known[k] - g.group_statistics[k]
    for group in range(n_branches):
        branch = g.group_statistics + group * g.n_statistics
        share = weight_of(g, branch) / whole.weight
        for k in range(g.n_statistics):
            branch[k] += share * (statistics[k] - known[k])
        weight = weight_of(g, branch)
        within += within_of(g, branch, weight)
        branches += x_log_x(weight)
    best.worth = worth_of(g.rules.criterion, within, branches, &g.node_whole)


cdef inline void settle(Grower* g, const Whole* whole, int64_t n_tried, Cut* best) noexcept nogil:
    """From the worth of the best cut of an attribute to that of the attribute."""
    best.gain = best.worth
    if g.rules.criterion != GAIN_RATIO:
        return
    if best.kind == NUMERIC_SPLIT:
        if g.rules.count_cuts:
            best.gain -= log2(<double> n_tried)
        if best.gain <= g.rules.tolerance * whole.node_weight:
            best.attribute = -1
    best.worth = gain_ratio(best.gain, best.branches, whole)


cdef inline void judge_attribute(Grower* g, const Frame* frame, const double* statistics, int64_t a, uint64_t* words,
                                 int64_t start, int64_t end) noexcept nogil:
    """Put the best split on one attribute among the candidates."""
    cdef int64_t attribute = g.attributes[a], n_tried = 0, k
    cdef bint nominal = g.n_levels[attribute] > 0
    cdef bint collect = not nominal and g.rows_kind != MEASURED and (g.offers_all or g.rules.cut_by_ratio)
    cdef Whole whole = g.node_whole
    cdef const double* known = statistics
    cdef const double* known_terms = g.node_terms
    cdef Cut best
    best.attribute = <int32_t> a
    best.kind = NUMERIC_SPLIT if not nominal else (SUBSET_SPLIT if g.rules.subsets else MULTIWAY_SPLIT)
    best.place = -1
    best.worth = g.worth_to_beat
    best.threshold = NAN
    if end - start < frame.end - frame.start:
        memset(g.known, 0, g.n_statistics * sizeof(double))
        add_words(g, words, start, end, g.known)
        describe_whole(g, g.known, g.node_whole.node_weight, &whole)
        known = g.known
        if g.counted:
            load_counts(g, known)
        elif g.rows_kind == WEIGHTED or g.rows_kind == WIDE:
            for k in range(g.n_classes):
                g.known[g.n_statistics + k] = term_of(g.rules.criterion, g.known[k])
            known_terms = g.known + g.n_statistics
    g.n_cuts = 0
    if nominal:
        tabulate_groups(g, words, start, end)
        if g.rules.subsets:
            n_tried = judge_subsets(g, known, &whole, &best)
        else:
            judge_multiway(g, &whole, &best)
    elif g.rules.random_threshold:
        judge_drawn_threshold(g, frame, attribute, words, start, end, &whole, known, &best)
    else:
        n_tried = walk(g, collect, words, start, end, &whole, known, known_terms, &best)
    if g.counted and known != statistics:
        load_counts(g, statistics)
    if collect and g.offers_all:
        if n_tried > 0:
            offer_all_cuts(g, &best, log2(<double> n_tried) if g.rules.count_cuts else 0.0, &whole)
        return
    if collect and n_tried > 0:
        pick_cut_by_ratio(g, &whole, &best)
    if best.place < 0:
        return
    settle(g, &whole, n_tried, &best)
    if best.attribute < 0:
        return
    if g.rules.spread_missing and known != statistics:
        rank_with_missing_spread(g, words, start, end, statistics, known, &whole, &best)
    if g.offers_all:
        offer_if_allowed(g, &best, &whole)
    else:
        g.candidates[g.n_candidates] = best
        g.n_candidates += 1
        if g.only_best and best.worth > g.worth_to_beat:
            g.worth_to_beat = best.worth


# ---- choosing

cdef inline double least_gain_allowed(Grower* g) noexcept nogil:
    """C4.5: the average gain of the attributes, but for a margin; those of very many levels count if all are such."""
    cdef int64_t i, n = 0
    cdef double average = 0.0, limit = 0.3 * g.total_weight
    cdef bint all_many = True
    for i in range(g.n_attributes):
        if not (g.n_levels[g.attributes[i]] >= limit):
            all_many = False
    for i in range(g.n_candidates):
        if all_many or g.n_levels[g.attributes[g.candidates[i].attribute]] < limit:
            average += g.candidates[i].gain
            n += 1
    return average / n - 1e-3 * g.node_whole.node_weight if n > 0 else INFINITY


cdef inline int64_t choose_by_average_gain(Grower* g) noexcept nogil:
    """C4.5: the best gain ratio among attributes whose gain is at least average."""
    cdef int64_t i, chosen = -1
    cdef double least_gain = least_gain_allowed(g), best = 0.0
    for i in range(g.n_candidates):
        if g.candidates[i].gain >= least_gain and g.candidates[i].worth > best + g.rules.tolerance:
            best = g.candidates[i].worth
            chosen = i
    return chosen


cdef inline int64_t choose_best(Grower* g) noexcept nogil:
    cdef int64_t i, chosen = -1
    cdef double unit = unit_of_worth(g.rules.criterion, g.node_whole.node_weight)
    cdef double slack
    if g.rules.criterion == GAIN_RATIO:                 # attributes, unlike cuts, are compared by the ratio
        unit = 1.0
    slack = g.rules.tolerance * unit
    for i in range(g.n_candidates):
        if chosen < 0 or g.candidates[i].worth > g.candidates[chosen].worth + slack:
            chosen = i
    if chosen >= 0 and not (g.candidates[chosen].worth > g.rules.min_worth * unit):
        return -1
    return chosen


cdef inline bint look_at(Grower* g, const Frame* frame, const double* statistics, int64_t a) noexcept nogil:
    """Judge an attribute, unless it is constant in the node."""
    cdef int64_t start = 0, end = frame.end - frame.start
    cdef uint64_t* words = NULL
    if has_gathered_values(g, a):
        if not gather_values(g, frame, g.attributes[a], &g.loose_low, &g.loose_high):
            return False
    else:
        words = list_of(g, frame, a, &start, &end)
        if end - start < 2 or not ((words[start] ^ words[end - 1]) & g.rank_mask):
            return False
    judge_attribute(g, frame, statistics, a, words, start, end)
    return True


cdef inline int64_t draw_attributes(Grower* g, const Frame* frame, const double* statistics) noexcept nogil:
    """Judge as many attributes as are to be drawn; where those begin in `order` that were looked at."""
    cdef int64_t remaining = g.n_attributes, drawn = 0, a, i
    while remaining > 0 and drawn < g.rules.n_drawn:
        i = draw_below(g, remaining)
        a = g.order[i]
        remaining -= 1
        g.order[i] = g.order[remaining]
        g.order[remaining] = a
        drawn += look_at(g, frame, statistics, a)
    return remaining


cdef inline void judge_attributes(Grower* g, const Frame* frame, const double* statistics,
                                  int64_t first) noexcept nogil:
    cdef int64_t i
    for i in range(first, g.n_attributes):
        look_at(g, frame, statistics, g.order[i])


cdef inline int64_t choose_split(Grower* g, const Frame* frame, const double* statistics) noexcept nogil:
    """Judge the attributes of a node (all, or as many as are to be drawn); the chosen candidate or -1."""
    cdef int64_t first = 0
    g.n_candidates = 0
    g.worth_to_beat = -INFINITY
    g.least_gain = -INFINITY
    g.offers_all = g.rules.n_best > 1 and not g.rules.average_gain
    if g.rules.n_drawn < g.n_attributes:
        first = draw_attributes(g, frame, statistics)
    else:
        judge_attributes(g, frame, statistics, 0)
    if g.rules.n_best > 1 and g.rules.average_gain:     # the average is known only now
        g.least_gain = least_gain_allowed(g)
        g.n_candidates = 0
        g.offers_all = True
        judge_attributes(g, frame, statistics, first)
    if g.rules.n_best > 1:
        return draw_below(g, g.n_candidates) if g.n_candidates > 0 else -1
    if g.rules.average_gain:
        return choose_by_average_gain(g)
    return choose_best(g)
