"""Sorts the known values of every column once, so that no tree has to sort again.

A sorted list is made of words (see `words.pxd`), of which sorting writes the row and the rank. Rows whose value is
missing are left out of the column's list.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from tremula._kernels.short_lists cimport item_of, without_tie
from tremula._kernels.words cimport ROW_BITS, row_mask_of, word_of

cdef enum:
    DIGIT_BITS = 11
    N_DIGITS = 6            # 6 x 11 bits cover the 64 bits of a key
    N_BUCKETS = 2048
    WIDEST_BLOCK = 8        # columns copied out together at most
    FEW_VALUES = 1 << 19    # values copied out together for items, or one column
    FEW_ROWS = 2048
    MOST_MOVES = 8          # for each row; where more are wanted, all bits of the keys are sorted instead

cdef int64_t LOW_HALF = (<int64_t> 1 << 32) - 1
cdef uint64_t ROW_MASK = row_mask_of(ROW_BITS)    # of a row beside the leading bits of its key

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


cdef struct List:
    # Where the sorted list of one column goes: one of the two, the other is NULL.
    uint64_t* words
    uint32_t* items         # see `short_lists`
    int row_bits


cdef inline void put(const List* list, int64_t place, uint64_t rank, uint64_t row, bint is_tied) noexcept nogil:
    if list.words != NULL:
        list.words[place] = word_of(rank, row, list.row_bits)
    else:
        list.items[place] = item_of(<uint32_t> row, is_tied)


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


cdef uint64_t* sort_leading(const double* column, uint64_t* items, uint64_t* spare, int64_t n,
                            int64_t* histogram) noexcept nogil:
    """Sort rows by the leading bits of their keys, then put right by their values those few that agree in them.

    An item has 40 leading bits of the key above 24 bits of the row; the upper 32 or 33 are sorted by their digits.
    Return whichever of the two buffers holds the result, or NULL if too many agree: both are then of no use.
    """
    # Few rows are soon sorted by more digits of fewer values: going through the buckets takes as long as the rows.
    cdef int bits = 8 if n < FEW_ROWS else DIGIT_BITS
    cdef int n_digits = 4 if n < FEW_ROWS else 3
    cdef int first = 64 - bits * n_digits, n_buckets = 1 << bits
    cdef uint64_t mask = n_buckets - 1
    cdef int64_t i, j, total, count, moves = 0
    cdef int digit, shift, bucket
    cdef int64_t* buckets
    cdef uint64_t item
    cdef uint64_t* swap
    cdef double value
    memset(histogram, 0, n_digits * n_buckets * sizeof(int64_t))
    for i in range(n):
        for digit in range(n_digits):
            histogram[digit * n_buckets + <int64_t> ((items[i] >> (first + digit * bits)) & mask)] += 1
    for digit in range(n_digits):
        shift = first + digit * bits
        buckets = histogram + digit * n_buckets
        if buckets[(items[0] >> shift) & mask] == n:
            continue        # every key has the same digit here
        total = 0
        for bucket in range(n_buckets):
            count = buckets[bucket]
            buckets[bucket] = total
            total += count
        for i in range(n):
            bucket = <int>((items[i] >> shift) & mask)
            spare[buckets[bucket]] = items[i]
            buckets[bucket] += 1
        swap = items
        items = spare
        spare = swap
    for i in range(1, n):
        item = items[i]
        if item >> first != items[i - 1] >> first:
            continue
        value = column[item & ROW_MASK]
        j = i
        while j > 0 and items[j - 1] >> first == item >> first and column[items[j - 1] & ROW_MASK] > value:
            items[j] = items[j - 1]
            j -= 1
        items[j] = item
        moves += i - j
        if moves > MOST_MOVES * n:
            return NULL
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


cdef void count_sort(const double* column, int64_t n_rows, double low, double high, int64_t* starts,
                     const List* list) noexcept nogil:
    """Sort whole numbers of a small range by counting them; `starts` has room for one number more than the range."""
    cdef int64_t row, bucket, n_buckets = <int64_t> (high - low) + 1, place = 0, count
    cdef uint64_t rank = 0
    memset(starts, 0, n_buckets * sizeof(int64_t))
    for row in range(n_rows):
        if column[row] == column[row]:
            starts[<int64_t> (column[row] - low)] += 1
    for bucket in range(n_buckets):
        count = starts[bucket]
        # Where the bucket's words go, and above it the rank that they share.
        starts[bucket] = place | <int64_t> (rank << 32)
        place += count
        rank += count > 0
    for row in range(n_rows):
        if column[row] == column[row]:
            bucket = <int64_t> (column[row] - low)
            put(list, starts[bucket] & LOW_HALF, <uint64_t> starts[bucket] >> 32, <uint64_t> row, True)
            starts[bucket] += 1
    if list.words == NULL:
        for bucket in range(n_buckets - 1):         # where one ends the next begins, which is not tied with it
            list.items[starts[bucket] & LOW_HALF] = without_tie(list.items[starts[bucket] & LOW_HALF])


cdef void sort_column(const double* column, int64_t n_rows, double gap, Keyed* buffer, int64_t* histogram,
                      const List* list, int64_t* length) noexcept nogil:
    """Fill `list` with the known values of one column in order, and `length` with their number."""
    cdef int64_t row, n = 0, i
    cdef uint64_t rank = 0
    cdef double value, previous, low = INFINITY, high = -INFINITY
    cdef bint whole = gap < 1.0 and n_rows < <int64_t> 1 << 32
    cdef Keyed* items
    cdef uint64_t* packed
    cdef bint is_tied
    for row in range(n_rows):
        value = column[row]
        if value == value:
            n += 1
            low = value if value < low else low
            high = value if value > high else high
            whole &= value == <double> <int32_t> value
    length[0] = n
    if n == 0:
        return
    if whole and high - low < N_DIGITS * N_BUCKETS and n > 64:
        count_sort(column, n_rows, low, high, histogram, list)
        return
    if n > 64 and n_rows < <int64_t> 1 << ROW_BITS:
        packed = <uint64_t*> buffer
        n = 0
        for row in range(n_rows):
            if column[row] == column[row]:
                packed[n] = (key_of(column[row]) & ~ROW_MASK) | <uint64_t> row
                n += 1
        packed = sort_leading(column, packed, packed + n, n, histogram)
        if packed != NULL:
            previous = column[packed[0] & ROW_MASK]
            for i in range(n):
                value = column[packed[i] & ROW_MASK]
                is_tied = not value > previous + gap
                rank += not is_tied
                previous = value
                put(list, i, rank, packed[i] & ROW_MASK, is_tied)
            return
    n = 0
    for row in range(n_rows):
        if column[row] == column[row]:
            buffer[n].key = key_of(column[row])
            buffer[n].row = <uint64_t> row
            n += 1
    if n <= 64:
        insertion_sort(buffer, n)
        items = buffer
    else:
        items = radix_sort(buffer, buffer + n, n, histogram)
    previous = value_of(items[0].key)
    for i in range(n):
        value = value_of(items[i].key)
        is_tied = not value > previous + gap
        rank += not is_tied
        previous = value
        put(list, i, rank, items[i].row, is_tied)


def rank_rows(const uint64_t[:, ::1] lists, int row_bits, uint32_t[:, ::1] ranks):
    """Fill `ranks[a, row]` with the rank of the row's value in column a; no value is missing."""
    cdef int64_t n_attributes = lists.shape[0], n_rows = lists.shape[1], a, p
    cdef uint64_t row_mask = row_mask_of(row_bits)
    with nogil:
        for a in range(n_attributes):
            for p in range(n_rows):
                ranks[a, <int64_t> (lists[a, p] & row_mask)] = <uint32_t> (lists[a, p] >> row_bits)


cdef int sort_all(const double[:, :] values, double gap, int row_bits, uint64_t* words, uint32_t* items,
                  int64_t* lengths) except -1:
    """Sort every column into words or items, whichever is not NULL."""
    cdef int64_t n_rows = values.shape[0], n_attributes = values.shape[1], attribute, row, first, width
    cdef int64_t widest = min(n_attributes // 8 + 1, WIDEST_BLOCK)
    cdef Keyed* buffer = <Keyed*> malloc((2 * n_rows + 1) * sizeof(Keyed))
    cdef int64_t* histogram = <int64_t*> malloc(N_DIGITS * N_BUCKETS * sizeof(int64_t))
    cdef double* block
    cdef bint has_memory
    cdef List list = List(words, items, row_bits)
    if items != NULL:
        widest = min(widest, FEW_VALUES // (n_rows + 1) + 1)
    block = <double*> malloc((widest * n_rows + 1) * sizeof(double))
    has_memory = buffer != NULL and histogram != NULL and block != NULL
    if has_memory:
        with nogil:
            first = 0
            while first < n_attributes:
                width = min(n_attributes - first, widest)
                # A few columns at a time are copied out: in a C-ordered table they share cache lines.
                for row in range(n_rows):
                    for attribute in range(width):
                        block[attribute * n_rows + row] = values[row, first + attribute]
                for attribute in range(width):
                    if words != NULL:
                        list.words = words + (first + attribute) * n_rows
                    else:
                        list.items = items + (first + attribute) * n_rows
                    sort_column(block + attribute * n_rows, n_rows, gap, buffer, histogram, &list,
                                &lengths[first + attribute])
                first += widest
    free(buffer)
    free(histogram)
    free(block)
    if not has_memory:
        raise MemoryError("sorting the columns")
    return 0


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
    if values.shape[0] > 0 and values.shape[1] > 0:
        sort_all(values, gap, row_bits, &lists[0, 0], NULL, &lengths[0])
    else:
        lengths[:] = 0


def sort_items(const double[:, :] values, double gap, int row_bits, uint32_t[:, ::1] items, int64_t[::1] lengths):
    """Fill `items[a, :lengths[a]]` with the short list of column a, see `short_lists`; otherwise as `sort_columns`."""
    if values.shape[0] > 0 and values.shape[1] > 0:
        sort_all(values, gap, row_bits, NULL, &items[0, 0], &lengths[0])
    else:
        lengths[:] = 0
