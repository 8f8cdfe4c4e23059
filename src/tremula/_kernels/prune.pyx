"""Cuts trees back: useless splits, C4.5's error estimate with subtree raising, and weakest links.

Trees are arrays of nodes changed in place; a node that becomes a leaf leaves its branches behind unreachable, until
`compact` drops them. Children always have larger numbers than their parent, before and after.
"""

from libc.math cimport INFINITY, pow, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from tremula._kernels.nodes cimport Node, branch_taken, MISSING

cdef enum:
    FAILED = -1
    TOO_DEEP = -2
    MAX_DEPTH = 5000            # of a tree that recursion may follow: a frame of the stack for every level


# ---- shape

cdef inline void become_leaf(Node* node) noexcept nogil:
    node.threshold = 0.0
    node.attribute = -1
    node.first_child = 0
    node.n_branches = 0
    node.index = -1


def make_leaves(Node[::1] nodes, const uint8_t[::1] chosen):
    """Turn the chosen nodes into leaves."""
    cdef Py_ssize_t node
    for node in range(nodes.shape[0]):
        if chosen[node]:
            become_leaf(&nodes[node])


def sum_over_leaves(const Node[::1] nodes, double[::1] totals):
    """From a number per leaf to the sum over the leaves below every node."""
    cdef Py_ssize_t node, child
    for node in range(nodes.shape[0] - 1, -1, -1):
        if nodes[node].n_branches > 0:
            totals[node] = 0.0
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                totals[node] += totals[child]


def compact(const Node[::1] nodes, Node[::1] kept, int32_t[::1] origin):
    """Copy the nodes that can be reached, renumbered; `origin` tells where each came from. Returns their number."""
    cdef Py_ssize_t node, place, n_kept = 1, child
    origin[0] = 0
    place = 0
    while place < n_kept:
        node = origin[place]
        kept[place] = nodes[node]
        if nodes[node].n_branches > 0:
            kept[place].first_child = <int32_t> n_kept
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                origin[n_kept] = <int32_t> child
                n_kept += 1
        place += 1
    return n_kept


def collapse(Node[::1] nodes, const double[::1] errors, double[::1] scratch, double slack):
    """C4.5: a split whose leaves make as many training errors as the node itself would becomes a leaf."""
    cdef Py_ssize_t node
    scratch[:] = errors
    sum_over_leaves(nodes, scratch)
    for node in range(nodes.shape[0]):
        if nodes[node].n_branches > 0 and scratch[node] >= errors[node] - slack:
            become_leaf(&nodes[node])


def reduce_errors(Node[::1] nodes, const double[::1] errors, double[::1] best, double slack):
    """A split whose branches do not make fewer errors (on held-out rows) than the node as a leaf becomes a leaf.

    A reduction of at most `slack` is ignored. `best` is scratch, one number per node.
    """
    cdef Py_ssize_t node, child
    cdef double below
    for node in range(nodes.shape[0] - 1, -1, -1):
        best[node] = errors[node]
        if nodes[node].n_branches > 0:
            below = 0.0
            for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                below += best[child]
            if below >= errors[node] - slack:
                become_leaf(&nodes[node])
            else:
                best[node] = below


# ---- error-based pruning

cdef struct Estimate:
    double confidence
    double z_squared
    double tail             # where nearly all rows are wrong: the share of the others counted as errors

cdef struct Pruner:
    Node* nodes
    int64_t n_nodes
    double* statistics
    int64_t n_classes
    const uint8_t* subsets
    const int32_t* n_levels
    bint strict
    const double* values
    int64_t row_stride
    int64_t column_stride
    const int32_t* codes
    Estimate estimate
    bint raising
    bint is_deep
    # rows of the nodes, in ranges; where rows take several branches, ranges of the current path one after another
    int32_t* rows
    double* weights
    int32_t* branches
    int64_t capacity
    double* distribution    # scratch
    # of every node
    int64_t* starts
    int64_t* ends
    int64_t* sizes          # numbers of rows that it is about to get
    double* errors          # expected in its subtree as it stands
    double* extra           # class weights of rows that are sent here for a try; zero between tries
    uint8_t* is_reached     # whether there are such rows
    uint8_t* has_shares     # whether rows at or below it take several branches


cdef double extra_errors(const Estimate* estimate, double n, double errors) noexcept nogil:
    """What to add to the errors seen among n rows, for the upper confidence limit of their number."""
    cdef double base, share, z2 = estimate.z_squared
    if errors < 0.9999:
        base = n * (1.0 - pow(estimate.confidence, 1.0 / n))
        if errors < 1e-6:
            return base
        return base + errors * (extra_errors(estimate, n, 1.0) - base)
    if errors + 0.5 >= n:
        return estimate.tail * (n - errors) if n > errors else 0.0
    share = (errors + 0.5 + z2 / 2 + sqrt(z2 * ((errors + 0.5) * (1.0 - (errors + 0.5) / n) + z2 / 4))) / (n + z2)
    return n * share - errors


cdef double estimated_errors(const Pruner* p, const double* distribution) noexcept nogil:
    cdef double total = 0.0, largest = 0.0
    cdef int64_t code
    for code in range(p.n_classes):
        total += distribution[code]
        if distribution[code] > largest:
            largest = distribution[code]
    if total < 1e-6:
        return 0.0
    return total - largest + extra_errors(&p.estimate, total, total - largest)


cdef bint reserve_rows(Pruner* p, int64_t needed) noexcept nogil:
    cdef int64_t capacity
    cdef void* buffer
    if needed <= p.capacity:
        return True
    capacity = needed + needed // 2 + 64
    buffer = realloc(p.rows, capacity * sizeof(int32_t))
    if buffer == NULL:
        return False
    p.rows = <int32_t*> buffer
    buffer = realloc(p.weights, capacity * sizeof(double))
    if buffer == NULL:
        return False
    p.weights = <double*> buffer
    buffer = realloc(p.branches, capacity * sizeof(int32_t))
    if buffer == NULL:
        return False
    p.branches = <int32_t*> buffer
    p.capacity = capacity
    return True


cdef void tabulate(const Pruner* p, int64_t start, int64_t end, double* distribution) noexcept nogil:
    cdef int64_t i
    memset(distribution, 0, p.n_classes * sizeof(double))
    for i in range(start, end):
        distribution[p.codes[p.rows[i]]] += p.weights[i]


cdef bint divide(Pruner* p, const Node* node, int64_t start, int64_t end, int64_t top, int64_t* places) noexcept nogil:
    """Append the rows of every branch from `top` on; branch b gets [places[b], places[b + 1])."""
    cdef int64_t i, b, k = node.n_branches, n_missing = 0, total
    cdef double known = 0.0
    cdef double* shares = <double*> malloc(k * sizeof(double))
    cdef int64_t* next_place = <int64_t*> malloc(k * sizeof(int64_t))
    if shares == NULL or next_place == NULL:
        free(shares)
        free(next_place)
        return False
    memset(shares, 0, k * sizeof(double))
    memset(places, 0, (k + 1) * sizeof(int64_t))
    for i in range(start, end):
        b = branch_taken(node, p.subsets, p.n_levels, p.strict,
                         p.values[p.rows[i] * p.row_stride + node.attribute * p.column_stride])
        p.branches[i] = <int32_t> b
        if b == MISSING:
            n_missing += 1
        else:
            places[b + 1] += 1
            shares[b] += p.weights[i]
            known += p.weights[i]
    places[0] = top
    for b in range(k):
        shares[b] = shares[b] / known if known > 0.0 else 1.0 / k
        places[b + 1] += places[b] + (n_missing if shares[b] > 0.0 else 0)
        next_place[b] = places[b]
    total = places[k]
    if not reserve_rows(p, total):
        free(shares)
        free(next_place)
        return False
    for i in range(start, end):
        b = p.branches[i]
        if b != MISSING:
            p.rows[next_place[b]] = p.rows[i]
            p.weights[next_place[b]] = p.weights[i]
            next_place[b] += 1
        else:
            for b in range(k):
                if shares[b] > 0.0:
                    p.rows[next_place[b]] = p.rows[i]
                    p.weights[next_place[b]] = p.weights[i] * shares[b]
                    next_place[b] += 1
    free(shares)
    free(next_place)
    return True


cdef double estimate_subtree(Pruner* p, int64_t node, int64_t start, int64_t end, int64_t top) noexcept nogil:
    """Expected errors of a subtree, as it stands, on the rows from start to end; negative if memory ran out.

    Rows are free to be written from `top` on.
    """
    cdef double total = 0.0, part
    cdef int64_t b
    cdef int64_t* places
    if start == end:
        return 0.0
    if p.nodes[node].n_branches == 0:
        tabulate(p, start, end, p.distribution)
        return estimated_errors(p, p.distribution)
    places = <int64_t*> malloc((p.nodes[node].n_branches + 1) * sizeof(int64_t))
    if places == NULL or not divide(p, &p.nodes[node], start, end, top, places):
        free(places)
        return FAILED
    top = places[p.nodes[node].n_branches]
    for b in range(p.nodes[node].n_branches):
        part = estimate_subtree(p, p.nodes[node].first_child + b, places[b], places[b + 1], top)
        if part < 0.0:
            total = FAILED
            break
        total += part
    free(places)
    return total


cdef int64_t heaviest_branch(const Pruner* p, const Node* node) noexcept nogil:
    """The last of the heaviest branches."""
    cdef int64_t b, heaviest = 0
    for b in range(1, node.n_branches):
        if p.nodes[node.first_child + b].weight >= p.nodes[node.first_child + heaviest].weight - 1e-6:
            heaviest = b
    return heaviest


cdef void lift(Node* node, const Node* branch) noexcept nogil:
    """Let a node test what its branch tested, with the branch's branches."""
    node.threshold = branch.threshold
    node.attribute = branch.attribute
    node.first_child = branch.first_child
    node.n_branches = branch.n_branches
    node.index = branch.index


# Rows with missing values take several branches, with weights that depend on all rows of the node. Their subtrees are
# pruned by recursion, in time that grows with the rows and the square of the depth.

cdef double prune_node(Pruner* p, int64_t node, int64_t start, int64_t end, int64_t top) noexcept nogil:
    """Prune below a node that these rows reach, and the node; the expected errors, negative if memory ran out."""
    cdef double* distribution = p.statistics + node * p.n_classes
    cdef double as_leaf, as_tree = 0.0, as_branch = INFINITY, part
    cdef int64_t b, heaviest, code
    cdef int64_t* places
    tabulate(p, start, end, distribution)
    p.nodes[node].weight = 0.0
    for code in range(p.n_classes):
        p.nodes[node].weight += distribution[code]
    as_leaf = estimated_errors(p, distribution)
    if p.nodes[node].n_branches == 0:
        return as_leaf
    if start == end:
        become_leaf(&p.nodes[node])
        return as_leaf
    places = <int64_t*> malloc((p.nodes[node].n_branches + 1) * sizeof(int64_t))
    if places == NULL or not divide(p, &p.nodes[node], start, end, top, places):
        free(places)
        return FAILED
    for b in range(p.nodes[node].n_branches):
        part = prune_node(p, p.nodes[node].first_child + b, places[b], places[b + 1],
                          places[p.nodes[node].n_branches])
        if part < 0.0:
            free(places)
            return FAILED
        as_tree += part
    free(places)
    heaviest = p.nodes[node].first_child + heaviest_branch(p, &p.nodes[node])
    if p.raising:
        as_branch = as_leaf if p.nodes[heaviest].n_branches == 0 else estimate_subtree(p, heaviest, start, end, top)
        if as_branch < 0.0:
            return FAILED
    if as_leaf <= as_branch + 0.1 + 1e-6 and as_leaf <= as_tree + 0.1 + 1e-6:
        become_leaf(&p.nodes[node])
        return as_leaf
    if as_branch <= as_tree + 0.1 + 1e-6:
        lift(&p.nodes[node], &p.nodes[heaviest])
        return prune_node(p, node, start, end, top)
    return as_tree


cdef double prune_with_shares(Pruner* p, int64_t node, int64_t top) noexcept nogil:
    """Prune a subtree whose rows may take several branches; these are written from `top` on."""
    if p.is_deep:
        return TOO_DEEP
    p.has_shares[node] = True
    return prune_node(p, node, p.starts[node], p.ends[node], top)


# Other subtrees are pruned from the leaves up. The rows of a node lie side by side, those of a branch within them. To
# try the heaviest branch in place of a node, only the rows of the other branches are sent down it. A row is in another
# than the heaviest branch once in a chain, and in general a few times.

cdef void describe(Pruner* p, int64_t node) noexcept nogil:
    """Fill in the statistics and the weight of a node from its rows."""
    cdef double* distribution = p.statistics + node * p.n_classes
    cdef int64_t code
    tabulate(p, p.starts[node], p.ends[node], distribution)
    p.nodes[node].weight = 0.0
    for code in range(p.n_classes):
        p.nodes[node].weight += distribution[code]
    p.has_shares[node] = False


cdef bint count_branches(Pruner* p, int64_t node) noexcept nogil:
    """Note the branch of every row of a split, and the number of rows of its branches; False if a row has none."""
    cdef int64_t i, b, first = p.nodes[node].first_child
    for b in range(p.nodes[node].n_branches):
        p.sizes[first + b] = 0
    for i in range(p.starts[node], p.ends[node]):
        b = branch_taken(&p.nodes[node], p.subsets, p.n_levels, p.strict,
                         p.values[p.rows[i] * p.row_stride + p.nodes[node].attribute * p.column_stride])
        if b == MISSING:
            return False
        p.branches[i] = <int32_t> b
        p.sizes[first + b] += 1
    return True


cdef void move_rows(Pruner* p, int64_t node, int64_t top) noexcept nogil:
    """Put the rows of each branch side by side, in their order; `top` is where rows may be written for a moment."""
    cdef int64_t i, b, start = p.starts[node], end = p.ends[node], first = p.nodes[node].first_child
    memcpy(p.rows + top, p.rows + start, (end - start) * sizeof(int32_t))
    memcpy(p.weights + top, p.weights + start, (end - start) * sizeof(double))
    for b in range(p.nodes[node].n_branches):
        p.ends[first + b] = start if b == 0 else p.ends[first + b - 1] + p.sizes[first + b - 1]
    for i in range(end - start):
        b = first + p.branches[start + i]
        p.rows[p.ends[b]] = p.rows[top + i]
        p.weights[p.ends[b]] = p.weights[top + i]
        p.ends[b] += 1
    for b in range(p.nodes[node].n_branches):
        p.starts[first + b] = p.ends[first + b] - p.sizes[first + b]


cdef void shift(Pruner* p, int64_t root, int64_t distance, int32_t* queue) noexcept nogil:
    """Note that the rows of all nodes below a node were moved."""
    cdef int64_t i = 0, b, node, n_queued = 1
    queue[0] = <int32_t> root
    while i < n_queued:
        node = queue[i]
        i += 1
        if p.has_shares[node]:
            continue                                    # the ranges below were used up by recursion
        for b in range(p.nodes[node].first_child, p.nodes[node].first_child + p.nodes[node].n_branches):
            p.starts[b] += distance
            p.ends[b] += distance
            queue[n_queued] = <int32_t> b
            n_queued += 1


cdef bint arrange(Pruner* p, int64_t root, bint is_pruned, int32_t* list, int64_t* n_listed,
                  int64_t top) noexcept nogil:
    """List the nodes of a subtree, parents first, with their statistics and ranges of rows; False if memory ran out.

    A node at which a row has no branch is marked; what is below it is not listed. In a subtree that is pruned already
    and gets more rows, the branches that get none stay as they are and are not listed.
    """
    cdef int64_t i = 0, b, node, first, start, n_before
    cdef int32_t* queue = list + p.n_nodes - root
    if not reserve_rows(p, top + p.ends[root] - p.starts[root]):
        return False
    list[0] = <int32_t> root
    n_listed[0] = 1
    while i < n_listed[0]:
        node = list[i]
        i += 1
        describe(p, node)
        if p.nodes[node].n_branches == 0:
            continue
        if not count_branches(p, node):
            p.has_shares[node] = True
            continue
        first = p.nodes[node].first_child
        start = p.starts[node]
        if is_pruned:
            for b in range(first, first + p.nodes[node].n_branches):
                n_before = p.ends[b] - p.starts[b]
                if n_before == p.sizes[b]:
                    shift(p, b, start - p.starts[b], queue)
                else:
                    list[n_listed[0]] = <int32_t> b
                    n_listed[0] += 1
                start += p.sizes[b]
        else:
            for b in range(first, first + p.nodes[node].n_branches):
                list[n_listed[0]] = <int32_t> b
                n_listed[0] += 1
        move_rows(p, node, top)
    return True


cdef int64_t leaf_below(const Pruner* p, int64_t node, int64_t row) noexcept nogil:
    """The leaf below a node that a row reaches, MISSING if it would take several branches."""
    cdef int64_t b
    while p.nodes[node].n_branches:
        b = branch_taken(&p.nodes[node], p.subsets, p.n_levels, p.strict,
                         p.values[row * p.row_stride + p.nodes[node].attribute * p.column_stride])
        if b == MISSING:
            return MISSING
        node = p.nodes[node].first_child + b
    return node


cdef double change_of(Pruner* p, int64_t leaf) noexcept nogil:
    """By how much the expected errors of a leaf change with the rows that were sent to it; these are forgotten."""
    cdef double* extra = p.extra + leaf * p.n_classes
    cdef int64_t code
    for code in range(p.n_classes):
        p.distribution[code] = p.statistics[leaf * p.n_classes + code] + extra[code]
        extra[code] = 0.0
    p.is_reached[leaf] = False
    return estimated_errors(p, p.distribution) - p.errors[leaf]


cdef double try_branch(Pruner* p, int64_t node, int64_t heaviest, int64_t top) noexcept nogil:
    """Expected errors if the heaviest branch took the place of its parent; negative if that could not be computed."""
    cdef double errors = p.errors[heaviest]
    cdef int64_t i, leaf, end = p.ends[node], start = p.starts[node], n_reached = 0
    cdef bint has_shares = p.has_shares[heaviest]
    i = start - 1
    while not has_shares:
        i += 1
        if i == p.starts[heaviest]:
            i = p.ends[heaviest]
        if i == end:
            break
        leaf = leaf_below(p, heaviest, p.rows[i])
        if leaf == MISSING:
            has_shares = True
            break
        p.extra[leaf * p.n_classes + p.codes[p.rows[i]]] += p.weights[i]
        if not p.is_reached[leaf]:
            p.is_reached[leaf] = True
            p.branches[top + n_reached] = <int32_t> leaf
            n_reached += 1
    for i in range(n_reached):
        errors += change_of(p, p.branches[top + i])
    if not has_shares:
        return errors if errors > 0.0 else 0.0
    return TOO_DEEP if p.is_deep else estimate_subtree(p, heaviest, start, end, top)


cdef double decide(Pruner* p, int64_t node, int64_t top) noexcept nogil:
    """Expected errors of a node whose branches are pruned, after it became a leaf, its heaviest branch, or neither."""
    cdef double as_leaf = estimated_errors(p, p.statistics + node * p.n_classes), as_tree = 0.0, as_branch = INFINITY
    cdef int64_t b, heaviest
    if p.nodes[node].n_branches == 0:
        return as_leaf
    if p.starts[node] == p.ends[node]:
        become_leaf(&p.nodes[node])
        return as_leaf
    if p.has_shares[node]:
        return prune_with_shares(p, node, top)
    for b in range(p.nodes[node].n_branches):
        as_tree += p.errors[p.nodes[node].first_child + b]
        p.has_shares[node] = p.has_shares[node] or p.has_shares[p.nodes[node].first_child + b]
    heaviest = p.nodes[node].first_child + heaviest_branch(p, &p.nodes[node])
    if p.raising:
        as_branch = as_leaf if p.nodes[heaviest].n_branches == 0 else try_branch(p, node, heaviest, top)
        if as_branch < 0.0:
            return as_branch
    if as_leaf <= as_branch + 0.1 + 1e-6 and as_leaf <= as_tree + 0.1 + 1e-6:
        become_leaf(&p.nodes[node])
        p.has_shares[node] = False
        return as_leaf
    if as_branch <= as_tree + 0.1 + 1e-6:
        lift(&p.nodes[node], &p.nodes[heaviest])
        return prune_subtree(p, node, not p.has_shares[heaviest], top)
    return as_tree


cdef double prune_subtree(Pruner* p, int64_t root, bint is_pruned, int64_t top) noexcept nogil:
    """Prune the subtree of a node whose rows are known; the expected errors, negative if that failed.

    `is_pruned` says that the subtree is pruned already, and gets more rows.
    """
    cdef int64_t i, n_listed = 0
    cdef double errors = FAILED
    cdef int32_t* list = <int32_t*> malloc(2 * (p.n_nodes - root) * sizeof(int32_t))    # nodes below: larger numbers
    if list != NULL and arrange(p, root, is_pruned, list, &n_listed, top):
        for i in range(n_listed - 1, -1, -1):
            errors = decide(p, list[i], top)
            p.errors[list[i]] = errors
            if errors < 0.0:
                break
    free(list)
    return errors


cdef bint reserve_pruner(Pruner* p, int64_t n_rows) noexcept nogil:
    """Allocate what pruning needs; False if there is not enough memory."""
    p.rows = NULL
    p.weights = NULL
    p.branches = NULL
    p.capacity = 0
    p.distribution = <double*> malloc(p.n_classes * sizeof(double))
    p.starts = <int64_t*> malloc(p.n_nodes * sizeof(int64_t))
    p.ends = <int64_t*> malloc(p.n_nodes * sizeof(int64_t))
    p.sizes = <int64_t*> malloc(p.n_nodes * sizeof(int64_t))
    p.errors = <double*> malloc(p.n_nodes * sizeof(double))
    p.extra = <double*> calloc(p.n_nodes * p.n_classes, sizeof(double))
    p.is_reached = <uint8_t*> calloc(p.n_nodes, sizeof(uint8_t))
    p.has_shares = <uint8_t*> calloc(p.n_nodes, sizeof(uint8_t))
    return (p.distribution != NULL and p.starts != NULL and p.ends != NULL and p.sizes != NULL and p.errors != NULL
            and p.extra != NULL and p.is_reached != NULL and p.has_shares != NULL and reserve_rows(p, 2 * n_rows))


cdef void free_pruner(Pruner* p) noexcept nogil:
    free(p.rows)
    free(p.weights)
    free(p.branches)
    free(p.distribution)
    free(p.starts)
    free(p.ends)
    free(p.sizes)
    free(p.errors)
    free(p.extra)
    free(p.is_reached)
    free(p.has_shares)


def prune_by_error(Node[::1] nodes, double[:, ::1] statistics, tuple levels, bint strict, tuple rows, dict estimate,
                   bint raising, int64_t depth):
    """C4.5's error-based pruning, in place; statistics and weights become those of the pruned tree.

    `levels` are the subsets of the tree and the numbers of levels; `rows` are values, class codes and weights of the
    training rows; `estimate` has the fields of `Estimate`. The time grows with rows times depth; with the square of the
    depth where rows have missing values.
    """
    cdef const uint8_t[::1] subsets = levels[0]
    cdef const int32_t[::1] n_levels = levels[1]
    cdef const double[:, :] values = rows[0]
    cdef const int32_t[::1] codes = rows[1]
    cdef const double[::1] weights = rows[2]
    cdef Pruner p
    cdef int64_t row, n = 0
    cdef double outcome = FAILED
    cdef uint8_t no_subsets = 0
    p.nodes = &nodes[0]
    p.n_nodes = nodes.shape[0]
    p.statistics = &statistics[0, 0]
    p.n_classes = statistics.shape[1]
    p.subsets = &subsets[0] if subsets.shape[0] > 0 else &no_subsets
    p.n_levels = &n_levels[0]
    p.strict = strict
    p.values = &values[0, 0]
    p.row_stride = values.strides[0] // <int64_t> sizeof(double)
    p.column_stride = values.strides[1] // <int64_t> sizeof(double)
    p.codes = &codes[0]
    p.estimate = estimate
    p.raising = raising
    p.is_deep = depth > MAX_DEPTH
    with nogil:
        if reserve_pruner(&p, values.shape[0]):
            for row in range(values.shape[0]):
                if weights[row] > 0.0:
                    p.rows[n] = <int32_t> row
                    p.weights[n] = weights[row]
                    n += 1
            p.starts[0], p.ends[0] = 0, n
            outcome = prune_subtree(&p, 0, False, n)
        free_pruner(&p)
    if outcome == TOO_DEEP:
        raise RecursionError(f"a tree of depth {depth} with missing values cannot be pruned: set max_depth")
    if outcome < 0.0:
        raise MemoryError("pruning a tree")


# ---- weakest links

cdef inline double link_strength(double risk, double risk_below, double n_leaves) noexcept nogil:
    return (risk - risk_below) / (n_leaves - 1.0)


cdef void refresh(const Node[::1] nodes, Py_ssize_t node, const double[::1] risk, double[::1] below, double[::1] leaves,
                  double[::1] weakest) noexcept nogil:
    """Sums over the branches of one node, and the weakest link at or below it."""
    cdef Py_ssize_t child
    cdef double least = INFINITY
    below[node] = 0.0
    leaves[node] = 0.0
    for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
        below[node] += below[child]
        leaves[node] += leaves[child]
        if weakest[child] < least:
            least = weakest[child]
    weakest[node] = link_strength(risk[node], below[node], leaves[node])
    if least < weakest[node]:
        weakest[node] = least


def weakest_links(const Node[::1] nodes, const int64_t[::1] parents, const double[::1] risk, double[::1] below,
                  double[::1] leaves, double[::1] weakest, double[::1] alpha, double tolerance):
    """Write the alpha at which each split is pruned; below a split it is never higher.

    `below`, `leaves` and `weakest` are scratch, one number per node.
    """
    cdef Py_ssize_t node, child, n = nodes.shape[0]
    cdef double price = 0.0
    with nogil:
        for node in range(n - 1, -1, -1):
            alpha[node] = INFINITY
            if nodes[node].n_branches > 0:
                refresh(nodes, node, risk, below, leaves, weakest)
            else:
                below[node] = risk[node]
                leaves[node] = 1.0
                weakest[node] = INFINITY
        while weakest[0] < INFINITY:
            node = 0
            if weakest[0] > price:
                price = weakest[0]
            while link_strength(risk[node], below[node], leaves[node]) > weakest[node] + tolerance:
                for child in range(nodes[node].first_child, nodes[node].first_child + nodes[node].n_branches):
                    if weakest[child] == weakest[node]:
                        break
                node = child
            alpha[node] = price
            below[node] = risk[node]
            leaves[node] = 1.0
            weakest[node] = INFINITY
            while node > 0:
                node = parents[node]
                refresh(nodes, node, risk, below, leaves, weakest)
        for node in range(1, n):
            if nodes[node].n_branches > 0 and alpha[parents[node]] < alpha[node]:
                alpha[node] = alpha[parents[node]]
