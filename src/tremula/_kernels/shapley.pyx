"""Shapley values of a tree: every leaf is a product with one factor for each attribute on its path; see `shapley.h`."""

import numpy as np

from libc.stdint cimport int32_t, uint8_t, uint64_t

from tremula._kernels.nodes cimport MISSING, Node, branch_taken
from tremula._kernels.route cimport TreeView

cdef extern from "shapley.h" nogil:
    cdef enum:
        SHAPLEY_LANES

    ctypedef struct ShapleyTree:
        int32_t n_nodes, n_outputs, n_points
        const int32_t* attribute
        const int32_t* first_child
        const int32_t* n_branches
        const int32_t* depth
        const int32_t* earlier_depth
        const int32_t* active_start
        const int32_t* active_depth
        const int32_t* value_row
        const int32_t* value_start
        const int32_t* value_output
        const double* value
        const double* points
        const double* weights

    ctypedef struct ShapleyScratch:
        double* product
        double* inverse
        double* difference
        double* weighted
        int32_t* on_path
        uint8_t* is_different
        int32_t* stack

    void add_shapley_values(
        const ShapleyTree* tree, const ShapleyScratch* scratch, const double* known, const double* unknown, double* out,
    )
    void choose_processor(int plain)
    int count_bits(uint64_t bits)
    int lowest_bit(uint64_t bits)

LANES = SHAPLEY_LANES
MOST_BITS = 64


def set_processor(bint plain=False):
    """Use the version for this processor, or the plain one; for tests. Both give the same bits."""
    choose_processor(plain)


set_processor()


cdef class LeafGames:
    """The leaves of a tree as games of products.

    Parameters
    ----------
    branches : tuple of int32 arrays (n_nodes,)
        First child and number of branches of every node. Children are consecutive and come after their parent.
    attribute : int32 array (n_nodes,)
        Attribute of the test that leads to each node, -1 at the root.
    value_row : int32 array (n_nodes,)
        Row of values of each leaf.
    n_attributes, n_outputs : int
    values : tuple of arrays
        For each row of values where its entries begin, and of all entries the output and the value.
    quadrature : tuple of arrays
        Points in [0, 1] and their weights; exact for polynomials of a degree below the most attributes on a path.
    """

    cdef const int32_t[::1] attribute, first_child, n_branches, value_row, value_start, value_output
    cdef int32_t[::1] parent, depth, earlier_depth, nearest_earlier, active_start, active_depth, active_node
    cdef const double[::1] value, points, weights
    cdef ShapleyTree tree
    cdef readonly Py_ssize_t n_attributes, deepest, most_factors

    def __init__(
        self, branches, const int32_t[::1] attribute, const int32_t[::1] value_row, Py_ssize_t n_attributes,
        Py_ssize_t n_outputs, values, quadrature,
    ):
        cdef Py_ssize_t n_nodes = attribute.shape[0]
        self.first_child, self.n_branches = branches
        self.attribute, self.value_row, self.n_attributes = attribute, value_row, n_attributes
        self.value_start, self.value_output, self.value = values
        self.points, self.weights = quadrature
        self.depth, self.earlier_depth = np.zeros(n_nodes, np.int32), np.zeros(n_nodes, np.int32)
        self.parent, self.nearest_earlier = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
        self._fill_nodes()
        self.active_start = np.zeros(n_nodes + 1, np.int32)
        self.active_depth = np.zeros(max(1, self._list_active(False)), np.int32)
        self.active_node = np.zeros(self.active_depth.shape[0], np.int32)
        self._list_active(True)
        self.most_factors = np.diff(self.active_start).max()
        self.deepest = np.max(self.depth)
        self.tree.n_nodes, self.tree.n_outputs = <int32_t> n_nodes, <int32_t> n_outputs
        self._point_to_arrays()

    @property
    def earlier(self):
        """The node above each node that the nearest earlier test of the same attribute leads to, or -1."""
        return np.asarray(self.nearest_earlier)

    cdef int _fill_nodes(self) except -1:
        """Fill the arrays of nodes."""
        cdef int32_t child, above, node
        for node in range(<int32_t> self.depth.shape[0]):
            for child in range(self.first_child[node], self.first_child[node] + self.n_branches[node]):
                self.parent[child], self.depth[child] = node, self.depth[node] + 1
                above = node
                while above >= 0 and self.attribute[above] != self.attribute[child]:
                    above = self.parent[above]
                self.nearest_earlier[child] = above
                self.earlier_depth[child] = self.depth[above] if above >= 0 else 0
        return 0

    cdef int _list_active(self, bint is_written) except -1:
        """List for each leaf where the last test of each attribute leads, depths and nodes; returns their number."""
        cdef int32_t[::1] seen = np.full(self.n_attributes + 1, -1, np.int32)
        cdef int32_t node, above, n_active = 0
        for node in range(<int32_t> self.depth.shape[0]):
            self.active_start[node] = n_active
            above = node if self.n_branches[node] == 0 else 0
            while above > 0:
                if seen[self.attribute[above]] != node:
                    seen[self.attribute[above]] = node
                    if is_written:
                        self.active_depth[n_active], self.active_node[n_active] = self.depth[above], above
                    n_active += 1
                above = self.parent[above]
        self.active_start[self.depth.shape[0]] = n_active
        return n_active

    cdef int _point_to_arrays(self) except -1:
        cdef ShapleyTree* tree = &self.tree
        tree.n_points = <int32_t> self.points.shape[0]
        tree.attribute, tree.depth = &self.attribute[0], &self.depth[0]
        tree.first_child, tree.n_branches = &self.first_child[0], &self.n_branches[0]
        tree.earlier_depth = &self.earlier_depth[0]
        tree.active_start, tree.active_depth = &self.active_start[0], &self.active_depth[0]
        tree.value_row, tree.value_start = &self.value_row[0], &self.value_start[0]
        tree.value_output = &self.value_output[0] if self.value_output.shape[0] > 0 else NULL
        tree.value = &self.value[0] if self.value.shape[0] > 0 else NULL
        tree.points, tree.weights = &self.points[0], &self.weights[0]
        return 0


cdef class Scratch:
    """Memory for one walk at a time."""

    cdef double[::1] product, inverse, difference, weighted
    cdef int32_t[::1] on_path, waiting
    cdef uint8_t[::1] is_different
    cdef ShapleyScratch arrays

    def __init__(self, LeafGames games):
        cdef Py_ssize_t n_slots = games.deepest + 1, size = games.tree.n_points * SHAPLEY_LANES
        self.product, self.inverse = np.empty(n_slots * size), np.empty(n_slots * size)
        self.difference, self.weighted = np.empty(n_slots * SHAPLEY_LANES), np.empty(size)
        self.on_path, self.is_different = np.empty(n_slots, np.int32), np.empty(n_slots, np.uint8)
        self.waiting = np.empty(games.tree.n_nodes, np.int32)
        self.arrays.product, self.arrays.inverse = &self.product[0], &self.inverse[0]
        self.arrays.difference, self.arrays.weighted = &self.difference[0], &self.weighted[0]
        self.arrays.on_path, self.arrays.is_different = &self.on_path[0], &self.is_different[0]
        self.arrays.stack = &self.waiting[0]


def fill_factors(
    LeafGames games, TreeView tree, const double[::1] shares, const double[:, :] X, bint is_single,
    double[:, :, ::1] out,
):
    """Write the factor of the attribute tested last before each node, for every row.

    `out` has the shape (n_blocks, n_nodes, LANES); lanes beyond the last row repeat it. A row that has no value at a
    split has its share of every branch. With `is_single` the last test alone counts, not all of the attribute.
    """
    cdef Py_ssize_t block, lane, row, n_nodes = tree.nodes.shape[0]
    cdef int32_t node, child, branch, earlier
    cdef const Node* here
    cdef double factor
    with nogil:
        for block in range(out.shape[0]):
            out[block, 0, :] = 1.0
            for node in range(<int32_t> n_nodes):
                here = &tree.arrays.nodes[node]
                for lane in range(SHAPLEY_LANES if here.n_branches > 0 else 0):
                    row = min(block * SHAPLEY_LANES + lane, X.shape[0] - 1)
                    branch = branch_taken(
                        here, tree.arrays.subsets, tree.arrays.n_levels, tree.arrays.strict, X[row, here.attribute],
                    )
                    earlier = -1 if is_single else games.nearest_earlier[here.first_child]
                    for child in range(here.first_child, here.first_child + here.n_branches):
                        factor = shares[child] if branch == MISSING else (child == here.first_child + branch)
                        out[block, child, lane] = factor * (1.0 if earlier < 0 else out[block, earlier, lane])


def multiply_shares(LeafGames games, const double[::1] shares, double[::1] out):
    """Write for every node the product of the shares of all branches on its path that test the same attribute."""
    cdef Py_ssize_t node
    for node in range(shares.shape[0]):
        out[node] = shares[node]
        if games.nearest_earlier[node] >= 0:
            out[node] *= out[games.nearest_earlier[node]]


def add_by_shares(LeafGames games, const double[:, :, ::1] known, const double[::1] unknown, double[:, :, ::1] out):
    """Add to `out` (n_rows, n_attributes, n_outputs) the Shapley values of rows; `unknown` has a factor a node."""
    cdef double[:, ::1] lanes_of_unknown = np.repeat(np.asarray(unknown)[:, None], SHAPLEY_LANES, axis=1)
    cdef double[:, :, ::1] sums = np.empty((out.shape[1], out.shape[2], SHAPLEY_LANES))
    cdef Scratch scratch = Scratch(games)
    cdef Py_ssize_t block, lane, row, attribute, output
    with nogil:
        for block in range(known.shape[0]):
            sums[:, :, :] = 0.0
            add_shapley_values(
                &games.tree, &scratch.arrays, &known[block, 0, 0], &lanes_of_unknown[0, 0], &sums[0, 0, 0],
            )
            for lane in range(min(SHAPLEY_LANES, out.shape[0] - block * SHAPLEY_LANES)):
                row = block * SHAPLEY_LANES + lane
                for attribute in range(out.shape[1]):
                    for output in range(out.shape[2]):
                        out[row, attribute, output] += sums[attribute, output, lane]


def add_by_background(
    LeafGames games, const double[:, :, ::1] known, const double[:, :, ::1] unknown, Py_ssize_t n_background,
    double scale, const uint8_t[::1] is_left_out, double[:, :, ::1] out,
):
    """Add to `out` `scale` times the Shapley values of rows, summed over the background; some rows are left out."""
    cdef Py_ssize_t n_nodes = known.shape[1]
    cdef double[:, ::1] lanes_of_row = np.empty((n_nodes, SHAPLEY_LANES))
    cdef double[:, :, ::1] sums = np.empty((out.shape[1], out.shape[2], SHAPLEY_LANES))
    cdef Scratch scratch = Scratch(games)
    cdef Py_ssize_t row, block, lane, node, attribute, output
    cdef double total
    with nogil:
        for row in range(out.shape[0]):
            if is_left_out[row]:
                continue
            for node in range(n_nodes):
                lanes_of_row[node, :] = known[row // SHAPLEY_LANES, node, row % SHAPLEY_LANES]
            for block in range(unknown.shape[0]):
                sums[:, :, :] = 0.0
                add_shapley_values(
                    &games.tree, &scratch.arrays, &lanes_of_row[0, 0], &unknown[block, 0, 0], &sums[0, 0, 0],
                )
                for attribute in range(out.shape[1]):
                    for output in range(out.shape[2]):
                        total = 0.0
                        for lane in range(min(SHAPLEY_LANES, n_background - block * SHAPLEY_LANES)):
                            total += sums[attribute, output, lane]
                        out[row, attribute, output] += scale * total


# --- factors of 0 and 1: a row passes the tests of an attribute or it does not, which is one bit ---


def fill_bits(LeafGames games, const double[:, :, ::1] factors, uint64_t[:, ::1] out, uint8_t[::1] is_whole):
    """Write for every node and row which factors of a leaf are 1, a bit each, and for every row whether others are 0.

    `out` has the shape (n_nodes, n_rows); only leaves are written. No leaf may have more than MOST_BITS factors.
    """
    cdef Py_ssize_t node, block, lane, k, first, n_rows
    cdef const double* row_factors
    cdef uint64_t[8] bits
    cdef uint8_t[8] is_other
    is_whole[:] = 1
    with nogil:
        for block in range(factors.shape[0]):
            for lane in range(SHAPLEY_LANES):
                is_other[lane] = 0
            n_rows = min(SHAPLEY_LANES, out.shape[1] - block * SHAPLEY_LANES)
            for node in range(out.shape[0]):
                if games.n_branches[node] > 0:
                    continue
                for lane in range(SHAPLEY_LANES):
                    bits[lane] = 0
                first = games.active_start[node]
                for k in range(first, games.active_start[node + 1]):
                    row_factors = &factors[block, games.active_node[k], 0]
                    for lane in range(SHAPLEY_LANES):
                        bits[lane] |= (<uint64_t> (row_factors[lane] != 0.0)) << (k - first)
                        is_other[lane] |= (row_factors[lane] != 0.0) & (row_factors[lane] != 1.0)
                for lane in range(n_rows):
                    out[node, block * SHAPLEY_LANES + lane] = bits[lane]
            for lane in range(n_rows):
                is_whole[block * SHAPLEY_LANES + lane] = not is_other[lane]


cdef inline void add_pairs(
    uint64_t known, const uint64_t[::1] unknown, uint64_t every, const double[:, :, ::1] tables, double* sums,
) noexcept nogil:
    """Add the Shapley values of a leaf of value 1 for one row and all of the background.

    A leaf counts if each attribute passes its tests with the row's value or with the background's. If n pass with the
    row's alone and m with the background's alone, each of the n adds (n - 1)! m! / (n + m)!, tables[0], and each of the
    m takes n! (m - 1)! / (n + m)!, tables[1].
    """
    cdef Py_ssize_t other
    cdef uint64_t bits, lacking = every & ~known
    cdef int n, m = count_bits(lacking)
    cdef double gain, loss = 0.0
    for other in range(unknown.shape[0]):
        if (known | unknown[other]) != every:
            continue
        bits = known & ~unknown[other]
        n = count_bits(bits)
        gain = tables[0, n, m]
        loss += tables[1, n, m]
        while bits:
            sums[lowest_bit(bits)] += gain
            bits &= bits - 1
    bits = lacking
    while bits:
        sums[lowest_bit(bits)] -= loss
        bits &= bits - 1


def add_by_whole_background(
    LeafGames games, const uint64_t[:, ::1] known, const uint64_t[:, ::1] unknown, const double[:, :, ::1] tables,
    double scale, const uint8_t[::1] is_used, double[:, :, ::1] out,
):
    """Add to `out` `scale` times the Shapley values of the used rows, summed over the background, by bits."""
    cdef Py_ssize_t node, leaf, row, other, k, v, first, n_factors, attribute
    cdef uint64_t every, of_any
    cdef double[64] sums
    with nogil:
        for node in range(known.shape[0]):
            first = games.active_start[node]
            n_factors = games.active_start[node + 1] - first
            if n_factors == 0:
                continue
            every = (<uint64_t> -1) >> (64 - n_factors)
            of_any = 0
            for other in range(unknown.shape[1]):
                of_any |= unknown[node, other]
            for row in range(known.shape[1]):
                if not is_used[row] or (known[node, row] | of_any) != every:
                    continue
                for k in range(n_factors):
                    sums[k] = 0.0
                add_pairs(known[node, row], unknown[node], every, tables, sums)
                leaf = games.value_row[node]
                for k in range(n_factors):
                    attribute = games.attribute[games.active_node[first + k]]
                    for v in range(games.value_start[leaf], games.value_start[leaf + 1]):
                        out[row, attribute, games.value_output[v]] += scale * sums[k] * games.value[v]
