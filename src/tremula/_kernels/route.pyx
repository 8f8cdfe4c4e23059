"""Sends rows down one tree: leaves, mixed leaf values, labels, visited nodes and the weight that reaches each node.

A row whose value is missing at a split takes the branch that the split names. If it names none, the row goes down every
branch in shares proportional to the branches' training weights: its value there is the sum, over the branches in their
order, of share times value of the branch.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t

from tremula._kernels.nodes cimport MISSING, Node, branch_taken

cdef enum:
    BLOCK = 64              # rows that descend together: their memory accesses overlap


cdef inline Py_ssize_t n_blocks(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + BLOCK - 1) // BLOCK


cdef inline int descend(
    const Arrays* tree, const double[:, :] X, Py_ssize_t start, int count, int32_t* reached,
) except FAILED nogil:
    """Node where each of `count` rows from `start` on stops: its leaf, or the first split at which it has no value."""
    cdef int32_t[BLOCK] moving
    cdef const Node* nodes = tree.nodes
    cdef const uint8_t* subsets = tree.subsets
    cdef const int32_t* n_levels = tree.n_levels
    cdef const Node* here
    cdef int32_t branch
    cdef bint strict = tree.strict
    cdef int k, place, n_kept, n_moving = count
    for place in range(count):
        reached[place] = 0
        moving[place] = place
    while n_moving > 0:
        n_kept = 0
        for k in range(n_moving):
            place = moving[k]
            here = &nodes[reached[place]]
            if here.n_branches == 0:
                continue
            branch = branch_taken(here, subsets, n_levels, strict, X[start + place, here.attribute])
            if branch == MISSING:
                continue
            reached[place] = here.first_child + branch
            moving[n_kept] = place
            n_kept += 1
        n_moving = n_kept
    return 0


cdef int32_t descend_from(const Arrays* tree, const double[:, :] X, Py_ssize_t row, int32_t node) except FAILED nogil:
    """Node where a row starting at `node` stops: its leaf, or the next split at which it has no value."""
    cdef const Node* here = &tree.nodes[node]
    cdef int32_t branch
    while here.n_branches > 0:
        branch = branch_taken(here, tree.subsets, tree.n_levels, tree.strict, X[row, here.attribute])
        if branch == MISSING:
            break
        node = here.first_child + branch
        here = &tree.nodes[node]
    return node


cdef class TreeView:
    """The arrays of one tree, as kernels read them."""

    def __init__(
        self, const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
        const double[:, ::1] values,
    ):
        self.nodes, self.subsets, self.n_levels, self.values = nodes, subsets, n_levels, values
        self.arrays.nodes = &nodes[0]
        self.arrays.subsets = &subsets[0] if subsets.shape[0] > 0 else NULL
        self.arrays.n_levels = &n_levels[0] if n_levels.shape[0] > 0 else NULL
        self.arrays.values = &values[0, 0] if values.shape[0] > 0 else NULL
        self.arrays.n_outputs, self.arrays.strict = values.shape[1], strict


cdef class Mixture:
    """Buffers to mix leaf values where values are missing; see `route.pxd`."""

    def __init__(self, Py_ssize_t depth, Py_ssize_t n_outputs):
        self.depth, self.n_outputs, self.is_ready = depth, n_outputs, False

    cdef int prepare(self) except FAILED:
        """Allocate the buffers, which most calls do not need."""
        self.pending, self.shares = np.empty((self.depth, 2), np.int32), np.empty((self.depth, 2))
        self.sums = np.empty((self.depth, self.n_outputs))
        self.is_ready = True
        return 0


cdef inline int open_level(const Arrays* tree, Mixture mixture, Py_ssize_t level, int32_t node) except FAILED nogil:
    mixture.pending[level, 0], mixture.pending[level, 1] = node, 0
    mixture.shares[level, 0] = weight_of_branches(tree.nodes, &tree.nodes[node])
    mixture.sums[level, :] = 0.0
    return 0


cdef int mix(
    const Arrays* tree, const double[:, :] X, Py_ssize_t row, int32_t start, Mixture mixture,
) except FAILED nogil:
    """Write to mixture.sums[0] the expected leaf value of a row that has no value at the split `start`."""
    cdef const Node* here
    cdef int32_t child, stop
    cdef Py_ssize_t column, index, level = 0
    cdef double share
    if not mixture.is_ready:
        with gil:
            mixture.prepare()
    open_level(tree, mixture, 0, start)
    while True:
        here = &tree.nodes[mixture.pending[level, 0]]
        if mixture.pending[level, 1] == here.n_branches:
            if level == 0:
                return 0
            level -= 1
            for column in range(tree.n_outputs):
                mixture.sums[level, column] += mixture.shares[level, 1] * mixture.sums[level + 1, column]
            continue
        child = here.first_child + mixture.pending[level, 1]
        mixture.pending[level, 1] += 1
        share = share_of(here, &tree.nodes[child], mixture.shares[level, 0])
        if share <= 0:
            continue
        stop = descend_from(tree, X, row, child)
        if tree.nodes[stop].n_branches == 0:
            index = tree.nodes[stop].index
            for column in range(tree.n_outputs):
                mixture.sums[level, column] += share * tree.values[index * tree.n_outputs + column]
            continue
        mixture.shares[level, 1] = share
        level += 1
        open_level(tree, mixture, level, stop)


cdef int spread(
    const Arrays* tree, const double[:, :] X, Py_ssize_t row, int32_t[::1] visited, double[::1] shares,
) except FAILED nogil:
    """List the nodes that a row reaches, level by level, with its share in each; returns their number."""
    cdef const Node* here
    cdef int32_t branch, child
    cdef int k = 0, n_visited = 1
    cdef double total, share
    visited[0] = 0
    shares[0] = 1.0
    while k < n_visited:
        here = &tree.nodes[visited[k]]
        if here.n_branches > 0:
            branch = branch_taken(here, tree.subsets, tree.n_levels, tree.strict, X[row, here.attribute])
            if branch != MISSING:
                visited[n_visited] = here.first_child + branch
                shares[n_visited] = shares[k]
                n_visited += 1
            else:
                total = weight_of_branches(tree.nodes, here)
                for child in range(here.first_child, here.first_child + here.n_branches):
                    share = shares[k] * share_of(here, &tree.nodes[child], total)
                    if share > 0:
                        visited[n_visited] = child
                        shares[n_visited] = share
                        n_visited += 1
        k += 1
    return n_visited


cdef int32_t heaviest_branch(const Arrays* tree, const Node* here) except FAILED nogil:
    """Branch of the largest training weight, the first of equals."""
    cdef int32_t branch, best = 0
    for branch in range(1, here.n_branches):
        if tree.nodes[here.first_child + branch].weight > tree.nodes[here.first_child + best].weight:
            best = branch
    return best


def apply(TreeView tree, const double[:, :] X, int32_t[::1] out):
    """Write the leaf of every row; where its value is missing a row takes the heaviest branch, the first of equals."""
    cdef int32_t[BLOCK] reached
    cdef int32_t node
    cdef Py_ssize_t block, start, n_rows = X.shape[0]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(&tree.arrays, X, start, count, reached)
            for place in range(count):
                node = reached[place]
                while tree.nodes[node].n_branches > 0:
                    node = tree.nodes[node].first_child + heaviest_branch(&tree.arrays, &tree.nodes[node])
                    node = descend_from(&tree.arrays, X, start + place, node)
                out[start + place] = node


def add_up(const Node[::1] nodes, double[:, ::1] sums):
    """Add the sums of leaves to those of all nodes above them."""
    cdef Py_ssize_t node, column
    cdef int32_t child
    with nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                for column in range(sums.shape[1]):
                    sums[node, column] += sums[child, column]


def add_values(TreeView tree, Mixture mixture, const double[:, :] X, double weight, double[:, ::1] out):
    """Add to every row of `out` weight times the expected leaf value: a class distribution, or the mean target."""
    cdef int32_t[BLOCK] reached
    cdef const double[:, ::1] values = tree.values
    cdef Py_ssize_t block, start, column, index, row, n_rows = X.shape[0], n_columns = values.shape[1]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(&tree.arrays, X, start, count, reached)
            for place in range(count):
                row = start + place
                if tree.nodes[reached[place]].n_branches == 0:
                    index = tree.nodes[reached[place]].index
                    for column in range(n_columns):
                        out[row, column] += weight * values[index, column]
                    continue
                mix(&tree.arrays, X, row, reached[place], mixture)
                for column in range(n_columns):
                    out[row, column] += weight * mixture.sums[0, column]


def label_rows(TreeView tree, Mixture mixture, const Py_ssize_t[::1] labels, const double[:, :] X, Py_ssize_t[::1] out):
    """Write the column of the largest expected leaf value, the first of equals; `labels` has it for single leaves."""
    cdef int32_t[BLOCK] reached
    cdef Py_ssize_t block, start, column, best, row, n_rows = X.shape[0]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(&tree.arrays, X, start, count, reached)
            for place in range(count):
                row = start + place
                if tree.nodes[reached[place]].n_branches == 0:
                    out[row] = labels[tree.nodes[reached[place]].index]
                    continue
                mix(&tree.arrays, X, row, reached[place], mixture)
                best = 0
                for column in range(1, tree.arrays.n_outputs):
                    if mixture.sums[0, column] > mixture.sums[0, best]:
                        best = column
                out[row] = best


def add_class_weights(
    TreeView tree, const double[:, :] X, const int32_t[::1] classes, const double[::1] weights, double[:, ::1] out,
):
    """Add every row's weight, in shares, to the column of its class at each node that it reaches."""
    cdef int32_t[::1] visited = np.empty(tree.nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(tree.nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(&tree.arrays, X, row, visited, shares)
            for k in range(n_visited):
                out[visited[k], classes[row]] += weights[row] * shares[k]


def add_moments(
    TreeView tree, const double[:, :] X, const double[::1] targets, const double[::1] weights, double[:, ::1] out,
):
    """Add every row's weight, weighted target and weighted squared target, in shares, at each node that it reaches."""
    cdef int32_t[::1] visited = np.empty(tree.nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(tree.nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    cdef double weight, target
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(&tree.arrays, X, row, visited, shares)
            target = targets[row]
            for k in range(n_visited):
                weight = weights[row] * shares[k]
                out[visited[k], 0] += weight
                out[visited[k], 1] += weight * target
                out[visited[k], 2] += weight * target * target


def list_visited(TreeView tree, const double[:, :] X, Py_ssize_t[::1] starts, int32_t[::1] out):
    """List the nodes each row reaches, row r's at starts[r] to starts[r + 1]; an empty `out` fills `starts` alone."""
    cdef int32_t[::1] visited = np.empty(tree.nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(tree.nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    cdef bint counting = out.shape[0] == 0
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(&tree.arrays, X, row, visited, shares)
            if counting:
                starts[row + 1] = starts[row] + n_visited
                continue
            for k in range(n_visited):
                out[starts[row] + k] = visited[k]


def fill_node_values(const Node[::1] nodes, const double[:, ::1] values, double[:, ::1] out):
    """Write every node's value: a leaf's own, a split's the mean of its branches weighted by their training weights."""
    cdef const Node* here
    cdef Py_ssize_t node, column
    cdef int32_t child
    cdef double total, share
    with nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            here = &nodes[node]
            if here.n_branches == 0:
                out[node, :] = values[here.index, :]
                continue
            out[node, :] = 0.0
            total = weight_of_branches(&nodes[0], here)
            for child in range(here.first_child, here.first_child + here.n_branches):
                share = share_of(here, &nodes[child], total)
                for column in range(values.shape[1]):
                    out[node, column] += share * out[child, column]


def fill_depths(const Node[::1] nodes, int32_t[::1] out):
    """Write the number of splits above every node."""
    cdef Py_ssize_t node
    cdef int32_t child
    out[0] = 0
    with nogil:
        for node in range(nodes.shape[0]):
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                out[child] = out[node] + 1


def index_leaves(
    Node[::1] nodes, const double[:, ::1] counts, int32_t[::1] sources, int32_t[::1] node_rows,
    int32_t[::1] class_rows, double[:, ::1] values,
):
    """Write the class distribution of every leaf to `values` and its row to the leaf's `index`; returns rows written.

    Pure leaves of one class share a row; leaves that no weight reached share that of their nearest ancestor with some.
    `node_rows` and `class_rows` come filled with -1; `sources` is scratch for the node whose counts each node goes by.
    """
    cdef Py_ssize_t node, source, column, first, last, n_columns = counts.shape[1]
    cdef int32_t child, row, n_rows = 0
    cdef double total
    sources[0] = 0
    with nogil:
        for node in range(nodes.shape[0]):
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                sources[child] = sources[node]
                for column in range(n_columns):
                    if counts[child, column] > 0:
                        sources[child] = child
                        break
            if nodes[node].n_branches > 0:
                continue
            source = sources[node]
            first = 0
            while first < n_columns - 1 and counts[source, first] == 0:
                first += 1
            last = n_columns - 1
            while last > first and counts[source, last] == 0:
                last -= 1
            row = class_rows[first] if first == last else node_rows[source]
            if row < 0:
                row = n_rows
                n_rows += 1
                if first == last:
                    class_rows[first] = row
                else:
                    node_rows[source] = row
                total = 0.0
                for column in range(n_columns):
                    total += counts[source, column]
                for column in range(n_columns):
                    values[row, column] = counts[source, column] / total if total > 0 else 1.0 / n_columns
            nodes[node].index = row
    return n_rows
