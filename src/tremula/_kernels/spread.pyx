"""Second moments of a sum of trees under noise: products of the leaves of every two trees, by the chance of both.

For every leaf of a tree the other trees are descended inside the leaf's box, so two leaves meet only where their boxes
overlap. Subtrees reached with a probability below `tol` count with the middle of their values, and add to the bound.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tremula._kernels.nodes cimport Node, branch_taken, is_numeric

cdef extern from "normal.h":
    double normal_below(double z) noexcept nogil

cdef enum Stage:
    MEAN                    # of one tree
    OUTER                   # leaves of the first tree of a pair
    INNER                   # leaves of the second, inside the box of a leaf of the first

cdef enum:
    BY_SHARE = -1           # a row without a value takes every branch
    BY_CHANCE = -2          # noise decides

cdef struct Frame:          # a split on the way to the current node
    int32_t node
    int32_t branch          # the next one to take
    int32_t taken           # a branch, BY_SHARE or BY_CHANCE
    double weight
    double below, above     # what its attribute's interval was before the split; for levels, `below` is their chance

cdef struct Trees:
    const Node* nodes       # of all trees; first_child counts from the first node of the first tree
    const double* share     # of each node, where a value is missing
    const double* threshold
    const double* last      # largest value of the first branch, for tests without noise
    const uint8_t* subsets
    const int32_t* n_levels
    const int32_t* root
    int32_t* entry          # first node of each tree whose test noise touches, or the row's leaf
    const int64_t* start    # of the tree's values in `middle`
    const int32_t* first_output
    const int32_t* n_outputs
    const double* middle    # of the values below each node
    const double* half      # half their range

cdef struct Row:
    const double* x
    const double* inverse   # of the standard deviation of the noise
    double* below           # of each attribute: probability below its interval, and below its upper end
    double* above
    const int32_t* level_start
    double* chance          # of each level
    double* kept            # share of each level that is still in the box
    double* remaining       # of each nominal attribute: chance of what is in the box
    double* saved           # level shares before a split, for each frame
    double* cdf             # of the threshold of each node
    int32_t* cdf_row        # the row it was computed for
    int32_t number
    bint flips

cdef struct Sums:
    double* centre          # mean of each tree, (n_trees, n_margins)
    double* centre_error
    double* reach           # largest distance of a value from the centre
    double* later_reach     # its sum over this tree and, twice, the later ones with a common output
    double* inside          # sum over the leaves of the second tree, by output
    double* inside_error
    double* total
    double* bound
    double tol
    int64_t n_visits
    int64_t max_visits

cdef struct Walk:
    Trees trees
    Row row
    Sums sums
    Frame* stack
    int32_t max_levels
    int32_t n_trees
    int32_t n_margins


cdef inline int32_t way(const Walk* walk, const Node* here) noexcept nogil:
    """The branch that the row takes for certain, BY_SHARE or BY_CHANCE."""
    cdef double x = walk.row.x[here.attribute]
    cdef int32_t branch
    if x != x:
        return BY_SHARE
    if is_numeric(here.index):
        if walk.row.inverse[here.attribute] > 0:
            return BY_CHANCE
        return x > walk.trees.last[here - walk.trees.nodes]
    if walk.row.flips:
        return BY_CHANCE
    branch = branch_taken(here, walk.trees.subsets, walk.trees.n_levels, False, x)
    return branch if branch >= 0 else BY_SHARE


cdef inline double chance_below(Walk* walk, int32_t node, const Node* here) noexcept nogil:
    if walk.row.cdf_row[node] != walk.row.number:
        walk.row.cdf_row[node] = walk.row.number
        walk.row.cdf[node] = normal_below(
            (walk.trees.threshold[node] - walk.row.x[here.attribute]) * walk.row.inverse[here.attribute])
    return walk.row.cdf[node]


cdef inline double narrow_interval(Walk* walk, const Frame* frame, const Node* here) noexcept nogil:
    """Restrict the interval of a numeric attribute to a branch; return what share of its chance is left."""
    cdef double cut = chance_below(walk, frame.node, here)
    cdef double below = frame.below, above = frame.above
    if frame.branch == 0:
        above = cut if cut < above else above
    else:
        below = cut if cut > below else below
    walk.row.below[here.attribute], walk.row.above[here.attribute] = below, above
    return (above - below) / (frame.above - frame.below) if above > below else 0.0


cdef inline double narrow_levels(Walk* walk, const Frame* frame, const Node* here, int depth) noexcept nogil:
    """Restrict the levels of a nominal attribute to a branch; return what share of their chance is left."""
    cdef int32_t level, branch, start = walk.row.level_start[here.attribute]
    cdef const double* saved = walk.row.saved + <int64_t> depth * walk.max_levels
    cdef double left = 0.0
    for level in range(walk.trees.n_levels[here.attribute]):
        branch = branch_taken(here, walk.trees.subsets, walk.trees.n_levels, False, level)
        if branch < 0:
            walk.row.kept[start + level] = saved[level] * walk.trees.share[here.first_child + frame.branch]
        else:
            walk.row.kept[start + level] = saved[level] if branch == frame.branch else 0.0
        left += walk.row.chance[start + level] * walk.row.kept[start + level]
    walk.row.remaining[here.attribute] = left
    return left / frame.below if left > 0 else 0.0


cdef inline void save(Walk* walk, Frame* frame, const Node* here, int depth) noexcept nogil:
    """Keep what is known of the attribute before a split."""
    cdef int32_t attribute = here.attribute
    if is_numeric(here.index):
        frame.below, frame.above = walk.row.below[attribute], walk.row.above[attribute]
    else:
        frame.below = walk.row.remaining[attribute]
        memcpy(walk.row.saved + <int64_t> depth * walk.max_levels, walk.row.kept + walk.row.level_start[attribute],
               walk.trees.n_levels[attribute] * sizeof(double))


cdef inline void restore(Walk* walk, const Frame* frame, const Node* here, int depth) noexcept nogil:
    cdef int32_t attribute = here.attribute
    if is_numeric(here.index):
        walk.row.below[attribute], walk.row.above[attribute] = frame.below, frame.above
    else:
        walk.row.remaining[attribute] = frame.below
        memcpy(walk.row.kept + walk.row.level_start[attribute], walk.row.saved + <int64_t> depth * walk.max_levels,
               walk.trees.n_levels[attribute] * sizeof(double))


cdef inline double weight_of_branch(Walk* walk, Frame* frame, const Node* here, int depth) noexcept nogil:
    if frame.taken == BY_SHARE:
        return frame.weight * walk.trees.share[here.first_child + frame.branch]
    if is_numeric(here.index):
        return frame.weight * narrow_interval(walk, frame, here)
    return frame.weight * narrow_levels(walk, frame, here, depth)


cdef inline void add_inside(Walk* walk, int32_t tree, int32_t node, double weight, Stage stage) noexcept nogil:
    """Add a leaf, or a subtree that is cut off, to the mean of its tree or to the sum inside a box."""
    cdef int32_t k, output
    cdef int64_t place = walk.trees.start[tree] + <int64_t> (node - walk.trees.root[tree]) * walk.trees.n_outputs[tree]
    cdef double* sums = walk.sums.inside
    cdef double* errors = walk.sums.inside_error
    cdef double middle
    if stage == MEAN:
        sums, errors = &walk.sums.centre[tree * walk.n_margins], &walk.sums.centre_error[tree * walk.n_margins]
    for k in range(walk.trees.n_outputs[tree]):
        output = walk.trees.first_output[tree] + k
        middle = walk.trees.middle[place + k]
        if stage == INNER:
            middle -= walk.sums.centre[tree * walk.n_margins + output]
        sums[output] += weight * middle
        errors[output] += weight * walk.trees.half[place + k]


cdef inline bint meet(const Walk* walk, int32_t first, int32_t second) noexcept nogil:
    """Whether two trees add to a common output."""
    return (walk.trees.n_outputs[first] > 1 or walk.trees.n_outputs[second] > 1
            or walk.trees.first_output[first] == walk.trees.first_output[second])


cdef void add_outer(Walk* walk, int32_t tree, int32_t node, double weight, int depth) noexcept nogil:
    """Add the products of a leaf with the leaves of this tree and all later ones; a cut subtree adds to the bound."""
    cdef int32_t k, output, other, n_outputs = walk.trees.n_outputs[tree]
    cdef int64_t place = walk.trees.start[tree] + <int64_t> (node - walk.trees.root[tree]) * n_outputs
    cdef double distance, factor
    if walk.trees.nodes[node].n_branches > 0:
        for k in range(n_outputs):
            output = walk.trees.first_output[tree] + k
            distance = fabs(walk.trees.middle[place + k] - walk.sums.centre[tree * walk.n_margins + output])
            distance += walk.trees.half[place + k]
            walk.sums.bound[output] += weight * distance * walk.sums.later_reach[tree * walk.n_margins + output]
        return
    for other in range(tree, walk.n_trees):
        if walk.trees.nodes[walk.trees.entry[other]].n_branches == 0 or not meet(walk, tree, other):
            continue
        for output in range(walk.n_margins):
            walk.sums.inside[output] = walk.sums.inside_error[output] = 0.0
        visit_leaves(walk, other, weight, INNER, depth)
        factor = 1.0 if other == tree else 2.0
        for k in range(n_outputs):
            output = walk.trees.first_output[tree] + k
            distance = walk.trees.middle[place + k] - walk.sums.centre[tree * walk.n_margins + output]
            walk.sums.total[output] += factor * distance * walk.sums.inside[output]
            walk.sums.bound[output] += factor * fabs(distance) * walk.sums.inside_error[output]


cdef inline int32_t settle(Walk* walk, int32_t node, int32_t* taken) noexcept nogil:
    """Follow tests that noise does not touch; return the first node where it does, or a leaf."""
    cdef const Node* here = &walk.trees.nodes[node]
    while here.n_branches > 0:
        taken[0] = way(walk, here)
        if taken[0] < 0:
            break
        node = here.first_child + taken[0]
        here = &walk.trees.nodes[node]
    return node


cdef void visit_leaves(Walk* walk, int32_t tree, double weight, Stage stage, int floor) noexcept nogil:
    """Visit the leaves of a tree inside the current box, with their probabilities; frames start at `floor`."""
    cdef int depth = floor
    cdef int32_t node = walk.trees.entry[tree], taken = 0
    cdef Frame* frame
    cdef const Node* here
    while walk.sums.n_visits <= walk.sums.max_visits:
        if stage != MEAN:
            walk.sums.n_visits += 1
        node = settle(walk, node, &taken)
        here = &walk.trees.nodes[node]
        if here.n_branches > 0 and weight >= walk.sums.tol and weight > 0:
            frame = &walk.stack[depth]
            frame.node, frame.branch, frame.taken, frame.weight = node, 0, taken, weight
            if taken == BY_CHANCE:
                save(walk, frame, here, depth)
            depth += 1
        elif weight > 0 and stage == OUTER:
            add_outer(walk, tree, node, weight, depth)
        elif weight > 0:
            add_inside(walk, tree, node, weight, stage)
        while depth > floor:
            frame = &walk.stack[depth - 1]
            here = &walk.trees.nodes[frame.node]
            if frame.branch < here.n_branches:
                weight = weight_of_branch(walk, frame, here, depth - 1)
                node = here.first_child + frame.branch
                frame.branch += 1
                if weight > 0:
                    break
                continue
            if frame.taken == BY_CHANCE:
                restore(walk, frame, here, depth - 1)
            depth -= 1
        if depth == floor:
            return


cdef void measure_reach(Walk* walk) noexcept nogil:
    """How far the values of a tree, and of those after it, lie from their means at most."""
    cdef int32_t tree, other, k, output
    cdef int64_t place
    for tree in range(walk.n_trees):
        for k in range(walk.trees.n_outputs[tree]):
            output = walk.trees.first_output[tree] + k
            place = walk.trees.start[tree] + k
            walk.sums.reach[tree * walk.n_margins + output] = walk.trees.half[place] + fabs(
                walk.trees.middle[place] - walk.sums.centre[tree * walk.n_margins + output])
    for output in range(walk.n_margins):
        for tree in range(walk.n_trees - 1, -1, -1):
            place = tree * walk.n_margins + output
            walk.sums.later_reach[place] = walk.sums.reach[place]
            if tree + 1 < walk.n_trees:
                other = (tree + 1) * walk.n_margins + output
                walk.sums.later_reach[place] += walk.sums.later_reach[other] + walk.sums.reach[other]


cdef void start_row(Walk* walk, int32_t n_attributes, const double[::1] own, const double[::1] others,
                    const double[::1] level_shares) noexcept nogil:
    """Put every interval and level into the box, and find the chances of levels."""
    cdef int32_t attribute, level, start, value
    cdef int64_t place
    for attribute in range(n_attributes):
        walk.row.below[attribute], walk.row.above[attribute] = 0.0, 1.0
        walk.row.remaining[attribute] = 1.0
        start = walk.row.level_start[attribute]
        if walk.trees.n_levels[attribute] == 0 or walk.row.x[attribute] != walk.row.x[attribute]:
            continue
        value = <int32_t> walk.row.x[attribute]
        for level in range(walk.trees.n_levels[attribute]):
            walk.row.kept[start + level] = 1.0
            walk.row.chance[start + level] = others[start + value] * level_shares[start + level]
        walk.row.chance[start + value] += own[start + value]
    for place in range(walk.n_trees * walk.n_margins):
        walk.sums.centre[place] = walk.sums.centre_error[place] = walk.sums.reach[place] = 0.0
    walk.sums.n_visits = 0


cdef void add_mean_error(Walk* walk) noexcept nogil:
    """Add what the errors of the trees' means can change to the bound."""
    cdef int32_t tree, output
    cdef double error
    for output in range(walk.n_margins):
        error = 0.0
        for tree in range(walk.n_trees):
            error += walk.sums.centre_error[tree * walk.n_margins + output]
        walk.sums.bound[output] += error * error


cdef void sum_row(Walk* walk) noexcept nogil:
    """Means of the trees, then all pairs; trees that noise does not touch have no part in these."""
    cdef int32_t tree, taken = 0
    for tree in range(walk.n_trees):
        walk.trees.entry[tree] = settle(walk, walk.trees.root[tree], &taken)
        visit_leaves(walk, tree, 1.0, MEAN, 0)
    measure_reach(walk)
    for tree in range(walk.n_trees):
        if walk.trees.nodes[walk.trees.entry[tree]].n_branches > 0:
            visit_leaves(walk, tree, 1.0, OUTER, 0)
    add_mean_error(walk)


cdef class Buffers:
    """Memory of one thread: for trees of this number, depth and number of nodes."""

    cdef double[:, ::1] by_tree, by_margin, by_attribute, by_level
    cdef double[::1] cdf, saved
    cdef int32_t[::1] cdf_row, entry
    cdef uint8_t[::1] stack
    cdef int32_t n_trees, max_levels
    cdef bint flips

    def __init__(self, int32_t n_trees, Py_ssize_t n_margins, Py_ssize_t n_nodes, int depth, n_levels, bint flips):
        self.n_trees, self.flips = n_trees, flips
        self.max_levels = max(n_levels) if flips else 0
        self.by_tree, self.by_margin = np.zeros((4, n_trees * n_margins)), np.zeros((2, n_margins))
        self.by_attribute, self.by_level = np.zeros((3, len(n_levels))), np.zeros((2, sum(n_levels) + 1))
        self.cdf, self.cdf_row = np.zeros(n_nodes), np.full(n_nodes, -1, dtype=np.int32)
        self.entry = np.zeros(n_trees, dtype=np.int32)
        self.saved = np.zeros((2 * depth + 2) * self.max_levels + 1)
        self.stack = np.zeros((2 * depth + 2) * sizeof(Frame), dtype=np.uint8)

    cdef void point(self, Walk* walk):
        """Let a walk use the memory."""
        walk.n_trees, walk.n_margins, walk.max_levels = self.n_trees, <int32_t> self.by_margin.shape[1], self.max_levels
        walk.stack, walk.trees.entry, walk.row.flips = <Frame*> &self.stack[0], &self.entry[0], self.flips
        walk.row.below, walk.row.above, walk.row.remaining = (
            &self.by_attribute[0, 0], &self.by_attribute[1, 0], &self.by_attribute[2, 0])
        walk.row.chance, walk.row.kept = &self.by_level[0, 0], &self.by_level[1, 0]
        walk.row.saved, walk.row.cdf, walk.row.cdf_row = &self.saved[0], &self.cdf[0], &self.cdf_row[0]
        walk.sums.centre, walk.sums.centre_error = &self.by_tree[0, 0], &self.by_tree[1, 0]
        walk.sums.reach, walk.sums.later_reach = &self.by_tree[2, 0], &self.by_tree[3, 0]
        walk.sums.inside, walk.sums.inside_error = &self.by_margin[0, 0], &self.by_margin[1, 0]


cdef class Pairs:
    """The trees of a model as one array of nodes.

    Parameters
    ----------
    nodes, root
        The nodes of all trees, one tree after the other, and the first of each tree. Numbers of children and of subsets
        count from the first tree.
    tests : tuple
        For every node the share of a missing value, the threshold, and the largest value of the first branch.
    levels : tuple
        The subsets of all trees, and the number of levels of every attribute.
    values : tuple
        Start of each tree's values, its first output, its number of outputs, and for every node the middle and half
        of the range of the values below.
    """

    cdef const Node[::1] nodes
    cdef const double[::1] share, threshold, last, middle, half
    cdef const uint8_t[::1] subsets
    cdef const int32_t[::1] n_levels, root, first_output, n_outputs
    cdef const int64_t[::1] start

    def __init__(self, nodes, tests, levels, root, values):
        self.nodes, self.root = nodes, root
        self.share, self.threshold, self.last = tests
        self.subsets, self.n_levels = levels
        self.start, self.first_output, self.n_outputs, self.middle, self.half = values

    cdef void point(self, Walk* walk):
        """Let a walk read the trees."""
        cdef Trees* trees = &walk.trees
        trees.nodes, trees.share, trees.threshold, trees.last = (
            &self.nodes[0], &self.share[0], &self.threshold[0], &self.last[0])
        trees.subsets, trees.n_levels, trees.root = &self.subsets[0], &self.n_levels[0], &self.root[0]
        trees.start, trees.first_output, trees.n_outputs = &self.start[0], &self.first_output[0], &self.n_outputs[0]
        trees.middle, trees.half = &self.middle[0], &self.half[0]

    def run(self, rows, levels, Buffers buffers, double tol, int64_t max_visits,
            double[:, ::1] total, double[:, ::1] bound, int64_t[::1] n_visits):
        """Fill the second central moments of every row, their bounds, and the visits; 0 visits if there were too many.

        Parameters
        ----------
        rows : tuple
            Values, and the inverse of their noise (one row for all rows, or one for each).
        levels : tuple
            Factor of a level's own value, that of the others, shares and start of the levels.
        """
        cdef const double[:, ::1] x = rows[0], inverse = rows[1]
        cdef const double[::1] own = levels[0], others = levels[1], level_shares = levels[2]
        cdef const int32_t[::1] level_start = levels[3]
        cdef Walk walk
        cdef Py_ssize_t row
        self.point(&walk)
        buffers.point(&walk)
        walk.row.level_start = &level_start[0]
        walk.sums.tol, walk.sums.max_visits = tol, max_visits
        with nogil:
            for row in range(x.shape[0]):
                walk.row.x, walk.row.inverse = &x[row, 0], &inverse[row if inverse.shape[0] > 1 else 0, 0]
                walk.row.number = <int32_t> row
                walk.sums.total, walk.sums.bound = &total[row, 0], &bound[row, 0]
                start_row(&walk, <int32_t> x.shape[1], own, others, level_shares)
                sum_row(&walk)
                n_visits[row] = walk.sums.n_visits if walk.sums.n_visits <= max_visits else 0
