"""Sorts the known values of every column once, so that no tree has to sort again.

A sorted list is made of 64-bit words: the row in the low `row_bits`, above it the rank of the row's value among
the distinct values of the column. Rows whose value is missing are left out of the column's list.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    DIGIT_BITS = 11
    N_DIGITS = 6            # 6 x 11 bits cover the 64 bits of a key
    N_BUCKETS = 2048

cdef struct Keyed:
    uint64_t key
    uint64_t row


cdef inline uint64_t key_of(double value) noexcept nogil:
    """An unsigned integer in the order of the doubles; both zeros get the same one."""
    cdef uint64_t bits
    value = value + 0.0     # turns -0.0 into 0.0
    memcpy(&bits, &value, sizeof(uint64_t))
    if bits >> 63:
        return ~bits
    return bits | (<uint64_t>1 << 63)


cdef inline double value_of(uint64_t key) noexcept nogil:
    """The inverse of `key_of`."""
    cdef uint64_t bits = (key & ~(<uint64_t>1 << 63)) if key >> 63 else ~key
    cdef double value
    memcpy(&value, &bits, sizeof(uint64_t))
    return value


cdef Keyed* radix_sort(Keyed* items, Keyed* spare, int64_t n, int64_t* histogram) noexcept nogil:
    """Sort by key, stable; return whichever of the two buffers holds the result."""
    cdef int64_t i, total, count
    cdef int digit, shift, bucket
    cdef int64_t* buckets
    cdef Keyed* swap
    memset(histogram, 0, N_DIGITS * N_BUCKETS * sizeof(int64_t))
    for i in range(n):
        for digit in range(N_DIGITS):
            histogram[digit * N_BUCKETS + ((items[i].key >> (digit * DIGIT_BITS)) & (N_BUCKETS - 1))] += 1
    for digit in range(N_DIGITS):
        shift = digit * DIGIT_BITS
        buckets = histogram + digit * N_BUCKETS
        if buckets[(items[0].key >> shift) & (N_BUCKETS - 1)] == n:
            continue        # every key has the same digit here
        total = 0
        for bucket in range(N_BUCKETS):
            count = buckets[bucket]
            buckets[bucket] = total
            total += count
        for i in range(n):
            bucket = <int>((items[i].key >> shift) & (N_BUCKETS - 1))
            spare[buckets[bucket]] = items[i]
            buckets[bucket] += 1
        swap = items
        items = spare
        spare = swap
    return items


cdef void insertion_sort(Keyed* items, int64_t n) noexcept nogil:
    """Stable sort of a short list, where clearing the histogram would cost more than sorting."""
    cdef int64_t i, j
    cdef Keyed item
    for i in range(1, n):
        item = items[i]
        j = i
        while j > 0 and items[j - 1].key > item.key:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item


def sort_columns(const double[:, :] values, double gap, int row_bits, uint64_t[:, ::1] lists, int64_t[::1] lengths):
    """Fill `lists[a, :lengths[a]]` with the sorted words of column a.

    Parameters
    ----------
    values : array (n_rows, n_attributes)
        NaN is missing.
    gap : float
        A value at most this much above its predecessor shares the predecessor's rank.
    row_bits : int
        Bits of a word that hold the row.
    lists : uint64 array (n_attributes, n_rows)
    lengths : int64 array (n_attributes,)
    """
    cdef int64_t n_rows = values.shape[0], n_attributes = values.shape[1], attribute, row, n, i
    cdef uint64_t rank
    cdef double value, previous
    cdef Keyed* buffer = <Keyed*> malloc((2 * n_rows + 1) * sizeof(Keyed))
    cdef int64_t* histogram = <int64_t*> malloc(N_DIGITS * N_BUCKETS * sizeof(int64_t))
    cdef Keyed* items
    if buffer == NULL or histogram == NULL:
        free(buffer)
        free(histogram)
        raise MemoryError("sorting the columns")
    with nogil:
        for attribute in range(n_attributes):
            n = 0
            for row in range(n_rows):
                value = values[row, attribute]
                if value == value:
                    buffer[n].key = key_of(value)
                    buffer[n].row = <uint64_t> row
                    n += 1
            lengths[attribute] = n
            if n == 0:
                continue
            if n <= 64:
                insertion_sort(buffer, n)
                items = buffer
            else:
                items = radix_sort(buffer, buffer + n, n, histogram)
            rank = 0
            previous = value_of(items[0].key)
            for i in range(n):
                value = value_of(items[i].key)
                if value > previous + gap:
                    rank += 1
                previous = value
                lists[attribute, i] = items[i].row | (rank << row_bits)
    free(buffer)
    free(histogram)
