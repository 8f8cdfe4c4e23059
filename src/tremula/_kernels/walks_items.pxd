"""Walks over the short list of a numeric attribute whose items hold the class; see `short_lists`.

They find what the walks over words do (`walks_counted.pxd`), with multiplicities of 1: weights are numbers of rows.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport INT64_MIN, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tremula._kernels.criteria cimport ENTROPY, GINI, Whole
from tremula._kernels.grower cimport Cut, Frame, Grower, Known, Stretch
from tremula._kernels.short_lists cimport TIE_SHIFT, without_tie

cdef enum:
    LEFT_HALF = 0xFFFFFFFF
    TO_THE_LEFT = 0xFFFFFFFF00000001    # what a row that passes from right to left adds to both halves


cdef inline bint walks_items(Grower* g, int64_t a) noexcept nogil:
    """Whether an attribute is judged from its items: no list of words is made, nor is a constant one told apart."""
    if not (g.short_lists.in_use and g.short_lists.hold_class) or g.columns.directions != NULL:
        return False
    if g.rules.random_threshold or g.rules.n_best > 1 or g.rules.cut_by_ratio or g.rules.n_drawn < g.columns.n_judged:
        return False
    if g.columns.n_levels[g.columns.attributes[a]] > 0 or g.columns.twins[a] >= 0:
        return False
    return g.rules.criterion == GINI or g.rules.criterion == ENTROPY


cdef inline Stretch items_of(Grower* g, const Frame* frame, int64_t a) noexcept nogil:
    """The items of an attribute in a node, in the place of a list."""
    g.short_lists.at_hand = g.short_lists.items[a] + frame.start
    return Stretch(NULL, 0, frame.end - frame.start, g.columns.attributes[a])


# `term` is the sum over classes of f(left count) + f(right count) for a cut before row p; see `walk_counted_gains`.

cdef inline int64_t walk_item_gains(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Information gain; returns 0, as cuts are not counted."""
    cdef const uint32_t* items = g.short_lists.at_hand
    cdef const Whole* whole = &known.whole
    cdef const int64_t* terms = g.rows.terms
    cdef uint64_t* sides = g.walk.sides
    cdef uint64_t both
    cdef int row_bits = g.short_lists.row_bits
    cdef int64_t total = list.end, code, left, right, p, score, term = g.node.term
    cdef int64_t slack = <int64_t> (g.rules.tolerance * whole.node_weight / g.rows.term_unit)
    cdef double nothing = whole.branches - whole.within
    cdef int64_t bar = INT64_MIN, least = <int64_t> ceil(known.min_side)
    cdef bint is_cut
    if best.worth > -INFINITY:
        bar = <int64_t> ((best.worth - nothing) / g.rows.term_unit) + slack
    memcpy(sides, g.node.sides, g.rows.n_classes * sizeof(uint64_t))
    for p in range(1, total):
        code = without_tie(items[p - 1]) >> row_bits
        both = sides[code]
        sides[code] = both + <uint64_t> TO_THE_LEFT
        left = both & LEFT_HALF
        right = both >> 32
        term += terms[left + 1] - terms[left] + terms[right - 1] - terms[right]
        is_cut = (not items[p] >> TIE_SHIFT) & (p >= least) & (total - p >= least)
        score = term - terms[p] - terms[total - p]
        if score > bar and is_cut:
            bar = score + slack
            best.place = p
    if best.place >= 0:
        best.branches = (terms[best.place] + terms[total - best.place]) * g.rows.term_unit
        best.worth = nothing + (bar - slack) * g.rows.term_unit
    return 0


# The squares are those of the counts left and right of a cut before row p; see `walk_counted_squares`.

cdef inline int64_t walk_item_squares(Grower* g, bint has_two, const Stretch* list, const Known* known,
                                      Cut* best) noexcept nogil:
    """Gini, of two classes without a table of counts; returns 0, as cuts are not counted."""
    cdef const uint32_t* items = g.short_lists.at_hand
    cdef uint64_t* sides = g.walk.sides
    cdef uint64_t both
    cdef int row_bits = g.short_lists.row_bits
    cdef int64_t total = list.end, code, p, first, second = 0, left_squares = 0, right_squares = g.node.term
    cdef int64_t all_first = g.node.sides[0] >> 32, all_second = total - all_first
    cdef int64_t least = <int64_t> ceil(known.min_side)
    cdef double slack = known.slack, within = 0.0
    cdef double bar = best.worth + known.whole.within + slack, product, scaled
    cdef bint is_cut
    memcpy(sides, g.node.sides, g.rows.n_classes * sizeof(uint64_t))
    for p in range(1, total):
        code = without_tie(items[p - 1]) >> row_bits
        if has_two:
            second += code
            first = p - second
            left_squares = first * first + second * second
            right_squares = (all_first - first) * (all_first - first) + (all_second - second) * (all_second - second)
        else:
            both = sides[code]
            sides[code] = both + <uint64_t> TO_THE_LEFT
            left_squares += 2 * <int64_t> (both & LEFT_HALF) + 1
            right_squares -= 2 * <int64_t> (both >> 32) - 1
        is_cut = (not items[p] >> TIE_SHIFT) & (p >= least) & (total - p >= least)
        product = <double> p * <double> (total - p)
        scaled = <double> left_squares * <double> (total - p) + <double> right_squares * <double> p
        if scaled > bar * product and is_cut:
            within = scaled / product
            bar = within + slack
            best.place = p
    if best.place >= 0:
        best.worth = within - known.whole.within
        best.branches = 0.0
    return 0


cdef inline int64_t walk_items(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Find the best cut of a numeric attribute."""
    if g.rules.criterion == ENTROPY:
        return walk_item_gains(g, list, known, best)
    if g.rows.n_classes == 2:
        return walk_item_squares(g, True, list, known, best)
    return walk_item_squares(g, False, list, known, best)
