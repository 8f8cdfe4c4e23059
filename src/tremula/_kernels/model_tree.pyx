"""Loops over the nodes of a binary tree whose nodes have linear models, and over the rows below them.

Parents have smaller numbers than their children, so one pass up or down the numbers visits them in order.
"""

import numpy as np

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from tremula._kernels.nodes cimport Node

# LAPACK's solver of symmetric positive definite equations, as SciPy hands it out.
ctypedef void (*Dposv)(char* uplo, int* n, int* n_right, double* a, int* lda, double* b, int* ldb,
                       int* info) noexcept nogil

cdef enum:
    MAX_TRIES = 12              # of a ridge ten times larger than the last

cdef struct Problem:
    # The least squares problem of one node, and scratch to solve it for some of its attributes.
    double weight
    double ridge
    int64_t width               # of `products`: the node's attributes, and the target last
    const double* products      # sums of products of deviations
    int64_t n_chosen
    int64_t* chosen             # attributes, numbered as the node's own
    double* matrix
    double* coefficients        # one for each chosen
    double* sizes               # the same in standard deviations
    double* scales
    double squares              # sum of squared errors


def order_rows(const Node[::1] nodes, const int32_t[::1] leaf_of_row, int32_t[::1] order, int64_t[::1] starts,
               int64_t[::1] ends):
    """Order rows so that those of a node lie side by side, from `starts` to `ends`; a leaf of -1 leaves a row out."""
    cdef int64_t node, row, child, leaf, n_nodes = nodes.shape[0]
    cdef int64_t[::1] places = np.zeros(n_nodes, np.int64)
    with nogil:
        for row in range(leaf_of_row.shape[0]):
            if leaf_of_row[row] >= 0:
                places[leaf_of_row[row]] += 1
        for node in range(n_nodes - 1, -1, -1):
            if nodes[node].n_branches:
                child = nodes[node].first_child
                places[node] = places[child] + places[child + 1]
        starts[0] = 0
        for node in range(n_nodes):
            ends[node] = starts[node] + places[node]
            places[node] = starts[node]
            if nodes[node].n_branches:
                child = nodes[node].first_child
                starts[child] = starts[node]
                starts[child + 1] = starts[node] + places[child]
        for row in range(leaf_of_row.shape[0]):
            leaf = leaf_of_row[row]
            if leaf >= 0:
                order[places[leaf]] = <int32_t> row
                places[leaf] += 1


def mark_tested(const Node[::1] nodes, uint8_t[:, ::1] tested):
    """Mark the attributes tested at or below every node."""
    cdef int64_t node, child, a
    with nogil:
        for node in range(nodes.shape[0] - 1, -1, -1):
            if nodes[node].n_branches:
                child = nodes[node].first_child
                for a in range(tested.shape[1]):
                    tested[node, a] = tested[child, a] | tested[child + 1, a]
                tested[node, nodes[node].attribute] = 1


cdef class Products:
    """Means of the attributes and the target of each stretch of rows, and sums of products of deviations from them.

    Stretch i has attributes firsts[i] to firsts[i + 1]; its means begin at firsts[i] + i, its square of products, to
    which the target is last, at places[i].
    """

    cdef const int32_t[::1] attributes
    cdef const int64_t[::1] firsts
    cdef const int64_t[::1] places
    cdef double[::1] means
    cdef double[::1] products

    def __init__(self, const int32_t[::1] attributes, const int64_t[::1] firsts, const int64_t[::1] places):
        self.attributes, self.firsts, self.places = attributes, firsts, places
        self.means = np.zeros(firsts[firsts.shape[0] - 1] + firsts.shape[0] - 1)
        self.products = np.zeros(places[places.shape[0] - 1])


def fill_products(const double[:, :] values, const double[::1] target, const double[::1] weights,
                  const int32_t[::1] order, const int64_t[::1] starts, const int64_t[::1] ends, Products filled):
    """Fill the means and products of each stretch of rows; they come as zeros."""
    cdef const int32_t[::1] attributes = filled.attributes
    cdef const int64_t[::1] firsts = filled.firsts, places = filled.places
    cdef double[::1] means = filled.means, products = filled.products
    cdef int64_t i, p, a, b, row, k, m, first, n_stretches = starts.shape[0]
    cdef double weight, total, scaled
    cdef double[::1] deviations = np.empty(values.shape[1] + 1)
    cdef double* z = &deviations[0]
    cdef double* mean
    cdef double* square
    with nogil:
        for i in range(n_stretches):
            first = firsts[i]
            k = firsts[i + 1] - first
            m = k + 1
            mean = &means[first + i]
            square = &products[places[i]]
            total = 0.0
            for p in range(starts[i], ends[i]):
                row = order[p]
                weight = weights[row]
                total += weight
                for a in range(k):
                    mean[a] += weight * values[row, attributes[first + a]]
                mean[k] += weight * target[row]
            for a in range(m):
                mean[a] /= total
            for p in range(starts[i], ends[i]):
                row = order[p]
                weight = weights[row]
                for a in range(k):
                    z[a] = values[row, attributes[first + a]] - mean[a]
                z[k] = target[row] - mean[k]
                for a in range(m):
                    scaled = weight * z[a]
                    for b in range(a, m):
                        square[a * m + b] += scaled * z[b]
            for a in range(m):
                for b in range(a):
                    square[a * m + b] = square[b * m + a]


cdef bint try_to_solve(Problem* problem, Dposv dposv, double ridge) noexcept nogil:
    """Solve the equations in standard deviations; False if rounding leaves them without a solution."""
    cdef int n = <int> problem.n_chosen, one = 1, info = 0
    cdef char upper = b'U'
    cdef int64_t i, j, target = problem.width - 1
    cdef const double* row
    for i in range(n):
        row = problem.products + problem.chosen[i] * problem.width
        problem.coefficients[i] = row[target] / problem.scales[i]
        for j in range(i + 1):
            problem.matrix[i * n + j] = row[problem.chosen[j]] / (problem.scales[i] * problem.scales[j])
        problem.matrix[i * n + i] += ridge
    dposv(&upper, &n, &one, problem.matrix, &n, problem.coefficients, &n, &info)
    return info == 0


cdef void solve(Problem* problem, Dposv dposv) noexcept nogil:
    """Fit the chosen attributes."""
    cdef int64_t i, j, target = problem.width - 1
    cdef const double* row
    cdef double fitted, spread = problem.products[target * problem.width + target], scale
    cdef double ridge = problem.ridge / problem.weight
    problem.squares = spread
    if problem.n_chosen == 0:
        return
    for i in range(problem.n_chosen):
        scale = sqrt(problem.products[problem.chosen[i] * (problem.width + 1)])
        problem.scales[i] = scale if scale > 0.0 else 1.0           # a constant: its products are 0 as well
    for _ in range(MAX_TRIES):
        if try_to_solve(problem, dposv, ridge):
            break
        ridge *= 10.0
    for i in range(problem.n_chosen):
        problem.sizes[i] = fabs(problem.coefficients[i]) / sqrt(spread) if spread > 0.0 else 0.0
        problem.coefficients[i] /= problem.scales[i]
    for i in range(problem.n_chosen):
        row = problem.products + problem.chosen[i] * problem.width
        fitted = 0.0
        for j in range(problem.n_chosen):
            fitted += row[problem.chosen[j]] * problem.coefficients[j]
        problem.squares += problem.coefficients[i] * (fitted - 2.0 * row[target])
    if problem.squares < 0.0:
        problem.squares = 0.0


cdef void drop(Problem* problem, int64_t dropped) noexcept nogil:
    cdef int64_t i
    problem.n_chosen -= 1
    for i in range(dropped, problem.n_chosen):
        problem.chosen[i] = problem.chosen[i + 1]


cdef int64_t extreme(const Problem* problem, bint largest) noexcept nogil:
    """The chosen attribute of the largest or smallest coefficient, the first of equals; -1 if none is left."""
    cdef int64_t i, found = -1
    for i in range(problem.n_chosen):
        if (found < 0 or (largest and problem.sizes[i] > problem.sizes[found])
                or (not largest and problem.sizes[i] < problem.sizes[found])):
            found = i
    return found


cdef void drop_collinear(Problem* problem, Dposv dposv, double limit) noexcept nogil:
    """Drop the attribute of the largest coefficient while that is beyond the limit."""
    cdef int64_t worst
    solve(problem, dposv)
    while problem.n_chosen:
        worst = extreme(problem, True)
        if not problem.sizes[worst] > limit:
            break
        drop(problem, worst)
        solve(problem, dposv)


cdef void choose_attributes(Problem* problem, Dposv dposv, double* model, double* squares) noexcept nogil:
    """Drop the attribute of the smallest coefficient while Akaike's criterion falls; the best model is written out."""
    cdef double full_squares = problem.squares, parameters = problem.n_chosen + 1.0
    cdef double akaike = problem.weight - parameters + 2.0 * problem.n_chosen, lower
    cdef int64_t i
    while True:
        for i in range(problem.width):
            model[i] = 0.0
        for i in range(problem.n_chosen):
            model[problem.chosen[i]] = problem.coefficients[i]
        squares[0] = problem.squares
        if problem.n_chosen == 0:
            break
        drop(problem, extreme(problem, False))
        solve(problem, dposv)
        lower = problem.squares / full_squares * (problem.weight - parameters) + 2.0 * problem.n_chosen
        if not lower < akaike:                          # nor if nothing was left of the squares, and 0 / 0 is no number
            break
        akaike = lower


def choose_models(object lapack_dposv, double ridge, double collinear, const Node[::1] nodes, Products filled,
                  double[:, ::1] models, double[::1] squares):
    """Fit every node's model: collinear attributes are dropped, then those whose loss lowers Akaike's criterion.

    `models` gets the coefficients and, last, the constant.
    """
    cdef const int32_t[::1] attributes = filled.attributes
    cdef const int64_t[::1] firsts = filled.firsts, places = filled.places
    cdef const double[::1] means = filled.means, products = filled.products
    cdef Dposv dposv = <Dposv> PyCapsule_GetPointer(lapack_dposv, PyCapsule_GetName(lapack_dposv))
    cdef int64_t node, a, k, most = models.shape[1]
    cdef double[:, ::1] scratch = np.empty((most + 4, most))
    cdef int64_t[::1] chosen = np.empty(most, np.int64)
    cdef double* model = &scratch[most + 3, 0]
    cdef const double* mean
    cdef Problem problem
    problem.chosen, problem.ridge = &chosen[0], ridge
    problem.matrix, problem.coefficients = &scratch[0, 0], &scratch[most, 0]
    problem.sizes, problem.scales = &scratch[most + 1, 0], &scratch[most + 2, 0]
    with nogil:
        for node in range(nodes.shape[0]):
            k = firsts[node + 1] - firsts[node]
            mean = &means[firsts[node] + node]
            problem.weight, problem.width, problem.n_chosen = nodes[node].weight, k + 1, k
            problem.products = &products[places[node]]
            for a in range(k):
                chosen[a] = a
            drop_collinear(&problem, dposv, collinear)
            choose_attributes(&problem, dposv, model, &squares[node])
            models[node, most - 1] = mean[k]
            for a in range(k):
                models[node, attributes[firsts[node] + a]] = model[a]
                models[node, most - 1] -= model[a] * mean[a]


cdef inline double error_factor(double weight, double n_parameters) noexcept nogil:
    """What the error on the training rows is multiplied by, for it is too small by the parameters that were fitted."""
    if weight <= n_parameters:
        return 10.0
    return (weight + 2.0 * n_parameters) / (weight - n_parameters)


def prune(const Node[::1] nodes, const double[::1] squares, const int64_t[::1] n_terms, double least_error,
          uint8_t[::1] is_leaf):
    """Mark the nodes whose own model is expected to err no more than the models below them.

    `squares` has the sum of squared errors of each node's own model, `n_terms` its number of coefficients.
    """
    cdef int64_t node, child, n_nodes = nodes.shape[0]
    cdef double weight, own, below, n_parameters
    cdef double[::1] squares_below = np.array(squares)
    cdef double[::1] parameters_below = np.empty(n_nodes)
    with nogil:
        for node in range(n_nodes - 1, -1, -1):
            is_leaf[node] = 1
            parameters_below[node] = n_terms[node] + 1.0
            if not nodes[node].n_branches:
                continue
            weight = nodes[node].weight
            child = nodes[node].first_child
            own = sqrt(squares[node] / weight) * error_factor(weight, n_terms[node] + 1.0)
            n_parameters = parameters_below[child] + parameters_below[child + 1] + 1.0
            below = sqrt((squares_below[child] + squares_below[child + 1]) / weight)
            below *= error_factor(weight, n_parameters)
            if own > below and own >= least_error:
                is_leaf[node] = 0
                squares_below[node] = squares_below[child] + squares_below[child + 1]
                parameters_below[node] = n_parameters


def smooth(const Node[::1] nodes, double constant, double[:, ::1] models):
    """Mix into every node's model those above it: (weight * model + constant * model of parent) / (weight + constant).

    From the leaf up, each mixture being mixed with the next parent's own model: so the parents' part is summed on the
    way down, and only then is the node's own added.
    """
    cdef int64_t node, child, b, a, m = models.shape[1]
    cdef double share
    cdef double[:, ::1] from_above = np.zeros((nodes.shape[0], m))
    cdef double[::1] own = np.ones(nodes.shape[0])
    with nogil:
        for node in range(nodes.shape[0]):
            for b in range(nodes[node].n_branches):
                child = nodes[node].first_child + b
                share = constant / (nodes[child].weight + constant)
                own[child] = own[node] * (1.0 - share)
                for a in range(m):
                    from_above[child, a] = from_above[node, a] + own[node] * share * models[node, a]
            for a in range(m):
                models[node, a] = from_above[node, a] + own[node] * models[node, a]


def add_models(const double[:, :] values, const int32_t[::1] model_of_row, const double[:, ::1] models, double weight,
               double[:, ::1] out):
    """Add weight times what each row's model answers; the last column of `models` is the constant."""
    cdef int64_t row, a, k = values.shape[1]
    cdef double total
    cdef const double* model
    with nogil:
        for row in range(values.shape[0]):
            model = &models[model_of_row[row], 0]
            total = model[k]
            for a in range(k):
                total += model[a] * values[row, a]
            out[row, 0] += weight * total
