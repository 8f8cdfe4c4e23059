"""What all walks share: judging one cut, and when to look at values instead of rows."""

from libc.stdint cimport int64_t, uint64_t

from tremula._kernels.criteria cimport worth_of
from tremula._kernels.grower cimport Cut, Grower, Known, Stretch


cdef inline void consider(Grower* g, int criterion, bint collect, double within, double branches, int64_t place,
                          const Known* known, Cut* best) noexcept nogil:
    """Judge a cut: keep it if every cut is kept, or if it is better than the best so far."""
    cdef double worth = worth_of(criterion, within, branches, &known.whole)
    cdef Cut* cut
    if collect:
        cut = &g.walk.cuts[g.walk.n_cuts]
        g.walk.n_cuts += 1
        cut.gain = worth
        cut.branches = branches
        cut.place = place
    elif worth > best.worth + known.slack:
        best.worth = worth
        best.branches = branches
        best.place = place


cdef inline bint has_long_runs(Grower* g, const Stretch* list) noexcept nogil:
    """Whether values repeat so often that terms are best renewed once per distinct value instead of once per row."""
    cdef uint64_t first = list.words[list.start] & g.columns.rank_mask
    cdef uint64_t last = list.words[list.end - 1] & g.columns.rank_mask
    cdef uint64_t span = (last - first) // (g.columns.row_mask + 1)
    return 2 * (list.end - list.start) > <int64_t> (span + 1) * g.rows.n_classes
