"""Turns a tree into a program: steps that a block of rows follows at once (see `program.h`).

Columns 0 and 1 hold zeros and ones; then come those that trees share, one for each distinct threshold of an attribute;
then those that a split fills for its own descendants.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

from tremula._kernels.nodes cimport MULTIWAY_SPLIT, Node, is_numeric

cdef enum:
    LOOK_FROM = 12              # nodes below which a subtree is followed without a look at its weight

FIRST_SHARED = 2


def fill_preorder(const Node[::1] nodes, int32_t[::1] n_below, int32_t[::1] out):
    """Write the place of every node in a descent that takes first branches first; `n_below` is scratch."""
    cdef Py_ssize_t node
    cdef int32_t child, place
    n_below[:] = 1
    for node in range(nodes.shape[0] - 1, -1, -1):
        for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
            n_below[node] += n_below[child]
    out[0] = 0
    for node in range(nodes.shape[0]):
        place = out[node] + 1
        for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
            out[child] = place
            place += n_below[child]


cdef void* reserve_bytes(Buffer* buffer, Py_ssize_t n_bytes) except NULL:
    """Append so many bytes to a buffer, which grows if it must, and return where they start."""
    cdef char* data
    cdef Py_ssize_t capacity
    if buffer.data == NULL or buffer.used + n_bytes > buffer.capacity:
        capacity = 2 * (buffer.used + n_bytes) + 256
        data = <char*> realloc(buffer.data, capacity)
        if data == NULL:
            raise MemoryError
        buffer.data, buffer.capacity = data, capacity
    buffer.used += n_bytes
    return buffer.data + (buffer.used - n_bytes)


cdef class TreeProgram:
    """Steps of one tree.

    Parameters
    ----------
    tree : Tree
    shares : of every node in what its parent passes on when a value is missing.
    thresholds : tuple of four
        Of every node, its threshold, the largest value that takes the first branch, and its shared column or -1 for one
        of its own; and the first column that is not shared.
    levels : tuple of two
        Where the levels of each attribute start, and how frequent each is.
    values : Values
        Of every row of the tree's values, those that are not 0 (from `start`), and the `output` they add to; for every
        output their `mean`; and their `spread`.
    paths : whether every test is a draw of its own.
    slope_of, rank
        The attribute to differentiate by, or -1. If every test is a draw of its own, only the `rank`-th test of that
        attribute on each path is differentiated.
    """

    def __cinit__(self):
        self.places, self.tested, self.open_edges, self.waiting, self.step_parents = NULL, NULL, NULL, NULL, NULL

    def __dealloc__(self):
        self.forget()
        free(self.steps.data)
        free(self.splits.data)
        free(self.factors.data)
        free(self.open.data)
        free(self.kept.data)
        free(self.forks.data)

    cdef void forget(self) noexcept:
        """Give back what is only needed while the program is made."""
        free(self.places)
        free(self.tested)
        free(self.open_edges)
        free(self.waiting)
        free(self.step_parents)
        self.places, self.tested, self.open_edges, self.waiting, self.step_parents = NULL, NULL, NULL, NULL, NULL
        self.nodes = None
        self.subsets = None
        self.n_levels = None
        self.shares = None
        self.thresholds = None
        self.last = None
        self.columns = None
        self.level_start = None
        self.level_shares = None

    def __init__(
        self, object tree, const double[::1] shares, tuple thresholds, tuple levels, object values, bint paths,
        int32_t slope_of, int32_t rank,
    ):
        cdef int32_t node, branch, n_waiting = 1
        cdef const Node* here
        self.nodes, self.subsets, self.n_levels, self.shares = tree.nodes, tree.subsets, tree.n_levels, shares
        self.thresholds, self.last, self.columns, self.first_own = thresholds
        self.level_start, self.level_shares = levels
        self.value_start, self.value_output, self.value = values.start, values.output, values.value
        self.paths, self.slope_of, self.rank = paths, slope_of, rank
        self.survey()
        self.n_registers, self.n_own, self.n_leaves = 1, 0, 0
        self.waiting[0] = 0
        while n_waiting > 0:
            n_waiting -= 1
            node = self.waiting[n_waiting]
            here = &self.nodes[node]
            if slope_of >= 0 and self.is_flat(node):
                continue
            self.arrive(node)
            if here.n_branches == 0:
                self.n_leaves += 1
                continue
            self.part(node)
            for branch in range(here.n_branches - 1, -1, -1):
                self.waiting[n_waiting] = here.first_child + branch
                n_waiting += 1
        self.close()
        if slope_of < 0 and self.is_all_numeric():
            self.fork()
        self.arrays = (values.start, values.output, values.value, values.mean)
        self.finish(values.mean, values.spread)
        self.forget()

    cdef int finish(self, const double[::1] mean, double spread) except -1:
        """Point to what was written, which `arrays` and the buffers keep."""
        self.program.steps, self.program.splits = <Step*> self.steps.data, <Split*> self.splits.data
        self.program.factors, self.program.open = <Factor*> self.factors.data, <Factor*> self.open.data
        self.program.kept = <double*> self.kept.data
        self.program.n_steps = <int32_t> (self.steps.used // sizeof(Step))
        self.program.n_splits = <int32_t> (self.splits.used // sizeof(Split))
        self.program.forks = <Fork*> self.forks.data
        self.program.n_forks = <int32_t> (self.forks.used // sizeof(Fork))
        self.program.value_start = &self.value_start[0]
        self.program.value_output = &self.value_output[0] if self.value_output.shape[0] > 0 else NULL
        self.program.value = &self.value[0] if self.value.shape[0] > 0 else NULL
        self.program.mean, self.program.spread = &mean[0], spread
        return 0

    cdef int survey(self) except -1:
        """Find for every node its parent, the number of nodes from it down, and the attributes tested there."""
        cdef Py_ssize_t n_nodes = self.nodes.shape[0], n_attributes = self.n_levels.shape[0]
        cdef int32_t node, child, depth, deepest = 0
        self.n_words = n_attributes // 64 + 1
        self.places = <Place*> calloc(n_nodes, sizeof(Place))
        self.tested = <uint64_t*> calloc(n_nodes * self.n_words, sizeof(uint64_t))
        self.waiting = <int32_t*> malloc(n_nodes * sizeof(int32_t))
        self.step_parents = <int32_t*> malloc(n_nodes * sizeof(int32_t))
        if self.places == NULL or self.tested == NULL or self.waiting == NULL or self.step_parents == NULL:
            raise MemoryError
        self.places[0].parent = -1
        for node in range(<int32_t> n_nodes):   # `waiting` holds depths here
            depth = self.waiting[self.places[node].parent] + 1 if node > 0 else 0
            self.waiting[node] = depth
            deepest = max(deepest, depth)
            for child in range(self.nodes[node].n_branches):
                self.places[self.nodes[node].first_child + child].parent = node
        self.find_subtrees()
        self.n_edges = (deepest + 1) * min(deepest + 1, n_attributes + 1) + 1
        self.open_edges = <int32_t*> malloc(self.n_edges * sizeof(int32_t))
        if self.open_edges == NULL:
            raise MemoryError
        return 0

    cdef int find_subtrees(self) except -1:
        """From the leaves up: the number of nodes and the attributes tested from every node down."""
        cdef Py_ssize_t node, parent, word, n_words = self.n_words
        cdef int32_t attribute
        for node in range(self.nodes.shape[0] - 1, -1, -1):
            self.places[node].n_nodes += 1
            if self.nodes[node].n_branches > 0:
                attribute = self.nodes[node].attribute
                self.tested[node * n_words + attribute // 64] |= <uint64_t> 1 << (attribute % 64)
            if node > 0:
                parent = self.places[node].parent
                self.places[parent].n_nodes += self.places[node].n_nodes
                for word in range(n_words):
                    self.tested[parent * n_words + word] |= self.tested[node * n_words + word]
        return 0

    cdef bint is_tested_below(self, int32_t node, int32_t attribute) noexcept:
        return (self.tested[node * self.n_words + attribute // 64] >> (attribute % 64)) & 1

    cdef bint is_flat(self, int32_t node) noexcept:
        """Whether what is answered from a node down does not depend on the attribute to differentiate by."""
        cdef int32_t n_needed = self.rank if self.paths else 1
        if self.places[node].n_sloped >= n_needed:
            return False
        return self.places[node].n_nodes == 1 or not self.is_tested_below(node, self.slope_of)

    cdef bint is_sloped(self, int32_t node) noexcept:
        """Whether a split is a test that is differentiated."""
        if self.nodes[node].attribute != self.slope_of:
            return False
        return not self.paths or self.places[node].n_sloped + 1 == self.rank

    cdef int arrive(self, int32_t node) except -1:
        """Write the step of a node: the factors of attributes that are tested above it and no more from it down."""
        cdef Place* place = &self.places[node]
        cdef Place* above
        cdef Step* step
        cdef int32_t k, edge, attribute, tested_above
        place.step = <int32_t> (self.steps.used // sizeof(Step))
        step = <Step*> reserve_bytes(&self.steps, sizeof(Step))
        step.source, step.split, step.next = 0, -1, self.nodes[node].index
        step.first_factor = <int32_t> (self.factors.used // sizeof(Factor))
        if node > 0:
            above = &self.places[place.parent]
            step.source = above.weights
            self.step_parents[place.step] = above.step
            tested_above = self.nodes[place.parent].attribute
            place.first_open = above.first_open + above.n_open
            for k in range(above.n_open + 1):
                edge = node if k == above.n_open else self.open_edges[above.first_open + k]
                attribute = self.nodes[self.places[edge].parent].attribute
                if edge != node and attribute == tested_above:
                    continue
                if not self.paths and self.is_tested_below(node, attribute):
                    self.open_edges[place.first_open + place.n_open] = edge
                    place.n_open += 1
                else:
                    self.add_factor(&self.factors, edge)
        step.n_factors = <int32_t> (self.factors.used // sizeof(Factor)) - step.first_factor
        place.weights = step.source + (step.n_factors > 0)
        step.target = place.weights
        self.n_registers = max(self.n_registers, place.weights + 1)
        return 0

    cdef int add_factor(self, Buffer* buffer, int32_t edge) except -1:
        cdef Factor* factor = <Factor*> reserve_bytes(buffer, sizeof(Factor))
        factor.high, factor.low = self.places[edge].high, self.places[edge].low
        factor.missing = self.places[edge].missing
        return 0

    cdef int part(self, int32_t node) except -1:
        """Write the split of a node, and what it leaves of its attribute to each of its branches."""
        cdef const Node* here = &self.nodes[node]
        cdef Place* place = &self.places[node]
        cdef Split* split
        cdef double threshold = self.thresholds[node]
        cdef int32_t column = self.columns[node], n_slots, before
        cdef bint is_sloped = self.is_sloped(node)
        (<Step*> self.steps.data)[place.step].split = <int32_t> (self.splits.used // sizeof(Split))
        split = <Split*> reserve_bytes(&self.splits, sizeof(Split))
        split.threshold, split.last = threshold, self.last[node]
        split.attribute, split.n_branches = here.attribute, here.n_branches
        split.n_levels = self.n_levels[here.attribute]
        split.kind = NOMINAL if not is_numeric(here.index) else SLOPE if is_sloped else NUMERIC
        n_slots = here.n_branches if split.kind == NOMINAL else column < 0 or (is_sloped and self.paths)
        split.column = self.first_own + place.slot if n_slots > 0 else column
        self.n_own = max(self.n_own, place.slot + n_slots)
        split.part = <double> place.n_nodes / self.places[0].n_nodes
        if node == 0 or place.n_nodes < LOOK_FROM:
            split.part = 0.0
        before = self.write_open(split, node)
        split.low = self.places[before].low if before >= 0 else ZEROS
        split.high = self.places[before].high if before >= 0 else ONES
        split.middle = split.column
        if before >= 0 and threshold >= self.places[before].top:
            split.middle = split.high
        elif before >= 0 and threshold <= self.places[before].bottom:
            split.middle = split.low
        self.pass_on(split, node, before, n_slots)
        if split.kind == NOMINAL:
            split.kept = <int32_t> (self.kept.used // sizeof(double))
            self.divide(node, before, split.n_levels)
        return 0

    cdef int32_t write_open(self, Split* split, int32_t node) except -2:
        """Write the factors of attributes that are tested again; returns the edge of the split's attribute, or -1."""
        cdef Place* place = &self.places[node]
        cdef int32_t k, edge, attribute, before = -1
        split.first_open = <int32_t> (self.open.used // sizeof(Factor))
        for k in range(place.n_open):
            edge = self.open_edges[place.first_open + k]
            attribute = self.nodes[self.places[edge].parent].attribute
            if attribute == self.nodes[node].attribute:
                before = edge
            if split.part > 0 and attribute != self.slope_of:
                self.add_factor(&self.open, edge)
        split.n_open = <int32_t> (self.open.used // sizeof(Factor)) - split.first_open
        return before

    cdef int pass_on(self, const Split* split, int32_t node, int32_t before, int32_t n_slots) except -1:
        """Write what a split leaves of its attribute to each branch; `before` is the attribute's last edge above."""
        cdef const Node* here = &self.nodes[node]
        cdef Place* place = &self.places[node]
        cdef Place* below
        cdef double threshold = split.threshold
        cdef bint is_sloped = self.is_sloped(node)
        cdef int32_t k, child
        for k in range(here.n_branches):
            child = here.first_child + k
            below = &self.places[child]
            below.missing = self.shares[child] * (self.places[before].missing if before >= 0 else 1.0)
            below.low = self.places[before].low if before >= 0 else ZEROS
            below.high = self.places[before].high if before >= 0 else ZEROS if is_sloped else ONES
            below.bottom = self.places[before].bottom if before >= 0 else -INFINITY
            below.top = self.places[before].top if before >= 0 else INFINITY
            below.kept, below.slot = -1, place.slot + n_slots
            below.n_sloped = place.n_sloped + (here.attribute == self.slope_of)
            if is_sloped:
                below.missing = 0.0
            if split.kind == NOMINAL:
                below.low, below.high = ZEROS, split.column + k
                continue
            if k == 0 and threshold < below.top:
                below.high, below.top = split.column, threshold
            if k == 1 and threshold > below.bottom:
                below.low, below.bottom = split.column, threshold
            if below.bottom >= below.top:       # tests that no value passes: of width 0, unless it is missing
                below.low, below.high = split.column, split.column
        return 0

    cdef int divide(self, int32_t node, int32_t before, int32_t n_levels) except -1:
        """Write for each branch of a nominal split the share of every level that comes there, and the mean share."""
        cdef const Node* here = &self.nodes[node]
        cdef double* kept
        cdef int32_t k, level, branch, child
        cdef double taken
        for k in range(here.n_branches):
            child = here.first_child + k
            self.places[child].kept = <int32_t> (self.kept.used // sizeof(double))
            kept = <double*> reserve_bytes(&self.kept, (n_levels + 1) * sizeof(double))
            kept[n_levels] = 0.0
            for level in range(n_levels):
                branch = level if here.index == MULTIWAY_SPLIT else self.subsets[here.index + level]
                taken = 1.0 if branch == k else 0.0
                if here.index != MULTIWAY_SPLIT and branch > 1:
                    taken = self.shares[child]
                if before >= 0:
                    taken *= (<double*> self.kept.data)[self.places[before].kept + level]
                kept[level] = taken
                kept[n_levels] += taken * self.level_shares[self.level_start[here.attribute] + level]
        return 0

    cdef bint is_pair(self, const Step* first) except -1:
        """Whether two leaves follow that share a threshold, each with one factor and one value, of other outputs."""
        cdef const Step* second = first + 1
        cdef const int32_t[::1] value_start = self.value_start, value_output = self.value_output
        cdef const Factor* factors = <Factor*> self.factors.data
        if first.split >= 0 or second.split >= 0 or first.n_factors != 1 or second.n_factors != 1:
            return False
        if factors[first.first_factor].high != factors[second.first_factor].low:
            return False
        if value_start[first.next + 1] - value_start[first.next] != 1:
            return False
        if value_start[second.next + 1] - value_start[second.next] != 1:
            return False
        return value_output[value_start[first.next]] != value_output[value_start[second.next]]

    cdef int close(self) except -1:
        """Tell every split the step that follows all its descendants, and whether these are a pair of leaves."""
        cdef Split* splits = <Split*> self.splits.data
        cdef Step* steps = <Step*> self.steps.data
        cdef Py_ssize_t i, n_steps = self.steps.used // sizeof(Step)
        cdef int32_t* n_below = <int32_t*> calloc(n_steps + 1, sizeof(int32_t))
        if n_below == NULL:
            raise MemoryError
        for i in range(n_steps - 1, -1, -1):
            n_below[i] += 1
            if i > 0:
                n_below[self.step_parents[i]] += n_below[i]
            if steps[i].split >= 0:
                steps[i].next = <int32_t> i + n_below[i]
                splits[steps[i].split].is_pair = n_below[i] == 3 and splits[steps[i].split].kind != NOMINAL and (
                    self.is_pair(&steps[i + 1]))
        free(n_below)
        return 0

    cdef bint is_all_numeric(self) noexcept:
        """Whether there are splits, all of them at a threshold."""
        cdef const Split* splits = <Split*> self.splits.data
        cdef Py_ssize_t i, n_splits = self.splits.used // sizeof(Split)
        for i in range(n_splits):
            if splits[i].kind != NUMERIC:
                return False
        return n_splits > 0

    cdef int fork(self) except -1:
        """Write the same tree as forks. The right branch takes over the register of its fork, the left one the next."""
        cdef const Step* steps = <Step*> self.steps.data
        cdef const Split* split
        cdef Fork* fork
        cdef Py_ssize_t i, n_steps = self.steps.used // sizeof(Step)
        cdef int32_t* sources = self.waiting        # register of each step's weights
        cdef int32_t right, n_forks = 0
        sources[0] = 0
        for i in range(n_steps):
            if steps[i].split < 0:
                continue
            split = &(<Split*> self.splits.data)[steps[i].split]
            right = <int32_t> i + 2 if steps[i + 1].split < 0 else steps[i + 1].next
            sources[right] = max(sources[i], 1)     # register 0 keeps the weights of the root
            sources[i + 1] = sources[right] + 1
            fork = <Fork*> reserve_bytes(&self.forks, sizeof(Fork))
            fork.source, fork.split = sources[i], steps[i].split
            fork.column, fork.low, fork.middle, fork.high = split.column, split.low, split.middle, split.high
            n_forks += 1
            fork.next = n_forks + (steps[i].next - <int32_t> i - 1) // 2 - 1   # of n splits and n + 1 leaves
            self.lead(&fork.left, &steps[i + 1], <int32_t> i + 1, sources)
            self.lead(&fork.right, &steps[right], right, sources)
            self.n_registers = max(self.n_registers, sources[i + 1] + 1)
        return 0

    cdef int lead(self, Branch* branch, const Step* step, int32_t number, const int32_t* sources) except -1:
        """Write where a branch leads: to the fork of a split, or to the values of a leaf."""
        cdef int32_t entry
        branch.value = 0.0
        if step.split >= 0:
            branch.kind, branch.place = TO_FORK, sources[number]
            branch.value = <double> (step.next - number) / (self.steps.used // sizeof(Step))
            return 0
        branch.kind, branch.place = TO_VALUES, step.next
        entry = self.value_start[step.next]
        if self.value_start[step.next + 1] == entry + 1:
            branch.kind, branch.place, branch.value = TO_ONE_VALUE, self.value_output[entry], self.value[entry]
        return 0
