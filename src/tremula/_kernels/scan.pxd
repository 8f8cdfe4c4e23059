"""Walks one sorted list of a node and finds its best cut.

There is one walk for each kind of rows; what they share is `consider`, which judges a cut. A nominal attribute's list
is grouped by level: its groups are tabulated first and judged from the table.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from tremula._kernels.criteria cimport (
    FIFTH_ROOT, Whole, fifth_root_term, is_information, least_fifth_root_term, term_of, unit_of_worth, worth_of,
    x_log_x, x_log_x_of_many,
)
from tremula._kernels.grower cimport (
    CODE_SHIFT, COUNT_SHIFT, COUNTED, MEASURED, WEIGHTED, WIDE, Cut, Grower, GroupKey,
)


cdef enum:
    BLOCK = 64              # stops whose logarithms are taken together
    CUTS_OF_RUNS = 16       # cuts between runs, likewise


cdef inline double value_at(Grower* g, uint64_t word, int64_t attribute) noexcept nogil:
    return g.values[<int64_t> (word & g.row_mask) * g.row_stride + attribute * g.column_stride]


cdef inline int64_t first_above(Grower* g, const uint64_t* words, int64_t start, int64_t end, int64_t attribute,
                                double threshold) noexcept nogil:
    """Where in a sorted list the values above the threshold begin."""
    cdef int64_t middle
    while start < end:
        middle = (start + end) // 2
        if value_at(g, words[middle], attribute) > threshold:
            end = middle
        else:
            start = middle + 1
    return start


cdef inline int64_t code_of(Grower* g, bint wide, uint64_t word) noexcept nogil:
    if wide:
        return g.row[word & g.row_mask].target.code
    return (word >> CODE_SHIFT) & 255


cdef inline double word_weight(Grower* g, bint wide, uint64_t word) noexcept nogil:
    if wide:
        return g.row[word & g.row_mask].weight
    if word >> COUNT_SHIFT:
        return <double> <int64_t> (word >> COUNT_SHIFT)
    return g.row_weight[word & g.row_mask]


cdef inline double min_side(Grower* g, double known_weight) noexcept nogil:
    """The least weight a numeric cut leaves on either side."""
    cdef double least = g.rules.min_side_weight
    cdef double share
    if g.rules.min_side_share > 0.0:
        share = g.rules.min_side_share * known_weight / g.n_classes
        if share > 25.0:
            share = 25.0
        if share > least:
            least = share
    if g.rules.min_side_fifth > 0.0:
        share = (<int64_t> (known_weight / 5.0) if known_weight >= 5.0 else 1) + 1.0
        if share > least:
            least = share
    return least


# ---- judging cuts

cdef inline void consider(Grower* g, int criterion, bint collect, double within, double branches, int64_t place,
                          const Whole* whole, double slack, Cut* best) noexcept nogil:
    cdef double worth = worth_of(criterion, within, branches, whole)
    cdef Cut* cut
    if collect:
        cut = &g.cuts[g.n_cuts]
        g.n_cuts += 1
        cut.gain = worth
        cut.branches = branches
        cut.place = place
    elif worth > best.worth + slack:
        best.worth = worth
        best.branches = branches
        best.place = place


# ---- walks over a numeric list

cdef inline bint has_long_runs(Grower* g, const uint64_t* words, int64_t start, int64_t end) noexcept nogil:
    """Whether values repeat so often that terms are best renewed once per distinct value instead of once per row."""
    cdef uint64_t span = ((words[end - 1] & g.rank_mask) - (words[start] & g.rank_mask)) // (g.row_mask + 1)
    return 2 * (end - start) > <int64_t> (span + 1) * g.n_classes


cdef inline int64_t walk_gains(Grower* g, bint by_runs, bint limited, const uint64_t* words, int64_t start,
                               int64_t end, const Whole* whole, Cut* best) noexcept nogil:
    """The most frequent walk: COUNTED rows, information gain. As little as possible a row.

    Only if `limited` are light sides refused and the cuts counted.
    """
    cdef const int64_t* terms = g.terms
    cdef uint64_t* sides = g.sides
    cdef uint64_t rank_mask = g.rank_mask, both, word, next_word
    cdef int64_t total = <int64_t> whole.weight, weight = 0, n_classes = g.n_classes
    cdef int64_t n_terms = g.n_terms, n_steps = g.n_steps
    cdef int64_t code, count, left, right, p, score, term = g.node_term
    cdef int64_t slack = <int64_t> (g.rules.tolerance * whole.node_weight / g.term_unit)
    cdef double nothing = whole.branches - whole.within     # what a cut of score 0 is worth
    cdef int64_t bar = INT64_MIN, best_place = -1, best_weight = 0, n_tried = 0
    cdef int64_t least = <int64_t> ceil(min_side(g, whole.weight))
    cdef bint is_cut
    if best.worth > -INFINITY:
        bar = <int64_t> ((best.worth - nothing) / g.term_unit) + slack
    memcpy(sides, g.node_sides, n_classes * sizeof(uint64_t))
    next_word = words[start]
    for p in range(start + 1, end):
        word = next_word
        next_word = words[p]
        is_cut = ((word ^ next_word) & rank_mask) != 0
        code = (word >> CODE_SHIFT) & 255
        count = word >> COUNT_SHIFT
        both = sides[code]
        sides[code] = both + <uint64_t> count - (<uint64_t> count << 32)
        weight += count
        if by_runs:
            if not is_cut:
                continue
            term = 0
            for code in range(n_classes):
                term += terms[sides[code] & 0xFFFFFFFFu] + terms[sides[code] >> 32]
        else:
            left = both & 0xFFFFFFFFu
            right = (both >> 32) - count
            if count <= n_steps:
                term += terms[count * n_terms + left] - terms[count * n_terms + right]
            else:
                term += terms[left + count] - terms[left] + terms[right] - terms[right + count]
        if limited:
            is_cut = is_cut & (weight >= least) & (total - weight >= least)
            n_tried += is_cut
        score = term - terms[weight] - terms[total - weight]
        if score > bar and is_cut:                          # in this order: a high score is rare, so well predicted
            bar = score + slack
            best_place = p
            best_weight = weight
    if best_place < 0:
        return 0
    best.branches = (terms[best_weight] + terms[total - best_weight]) * g.term_unit
    best.worth = nothing + (bar - slack) * g.term_unit
    best.place = best_place
    return n_tried


cdef inline int64_t walk_gini(Grower* g, bint by_runs, const uint64_t* words, int64_t start, int64_t end,
                              const Whole* whole, Cut* best) noexcept nogil:
    """As `walk_gains`, for Gini: squares need no table, and cuts are compared without dividing."""
    cdef uint64_t* sides = g.sides
    cdef uint64_t rank_mask = g.rank_mask, both, word, next_word
    cdef int64_t total = <int64_t> whole.weight, weight = 0, other = total
    cdef int64_t code, count, p, left_squares = 0, right_squares = g.node_term, n_tried = 0
    cdef int64_t least = <int64_t> ceil(min_side(g, whole.weight))
    cdef double slack = g.rules.tolerance * whole.node_weight, within = 0.0
    cdef double bar = best.worth + whole.within + slack, product, scaled
    cdef bint is_cut
    memcpy(sides, g.node_sides, g.n_classes * sizeof(uint64_t))
    next_word = words[start]
    for p in range(start + 1, end):
        word = next_word
        next_word = words[p]
        code = (word >> CODE_SHIFT) & 255
        count = word >> COUNT_SHIFT
        both = sides[code]
        sides[code] = both + <uint64_t> count - (<uint64_t> count << 32)
        weight += count
        other -= count
        is_cut = (((word ^ next_word) & rank_mask) != 0) & (weight >= least) & (other >= least)
        if by_runs:
            if not is_cut:
                continue
            left_squares = 0
            right_squares = 0
            for code in range(g.n_classes):
                left_squares += <int64_t> ((sides[code] & 0xFFFFFFFFu) * (sides[code] & 0xFFFFFFFFu))
                right_squares += <int64_t> ((sides[code] >> 32) * (sides[code] >> 32))
        else:
            left_squares += count * (2 * <int64_t> (both & 0xFFFFFFFFu) + count)
            right_squares -= count * (2 * <int64_t> (both >> 32) - count)
        n_tried += is_cut
        product = <double> weight * <double> other
        scaled = <double> left_squares * <double> other + <double> right_squares * <double> weight
        if scaled > bar * product and is_cut:
            within = scaled / product
            bar = within + slack
            best.place = p
    if best.place >= 0:
        best.worth = within - whole.within
        best.branches = 0.0
    return n_tried


cdef inline int64_t walk_counts(Grower* g, int criterion, bint collect, const uint64_t* words, int64_t start,
                                int64_t end, const Whole* whole, Cut* best) noexcept nogil:
    """Rows COUNTED: sums are whole numbers, exact and independent of order."""
    cdef const int64_t* terms = g.terms
    cdef uint64_t* sides = g.sides
    cdef double unit = g.term_unit
    cdef double slack = g.rules.tolerance * unit_of_worth(g.rules.criterion, whole.node_weight)
    cdef double least = min_side(g, whole.weight)
    cdef int64_t total = <int64_t> whole.weight, weight = 0, n_tried = 0
    cdef int64_t code, count, left, right, p, other, left_term = 0, right_term = g.node_term
    cdef uint64_t word, both
    memcpy(sides, g.node_sides, g.n_classes * sizeof(uint64_t))
    for p in range(start, end - 1):
        word = words[p]
        code = (word >> CODE_SHIFT) & 255
        count = word >> COUNT_SHIFT
        both = sides[code]
        sides[code] = both + <uint64_t> count - (<uint64_t> count << 32)
        left = both & 0xFFFFFFFFu
        right = both >> 32
        left_term += terms[left + count] - terms[left]
        right_term += terms[right - count] - terms[right]
        weight += count
        if not ((word ^ words[p + 1]) & g.rank_mask) or weight < least:
            continue
        other = total - weight
        if other < least:
            break
        n_tried += 1
        if is_information(criterion):
            consider(g, criterion, collect, (left_term + right_term) * unit, (terms[weight] + terms[other]) * unit,
                     p + 1, whole, slack, best)
        else:
            consider(g, criterion, collect, <double> left_term / weight + <double> right_term / other, 0.0,
                     p + 1, whole, slack, best)
    return n_tried


cdef inline int64_t walk_weights(Grower* g, int criterion, bint collect, bint by_runs, bint wide,
                                 const uint64_t* words, int64_t start, int64_t end, const Whole* whole,
                                 const double* class_weights, const double* class_terms, Cut* best) noexcept nogil:
    """Rows WEIGHTED or WIDE: real weights; two terms a row, two a cut, whatever the number of classes."""
    cdef double slack = g.rules.tolerance * unit_of_worth(g.rules.criterion, whole.node_weight)
    cdef double least = min_side(g, whole.weight) - 1e-9
    cdef double weight = 0.0, other, right, term, row_weight, left_sum = 0.0, right_sum = whole.within
    cdef int64_t p, code, n_tried = 0, n_classes = g.n_classes
    cdef uint64_t word, next_word, rank_mask = g.rank_mask
    cdef double* left = g.left
    if not is_information(criterion):
        right_sum *= whole.weight
    memset(left, 0, n_classes * sizeof(double))
    memset(g.left_terms, 0, n_classes * sizeof(double))
    memcpy(g.right_terms, class_terms, n_classes * sizeof(double))
    next_word = words[start]
    for p in range(start, end - 1):
        word = next_word
        next_word = words[p + 1]
        code = code_of(g, wide, word)
        row_weight = word_weight(g, wide, word)
        left[code] += row_weight
        weight += row_weight
        if not by_runs:
            term = term_of(criterion, left[code])
            left_sum += term - g.left_terms[code]
            g.left_terms[code] = term
            right = class_weights[code] - left[code]
            term = term_of(criterion, right) if right > 0.0 else 0.0
            right_sum += term - g.right_terms[code]
            g.right_terms[code] = term
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
            consider(g, criterion, collect, left_sum + right_sum, x_log_x(weight) + x_log_x(other), p + 1, whole,
                     slack, best)
        else:
            consider(g, criterion, collect, left_sum / weight + right_sum / other, 0.0, p + 1, whole, slack, best)
    return n_tried


cdef struct Stops:
    # Where the class of the rows changes or a cut is judged, and what is left and right of it.
    double of_class[2 * BLOCK]  # weight of the class of the row before it: first all that is left, then all right
    double of_all[2 * BLOCK]    # of all classes, of cuts alone
    int64_t code[BLOCK]
    int64_t place[BLOCK]        # of each cut
    int64_t stop[BLOCK]         # the last stop before each cut


cdef inline void judge_stops(Grower* g, Stops* stops, int64_t n_stops, int64_t n_cuts, double slack, double nothing,
                             double* term, Cut* best) noexcept nogil:
    """Bring `term`, the sum of the classes' terms, from stop to stop and judge the cuts."""
    cdef double* old_terms = g.left_terms
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


cdef inline int64_t walk_weighted_gains(Grower* g, bint wide, const uint64_t* words, int64_t start, int64_t end,
                                        const Whole* whole, const double* class_weights, const double* class_terms,
                                        Cut* best) noexcept nogil:
    """As `walk_weights`, for information gain: few logarithms, many at a time.

    Between two rows of one class no cut is best (Fayyad and Irani), unless it is the first or the last one allowed or a
    row beside it shares its value with one of another class: a stop is replaced by the next one wherever that is so.
    """
    cdef Stops stops
    cdef double slack = g.rules.tolerance * whole.node_weight, nothing = whole.branches - whole.within
    cdef double least = min_side(g, whole.weight) - 1e-9, weight = 0.0, other, row_weight, term = whole.within
    cdef int64_t p, code, before = -1, stop = -1, cut = -1, n_tried = 0
    cdef double* left = g.left
    cdef bint is_cut, was_cut = False, replaces
    cdef bint is_last = True, is_mixed = False, was_mixed = False   # of rows of one value: the last; many classes
    memset(left, 0, g.n_classes * sizeof(double))
    memcpy(g.left_terms, class_terms, g.n_classes * sizeof(double))
    for p in range(start, end - 1):
        code = code_of(g, wide, words[p])
        row_weight = word_weight(g, wide, words[p])
        left[code] += row_weight
        weight += row_weight
        other = whole.weight - weight
        replaces = code == before
        is_mixed = (not is_last) & (is_mixed | (not replaces))
        is_last = ((words[p] ^ words[p + 1]) & g.rank_mask) != 0
        is_cut = is_last & (weight >= least) & (other >= least) & (other > 0.0)
        replaces &= (not was_cut) | (is_cut & (n_tried > 1) & (not was_mixed))
        stop += not replaces
        if stop == BLOCK:
            judge_stops(g, &stops, BLOCK, cut + 1, slack, nothing, &term, best)
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
    judge_stops(g, &stops, stop + 1, cut + 1, slack, nothing, &term, best)
    return n_tried


cdef inline void judge_runs(Grower* g, int64_t n_cuts, const int64_t* places, double slack, double nothing,
                            Cut* best) noexcept nogil:
    """Judge cuts from `run_terms`: for each, the weights of every class left and right of it, and of all."""
    cdef int64_t i, k, width = 2 * g.n_classes + 2
    cdef double within, branches, worth, bar = best.worth + slack
    cdef double* terms = g.run_terms
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


cdef inline int64_t walk_weighted_runs(Grower* g, bint wide, const uint64_t* words, int64_t start, int64_t end,
                                       const Whole* whole, const double* class_weights, Cut* best) noexcept nogil:
    """As `walk_weighted_gains`, where values repeat so often that all classes are looked at once per value."""
    cdef double slack = g.rules.tolerance * whole.node_weight, nothing = whole.branches - whole.within
    cdef double least = min_side(g, whole.weight) - 1e-9, weight = 0.0, other, row_weight
    cdef int64_t places[CUTS_OF_RUNS]
    cdef int64_t p, k, code, cut = 0, n_tried = 0, n_classes = g.n_classes
    cdef double* left = g.left
    cdef double* terms
    memset(left, 0, n_classes * sizeof(double))
    for p in range(start, end - 1):
        code = code_of(g, wide, words[p])
        row_weight = word_weight(g, wide, words[p])
        left[code] += row_weight
        weight += row_weight
        if not ((words[p] ^ words[p + 1]) & g.rank_mask):
            continue
        other = whole.weight - weight
        if weight < least or other < least or other <= 0.0:
            continue
        n_tried += 1
        terms = g.run_terms + cut * (2 * n_classes + 2)
        for k in range(n_classes):
            terms[k] = left[k]
            terms[n_classes + k] = class_weights[k] - left[k]
        terms[2 * n_classes] = weight
        terms[2 * n_classes + 1] = other
        places[cut] = p + 1
        cut += 1
        if cut == CUTS_OF_RUNS:
            judge_runs(g, cut, places, slack, nothing, best)
            cut = 0
    judge_runs(g, cut, places, slack, nothing, best)
    return n_tried


cdef inline int64_t walk_targets(Grower* g, int criterion, const uint64_t* words, int64_t start, int64_t end,
                                 const Whole* whole, const double* known, Cut* best) noexcept nogil:
    """Rows MEASURED: sums of a numeric target."""
    cdef double slack = g.rules.tolerance * unit_of_worth(g.rules.criterion, whole.node_weight)
    cdef double least = min_side(g, whole.weight) - 1e-9
    cdef double weight = 0.0, total = 0.0, squares = 0.0, other, rest, w, y, within
    cdef double bar = whole.within - best.worth - slack     # fifth roots: a cut of a larger sum is not the best
    cdef int64_t p, n_tried = 0
    cdef uint64_t word
    for p in range(start, end - 1):
        word = words[p]
        w = g.row[word & g.row_mask].weight
        y = g.row[word & g.row_mask].target.number
        weight += w
        total += w * y
        if criterion == FIFTH_ROOT:
            squares += w * y * y
        if (word ^ words[p + 1]) & g.rank_mask:
            other = whole.weight - weight
            if weight < least:
                continue
            if other < least or other <= 0.0:
                break
            n_tried += 1
            rest = known[1] - total
            if criterion == FIFTH_ROOT:
                if (least_fifth_root_term(weight, total, squares, g.noise)
                        + least_fifth_root_term(other, rest, known[2] - squares, g.noise)) > bar:
                    continue
                within = (fifth_root_term(weight, total, squares, g.noise)
                          + fifth_root_term(other, rest, known[2] - squares, g.noise))
            else:
                within = total * total / weight + rest * rest / other
            consider(g, criterion, False, within, 0.0, p + 1, whole, slack, best)
            bar = whole.within - best.worth - slack
    return n_tried


# ---- statistics of rows, and of a stretch of a list

cdef inline double weight_of_row(Grower* g, int64_t row) noexcept nogil:
    if g.rows_kind == COUNTED:
        return g.marks[row] >> 8
    return g.row_weight[row] if g.rows_kind == WEIGHTED else g.row[row].weight


cdef inline void add_row(Grower* g, uint32_t row, double weight, double* statistics) noexcept nogil:
    cdef double y
    if g.rows_kind == MEASURED:
        y = g.row[row].target.number
        statistics[0] += weight
        statistics[1] += weight * y
        statistics[2] += weight * y * y
    else:
        statistics[g.codes[row]] += weight


cdef inline void add_words(Grower* g, const uint64_t* words, int64_t start, int64_t end,
                           double* statistics) noexcept nogil:
    """Add the rows of a stretch to the statistics of a node."""
    cdef int64_t p, count, total = 0, second = 0
    cdef double w, y, weight = 0.0, second_weight = 0.0
    if g.counted and g.n_classes == 2:                  # two classes: sums stay in registers
        for p in range(start, end):
            count = <int64_t> (words[p] >> COUNT_SHIFT)
            total += count
            second += count * <int64_t> ((words[p] >> CODE_SHIFT) & 255)
        statistics[0] += total - second
        statistics[1] += second
    elif g.counted:
        for p in range(start, end):
            statistics[(words[p] >> CODE_SHIFT) & 255] += <double> <int64_t> (words[p] >> COUNT_SHIFT)
    elif g.rows_kind == WEIGHTED and g.n_classes == 2:
        for p in range(start, end):
            w = word_weight(g, False, words[p])
            y = <double> <int64_t> ((words[p] >> CODE_SHIFT) & 255)
            weight += w * (1.0 - y)
            second_weight += w * y
        statistics[0] += weight
        statistics[1] += second_weight
    elif g.rows_kind == WEIGHTED:
        for p in range(start, end):
            statistics[code_of(g, False, words[p])] += word_weight(g, False, words[p])
    elif g.rows_kind == WIDE:
        for p in range(start, end):
            statistics[code_of(g, True, words[p])] += word_weight(g, True, words[p])
    else:
        for p in range(start, end):
            w = g.row[words[p] & g.row_mask].weight
            y = g.row[words[p] & g.row_mask].target.number
            statistics[0] += w
            statistics[1] += w * y
            statistics[2] += w * y * y


cdef inline double weight_of(Grower* g, const double* statistics) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t code
    if g.rows_kind == MEASURED:
        return statistics[0]
    for code in range(g.n_classes):
        total += statistics[code]
    return total


cdef inline double within_of(Grower* g, const double* statistics, double weight) noexcept nogil:
    """What one branch adds to `within`."""
    cdef double total = 0.0
    cdef int64_t code
    if weight <= 0.0:
        return 0.0
    if g.rows_kind == MEASURED:
        if g.rules.criterion == FIFTH_ROOT:
            return fifth_root_term(weight, statistics[1], statistics[2], g.noise)
        return statistics[1] * statistics[1] / weight
    for code in range(g.n_classes):
        if statistics[code] > 0.0:
            total += term_of(g.rules.criterion, statistics[code])
    return total if is_information(g.rules.criterion) else total / weight


cdef inline void describe_whole(Grower* g, const double* statistics, double node_weight, Whole* whole) noexcept nogil:
    cdef double missing
    whole.weight = weight_of(g, statistics)
    whole.node_weight = node_weight
    whole.within = within_of(g, statistics, whole.weight)
    whole.branches = x_log_x(whole.weight)
    missing = node_weight - whole.weight
    whole.split_constant = x_log_x(node_weight) - (x_log_x(missing) if missing > 0.0 else 0.0)


cdef inline void load_counts(Grower* g, const double* statistics) noexcept nogil:
    """Bring class weights that are whole numbers to where the counting walks look for them."""
    cdef int64_t code
    g.node_term = 0
    for code in range(g.n_classes):
        g.node_sides[code] = <uint64_t> statistics[code] << 32
        g.node_term += g.terms[<int64_t> statistics[code]]


# ---- nominal attributes

cdef inline void tabulate_groups(Grower* g, const uint64_t* words, int64_t start, int64_t end) noexcept nogil:
    """Statistics of every level present, in `group_statistics`; group i is the stretch from `group_start[i]`."""
    cdef int64_t p = start, first
    g.n_groups = 0
    while p < end:
        first = p
        while p < end and not ((words[p] ^ words[first]) & g.rank_mask):
            p += 1
        memset(g.group_statistics + g.n_groups * g.n_statistics, 0, g.n_statistics * sizeof(double))
        add_words(g, words, first, p, g.group_statistics + g.n_groups * g.n_statistics)
        g.group_start[g.n_groups] = first
        g.n_groups += 1
    g.group_start[g.n_groups] = end


cdef inline void judge_multiway(Grower* g, const Whole* whole, Cut* best) noexcept nogil:
    cdef int64_t group, n_heavy = 0
    cdef double within = 0.0, branches = 0.0, weight
    cdef const double* statistics
    for group in range(g.n_groups):
        statistics = g.group_statistics + group * g.n_statistics
        weight = weight_of(g, statistics)
        n_heavy += weight >= g.rules.min_branch_weight - 1e-9
        within += within_of(g, statistics, weight)
        branches += x_log_x(weight)
    if n_heavy < 2 and not g.rules.branch_veto:
        return
    best.worth = worth_of(g.rules.criterion, within, branches, whole)
    best.branches = branches
    best.place = 0


cdef inline int by_key(const void* a, const void* b) noexcept nogil:
    cdef const GroupKey* x = <const GroupKey*> a
    cdef const GroupKey* y = <const GroupKey*> b
    if x.key != y.key:
        return 1 if x.key > y.key else -1
    return 1 if x.group > y.group else -1


cdef inline void order_groups(Grower* g, int64_t code) noexcept nogil:
    """Levels by the share of class `code`, or by the mean target."""
    cdef int64_t group, place
    cdef GroupKey item
    cdef const double* statistics
    for group in range(g.n_groups):
        statistics = g.group_statistics + group * g.n_statistics
        g.group_order[group].group = group
        if g.rows_kind == MEASURED:
            g.group_order[group].key = statistics[1] / statistics[0]
        else:
            g.group_order[group].key = statistics[code] / weight_of(g, statistics)
    if g.n_groups > 32:
        qsort(g.group_order, g.n_groups, sizeof(GroupKey), by_key)
        return
    for group in range(1, g.n_groups):
        item = g.group_order[group]
        place = group
        while place > 0 and g.group_order[place - 1].key > item.key:
            g.group_order[place] = g.group_order[place - 1]
            place -= 1
        g.group_order[place] = item


cdef inline int64_t judge_subsets(Grower* g, const double* known, const Whole* whole, Cut* best) noexcept nogil:
    """Cuts of the levels in the order of one class's share; with more than two classes, of each class in turn.

    The place of a cut is `code * n_groups + number of levels in the first branch`.
    """
    cdef int64_t n_orders = g.n_classes if g.rows_kind != MEASURED and g.n_classes > 2 else 1
    cdef int64_t code, i, k, n_tried = 0
    cdef double weight, other, within
    cdef double slack = g.rules.tolerance * unit_of_worth(g.rules.criterion, whole.node_weight)
    cdef double least = min_side(g, whole.weight) - 1e-9
    cdef const double* statistics
    for code in range(n_orders):
        order_groups(g, code)
        memset(g.left, 0, g.n_statistics * sizeof(double))
        for i in range(g.n_groups - 1):
            statistics = g.group_statistics + g.group_order[i].group * g.n_statistics
            for k in range(g.n_statistics):
                g.left[k] += statistics[k]
                g.right_terms[k] = known[k] - g.left[k]
            weight = weight_of(g, g.left)
            other = whole.weight - weight
            if weight < least or other < least or other <= 0.0:
                continue
            n_tried += 1
            within = within_of(g, g.left, weight) + within_of(g, g.right_terms, other)
            consider(g, g.rules.criterion, False, within, x_log_x(weight) + x_log_x(other), code * g.n_groups + i + 1,
                     whole, slack, best)
    return n_tried
