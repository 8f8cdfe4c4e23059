"""Rows that miss a value, in a flat tree: each is divided among the branches of a split, again and again.

All fractions of many rows are followed together, generation after generation. The value of a fraction that was divided
is the sum, over its parts in the order of branches, of share times value: the sums of `route.mix`, to the last bit.
"""

from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free, malloc

from tremula._kernels.nodes cimport MISSING, Node, missing_branch
from tremula._kernels.route cimport Arrays, share_of, weight_of_branches
from tremula._kernels.row_cells cimport IS_SPLIT, N_LANES, Descents, FlatRows, FlatTree, follow_rows

cdef enum:
    MOST_FRACTIONS = 4096


cdef struct Fractions:
    Descents descents
    double* share               # of the fraction that each was divided from
    int32_t* first              # of the parts that each was divided into
    int32_t* n_parts            # 0 in a leaf
    double* values              # of each that was divided


cdef inline bint reserve_fractions(Fractions* fractions, Py_ssize_t n_values) noexcept nogil:
    """Allocate memory once; returns False if there is none."""
    cdef size_t size = MOST_FRACTIONS * sizeof(uint32_t)
    if fractions.values != NULL:
        return True
    fractions.descents.row = <uint32_t*> malloc(size)
    fractions.descents.node = <uint32_t*> malloc(size)
    fractions.descents.moving = <uint32_t*> malloc(size + N_LANES * sizeof(uint32_t))
    fractions.share = <double*> malloc(MOST_FRACTIONS * sizeof(double))
    fractions.first = <int32_t*> malloc(size)
    fractions.n_parts = <int32_t*> malloc(size)
    fractions.values = <double*> malloc(MOST_FRACTIONS * n_values * sizeof(double))
    return (
        fractions.descents.row != NULL and fractions.descents.node != NULL and fractions.descents.moving != NULL
        and fractions.share != NULL and fractions.first != NULL and fractions.n_parts != NULL
        and fractions.values != NULL
    )


cdef inline void free_fractions(Fractions* fractions) noexcept nogil:
    free(fractions.descents.row)
    free(fractions.descents.node)
    free(fractions.descents.moving)
    free(fractions.share)
    free(fractions.first)
    free(fractions.n_parts)
    free(fractions.values)


cdef inline bint divide(const Arrays* tree, Fractions* fractions, Py_ssize_t number) noexcept nogil:
    """Add the parts of a fraction that stopped at a split; returns False if there is no room."""
    cdef Descents* descents = &fractions.descents
    cdef const Node* here = &tree.nodes[descents.node[number]]
    cdef double share, total = weight_of_branches(tree.nodes, here)
    cdef int32_t child, named = missing_branch(here)
    fractions.first[number] = <int32_t> descents.n
    for child in range(here.first_child, here.first_child + here.n_branches):
        share = share_of(here, &tree.nodes[child], total)
        if named != MISSING:
            share = here.first_child + named == child       # all of it
        if share <= 0:
            continue
        if descents.n == MOST_FRACTIONS:
            return False
        descents.row[descents.n], descents.node[descents.n] = descents.row[number], <uint32_t> child
        fractions.share[descents.n] = share
        fractions.n_parts[number] += 1
        descents.n += 1
    return True


cdef inline bint divide_all(
    const Arrays* tree, const FlatTree* flat, const FlatRows* rows, Fractions* fractions,
) noexcept nogil:
    """Follow and divide fractions until all are in leaves; returns False if there is no room for them."""
    cdef Descents* descents = &fractions.descents
    cdef Descents latest
    cdef Py_ssize_t number, first = 0, end
    while first < descents.n:
        end = descents.n
        for number in range(first, end):
            fractions.n_parts[number] = 0
            if flat.answers[descents.node[number]] == IS_SPLIT and not divide(tree, fractions, number):
                return False
        latest.n, latest.row, latest.node = descents.n - end, descents.row + end, descents.node + end
        latest.moving = descents.moving
        follow_rows(flat, rows, &latest)
        first = end
    return True


cdef inline void add_part(
    const Arrays* tree, const FlatTree* flat, const Fractions* fractions, Py_ssize_t part, double* sums,
) noexcept nogil:
    """Add the share of a part times its value."""
    cdef Py_ssize_t column, n_values = tree.n_outputs
    cdef const double* values = fractions.values + part * n_values
    cdef int32_t answer = flat.answers[fractions.descents.node[part]]
    cdef double share = fractions.share[part]
    if answer >= 0 and not flat.is_vote:
        sums[answer - flat.output] += share         # the other values are 0
        return
    if fractions.n_parts[part] == 0:
        values = tree.values + tree.nodes[fractions.descents.node[part]].index * n_values
    for column in range(n_values):
        sums[column] += share * values[column]


cdef inline void sum_values(const Arrays* tree, const FlatTree* flat, Fractions* fractions) noexcept nogil:
    """Write the value of every fraction that was divided."""
    cdef Py_ssize_t number, part, column
    cdef double* sums
    for number in range(fractions.descents.n - 1, -1, -1):
        if fractions.n_parts[number] == 0:
            continue
        sums = fractions.values + number * tree.n_outputs
        for column in range(tree.n_outputs):
            sums[column] = 0.0
        for part in range(fractions.first[number], fractions.first[number] + fractions.n_parts[number]):
            add_part(tree, flat, fractions, part, sums)
