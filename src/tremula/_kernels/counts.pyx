"""Counts rows by the values of an attribute and the class: what learning from statistics is made of."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused code_t:
    unsigned char
    unsigned short
    int32_t


def keep_rows(const code_t[:, ::1] codes, const int32_t[::1] rows, Py_ssize_t attribute, int first, int last,
              int32_t[::1] kept):
    """Put the rows whose attribute has a value from first to last into `kept`, in their order; return how many."""
    cdef Py_ssize_t i, n_kept = 0
    cdef int code
    with nogil:
        for i in range(rows.shape[0]):
            code = codes[attribute, rows[i]]
            kept[n_kept] = rows[i]
            n_kept += first <= code <= last
    return n_kept


def count_classes(const code_t[:, ::1] codes, const int32_t[::1] classes, const int32_t[::1] rows,
                  const int32_t[::1] attributes, const int64_t[::1] starts, int64_t[:, ::1] out):
    """Add the rows to the cells of each attribute's value and their class."""
    cdef Py_ssize_t i, j, attribute, row
    cdef int64_t start
    with nogil:
        for j in range(attributes.shape[0]):
            attribute = attributes[j]
            start = starts[attribute]
            for i in range(rows.shape[0]):
                row = rows[i]
                out[start + codes[attribute, row], classes[row]] += 1


def add_moments(const code_t[:, ::1] codes, const double[::1] target, const int32_t[::1] rows,
                const int32_t[::1] attributes, const int64_t[::1] starts, double[:, ::1] out):
    """Add the rows' number, target and squared target to the cells of each attribute's value."""
    cdef Py_ssize_t i, j, attribute, row
    cdef int64_t cell
    cdef double value
    with nogil:
        for j in range(attributes.shape[0]):
            attribute = attributes[j]
            for i in range(rows.shape[0]):
                row = rows[i]
                cell = starts[attribute] + codes[attribute, row]
                value = target[row]
                out[cell, 0] += 1.0
                out[cell, 1] += value
                out[cell, 2] += value * value
