"""Split criteria, computed from two sums over the branches.

With n_b the weight of branch b and n_bc that of class c in it:

=============  ==================================  ==============================
criteria       `within`                            `branches`
=============  ==================================  ==============================
information    sum of f(n_bc), f(x) = x log2 x     sum of f(n_b)
Gini           sum of n_bc^2 / n_b                 unused
variance       sum of (sum of targets in b)^2/n_b  unused
fifth root     sum of n_b * variance_b^(1/5)       unused
Poisson        sum of t_b log(t_b / n_b), where    unused
               t_b is the sum of targets in b
absolute       sum of absolute differences from    unused
               the medians, less that before
=============  ==================================  ==============================

All worths are weight times impurity, so that rows whose value is missing add nothing: C4.5's factor (1 - share
missing) follows automatically. A new criterion is one more function, its line in `worth_of` and its column in
`walks.h`.
"""

from libc.math cimport log, pow
from libc.stdint cimport int64_t

cdef extern from "logarithm.h" nogil:
    void fill_logarithm_tables()
    void choose_x_log_x()
    void (*x_log_x_of_many)(double* values, int n)
    double quick_x_log_x(double x)

cdef extern from "walks.h" nogil:
    enum Criterion:
        ENTROPY
        GAIN_RATIO
        SYMMETRIC_UNCERTAINTY
        GINI
        VARIANCE
        FIFTH_ROOT_VARIANCE
        POISSON
        ABSOLUTE_ERROR
        N_CRITERIA

cdef struct Whole:
    # Rows before they are split.
    double weight           # their weight
    double node_weight      # the node's weight, missing values included
    double within           # the same sum as a split's, with a single branch
    double branches         # likewise
    double split_constant   # f(node weight) - f(missing weight): what the split information is measured from


cdef inline double x_log_x(double x) noexcept nogil:
    return quick_x_log_x(x)


cdef inline bint is_information(int criterion) noexcept nogil:
    return criterion <= SYMMETRIC_UNCERTAINTY


cdef inline double term_of(int criterion, double class_weight) noexcept nogil:
    return x_log_x(class_weight) if is_information(criterion) else class_weight * class_weight


cdef inline double fifth_root_term(double weight, double total, double total_of_squares, double noise) noexcept nogil:
    """A sum of squares of at most `noise` counts as 0: the fifth root of what rounding leaves would not be small."""
    cdef double squares = total_of_squares - total * total / weight
    return weight * pow(squares / weight, 0.2) if squares > noise else 0.0


cdef inline double poisson_term(double weight, double total) noexcept nogil:
    return total * log(total / weight) if total > 0.0 else 0.0


cdef union Bits:
    double number
    int64_t whole


cdef inline double fifth_root_at_least(double x) noexcept nogil:
    """A little less than the fifth root of a positive x, by 0.02 % at most, in a third of the time.

    The exponent, divided by -5, gives x^(-1/5) to 4 %; a step of Newton's method always comes out too low.
    """
    cdef Bits bits
    cdef double r, square
    bits.number = x
    bits.whole = 0x4CB8BC2FDC10B800LL - bits.whole // 5
    r = bits.number
    square = r * r
    r *= 1.2 - 0.2 * x * square * square * r
    square = r * r
    r *= 1.2 - 0.2 * x * square * square * r
    square = r * r
    return x * square * square


cdef inline double least_fifth_root_term(double weight, double total, double total_of_squares,
                                         double noise) noexcept nogil:
    """At most what `fifth_root_term` gives."""
    cdef double squares = total_of_squares - total * total / weight
    return weight * fifth_root_at_least(squares / weight) if squares > noise else 0.0


cdef inline double information_gain(double within, double branches, const Whole* whole) noexcept nogil:
    return (whole.branches - whole.within) - (branches - within)


cdef inline double split_information(double branches, const Whole* whole) noexcept nogil:
    return whole.split_constant - branches


cdef inline double gain_ratio(double gain, double branches, const Whole* whole) noexcept nogil:
    cdef double information = split_information(branches, whole)
    return gain / information if information > 1e-3 * whole.node_weight else 0.0


cdef inline double symmetric_uncertainty(double within, double branches, const Whole* whole) noexcept nogil:
    cdef double class_information = whole.branches - whole.within
    return 2.0 * information_gain(within, branches, whole) / (class_information + whole.branches - branches)


cdef inline double reduction(double within, const Whole* whole) noexcept nogil:
    return within - whole.within


cdef inline double unit_of_worth(int criterion, double weight) noexcept nogil:
    """What a worth of cuts is measured in: weight times impurity, but for a ratio, which has no unit."""
    return 1.0 if criterion == SYMMETRIC_UNCERTAINTY else weight


cdef inline double worth_of(int criterion, double within, double branches, const Whole* whole) noexcept nogil:
    """The worth by which cuts of one attribute are compared; gain ratio picks its cut by gain (C4.5 Release 8)."""
    if criterion <= GAIN_RATIO:
        return information_gain(within, branches, whole)
    if criterion == SYMMETRIC_UNCERTAINTY:
        return symmetric_uncertainty(within, branches, whole)
    if criterion == FIFTH_ROOT_VARIANCE or criterion == ABSOLUTE_ERROR:
        return -reduction(within, whole)
    return reduction(within, whole)
