"""Unsorted nodes: for trees that draw so few of the attributes that dividing all lists would cost more than it saves.

An unsorted node has its rows alone, in no particular order. The list of an attribute is made when it is needed, from
the ranks of the rows, and equals the one that dividing would have given. A drawn threshold needs the values alone.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tremula._kernels.columns cimport value_at
from tremula._kernels.grower cimport COUNTED, Frame, Grower
from tremula._kernels.statistics cimport add_row, weight_of_row
from tremula._kernels.targets cimport add_sums, has_several
from tremula._kernels.words cimport class_of_mark, count_of_mark, mark_bits, word_of

cdef enum:
    LONGEST_INSERTION = 12  # longer stretches are merged


cdef inline void insert_sort(uint64_t* words, int64_t n) noexcept nogil:
    cdef int64_t i, j
    cdef uint64_t word
    for i in range(1, n):
        word = words[i]
        j = i
        while j > 0 and words[j - 1] > word:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word


cdef inline void merge(const uint64_t* first, int64_t n_first, const uint64_t* second, int64_t n_second,
                       uint64_t* merged) noexcept nogil:
    """Two sorted stretches into one, without a branch on the values."""
    cdef int64_t i = 0, j = 0
    cdef uint64_t a, b
    cdef bint take_second
    while i < n_first and j < n_second:
        a = first[i]
        b = second[j]
        take_second = b < a
        merged[i + j] = b if take_second else a
        j += take_second
        i += not take_second
    memcpy(merged + i + j, first + i, (n_first - i) * sizeof(uint64_t))
    memcpy(merged + n_first + j, second + j, (n_second - j) * sizeof(uint64_t))


cdef inline uint64_t* sort_words(uint64_t* words, uint64_t* spare, int64_t n) noexcept nogil:
    """Whichever of the two buffers holds the words in order."""
    cdef int64_t start = 0, width = LONGEST_INSERTION, middle, end
    cdef uint64_t* swap
    while start < n:
        insert_sort(words + start, min(width, n - start))
        start += width
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(middle + width, n)
            merge(words + start, middle - start, words + middle, end - middle, spare + start)
            start = end
        swap = words
        words = spare
        spare = swap
        width *= 2
    return words


cdef inline uint64_t rank_of(Grower* g, uint32_t row, int64_t attribute) noexcept nogil:
    """The rank of a row's value; without ranks, of a nominal attribute, its level."""
    if g.columns.ranks != NULL:
        return g.columns.ranks[attribute * g.rows.n_rows + row]
    return <uint64_t> value_at(g, row, attribute)


cdef inline uint64_t mark_of(Grower* g, uint64_t word) noexcept nogil:
    return mark_bits(g.rows.marks[word & g.columns.row_mask]) if g.rows.marks != NULL else 0


cdef inline uint64_t* list_unsorted(Grower* g, const Frame* frame, int64_t attribute) noexcept nogil:
    """The list of an attribute in an unsorted node; if all values are equal, in the order of the rows."""
    cdef const uint32_t* rows = g.unsorted.rows + frame.start
    cdef int64_t i, n = frame.end - frame.start
    cdef uint64_t* words = g.unsorted.words
    cdef uint64_t rank, differences = 0, first = rank_of(g, rows[0], attribute)
    for i in range(n):
        rank = rank_of(g, rows[i], attribute)
        differences |= rank ^ first
        words[i] = word_of(rank, rows[i], g.columns.row_bits)
    if not differences:
        return words
    words = sort_words(words, g.unsorted.spare, n)
    for i in range(n):
        words[i] |= mark_of(g, words[i])
    return words


# ---- drawn thresholds need no order

cdef inline bint gather_values(Grower* g, const Frame* frame, int64_t attribute) noexcept nogil:
    """Put the values of a node's rows into `unsorted.values`, with the least and the largest; whether these differ."""
    cdef const uint32_t* rows = g.unsorted.rows + frame.start
    cdef int64_t i
    cdef double value, least = INFINITY, largest = -INFINITY
    for i in range(frame.end - frame.start):
        value = value_at(g, rows[i], attribute)
        g.unsorted.values[i] = value
        least = value if value < least else least
        largest = value if value > largest else largest
    g.unsorted.low = least
    g.unsorted.high = largest
    return least < largest


cdef inline void add_first(Grower* g, const Frame* frame, double threshold, double* statistics) noexcept nogil:
    """Add the rows whose gathered value is at most the threshold to the statistics; of one target without a branch."""
    cdef const uint32_t* rows = g.unsorted.rows + frame.start
    cdef int64_t i, code, n = frame.end - frame.start
    cdef uint16_t mark
    if has_several(g):
        for i in range(n):
            if g.unsorted.values[i] <= threshold:
                add_sums(g, rows[i], g.rows.records[rows[i]].weight, statistics)
        return
    if g.rows.kind != COUNTED:
        for i in range(n):
            add_row(g, rows[i], weight_of_row(g, rows[i]) * (g.unsorted.values[i] <= threshold), statistics)
        return
    memset(g.walk.sides, 0, g.rows.n_classes * sizeof(uint64_t))
    for i in range(n):
        mark = g.rows.marks[rows[i]]
        g.walk.sides[class_of_mark(mark)] += count_of_mark(mark) * <uint64_t> (g.unsorted.values[i] <= threshold)
    for code in range(g.rows.n_classes):
        statistics[code] += <double> <int64_t> g.walk.sides[code]


cdef inline uint64_t* part_by_threshold(Grower* g, const Frame* frame, int64_t attribute, double threshold,
                                        int64_t* n_first) noexcept nogil:
    """The words of an unsorted node, those of values up to the threshold first; fills how many these are."""
    cdef const uint32_t* rows = g.unsorted.rows + frame.start
    cdef int64_t i, first = 0, second = 0
    cdef uint64_t word
    cdef bint is_second
    for i in range(frame.end - frame.start):
        word = rows[i] | mark_of(g, rows[i])
        is_second = value_at(g, rows[i], attribute) > threshold
        g.unsorted.words[first] = word
        g.unsorted.spare[second] = word
        first += not is_second
        second += is_second
    memcpy(g.unsorted.words + first, g.unsorted.spare, second * sizeof(uint64_t))
    n_first[0] = first
    return g.unsorted.words
