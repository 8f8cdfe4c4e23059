"""The cut of a numeric attribute with two values in a node, for COUNTED rows.

Only the rows of the rarer value are counted: the counts of the others follow from those of the node. All sums are whole
numbers, so the cut is worth exactly what the walks of `walks_counted` say.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from tremula._kernels.criteria cimport Whole
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch
from tremula._kernels.words cimport class_in, count_in

cdef enum:
    LEFT_HALF = 0xFFFFFFFF


cdef inline bint has_two_values(Grower* g, const Stretch* list) noexcept nogil:
    """Whether the ranks of the first and the last word follow each other."""
    cdef uint64_t first = list.words[list.start] & g.columns.rank_mask
    return (list.words[list.end - 1] & g.columns.rank_mask) - first == g.columns.row_mask + 1


cdef inline int64_t second_value(Grower* g, const Stretch* list) noexcept nogil:
    """Where the words of the second value begin."""
    cdef uint64_t rank = list.words[list.start] & g.columns.rank_mask
    cdef int64_t start = list.start + 1, end = list.end - 1, middle
    while start < end:
        middle = (start + end) // 2
        if (list.words[middle] & g.columns.rank_mask) != rank:
            end = middle
        else:
            start = middle + 1
    return start


cdef inline int64_t count_sides(Grower* g, const Stretch* list, int64_t place) noexcept nogil:
    """Fill `walk.sides` for a cut before a place, see `walks_counted`; returns the weight left of it."""
    cdef uint64_t* sides = g.walk.sides
    cdef int64_t p, code, weight = 0
    cdef uint64_t count
    if place - list.start <= list.end - place:
        memcpy(sides, g.node.sides, g.rows.n_classes * sizeof(uint64_t))
        for p in range(list.start, place):
            count = <uint64_t> count_in(list.words[p])
            sides[class_in(list.words[p])] += count - (count << 32)
    else:
        for code in range(g.rows.n_classes):
            sides[code] = g.node.sides[code] >> 32
        for p in range(place, list.end):
            count = <uint64_t> count_in(list.words[p])
            sides[class_in(list.words[p])] += (count << 32) - count
    for code in range(g.rows.n_classes):
        weight += <int64_t> (sides[code] & LEFT_HALF)
    return weight


cdef inline int64_t two_values_gain(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Information gain; returns the number of cuts tried."""
    cdef const Whole* whole = &known.whole
    cdef const int64_t* terms = g.rows.terms
    cdef int64_t place = second_value(g, list), total = <int64_t> whole.weight, code, term = 0
    cdef int64_t weight = count_sides(g, list, place), least = <int64_t> ceil(known.min_side), score
    cdef int64_t slack = <int64_t> (g.rules.tolerance * whole.node_weight / g.rows.term_unit)
    cdef double nothing = whole.branches - whole.within     # what a cut of score 0 is worth
    if weight < least or total - weight < least:
        return 0
    for code in range(g.rows.n_classes):
        term += terms[g.walk.sides[code] & LEFT_HALF] + terms[g.walk.sides[code] >> 32]
    score = term - terms[weight] - terms[total - weight]
    if best.worth > -INFINITY and score <= <int64_t> ((best.worth - nothing) / g.rows.term_unit) + slack:
        return 0
    best.branches = (terms[weight] + terms[total - weight]) * g.rows.term_unit
    best.worth = nothing + score * g.rows.term_unit
    best.place = place
    return 1


cdef inline int64_t two_values_squares(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    """Gini; returns the number of cuts tried."""
    cdef int64_t place = second_value(g, list), weight = count_sides(g, list, place), code
    cdef int64_t other = <int64_t> known.whole.weight - weight, least = <int64_t> ceil(known.min_side)
    cdef int64_t left_squares = 0, right_squares = 0
    cdef uint64_t left, right
    cdef double product = <double> weight * <double> other, scaled, within
    if weight < least or other < least:
        return 0
    for code in range(g.rows.n_classes):
        left = g.walk.sides[code] & LEFT_HALF
        right = g.walk.sides[code] >> 32
        left_squares += <int64_t> (left * left)
        right_squares += <int64_t> (right * right)
    scaled = <double> left_squares * <double> other + <double> right_squares * <double> weight
    if scaled > (best.worth + known.whole.within + known.slack) * product:
        within = scaled / product
        best.worth = within - known.whole.within
        best.branches = 0.0
        best.place = place
    return 1
