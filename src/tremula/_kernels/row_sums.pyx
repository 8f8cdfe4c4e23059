"""Adds values of rows to sums, in the order of the rows."""

from libc.stdint cimport int32_t, int64_t


def add_rows(const int64_t[::1] places, const double[::1] weights, const double[:, ::1] values, double[:, ::1] sums):
    """Add each row of values times its weight to the sums at its place; several rows may have one place."""
    cdef Py_ssize_t row, column
    cdef double weight
    with nogil:
        for row in range(values.shape[0]):
            weight = weights[row]
            for column in range(values.shape[1]):
                sums[places[row], column] += weight * values[row, column]


def add_newton_sums(
    const int64_t[::1] places,
    const double[::1] weights,
    const int32_t[::1] codes,
    const double[:, ::1] shares,
    double[:, ::1] residuals,
    double[:, ::1] slopes,
):
    """Add the residuals and curvatures of class probabilities, times the weight of the row, at its place."""
    cdef Py_ssize_t row, column
    cdef double weight, share, residual
    with nogil:
        for row in range(shares.shape[0]):
            weight = weights[row]
            for column in range(shares.shape[1]):
                share = shares[row, column]
                residual = -share + 1.0 if column == codes[row] else -share
                residuals[places[row], column] += weight * residual
                slopes[places[row], column] += weight * (share * (1.0 - share))


def fill_maxima(const double[:, ::1] values, double[::1] maxima):
    """Fill in the largest number of each row; there is no NaN."""
    cdef Py_ssize_t row, column
    cdef double largest
    with nogil:
        for row in range(values.shape[0]):
            largest = values[row, 0]
            for column in range(1, values.shape[1]):
                if values[row, column] > largest:
                    largest = values[row, column]
            maxima[row] = largest


def add_explained(
    const double[:, ::1] likelihoods, const double[::1] row_weights, const double[::1] weights, double[::1] explained
):
    """Divide the weight of each row among the parts of a mixture by how likely each makes it, and add the shares."""
    cdef Py_ssize_t row, part
    cdef double total, scale
    with nogil:
        for row in range(likelihoods.shape[0]):
            total = 0.0
            for part in range(likelihoods.shape[1]):
                total += weights[part] * likelihoods[row, part]
            scale = row_weights[row] / total
            for part in range(likelihoods.shape[1]):
                explained[part] += weights[part] * likelihoods[row, part] * scale
