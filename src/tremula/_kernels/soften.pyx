"""Turns a tree into steps that a block of rows follows at once, and adds up what the leaves answer (see soften.h).

Columns 0 and 1 hold zeros and ones; then come those that trees share, one for each distinct threshold of an attribute;
then those that a split fills for its own descendants.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tremula._kernels.nodes cimport MULTIWAY_SPLIT, NUMERIC_SPLIT, Node

cdef extern from "soften.h" nogil:
    enum:
        BLOCK
        NUMERIC
        SLOPE
        NOMINAL
    ctypedef struct Factor:
        int32_t high, low
        double missing
    ctypedef struct Step:
        int32_t source, target, first_factor, n_factors, split, next
    ctypedef struct Split:
        double threshold, last, part
        int32_t attribute, kind, column, first_open, n_open, n_branches, n_levels, kept, is_pair
        int32_t low, middle, high
    enum:
        TO_FORK
        TO_ONE_VALUE
        TO_VALUES
    ctypedef struct Branch:
        double value, part
        int32_t kind, place
    ctypedef struct Fork:
        Branch left, right
        int32_t source, split, column, low, middle, high, next
    ctypedef struct Program:
        const Step* steps
        const Split* splits
        const Factor* factors
        const Factor* open
        const double* kept
        const int32_t* value_start
        const int32_t* value_output
        const double* value
        const double* mean
        double spread
        int32_t n_steps
        const Fork* forks
        int32_t n_forks
    ctypedef struct Block:
        double* columns
        uint8_t* is_filled
        double* x
        double* inverse
        double* out
        double* lost
        double* bound
        int has_missing
    ctypedef struct Setting:
        const double* own
        const double* others
        const int32_t* level_start
        double* registers
        double* scratch
        uint8_t* is_light
        double tolerance
        int32_t n_shared, n_outputs
    void run_program(const Setting*, const Program*, Block*)
    double normal_below(double)
    void choose_processor(int plain)

cdef enum:
    ZEROS = 0               # columns
    ONES = 1
    LOOK_FROM = 12          # nodes below which a subtree is followed without a look at its weight
    GROUP = 8               # blocks that follow one tree before the next, so that its steps are at hand
    MOST_BYTES = 1 << 24    # of columns in a group

ROWS_IN_BLOCK = BLOCK
FIRST_SHARED = 2

choose_processor(0)


def use_plain_instructions(bint plain):
    """Do without the instructions that only some processors have: for tests, which find the same bits."""
    choose_processor(plain)


def fill_normal_below(const double[::1] z, double[::1] out):
    """Write the normal distribution function of every number."""
    cdef Py_ssize_t i
    for i in range(z.shape[0]):
        out[i] = normal_below(z[i])


def fill_preorder(const Node[::1] nodes, int32_t[::1] n_below, int32_t[::1] out):
    """Write the place of every node in a descent that takes first branches first; `n_below` is room."""
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


cdef struct Buffer:
    char* data
    Py_ssize_t used, capacity


cdef void* more(Buffer* buffer, Py_ssize_t n_bytes) except NULL:
    """Room for so many bytes at the end of a buffer that grows."""
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


cdef struct Place:          # what is known of a node when its turn comes
    int32_t parent
    int32_t n_nodes         # from here down
    int32_t step            # its own, -1 before its turn
    int32_t weights         # register that holds its weights
    int32_t first_open, n_open      # stretch of `open_edges`
    int32_t slot            # first column that is free for the splits from here down
    int32_t high, low       # what is left of the attribute that the parent tests
    int32_t kept            # the same of a nominal one; -1 for all its levels
    int32_t n_sloped        # tests of the attribute to differentiate by, above this node
    double top, bottom      # the thresholds of `high` and `low`
    double missing          # share of a row without a value of that attribute


cdef class TreeProgram:
    """Steps of one tree.

    Parameters
    ----------
    nodes, subsets, n_levels
        As in `Tree`.
    shares : of every node in what its parent passes on when a value is missing.
    thresholds, last : of every node, its threshold and the largest value that takes the first branch.
    columns : of every node, its shared column, or -1 for one of its own.
    first_own : the first column that is not shared.
    level_start, level_shares : where the levels of each attribute start, and how frequent each is.
    value_start, value_output, value : of every row of the tree's values, those that are not 0, and the output they add to.
    mean : of the values, for every output.
    spread : of the values.
    paths : whether every test is a draw of its own.
    slope_of, rank : the attribute to differentiate by, or -1; in the form by paths, its how manieth test on a path.
    """

    cdef Buffer steps, splits, factors, open, kept, forks
    cdef Program program
    cdef Place* places
    cdef uint64_t* tested
    cdef int32_t* open_edges
    cdef int32_t* waiting
    cdef int32_t* step_parents
    cdef Py_ssize_t n_words, n_edges
    cdef readonly int32_t n_registers, n_own, n_leaves
    cdef object arrays

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
        """Give back what only the making needs."""
        free(self.places)
        free(self.tested)
        free(self.open_edges)
        free(self.waiting)
        free(self.step_parents)
        self.places, self.tested, self.open_edges, self.waiting, self.step_parents = NULL, NULL, NULL, NULL, NULL

    def __init__(
        self, const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, const double[::1] shares,
        const double[::1] thresholds, const double[::1] last, const int32_t[::1] columns, int32_t first_own,
        const int32_t[::1] level_start, const double[::1] level_shares,
        const int32_t[::1] value_start, const int32_t[::1] value_output, const double[::1] value,
        const double[::1] mean, double spread, bint paths, int32_t slope_of, int32_t rank,
    ):
        cdef int32_t node, branch, n_waiting = 1
        cdef const Node* here
        self.arrays = (value_start, value_output, value, mean)
        self.survey(nodes, n_levels.shape[0])
        self.n_registers, self.n_own, self.n_leaves = 1, 0, 0
        self.waiting[0] = 0
        while n_waiting > 0:
            n_waiting -= 1
            node = self.waiting[n_waiting]
            here = &nodes[node]
            if slope_of >= 0 and self.is_flat(here, node, slope_of, rank, paths):
                continue
            self.arrive(nodes, node, paths, slope_of)
            if here.n_branches == 0:
                self.n_leaves += 1
                continue
            self.part(nodes, subsets, n_levels, shares, thresholds[node], last[node], columns[node], first_own,
                      level_start, level_shares, node, paths, slope_of, rank)
            for branch in range(here.n_branches - 1, -1, -1):
                self.waiting[n_waiting] = here.first_child + branch
                n_waiting += 1
        self.close(value_start, value_output)
        if slope_of < 0 and self.is_all_numeric():
            self.fork(value_start, value_output, value)
        self.forget()
        self.program.steps, self.program.splits = <Step*> self.steps.data, <Split*> self.splits.data
        self.program.factors, self.program.open = <Factor*> self.factors.data, <Factor*> self.open.data
        self.program.kept = <double*> self.kept.data
        self.program.n_steps = <int32_t> (self.steps.used // sizeof(Step))
        self.program.forks = <Fork*> self.forks.data
        self.program.n_forks = <int32_t> (self.forks.used // sizeof(Fork))
        self.program.value_start = &value_start[0]
        self.program.value_output = &value_output[0] if value_output.shape[0] > 0 else NULL
        self.program.value = &value[0] if value.shape[0] > 0 else NULL
        self.program.mean, self.program.spread = &mean[0], spread

    cdef int survey(self, const Node[::1] nodes, Py_ssize_t n_attributes) except -1:
        """Find for every node its parent, the number of nodes from it down, and the attributes tested there."""
        cdef Py_ssize_t node, word, n_nodes = nodes.shape[0]
        cdef int32_t child, depth, most = 0
        self.n_words = n_attributes // 64 + 1
        self.places = <Place*> calloc(n_nodes, sizeof(Place))
        self.tested = <uint64_t*> calloc(n_nodes * self.n_words, sizeof(uint64_t))
        self.waiting = <int32_t*> malloc(n_nodes * sizeof(int32_t))
        self.step_parents = <int32_t*> malloc(n_nodes * sizeof(int32_t))
        if self.places == NULL or self.tested == NULL or self.waiting == NULL or self.step_parents == NULL:
            raise MemoryError
        self.places[0].parent = -1
        for node in range(n_nodes):             # `waiting` holds depths here
            depth = self.waiting[self.places[node].parent] + 1 if node > 0 else 0
            self.waiting[node] = depth
            most = max(most, depth)
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                self.places[child].parent = <int32_t> node
        for node in range(n_nodes - 1, -1, -1):
            self.places[node].n_nodes += 1
            if nodes[node].n_branches > 0:
                self.tested[node * self.n_words + nodes[node].attribute // 64] |= <uint64_t> 1 << (
                    nodes[node].attribute % 64)
            if node > 0:
                self.places[self.places[node].parent].n_nodes += self.places[node].n_nodes
                for word in range(self.n_words):
                    self.tested[self.places[node].parent * self.n_words + word] |= self.tested[
                        node * self.n_words + word]
        self.n_edges = (most + 1) * min(most + 1, n_attributes + 1) + 1
        self.open_edges = <int32_t*> malloc(self.n_edges * sizeof(int32_t))
        if self.open_edges == NULL:
            raise MemoryError
        return 0

    cdef bint is_tested_below(self, int32_t node, int32_t attribute) noexcept:
        return (self.tested[node * self.n_words + attribute // 64] >> (attribute % 64)) & 1

    cdef bint is_flat(self, const Node* here, int32_t node, int32_t slope_of, int32_t rank, bint paths) noexcept:
        """Whether what is answered from a node down does not depend on the attribute to differentiate by."""
        cdef int32_t n_needed = rank if paths else 1
        return self.places[node].n_sloped < n_needed and (
            here.n_branches == 0 or not self.is_tested_below(node, slope_of))

    cdef int arrive(self, const Node[::1] nodes, int32_t node, bint paths, int32_t slope_of) except -1:
        """Write the step of a node: the factors of attributes that are tested above it and no more from it down."""
        cdef Place* place = &self.places[node]
        cdef Place* above
        cdef Step* step
        cdef int32_t k, edge, attribute, tested_above
        place.step = <int32_t> (self.steps.used // sizeof(Step))
        step = <Step*> more(&self.steps, sizeof(Step))
        step.source, step.split, step.next = 0, -1, nodes[node].index
        step.first_factor = <int32_t> (self.factors.used // sizeof(Factor))
        if node > 0:
            above = &self.places[place.parent]
            step.source = above.weights
            self.step_parents[place.step] = above.step
            tested_above = nodes[place.parent].attribute
            place.first_open = above.first_open + above.n_open
            for k in range(above.n_open + 1):
                edge = node if k == above.n_open else self.open_edges[above.first_open + k]
                attribute = nodes[self.places[edge].parent].attribute
                if edge != node and attribute == tested_above:
                    continue
                if not paths and self.is_tested_below(node, attribute):
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
        cdef Factor* factor = <Factor*> more(buffer, sizeof(Factor))
        factor.high, factor.low = self.places[edge].high, self.places[edge].low
        factor.missing = self.places[edge].missing
        return 0

    cdef int part(
        self, const Node[::1] nodes, const uint8_t[::1] subsets, const int32_t[::1] n_levels, const double[::1] shares,
        double threshold, double last, int32_t column, int32_t first_own, const int32_t[::1] level_start,
        const double[::1] level_shares, int32_t node, bint paths, int32_t slope_of, int32_t rank,
    ) except -1:
        """Write the split of a node, and what it leaves of its attribute to each of its branches."""
        cdef const Node* here = &nodes[node]
        cdef Place* place = &self.places[node]
        cdef Place* below
        cdef Split* split
        cdef int32_t k, edge, child, n_slots, before = -1
        cdef bint is_sloped = here.attribute == slope_of and (not paths or place.n_sloped + 1 == rank)
        (<Step*> self.steps.data)[place.step].split = <int32_t> (self.splits.used // sizeof(Split))
        split = <Split*> more(&self.splits, sizeof(Split))
        split.threshold, split.last = threshold, last
        split.attribute, split.n_branches = here.attribute, here.n_branches
        split.n_levels = n_levels[here.attribute]
        split.kind = NOMINAL if here.index != NUMERIC_SPLIT else SLOPE if is_sloped else NUMERIC
        n_slots = here.n_branches if split.kind == NOMINAL else column < 0 or (is_sloped and paths)
        split.column = first_own + place.slot if n_slots > 0 else column
        self.n_own = max(self.n_own, place.slot + n_slots)
        split.part = <double> place.n_nodes / self.places[0].n_nodes
        if node == 0 or place.n_nodes < LOOK_FROM:
            split.part = 0.0
        split.first_open = <int32_t> (self.open.used // sizeof(Factor))
        for k in range(place.n_open):
            edge = self.open_edges[place.first_open + k]
            if nodes[self.places[edge].parent].attribute == here.attribute:
                before = edge
            if split.part > 0 and nodes[self.places[edge].parent].attribute != slope_of:
                self.add_factor(&self.open, edge)
        split.n_open = <int32_t> (self.open.used // sizeof(Factor)) - split.first_open
        split.low = self.places[before].low if before >= 0 else ZEROS
        split.high = self.places[before].high if before >= 0 else ONES
        split.middle = split.column
        if before >= 0 and threshold >= self.places[before].top:
            split.middle = split.high
        elif before >= 0 and threshold <= self.places[before].bottom:
            split.middle = split.low
        for k in range(here.n_branches):
            child = here.first_child + k
            below = &self.places[child]
            below.missing = shares[child] * (self.places[before].missing if before >= 0 else 1.0)
            below.low = self.places[before].low if before >= 0 else ZEROS
            below.high = self.places[before].high if before >= 0 else ZEROS if is_sloped else ONES
            below.bottom = self.places[before].bottom if before >= 0 else -INFINITY
            below.top = self.places[before].top if before >= 0 else INFINITY
            below.kept, below.slot = -1, place.slot + n_slots
            below.n_sloped = place.n_sloped + (here.attribute == slope_of)
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
        if split.kind == NOMINAL:
            split.kept = <int32_t> (self.kept.used // sizeof(double))
            self.divide(nodes, subsets, shares, level_start, level_shares, node, before, split.n_levels)
        return 0

    cdef int divide(
        self, const Node[::1] nodes, const uint8_t[::1] subsets, const double[::1] shares,
        const int32_t[::1] level_start, const double[::1] level_shares, int32_t node, int32_t before, int32_t n_levels,
    ) except -1:
        """Write for each branch of a nominal split the share of every level that comes there, and the mean share."""
        cdef const Node* here = &nodes[node]
        cdef double* kept
        cdef int32_t k, level, branch, child
        cdef double taken
        for k in range(here.n_branches):
            child = here.first_child + k
            self.places[child].kept = <int32_t> (self.kept.used // sizeof(double))
            kept = <double*> more(&self.kept, (n_levels + 1) * sizeof(double))
            kept[n_levels] = 0.0
            for level in range(n_levels):
                branch = level if here.index == MULTIWAY_SPLIT else subsets[here.index + level]
                taken = 1.0 if branch == k else 0.0
                if here.index != MULTIWAY_SPLIT and branch > 1:
                    taken = shares[child]
                if before >= 0:
                    taken *= (<double*> self.kept.data)[self.places[before].kept + level]
                kept[level] = taken
                kept[n_levels] += taken * level_shares[level_start[here.attribute] + level]
        return 0

    cdef bint is_pair(self, const Step* first, const int32_t[::1] value_start, const int32_t[::1] value_output) except -1:
        """Whether two leaves follow that share a threshold, each with one factor and one value, of other outputs."""
        cdef const Step* second = first + 1
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

    cdef int close(self, const int32_t[::1] value_start, const int32_t[::1] value_output) except -1:
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
                    self.is_pair(&steps[i + 1], value_start, value_output))
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

    cdef int fork(
        self, const int32_t[::1] value_start, const int32_t[::1] value_output, const double[::1] value,
    ) except -1:
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
            fork = <Fork*> more(&self.forks, sizeof(Fork))
            fork.source, fork.split = sources[i], steps[i].split
            fork.column, fork.low, fork.middle, fork.high = split.column, split.low, split.middle, split.high
            n_forks += 1
            fork.next = n_forks + (steps[i].next - <int32_t> i - 1) // 2 - 1   # of n splits and n + 1 leaves
            self.lead(&fork.left, &steps[i + 1], <int32_t> i + 1, sources, value_start, value_output, value)
            self.lead(&fork.right, &steps[right], right, sources, value_start, value_output, value)
            self.n_registers = max(self.n_registers, sources[i + 1] + 1)
        return 0

    cdef int lead(
        self, Branch* branch, const Step* step, int32_t number, const int32_t* sources,
        const int32_t[::1] value_start, const int32_t[::1] value_output, const double[::1] value,
    ) except -1:
        """Write where a branch leads: to the fork of a split, or to the values of a leaf."""
        cdef int32_t entry
        branch.value, branch.part = 0.0, 0.0
        if step.split >= 0:
            branch.kind, branch.place = TO_FORK, sources[number]
            branch.part = <double> (step.next - number) / (self.steps.used // sizeof(Step))
            return 0
        branch.kind, branch.place = TO_VALUES, step.next
        entry = value_start[step.next]
        if value_start[step.next + 1] == entry + 1:
            branch.kind, branch.place, branch.value = TO_ONE_VALUE, value_output[entry], value[entry]
        return 0


cdef struct Room:
    Block[GROUP] blocks
    char* data


cdef inline char* aligned(char* data) noexcept nogil:
    return data + (64 - <size_t> data % 64) % 64


cdef int make_room(
    Room* room, Setting* setting, int n_blocks, Py_ssize_t n_columns, Py_ssize_t n_attributes, Py_ssize_t n_registers,
) noexcept nogil:
    """Allocate all that a group of blocks needs; False if there is not enough memory."""
    cdef Py_ssize_t row_bytes = BLOCK * sizeof(double), n_outputs = setting.n_outputs
    cdef Py_ssize_t n_vectors = n_columns + 2 * n_attributes + n_outputs + 2
    cdef Py_ssize_t n_flags = (n_columns + 63) // 64 * 64
    cdef char* data
    cdef Block* block
    cdef int b, j
    room.data = <char*> malloc(64 + n_blocks * (n_vectors * row_bytes + n_flags) + (n_registers + 2) * row_bytes + n_registers)
    if room.data == NULL:
        return False
    data = aligned(room.data)
    for b in range(n_blocks):
        block = &room.blocks[b]
        block.columns = <double*> data
        block.x = block.columns + n_columns * BLOCK
        block.inverse = block.x + n_attributes * BLOCK
        block.out = block.inverse + n_attributes * BLOCK
        block.lost = block.out + n_outputs * BLOCK
        block.bound = block.lost + BLOCK
        data += n_vectors * row_bytes
        block.is_filled = <uint8_t*> data
        data += n_flags
        for j in range(BLOCK):
            block.columns[ZEROS * BLOCK + j] = 0.0
            block.columns[ONES * BLOCK + j] = 1.0
    setting.registers = <double*> data
    setting.scratch = setting.registers + n_registers * BLOCK
    setting.is_light = <uint8_t*> (setting.scratch + 2 * BLOCK)
    for j in range(BLOCK):
        setting.registers[j] = 1.0
    return True


cdef int load_block(
    Block* block, const double[:, ::1] X, const double[:, ::1] inverse, const uint8_t[::1] is_missing,
    Py_ssize_t first, int n_rows, Py_ssize_t n_shared, Py_ssize_t n_outputs,
) except -1 nogil:
    """Turn rows into vectors, one an attribute; the last row fills up the block."""
    cdef Py_ssize_t attribute, row, n_attributes = X.shape[1]
    cdef int j
    block.has_missing = False
    memset(block.is_filled, 0, n_shared)
    memset(block.out, 0, (n_outputs + 2) * BLOCK * sizeof(double))      # and `lost` and `bound`, which follow it
    for j in range(BLOCK):
        row = first + min(j, n_rows - 1)
        block.has_missing |= is_missing[row]
        for attribute in range(n_attributes):
            block.x[attribute * BLOCK + j] = X[row, attribute]
            block.inverse[attribute * BLOCK + j] = inverse[row if inverse.shape[0] > 1 else 0, attribute]
    return 0


cdef int unload_block(
    const Block* block, Py_ssize_t first, int n_rows, double[:, ::1] out, double[::1] bound,
) except -1 nogil:
    cdef Py_ssize_t output
    cdef int j
    for j in range(n_rows):
        for output in range(out.shape[1]):
            out[first + j, output] += block.out[output * BLOCK + j]
        bound[first + j] += block.bound[j]
    return 0


def run(
    list programs, const double[:, ::1] X, const double[:, ::1] inverse, const uint8_t[::1] is_missing,
    const double[::1] own, const double[::1] others, const int32_t[::1] level_start,
    double tolerance, int32_t n_shared, double[:, ::1] out, double[::1] bound,
):
    """Add to `out` what every row expects of every tree, and to `bound` the most that cutting may have changed it.

    Parameters
    ----------
    programs : list of TreeProgram
    X : the rows, NaN where a value is missing.
    inverse : 1 / noise for every row (or one row for all) and attribute; 0 where there is no noise.
    is_missing : whether a value is missing in each row.
    own, others : for every level, how much of its share a row of this level keeps, and how much of the mean it takes.
    level_start : where the levels of each attribute start in these.
    tolerance : weight that may be cut of a tree.
    n_shared : columns before those that splits fill for their own descendants.
    """
    cdef Py_ssize_t n_rows = X.shape[0], n_programs = len(programs), n_columns, n_registers = 1, n_own = 0
    cdef Py_ssize_t first, k
    cdef int b, n_blocks, n_group
    cdef Program* each
    cdef Setting setting
    cdef Room room
    cdef TreeProgram program
    for program in programs:
        n_registers, n_own = max(n_registers, program.n_registers), max(n_own, program.n_own)
    n_columns = n_shared + n_own
    n_group = <int> min(GROUP, max(1, MOST_BYTES // (n_columns * BLOCK * sizeof(double))),
                        (n_rows + BLOCK - 1) // BLOCK)
    setting.own, setting.others = &own[0], &others[0]
    setting.level_start = &level_start[0]
    setting.tolerance, setting.n_shared, setting.n_outputs = tolerance, n_shared, <int32_t> out.shape[1]
    if n_rows == 0 or n_programs == 0:
        return
    each = <Program*> malloc(n_programs * sizeof(Program))
    if each == NULL:
        raise MemoryError
    for k in range(n_programs):
        each[k] = (<TreeProgram> programs[k]).program
    if not make_room(&room, &setting, n_group, n_columns, X.shape[1], n_registers):
        free(each)
        raise MemoryError
    with nogil:
        first = 0
        while first < n_rows:
            n_blocks = <int> min(n_group, (n_rows - first + BLOCK - 1) // BLOCK)
            for b in range(n_blocks):
                load_block(&room.blocks[b], X, inverse, is_missing, first + b * BLOCK,
                           <int> min(BLOCK, n_rows - first - b * BLOCK), n_shared, out.shape[1])
            for k in range(n_programs):
                for b in range(n_blocks):
                    run_program(&setting, &each[k], &room.blocks[b])
            for b in range(n_blocks):
                unload_block(&room.blocks[b], first + b * BLOCK, <int> min(BLOCK, n_rows - first - b * BLOCK), out, bound)
            first += n_group * BLOCK
    free(room.data)
    free(each)
