"""Several targets of a row: one tree for all, whose criterion is the mean of those of the targets.

The statistics of rows are their weight and then a sum for each output: for each class of each target its weight, or the
sum of each number; sums of squares of the numbers follow. So the Gini index of several classes is computed as the
variance of several numbers is.
"""

from libc.stdint cimport int32_t, int64_t

from tremula._kernels.criteria cimport POISSON, is_information, poisson_term, x_log_x
from tremula._kernels.grower cimport SEVERAL_CLASSES, SEVERAL_NUMBERS, Grower


cdef inline bint has_several(Grower* g) noexcept nogil:
    return g.rows.kind >= SEVERAL_CLASSES


cdef inline void add_targets(Grower* g, int64_t row, double weight, double* statistics) noexcept nogil:
    cdef int64_t t, n = g.targets.n_targets
    cdef const int32_t* codes
    cdef const double* numbers
    statistics[0] += weight
    if g.rows.kind == SEVERAL_NUMBERS:
        numbers = g.targets.numbers + row * n
        for t in range(n):
            statistics[1 + t] += weight * numbers[t]
            statistics[1 + n + t] += weight * numbers[t] * numbers[t]
    else:
        codes = g.targets.codes + row * n
        for t in range(n):
            statistics[1 + codes[t]] += weight


cdef inline void add_sums(Grower* g, int64_t row, double weight, double* statistics) noexcept nogil:
    """As `add_targets`, but for the squares of numbers, which no split is judged by."""
    cdef int64_t t, n = g.targets.n_targets
    cdef const double* numbers
    if g.rows.kind == SEVERAL_CLASSES:
        add_targets(g, row, weight, statistics)
        return
    numbers = g.targets.numbers + row * n
    statistics[0] += weight
    for t in range(n):
        statistics[1 + t] += weight * numbers[t]


cdef inline double within_targets(Grower* g, const double* statistics, double weight) noexcept nogil:
    """The mean over the targets of what one branch adds to `within`."""
    cdef const double* sums = statistics + 1
    cdef double total = 0.0
    cdef int64_t k
    if is_information(g.rules.criterion):
        for k in range(g.targets.n_outputs):
            if sums[k] > 0.0:
                total += x_log_x(sums[k])
    elif g.rules.criterion == POISSON:
        for k in range(g.targets.n_outputs):
            total += poisson_term(weight, sums[k])
    else:
        for k in range(g.targets.n_outputs):
            total += sums[k] * sums[k]
        total /= weight
    return total / g.targets.n_targets


cdef inline bint have_positive_sums(Grower* g, const double* known, const double* left,
                                    const double* right) noexcept nogil:
    """Whether both sides of a cut have, of each target, more than rounding may leave of 0."""
    cdef int64_t k
    cdef double nothing
    for k in range(1, 1 + g.targets.n_outputs):
        nothing = 1e-13 * known[k]
        if left[k] <= nothing or right[k] <= nothing:
            return False
    return True


cdef inline bint are_constant(Grower* g, const double* statistics, double weight) noexcept nogil:
    """Whether every target has one class, or one number but for rounding."""
    cdef int64_t t, n = g.targets.n_targets, n_present = 0
    cdef double squares
    if g.rows.kind == SEVERAL_CLASSES:
        for t in range(g.targets.n_outputs):
            n_present += statistics[1 + t] > 0.0
        return n_present <= n
    for t in range(n):
        squares = statistics[1 + n + t] - statistics[1 + t] * statistics[1 + t] / weight
        if squares > 1e-14 * statistics[1 + n + t] and squares / weight > g.targets.least_variances[t]:
            return False
    return True
