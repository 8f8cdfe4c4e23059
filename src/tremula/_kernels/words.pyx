"""The layout of a word for Python: the constants of `words.pxd`, and functions that fill and unpack words."""

import numpy as np

from libc.stdint cimport int64_t, uint16_t, uint64_t


def unpack(const uint64_t[::1] words, int row_bits=ROW_BITS):
    """Row, rank, class and count of each word, as the columns of an array; wide words have no class and no count.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula._kernels import words
    >>> words.unpack(np.array([3 | 5 << 24 | 1 << 48 | 2 << 56], np.uint64))
    array([[3, 5, 1, 2]])
    """
    cdef int64_t i, n_fields = 4 if row_bits == ROW_BITS else 2
    cdef uint64_t row_mask = row_mask_of(row_bits), rank_mask = rank_mask_of(row_bits)
    cdef int64_t[:, ::1] fields = np.empty((words.shape[0], n_fields), np.int64)
    for i in range(words.shape[0]):
        fields[i, 0] = <int64_t> (words[i] & row_mask)
        fields[i, 1] = <int64_t> ((words[i] & rank_mask) >> row_bits)
        if n_fields == 4:
            fields[i, 2] = class_in(words[i])
            fields[i, 3] = count_in(words[i])
    return np.asarray(fields)


def add_marks(uint64_t[::1] words, const uint16_t[::1] marks):
    """Write the class and count of each word's row above its rank, as growing a tree does."""
    cdef int64_t i
    cdef uint64_t row_mask = row_mask_of(ROW_BITS)
    for i in range(words.shape[0]):
        words[i] |= mark_bits(marks[<int64_t> (words[i] & row_mask)])
