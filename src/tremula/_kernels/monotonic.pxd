"""Constraints of order: the prediction may not fall, or not rise, with an attribute.

The value of a node is its mean target, its median for the absolute error, or the share of the second of two classes.
A split by a constrained attribute has its branches in order, and the value halfway between theirs bounds all such
splits below: the values of one branch stay below it, those of the other above. Splits by other attributes, and of
missing values against known ones, are free; leaves beyond the bounds are cut off in the finished tree.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from tremula._kernels.columns cimport value_at
from tremula._kernels.criteria cimport ABSOLUTE_ERROR
from tremula._kernels.grower cimport MEASURED, Cut, Frame, Grower, Known, Stretch
from tremula._kernels.nodes cimport NUMERIC_SPLIT, Node


cdef inline double value_of(Grower* g, const double* statistics) noexcept nogil:
    if g.rules.criterion == ABSOLUTE_ERROR:
        return statistics[3]
    if g.rows.kind == MEASURED:
        return statistics[1] / statistics[0]
    return statistics[1] / (statistics[0] + statistics[1])


cdef inline bint is_in_order(Grower* g, double first, double second, int direction) noexcept nogil:
    """Whether branches of these values keep to the direction of the attribute and to the bounds of the node."""
    return direction == 0 or (g.node.lower <= first <= g.node.upper and g.node.lower <= second <= g.node.upper
                              and (first - second) * direction <= 0.0)


cdef inline double with_missing(Grower* g, const Known* known, double value) noexcept nogil:
    """The value of a branch with its share of the rows whose value is missing: all branches get the same mixture."""
    cdef double missing = g.node.known.statistics[1] - known.statistics[1]
    return (value * known.whole.weight + missing) / known.whole.node_weight


cdef inline bint keeps_order(Grower* g, const Known* known, const double* left, const double* right,
                             int direction) noexcept nogil:
    """As `is_in_order`, from the statistics of the known rows on both sides."""
    cdef double first = value_of(g, left), second = value_of(g, right)
    if known.statistics != g.node.known.statistics:
        first = with_missing(g, known, first)
        second = with_missing(g, known, second)
    return is_in_order(g, first, second, direction)


cdef inline int direction_of_place(Grower* g, const Cut* cut, const Stretch* list, int64_t place) noexcept nogil:
    """The direction that a numeric cut must keep; none if it parts missing from known values."""
    cdef bint has_extremes = cut.attribute >= g.columns.n_judged or g.columns.twins[cut.attribute] >= 0
    if has_extremes and (value_at(g, list.words[place - 1], list.attribute) == -INFINITY
                         or value_at(g, list.words[place], list.attribute) == INFINITY):
        return 0
    return g.columns.directions[cut.attribute]


cdef inline int direction_of_threshold(Grower* g, const Cut* cut, double threshold) noexcept nogil:
    return 0 if threshold == INFINITY or threshold == -INFINITY else g.columns.directions[cut.attribute]


cdef inline void bound_children(Grower* g, const Cut* cut, const Node* node) noexcept nogil:
    """Narrow the bounds of the two children that were put on the stack, if the split is by a constrained attribute."""
    cdef int64_t i, k = g.rows.n_statistics
    cdef const double* statistics = g.output.statistics + node.first_child * k
    cdef int direction = direction_of_threshold(g, cut, node.threshold) if cut.kind == NUMERIC_SPLIT else 0
    cdef double middle
    cdef Frame* child
    if direction == 0:
        return
    middle = value_of(g, statistics) / 2 + value_of(g, statistics + k) / 2
    for i in range(g.pending.n_frames - g.division.n_survivors, g.pending.n_frames):
        child = &g.pending.frames[i]
        if (child.node == node.first_child) == (direction > 0):
            child.upper = min(child.upper, middle)
        else:
            child.lower = max(child.lower, middle)
