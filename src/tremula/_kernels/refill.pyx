"""Sends many rows down one tree together: each node divides its rows between its children, whose memory is near."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from tremula._kernels.nodes cimport MISSING, Node, is_numeric, missing_branch
from tremula._kernels.route cimport Arrays, TreeView

cdef extern from "division.h" nogil:
    enum:
        ROWS_AHEAD
        ALL_BRANCHES
    ctypedef struct RowColumn:
        const double* values
        int64_t stride
    ctypedef struct Division:
        int64_t n_first
        int64_t n_second
        int64_t n_divided
    Division divide_by_threshold(uint32_t* rows, int64_t n, RowColumn column, double threshold, bint is_strict,
                                 int missing, uint32_t* spare, uint32_t* divided)
    Division divide_by_levels(uint32_t* rows, int64_t n, RowColumn column, const uint8_t* branches, int32_t n_levels,
                              int missing, uint32_t* spare, uint32_t* divided)


cdef inline Division divide(
    const Arrays* tree, const Node* node, const double[:, :] X, uint32_t* rows, int64_t n, uint32_t* spare,
    uint32_t* divided,
) noexcept nogil:
    """Divide the rows of a node between its children, and put those that take both into `divided`."""
    cdef RowColumn column
    cdef int missing = missing_branch(node)
    if missing == MISSING:
        missing = ALL_BRANCHES
    column.values = &X[0, node.attribute]
    column.stride = X.strides[0] // <int64_t> sizeof(double)
    if is_numeric(node.index):
        return divide_by_threshold(rows, n, column, node.threshold, tree.strict, missing, spare, divided)
    return divide_by_levels(
        rows, n, column, tree.subsets + node.index, tree.n_levels[node.attribute], missing, spare, divided
    )


cdef struct Segment:
    # The rows of a node, in the array of all.
    int64_t start, end
    int32_t node


cdef void send_down(
    const Arrays* tree, const double[:, :] X, uint32_t* rows, int64_t n_rows, int32_t[::1] leaves, Segment* pending,
) noexcept nogil:
    """Put the rows in the order of their leaves, and write these; -1 for rows that are divided between branches."""
    cdef uint32_t* spare = rows + n_rows + ROWS_AHEAD
    cdef uint32_t* divided = spare + n_rows
    cdef Segment segment
    cdef Division division
    cdef const Node* node
    cdef int64_t i, middle, end
    cdef Py_ssize_t n_pending = 1
    pending[0] = Segment(0, n_rows, 0)
    while n_pending > 0:
        n_pending -= 1
        segment = pending[n_pending]
        node = &tree.nodes[segment.node]
        if node.n_branches == 0:
            for i in range(segment.start, segment.end):
                leaves[i] = segment.node
            continue
        division = divide(tree, node, X, rows + segment.start, segment.end - segment.start, spare, divided)
        middle = segment.start + division.n_first
        end = middle + division.n_second
        for i in range(division.n_divided):
            rows[end + i] = divided[i]
            leaves[end + i] = -1
        if division.n_second > 0:
            pending[n_pending] = Segment(middle, end, node.first_child + 1)
            n_pending += 1
        if division.n_first > 0:
            pending[n_pending] = Segment(segment.start, middle, node.first_child)
            n_pending += 1


def find_leaves(TreeView tree, const double[:, :] X, uint32_t[::1] rows, int32_t[::1] leaves):
    """Put rows of a table in the order of their leaves in a binary tree, and write these.

    Rows that are divided between branches have -1 in place of a leaf. Those of one leaf stay in their order.
    """
    cdef int64_t i, n_rows = rows.shape[0]
    cdef uint32_t* moved = NULL
    cdef Segment* pending = NULL
    if n_rows == 0:
        return
    moved = <uint32_t*> malloc((3 * n_rows + ROWS_AHEAD) * sizeof(uint32_t))
    pending = <Segment*> malloc((tree.nodes.shape[0] + 1) * sizeof(Segment))
    try:
        if moved == NULL or pending == NULL:
            raise MemoryError("sending rows down a tree")
        with nogil:
            for i in range(n_rows + ROWS_AHEAD):
                moved[i] = rows[i] if i < n_rows else rows[0]
            send_down(&tree.arrays, X, moved, n_rows, leaves, pending)
            for i in range(n_rows):
                rows[i] = moved[i]
    finally:
        free(moved)
        free(pending)
