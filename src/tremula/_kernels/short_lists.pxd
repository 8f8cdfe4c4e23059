"""Sorted lists of half the length, for the large nodes of one tree: 32 bits for a row.

The upper bit of an item says that its value is tied with that of the item before; of the first item of a node it says
nothing. The row is at the low end. If all multiplicities are 1 and the class fits between the two, it is there. Such a
list becomes one of words (see `words.pxd`) when it is looked at, one attribute at a time. A node of at most `most_rows`
rows gets lists of words of all attributes, and its subtree grows from these.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove

from tremula._kernels.grower cimport COUNTED, Cut, Frame, Grower
from tremula._kernels.nodes cimport NUMERIC_SPLIT
from tremula._kernels.words cimport CLASS_BITS, CLASS_MASK, mark_bits, word_of

cdef enum:
    TIE_SHIFT = 31
    WITHOUT_TIE = 0x7FFFFFFF
    ONCE = 1 << CLASS_BITS      # the count of a mark


# ---- items

cdef inline uint32_t item_of(uint32_t row, bint is_tied) noexcept nogil:
    return row | (<uint32_t> is_tied << TIE_SHIFT)


cdef inline uint32_t without_tie(uint32_t item) noexcept nogil:
    return item & WITHOUT_TIE


cdef inline void choose_fields(Grower* g) noexcept nogil:
    """Bits of the row, and whether items hold the class."""
    cdef int64_t row
    cdef uint64_t other_marks = 0
    g.short_lists.row_bits = 1
    while g.rows.n_rows > <int64_t> 1 << g.short_lists.row_bits:
        g.short_lists.row_bits += 1
    g.short_lists.row_mask = (<uint32_t> 1 << g.short_lists.row_bits) - 1
    if g.rows.kind != COUNTED or g.rows.n_classes > <int64_t> 1 << (TIE_SHIFT - g.short_lists.row_bits):
        return
    for row in range(g.rows.n_rows):
        other_marks |= (g.rows.marks[row] ^ ONCE) >> CLASS_BITS if g.rows.present[row] else 0
    g.short_lists.hold_class = not other_marks


cdef inline void add_classes(Grower* g, uint32_t* items, int64_t n) noexcept nogil:
    """Write the class of each row into its item."""
    cdef int64_t p
    for p in range(n):
        items[p] |= <uint32_t> (g.rows.marks[items[p] & g.short_lists.row_mask] & CLASS_MASK) << g.short_lists.row_bits


cdef inline void lengthen(Grower* g, const uint32_t* items, int64_t n, uint64_t* words) noexcept nogil:
    """Words of the items of a node, ranked among these."""
    cdef uint64_t rank = 0, mark
    cdef uint32_t row, row_mask = g.short_lists.row_mask
    cdef int row_bits = g.short_lists.row_bits, word_bits = g.columns.row_bits
    cdef int64_t p
    if g.short_lists.hold_class:
        for p in range(n):
            mark = without_tie(items[p]) >> row_bits
            rank += 1 - (items[p] >> TIE_SHIFT)
            words[p] = word_of(rank, items[p] & row_mask, word_bits) | mark_bits(mark | ONCE)
    elif g.rows.marks != NULL:
        for p in range(n):
            row = items[p] & row_mask
            rank += 1 - (items[p] >> TIE_SHIFT)
            words[p] = word_of(rank, row, word_bits) | mark_bits(g.rows.marks[row])
    else:
        for p in range(n):
            rank += 1 - (items[p] >> TIE_SHIFT)
            words[p] = word_of(rank, items[p] & row_mask, word_bits)


# ---- nodes

cdef inline uint64_t* list_short(Grower* g, const Frame* frame, int64_t a) noexcept nogil:
    """The list of an attribute in the node at hand."""
    lengthen(g, g.short_lists.items[a] + frame.start, frame.end - frame.start, g.short_lists.words)
    return g.short_lists.words


cdef inline void enter_subtree(Grower* g, Frame* frame) noexcept nogil:
    """Lists of words for a node of few rows and all below it."""
    cdef int64_t a, n = frame.end - frame.start
    for a in range(g.columns.n_attributes):
        lengthen(g, g.short_lists.items[a] + frame.start, n, g.columns.lists[a])
    frame.start = 0
    frame.end = n
    g.short_lists.in_use = False
    g.short_lists.n_waiting = g.pending.n_frames


cdef inline void choose_lists(Grower* g, Frame* frame) noexcept nogil:
    """Which lists the node at hand has, that was the last of the stack."""
    if g.short_lists.most_rows == 0:
        return
    if g.pending.n_frames < g.short_lists.n_waiting:
        g.short_lists.in_use = True
    if g.short_lists.in_use and frame.end - frame.start <= g.short_lists.most_rows:
        enter_subtree(g, frame)


# ---- dividing

cdef inline int64_t keep_items(uint32_t* items, int64_t n, const uint8_t* flag, uint32_t row_mask) noexcept nogil:
    """Keep items whose flag is 1; returns their number. Ties hold if they hold all along what is left out."""
    cdef int64_t p, q = 0
    cdef uint32_t item, tied = <uint32_t> 1 << TIE_SHIFT, kept
    for p in range(n):
        item = items[p]
        tied &= item
        kept = flag[item & row_mask] == 1
        items[q] = without_tie(item) | tied
        q += kept
        tied |= kept << TIE_SHIFT
    return q


cdef inline void divide_items(uint32_t* items, int64_t n, const uint8_t* flag, uint32_t row_mask,
                              uint32_t* spare) noexcept nogil:
    """Items whose flag is 1, and behind them all others."""
    cdef int64_t p, q = 0
    cdef uint32_t item, first_tied = <uint32_t> 1 << TIE_SHIFT, second_tied = first_tied, is_first
    for p in range(n):
        item = items[p]
        first_tied &= item
        second_tied &= item
        is_first = flag[item & row_mask] & 1
        spare[p - q] = without_tie(item) | second_tied
        items[q] = without_tie(item) | first_tied
        q += is_first
        first_tied |= is_first << TIE_SHIFT
        second_tied |= (is_first ^ 1) << TIE_SHIFT
    memcpy(items + q, spare, (n - q) * sizeof(uint32_t))


cdef inline void divide_short_lists(Grower* g, const Frame* frame, const Cut* cut) noexcept nogil:
    """Divide every list between the one or two children that are split further."""
    cdef int64_t a, n = frame.end - frame.start
    cdef uint32_t row_mask = g.short_lists.row_mask
    cdef uint32_t* items
    for a in range(g.columns.n_attributes):
        items = g.short_lists.items[a] + frame.start
        if a == cut.attribute and cut.kind == NUMERIC_SPLIT:    # in order, but for a second child that goes on alone
            if g.division.survivor[0] < 0:
                memmove(items, items + cut.place, (n - cut.place) * sizeof(uint32_t))
        elif g.division.n_survivors == 1:
            keep_items(items, n, g.division.flag, row_mask)
        else:
            divide_items(items, n, g.division.flag, row_mask, g.short_lists.spare)
