"""Adds up the answers of many trees for many rows: the sums of `route.add_values`, tree after tree, to the last bit.

The nodes of all trees are copied in a small form (`descent.h`).
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from tremula._kernels.fractions cimport Fractions, divide_all, free_fractions, reserve_fractions, sum_values
from tremula._kernels.nodes cimport MISSING, MULTIWAY_SPLIT, Node, is_numeric, missing_branch
from tremula._kernels.route cimport FAILED, Arrays, Mixture, TreeView, mix
from tremula._kernels.row_cells cimport (
    BYTES, FIRST_ENTRY, IS_SPLIT, N_LANES, NOMINAL, NUMBERS, WORDS, UNKNOWN_LEVEL, Descents, FlatRows, FlatTree,
    NumberNode, RowCells, cell_size_of, follow_rows, follow_trees, limit_of,
)
from tremula._kernels.row_cells import FORMS

cdef enum:
    MOST_ROWS = 16384           # in a block
    MOST_BYTES = 1 << 22        # of a block's cells and sums
    WIDE = 1 << 10              # bytes of a row, from which on blocks are smaller, to stay in cache, if the forest does
    LEAST_BYTES = 1 << 18
    MOST_DIVIDED = 128          # rows whose fractions are followed together

cdef uint64_t NO_NUMBER = 0x7FF8000000000000     # bits of a NaN
cdef uint64_t NO_LIMIT = 0x7FFFFFFF


cdef inline int32_t answer_of(const double* values, Py_ssize_t n_values, Py_ssize_t row, bint votes) noexcept nogil:
    """The output that gets all of a leaf, or ~row if several get a part."""
    cdef Py_ssize_t column, best = 0
    values += row * n_values
    for column in range(1, n_values):
        if values[column] > values[best]:
            best = column
    if votes:
        return <int32_t> best
    for column in range(n_values):
        if values[column] != (column == best):
            return ~(<int32_t> row)
    return <int32_t> best


cdef inline uint8_t branch_entry(TreeView tree, const Node* here, int32_t level) noexcept nogil:
    """Branch of a level at a nominal split, or UNKNOWN_LEVEL; the level after the last stands for a missing one."""
    cdef int32_t named = missing_branch(here)
    cdef uint8_t branch, if_missing = UNKNOWN_LEVEL if named == MISSING else <uint8_t> named
    if level == tree.arrays.n_levels[here.attribute]:
        return if_missing
    if here.index == MULTIWAY_SPLIT:
        return <uint8_t> level
    branch = tree.arrays.subsets[here.index + level]
    return branch if branch < 2 else if_missing


cdef Py_ssize_t n_entries_of(TreeView tree) noexcept nogil:
    """Entries in the table of branches that the nominal splits of a tree need."""
    cdef const Node* here = tree.arrays.nodes
    cdef const Node* end = here + tree.nodes.shape[0]
    cdef Py_ssize_t n_entries = 0
    while here < end:
        if here.n_branches > 0 and not is_numeric(here.index):
            n_entries += tree.arrays.n_levels[here.attribute] + 1
        here += 1
    return n_entries


cdef class FlatForest:
    """The nodes of many trees in a small form.

    Parameters
    ----------
    cells : RowCells
        Of all attributes that the trees test, and with all their limits.
    views : list of TreeView
        The trees, which must be valid; they stay alive with the forest.
    outputs : int32 array
        For each tree the output that its first value is added to.
    depth : int
        Of the deepest tree.
    votes : bool
        Whether a leaf gives all its weight to the output of its largest value, the first of equals.
    """

    cdef RowCells cells
    cdef list views
    cdef Py_ssize_t n_trees, n_nodes, n_entries, node_size, depth, most_values, n_outputs, n_attributes
    cdef bint votes
    cdef FlatTree* trees
    cdef const Arrays** arrays
    cdef char* nodes
    cdef int32_t* answers
    cdef uint8_t* table

    def __cinit__(self, RowCells cells, list views, const int32_t[::1] outputs, Py_ssize_t depth, bint votes):
        cdef TreeView view
        cdef Py_ssize_t number, first = 0
        self.cells, self.views, self.depth, self.votes = cells, views, depth, votes
        self.n_trees, self.n_nodes, self.most_values, self.n_entries = len(views), 0, 0, FIRST_ENTRY
        self.node_size = {BYTES: sizeof(uint32_t), WORDS: sizeof(uint64_t), NUMBERS: sizeof(NumberNode)}[cells.form]
        for view in views:
            self.n_nodes += view.nodes.shape[0]
            self.n_entries += n_entries_of(view)
            self.most_values = max(self.most_values, view.arrays.n_outputs)
        self.n_outputs, self.n_attributes = 0, (<TreeView> views[0]).n_levels.shape[0]
        self.reserve()
        self.table[1], self.n_entries = UNKNOWN_LEVEL, FIRST_ENTRY
        for number in range(self.n_trees):
            view = views[number]
            self.arrays[number] = &view.arrays
            self.place_tree(number, view, first, outputs[number])
            self.n_outputs = max(self.n_outputs, outputs[number] + view.arrays.n_outputs)
            first += view.nodes.shape[0]

    def __dealloc__(self):
        free(self.trees)
        free(<void*> self.arrays)
        free(self.nodes)
        free(self.answers)
        free(self.table)

    @property
    def form(self):
        """How rows and nodes are held: "bytes", "words" or "numbers"."""
        return next(name for name, form in FORMS.items() if form == self.cells.form)

    @property
    def nbytes(self):
        """Size of the nodes in bytes."""
        return self.n_nodes * (self.node_size + sizeof(int32_t)) + self.n_entries

    cdef int reserve(self) except FAILED:
        """Allocate memory for all trees."""
        self.trees = <FlatTree*> calloc(self.n_trees, sizeof(FlatTree))
        self.arrays = <const Arrays**> calloc(self.n_trees, sizeof(Arrays*))
        self.nodes = <char*> malloc(self.n_nodes * self.node_size)
        self.answers = <int32_t*> malloc(self.n_nodes * sizeof(int32_t))
        self.table = <uint8_t*> calloc(self.n_entries, 1)
        if (
            self.trees == NULL or self.arrays == NULL or self.nodes == NULL or self.answers == NULL
            or self.table == NULL
        ):
            raise MemoryError(f"no memory for {self.n_nodes} nodes")
        return 0

    # ---- making nodes small

    cdef int place_tree(self, Py_ssize_t number, TreeView view, Py_ssize_t first, int32_t output) except FAILED:
        """Copy a tree to the places from `first` on; its nodes keep their numbers."""
        cdef const Arrays* arrays = &view.arrays
        cdef const Node* here
        cdef FlatTree* tree = &self.trees[number]
        cdef Py_ssize_t row, node, n_nodes = view.nodes.shape[0]
        cdef int32_t[::1] answers = np.empty(view.values.shape[0], np.int32)
        tree.nodes, tree.answers = self.nodes + first * self.node_size, self.answers + first
        tree.values, tree.n_values, tree.output = arrays.values, <int32_t> arrays.n_outputs, output
        tree.is_vote = self.votes
        with nogil:
            for row in range(answers.shape[0]):
                answers[row] = answer_of(arrays.values, arrays.n_outputs, row, self.votes)
                answers[row] += output if answers[row] >= 0 else 0
            for node in range(n_nodes):
                here = &arrays.nodes[node]
                self.answers[first + node] = answers[here.index] if here.n_branches == 0 else IS_SPLIT
                self.write_node(first + node, here, <uint32_t> node, arrays.strict)
                if here.n_branches > 0 and not is_numeric(here.index):
                    self.write_entries(view, here)
        return 0

    cdef void write_node(self, Py_ssize_t place, const Node* here, uint32_t node, bint strict) noexcept nogil:
        """Write one node, whose entries in the table of branches follow if it is nominal."""
        cdef bint is_leaf = here.n_branches == 0
        cdef bint has_limit = not is_leaf and is_numeric(here.index), is_nominal = not is_leaf and not has_limit
        cdef uint32_t column = 0 if is_leaf else <uint32_t> self.cells.columns[here.attribute]
        cdef uint32_t child = node if is_leaf else <uint32_t> here.first_child
        cdef uint64_t limit = NO_LIMIT
        cdef NumberNode* made
        if self.cells.form == NUMBERS:
            made = &(<NumberNode*> self.nodes)[place]
            made.limit = limit_of(here, strict) if has_limit else INFINITY
            made.attribute, made.child = column, child
            if is_nominal:
                made.first_entry = NO_NUMBER | <uint64_t> self.n_entries
                made.attribute |= NOMINAL
            return
        if not is_leaf:
            limit = self.cells.code_of(column, limit_of(here, strict)) if has_limit else NOMINAL | self.n_entries
        if self.cells.form == WORDS:
            (<uint64_t*> self.nodes)[place] = column | <uint64_t> child << 8 | limit << 32
        else:
            (<uint32_t*> self.nodes)[place] = column | <uint32_t> (limit & 255) << 8 | child << 16

    cdef void write_entries(self, TreeView view, const Node* here) noexcept nogil:
        """Write the branches of a nominal split."""
        cdef int32_t level
        for level in range(view.arrays.n_levels[here.attribute] + 1):
            self.table[self.n_entries] = branch_entry(view, here, level)
            self.n_entries += 1

    def add_values(self, const double[:, :] X, const double[::1] weights, double[:, ::1] total):
        """Add to every row of `total` the weight of each tree times its answer, tree after tree."""
        cdef Batch batch
        if X.shape[1] != self.n_attributes:
            raise ValueError(
                f"rows have shape {(X.shape[0], X.shape[1])}: expected (n_rows, {self.n_attributes}), one column for "
                "each attribute"
            )
        if weights.shape[0] != self.n_trees or total.shape[0] != X.shape[0] or total.shape[1] < self.n_outputs:
            raise ValueError(
                f"got {weights.shape[0]} weights and sums of shape {(total.shape[0], total.shape[1])}: expected "
                f"{self.n_trees}, and {(X.shape[0], self.n_outputs)} or more outputs"
            )
        batch = Batch(self, X, weights, total)
        with nogil:
            batch.add_all()


cdef inline bint add_answer(const FlatTree* tree, uint32_t node, double weight, double* sums) noexcept nogil:
    """Add the answer of a leaf; returns False if the node is a split."""
    cdef int32_t answer = tree.answers[node], column
    cdef const double* values
    if answer >= 0:
        sums[answer] += weight
    elif answer == IS_SPLIT:
        return False
    else:
        values = tree.values + <Py_ssize_t> (~answer) * tree.n_values
        for column in range(tree.n_values):
            sums[tree.output + column] += weight * values[column]
    return True


cdef class Batch:
    """Rows that a forest answers, in blocks whose cells and sums stay in cache."""

    cdef FlatForest forest
    cdef const double[:, :] X
    cdef const double[::1] weights
    cdef double[:, ::1] total
    cdef Py_ssize_t most_rows, first, n_rows    # of a block
    cdef FlatRows rows
    cdef void* cells
    cdef Descents descents
    cdef Fractions fractions
    cdef Mixture mixture

    def __cinit__(self, FlatForest forest, const double[:, :] X, const double[::1] weights, double[:, ::1] total):
        cdef Py_ssize_t row_size, most_bytes, n_descents, cell_size = cell_size_of(forest.cells.form)
        self.forest, self.X, self.weights, self.total = forest, X, weights, total
        row_size = forest.cells.width * cell_size + total.shape[1] * sizeof(double)
        most_bytes = MOST_BYTES
        if row_size >= WIDE:
            most_bytes = max(<Py_ssize_t> LEAST_BYTES, min(most_bytes, forest.n_nodes * forest.node_size // 4))
        self.most_rows = min(X.shape[0], max(<Py_ssize_t> N_LANES, min(<Py_ssize_t> MOST_ROWS, most_bytes // row_size)))
        n_descents = max(self.most_rows, forest.n_trees)
        self.rows.table = forest.table
        self.cells = NULL if forest.cells.are_in(X) else malloc(self.most_rows * forest.cells.width * cell_size + 1)
        self.descents.row = <uint32_t*> malloc((3 * n_descents + N_LANES) * sizeof(uint32_t))
        if (self.cells == NULL and not forest.cells.are_in(X)) or self.descents.row == NULL:
            raise MemoryError(f"no memory for {self.most_rows} rows")
        self.descents.node = self.descents.row + n_descents
        self.descents.moving = self.descents.node + n_descents

    def __dealloc__(self):
        free(self.cells)
        free(self.descents.row)
        free_fractions(&self.fractions)

    cdef int add_all(self) except FAILED nogil:
        """Add the answers for all rows, block by block: tree by tree, or few rows one by one."""
        self.first = 0
        while self.first < self.X.shape[0]:
            self.n_rows = min(self.most_rows, self.X.shape[0] - self.first)
            self.rows.cells = self.cells
            self.forest.cells.fill(self.X[self.first:self.first + self.n_rows], &self.rows)
            if self.n_rows < N_LANES:
                self.add_rows()
            else:
                self.add_trees()
            self.first += self.n_rows
        return 0

    cdef int add_trees(self) except FAILED nogil:
        """Add the answers of one tree after the other."""
        cdef const FlatTree* tree
        cdef Py_ssize_t number, row, n_stopped
        for number in range(self.forest.n_trees):
            tree = &self.forest.trees[number]
            self.descents.n = self.n_rows
            for row in range(self.n_rows):
                self.descents.row[row], self.descents.node[row] = <uint32_t> row, 0
            follow_rows(tree, &self.rows, &self.descents)
            n_stopped = 0
            for row in range(self.n_rows):
                if not add_answer(
                    tree, self.descents.node[row], self.weights[number], &self.total[self.first + row, 0],
                ):
                    self.descents.row[n_stopped] = <uint32_t> row
                    self.descents.node[n_stopped] = self.descents.node[row]
                    n_stopped += 1
            self.add_stopped(number, n_stopped)
        return 0

    cdef int add_stopped(self, Py_ssize_t number, Py_ssize_t n_stopped) except FAILED nogil:
        """Add the answers of a tree for the first descents, which stopped at a split."""
        cdef Py_ssize_t first = 0, n_together
        while first < n_stopped:
            n_together = min(<Py_ssize_t> MOST_DIVIDED, n_stopped - first)
            self.add_divided(number, self.descents.row + first, self.descents.node + first, n_together)
            first += n_together
        return 0

    cdef int add_divided(
        self, Py_ssize_t number, const uint32_t* rows, const uint32_t* nodes, Py_ssize_t n_rows,
    ) except FAILED nogil:
        """Add the answers of a tree for rows that stopped at these splits."""
        cdef const Arrays* tree = self.forest.arrays[number]
        cdef Descents* fractions = &self.fractions.descents
        cdef Py_ssize_t k
        if not reserve_fractions(&self.fractions, self.forest.most_values):
            raise MemoryError("no memory for fractions of rows")
        memcpy(fractions.row, rows, n_rows * sizeof(uint32_t))
        memcpy(fractions.node, nodes, n_rows * sizeof(uint32_t))
        fractions.n = n_rows
        if divide_all(tree, &self.forest.trees[number], &self.rows, &self.fractions):
            sum_values(tree, &self.forest.trees[number], &self.fractions)
            for k in range(n_rows):
                self.add_mean(number, rows[k], self.fractions.values + k * tree.n_outputs)
        else:
            for k in range(n_rows):
                self.add_mixture(number, rows[k], <int32_t> nodes[k])
        return 0

    cdef int add_mixture(self, Py_ssize_t number, uint32_t row, int32_t node) except FAILED nogil:
        """Add the answer of a tree for a row with more fractions than there is room for."""
        if self.mixture is None:
            with gil:
                self.mixture = Mixture(self.forest.depth, self.forest.most_values)
        mix(self.forest.arrays[number], self.X, self.first + row, node, self.mixture)
        self.add_mean(number, row, &self.mixture.sums[0, 0])
        return 0

    cdef int add_mean(self, Py_ssize_t number, uint32_t row, const double* values) except FAILED nogil:
        """Add a mean of leaf values, or the vote for the first of the largest."""
        cdef const FlatTree* tree = &self.forest.trees[number]
        cdef double* sums = &self.total[self.first + row, tree.output]
        cdef int32_t column, best = 0
        for column in range(tree.n_values):
            if not self.forest.votes:
                sums[column] += self.weights[number] * values[column]
            elif values[column] > values[best]:
                best = column
        if self.forest.votes:
            sums[best] += self.weights[number]
        return 0

    cdef int add_rows(self) except FAILED nogil:
        """Add the answers for one row after the other."""
        cdef Py_ssize_t number, row
        self.descents.n = self.forest.n_trees
        for row in range(self.n_rows):
            for number in range(self.forest.n_trees):
                self.descents.row[number], self.descents.node[number] = <uint32_t> row, 0
            follow_trees(self.forest.trees, &self.rows, &self.descents)
            for number in range(self.forest.n_trees):
                if not add_answer(
                    &self.forest.trees[number], self.descents.node[number], self.weights[number],
                    &self.total[self.first + row, 0],
                ):
                    self.add_divided(number, &self.descents.row[number], &self.descents.node[number], 1)
        return 0
