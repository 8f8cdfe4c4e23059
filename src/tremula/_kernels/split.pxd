"""Carries a split out: makes the children, decides which are leaves, and has the lists divided among the others."""

from libc.math cimport INFINITY, NAN, isnan
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tremula._kernels.buffers cimport reserve_frames, reserve_items, reserve_nodes
from tremula._kernels.columns cimport first_above, value_at
from tremula._kernels.criteria cimport ABSOLUTE_ERROR
from tremula._kernels.grower cimport MEASURED, Cut, Frame, Grower, Segment, Stretch
from tremula._kernels.lists cimport has_gathered_values, list_of
from tremula._kernels.medians cimport measure_middle
from tremula._kernels.monotonic cimport bound_children
from tremula._kernels.nodes cimport MISSING_FIRST, MISSING_SECOND, MULTIWAY_SPLIT, NUMERIC_SPLIT, Node
from tremula._kernels.nominal cimport order_groups, tabulate_groups
from tremula._kernels.partition cimport (
    BOTH, NEITHER, already_divided, constant_of_frame, divide_lists, divide_rows, flag_rows,
)
from tremula._kernels.short_lists cimport divide_short_lists
from tremula._kernels.statistics cimport add_row, add_words, weight_of
from tremula._kernels.targets cimport are_constant, has_several
from tremula._kernels.unsorted cimport part_by_threshold


# ---- the branches of the chosen split

cdef inline double threshold_of(Grower* g, const Cut* cut, const Stretch* list) noexcept nogil:
    """Halfway between the neighbours, on the right side of both whatever the rounding."""
    cdef const uint64_t* words = list.words
    cdef int64_t a = cut.attribute, attribute = list.attribute, first
    cdef double low = value_at(g, words[cut.place - 1], attribute)
    cdef double high = value_at(g, words[cut.place], attribute)
    cdef double threshold = (low + high) / 2
    cdef const uint64_t* base = g.columns.base[a]
    if not isnan(cut.threshold):
        return cut.threshold
    if high == INFINITY:                                # known values against missing ones
        return high
    if threshold - threshold != 0.0:                    # the sum overflowed
        threshold = low / 2 + high / 2
    if g.rules.strict:
        return threshold if threshold > low else high
    if threshold >= high:
        threshold = low
    if not g.rules.observed_threshold:
        return threshold
    first = first_above(g, base, 0, g.columns.base_length[a], attribute, threshold) - 1
    while not g.rows.present[base[first] & g.columns.row_mask]:
        first -= 1
    return value_at(g, base[first], attribute)


cdef inline int64_t order_by_cut(Grower* g, const Cut* cut) noexcept nogil:
    """Put the levels in the order that the cut divides; returns how many of them take the first branch."""
    cdef int64_t i, order = (cut.place - 1) // g.groups.n_groups
    if not g.rules.one_level:
        order_groups(g, order)
        return cut.place - order * g.groups.n_groups
    for i in range(g.groups.n_groups):
        g.groups.order[i].group = i
    g.groups.order[0].group = cut.place
    g.groups.order[cut.place].group = 0
    return 1


cdef inline bint segment_by_subset(Grower* g, const Cut* cut, const Stretch* list, Node* node) noexcept nogil:
    """Segments of a split in two sets of levels; False if there is no memory, or no number for the first of them."""
    cdef int64_t n_levels = g.columns.n_levels[list.attribute], missing = g.columns.missing_level[list.attribute]
    cdef int64_t n_first = order_by_cut(g, cut), i, group, level
    cdef uint8_t* branches
    if g.output.n_subsets + n_levels > INT32_MAX:
        return False
    if not reserve_items(<void**> &g.output.subsets, &g.output.subsets_capacity, g.output.n_subsets + n_levels,
                         sizeof(uint8_t)):
        return False
    node.index = <int32_t> g.output.n_subsets
    branches = g.output.subsets + g.output.n_subsets
    memset(branches, 1 if g.rules.one_level else 2, n_levels)       # what the node lacks is not the one level
    if missing >= 0:
        branches[missing] = 2
    for i in range(g.groups.n_groups):
        group = g.groups.order[i].group
        level = <int64_t> value_at(g, list.words[g.groups.start[group]], list.attribute)
        branches[level] = i >= n_first
        g.division.segments[group] = Segment(g.groups.start[group], g.groups.start[group + 1], i >= n_first)
    g.output.n_subsets += n_levels
    if missing >= 0 and branches[missing] < 2:
        node.threshold = 1 + branches[missing]
    return True


cdef inline int32_t kind_of_test(Grower* g, const Cut* cut, const Stretch* list) noexcept nogil:
    """Which branch of a numeric split missing values take, if the node has any."""
    if cut.attribute >= g.columns.n_judged:
        if value_at(g, list.words[list.end - 1], list.attribute) == INFINITY:
            return MISSING_SECOND
    elif g.columns.twins[cut.attribute] >= 0:
        if value_at(g, list.words[list.start], list.attribute) == -INFINITY:
            return MISSING_FIRST
    return NUMERIC_SPLIT


cdef inline bint segment_list(Grower* g, const Cut* cut, const Stretch* list, Node* node) noexcept nogil:
    """Cut the list of the split's attribute in stretches, each going to one child; write the test into the node."""
    cdef int64_t group, level
    node.attribute = <int32_t> list.attribute
    node.index = cut.kind
    node.n_branches = 2
    if cut.kind == NUMERIC_SPLIT:
        node.threshold = threshold_of(g, cut, list)
        node.index = kind_of_test(g, cut, list)
        g.division.segments[0] = Segment(list.start, cut.place, 0)
        g.division.segments[1] = Segment(cut.place, list.end, 1)
        g.division.n_segments = 2
        return True
    node.threshold = NAN
    tabulate_groups(g, list)
    g.division.n_segments = g.groups.n_groups
    if cut.kind != MULTIWAY_SPLIT:
        return segment_by_subset(g, cut, list, node)
    node.n_branches = g.columns.n_levels[list.attribute]
    for group in range(g.groups.n_groups):
        level = <int64_t> value_at(g, list.words[g.groups.start[group]], list.attribute)
        g.division.segments[group] = Segment(g.groups.start[group], g.groups.start[group + 1], level)
    return True


cdef inline void measure_unknown(Grower* g, const Frame* frame, const uint64_t* words, int64_t n_branches,
                                 double* statistics) noexcept nogil:
    """Where values are missing: the children's shares, BOTH as those rows' flag, and their part of the statistics."""
    cdef int64_t i, p, child
    cdef double known = 0.0
    for child in range(n_branches):
        g.division.shares[child] = weight_of(g, statistics + child * g.rows.n_statistics)
        known += g.division.shares[child]
    for child in range(n_branches):
        g.division.shares[child] /= known
    for p in range(frame.start, frame.end):
        g.division.flag[g.pending.rows[p]] = BOTH
    for i in range(g.division.n_segments):
        for p in range(g.division.segments[i].start, g.division.segments[i].end):
            g.division.flag[words[p] & g.columns.row_mask] = NEITHER
    for p in range(frame.start, frame.end):
        if g.division.flag[g.pending.rows[p]] == BOTH:
            for child in range(n_branches):
                if g.division.shares[child] > 0.0:
                    add_row(g, g.pending.rows[p], g.pending.weights[p] * g.division.shares[child],
                            statistics + child * g.rows.n_statistics)


cdef inline void measure_children(Grower* g, const uint64_t* words, int64_t n_branches,
                                  double* statistics) noexcept nogil:
    """Statistics of every child, from the rows whose value is known."""
    cdef int64_t i, child
    memset(statistics, 0, n_branches * g.rows.n_statistics * sizeof(double))
    for i in range(g.division.n_segments):
        child = g.division.segments[i].child
        add_words(g, words, g.division.segments[i].start, g.division.segments[i].end,
                  statistics + child * g.rows.n_statistics)


# ---- leaves

cdef inline bint is_terminal(Grower* g, const double* statistics, double weight, int64_t depth) noexcept nogil:
    cdef int64_t code, n_present = 0
    cdef double squares
    if weight < g.rules.min_split_weight - 1e-9 or depth >= g.rules.max_depth or weight <= 0.0:
        return True
    if g.rows.kind == MEASURED:
        squares = statistics[2] - statistics[1] * statistics[1] / weight
        # What rounding leaves of a constant target, or small variance.
        return squares <= 1e-14 * statistics[2] or squares / weight <= g.rules.min_variance
    if has_several(g):
        return are_constant(g, statistics, weight)
    for code in range(g.rows.n_classes):
        n_present += statistics[code] > 0.0
    return n_present < 2


cdef inline void make_leaf(Node* node, double weight) noexcept nogil:
    node.threshold = 0.0
    node.weight = weight
    node.attribute = -1
    node.first_child = 0
    node.n_branches = 0
    node.index = -1


cdef inline bint too_few_heavy_branches(Grower* g, int64_t first_child, int64_t n_branches) noexcept nogil:
    cdef int64_t child, n_heavy = 0
    cdef double least = g.rules.min_branch_weight - 1e-9
    for child in range(n_branches):
        n_heavy += weight_of(g, g.output.statistics + (first_child + child) * g.rows.n_statistics) >= least
    return n_heavy < 2


# ---- children that are split further

cdef inline void mark_survivors(Grower* g, int64_t first_child, int64_t n_branches, int64_t depth) noexcept nogil:
    """Make every child a leaf; number those that will be split further."""
    cdef int64_t child
    cdef double weight
    cdef double* statistics
    g.division.n_survivors = 0
    for child in range(n_branches):
        statistics = g.output.statistics + (first_child + child) * g.rows.n_statistics
        weight = weight_of(g, statistics)
        make_leaf(&g.output.nodes[first_child + child], weight)
        g.division.survivor[child] = -1
        if not is_terminal(g, statistics, weight, depth):
            g.division.survivor[child] = g.division.n_survivors
            g.division.n_survivors += 1


cdef inline void count_survivors(Grower* g) noexcept nogil:
    """`sizes` of the survivors, where no value is missing."""
    cdef int64_t i, s
    memset(g.division.sizes, 0, g.division.n_segments * sizeof(int64_t))
    for i in range(g.division.n_segments):
        s = g.division.survivor[g.division.segments[i].child]
        if s >= 0:
            g.division.sizes[s] += g.division.segments[i].end - g.division.segments[i].start


cdef inline void push_survivors(Grower* g, const Frame* frame, int64_t first_child, int64_t n_branches,
                                bint counted) noexcept nogil:
    """Put the survivors on the stack; `places` is where the region of each begins."""
    cdef int64_t child, s, place = frame.start
    for child in range(n_branches):
        s = g.division.survivor[child]
        if s >= 0:
            g.pending.frames[g.pending.n_frames] = Frame(place, place + g.division.sizes[s], first_child + child,
                                                         frame.depth + 1, counted, frame.lower, frame.upper)
            memcpy(constant_of_frame(g, g.pending.n_frames), g.node.constant, g.columns.n_attributes)
            g.division.places[s] = place
            place += g.division.sizes[s]
            g.pending.n_frames += 1


cdef inline void divide_unsorted_rows(Grower* g, const uint64_t* words) noexcept nogil:
    """An unsorted node's rows to its children, from the list that the split was made by."""
    cdef int64_t i, p, s
    for i in range(g.division.n_segments):
        s = g.division.survivor[g.division.segments[i].child]
        if s >= 0:
            for p in range(g.division.segments[i].start, g.division.segments[i].end):
                g.unsorted.rows[g.division.places[s]] = <uint32_t> (words[p] & g.columns.row_mask)
                g.division.places[s] += 1


cdef inline void keep_survivors_shares(Grower* g, int64_t n_branches) noexcept nogil:
    cdef int64_t child
    for child in range(n_branches):
        if g.division.survivor[child] >= 0:
            g.division.shares[g.division.survivor[child]] = g.division.shares[child]


cdef inline bint pass_rows_on(Grower* g, const Frame* frame, const Cut* cut, const Stretch* list,
                              const Node* node) noexcept nogil:
    """Put the survivors on the stack and give them their rows; False if there is no memory."""
    cdef bint has_unknown = list.end - list.start < frame.end - frame.start
    if not g.columns.has_missing:
        count_survivors(g)
    else:
        flag_rows(g, frame, list.words, has_unknown)
        keep_survivors_shares(g, node.n_branches)
        if not divide_rows(g, frame):
            return False
    push_survivors(g, frame, node.first_child, node.n_branches, frame.counted and not has_unknown)
    if g.columns.directions != NULL:
        bound_children(g, cut, node)
    if g.unsorted.in_use:
        divide_unsorted_rows(g, list.words)
        return True
    if not g.columns.has_missing:
        flag_rows(g, frame, list.words, False)
    if g.short_lists.in_use:
        divide_short_lists(g, frame, cut)
        return True
    return divide_lists(g, frame, node.n_branches, has_unknown, already_divided(g, cut))


cdef inline Stretch list_to_split(Grower* g, const Frame* frame, Cut* cut) noexcept nogil:
    """The list that a cut was made in; from gathered values it is made now, and the cut's place is filled."""
    cdef int64_t attribute = g.columns.attributes[cut.attribute]
    if not has_gathered_values(g, cut.attribute):
        return list_of(g, frame, cut.attribute)
    return Stretch(part_by_threshold(g, frame, attribute, cut.threshold, &cut.place), 0, frame.end - frame.start,
                   attribute)


cdef inline bint split_node(Grower* g, const Frame* frame, Cut* cut) noexcept nogil:
    """Carry the cut out; False if there is no memory."""
    cdef int64_t first_child, child, n_subsets = g.output.n_subsets
    cdef Node node = g.output.nodes[frame.node]
    cdef Stretch list = list_to_split(g, frame, cut)
    cdef double* statistics
    if not segment_list(g, cut, &list, &node):
        return False
    if not reserve_nodes(g, node.n_branches) or not reserve_frames(g, node.n_branches):
        return False
    first_child = g.output.n_nodes
    statistics = g.output.statistics + first_child * g.rows.n_statistics
    measure_children(g, list.words, node.n_branches, statistics)
    if list.end - list.start < frame.end - frame.start:
        measure_unknown(g, frame, list.words, node.n_branches, statistics)
    if g.rules.criterion == ABSOLUTE_ERROR:
        for child in range(node.n_branches):
            measure_middle(g, frame, &list, child, statistics + child * g.rows.n_statistics)
    if g.rules.branch_veto and too_few_heavy_branches(g, first_child, node.n_branches):
        g.output.n_subsets = n_subsets
        return True
    node.first_child = <int32_t> first_child
    g.output.nodes[frame.node] = node
    g.output.n_nodes += node.n_branches
    mark_survivors(g, first_child, node.n_branches, frame.depth + 1)
    return g.division.n_survivors == 0 or pass_rows_on(g, frame, cut, &list, &node)
