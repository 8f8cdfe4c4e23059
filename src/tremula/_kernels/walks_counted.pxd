"""Walks over the sorted list of a numeric attribute, for COUNTED rows.

`sides` has a number for every class: its rows left of the place at hand in the low 32 bits, those right of it in the
high 32. A row of count c that passes from right to left adds c - (c << 32). All sums are whole numbers, so they are
exact and do not depend on the order of the rows.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport INT64_MIN, int64_t, uint64_t
from libc.string cimport memcpy

from tremula._kernels.criteria cimport Whole, is_information
from tremula._kernels.cuts cimport consider
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch
from tremula._kernels.words cimport class_in, count_in

cdef enum:
    LEFT_HALF = 0xFFFFFFFF


# Before row p is read, `term` is the sum over classes of f(left count) + f(right count) for a cut before row p - 1, and
# `weight` is the weight left of that cut; `by_runs` computes `term` anew at each cut instead. The score of a cut, term
# - f(weight) - f(total - weight), differs from its gain by what no cut changes, and `bar` is the best score plus slack.

cdef inline int64_t walk_counted_gains(Grower* g, bint by_runs, bint limited, const Stretch* list, const Known* known,
                                       Cut* best) noexcept nogil:
    """Information gain, the most frequent walk; returns the number of cuts tried.

    Only if `limited` are cuts that leave too light a side refused, and the cuts counted.
    """
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const int64_t* terms = g.rows.terms
    cdef uint64_t* sides = g.walk.sides
    cdef uint64_t rank_mask = g.columns.rank_mask, both, word, next_word
    cdef int64_t total = <int64_t> whole.weight, weight = 0, n_classes = g.rows.n_classes
    cdef int64_t n_terms = g.rows.n_terms, n_steps = g.rows.n_steps
    cdef int64_t code, count, left, right, p, score, term = g.node.term
    cdef int64_t slack = <int64_t> (g.rules.tolerance * whole.node_weight / g.rows.term_unit)
    cdef double nothing = whole.branches - whole.within     # what a cut of score 0 is worth
    cdef int64_t bar = INT64_MIN, best_place = -1, best_weight = 0, n_tried = 0
    cdef int64_t least = <int64_t> ceil(known.min_side)
    cdef bint is_cut
    if best.worth > -INFINITY:
        bar = <int64_t> ((best.worth - nothing) / g.rows.term_unit) + slack
    memcpy(sides, g.node.sides, n_classes * sizeof(uint64_t))
    next_word = words[list.start]
    for p in range(list.start + 1, list.end):
        word = next_word
        next_word = words[p]
        is_cut = ((word ^ next_word) & rank_mask) != 0
        code = class_in(word)
        count = count_in(word)
        both = sides[code]
        sides[code] = both + <uint64_t> count - (<uint64_t> count << 32)
        weight += count
        if by_runs:
            if not is_cut:
                continue
            term = 0
            for code in range(n_classes):
                term += terms[sides[code] & LEFT_HALF] + terms[sides[code] >> 32]
        else:
            left = both & LEFT_HALF
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
    best.branches = (terms[best_weight] + terms[total - best_weight]) * g.rows.term_unit
    best.worth = nothing + (bar - slack) * g.rows.term_unit
    best.place = best_place
    return n_tried


# Before row p is read, `left_squares` and `right_squares` are the sums over classes of the squared counts left and
# right of a cut before row p - 1; `by_runs` computes them anew at each cut. A cut is better if left_squares / weight +
# right_squares / other is above `bar`; both sides are multiplied by weight * other, so that no row needs a division.

cdef inline int64_t walk_counted_squares(Grower* g, bint by_runs, const Stretch* list, const Known* known,
                                         Cut* best) noexcept nogil:
    """Gini: squares need no table; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef uint64_t* sides = g.walk.sides
    cdef uint64_t rank_mask = g.columns.rank_mask, both, word, next_word
    cdef int64_t total = <int64_t> whole.weight, weight = 0, other = total
    cdef int64_t code, count, p, left_squares = 0, right_squares = g.node.term, n_tried = 0
    cdef int64_t least = <int64_t> ceil(known.min_side)
    cdef double slack = known.slack, within = 0.0
    cdef double bar = best.worth + whole.within + slack, product, scaled
    cdef bint is_cut
    memcpy(sides, g.node.sides, g.rows.n_classes * sizeof(uint64_t))
    next_word = words[list.start]
    for p in range(list.start + 1, list.end):
        word = next_word
        next_word = words[p]
        code = class_in(word)
        count = count_in(word)
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
            for code in range(g.rows.n_classes):
                left_squares += <int64_t> ((sides[code] & LEFT_HALF) * (sides[code] & LEFT_HALF))
                right_squares += <int64_t> ((sides[code] >> 32) * (sides[code] >> 32))
        else:
            left_squares += count * (2 * <int64_t> (both & LEFT_HALF) + count)
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


# After row p is read, `left_term` and `right_term` are the sums over classes of f(count) left and right of a cut behind
# it, and `weight` is the weight left of it. A cut is considered where the next rank differs and both sides are heavy
# enough.

cdef inline int64_t walk_counted_terms(Grower* g, int criterion, bint collect, const Stretch* list, const Known* known,
                                       Cut* best) noexcept nogil:
    """Any criterion, and every cut kept if `collect`; returns the number of cuts tried."""
    cdef const uint64_t* words = list.words
    cdef const Whole* whole = &known.whole
    cdef const int64_t* terms = g.rows.terms
    cdef uint64_t* sides = g.walk.sides
    cdef double unit = g.rows.term_unit
    cdef double least = known.min_side
    cdef int64_t total = <int64_t> whole.weight, weight = 0, n_tried = 0
    cdef int64_t code, count, left, right, p, other, left_term = 0, right_term = g.node.term
    cdef uint64_t word, both
    memcpy(sides, g.node.sides, g.rows.n_classes * sizeof(uint64_t))
    for p in range(list.start, list.end - 1):
        word = words[p]
        code = class_in(word)
        count = count_in(word)
        both = sides[code]
        sides[code] = both + <uint64_t> count - (<uint64_t> count << 32)
        left = both & LEFT_HALF
        right = both >> 32
        left_term += terms[left + count] - terms[left]
        right_term += terms[right - count] - terms[right]
        weight += count
        if not ((word ^ words[p + 1]) & g.columns.rank_mask) or weight < least:
            continue
        other = total - weight
        if other < least:
            break
        n_tried += 1
        if is_information(criterion):
            consider(g, criterion, collect, (left_term + right_term) * unit, (terms[weight] + terms[other]) * unit,
                     p + 1, known, best)
        else:
            consider(g, criterion, collect, <double> left_term / weight + <double> right_term / other, 0.0,
                     p + 1, known, best)
    return n_tried
