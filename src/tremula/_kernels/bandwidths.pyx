"""Derivatives of a tree's smoothed answer by the amounts of noise, all attributes in one pass.

A split shares out the weight of a row between its branches: its threshold divides what the tests above left of its
attribute, from `low` to `high`, in the ratio of two chances. The expected answer E of a node is

    E = ((middle - low) E_left + (high - middle) E_right) / (high - low),

and moving any of the three by d changes it by a difference of two expected answers times d / (high - low). The descent
finds the weight of every node, the ascent its expected answer; each split then adds its part, whatever its depth.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc

from tremula._kernels.nodes cimport MISSING, Node, branch_taken, is_numeric

cdef extern from "normal.h" nogil:
    double normal_below(double)
    double normal_density(double)

cdef enum:
    LOW = 0                     # columns of `limits`
    HIGH = 1

cdef struct View:
    # A tree.
    const Node* nodes
    const uint8_t* subsets
    const int32_t* n_levels
    const double* shares        # of every node in what its parent passes on when a value is missing
    const double* thresholds
    const double* last          # the largest value that takes the first branch if there is no noise
    const int32_t* limits       # splits above that bound the tested attribute from below and from above, -1 for none
    bint strict
    double tolerance

cdef struct Walk:
    # What is known of the nodes that a row can reach.
    double* below               # chance of a value up to the threshold
    double* slope               # its derivative by the logarithm of the noise
    double* weight
    double* answer
    uint8_t* is_followed
    int32_t* order              # nodes in the order of the descent
    int32_t n_reached

cdef struct Interval:
    double low, middle, high, low_slope, middle_slope, high_slope


def fill_limits(const Node[::1] nodes, const double[::1] thresholds, const int32_t[::1] parents, int32_t[:, ::1] out):
    """Write for every numeric split the splits above it that bound its attribute from below and from above, or -1."""
    cdef Py_ssize_t node
    cdef int32_t child, above
    out[:] = -1
    for node in range(nodes.shape[0]):
        if nodes[node].n_branches == 0 or not is_numeric(nodes[node].index):
            continue
        child, above = <int32_t> node, parents[node]
        while above >= 0:
            if nodes[above].attribute == nodes[node].attribute:
                if child == nodes[above].first_child:
                    if out[node, HIGH] < 0 or thresholds[above] < thresholds[out[node, HIGH]]:
                        out[node, HIGH] = above
                elif out[node, LOW] < 0 or thresholds[above] > thresholds[out[node, LOW]]:
                    out[node, LOW] = above
            child, above = above, parents[above]


cdef inline Interval interval_at(const View* tree, const Walk* walk, int32_t node) noexcept nogil:
    """What the tests above a split left of its attribute, and where the split divides it."""
    cdef int32_t low = tree.limits[2 * node + LOW], high = tree.limits[2 * node + HIGH]
    cdef Interval interval
    interval.low = walk.below[low] if low >= 0 else 0.0
    interval.low_slope = walk.slope[low] if low >= 0 else 0.0
    interval.high = walk.below[high] if high >= 0 else 1.0
    interval.high_slope = walk.slope[high] if high >= 0 else 0.0
    interval.middle, interval.middle_slope = walk.below[node], walk.slope[node]
    if interval.middle >= interval.high:
        interval.middle, interval.middle_slope = interval.high, interval.high_slope
    if interval.middle <= interval.low:
        interval.middle, interval.middle_slope = interval.low, interval.low_slope
    return interval


cdef inline void measure(const View* tree, Walk* walk, int32_t node, double value, double inverse) noexcept nogil:
    """Find the chance of a value up to the threshold of a split, and its derivative."""
    cdef double z = (tree.thresholds[node] - value) * inverse
    if inverse > 0:
        walk.below[node], walk.slope[node] = normal_below(z), -z * normal_density(z)
    else:
        walk.below[node], walk.slope[node] = 1.0 if value <= tree.last[node] else 0.0, 0.0


cdef inline void share_out(const View* tree, Walk* walk, int32_t node, double value, double inverse) noexcept nogil:
    """Give the branches of a split their weights, and say which are followed."""
    cdef const Node* here = &tree.nodes[node]
    cdef double weight = walk.weight[node], left
    cdef int32_t first = here.first_child, k, taken
    cdef Interval interval
    if is_numeric(here.index) and value == value:
        measure(tree, walk, node, value, inverse)
        interval = interval_at(tree, walk, node)
        left = 0.5
        if interval.high > interval.low:
            left = (interval.middle - interval.low) / (interval.high - interval.low)
        walk.weight[first], walk.weight[first + 1] = weight * left, weight * (1.0 - left)
        walk.is_followed[first] = left >= 0.5 or walk.weight[first] > tree.tolerance
        walk.is_followed[first + 1] = left < 0.5 or walk.weight[first + 1] > tree.tolerance
        return
    taken = branch_taken(here, tree.subsets, tree.n_levels, tree.strict, value)
    for k in range(here.n_branches):
        left = tree.shares[first + k] if taken == MISSING else 1.0 if taken == k else 0.0
        walk.weight[first + k], walk.is_followed[first + k] = weight * left, left > 0


cdef void descend(const View* tree, Walk* walk, const double* row, const double* inverse) noexcept nogil:
    """Find the weight of every node that the row can reach, parents before their children."""
    cdef int32_t place = 0, node, child
    walk.order[0], walk.n_reached, walk.weight[0] = 0, 1, 1.0
    while place < walk.n_reached:
        node = walk.order[place]
        place += 1
        if tree.nodes[node].n_branches == 0:
            continue
        share_out(tree, walk, node, row[tree.nodes[node].attribute], inverse[tree.nodes[node].attribute])
        for child in range(tree.nodes[node].first_child, tree.nodes[node].first_child + tree.nodes[node].n_branches):
            if walk.is_followed[child]:
                walk.order[walk.n_reached] = child
                walk.n_reached += 1


cdef inline double mean_of_branches(const View* tree, const Walk* walk, int32_t node) noexcept nogil:
    """The expected answer of a split whose branches do not depend on noise."""
    cdef int32_t child
    cdef double total = 0.0, weight = 0.0
    for child in range(tree.nodes[node].first_child, tree.nodes[node].first_child + tree.nodes[node].n_branches):
        if walk.is_followed[child]:
            total += walk.weight[child] * walk.answer[child]
            weight += walk.weight[child]
    return total / weight if weight > 0 else 0.0


cdef inline double climb_split(const View* tree, Walk* walk, int32_t node) noexcept nogil:
    """Find the expected answer of a numeric split and return its derivative times the weight of the split."""
    cdef int32_t first = tree.nodes[node].first_child
    cdef Interval interval = interval_at(tree, walk, node)
    cdef double width = interval.high - interval.low, left, right, answer, change
    left = walk.answer[first if walk.is_followed[first] else first + 1]
    right = walk.answer[first + 1 if walk.is_followed[first + 1] else first]
    if width <= 0:
        walk.answer[node] = 0.5 * left + 0.5 * right
        return 0.0
    answer = right + (interval.middle - interval.low) / width * (left - right)
    walk.answer[node] = answer
    change = (left - right) * interval.middle_slope + (answer - left) * interval.low_slope
    change += (right - answer) * interval.high_slope
    return walk.weight[node] * change / width


cdef void climb(
    const View* tree, Walk* walk, const double* row, const double* leaves, double* out,
) noexcept nogil:
    """Add what every split contributes to the derivative, children before their parents; `leaves` holds answers."""
    cdef int32_t place, node
    cdef const Node* here
    cdef double value
    for place in range(walk.n_reached - 1, -1, -1):
        node = walk.order[place]
        here = &tree.nodes[node]
        if here.n_branches == 0:
            walk.answer[node] = leaves[here.index]
            continue
        value = row[here.attribute]
        if is_numeric(here.index) and value == value:
            out[here.attribute] += climb_split(tree, walk, node)
        else:
            walk.answer[node] = mean_of_branches(tree, walk, node)


cdef int reserve_walk(Walk* walk, Py_ssize_t n_nodes) except -1:
    cdef char* data = <char*> malloc(n_nodes * (4 * sizeof(double) + sizeof(int32_t) + 1))
    if data == NULL:
        raise MemoryError
    walk.below = <double*> data
    walk.slope = walk.below + n_nodes
    walk.weight = walk.slope + n_nodes
    walk.answer = walk.weight + n_nodes
    walk.order = <int32_t*> (walk.answer + n_nodes)
    walk.is_followed = <uint8_t*> (walk.order + n_nodes)
    return 0


def add_slopes(object tree, tuple splits, tuple rows, double tolerance, double[::1] out):
    """Add to `out`, for each attribute, the derivative of a weighted sum of answers by the logarithm of its noise.

    Parameters
    ----------
    tree : Tree
    splits : tuple of four
        For every node, its share when a value is missing, its threshold, the largest value that takes the first branch,
        and its limits (see `fill_limits`).
    rows : tuple of three
        The rows, NaN where a value is missing; 1 / noise of every attribute, 0 where there is none; and what every row
        of the tree's values adds to the weighted sum, for each row.
    tolerance : weight below which a branch is left out; it then counts like the other branch.
    """
    cdef const Node[::1] nodes = tree.nodes
    cdef const uint8_t[::1] subsets = tree.subsets
    cdef const int32_t[::1] n_levels = tree.n_levels
    cdef const double[::1] shares = splits[0], thresholds = splits[1], last = splits[2], inverse = rows[1]
    cdef const int32_t[:, ::1] limits = splits[3]
    cdef const double[:, ::1] X = rows[0], leaves = rows[2]
    cdef Py_ssize_t row, n_rows = X.shape[0]
    cdef View view
    cdef Walk walk
    if n_rows == 0:
        return
    view.nodes, view.n_levels, view.strict, view.tolerance = &nodes[0], &n_levels[0], tree.strict, tolerance
    view.subsets = &subsets[0] if subsets.shape[0] > 0 else NULL
    view.shares, view.thresholds, view.last, view.limits = &shares[0], &thresholds[0], &last[0], &limits[0, 0]
    reserve_walk(&walk, nodes.shape[0])
    try:
        with nogil:
            for row in range(n_rows):
                descend(&view, &walk, &X[row, 0], &inverse[0])
                climb(&view, &walk, &X[row, 0], &leaves[row, 0], &out[0])
    finally:
        free(walk.below)
