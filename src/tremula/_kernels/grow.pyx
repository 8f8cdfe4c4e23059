"""Grows one tree, depth first, from columns sorted once.

The kernel follows the rules it is given (see `rules.pxd`) and checks nothing. It works on words (see `words.pxd`): a
sorted list per attribute, which a tree filters by its row weights and then divides in place as it grows.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from numpy.random cimport bitgen_t

from tremula._kernels.buffers cimport reserve_frames, reserve_nodes, reserve_rows
from tremula._kernels.choose cimport choose_split
from tremula._kernels.criteria cimport (
    ABSOLUTE_ERROR, ENTROPY, FIFTH_ROOT_VARIANCE, GAIN_RATIO, GINI, N_CRITERIA, POISSON, SYMMETRIC_UNCERTAINTY,
    VARIANCE, choose_x_log_x, fill_logarithm_tables, is_information, quick_x_log_x, x_log_x_of_many,
)
from tremula._kernels.grower cimport (
    COUNTED, MEASURED, N_ROWS_KINDS, SEVERAL_CLASSES, SEVERAL_NUMBERS, WEIGHTED, WIDE, Cut, Frame, Grower, GroupKey,
    Known, Middle, Record, Segment, Stretch,
)
from tremula._kernels.medians cimport measure_root
from tremula._kernels.nodes cimport Node
from tremula._kernels.partition cimport bounds_of_frame, constant_of_frame
from tremula._kernels.rules cimport Rules
from tremula._kernels.short_lists cimport add_classes, choose_fields, choose_lists, keep_items
from tremula._kernels.split cimport is_terminal, make_leaf, split_node
from tremula._kernels.statistics cimport (
    add_row, describe_known, fill_terms, load_counts, weight_of, weight_of_row,
)
from tremula._kernels.walks cimport (
    COLLECTING_WALK_OF, WALK_COUNTED_GAINS, WALK_COUNTED_SQUARES, WALK_COUNTED_TERMS, WALK_MEASURED_SUMS, WALK_MEDIANS,
    WALK_OF, WALK_SEVERAL_COUNTS, WALK_SEVERAL_SUMS, WALK_STATISTICS, WALK_WEIGHTED_GAINS, WALK_WEIGHTED_TERMS,
)
from tremula._kernels.walks_measured cimport walk_measured_sums
from tremula._kernels.walks_weighted cimport CUTS_OF_RUNS
from tremula._kernels.words cimport CLASS_BITS, count_of_mark, mark_bits, rank_mask_of, row_mask_of

cdef enum:
    PRESENT = 1 << CLASS_BITS   # the least mark of a row whose multiplicity is in it and not 0

fill_logarithm_tables()
choose_x_log_x()

# ---- the numbers of walks.h, for Python

CRITERIA = {
    "entropy": ENTROPY,
    "gain_ratio": GAIN_RATIO,
    "symmetric_uncertainty": SYMMETRIC_UNCERTAINTY,
    "gini": GINI,
    "variance": VARIANCE,
    "fifth_root_variance": FIFTH_ROOT_VARIANCE,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE_ERROR,
}
INFORMATION = tuple(name for name, code in CRITERIA.items() if is_information(code))
ROWS_KINDS = {
    "counted": COUNTED,
    "weighted": WEIGHTED,
    "wide": WIDE,
    "measured": MEASURED,
    "several classes": SEVERAL_CLASSES,
    "several numbers": SEVERAL_NUMBERS,
}
WALKS = {
    "counted gains": WALK_COUNTED_GAINS,
    "counted squares": WALK_COUNTED_SQUARES,
    "counted terms": WALK_COUNTED_TERMS,
    "weighted gains": WALK_WEIGHTED_GAINS,
    "weighted terms": WALK_WEIGHTED_TERMS,
    "measured sums": WALK_MEASURED_SUMS,
    "medians": WALK_MEDIANS,
    "several counts": WALK_SEVERAL_COUNTS,
    "several sums": WALK_SEVERAL_SUMS,
    "statistics": WALK_STATISTICS,
}


def walk_table():
    """Walk of each kind of rows (lines) and criterion (columns), and of rows of which every cut is kept; 0 is none."""
    cdef int kind, criterion
    table = [[WALK_OF[kind][criterion] for criterion in range(<int> N_CRITERIA)] for kind in range(<int> N_ROWS_KINDS)]
    return table, [COLLECTING_WALK_OF[kind] for kind in range(<int> N_ROWS_KINDS)]


def read_rules(object rules):
    """Return the rules as the kernel reads them: a dict in the order of its struct."""
    cdef Rules read = rules.__dict__
    return read


def x_log_x(double x):
    """x log2 x as the criteria compute it, for tests."""
    return quick_x_log_x(x)


def x_log_x_in_place(double[::1] values):
    """x log2 x of many as the criteria compute it, for tests."""
    x_log_x_of_many(&values[0], <int> values.shape[0])


# ---- memory

cdef enum:
    MAX_BLOCKS = 40

cdef struct Arena:
    # Blocks that never grow and are given back together.
    void* blocks[MAX_BLOCKS]
    int n_blocks
    bint failed                 # a block could not be had, and is NULL


cdef void* take(Arena* arena, int64_t n, size_t size) noexcept nogil:
    """Allocate memory for n items."""
    cdef void* block = malloc(n * size)
    arena.blocks[arena.n_blocks] = block
    arena.n_blocks += 1
    arena.failed |= block == NULL
    return block


cdef void allocate_for_rows(Grower* g, Arena* arena) noexcept nogil:
    """What has an item for each row of the table."""
    cdef int64_t n = g.rows.n_rows + 1
    if g.rows.kind == WEIGHTED:
        g.rows.weights = <double*> take(arena, n, sizeof(double))
    elif g.rows.kind != COUNTED:
        g.rows.records = <Record*> take(arena, n, sizeof(Record))
    g.division.flag = <uint8_t*> take(arena, n, sizeof(uint8_t))
    g.division.branch = <int32_t*> take(arena, n, sizeof(int32_t))


cdef void allocate_for_present(Grower* g, Arena* arena, int64_t n_present) noexcept nogil:
    """What has an item for each row of the sample."""
    cdef int64_t n = n_present + 1
    if g.short_lists.most_rows > 0:
        g.short_lists.words = <uint64_t*> take(arena, n, sizeof(uint64_t))
        g.short_lists.spare = <uint32_t*> take(arena, n, sizeof(uint32_t))
    g.division.spare_capacity = n
    g.division.spare = <uint64_t*> malloc(n * sizeof(uint64_t))     # may grow
    arena.failed |= g.division.spare == NULL
    if g.unsorted.in_use:
        g.unsorted.rows = <uint32_t*> take(arena, n, sizeof(uint32_t))
        g.unsorted.words = <uint64_t*> take(arena, n, sizeof(uint64_t))
        g.unsorted.spare = <uint64_t*> take(arena, n, sizeof(uint64_t))
        g.unsorted.values = <double*> take(arena, n, sizeof(double))
    if g.rules.n_best > 1 or g.rules.cut_by_ratio:
        g.walk.cuts = <Cut*> take(arena, n, sizeof(Cut))


cdef void allocate_for_medians(Grower* g, Arena* arena, int64_t n_present) noexcept nogil:
    """What the absolute error needs."""
    cdef int64_t n = g.medians.n_targets + 1
    g.medians.weights = <double*> take(arena, n, sizeof(double))
    g.medians.totals = <double*> take(arena, n, sizeof(double))
    g.medians.after = <Middle*> take(arena, n_present + 1, sizeof(Middle))
    g.medians.words = <uint64_t*> take(arena, n_present + 1, sizeof(uint64_t))
    if g.medians.weights != NULL and g.medians.totals != NULL:
        memset(g.medians.weights, 0, n * sizeof(double))
        memset(g.medians.totals, 0, n * sizeof(double))
    g.medians.largest_step = 1
    while 2 * g.medians.largest_step <= g.medians.n_targets:
        g.medians.largest_step *= 2


cdef void allocate_for_attributes(Grower* g, Arena* arena) noexcept nogil:
    """What has an item for each attribute in use."""
    cdef int64_t n = g.columns.n_attributes + 1
    g.columns.lists = <uint64_t**> take(arena, n, sizeof(uint64_t*))
    if g.columns.lists != NULL:
        memset(g.columns.lists, 0, n * sizeof(uint64_t*))
    g.columns.capacity = <int64_t*> take(arena, n, sizeof(int64_t))
    g.columns.slot = <int32_t*> take(arena, n, sizeof(int32_t))
    g.node.bounds = <int64_t*> take(arena, 2 * n, sizeof(int64_t))
    g.node.constant = <uint8_t*> take(arena, n, sizeof(uint8_t))
    g.search.order = <int64_t*> take(arena, n, sizeof(int64_t))
    # Three for an attribute with missing values and a drawn threshold.
    g.search.candidates = <Cut*> take(arena, max(3 * n, <int64_t> g.rules.n_best + 1), sizeof(Cut))


cdef void allocate_for_statistics(Grower* g, Arena* arena) noexcept nogil:
    """What has an item for each class, and for each level."""
    cdef int64_t k = g.rows.n_statistics, n_levels = g.columns.max_levels + 2
    g.node.class_terms = <double*> take(arena, k, sizeof(double))
    g.node.sides = <uint64_t*> take(arena, k, sizeof(uint64_t))
    g.walk.known_statistics = <double*> take(arena, 2 * k, sizeof(double))
    g.walk.left = <double*> take(arena, k, sizeof(double))
    g.walk.left_terms = <double*> take(arena, k, sizeof(double))
    g.walk.right_terms = <double*> take(arena, k, sizeof(double))
    g.walk.run_terms = <double*> take(arena, CUTS_OF_RUNS * (2 * k + 2), sizeof(double))
    g.walk.sides = <uint64_t*> take(arena, k, sizeof(uint64_t))
    g.groups.statistics = <double*> take(arena, n_levels * k, sizeof(double))
    g.groups.start = <int64_t*> take(arena, n_levels + 1, sizeof(int64_t))
    g.groups.order = <GroupKey*> take(arena, n_levels, sizeof(GroupKey))
    g.division.segments = <Segment*> take(arena, n_levels, sizeof(Segment))
    g.division.survivor = <int64_t*> take(arena, n_levels, sizeof(int64_t))
    g.division.sizes = <int64_t*> take(arena, n_levels, sizeof(int64_t))
    g.division.places = <int64_t*> take(arena, n_levels, sizeof(int64_t))
    g.division.shares = <double*> take(arena, n_levels, sizeof(double))
    if g.division.shares != NULL:
        memset(g.division.shares, 0, n_levels * sizeof(double))


cdef void free_all(Grower* g, Arena* arena) noexcept nogil:
    """Give back the arena, and first what may have grown."""
    cdef int64_t a
    cdef int i
    if g.columns.lists != NULL and not g.columns.lists_are_base:
        for a in range(g.columns.n_attributes):
            free(g.columns.lists[a])
    free(g.output.nodes)
    free(g.output.statistics)
    free(g.output.subsets)
    free(g.pending.frames)
    free(g.pending.bounds)
    free(g.pending.constant)
    free(g.pending.rows)
    free(g.pending.weights)
    free(g.division.spare)
    free(g.division.spare_rows)
    free(g.division.spare_weights)
    for i in range(arena.n_blocks):
        free(arena.blocks[i])


# ---- the training table

cdef take_columns(Grower* g, Arena* arena, object columns):
    """Point to the arrays of `columns`, which outlives the call."""
    cdef const double[:, :] values = columns.values
    cdef const uint64_t[:, ::1] lists = columns.lists
    cdef const int64_t[::1] lengths = columns.lengths
    cdef uint32_t[:, ::1] short_lists = columns.short_lists
    cdef const int32_t[::1] n_levels = columns.n_levels
    cdef const int32_t[::1] attributes = columns.attributes
    cdef const int32_t[::1] twins = columns.twins
    cdef const int32_t[::1] missing_level = columns.missing_level
    cdef const uint32_t[:, ::1] ranks = columns.ranks
    cdef const int8_t[::1] directions = columns.directions
    cdef int64_t a
    g.columns.values = &values[0, 0]
    g.columns.row_stride = values.strides[0] // <int64_t> sizeof(double)
    g.columns.column_stride = values.strides[1] // <int64_t> sizeof(double)
    g.columns.n_levels = &n_levels[0]
    for a in range(n_levels.shape[0]):
        g.columns.max_levels = max(g.columns.max_levels, <int64_t> n_levels[a])
    g.columns.n_attributes = attributes.shape[0]
    g.columns.attributes = &attributes[0]
    g.columns.n_judged = columns.n_judged
    g.columns.twins = &twins[0]
    g.columns.missing_level = &missing_level[0]
    g.columns.row_bits = columns.row_bits
    g.columns.row_mask = row_mask_of(g.columns.row_bits)
    g.columns.rank_mask = rank_mask_of(g.columns.row_bits)
    g.columns.lists_are_base = columns.use_up
    g.unsorted.in_use = columns.unsorted
    if ranks is not None:
        g.columns.ranks = &ranks[0, 0]
    if directions is not None:
        g.columns.directions = &directions[0]
    g.columns.base = <const uint64_t**> take(arena, g.columns.n_attributes, sizeof(uint64_t*))
    g.columns.base_length = <int64_t*> take(arena, g.columns.n_attributes, sizeof(int64_t))
    if short_lists is not None:
        g.short_lists.most_rows = columns.most_listed
        g.short_lists.items = <uint32_t**> take(arena, g.columns.n_attributes, sizeof(uint32_t*))
    if arena.failed:
        return
    if short_lists is not None:
        for a in range(g.columns.n_attributes):
            g.short_lists.items[a] = &short_lists[attributes[a], 0]
        return
    for a in range(g.columns.n_attributes):
        g.columns.base[a] = &lists[attributes[a], 0]
        g.columns.base_length[a] = lengths[attributes[a]]


cdef describe_rows(Grower* g, object rows, int64_t n_rows):
    """Point to the arrays of `rows` that say how rows are counted, and choose their kind."""
    cdef const uint16_t[::1] marks = rows.marks
    cdef const int32_t[::1] codes = rows.codes
    cdef const int64_t[:, ::1] terms = rows.terms
    cdef const int32_t[::1] target_ranks = rows.target_ranks
    cdef const double[::1] targets = rows.targets_in_order
    if marks is not None:
        g.rows.kind = COUNTED if rows.weights is None else WEIGHTED
        g.rows.marks = &marks[0]
    else:
        g.rows.kind = WIDE if codes is not None else MEASURED
    if codes is not None:
        g.rows.codes = &codes[0]
    if terms is not None:
        g.rows.terms = &terms[0, 0]
        g.rows.n_terms = terms.shape[1]
        g.rows.n_steps = terms.shape[0] - 1
    g.rows.n_rows = n_rows
    g.rows.term_unit = rows.term_unit
    g.rows.n_classes = rows.n_classes
    g.rows.n_statistics = 3 if g.rows.kind == MEASURED else g.rows.n_classes
    if rows.targets is not None:
        describe_targets(g, rows.targets)
    if target_ranks is not None:
        g.rows.n_statistics = 5
        g.medians.n_targets = targets.shape[0] - 1
        g.medians.ranks = &target_ranks[0]
        g.medians.targets = &targets[0]


cdef describe_targets(Grower* g, object targets):
    """Point to the arrays of several targets."""
    cdef const int32_t[:, ::1] codes = targets.codes
    cdef const double[:, ::1] numbers = targets.numbers
    cdef const double[::1] least_variances = targets.least_variances
    g.targets.n_outputs = targets.n_outputs
    g.targets.are_counted = targets.are_counted
    g.rows.n_statistics = 1 + g.targets.n_outputs
    if codes is not None:
        g.rows.kind = SEVERAL_CLASSES
        g.targets.n_targets = codes.shape[1]
        g.targets.codes = &codes[0, 0]
    else:
        g.rows.kind = SEVERAL_NUMBERS
        g.targets.n_targets = numbers.shape[1]
        g.targets.numbers = &numbers[0, 0]
        g.targets.least_variances = &least_variances[0]
        g.rows.n_statistics += g.targets.n_targets


cdef int64_t copy_rows(Grower* g, Arena* arena, object rows) except -1:
    """Copy weights and targets to where walks look them up; returns how many rows have a weight."""
    cdef const double[::1] weights = rows.weights
    cdef const double[::1] target = rows.target
    cdef uint8_t* present = <uint8_t*> take(arena, g.rows.n_rows + 1, sizeof(uint8_t))
    cdef int64_t row, n_present = 0
    allocate_for_rows(g, arena)
    if arena.failed:
        return 0
    g.rows.present = present
    with nogil:
        for row in range(g.rows.n_rows):
            if g.rows.kind == COUNTED:
                present[row] = count_of_mark(g.rows.marks[row]) != 0
            else:
                present[row] = weights[row] > 0.0
                if g.rows.kind == WEIGHTED:
                    g.rows.weights[row] = weights[row]
                else:
                    g.rows.records[row].weight = weights[row]
                    if g.rows.kind == WIDE:
                        g.rows.records[row].target.code = g.rows.codes[row]
                    elif g.rows.kind == MEASURED:
                        g.rows.records[row].target.number = target[row]
            n_present += present[row]
    return n_present


# ---- the root

cdef inline int64_t filter_list(Grower* g, const uint64_t* base, int64_t length, uint64_t* words) noexcept nogil:
    """Copy the words of rows present, with their marks; returns their number."""
    cdef int64_t p, q = 0
    cdef uint64_t word, mark
    if g.rows.kind == COUNTED:
        for p in range(length):
            word = base[p]
            mark = g.rows.marks[word & g.columns.row_mask]
            words[q] = word | mark_bits(mark)
            q += mark >= PRESENT
    elif g.rows.marks != NULL:
        for p in range(length):
            word = base[p]
            mark = g.rows.marks[word & g.columns.row_mask]
            words[q] = word | mark_bits(mark)
            q += g.rows.present[word & g.columns.row_mask]
    else:
        for p in range(length):
            word = base[p]
            words[q] = word
            q += g.rows.present[word & g.columns.row_mask]
    return q


cdef bint filter_short_lists(Grower* g, int64_t n_present) noexcept nogil:
    """Leave the rows present in the short lists, and make room for lists of words; False if there is no memory."""
    cdef int64_t a, n = min(n_present, g.short_lists.most_rows)
    choose_fields(g)
    for a in range(g.columns.n_attributes):
        if n_present < g.rows.n_rows:
            keep_items(g.short_lists.items[a], g.rows.n_rows, g.rows.present, g.short_lists.row_mask)
        if g.short_lists.hold_class:
            add_classes(g, g.short_lists.items[a], n_present)
        g.columns.lists[a] = <uint64_t*> malloc((n + 1) * sizeof(uint64_t))
        g.columns.capacity[a] = n + 1
        if g.columns.lists[a] == NULL:
            return False
    g.short_lists.in_use = True
    return True


cdef bint filter_lists(Grower* g, int64_t n_present) noexcept nogil:
    """This tree's lists, unless its nodes are unsorted; False if there is no memory."""
    cdef int64_t a, n
    cdef uint64_t* words
    for a in range(g.columns.n_attributes):
        g.search.order[a] = a
        g.columns.slot[a] = -1
    if g.unsorted.in_use:
        return True
    if g.short_lists.most_rows > 0:
        return filter_short_lists(g, n_present)
    for a in range(g.columns.n_attributes):
        words = <uint64_t*> g.columns.base[a]
        if not g.columns.lists_are_base:
            words = <uint64_t*> malloc((n_present + 1) * sizeof(uint64_t))
        if words == NULL:
            return False
        g.columns.lists[a] = words
        g.columns.capacity[a] = n_present + (not g.columns.lists_are_base)
        n = filter_list(g, g.columns.base[a], g.columns.base_length[a], words)
        if n < n_present:
            g.columns.slot[a] = <int32_t> g.columns.n_incomplete
            g.node.bounds[2 * g.columns.n_incomplete] = 0
            g.node.bounds[2 * g.columns.n_incomplete + 1] = n
            g.columns.n_incomplete += 1
    g.columns.has_missing = g.columns.n_incomplete > 0
    return True


cdef bint plant_root(Grower* g, int64_t n_present) noexcept nogil:
    """Node 0, with all rows present, on the stack unless it is a leaf; False if there is no memory."""
    cdef int64_t row, q = 0
    cdef double weight
    if not reserve_nodes(g, 1) or not reserve_frames(g, 1):
        return False
    memset(g.output.statistics, 0, g.rows.n_statistics * sizeof(double))
    if g.columns.has_missing and not reserve_rows(g, n_present):
        return False
    g.node.counted = g.rows.terms != NULL
    for row in range(g.rows.n_rows):
        if g.rows.present[row]:
            weight = weight_of_row(g, row)
            add_row(g, <uint32_t> row, weight, g.output.statistics)
            if g.columns.has_missing:
                g.pending.rows[q] = <uint32_t> row
                g.pending.weights[q] = weight
            if g.unsorted.in_use:
                g.unsorted.rows[q] = <uint32_t> row
            q += 1
    if g.rules.criterion == ABSOLUTE_ERROR:
        measure_root(g, g.output.statistics)
    weight = weight_of(g, g.output.statistics)
    g.rows.total_weight = weight
    make_leaf(&g.output.nodes[0], weight)
    g.output.n_nodes = 1
    if is_terminal(g, g.output.statistics, weight, 0):
        return True
    memset(constant_of_frame(g, 0), 0, g.columns.n_attributes)
    memcpy(bounds_of_frame(g, 0), g.node.bounds, 2 * g.columns.n_incomplete * sizeof(int64_t))
    g.pending.frames[0] = Frame(0, n_present, 0, 0, g.node.counted, -INFINITY, INFINITY)
    g.pending.n_frames = 1
    return True


# ---- growing

cdef void open_node(Grower* g, const Frame* frame) noexcept nogil:
    """Bring what is known of the node to where the walks look for it."""
    cdef const double* statistics = g.output.statistics + frame.node * g.rows.n_statistics
    cdef int64_t p
    memcpy(g.node.constant, constant_of_frame(g, g.pending.n_frames), g.columns.n_attributes)
    g.node.lower = frame.lower
    g.node.upper = frame.upper
    if g.rows.kind == MEASURED:
        g.node.noise = 1e-14 * statistics[2]
    describe_known(g, statistics, weight_of(g, statistics), &g.node.known)
    g.node.counted = frame.counted
    if g.node.counted:
        load_counts(g, statistics)
    elif g.rows.kind != MEASURED:
        g.node.known.terms = fill_terms(g, statistics, g.node.class_terms)
    if g.columns.has_missing:
        memcpy(g.node.bounds, bounds_of_frame(g, g.pending.n_frames), 2 * g.columns.n_incomplete * sizeof(int64_t))
        if g.rows.kind == WEIGHTED:
            for p in range(frame.start, frame.end):
                g.rows.weights[g.pending.rows[p]] = g.pending.weights[p]
        else:
            for p in range(frame.start, frame.end):
                g.rows.records[g.pending.rows[p]].weight = g.pending.weights[p]


cdef bint grow_all(Grower* g) noexcept nogil:
    """Split pending nodes until none is left; False if there is no memory."""
    cdef Frame frame
    cdef Cut cut
    cdef int64_t chosen
    while g.pending.n_frames > 0:
        g.pending.n_frames -= 1
        frame = g.pending.frames[g.pending.n_frames]
        choose_lists(g, &frame)
        open_node(g, &frame)
        chosen = choose_split(g, &frame)
        if chosen >= 0:
            cut = g.search.candidates[chosen]
            if not split_node(g, &frame, &cut):
                return False
    return True


cdef int64_t walk_variance(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil:
    return walk_measured_sums(g, VARIANCE, list, known, best)


cdef bint grow_from(Grower* g, Arena* arena, int64_t n_present) noexcept nogil:
    """Allocate the scratch, plant the root and grow; False if there is no memory."""
    g.search.walk_variance = walk_variance
    allocate_for_present(g, arena, n_present)
    allocate_for_attributes(g, arena)
    allocate_for_statistics(g, arena)
    if g.rules.criterion == ABSOLUTE_ERROR:
        allocate_for_medians(g, arena, n_present)
    if arena.failed:
        return False
    return filter_lists(g, n_present) and plant_root(g, n_present) and grow_all(g)


# ---- the function that Python calls

def grow(object columns, object rows, object rules, object bit_generator, object node_dtype):
    """Grow a tree.

    Parameters
    ----------
    columns : see `tremula.trees.growing_sorted.KernelColumns`
    rows : see `tremula.trees.growing_sorted.KernelRows`
    rules : see `tremula.trees.rules.Rules`
    bit_generator : of a NumPy generator; draws attributes, thresholds and splits where the rules say so
    node_dtype : of the nodes

    Returns
    -------
    nodes, statistics, subsets : arrays
        Leaves have index -1. Statistics are class weights, or weight, sum and sum of squares of the target; for the
        absolute error also its median and the sum of absolute differences from it; of several targets see `targets`.
    """
    cdef Grower g
    cdef Arena arena
    cdef int64_t n_present
    cdef bint is_done = False
    memset(&g, 0, sizeof(Grower))
    memset(&arena, 0, sizeof(Arena))
    if columns.attributes.shape[0] == 0:
        raise ValueError("a tree needs at least one attribute")
    g.rules = rules.__dict__
    g.search.only_best = (g.rules.n_best == 1 and g.rules.criterion != GAIN_RATIO and not g.rules.average_gain
                          and not g.rules.spread_missing)
    g.search.random = <bitgen_t*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")
    try:
        take_columns(&g, &arena, columns)
        describe_rows(&g, rows, columns.values.shape[0])
        n_present = copy_rows(&g, &arena, rows)
        if not arena.failed:
            with nogil:
                is_done = grow_from(&g, &arena, n_present)
        if not is_done:
            raise MemoryError("growing a tree")
        nodes = np.empty(g.output.n_nodes, node_dtype)
        statistics = np.empty((g.output.n_nodes, g.rows.n_statistics))
        subsets = np.empty(g.output.n_subsets, np.uint8)
        copy_out(nodes.view(np.uint8), statistics, subsets, &g)
        return nodes, statistics, subsets
    finally:
        free_all(&g, &arena)


cdef copy_out(uint8_t[::1] nodes, double[:, ::1] statistics, uint8_t[::1] subsets, Grower* g):
    memcpy(&nodes[0], g.output.nodes, g.output.n_nodes * sizeof(Node))
    memcpy(&statistics[0, 0], g.output.statistics, g.output.n_nodes * g.rows.n_statistics * sizeof(double))
    if g.output.n_subsets > 0:
        memcpy(&subsets[0], g.output.subsets, g.output.n_subsets)
