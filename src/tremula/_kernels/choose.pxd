"""Judges the attributes of a node and chooses the split."""

from libc.math cimport INFINITY, NAN, log2
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from tremula._kernels.columns cimport first_above, value_at
from tremula._kernels.criteria cimport ABSOLUTE_ERROR, GAIN_RATIO, gain_ratio, unit_of_worth, worth_of, x_log_x
from tremula._kernels.grower cimport MEASURED, SUBSET_SPLIT, Cut, Frame, Grower, Known, Middle, Stretch
from tremula._kernels.lists cimport has_gathered_values, is_constant, list_of
from tremula._kernels.medians cimport judge_subsets_by_medians, middle_of_words
from tremula._kernels.monotonic cimport direction_of_threshold, is_in_order
from tremula._kernels.nodes cimport MULTIWAY_SPLIT, NUMERIC_SPLIT
from tremula._kernels.nominal cimport judge_levels, judge_multiway, judge_subsets, tabulate_groups
from tremula._kernels.statistics cimport add_words, load_counts, narrow_to_known, weight_of, within_of
from tremula._kernels.unsorted cimport add_first, gather_values
from tremula._kernels.walks cimport walk
from tremula._kernels.walks_items cimport items_of, walk_items, walks_items
from tremula._kernels.walks_statistics cimport is_allowed


cdef inline int64_t draw_below(Grower* g, int64_t n) noexcept nogil:
    """A uniform whole number in [0, n): Lemire's multiplication, rejecting the uneven rest."""
    cdef uint64_t product = <uint64_t> g.search.random.next_uint32(g.search.random.state) * <uint64_t> n
    cdef uint64_t uneven
    if (product & 0xFFFFFFFFu) < <uint64_t> n:
        uneven = ((<uint64_t> 1 << 32) - <uint64_t> n) % <uint64_t> n
        while (product & 0xFFFFFFFFu) < uneven:
            product = <uint64_t> g.search.random.next_uint32(g.search.random.state) * <uint64_t> n
    return <int64_t> (product >> 32)


# ---- drawn thresholds

cdef inline double draw_threshold(Grower* g, double low, double high) noexcept nogil:
    """Extra trees: drawn uniformly between the least and the largest value in the node."""
    cdef double threshold = low + g.search.random.next_double(g.search.random.state) * (high - low)
    return threshold if threshold < high else low


cdef inline bint judge_sides_by_medians(Grower* g, const Stretch* list, int64_t place, int direction,
                                        double* within) noexcept nogil:
    """What a drawn threshold leaves of the absolute error; False if it does not keep the constraints."""
    cdef Middle first = middle_of_words(g, list.words, list.start, place)
    cdef Middle second = middle_of_words(g, list.words, place, list.end)
    within[0] = first.loss + second.loss - middle_of_words(g, list.words, list.start, list.end).loss
    return g.columns.directions == NULL or is_in_order(g, first.median, second.median, direction)


cdef inline void judge_threshold(Grower* g, double threshold, const Stretch* list, int64_t place, const Known* known,
                                 Cut* best) noexcept nogil:
    """Judge a drawn threshold whose first branch is in `walk.left`."""
    cdef double weight = weight_of(g, g.walk.left), other = known.whole.weight - weight, within
    cdef double least = known.min_side - 1e-9
    cdef int direction = 0
    cdef int64_t k
    for k in range(g.rows.n_statistics):
        g.walk.right_terms[k] = known.statistics[k] - g.walk.left[k]
    if weight < least or other < least or other <= 0.0:
        return
    if g.columns.directions != NULL:
        direction = direction_of_threshold(g, best, threshold)
    if g.rules.criterion == ABSOLUTE_ERROR:
        if not judge_sides_by_medians(g, list, place, direction, &within):
            return
    else:
        if not is_allowed(g, known, g.walk.left, g.walk.right_terms, direction):
            return
        within = within_of(g, g.walk.left, weight) + within_of(g, g.walk.right_terms, other)
    best.branches = x_log_x(weight) + x_log_x(other)
    best.worth = worth_of(g.rules.criterion, within, best.branches, &known.whole)
    best.threshold = threshold
    best.place = place


cdef inline void judge_drawn_threshold(Grower* g, const Frame* frame, const Stretch* list, const Known* known,
                                       Cut* best) noexcept nogil:
    """Without a list, from the gathered values; `part_by_threshold` finds later where the second branch starts."""
    cdef double threshold
    cdef int64_t place = 0
    memset(g.walk.left, 0, g.rows.n_statistics * sizeof(double))
    if list.words == NULL:
        threshold = draw_threshold(g, g.unsorted.low, g.unsorted.high)
        add_first(g, frame, threshold, g.walk.left)
    else:
        threshold = draw_threshold(g, value_at(g, list.words[list.start], list.attribute),
                                   value_at(g, list.words[list.end - 1], list.attribute))
        place = first_above(g, list.words, list.start, list.end, list.attribute, threshold)
        add_words(g, list.words, list.start, place, g.walk.left)
    judge_threshold(g, threshold, list, place, known, best)


# ---- from cuts to candidates

cdef inline void pick_cut_by_ratio(Grower* g, const Known* known, Cut* best) noexcept nogil:
    """Before Release 8: the cut of largest gain ratio among those of at least average gain."""
    cdef double average = 0.0, ratio, best_ratio = 0.0
    cdef int64_t i
    for i in range(g.walk.n_cuts):
        average += g.walk.cuts[i].gain
    average /= g.walk.n_cuts
    for i in range(g.walk.n_cuts):
        if g.walk.cuts[i].gain < average - g.rules.tolerance * known.whole.node_weight:
            continue
        ratio = gain_ratio(g.walk.cuts[i].gain, g.walk.cuts[i].branches, &known.whole)
        if best.place < 0 or ratio > best_ratio + g.rules.tolerance:
            best_ratio = ratio
            best.worth = g.walk.cuts[i].gain
            best.branches = g.walk.cuts[i].branches
            best.place = g.walk.cuts[i].place


cdef inline void offer(Grower* g, const Cut* cut) noexcept nogil:
    """Keep the cut if it is among the n best so far."""
    cdef int64_t i, worst = 0
    if g.search.n_candidates < g.rules.n_best:
        g.search.candidates[g.search.n_candidates] = cut[0]
        g.search.n_candidates += 1
        return
    for i in range(1, g.search.n_candidates):
        if g.search.candidates[i].worth < g.search.candidates[worst].worth:
            worst = i
    if cut.worth > g.search.candidates[worst].worth:
        g.search.candidates[worst] = cut[0]


cdef inline void offer_if_allowed(Grower* g, const Cut* cut, const Known* known) noexcept nogil:
    """A gain of nothing is allowed, and may come out below it by rounding."""
    if cut.gain >= -1e-9 * known.whole.node_weight and cut.gain >= g.search.least_gain:
        offer(g, cut)


cdef inline void offer_all_cuts(Grower* g, const Cut* template, double cost, const Known* known) noexcept nogil:
    """Randomized C4.5: each threshold is a candidate of its own, if its gain ratio is not negative."""
    cdef int64_t i
    cdef Cut cut = template[0]
    for i in range(g.walk.n_cuts):
        cut.gain = g.walk.cuts[i].gain - cost
        cut.place = g.walk.cuts[i].place
        cut.worth = cut.gain
        if g.rules.criterion == GAIN_RATIO:
            cut.worth = gain_ratio(cut.gain, g.walk.cuts[i].branches, &known.whole)
        offer_if_allowed(g, &cut, known)


cdef inline void rank_with_missing_spread(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """REPTree: what the chosen cut is worth once the missing rows are spread over its branches."""
    cdef const double* statistics = g.node.known.statistics
    cdef int64_t group, k, n_branches = g.groups.n_groups
    cdef double share, weight, within = 0.0, branches = 0.0
    cdef double* branch
    if best.kind == NUMERIC_SPLIT:
        n_branches = 2
        memset(g.groups.statistics, 0, 2 * g.rows.n_statistics * sizeof(double))
        add_words(g, list.words, list.start, best.place, g.groups.statistics)
        for k in range(g.rows.n_statistics):
            g.groups.statistics[g.rows.n_statistics + k] = known.statistics[k] - g.groups.statistics[k]
    for group in range(n_branches):
        branch = g.groups.statistics + group * g.rows.n_statistics
        share = weight_of(g, branch) / known.whole.weight
        for k in range(g.rows.n_statistics):
            branch[k] += share * (statistics[k] - known.statistics[k])
        weight = weight_of(g, branch)
        within += within_of(g, branch, weight)
        branches += x_log_x(weight)
    best.worth = worth_of(g.rules.criterion, within, branches, &g.node.known.whole)


cdef inline void settle(Grower* g, const Known* known, int64_t n_tried, Cut* best) noexcept nogil:
    """From the worth of the best cut of an attribute to that of the attribute."""
    best.gain = best.worth
    if g.rules.criterion != GAIN_RATIO:
        return
    if best.kind == NUMERIC_SPLIT:
        if g.rules.count_cuts:
            best.gain -= log2(<double> n_tried)
        if best.gain <= g.rules.tolerance * known.whole.node_weight:
            best.attribute = -1
    best.worth = gain_ratio(best.gain, best.branches, &known.whole)


cdef inline Cut no_cut_yet(Grower* g, int64_t a) noexcept nogil:
    """What the cuts of an attribute must beat."""
    cdef Cut best
    cdef bint nominal = g.columns.n_levels[g.columns.attributes[a]] > 0
    best.attribute = <int32_t> a
    best.kind = NUMERIC_SPLIT if not nominal else (SUBSET_SPLIT if g.rules.subsets else MULTIWAY_SPLIT)
    best.place = -1
    best.worth = g.search.worth_to_beat
    best.threshold = NAN
    return best


cdef inline int64_t judge_cuts(Grower* g, const Frame* frame, bint collect, const Stretch* list, const Known* known,
                               Cut* best) noexcept nogil:
    """Find the best cut of an attribute, or keep every cut if `collect`; returns the number of cuts tried."""
    if best.kind != NUMERIC_SPLIT:
        tabulate_groups(g, list)
        if best.kind == SUBSET_SPLIT and g.rules.criterion == ABSOLUTE_ERROR:
            return judge_subsets_by_medians(g, list, known, best)
        if best.kind == SUBSET_SPLIT and g.rules.one_level:
            return judge_levels(g, known, best)
        if best.kind == SUBSET_SPLIT:
            return judge_subsets(g, known, best)
        judge_multiway(g, known, best)
        return 0
    if g.rules.random_threshold:
        judge_drawn_threshold(g, frame, list, known, best)
        return 0
    if list.words == NULL:
        return walk_items(g, list, known, best)
    return walk(g, collect, list, known, best)


cdef inline void add_candidate(Grower* g, const Cut* best, const Known* known) noexcept nogil:
    """The best cut of an attribute becomes a candidate."""
    if g.search.offers_all:
        offer_if_allowed(g, best, known)
        return
    g.search.candidates[g.search.n_candidates] = best[0]
    g.search.n_candidates += 1
    if g.search.only_best and best.worth > g.search.worth_to_beat:
        g.search.worth_to_beat = best.worth


cdef inline void judge_attribute(Grower* g, const Frame* frame, int64_t a, const Stretch* list) noexcept nogil:
    """Put the best split on one attribute among the candidates."""
    cdef bint is_incomplete = list.end - list.start < frame.end - frame.start, collect
    cdef int64_t n_tried
    cdef Known known = g.node.known
    cdef Cut best = no_cut_yet(g, a)
    collect = (best.kind == NUMERIC_SPLIT and g.rows.kind != MEASURED
               and (g.search.offers_all or g.rules.cut_by_ratio))
    if is_incomplete:
        narrow_to_known(g, list, &known)
    g.walk.n_cuts = 0
    n_tried = judge_cuts(g, frame, collect, list, &known, &best)
    if g.node.counted and is_incomplete:
        load_counts(g, g.node.known.statistics)
    if collect and g.search.offers_all:
        if n_tried > 0:
            offer_all_cuts(g, &best, log2(<double> n_tried) if g.rules.count_cuts else 0.0, &known)
        return
    if collect and n_tried > 0:
        pick_cut_by_ratio(g, &known, &best)
    if best.place < 0:
        return
    settle(g, &known, n_tried, &best)
    if best.attribute < 0:
        return
    if g.rules.spread_missing and is_incomplete:
        rank_with_missing_spread(g, list, &known, &best)
    add_candidate(g, &best, &known)


# ---- choosing

cdef inline double least_gain_allowed(Grower* g) noexcept nogil:
    """C4.5: the average gain of the attributes, but for a margin; those of very many levels count if all are such."""
    cdef int64_t i, n = 0
    cdef double average = 0.0, limit = 0.3 * g.rows.total_weight
    cdef bint all_many = True
    for i in range(g.columns.n_attributes):
        if not (g.columns.n_levels[g.columns.attributes[i]] >= limit):
            all_many = False
    for i in range(g.search.n_candidates):
        if all_many or g.columns.n_levels[g.columns.attributes[g.search.candidates[i].attribute]] < limit:
            average += g.search.candidates[i].gain
            n += 1
    return average / n - 1e-3 * g.node.known.whole.node_weight if n > 0 else INFINITY


cdef inline int64_t choose_by_average_gain(Grower* g) noexcept nogil:
    """C4.5: the best gain ratio among attributes whose gain is at least average."""
    cdef int64_t i, chosen = -1
    cdef double least_gain = least_gain_allowed(g), best = 0.0
    for i in range(g.search.n_candidates):
        if g.search.candidates[i].gain >= least_gain and g.search.candidates[i].worth > best + g.rules.tolerance:
            best = g.search.candidates[i].worth
            chosen = i
    return chosen


cdef inline int64_t choose_best(Grower* g) noexcept nogil:
    cdef int64_t i, chosen = -1
    cdef double unit = unit_of_worth(g.rules.criterion, g.node.known.whole.node_weight)
    cdef double slack
    if g.rules.criterion == GAIN_RATIO:                 # attributes, unlike cuts, are compared by the ratio
        unit = 1.0
    slack = g.rules.tolerance * unit
    for i in range(g.search.n_candidates):
        if chosen < 0 or g.search.candidates[i].worth > g.search.candidates[chosen].worth + slack:
            chosen = i
    if chosen >= 0 and not (g.search.candidates[chosen].worth > g.rules.min_worth * unit):
        return -1
    return chosen


cdef inline void judge_drawn_place(Grower* g, int64_t a, double threshold, const Stretch* list,
                                   int64_t place) noexcept nogil:
    """Put a drawn cut among the candidates, if both of its sides are heavy enough."""
    cdef Cut cut = no_cut_yet(g, a)
    memset(g.walk.left, 0, g.rows.n_statistics * sizeof(double))
    add_words(g, list.words, list.start, place, g.walk.left)
    judge_threshold(g, threshold, list, place, &g.node.known, &cut)
    if cut.place < 0:
        return
    settle(g, &g.node.known, 0, &cut)
    if cut.attribute >= 0:
        add_candidate(g, &cut, &g.node.known)


cdef inline void judge_drawn_with_missing(Grower* g, const Frame* frame, int64_t a, const Stretch* list) noexcept nogil:
    """Extra trees: missing values alone against the others, and on either side of a drawn threshold."""
    cdef int64_t known = first_above(g, list.words, list.start, list.end, list.attribute, -INFINITY)
    cdef double low = value_at(g, list.words[known], list.attribute)
    cdef double high = value_at(g, list.words[list.end - 1], list.attribute), threshold
    cdef Stretch twin
    judge_drawn_place(g, a, -INFINITY, list, known)
    if not low < high:
        return
    threshold = draw_threshold(g, low, high)
    judge_drawn_place(g, a, threshold, list, first_above(g, list.words, known, list.end, list.attribute, threshold))
    twin = list_of(g, frame, g.columns.twins[a])
    judge_drawn_place(g, g.columns.twins[a], threshold, &twin,
                      first_above(g, twin.words, twin.start, twin.end, twin.attribute, threshold))


cdef inline bint has_missing_row(Grower* g, int64_t a, const Stretch* list) noexcept nogil:
    """Whether a row of the node has no value of an attribute that has a twin: it comes first in the list."""
    return g.columns.twins[a] >= 0 and value_at(g, list.words[list.start], list.attribute) == -INFINITY


cdef inline bint look_at(Grower* g, const Frame* frame, int64_t a) noexcept nogil:
    """Judge an attribute, unless it is constant in the node; with missing values, its twin too."""
    cdef Stretch list
    cdef int64_t place = a
    cdef bint has_missing
    if g.node.constant[a]:
        return False
    if has_gathered_values(g, a):
        list = Stretch(NULL, 0, frame.end - frame.start, g.columns.attributes[a])
        if not gather_values(g, frame, list.attribute):
            g.node.constant[a] = True
            return False
    elif walks_items(g, a):
        list = items_of(g, frame, a)
    else:
        list = list_of(g, frame, a)
        if is_constant(g, &list):
            g.node.constant[a] = True
            return False
    has_missing = has_missing_row(g, a, &list)
    if has_missing and g.rules.random_threshold:
        judge_drawn_with_missing(g, frame, a, &list)
        return True
    while True:                     # once or twice: one call is compiled once
        judge_attribute(g, frame, place, &list)
        if not has_missing:
            return True
        has_missing = False
        place = g.columns.twins[a]
        list = list_of(g, frame, place)


cdef inline int64_t draw_attributes(Grower* g, const Frame* frame) noexcept nogil:
    """Judge as many attributes as are to be drawn; returns where the attributes looked at begin in `order`."""
    cdef int64_t remaining = g.columns.n_judged, drawn = 0, a, i
    while remaining > 0 and drawn < g.rules.n_drawn:
        i = draw_below(g, remaining)
        a = g.search.order[i]
        remaining -= 1
        g.search.order[i] = g.search.order[remaining]
        g.search.order[remaining] = a
        drawn += look_at(g, frame, a)
    return remaining


cdef inline void judge_attributes(Grower* g, const Frame* frame, int64_t first) noexcept nogil:
    cdef int64_t i
    for i in range(first, g.columns.n_judged):
        look_at(g, frame, g.search.order[i])


cdef inline int64_t choose_split(Grower* g, const Frame* frame) noexcept nogil:
    """Judge the attributes of a node (all, or as many as are to be drawn); the chosen candidate or -1."""
    cdef int64_t first = 0
    g.search.n_candidates = 0
    g.search.worth_to_beat = -INFINITY
    g.search.least_gain = -INFINITY
    g.search.offers_all = g.rules.n_best > 1 and not g.rules.average_gain
    if g.rules.n_drawn < g.columns.n_judged:
        first = draw_attributes(g, frame)
    else:
        judge_attributes(g, frame, 0)
    if g.rules.n_best > 1 and g.rules.average_gain:     # the average is known only now
        g.search.least_gain = least_gain_allowed(g)
        g.search.n_candidates = 0
        g.search.offers_all = True
        judge_attributes(g, frame, first)
    if g.rules.n_best > 1:
        return draw_below(g, g.search.n_candidates) if g.search.n_candidates > 0 else -1
    if g.rules.average_gain:
        return choose_by_average_gain(g)
    return choose_best(g)
