"""Values of the training table, by the words of a sorted list."""

from libc.stdint cimport int64_t, uint64_t

from tremula._kernels.grower cimport Grower


cdef inline double value_at(Grower* g, uint64_t word, int64_t attribute) noexcept nogil:
    cdef int64_t row = <int64_t> (word & g.columns.row_mask)
    return g.columns.values[row * g.columns.row_stride + attribute * g.columns.column_stride]


cdef inline int64_t first_above(Grower* g, const uint64_t* words, int64_t start, int64_t end, int64_t attribute,
                                double threshold) noexcept nogil:
    """Where in a sorted list the values above the threshold begin."""
    cdef int64_t middle
    while start < end:
        middle = (start + end) // 2
        if value_at(g, words[middle], attribute) > threshold:
            end = middle
        else:
            start = middle + 1
    return start
