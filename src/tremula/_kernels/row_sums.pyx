"""Adds values of rows to sums, in the order of the rows."""

from libc.stdint cimport int64_t


def add_rows(const int64_t[::1] places, const double[::1] weights, const double[:, ::1] values, double[:, ::1] sums):
    """Add each row of values times its weight to the sums at its place; several rows may have one place."""
    cdef Py_ssize_t row, column
    cdef double weight
    with nogil:
        for row in range(values.shape[0]):
            weight = weights[row]
            for column in range(values.shape[1]):
                sums[places[row], column] += weight * values[row, column]
