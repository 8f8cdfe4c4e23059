"""The record of one node, shared by every kernel: 32 bytes, two to a cache line."""

from libc.stdint cimport int32_t, uint8_t

cdef packed struct Node:
    # numeric split: values up to it (below it, in a strict tree) take the first branch;
    # subset split: 1 or 2 if a missing value takes the first or the second branch
    double threshold
    double weight           # training weight that reached the node; shares of missing values follow it
    int32_t attribute       # column tested, -1 in a leaf
    int32_t first_child     # branches are consecutive nodes from here on; 0 in a leaf
    int32_t n_branches      # 0 in a leaf
    int32_t index           # leaf: its row in `values`; subset split: its first entry in `subsets`; else see below

cdef enum:
    NUMERIC_SPLIT = -1      # two branches, by threshold; a missing value takes both, in shares
    MULTIWAY_SPLIT = -2     # one branch per level of a nominal attribute
    MISSING_FIRST = -3      # two branches, by threshold; a missing value takes the first
    MISSING_SECOND = -4     # the same, and it takes the second
    MISSING = -1            # in place of a branch: no usable value


cdef inline bint is_numeric(int32_t index) noexcept nogil:
    """Whether the index of a split says that it compares a number with a threshold."""
    return index == NUMERIC_SPLIT or index < MULTIWAY_SPLIT


cdef inline int32_t missing_branch(const Node* node) noexcept nogil:
    """The branch that a missing value takes at a split, or MISSING if it takes all of them."""
    if node.index < MULTIWAY_SPLIT:
        return MISSING_FIRST - node.index
    if node.index >= 0 and (node.threshold == 1.0 or node.threshold == 2.0):
        return <int32_t> node.threshold - 1
    return MISSING


cdef inline int32_t branch_taken(const Node* node, const uint8_t* subsets, const int32_t* n_levels, bint strict,
                                 double value) noexcept nogil:
    """The branch that a value takes at a split, or MISSING."""
    cdef int32_t branch
    if is_numeric(node.index):
        if value != value:
            return missing_branch(node)
        return (value > node.threshold) | (strict & (value == node.threshold))
    if not (0 <= value < n_levels[node.attribute]):
        return missing_branch(node)
    if node.index == MULTIWAY_SPLIT:
        return <int32_t> value
    branch = subsets[node.index + <int32_t> value]
    return branch if branch < 2 else missing_branch(node)
