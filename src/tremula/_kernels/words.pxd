"""The word: 64 bits that stand for one row in the sorted list of one attribute.

A table of fewer than 2**24 rows has packed words::

     63 62         56 55             48 47                       24 23                        0
    +--+-------------+-----------------+---------------------------+---------------------------+
    | 0|    count    |      class      |           rank            |            row            |
    +--+-------------+-----------------+---------------------------+---------------------------+
      1    7 bits          8 bits                24 bits                     24 bits

row    number of the row in the table
rank   0 for the smallest value of the attribute, 1 for the next distinct value, and so on
class  class of the row, for a classification tree of at most 256 classes
count  multiplicity of the row in the sample that the tree is grown from, 1 to 127;
       0 means that the weight is real and is looked up by row

A larger table has wide words, without room for class and count, which are then looked up by row::

     63                               32 31                               0
    +-----------------------------------+----------------------------------+
    |               rank                |               row                |
    +-----------------------------------+----------------------------------+
                   32 bits                            32 bits

Sorting writes row and rank; growing a tree adds class and count. Words of one list compare like the values of their
rows, and two words belong to the same value exactly if their rank bits are equal.

The 16 bits above the rank are also kept by row, as the row's `mark`: class in the low 8 bits, count above it.
"""

from libc.stdint cimport int64_t, uint64_t

cpdef enum:
    ROW_BITS = 24           # packed words: bits of the row, and of the rank
    WIDE_ROW_BITS = 32      # wide words: likewise
    CLASS_BITS = 8
    COUNT_BITS = 7
    CLASS_SHIFT = 48        # 2 * ROW_BITS
    COUNT_SHIFT = 56        # CLASS_SHIFT + CLASS_BITS
    CLASS_MASK = 255        # of a class at the low end of a number


cdef inline uint64_t row_mask_of(int row_bits) noexcept nogil:
    """Bits of a word that hold the row."""
    return (<uint64_t> 1 << row_bits) - 1


cdef inline uint64_t rank_mask_of(int row_bits) noexcept nogil:
    """Bits of a word that hold the rank."""
    return row_mask_of(row_bits) << row_bits


cdef inline uint64_t word_of(uint64_t rank, uint64_t row, int row_bits) noexcept nogil:
    return (rank << row_bits) | row


cdef inline uint64_t mark_bits(uint64_t mark) noexcept nogil:
    """Class and count of a mark, where a word has them."""
    return mark << CLASS_SHIFT


cdef inline int64_t class_in(uint64_t word) noexcept nogil:
    return <int64_t> ((word >> CLASS_SHIFT) & CLASS_MASK)


cdef inline int64_t count_in(uint64_t word) noexcept nogil:
    return <int64_t> (word >> COUNT_SHIFT)


cdef inline uint64_t without_count(uint64_t word) noexcept nogil:
    return word & ((<uint64_t> 1 << COUNT_SHIFT) - 1)


cdef inline int64_t class_of_mark(uint64_t mark) noexcept nogil:
    return <int64_t> (mark & CLASS_MASK)


cdef inline int64_t count_of_mark(uint64_t mark) noexcept nogil:
    return <int64_t> (mark >> CLASS_BITS)
