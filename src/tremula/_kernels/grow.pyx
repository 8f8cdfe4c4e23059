"""Grows one tree, depth first, from columns sorted once.

The kernel is told everything by `rules` (see `tremula.trees.growing`); it checks nothing. It works on words: a sorted
list per attribute, which a tree filters by its row weights and then divides in place as it grows.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from numpy.random cimport bitgen_t

from tremula._kernels.choose cimport choose_split
from tremula._kernels.criteria cimport (
    GAIN_RATIO, choose_x_log_x, fill_logarithm_tables, quick_x_log_x, term_of, x_log_x_of_many,
)
from tremula._kernels.divide cimport (
    OUT_OF_MEMORY, bounds_of_frame, is_terminal, make_leaf, room_for_frames, room_for_nodes, room_for_rows, split_node,
)
from tremula._kernels.grower cimport (
    CODE_SHIFT, COUNTED, MEASURED, WEIGHTED, WIDE, Cut, Frame, Grower, GroupKey, Row, Rules, Segment,
)
from tremula._kernels.nodes cimport Node
from tremula._kernels.scan cimport CUTS_OF_RUNS, add_row, describe_whole, load_counts, weight_of, weight_of_row

cdef enum:
    PRESENT = 256           # the least mark of a row whose multiplicity is in it and not 0

fill_logarithm_tables()
choose_x_log_x()


def x_log_x(double x):
    """x log2 x as the criteria compute it, for tests."""
    return quick_x_log_x(x)


def x_log_x_in_place(double[::1] values):
    """x log2 x of many as the criteria compute it, for tests."""
    x_log_x_of_many(&values[0], <int> values.shape[0])


# ---- setting up

cdef Rules read_rules(object rules):
    cdef Rules r
    r.criterion = rules.criterion
    r.subsets = rules.subsets
    r.strict = rules.strict
    r.observed_threshold = rules.observed_threshold
    r.random_threshold = rules.random_threshold
    r.n_best = rules.n_best
    r.n_drawn = rules.n_drawn
    r.max_depth = rules.max_depth
    r.min_split_weight = rules.min_split_weight
    r.min_side_weight = rules.min_side_weight
    r.min_side_share = rules.min_side_share
    r.min_side_fifth = rules.min_side_fifth
    r.min_branch_weight = rules.min_branch_weight
    r.branch_veto = rules.branch_veto
    r.average_gain = rules.average_gain
    r.count_cuts = rules.count_cuts
    r.cut_by_ratio = rules.cut_by_ratio
    r.spread_missing = rules.spread_missing
    r.min_worth = rules.min_worth
    r.tolerance = rules.tolerance
    r.min_variance = rules.min_variance
    return r


cdef bint allocate_scratch(Grower* g, int64_t n_present) noexcept nogil:
    """Room that never grows; False if there is none."""
    cdef int64_t d = g.n_attributes, k = g.n_statistics
    cdef int64_t widest = g.max_levels + 2
    cdef int64_t n_kept = d if d > g.rules.n_best else g.rules.n_best
    g.lists = <uint64_t**> calloc(d + 1, sizeof(uint64_t*))
    g.capacity = <int64_t*> calloc(d + 1, sizeof(int64_t))
    g.incomplete_slot = <int32_t*> malloc((d + 1) * sizeof(int32_t))
    g.bounds = <int64_t*> malloc((2 * d + 2) * sizeof(int64_t))
    g.order = <int64_t*> malloc((d + 1) * sizeof(int64_t))
    g.known = <double*> malloc(2 * k * sizeof(double))
    g.left = <double*> malloc(k * sizeof(double))
    g.left_terms = <double*> malloc(k * sizeof(double))
    g.right_terms = <double*> malloc(k * sizeof(double))
    g.node_terms = <double*> malloc(k * sizeof(double))
    g.run_terms = <double*> malloc(CUTS_OF_RUNS * (2 * k + 2) * sizeof(double))
    g.node_sides = <uint64_t*> malloc(k * sizeof(uint64_t))
    g.sides = <uint64_t*> malloc(k * sizeof(uint64_t))
    g.candidates = <Cut*> malloc((n_kept + 1) * sizeof(Cut))
    g.group_statistics = <double*> malloc(widest * k * sizeof(double))
    g.group_start = <int64_t*> malloc((widest + 1) * sizeof(int64_t))
    g.group_order = <GroupKey*> malloc(widest * sizeof(GroupKey))
    g.segments = <Segment*> malloc(widest * sizeof(Segment))
    g.survivor = <int64_t*> malloc(widest * sizeof(int64_t))
    g.sizes = <int64_t*> malloc(widest * sizeof(int64_t))
    g.places = <int64_t*> malloc(widest * sizeof(int64_t))
    g.shares = <double*> calloc(widest, sizeof(double))
    g.flag = <uint8_t*> malloc(g.n_rows + 1)
    g.branch = <int32_t*> malloc((g.n_rows + 1) * sizeof(int32_t))
    g.spare_capacity = n_present + 1
    g.spare = <uint64_t*> malloc(g.spare_capacity * sizeof(uint64_t))
    g.cuts = NULL
    if g.loose:
        g.loose_rows = <uint32_t*> malloc((n_present + 1) * sizeof(uint32_t))
        g.loose_words = <uint64_t*> malloc((n_present + 1) * sizeof(uint64_t))
        g.loose_spare = <uint64_t*> malloc((n_present + 1) * sizeof(uint64_t))
        g.loose_values = <double*> malloc((n_present + 1) * sizeof(double))
        if g.loose_rows == NULL or g.loose_words == NULL or g.loose_spare == NULL or g.loose_values == NULL:
            return False
    if g.rules.n_best > 1 or g.rules.cut_by_ratio:
        g.cuts = <Cut*> malloc((n_present + 1) * sizeof(Cut))
        if g.cuts == NULL:
            return False
    return (
        g.lists != NULL and g.capacity != NULL and g.incomplete_slot != NULL and g.bounds != NULL and g.order != NULL
        and g.known != NULL and g.left != NULL and g.left_terms != NULL and g.right_terms != NULL
        and g.node_terms != NULL and g.run_terms != NULL and g.node_sides != NULL and g.sides != NULL
        and g.candidates != NULL
        and g.group_statistics != NULL and g.group_start != NULL and g.group_order != NULL and g.segments != NULL
        and g.survivor != NULL and g.sizes != NULL and g.places != NULL and g.shares != NULL and g.flag != NULL
        and g.branch != NULL and g.spare != NULL
    )


cdef void free_all(Grower* g) noexcept nogil:
    cdef int64_t a
    if g.lists != NULL and not g.lists_are_base:
        for a in range(g.n_attributes):
            free(g.lists[a])
    free(g.lists); free(g.capacity); free(g.incomplete_slot); free(g.bounds); free(g.order); free(g.known)
    free(g.left); free(g.left_terms); free(g.right_terms); free(g.node_terms)
    free(g.run_terms); free(g.node_sides); free(g.sides)
    free(g.candidates); free(g.group_statistics); free(g.group_start); free(g.group_order); free(g.segments)
    free(g.survivor); free(g.sizes); free(g.places); free(g.shares); free(g.flag); free(g.branch); free(g.spare)
    free(g.cuts); free(g.row); free(g.row_weight); free(g.nodes); free(g.statistics); free(g.subsets); free(g.stack)
    free(g.frame_bounds)
    free(g.node_rows); free(g.node_row_weights); free(g.spare_rows); free(g.spare_weights); free(g.base)
    free(g.present); free(g.loose_rows); free(g.loose_words); free(g.loose_spare); free(g.loose_values)


cdef bint filter_lists(Grower* g, int64_t n_present) noexcept nogil:
    """This tree's lists, unless it is loose: the words of rows present, in the order they were sorted in."""
    cdef int64_t a, p, q
    cdef uint64_t word, mark
    cdef const uint64_t* base
    cdef uint64_t* words
    g.n_incomplete = 0
    for a in range(g.n_attributes):
        g.order[a] = a
        g.incomplete_slot[a] = -1
    if g.loose:
        return True
    for a in range(g.n_attributes):
        base = g.base[a]
        words = <uint64_t*> base if g.lists_are_base else <uint64_t*> malloc((n_present + 1) * sizeof(uint64_t))
        if words == NULL:
            return False
        g.lists[a] = words
        g.capacity[a] = n_present + (not g.lists_are_base)
        q = 0
        if g.rows_kind == COUNTED:
            for p in range(g.base_length[a]):
                word = base[p]
                mark = g.marks[word & g.row_mask]
                words[q] = word | (mark << CODE_SHIFT)
                q += mark >= PRESENT
        elif g.marks != NULL:
            for p in range(g.base_length[a]):
                word = base[p]
                mark = g.marks[word & g.row_mask]
                words[q] = word | (mark << CODE_SHIFT)
                q += g.present[word & g.row_mask]
        else:
            for p in range(g.base_length[a]):
                word = base[p]
                words[q] = word
                q += g.present[word & g.row_mask]
        if q < n_present:
            g.incomplete_slot[a] = <int32_t> g.n_incomplete
            g.bounds[2 * g.n_incomplete] = 0
            g.bounds[2 * g.n_incomplete + 1] = q
            g.n_incomplete += 1
    g.has_missing = g.n_incomplete > 0
    return True


cdef bint plant_root(Grower* g, int64_t n_present) noexcept nogil:
    """Node 0, with all rows present, on the stack unless it is a leaf."""
    cdef int64_t row, q = 0
    cdef double weight
    if not room_for_nodes(g, 1) or not room_for_frames(g, 1):
        return False
    memset(g.statistics, 0, g.n_statistics * sizeof(double))
    if g.has_missing and not room_for_rows(g, n_present):
        return False
    g.counted = g.terms != NULL
    for row in range(g.n_rows):
        if g.present[row]:
            weight = weight_of_row(g, row)
            add_row(g, <uint32_t> row, weight, g.statistics)
            if g.has_missing:
                g.node_rows[q] = <uint32_t> row
                g.node_row_weights[q] = weight
            if g.loose:
                g.loose_rows[q] = <uint32_t> row
            q += 1
    weight = weight_of(g, g.statistics)
    g.total_weight = weight
    make_leaf(&g.nodes[0], weight)
    g.n_nodes = 1
    if is_terminal(g, g.statistics, weight, 0):
        return True
    memcpy(bounds_of_frame(g, 0), g.bounds, 2 * g.n_incomplete * sizeof(int64_t))
    g.stack[0] = Frame(0, n_present, 0, 0, g.counted)
    g.stack_size = 1
    return True


# ---- growing

cdef void open_node(Grower* g, const Frame* frame) noexcept nogil:
    """Bring what is known of the node to where the walks look for it."""
    cdef const double* statistics = g.statistics + frame.node * g.n_statistics
    cdef int64_t k, p
    if g.rows_kind == MEASURED:
        g.noise = 1e-14 * statistics[2]
    describe_whole(g, statistics, weight_of(g, statistics), &g.node_whole)
    g.counted = frame.counted
    if g.counted:
        load_counts(g, statistics)
    elif g.rows_kind != MEASURED:
        for k in range(g.n_classes):
            g.node_terms[k] = term_of(g.rules.criterion, statistics[k])
    if g.has_missing:
        memcpy(g.bounds, bounds_of_frame(g, g.stack_size), 2 * g.n_incomplete * sizeof(int64_t))
        if g.rows_kind == WEIGHTED:
            for p in range(frame.start, frame.end):
                g.row_weight[g.node_rows[p]] = g.node_row_weights[p]
        else:
            for p in range(frame.start, frame.end):
                g.row[g.node_rows[p]].weight = g.node_row_weights[p]


cdef int grow_all(Grower* g) noexcept nogil:
    cdef Frame frame
    cdef Cut cut
    cdef int64_t chosen
    while g.stack_size > 0:
        g.stack_size -= 1
        frame = g.stack[g.stack_size]
        open_node(g, &frame)
        chosen = choose_split(g, &frame, g.statistics + frame.node * g.n_statistics)
        if chosen >= 0:
            cut = g.candidates[chosen]
            if split_node(g, &frame, &cut) < 0:
                return OUT_OF_MEMORY
    return 0


# ---- the door

def grow(const double[:, :] values, const uint64_t[:, ::1] lists, const int64_t[::1] lengths, int row_bits,
         const int32_t[::1] n_levels, const int32_t[::1] attributes, const int32_t[::1] codes,
         const double[::1] target, const double[::1] weights, const uint16_t[::1] marks, const int64_t[:, ::1] terms,
         double term_unit, int64_t n_classes, object rules, object bit_generator, object node_dtype, bint use_up,
         bint loose, const uint32_t[:, ::1] ranks):
    """Grow a tree.

    Parameters
    ----------
    values, n_levels : the columns; lists, lengths, row_bits : their sorted words
    attributes : which columns to use
    codes : class of each row, or None for a numeric `target`
    weights : of each row; None where `marks` says all
    marks : class of each row in 8 bits and its multiplicity above, 0 where its weight is in `weights`; None if it does
        not fit
    terms, term_unit : fixed-point table of the criterion's f(count), where every row's multiplicity is in `marks`; its
        row m has what a multiplicity of m adds to f(count)
    rules : see `tremula.trees.growing.Rules`
    use_up : whether the sorted lists may be divided themselves, where no value is missing; they are of no use after
    loose, ranks : whether nodes are loose, which they cannot be where values are missing; then the ranks of the values
        by column and row, or None if thresholds are drawn

    Returns
    -------
    nodes, statistics, subsets : arrays
        Leaves have index -1. Statistics are class weights, or weight, sum and sum of squares of the target.
    """
    cdef Grower g
    memset(&g, 0, sizeof(Grower))
    cdef int64_t a, row, n_present = 0
    cdef int status = 0
    cdef uint64_t one = 1
    if attributes.shape[0] == 0:
        raise ValueError("a tree needs at least one attribute")
    g.rules = read_rules(rules)
    g.only_best = (g.rules.n_best == 1 and g.rules.criterion != GAIN_RATIO and not g.rules.average_gain
                   and not g.rules.spread_missing)
    if marks is not None:
        g.rows_kind = COUNTED if weights is None else WEIGHTED
    else:
        g.rows_kind = WIDE if codes is not None else MEASURED
    g.values = &values[0, 0]
    g.row_stride = values.strides[0] // <int64_t> sizeof(double)
    g.column_stride = values.strides[1] // <int64_t> sizeof(double)
    g.n_rows = values.shape[0]
    g.n_classes = n_classes
    g.n_statistics = 3 if g.rows_kind == MEASURED else n_classes
    g.n_levels = &n_levels[0]
    g.max_levels = 0
    for a in range(n_levels.shape[0]):
        if n_levels[a] > g.max_levels:
            g.max_levels = n_levels[a]
    if terms is not None:
        g.terms = &terms[0, 0]
        g.n_terms = terms.shape[1]
        g.n_steps = terms.shape[0] - 1
    g.term_unit = term_unit
    g.n_attributes = attributes.shape[0]
    g.attributes = &attributes[0]
    g.row_bits = row_bits
    g.row_mask = (one << row_bits) - 1
    g.rank_mask = g.row_mask << row_bits
    g.base_length = NULL
    g.lists_are_base = use_up
    g.random = <bitgen_t*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")
    if marks is not None:
        g.marks = &marks[0]
    g.loose = loose
    if ranks is not None:
        g.ranks = &ranks[0, 0]
    if codes is not None:
        g.codes = &codes[0]
    cdef int64_t* base_length = <int64_t*> malloc(g.n_attributes * sizeof(int64_t))
    cdef uint8_t* present = <uint8_t*> malloc(g.n_rows)
    try:
        g.base = <const uint64_t**> malloc(g.n_attributes * sizeof(uint64_t*))
        g.present = present
        g.base_length = base_length
        if base_length == NULL or present == NULL or g.base == NULL:
            raise MemoryError("growing a tree")
        for a in range(g.n_attributes):
            g.base[a] = &lists[attributes[a], 0]
            base_length[a] = lengths[attributes[a]]
        if g.rows_kind == WEIGHTED:
            g.row_weight = <double*> malloc(g.n_rows * sizeof(double))
        elif g.rows_kind != COUNTED:
            g.row = <Row*> malloc(g.n_rows * sizeof(Row))
        if g.row == NULL and g.row_weight == NULL and g.rows_kind != COUNTED:
            raise MemoryError("growing a tree")
        with nogil:
            for row in range(g.n_rows):
                if g.rows_kind == COUNTED:
                    present[row] = (marks[row] >> 8) != 0
                else:
                    present[row] = weights[row] > 0.0
                    if g.rows_kind == WEIGHTED:
                        g.row_weight[row] = weights[row]
                    else:
                        g.row[row].weight = weights[row]
                        if g.rows_kind == WIDE:
                            g.row[row].target.code = codes[row]
                        else:
                            g.row[row].target.number = target[row]
                n_present += present[row]
            if not allocate_scratch(&g, n_present) or not filter_lists(&g, n_present) \
                    or not plant_root(&g, n_present):
                status = OUT_OF_MEMORY
            else:
                status = grow_all(&g)
        if status < 0:
            raise MemoryError("growing a tree")
        nodes = np.empty(g.n_nodes, node_dtype)
        statistics = np.empty((g.n_nodes, g.n_statistics))
        subsets = np.empty(g.n_subsets, np.uint8)
        copy_out(nodes.view(np.uint8), statistics, subsets, &g)
        return nodes, statistics, subsets
    finally:
        free(base_length)
        free_all(&g)


cdef copy_out(uint8_t[::1] nodes, double[:, ::1] statistics, uint8_t[::1] subsets, Grower* g):
    memcpy(&nodes[0], g.nodes, g.n_nodes * sizeof(Node))
    memcpy(&statistics[0, 0], g.statistics, g.n_nodes * g.n_statistics * sizeof(double))
    if g.n_subsets > 0:
        memcpy(&subsets[0], g.subsets, g.n_subsets)
