"""Sends rows down one tree: leaves, mixed leaf values, labels, visited nodes and the weight that reaches each node.

A row whose value is missing at a split takes the branch that the split names. If it names none, the row goes down every
branch in shares proportional to the branches' training weights: its value there is the sum, over the branches in their
order, of share times value of the branch.
"""

import numpy as np

from libc.stdint cimport int32_t, uint8_t

from tremula._kernels.nodes cimport MISSING, Node, branch_taken, is_numeric

cdef enum:
    FAILED = -2             # a bounds check failed (checked builds only)
    BLOCK = 64              # rows that descend together: their memory accesses overlap


cdef inline Py_ssize_t n_blocks(Py_ssize_t n_rows) noexcept nogil:
    return (n_rows + BLOCK - 1) // BLOCK


cdef inline int32_t branch_at(
    const Node* here, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict, double x,
) except FAILED nogil:
    """Branch that value x takes at a split, or MISSING."""
    if is_numeric(here.index):              # do not read arrays that may be empty
        return branch_taken(here, NULL, NULL, strict, x)
    return branch_taken(here, &subsets[0] if subsets.shape[0] > 0 else NULL, &n_levels[0], strict, x)


cdef inline int descend(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, Py_ssize_t start, int count, int32_t* reached,
) except FAILED nogil:
    """Node where each of `count` rows from `start` on stops: its leaf, or the first split at which it has no value."""
    cdef int32_t[BLOCK] moving
    cdef const Node* here
    cdef int32_t branch
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
            branch = branch_at(here, subsets, n_levels, strict, X[start + place, here.attribute])
            if branch == MISSING:
                continue
            reached[place] = here.first_child + branch
            moving[n_kept] = place
            n_kept += 1
        n_moving = n_kept
    return 0


cdef inline int32_t descend_from(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, Py_ssize_t row, int32_t node,
) except FAILED nogil:
    """Node where a row starting at `node` stops: its leaf, or the next split at which it has no value."""
    cdef const Node* here = &nodes[node]
    cdef int32_t branch
    while here.n_branches > 0:
        branch = branch_at(here, subsets, n_levels, strict, X[row, here.attribute])
        if branch == MISSING:
            break
        node = here.first_child + branch
        here = &nodes[node]
    return node


cdef inline double weight_of_branches(const Node[::1] nodes, const Node* here) except? -1.0 nogil:
    cdef double total = 0.0
    cdef int32_t child
    for child in range(here.first_child, here.first_child + here.n_branches):
        total += nodes[child].weight
    return total


cdef inline double share_of(const Node* here, const Node* child, double total) noexcept nogil:
    """Part of what reaches a split that a branch gets when the value is missing."""
    return child.weight / total if total > 0 else 1.0 / here.n_branches


cdef class Mixture:
    """Leaf values to be mixed where values are missing, and buffers for it in a tree of this depth.

    Row `level` of the arrays describes the split open at that level: `pending` holds the node and its next branch,
    `shares` the weight of its branches and the share of the one being followed, `sums` the sum so far.
    """

    cdef const double[:, ::1] values
    cdef Py_ssize_t depth
    cdef int32_t[:, ::1] pending
    cdef double[:, ::1] shares
    cdef double[:, ::1] sums
    cdef bint is_ready

    def __init__(self, const double[:, ::1] values, Py_ssize_t depth):
        self.values, self.depth, self.is_ready = values, depth, False

    cdef int prepare(self) except FAILED:
        """Allocate the buffers, which most calls do not need."""
        self.pending, self.shares = np.empty((self.depth, 2), np.int32), np.empty((self.depth, 2))
        self.sums = np.empty((self.depth, self.values.shape[1]))
        self.is_ready = True
        return 0


cdef inline int open_level(const Node[::1] nodes, Mixture mixture, Py_ssize_t level, int32_t node) except FAILED nogil:
    mixture.pending[level, 0], mixture.pending[level, 1] = node, 0
    mixture.shares[level, 0] = weight_of_branches(nodes, &nodes[node])
    mixture.sums[level, :] = 0.0
    return 0


cdef int mix(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, Py_ssize_t row, int32_t start, Mixture mixture,
) except FAILED nogil:
    """Write to mixture.sums[0] the expected leaf value of a row that has no value at the split `start`."""
    cdef const Node* here
    cdef int32_t child, stop
    cdef Py_ssize_t column, index, level = 0
    cdef double share
    if not mixture.is_ready:
        with gil:
            mixture.prepare()
    open_level(nodes, mixture, 0, start)
    while True:
        here = &nodes[mixture.pending[level, 0]]
        if mixture.pending[level, 1] == here.n_branches:
            if level == 0:
                return 0
            level -= 1
            for column in range(mixture.values.shape[1]):
                mixture.sums[level, column] += mixture.shares[level, 1] * mixture.sums[level + 1, column]
            continue
        child = here.first_child + mixture.pending[level, 1]
        mixture.pending[level, 1] += 1
        share = share_of(here, &nodes[child], mixture.shares[level, 0])
        if share <= 0:
            continue
        stop = descend_from(nodes, subsets, n_levels, strict, X, row, child)
        if nodes[stop].n_branches == 0:
            index = nodes[stop].index
            for column in range(mixture.values.shape[1]):
                mixture.sums[level, column] += share * mixture.values[index, column]
            continue
        mixture.shares[level, 1] = share
        level += 1
        open_level(nodes, mixture, level, stop)


cdef int spread(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, Py_ssize_t row, int32_t[::1] visited, double[::1] shares,
) except FAILED nogil:
    """List the nodes that a row reaches, level by level, with its share in each; returns their number."""
    cdef const Node* here
    cdef int32_t branch, child
    cdef int k = 0, n_visited = 1
    cdef double total, share
    visited[0] = 0
    shares[0] = 1.0
    while k < n_visited:
        here = &nodes[visited[k]]
        if here.n_branches > 0:
            branch = branch_at(here, subsets, n_levels, strict, X[row, here.attribute])
            if branch != MISSING:
                visited[n_visited] = here.first_child + branch
                shares[n_visited] = shares[k]
                n_visited += 1
            else:
                total = weight_of_branches(nodes, here)
                for child in range(here.first_child, here.first_child + here.n_branches):
                    share = shares[k] * share_of(here, &nodes[child], total)
                    if share > 0:
                        visited[n_visited] = child
                        shares[n_visited] = share
                        n_visited += 1
        k += 1
    return n_visited


cdef int32_t heaviest_branch(const Node[::1] nodes, const Node* here) except FAILED nogil:
    """Branch of the largest training weight, the first of equals."""
    cdef int32_t branch, best = 0
    for branch in range(1, here.n_branches):
        if nodes[here.first_child + branch].weight > nodes[here.first_child + best].weight:
            best = branch
    return best


def apply(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, int32_t[::1] out,
):
    """Write the leaf of every row; where its value is missing a row takes the heaviest branch, the first of equals."""
    cdef int32_t[BLOCK] reached
    cdef int32_t node
    cdef Py_ssize_t block, start, n_rows = X.shape[0]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(nodes, subsets, n_levels, strict, X, start, count, reached)
            for place in range(count):
                node = reached[place]
                while nodes[node].n_branches > 0:
                    node = nodes[node].first_child + heaviest_branch(nodes, &nodes[node])
                    node = descend_from(nodes, subsets, n_levels, strict, X, start + place, node)
                out[start + place] = node


def add_values(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    Mixture mixture, const double[:, :] X, double weight, double[:, ::1] out,
):
    """Add to every row of `out` weight times the expected leaf value: a class distribution, or the mean target."""
    cdef int32_t[BLOCK] reached
    cdef const double[:, ::1] values = mixture.values
    cdef Py_ssize_t block, start, column, index, row, n_rows = X.shape[0], n_columns = values.shape[1]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(nodes, subsets, n_levels, strict, X, start, count, reached)
            for place in range(count):
                row = start + place
                if nodes[reached[place]].n_branches == 0:
                    index = nodes[reached[place]].index
                    for column in range(n_columns):
                        out[row, column] += weight * values[index, column]
                    continue
                mix(nodes, subsets, n_levels, strict, X, row, reached[place], mixture)
                for column in range(n_columns):
                    out[row, column] += weight * mixture.sums[0, column]


def label_rows(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    Mixture mixture, const Py_ssize_t[::1] labels, const double[:, :] X, Py_ssize_t[::1] out,
):
    """Write the column of the largest expected leaf value, the first of equals; `labels` has it for single leaves."""
    cdef int32_t[BLOCK] reached
    cdef Py_ssize_t block, start, column, best, row, n_rows = X.shape[0]
    cdef int place, count
    with nogil:
        for block in range(n_blocks(n_rows)):
            start = block * BLOCK
            count = <int> min(BLOCK, n_rows - start)
            descend(nodes, subsets, n_levels, strict, X, start, count, reached)
            for place in range(count):
                row = start + place
                if nodes[reached[place]].n_branches == 0:
                    out[row] = labels[nodes[reached[place]].index]
                    continue
                mix(nodes, subsets, n_levels, strict, X, row, reached[place], mixture)
                best = 0
                for column in range(1, mixture.values.shape[1]):
                    if mixture.sums[0, column] > mixture.sums[0, best]:
                        best = column
                out[row] = best


def add_class_weights(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, const int32_t[::1] classes, const double[::1] weights, double[:, ::1] out,
):
    """Add every row's weight, in shares, to the column of its class at each node that it reaches."""
    cdef int32_t[::1] visited = np.empty(nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(nodes, subsets, n_levels, strict, X, row, visited, shares)
            for k in range(n_visited):
                out[visited[k], classes[row]] += weights[row] * shares[k]


def add_moments(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, const double[::1] targets, const double[::1] weights, double[:, ::1] out,
):
    """Add every row's weight, weighted target and weighted squared target, in shares, at each node that it reaches."""
    cdef int32_t[::1] visited = np.empty(nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    cdef double weight, target
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(nodes, subsets, n_levels, strict, X, row, visited, shares)
            target = targets[row]
            for k in range(n_visited):
                weight = weights[row] * shares[k]
                out[visited[k], 0] += weight
                out[visited[k], 1] += weight * target
                out[visited[k], 2] += weight * target * target


def list_visited(
    const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, bint strict,
    const double[:, :] X, Py_ssize_t[::1] starts, int32_t[::1] out,
):
    """List the nodes each row reaches, row r's at starts[r] to starts[r + 1]; an empty `out` fills `starts` alone."""
    cdef int32_t[::1] visited = np.empty(nodes.shape[0], np.int32)
    cdef double[::1] shares = np.empty(nodes.shape[0])
    cdef Py_ssize_t row
    cdef int k, n_visited
    cdef bint counting = out.shape[0] == 0
    with nogil:
        for row in range(X.shape[0]):
            n_visited = spread(nodes, subsets, n_levels, strict, X, row, visited, shares)
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
            total = weight_of_branches(nodes, here)
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
