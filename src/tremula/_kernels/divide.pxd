"""Carries a split out: makes the children, decides which are leaves, and divides the sorted lists among the others.

Pending nodes lie in the lists in the order of the stack, the node at hand at the top, so its children may take its
place and more: rows whose value is missing go to every child. The order within a list is kept, nothing is sorted.
"""

from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove, memset

from tremula._kernels.choose cimport has_gathered_values, list_bounds, list_of
from tremula._kernels.grower cimport COUNT_SHIFT, MEASURED, WEIGHTED, Cut, Frame, Grower, Segment
from tremula._kernels.loose cimport part_by_threshold
from tremula._kernels.nodes cimport MULTIWAY_SPLIT, NUMERIC_SPLIT, Node
from tremula._kernels.scan cimport add_row, add_words, first_above, order_groups, tabulate_groups, value_at, weight_of

cdef enum:
    OUT_OF_MEMORY = -1
    UNKNOWN = -2            # branch of a row whose value is missing

cdef enum Flag:             # which of at most two children a row goes to
    NEITHER = 0
    FIRST = 1
    SECOND = 2
    BOTH = 3                # its value is missing


# ---- room

cdef inline bint grow_room(void** buffer, int64_t* capacity, int64_t needed, size_t size) noexcept nogil:
    cdef int64_t new_capacity
    cdef void* new_buffer
    if needed <= capacity[0]:
        return True
    new_capacity = needed + needed // 2 + 64
    new_buffer = realloc(buffer[0], new_capacity * size)
    if new_buffer == NULL:
        return False
    buffer[0] = new_buffer
    capacity[0] = new_capacity
    return True


cdef inline bint room_for_nodes(Grower* g, int64_t n_more) noexcept nogil:
    cdef int64_t capacity = g.nodes_capacity
    if not grow_room(<void**> &g.nodes, &capacity, g.n_nodes + n_more, sizeof(Node)):
        return False
    return grow_room(<void**> &g.statistics, &g.nodes_capacity, g.n_nodes + n_more, g.n_statistics * sizeof(double))


cdef inline bint room_for_rows(Grower* g, int64_t needed) noexcept nogil:
    cdef int64_t capacity = g.rows_capacity
    if not grow_room(<void**> &g.node_rows, &capacity, needed, sizeof(uint32_t)):
        return False
    return grow_room(<void**> &g.node_row_weights, &g.rows_capacity, needed, sizeof(double))


cdef inline bint room_for_spare_rows(Grower* g, int64_t needed) noexcept nogil:
    cdef int64_t capacity = g.spare_rows_capacity
    if not grow_room(<void**> &g.spare_rows, &capacity, needed, sizeof(uint32_t)):
        return False
    return grow_room(<void**> &g.spare_weights, &g.spare_rows_capacity, needed, sizeof(double))


cdef inline bint room_for_frames(Grower* g, int64_t n_more) noexcept nogil:
    cdef int64_t capacity = g.stack_capacity
    if not grow_room(<void**> &g.stack, &capacity, g.stack_size + n_more, sizeof(Frame)):
        return False
    return grow_room(<void**> &g.frame_bounds, &g.stack_capacity, g.stack_size + n_more,
                     (2 * g.n_incomplete + 1) * sizeof(int64_t))


# ---- the branches of the chosen split

cdef inline double threshold_of(Grower* g, int64_t a, const uint64_t* words, const Cut* cut) noexcept nogil:
    """Halfway between the neighbours, on the right side of both whatever the rounding."""
    cdef int64_t attribute = g.attributes[a], first
    cdef double low = value_at(g, words[cut.place - 1], attribute)
    cdef double high = value_at(g, words[cut.place], attribute)
    cdef double threshold = (low + high) / 2
    cdef const uint64_t* base = g.base[a]
    if not isnan(cut.threshold):
        return cut.threshold
    if threshold - threshold != 0.0:                    # the sum overflowed
        threshold = low / 2 + high / 2
    if g.rules.strict:
        return threshold if threshold > low else high
    if threshold >= high:
        threshold = low
    if not g.rules.observed_threshold:
        return threshold
    first = first_above(g, base, 0, g.base_length[a], attribute, threshold) - 1
    while not g.present[base[first] & g.row_mask]:
        first -= 1
    return value_at(g, base[first], attribute)


cdef inline bint segment_list(Grower* g, const Cut* cut, const uint64_t* words, int64_t start, int64_t end,
                              Node* node) noexcept nogil:
    """Cut the list of the split's attribute in stretches, each going to one child; write the test into the node."""
    cdef int64_t a = cut.attribute, attribute = g.attributes[a], group, level, order, n_first
    node.attribute = <int32_t> attribute
    node.index = cut.kind
    node.n_branches = 2
    if cut.kind == NUMERIC_SPLIT:
        node.threshold = threshold_of(g, a, words, cut)
        g.segments[0] = Segment(start, cut.place, 0)
        g.segments[1] = Segment(cut.place, end, 1)
        g.n_segments = 2
        return True
    node.threshold = NAN
    tabulate_groups(g, words, start, end)
    g.n_segments = g.n_groups
    if cut.kind == MULTIWAY_SPLIT:
        node.n_branches = g.n_levels[attribute]
        for group in range(g.n_groups):
            level = <int64_t> value_at(g, words[g.group_start[group]], attribute)
            g.segments[group] = Segment(g.group_start[group], g.group_start[group + 1], level)
        return True
    order = (cut.place - 1) // g.n_groups
    n_first = cut.place - order * g.n_groups
    order_groups(g, order)
    if not grow_room(<void**> &g.subsets, &g.subsets_capacity, g.n_subsets + g.n_levels[attribute], sizeof(uint8_t)):
        return False
    node.index = <int32_t> g.n_subsets
    memset(g.subsets + g.n_subsets, 2, g.n_levels[attribute])
    for order in range(g.n_groups):
        group = g.group_order[order].group
        level = <int64_t> value_at(g, words[g.group_start[group]], attribute)
        g.subsets[g.n_subsets + level] = order >= n_first
        g.segments[group] = Segment(g.group_start[group], g.group_start[group + 1], order >= n_first)
    g.n_subsets += g.n_levels[attribute]
    return True


cdef inline void measure_children(Grower* g, const Frame* frame, const uint64_t* words, int64_t n_branches,
                                  int64_t n_unknown, double* statistics) noexcept nogil:
    """Statistics of every child; where values are missing also the children's shares, and BOTH as those rows' flag."""
    cdef int64_t i, p, child
    cdef double known = 0.0
    memset(statistics, 0, n_branches * g.n_statistics * sizeof(double))
    for i in range(g.n_segments):
        child = g.segments[i].child
        add_words(g, words, g.segments[i].start, g.segments[i].end, statistics + child * g.n_statistics)
    if n_unknown == 0:
        return
    for child in range(n_branches):
        g.shares[child] = weight_of(g, statistics + child * g.n_statistics)
        known += g.shares[child]
    for child in range(n_branches):
        g.shares[child] /= known
    for p in range(frame.start, frame.end):
        g.flag[g.node_rows[p]] = BOTH
    for i in range(g.n_segments):
        for p in range(g.segments[i].start, g.segments[i].end):
            g.flag[words[p] & g.row_mask] = NEITHER
    for p in range(frame.start, frame.end):
        if g.flag[g.node_rows[p]] == BOTH:
            for child in range(n_branches):
                if g.shares[child] > 0.0:
                    add_row(g, g.node_rows[p], g.node_row_weights[p] * g.shares[child],
                            statistics + child * g.n_statistics)


# ---- leaves

cdef inline bint is_terminal(Grower* g, const double* statistics, double weight, int64_t depth) noexcept nogil:
    cdef int64_t code, n_present = 0
    cdef double squares
    if weight < g.rules.min_split_weight - 1e-9 or depth >= g.rules.max_depth or weight <= 0.0:
        return True
    if g.rows_kind == MEASURED:
        squares = statistics[2] - statistics[1] * statistics[1] / weight
        return squares <= 1e-14 * statistics[2] or squares / weight <= g.rules.min_variance     # rounding, or constant
    for code in range(g.n_classes):
        n_present += statistics[code] > 0.0
    return n_present < 2


cdef inline void make_leaf(Node* node, double weight) noexcept nogil:
    node.threshold = 0.0
    node.weight = weight
    node.attribute = -1
    node.first_child = 0
    node.n_branches = 0
    node.index = -1


# ---- dividing lists

cdef inline int64_t keep_first(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag,
                               uint64_t row_mask) noexcept nogil:
    """Keep words flagged FIRST, without a branch; where they end."""
    cdef int64_t p, q = start
    cdef uint64_t word
    for p in range(start, end):
        word = words[p]
        words[q] = word
        q += flag[word & row_mask]
    return q


cdef inline int64_t divide_all(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag, uint64_t row_mask,
                               uint64_t* spare) noexcept nogil:
    """Keep words flagged FIRST in place, put all others aside, without a branch; where the first end."""
    cdef int64_t p, q = start
    cdef uint64_t word
    for p in range(start, end):
        word = words[p]
        words[q] = word
        spare[p - q] = word
        q += flag[word & row_mask] & 1
    return q


cdef inline int64_t divide_two(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag, uint64_t row_mask,
                               uint64_t* spare, int64_t* n_second) noexcept nogil:
    """As `divide_all`, with words flagged NEITHER left out."""
    cdef int64_t p, q = start, r = 0
    cdef uint64_t word
    cdef uint8_t flagged
    for p in range(start, end):
        word = words[p]
        flagged = flag[word & row_mask]
        words[q] = word
        spare[r] = word
        q += flagged & 1
        r += flagged >> 1
    n_second[0] = r
    return q


cdef inline int64_t divide_two_sharing(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag,
                                       uint64_t row_mask, uint64_t* spare, int64_t* n_second) noexcept nogil:
    """As `divide_two`, with words flagged BOTH in both parts: their weight is now a fraction, no longer in the word."""
    cdef int64_t p, q = start, r = 0
    cdef uint64_t word
    cdef uint64_t count_of_flag[4]
    cdef uint8_t flagged
    count_of_flag[0] = count_of_flag[1] = count_of_flag[2] = ~(<uint64_t> 0)
    count_of_flag[3] = (<uint64_t> 1 << COUNT_SHIFT) - 1
    for p in range(start, end):
        word = words[p]
        flagged = flag[word & row_mask]
        word &= count_of_flag[flagged]
        words[q] = word
        spare[r] = word
        q += flagged & 1
        r += flagged >> 1
    n_second[0] = r
    return q


cdef inline bint divide_in_two(Grower* g, int64_t a, int64_t start, int64_t end, bint sharing, int64_t n_branches,
                               int64_t n_survivors) noexcept nogil:
    """One or two children go on; fills `sizes`."""
    cdef int64_t n_second = 0, place
    if n_survivors == 1 and not sharing:
        g.sizes[0] = keep_first(g.lists[a], start, end, g.flag, g.row_mask) - start
        return True
    if not grow_room(<void**> &g.spare, &g.spare_capacity, end - start + 1, sizeof(uint64_t)):
        return False
    if sharing and g.rows_kind == WEIGHTED:
        place = divide_two_sharing(g.lists[a], start, end, g.flag, g.row_mask, g.spare, &n_second)
    elif n_branches == 2 and not sharing:
        place = divide_all(g.lists[a], start, end, g.flag, g.row_mask, g.spare)
        n_second = end - place
    else:
        place = divide_two(g.lists[a], start, end, g.flag, g.row_mask, g.spare, &n_second)
    g.sizes[0] = place - start
    g.sizes[1] = n_second
    if not grow_room(<void**> &g.lists[a], &g.capacity[a], place + n_second, sizeof(uint64_t)):
        return False
    memcpy(g.lists[a] + place, g.spare, n_second * sizeof(uint64_t))
    return True


cdef inline bint divide_in_many(Grower* g, int64_t a, int64_t start, int64_t end, int64_t n_survivors) noexcept nogil:
    """Any number of children, words of unknown rows copied to each; fills `sizes`."""
    cdef uint64_t* words = g.lists[a]
    cdef uint64_t word
    cdef int64_t p, s, total = 0, survivor
    memset(g.sizes, 0, n_survivors * sizeof(int64_t))
    for p in range(start, end):
        survivor = g.branch[words[p] & g.row_mask]
        if survivor >= 0:
            g.sizes[survivor] += 1
        elif survivor == UNKNOWN:
            for s in range(n_survivors):
                g.sizes[s] += 1
    for s in range(n_survivors):
        g.places[s] = total
        total += g.sizes[s]
    if not grow_room(<void**> &g.spare, &g.spare_capacity, total + 1, sizeof(uint64_t)):
        return False
    if not grow_room(<void**> &g.lists[a], &g.capacity[a], start + total, sizeof(uint64_t)):
        return False
    words = g.lists[a]
    for p in range(start, end):
        word = words[p]
        survivor = g.branch[word & g.row_mask]
        if survivor >= 0:
            g.spare[g.places[survivor]] = word
            g.places[survivor] += 1
        elif survivor == UNKNOWN:
            if g.rows_kind == WEIGHTED:
                word &= (<uint64_t> 1 << COUNT_SHIFT) - 1
            for s in range(n_survivors):
                g.spare[g.places[s]] = word
                g.places[s] += 1
    memcpy(words + start, g.spare, total * sizeof(uint64_t))
    return True


cdef inline int64_t divide_rows(Grower* g, const Frame* frame, int64_t n_survivors) noexcept nogil:
    """The rows and weights of the node, as `divide_in_many` does a list."""
    cdef int64_t p, s, total = 0, survivor
    memset(g.sizes, 0, n_survivors * sizeof(int64_t))
    for p in range(frame.start, frame.end):
        survivor = g.branch[g.node_rows[p]]
        for s in range(n_survivors):
            g.sizes[s] += survivor == s or survivor == UNKNOWN
    for s in range(n_survivors):
        g.places[s] = total
        total += g.sizes[s]
    if not room_for_rows(g, frame.start + total) or not room_for_spare_rows(g, total):
        return OUT_OF_MEMORY
    for p in range(frame.start, frame.end):
        survivor = g.branch[g.node_rows[p]]
        for s in range(n_survivors):
            if survivor == s or survivor == UNKNOWN:
                g.spare_rows[g.places[s]] = g.node_rows[p]
                g.spare_weights[g.places[s]] = g.node_row_weights[p] * (g.shares[s] if survivor == UNKNOWN else 1.0)
                g.places[s] += 1
    memcpy(g.node_rows + frame.start, g.spare_rows, total * sizeof(uint32_t))
    memcpy(g.node_row_weights + frame.start, g.spare_weights, total * sizeof(double))
    return total


cdef inline void flag_rows(Grower* g, const Frame* frame, const uint64_t* words, bint many,
                           int64_t n_unknown) noexcept nogil:
    """Where each row goes: a flag for one or two survivors; by number for many, and wherever rows have a list."""
    cdef int64_t i, p, survivor
    cdef uint8_t flag
    if n_unknown > 0:
        for p in range(frame.start, frame.end):
            if g.flag[g.node_rows[p]] == BOTH:
                g.branch[g.node_rows[p]] = UNKNOWN
    for i in range(g.n_segments):
        survivor = g.survivor[g.segments[i].child]
        if many or g.has_missing:
            for p in range(g.segments[i].start, g.segments[i].end):
                g.branch[words[p] & g.row_mask] = <int32_t> survivor
        if not many:
            flag = NEITHER if survivor < 0 else (FIRST if survivor == 0 else SECOND)
            for p in range(g.segments[i].start, g.segments[i].end):
                g.flag[words[p] & g.row_mask] = flag


cdef inline int64_t* bounds_of_frame(Grower* g, int64_t frame) noexcept nogil:
    return g.frame_bounds + frame * (2 * g.n_incomplete + 1)


cdef inline int64_t already_divided(Grower* g, const Cut* cut) noexcept nogil:
    """The attribute of a numeric cut, whose list is in order once a second child that goes on alone is moved; or -1."""
    cdef uint64_t* words = g.lists[cut.attribute]
    if cut.kind != NUMERIC_SPLIT or g.has_missing:
        return -1
    if g.survivor[0] < 0:
        memmove(words + g.segments[0].start, words + g.segments[1].start, g.sizes[0] * sizeof(uint64_t))
    return cut.attribute


cdef inline bint divide_lists(Grower* g, const Frame* frame, int64_t n_branches, int64_t n_survivors, bint sharing,
                              int64_t divided) noexcept nogil:
    """Divide every list but that of attribute `divided`; write the bounds of the survivors' frames.

    These lie at the top of the stack.
    """
    cdef int64_t a, start, end, place, s, slot, first = g.stack_size - n_survivors
    cdef int64_t* bounds
    for a in range(g.n_attributes):
        list_bounds(g, frame, a, &start, &end)
        slot = g.incomplete_slot[a]
        if not g.has_missing and not ((g.lists[a][start] ^ g.lists[a][end - 1]) & g.rank_mask):
            continue        # constant here, so never looked at again below
        if a == divided:
            continue
        if n_survivors > 2:
            if not divide_in_many(g, a, start, end, n_survivors):
                return False
        elif not divide_in_two(g, a, start, end, sharing, n_branches, n_survivors):
            return False
        if slot >= 0:
            place = start
            for s in range(n_survivors):
                bounds = bounds_of_frame(g, first + s) + 2 * slot
                bounds[0] = place
                place += g.sizes[s]
                bounds[1] = place
    return True


# ---- the whole step

cdef inline int64_t mark_survivors(Grower* g, int64_t first_child, int64_t n_branches, int64_t depth) noexcept nogil:
    """Make every child a leaf; number those that will be split further."""
    cdef int64_t child, n_survivors = 0
    cdef double weight
    cdef double* statistics
    for child in range(n_branches):
        statistics = g.statistics + (first_child + child) * g.n_statistics
        weight = weight_of(g, statistics)
        make_leaf(&g.nodes[first_child + child], weight)
        g.survivor[child] = -1
        if not is_terminal(g, statistics, weight, depth):
            g.survivor[child] = n_survivors
            n_survivors += 1
    return n_survivors


cdef inline bint too_few_heavy_branches(Grower* g, int64_t first_child, int64_t n_branches) noexcept nogil:
    cdef int64_t child, n_heavy = 0
    cdef double least = g.rules.min_branch_weight - 1e-9
    for child in range(n_branches):
        n_heavy += weight_of(g, g.statistics + (first_child + child) * g.n_statistics) >= least
    return n_heavy < 2


cdef inline void count_survivors(Grower* g) noexcept nogil:
    """`sizes` of the survivors, where no value is missing."""
    cdef int64_t i, s
    memset(g.sizes, 0, g.n_segments * sizeof(int64_t))
    for i in range(g.n_segments):
        s = g.survivor[g.segments[i].child]
        if s >= 0:
            g.sizes[s] += g.segments[i].end - g.segments[i].start


cdef inline void push_survivors(Grower* g, const Frame* frame, int64_t first_child, int64_t n_branches,
                                bint counted) noexcept nogil:
    """Put the survivors on the stack; `places` is where the region of each begins."""
    cdef int64_t child, s, place = frame.start
    for child in range(n_branches):
        s = g.survivor[child]
        if s >= 0:
            g.stack[g.stack_size] = Frame(place, place + g.sizes[s], first_child + child, frame.depth + 1, counted)
            g.places[s] = place
            place += g.sizes[s]
            g.stack_size += 1


cdef inline void divide_loose_rows(Grower* g, const uint64_t* words) noexcept nogil:
    """A loose node's rows to its children, from the list that the split was made by."""
    cdef int64_t i, p, s
    for i in range(g.n_segments):
        s = g.survivor[g.segments[i].child]
        if s >= 0:
            for p in range(g.segments[i].start, g.segments[i].end):
                g.loose_rows[g.places[s]] = <uint32_t> (words[p] & g.row_mask)
                g.places[s] += 1


cdef inline void keep_survivors_shares(Grower* g, int64_t n_branches) noexcept nogil:
    cdef int64_t child
    for child in range(n_branches):
        if g.survivor[child] >= 0:
            g.shares[g.survivor[child]] = g.shares[child]


cdef inline int spread_rows(Grower* g, const Frame* frame, const uint64_t* words, int64_t n_branches,
                            int64_t n_survivors, int64_t n_unknown) noexcept nogil:
    """Where values are missing: flag the rows and divide them, which fills `sizes`; 0, or OUT_OF_MEMORY."""
    flag_rows(g, frame, words, n_survivors > 2, n_unknown)
    keep_survivors_shares(g, n_branches)
    return OUT_OF_MEMORY if divide_rows(g, frame, n_survivors) < 0 else 0


cdef inline int split_node(Grower* g, const Frame* frame, Cut* cut) noexcept nogil:
    """Carry the cut out; 0, or OUT_OF_MEMORY."""
    cdef int64_t a = cut.attribute, start, end, first_child, n_branches, n_survivors, n_unknown
    cdef int64_t n_subsets = g.n_subsets
    cdef Node node = g.nodes[frame.node]
    cdef uint64_t* words
    if has_gathered_values(g, a):
        start = 0
        end = frame.end - frame.start
        words = part_by_threshold(g, frame, g.attributes[a], cut.threshold, &cut.place)
    else:
        words = list_of(g, frame, a, &start, &end)
    n_unknown = (frame.end - frame.start) - (end - start)
    if not segment_list(g, cut, words, start, end, &node):
        return OUT_OF_MEMORY
    n_branches = node.n_branches
    if not room_for_nodes(g, n_branches) or not room_for_frames(g, n_branches):
        return OUT_OF_MEMORY
    first_child = g.n_nodes
    measure_children(g, frame, words, n_branches, n_unknown, g.statistics + first_child * g.n_statistics)
    if g.rules.branch_veto and too_few_heavy_branches(g, first_child, n_branches):
        g.n_subsets = n_subsets
        return 0
    node.first_child = <int32_t> first_child
    g.nodes[frame.node] = node
    g.n_nodes += n_branches
    n_survivors = mark_survivors(g, first_child, n_branches, frame.depth + 1)
    if n_survivors == 0:
        return 0
    if not g.has_missing:
        count_survivors(g)
    elif spread_rows(g, frame, words, n_branches, n_survivors, n_unknown) < 0:
        return OUT_OF_MEMORY
    push_survivors(g, frame, first_child, n_branches, frame.counted and n_unknown == 0)
    if g.loose:
        divide_loose_rows(g, words)
        return 0
    if not g.has_missing:
        flag_rows(g, frame, words, n_survivors > 2, 0)
    if not divide_lists(g, frame, n_branches, n_survivors, n_unknown > 0, already_divided(g, cut)):
        return OUT_OF_MEMORY
    return 0
