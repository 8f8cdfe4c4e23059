"""Grows one tree from a table of codes; the loops are in `coded_grow.c` and the headers it includes."""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tremula._kernels.words cimport row_mask_of

cdef extern from "coded_root.h" nogil:
    enum:
        MAX_CELL_CODES
        AHEAD
        GATHERED_BLOCK
        LOCAL_BYTES
        COUNT_MASK
        CLASSES
        NUMBERS
        WEIGHTED_CLASSES
    ctypedef struct Random:
        pass
    ctypedef struct CodedNode:
        pass
    ctypedef struct NumberCell:
        pass
    ctypedef struct NumberPair:
        pass
    ctypedef struct GroupKey:
        pass
    ctypedef struct CodedTable:
        const uint8_t* codes
        int64_t stride
        int64_t attribute_stride
        int64_t n_rows
        int width
        int64_t n_attributes
        const int32_t* attributes
        const int32_t* n_codes
        const int32_t* n_levels
        const int32_t* twins
        const int32_t* missing_code
        const int64_t* first
        const double* low
        const double* high
        const double* values
        int64_t row_stride
        int64_t column_stride
        const uint64_t* bits
        uint64_t two_valued
    ctypedef struct CodedRules:
        int criterion
        int random_threshold
        int64_t n_drawn
        int64_t max_depth
        double min_split_weight
        double min_side_weight
        double tolerance
        double min_variance
    ctypedef struct CodedTree:
        CodedTable table
        CodedRules rules
        Random* random
        int target
        int64_t n_classes
        int64_t n_statistics
        const int64_t* terms
        double term_unit
        const uint32_t* marks
        const int32_t* targets
        const double* numbers
        const double* weights
        uint32_t* rows
        uint32_t* spare_rows
        void* frames
        CodedNode* nodes
        double* statistics
        int64_t n_nodes
        uint8_t* subsets
        int64_t n_subsets
        int64_t* order
        uint32_t* local_origins
        uint8_t* local_codes
        uint32_t* local_marks
        int32_t* local_targets
        double* local_numbers
        double* local_weights
        uint64_t* local_bits
        int64_t local_rows
        uint32_t* node_marks
        int32_t* node_targets
        NumberPair* node_pairs
        double* node_weights
        uint64_t* node_bits
        uint64_t* keys
        uint64_t* spare_keys
        uint32_t* class_number
        uint32_t* class_code
        uint32_t* totals
        uint32_t* left
        int64_t* class_end
        double* left_sums
        double* group_sums
        double* weight_totals
        double* weight_left
        double* weight_terms
        GroupKey* group_keys
        int32_t* group_codes
        int32_t* group_of_level
        uint8_t* best_branch_of_level
        uint8_t* is_refined
        void* cells
        double* levels_of_bins
    bint plant_coded_root(CodedTree* tree, int64_t n_present)

cdef extern from "coded_processor.h" nogil:
    void choose_coded_processor(int plain)
    bint grow_coded_tree(CodedTree* tree)

cdef extern from "logarithm.h" nogil:
    void fill_logarithm_tables()

fill_logarithm_tables()
choose_coded_processor(False)

MAX_COUNT = COUNT_MASK      # multiplicity of a row

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t


def use_plain_processor(bint plain):
    """Switch vector instructions off, or on where the processor has them; for tests."""
    choose_coded_processor(plain)


def code_column(const uint64_t[::1] words, int row_bits, code_t[:] codes):
    """Fill the code of every row of a column whose sorted words are given."""
    cdef int64_t p
    cdef uint64_t row_mask = row_mask_of(row_bits)
    with nogil:
        for p in range(words.shape[0]):
            codes[<int64_t> (words[p] & row_mask)] = <code_t> (words[p] >> row_bits)


# ---- memory

cdef enum:
    MAX_BLOCKS = 32

cdef struct Arena:
    # Blocks that never grow and are given back together.
    void* blocks[MAX_BLOCKS]
    int n_blocks
    bint failed


cdef void* take(Arena* arena, int64_t n, size_t size, bint cleared=True) noexcept nogil:
    """Memory for n items, cleared unless all of it is written before it is read."""
    cdef void* block = calloc(n + 1, size) if cleared else malloc((n + 1) * size)
    arena.blocks[arena.n_blocks] = block
    arena.n_blocks += 1
    arena.failed |= block == NULL
    return block


cdef void allocate_for_rows(CodedTree* tree, Arena* arena, int64_t n_present) noexcept nogil:
    """What has an item for each row of the sample, or of the local copy."""
    cdef int64_t n = n_present + 2 * AHEAD + GATHERED_BLOCK
    tree.rows = <uint32_t*> take(arena, n, sizeof(uint32_t))
    tree.spare_rows = <uint32_t*> take(arena, n, sizeof(uint32_t))
    tree.node_marks = <uint32_t*> take(arena, n, sizeof(uint32_t))
    tree.keys = <uint64_t*> take(arena, n, sizeof(uint64_t), False)
    tree.spare_keys = <uint64_t*> take(arena, n, sizeof(uint64_t), False)
    tree.local_rows = LOCAL_BYTES // tree.table.stride
    if tree.table.n_rows <= 2 * tree.local_rows or tree.table.attribute_stride != tree.table.width:
        tree.local_rows = 0                             # as near as a copy would be, or not by row
    tree.local_codes = <uint8_t*> take(arena, tree.local_rows * tree.table.stride, 1, False)
    tree.local_marks = <uint32_t*> take(arena, tree.local_rows, sizeof(uint32_t))
    tree.local_origins = <uint32_t*> take(arena, tree.local_rows, sizeof(uint32_t))
    if tree.target == NUMBERS:
        tree.node_targets = <int32_t*> take(arena, n, sizeof(int32_t))
        tree.node_pairs = <NumberPair*> take(arena, n, sizeof(NumberPair), False)
        tree.local_targets = <int32_t*> take(arena, tree.local_rows, sizeof(int32_t))
        tree.local_numbers = <double*> take(arena, tree.local_rows, sizeof(double))
    if tree.target == WEIGHTED_CLASSES:
        tree.node_weights = <double*> take(arena, n, sizeof(double))
        tree.local_weights = <double*> take(arena, tree.local_rows, sizeof(double))
    if tree.table.bits != NULL:
        tree.node_bits = <uint64_t*> take(arena, n, sizeof(uint64_t), False)
        tree.local_bits = <uint64_t*> take(arena, tree.local_rows, sizeof(uint64_t), False)


cdef void allocate_for_classes(CodedTree* tree, Arena* arena, int64_t max_levels) noexcept nogil:
    """What has an item for each class, code or level."""
    cdef int64_t n_classes = tree.n_classes + 2
    tree.class_number = <uint32_t*> take(arena, n_classes, sizeof(uint32_t))
    tree.class_code = <uint32_t*> take(arena, n_classes, sizeof(uint32_t))
    tree.totals = <uint32_t*> take(arena, n_classes, sizeof(uint32_t))
    tree.left = <uint32_t*> take(arena, 2 * n_classes, sizeof(uint32_t))
    tree.class_end = <int64_t*> take(arena, n_classes, sizeof(int64_t))
    tree.left_sums = <double*> take(arena, 3 * n_classes, sizeof(double))
    tree.group_sums = <double*> take(arena, max_levels * n_classes, sizeof(double))
    tree.group_keys = <GroupKey*> take(arena, max_levels, sizeof(GroupKey))
    tree.group_codes = <int32_t*> take(arena, max_levels, sizeof(int32_t))
    tree.group_of_level = <int32_t*> take(arena, max_levels, sizeof(int32_t))
    tree.best_branch_of_level = <uint8_t*> take(arena, max_levels, sizeof(uint8_t))
    tree.is_refined = <uint8_t*> take(arena, MAX_CELL_CODES, sizeof(uint8_t))
    tree.levels_of_bins = <double*> take(arena, MAX_CELL_CODES, sizeof(double))
    if tree.target == NUMBERS:
        tree.cells = take(arena, 2 * MAX_CELL_CODES, sizeof(NumberCell))
    elif tree.target == CLASSES:
        tree.cells = take(arena, 2 * MAX_CELL_CODES * n_classes, sizeof(uint32_t))
    else:
        tree.cells = take(arena, 2 * MAX_CELL_CODES * n_classes, sizeof(double))
        tree.weight_totals = <double*> take(arena, n_classes, sizeof(double))
        tree.weight_left = <double*> take(arena, 2 * n_classes, sizeof(double))
        tree.weight_terms = <double*> take(arena, n_classes, sizeof(double))


cdef bint grow_from(CodedTree* tree, Arena* arena, int64_t n_present, int64_t max_levels) noexcept nogil:
    """Allocate the scratch, plant the root and grow; False if there is no memory."""
    cdef int64_t a
    allocate_for_rows(tree, arena, n_present)
    allocate_for_classes(tree, arena, max_levels)
    tree.order = <int64_t*> take(arena, tree.table.n_attributes, sizeof(int64_t))
    if arena.failed:
        return False
    for a in range(tree.table.n_attributes):
        tree.order[a] = a
    return plant_coded_root(tree, n_present) and grow_coded_tree(tree)


# ---- what Python hands over

cdef int64_t take_table(CodedTree* tree, object columns) except -1:
    """Point to the arrays of the columns, which outlive the call; returns the largest number of levels."""
    cdef const uint8_t[::1] codes = columns.codes.ravel("K").view(np.uint8)
    cdef const int32_t[::1] attributes = columns.attributes
    cdef const int32_t[::1] n_codes = columns.n_codes
    cdef const int32_t[::1] n_levels = columns.n_levels
    cdef const int32_t[::1] twins = columns.twins
    cdef const int32_t[::1] missing_code = columns.missing_code
    cdef const int64_t[::1] first = columns.first
    cdef const double[::1] low = columns.low
    cdef const double[::1] high = columns.high
    cdef const double[:, :] values = columns.values
    cdef const uint64_t[::1] bits = columns.bits
    cdef int64_t a, max_levels = 0
    tree.table.codes = &codes[0]
    tree.table.stride = columns.codes.strides[0]
    tree.table.attribute_stride = columns.codes.strides[1]
    tree.table.n_rows = columns.codes.shape[0]
    tree.table.width = columns.codes.itemsize
    tree.table.n_attributes = attributes.shape[0]
    tree.table.attributes = &attributes[0]
    tree.table.n_codes = &n_codes[0]
    tree.table.n_levels = &n_levels[0]
    tree.table.twins = &twins[0]
    tree.table.missing_code = &missing_code[0]
    tree.table.first = &first[0]
    if low is not None:
        tree.table.low = &low[0]
        tree.table.high = &high[0]
    if bits is not None:
        tree.table.bits = &bits[0]
        tree.table.two_valued = columns.two_valued
    tree.table.values = &values[0, 0]
    tree.table.row_stride = values.strides[0] // <int64_t> sizeof(double)
    tree.table.column_stride = values.strides[1] // <int64_t> sizeof(double)
    for a in range(n_levels.shape[0]):
        max_levels = max(max_levels, <int64_t> n_levels[a])
    return max_levels


cdef take_rules(CodedTree* tree, object rules):
    tree.rules.criterion = rules.criterion
    tree.rules.random_threshold = rules.random_threshold
    tree.rules.n_drawn = rules.n_drawn
    tree.rules.max_depth = rules.max_depth
    tree.rules.min_split_weight = rules.min_split_weight
    tree.rules.min_side_weight = rules.min_side_weight
    tree.rules.tolerance = rules.tolerance
    tree.rules.min_variance = rules.min_variance


cdef int64_t take_rows(CodedTree* tree, object rows) except -1:
    """Point to the arrays of the rows, which outlive the call; returns how many rows are in the sample."""
    cdef const uint32_t[::1] marks = rows.marks
    cdef const int32_t[::1] targets = rows.targets
    cdef const double[::1] numbers = rows.numbers
    cdef const double[::1] weights = rows.weights
    cdef const int64_t[:, ::1] terms = rows.terms
    cdef int64_t i, n_present = 0
    tree.marks = &marks[0]
    tree.target = CLASSES if numbers is None else NUMBERS
    tree.n_classes = rows.n_classes
    tree.n_statistics = rows.n_classes if numbers is None else 3
    tree.term_unit = rows.term_unit
    if numbers is not None:
        tree.targets = &targets[0]
        tree.numbers = &numbers[0]
    if weights is not None:
        tree.target = WEIGHTED_CLASSES
        tree.weights = &weights[0]
    if terms is not None:
        tree.terms = &terms[0, 0]
    for i in range(marks.shape[0]):
        n_present += (marks[i] & COUNT_MASK) != 0
    return n_present


def grow(object columns, object rows, object rules, object bit_generator, object node_dtype):
    """Grow a tree.

    Parameters
    ----------
    columns : see `tremula.trees.coding.KernelCodes`
    rows : see `tremula.trees.coding.KernelMarks`
    rules : see `tremula.trees.rules.Rules`
    bit_generator : of a NumPy generator; draws attributes and thresholds
    node_dtype : of the nodes

    Returns
    -------
    nodes, statistics, subsets : arrays
        As those of `tremula._kernels.grow.grow`.
    """
    cdef CodedTree tree
    cdef Arena arena
    cdef int64_t n_present, max_levels
    cdef int i
    cdef bint is_done = False
    memset(&tree, 0, sizeof(CodedTree))
    memset(&arena, 0, sizeof(Arena))
    tree.random = <Random*> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")
    try:
        max_levels = take_table(&tree, columns)
        take_rules(&tree, rules)
        n_present = take_rows(&tree, rows)
        with nogil:
            is_done = grow_from(&tree, &arena, n_present, max_levels)
        if not is_done:
            raise MemoryError("growing a tree")
        nodes = np.empty(tree.n_nodes, node_dtype)
        statistics = np.empty((tree.n_nodes, tree.n_statistics))
        subsets = np.empty(tree.n_subsets, np.uint8)
        copy_out(nodes.view(np.uint8), statistics, subsets, &tree)
        return nodes, statistics, subsets
    finally:
        free(tree.nodes)
        free(tree.statistics)
        free(tree.subsets)
        free(tree.frames)
        for i in range(arena.n_blocks):
            free(arena.blocks[i])


cdef copy_out(uint8_t[::1] nodes, double[:, ::1] statistics, uint8_t[::1] subsets, CodedTree* tree):
    memcpy(&nodes[0], tree.nodes, tree.n_nodes * sizeof(CodedNode))
    memcpy(&statistics[0, 0], tree.statistics, tree.n_nodes * tree.n_statistics * sizeof(double))
    if tree.n_subsets > 0:
        memcpy(&subsets[0], tree.subsets, tree.n_subsets)
