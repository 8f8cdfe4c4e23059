"""The list of one attribute in a node: a stretch of a sorted list, or put together for a node that has none."""

from libc.stdint cimport int64_t

from tremula._kernels.grower cimport Frame, Grower, Stretch
from tremula._kernels.short_lists cimport list_short
from tremula._kernels.unsorted cimport list_unsorted


cdef inline void list_bounds(Grower* g, const Frame* frame, int64_t a, int64_t* start, int64_t* end) noexcept nogil:
    """Where a node's rows are in the sorted list of an attribute."""
    cdef int64_t slot = g.columns.slot[a]
    if slot < 0:
        start[0] = frame.start
        end[0] = frame.end
    else:
        start[0] = g.node.bounds[2 * slot]
        end[0] = g.node.bounds[2 * slot + 1]


cdef inline bint has_gathered_values(Grower* g, int64_t a) noexcept nogil:
    """Whether an attribute is judged by the values of the node's rows, in no order, instead of by a list."""
    return g.unsorted.in_use and g.rules.random_threshold and g.columns.n_levels[g.columns.attributes[a]] == 0


cdef inline Stretch list_of(Grower* g, const Frame* frame, int64_t a) noexcept nogil:
    """The list of an attribute in a node."""
    cdef Stretch list
    list.attribute = g.columns.attributes[a]
    if g.unsorted.in_use:
        list.start = 0
        list.end = frame.end - frame.start
        list.words = list_unsorted(g, frame, list.attribute)
        return list
    if g.short_lists.in_use:
        list.start = 0
        list.end = frame.end - frame.start
        list.words = list_short(g, frame, a)
        return list
    list_bounds(g, frame, a, &list.start, &list.end)
    list.words = g.columns.lists[a]
    return list


cdef inline bint is_constant(Grower* g, const Stretch* list) noexcept nogil:
    """Whether there are not two different values."""
    if list.end - list.start < 2:
        return True
    return not ((list.words[list.start] ^ list.words[list.end - 1]) & g.columns.rank_mask)
