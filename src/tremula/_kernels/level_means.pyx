"""Cross-fitted means of nominal columns: sums by fold and level, means of the other folds, and the codes of rows."""

from libc.stdint cimport uint8_t


def add_cells(
    const uint8_t[::1] levels, const uint8_t[::1] folds, const double[::1] weights, const double[::1] weighted,
    double[:, ::1] counts, double[:, ::1] sums,
):
    """Add each row's weight and weighted target to the cell of its fold and level."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(levels.shape[0]):
            counts[folds[row], levels[row]] += weights[row]
            sums[folds[row], levels[row]] += weighted[row]


def fill_means(
    const double[:, ::1] counts, const double[:, ::1] sums, double prior, double prior_weight, double[:, ::1] by_fold,
    double[::1] of_levels,
):
    """Write the mean target of each level, in all folds and in all but each: as if more rows had the prior mean.

    Sums over the other folds, not differences: rows whose level they lack get exactly the same number.
    """
    cdef Py_ssize_t fold, other, level, n_folds = counts.shape[0]
    cdef double count, total
    with nogil:
        for fold in range(n_folds + 1):
            for level in range(counts.shape[1]):
                count, total = 0.0, 0.0
                for other in range(n_folds):
                    if other != fold:
                        count += counts[other, level]
                        total += sums[other, level]
                if fold < n_folds:
                    by_fold[fold, level] = (total + prior_weight * prior) / (count + prior_weight)
                else:
                    of_levels[level] = (total + prior_weight * prior) / (count + prior_weight)


def fill_codes(
    const uint8_t[::1] levels, const uint8_t[::1] folds, const uint8_t[:, ::1] code_of_cell, uint8_t[::1] codes,
):
    """Write the code of each row: that of its fold and level."""
    cdef Py_ssize_t row
    with nogil:
        for row in range(levels.shape[0]):
            codes[row] = code_of_cell[folds[row], levels[row]]
