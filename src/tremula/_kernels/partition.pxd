"""Divides the sorted lists, and the rows of a node, among its children.

Pending nodes lie in the lists in the order of the stack, the node at hand at the top, so its children may take its
place and more: rows whose value is missing go to every child. The order within a list is kept, nothing is sorted.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from tremula._kernels.buffers cimport reserve_items, reserve_rows, reserve_spare_rows
from tremula._kernels.grower cimport WEIGHTED, Cut, Frame, Grower, Stretch
from tremula._kernels.lists cimport list_bounds
from tremula._kernels.nodes cimport NUMERIC_SPLIT
from tremula._kernels.words cimport without_count

cdef enum:
    UNKNOWN = -2            # branch of a row whose value is missing

cdef enum Flag:             # which of at most two children a row goes to
    NEITHER = 0
    FIRST = 1
    SECOND = 2
    BOTH = 3                # its value is missing


# ---- one list in two: q is where the first child's words end, words[:q] are final, and nothing before p is read again

cdef inline int64_t keep_first(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag,
                               uint64_t row_mask) noexcept nogil:
    """Keep words flagged FIRST, without a branch; where they end."""
    cdef int64_t p, q = start
    cdef uint64_t word
    for p in range(start, end):
        word = words[p]
        words[q] = word
        q += flag[word & row_mask]
    return q


cdef inline int64_t divide_all(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag, uint64_t row_mask,
                               uint64_t* spare) noexcept nogil:
    """Keep words flagged FIRST in place, put all others aside, without a branch; where the first end."""
    cdef int64_t p, q = start
    cdef uint64_t word
    for p in range(start, end):
        word = words[p]
        words[q] = word
        spare[p - q] = word
        q += flag[word & row_mask] & 1
    return q


cdef inline int64_t divide_two(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag, uint64_t row_mask,
                               uint64_t* spare, int64_t* n_second) noexcept nogil:
    """As `divide_all`, with words flagged NEITHER left out."""
    cdef int64_t p, q = start, r = 0
    cdef uint64_t word
    cdef uint8_t flagged
    for p in range(start, end):
        word = words[p]
        flagged = flag[word & row_mask]
        words[q] = word
        spare[r] = word
        q += flagged & 1
        r += flagged >> 1
    n_second[0] = r
    return q


cdef inline int64_t divide_two_sharing(uint64_t* words, int64_t start, int64_t end, const uint8_t* flag,
                                       uint64_t row_mask, uint64_t* spare, int64_t* n_second) noexcept nogil:
    """As `divide_two`, with words flagged BOTH in both parts: their weight is now a fraction, no longer in the word."""
    cdef int64_t p, q = start, r = 0
    cdef uint64_t word
    cdef uint64_t kept_of_flag[4]
    cdef uint8_t flagged
    kept_of_flag[0] = kept_of_flag[1] = kept_of_flag[2] = ~(<uint64_t> 0)
    kept_of_flag[3] = without_count(~(<uint64_t> 0))
    for p in range(start, end):
        word = words[p]
        flagged = flag[word & row_mask]
        word &= kept_of_flag[flagged]
        words[q] = word
        spare[r] = word
        q += flagged & 1
        r += flagged >> 1
    n_second[0] = r
    return q


# ---- one list, for any number of children

cdef inline bint divide_in_two(Grower* g, int64_t a, int64_t start, int64_t end, bint sharing,
                               int64_t n_branches) noexcept nogil:
    """One or two children go on; fills `sizes`."""
    cdef const uint8_t* flag = g.division.flag
    cdef uint64_t row_mask = g.columns.row_mask
    cdef int64_t n_second = 0, place
    if g.division.n_survivors == 1 and not sharing:
        g.division.sizes[0] = keep_first(g.columns.lists[a], start, end, flag, row_mask) - start
        return True
    if not reserve_items(<void**> &g.division.spare, &g.division.spare_capacity, end - start + 1, sizeof(uint64_t)):
        return False
    if sharing and g.rows.kind == WEIGHTED:
        place = divide_two_sharing(g.columns.lists[a], start, end, flag, row_mask, g.division.spare, &n_second)
    elif n_branches == 2 and not sharing:
        place = divide_all(g.columns.lists[a], start, end, flag, row_mask, g.division.spare)
        n_second = end - place
    else:
        place = divide_two(g.columns.lists[a], start, end, flag, row_mask, g.division.spare, &n_second)
    g.division.sizes[0] = place - start
    g.division.sizes[1] = n_second
    if not reserve_items(<void**> &g.columns.lists[a], &g.columns.capacity[a], place + n_second, sizeof(uint64_t)):
        return False
    memcpy(g.columns.lists[a] + place, g.division.spare, n_second * sizeof(uint64_t))
    return True


cdef inline bint divide_in_many(Grower* g, int64_t a, int64_t start, int64_t end) noexcept nogil:
    """Any number of children, words of unknown rows copied to each; fills `sizes`."""
    cdef int64_t n_survivors = g.division.n_survivors
    cdef uint64_t* words = g.columns.lists[a]
    cdef uint64_t word
    cdef int64_t p, s, total = 0, survivor
    memset(g.division.sizes, 0, n_survivors * sizeof(int64_t))
    for p in range(start, end):
        survivor = g.division.branch[words[p] & g.columns.row_mask]
        if survivor >= 0:
            g.division.sizes[survivor] += 1
        elif survivor == UNKNOWN:
            for s in range(n_survivors):
                g.division.sizes[s] += 1
    for s in range(n_survivors):
        g.division.places[s] = total
        total += g.division.sizes[s]
    if not reserve_items(<void**> &g.division.spare, &g.division.spare_capacity, total + 1, sizeof(uint64_t)):
        return False
    if not reserve_items(<void**> &g.columns.lists[a], &g.columns.capacity[a], start + total, sizeof(uint64_t)):
        return False
    words = g.columns.lists[a]
    for p in range(start, end):
        word = words[p]
        survivor = g.division.branch[word & g.columns.row_mask]
        if survivor >= 0:
            g.division.spare[g.division.places[survivor]] = word
            g.division.places[survivor] += 1
        elif survivor == UNKNOWN:
            if g.rows.kind == WEIGHTED:
                word = without_count(word)
            for s in range(n_survivors):
                g.division.spare[g.division.places[s]] = word
                g.division.places[s] += 1
    memcpy(words + start, g.division.spare, total * sizeof(uint64_t))
    return True


# ---- rows

cdef inline bint divide_rows(Grower* g, const Frame* frame) noexcept nogil:
    """The rows and weights of the node, as `divide_in_many` does a list."""
    cdef int64_t n_survivors = g.division.n_survivors
    cdef int64_t p, s, total = 0, survivor
    cdef double share
    memset(g.division.sizes, 0, n_survivors * sizeof(int64_t))
    for p in range(frame.start, frame.end):
        survivor = g.division.branch[g.pending.rows[p]]
        for s in range(n_survivors):
            g.division.sizes[s] += survivor == s or survivor == UNKNOWN
    for s in range(n_survivors):
        g.division.places[s] = total
        total += g.division.sizes[s]
    if not reserve_rows(g, frame.start + total) or not reserve_spare_rows(g, total):
        return False
    for p in range(frame.start, frame.end):
        survivor = g.division.branch[g.pending.rows[p]]
        for s in range(n_survivors):
            if survivor == s or survivor == UNKNOWN:
                g.division.spare_rows[g.division.places[s]] = g.pending.rows[p]
                share = g.division.shares[s] if survivor == UNKNOWN else 1.0
                g.division.spare_weights[g.division.places[s]] = g.pending.weights[p] * share
                g.division.places[s] += 1
    memcpy(g.pending.rows + frame.start, g.division.spare_rows, total * sizeof(uint32_t))
    memcpy(g.pending.weights + frame.start, g.division.spare_weights, total * sizeof(double))
    return True


cdef inline void flag_rows(Grower* g, const Frame* frame, const uint64_t* words, bint has_unknown) noexcept nogil:
    """Where each row goes: a flag for one or two survivors; by number for many, and wherever rows have a list."""
    cdef int64_t i, p, survivor
    cdef bint many = g.division.n_survivors > 2
    cdef uint8_t flag
    if has_unknown:
        for p in range(frame.start, frame.end):
            if g.division.flag[g.pending.rows[p]] == BOTH:
                g.division.branch[g.pending.rows[p]] = UNKNOWN
    for i in range(g.division.n_segments):
        survivor = g.division.survivor[g.division.segments[i].child]
        if many or g.columns.has_missing:
            for p in range(g.division.segments[i].start, g.division.segments[i].end):
                g.division.branch[words[p] & g.columns.row_mask] = <int32_t> survivor
        if not many:
            flag = NEITHER if survivor < 0 else (FIRST if survivor == 0 else SECOND)
            for p in range(g.division.segments[i].start, g.division.segments[i].end):
                g.division.flag[words[p] & g.columns.row_mask] = flag


# ---- all lists

cdef inline int64_t* bounds_of_frame(Grower* g, int64_t frame) noexcept nogil:
    return g.pending.bounds + frame * (2 * g.columns.n_incomplete + 1)


cdef inline uint8_t* constant_of_frame(Grower* g, int64_t frame) noexcept nogil:
    return g.pending.constant + frame * g.columns.n_attributes


cdef inline int64_t already_divided(Grower* g, const Cut* cut) noexcept nogil:
    """The attribute of a numeric cut, whose list is in order once a second child that goes on alone is moved; or -1."""
    cdef uint64_t* words = g.columns.lists[cut.attribute]
    if cut.kind != NUMERIC_SPLIT or g.columns.has_missing:
        return -1
    if g.division.survivor[0] < 0:
        memmove(words + g.division.segments[0].start, words + g.division.segments[1].start,
                g.division.sizes[0] * sizeof(uint64_t))
    return cut.attribute


cdef inline bint divide_lists(Grower* g, const Frame* frame, int64_t n_branches, bint sharing,
                              int64_t divided) noexcept nogil:
    """Divide every list but that of attribute `divided`; write the bounds of the survivors' frames.

    These lie at the top of the stack.
    """
    cdef int64_t n_survivors = g.division.n_survivors
    cdef int64_t a, start, end, place, s, slot, first = g.pending.n_frames - n_survivors
    cdef int64_t* bounds
    cdef const uint64_t* words
    for a in range(g.columns.n_attributes):
        if g.node.constant[a] and not g.columns.has_missing:
            continue
        list_bounds(g, frame, a, &start, &end)
        slot = g.columns.slot[a]
        words = g.columns.lists[a]
        if not g.columns.has_missing and not ((words[start] ^ words[end - 1]) & g.columns.rank_mask):
            continue        # constant here, so never looked at again below
        if a == divided:
            continue
        if n_survivors > 2:
            if not divide_in_many(g, a, start, end):
                return False
        elif not divide_in_two(g, a, start, end, sharing, n_branches):
            return False
        if slot >= 0:
            place = start
            for s in range(n_survivors):
                bounds = bounds_of_frame(g, first + s) + 2 * slot
                bounds[0] = place
                place += g.division.sizes[s]
                bounds[1] = place
    return True
