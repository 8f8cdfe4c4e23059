"""Walks over the sorted list of a numeric attribute, for WEIGHTED and WIDE rows: classes with real weights."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from tremula._kernels.criteria cimport Whole, is_information, term_of, x_log_x, x_log_x_of_many
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch
from tremula._kernels.statistics cimport code_of, word_weight

cdef enum:
    BLOCK = 64              # stops whose logarithms are taken together
    CUTS_OF_RUNS = 16       # cuts between runs, likewise


# After row p is read, `left` has the weight of every class left of a cut behind it, `weight` their sum, and `left_sum`
# and `right_sum` the sums over classes of the criterion's term of the weights left and right. Unless `by_runs`, only
# the terms of the row's own class are renewed: two a row, whatever the number of classes.

cdef inline int64_t walk_weighted_terms(Grower* g, int criterion, bint collect, bint by_runs, bint wide,
                                        const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Any criterion, and every cut kept if `collect`; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const double* class_weights = known.statistics
    cdef double least = known.min_side - 1e-9
    cdef double weight = 0.0, other, right, term, row_weight, left_sum = 0.0, right_sum = whole.within
    cdef int64_t p, code, n_tried = 0, n_classes = g.rows.n_classes
    cdef uint64_t word, next_word, rank_mask = g.columns.rank_mask
    cdef double* left = g.walk.left
    if not is_information(criterion):
        right_sum *= whole.weight
    memset(left, 0, n_classes * sizeof(double))
    memset(g.walk.left_terms, 0, n_classes * sizeof(double))
    memcpy(g.walk.right_terms, known.terms, n_classes * sizeof(double))
    next_word = words[list.start]
    for p in range(list.start, list.end - 1):
        word = next_word
        next_word = words[p + 1]
        code = code_of(g, wide, word)
        row_weight = word_weight(g, wide, word)
        left[code] += row_weight
        weight += row_weight
        if not by_runs:
            term = term_of(criterion, left[code])
            left_sum += term - g.walk.left_terms[code]
            g.walk.left_terms[code] = term
            right = class_weights[code] - left[code]
            term = term_of(criterion, right) if right > 0.0 else 0.0
            right_sum += term - g.walk.right_terms[code]
            g.walk.right_terms[code] = term
        if not ((word ^ next_word) & rank_mask):
            continue
        if by_runs:
            left_sum = 0.0
            right_sum = 0.0
            for code in range(n_classes):
                right = class_weights[code] - left[code]
                left_sum += term_of(criterion, left[code])
                right_sum += term_of(criterion, right) if right > 0.0 else 0.0
        if weight < least:
            continue
        other = whole.weight - weight
        if other < least or other <= 0.0:
            break
        n_tried += 1
        if is_information(criterion):
            consider(g, criterion, collect, left_sum + right_sum, x_log_x(weight) + x_log_x(other), p + 1, known,
                     best)
        else:
            consider(g, criterion, collect, left_sum / weight + right_sum / other, 0.0, p + 1, known, best)
    return n_tried


cdef struct Stops:
    # Where the class of the rows changes or a cut is judged, and what is left and right of it.
    double of_class[2 * BLOCK]  # weight of the class of the row before it: first all that is left, then all right
    double of_all[2 * BLOCK]    # of all classes, of cuts alone
    int64_t code[BLOCK]
    int64_t place[BLOCK]        # of each cut
    int64_t stop[BLOCK]         # the last stop before each cut


cdef inline void judge_stops(Grower* g, Stops* stops, int64_t n_stops, int64_t n_cuts, const Known* known,
                             double* term, Cut* best) noexcept nogil:
    """Bring `term`, the sum of the classes' terms, from stop to stop and judge the cuts."""
    cdef double* old_terms = g.walk.left_terms
    cdef double slack = known.slack, nothing = known.whole.branches - known.whole.within
    cdef double new_term, branches, worth, bar = best.worth + slack
    cdef int64_t i, stop = 0, code
    x_log_x_of_many(stops.of_class, <int> n_stops)
    x_log_x_of_many(stops.of_class + BLOCK, <int> n_stops)
    x_log_x_of_many(stops.of_all, <int> n_cuts)
    x_log_x_of_many(stops.of_all + BLOCK, <int> n_cuts)
    for i in range(n_cuts + 1):
        while stop < n_stops and (i == n_cuts or stop <= stops.stop[i]):
            code = stops.code[stop]
            new_term = stops.of_class[stop] + stops.of_class[BLOCK + stop]
            term[0] += new_term - old_terms[code]
            old_terms[code] = new_term
            stop += 1
        if i < n_cuts:
            branches = stops.of_all[i] + stops.of_all[BLOCK + i]
            worth = nothing + term[0] - branches
            if worth > bar:
                bar = worth + slack
                best.worth = worth
                best.branches = branches
                best.place = stops.place[i]


# After row p is read, `left` and `weight` are the weights left of a cut behind it, and the stops not yet judged say
# where they changed; `term` is the sum of the classes' terms at the last stop judged. No cut between two rows of one
# class is best (Fayyad and Irani), unless it is the first or the last one allowed or a row beside it shares its value
# with a row of another class, so elsewhere a stop is replaced by the next one.

cdef inline int64_t walk_weighted_gains(Grower* g, bint wide, const Stretch* list, const Known* known,
                                        Cut* best) noexcept nogil:
    """Information gain, with few logarithms and many of them at a time; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const double* class_weights = known.statistics
    cdef Stops stops
    cdef double least = known.min_side - 1e-9, weight = 0.0, other, row_weight, term = whole.within
    cdef int64_t p, code, before = -1, stop = -1, cut = -1, n_tried = 0
    cdef double* left = g.walk.left
    cdef bint is_cut, was_cut = False, replaces
    cdef bint is_last = True, is_mixed = False, was_mixed = False   # of rows of one value: the last; many classes
    memset(left, 0, g.rows.n_classes * sizeof(double))
    memcpy(g.walk.left_terms, known.terms, g.rows.n_classes * sizeof(double))
    for p in range(list.start, list.end - 1):
        code = code_of(g, wide, words[p])
        row_weight = word_weight(g, wide, words[p])
        left[code] += row_weight
        weight += row_weight
        other = whole.weight - weight
        replaces = code == before
        is_mixed = (not is_last) & (is_mixed | (not replaces))
        is_last = ((words[p] ^ words[p + 1]) & g.columns.rank_mask) != 0
        is_cut = is_last & (weight >= least) & (other >= least) & (other > 0.0)
        replaces &= (not was_cut) | (is_cut & (n_tried > 1) & (not was_mixed))
        stop += not replaces
        if stop == BLOCK:
            judge_stops(g, &stops, BLOCK, cut + 1, known, &term, best)
            stop = 0
            cut = -1
        stops.of_class[stop] = left[code]
        stops.of_class[BLOCK + stop] = class_weights[code] - left[code]
        stops.code[stop] = code
        if is_cut:
            cut += not (replaces and was_cut)
            stops.of_all[cut] = weight
            stops.of_all[BLOCK + cut] = other
            stops.place[cut] = p + 1
            stops.stop[cut] = stop
        n_tried += is_cut
        before = code
        was_cut = is_cut
        was_mixed = is_mixed
    judge_stops(g, &stops, stop + 1, cut + 1, known, &term, best)
    return n_tried


cdef inline void judge_runs(Grower* g, int64_t n_cuts, const int64_t* places, const Known* known,
                            Cut* best) noexcept nogil:
    """Judge cuts from `run_terms`: for each, the weights of every class left and right of it, and of all."""
    cdef int64_t i, k, width = 2 * g.rows.n_classes + 2
    cdef double slack = known.slack, nothing = known.whole.branches - known.whole.within
    cdef double within, branches, worth, bar = best.worth + slack
    cdef double* terms = g.walk.run_terms
    x_log_x_of_many(terms, <int> (n_cuts * width))
    for i in range(n_cuts):
        within = 0.0
        for k in range(width - 2):
            within += terms[k]
        branches = terms[width - 2] + terms[width - 1]
        worth = nothing + within - branches
        if worth > bar:
            bar = worth + slack
            best.worth = worth
            best.branches = branches
            best.place = places[i]
        terms += width


# After row p is read, `left` and `weight` are the weights left of a cut behind it. `run_terms` has, for each cut that
# is not yet judged, the weight of every class on both sides and the weight of both sides.

cdef inline int64_t walk_weighted_runs(Grower* g, bint wide, const Stretch* list, const Known* known,
                                       Cut* best) noexcept nogil:
    """As `walk_weighted_gains`, where values repeat so often that all classes are looked at once per value."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const double* class_weights = known.statistics
    cdef double least = known.min_side - 1e-9, weight = 0.0, other, row_weight
    cdef int64_t places[CUTS_OF_RUNS]
    cdef int64_t p, k, code, cut = 0, n_tried = 0, n_classes = g.rows.n_classes
    cdef double* left = g.walk.left
    cdef double* terms
    memset(left, 0, n_classes * sizeof(double))
    for p in range(list.start, list.end - 1):
        code = code_of(g, wide, words[p])
        row_weight = word_weight(g, wide, words[p])
        left[code] += row_weight
        weight += row_weight
        if not ((words[p] ^ words[p + 1]) & g.columns.rank_mask):
            continue
        other = whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        terms = g.walk.run_terms + cut * (2 * n_classes + 2)
        for k in range(n_classes):
            terms[k] = left[k]
            terms[n_classes + k] = class_weights[k] - left[k]
        terms[2 * n_classes] = weight
        terms[2 * n_classes + 1] = other
        places[cut] = p + 1
        cut += 1
        if cut == CUTS_OF_RUNS:
            judge_runs(g, cut, places, known, best)
            cut = 0
    judge_runs(g, cut, places, known, best)
    return n_tried
