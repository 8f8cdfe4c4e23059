"""Statistics of rows: class weights, or weight, sum and sum of squares of a numeric target; see also `targets`."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from tremula._kernels.criteria cimport (
    FIFTH_ROOT_VARIANCE, POISSON, VARIANCE, Whole, fifth_root_term, is_information, poisson_term, term_of,
    unit_of_worth, x_log_x,
)
from tremula._kernels.grower cimport COUNTED, MEASURED, WEIGHTED, WIDE, Grower, Known, Stretch
from tremula._kernels.targets cimport add_targets, has_several, within_targets
from tremula._kernels.words cimport class_in, count_in, count_of_mark


# ---- one row

cdef inline int64_t code_of(Grower* g, bint wide, uint64_t word) noexcept nogil:
    if wide:
        return g.rows.records[word & g.columns.row_mask].target.code
    return class_in(word)


cdef inline double word_weight(Grower* g, bint wide, uint64_t word) noexcept nogil:
    if wide:
        return g.rows.records[word & g.columns.row_mask].weight
    if count_in(word):
        return <double> count_in(word)
    return g.rows.weights[word & g.columns.row_mask]


cdef inline double weight_of_row(Grower* g, int64_t row) noexcept nogil:
    if g.rows.kind == COUNTED:
        return <double> count_of_mark(g.rows.marks[row])
    return g.rows.weights[row] if g.rows.kind == WEIGHTED else g.rows.records[row].weight


cdef inline void add_row(Grower* g, uint32_t row, double weight, double* statistics) noexcept nogil:
    cdef double y
    if g.rows.kind == MEASURED:
        y = g.rows.records[row].target.number
        statistics[0] += weight
        statistics[1] += weight * y
        statistics[2] += weight * y * y
    elif has_several(g):
        add_targets(g, row, weight, statistics)
    else:
        statistics[g.rows.codes[row]] += weight


# ---- a stretch of a list

cdef inline void add_words(Grower* g, const uint64_t* words, int64_t start, int64_t end,
                           double* statistics) noexcept nogil:
    """Add the rows of a stretch to the statistics of a node."""
    cdef int64_t p, count, total = 0, second = 0
    cdef double w, y, weight = 0.0, second_weight = 0.0
    if g.node.counted and g.rows.n_classes == 2:       # two classes: sums stay in registers
        for p in range(start, end):
            count = count_in(words[p])
            total += count
            second += count * class_in(words[p])
        statistics[0] += total - second
        statistics[1] += second
    elif g.node.counted:
        for p in range(start, end):
            statistics[class_in(words[p])] += <double> count_in(words[p])
    elif g.rows.kind == WEIGHTED and g.rows.n_classes == 2:
        for p in range(start, end):
            w = word_weight(g, False, words[p])
            y = <double> class_in(words[p])
            weight += w * (1.0 - y)
            second_weight += w * y
        statistics[0] += weight
        statistics[1] += second_weight
    elif g.rows.kind == WEIGHTED:
        for p in range(start, end):
            statistics[code_of(g, False, words[p])] += word_weight(g, False, words[p])
    elif g.rows.kind == WIDE:
        for p in range(start, end):
            statistics[code_of(g, True, words[p])] += word_weight(g, True, words[p])
    elif has_several(g):
        for p in range(start, end):
            add_targets(g, words[p] & g.columns.row_mask, word_weight(g, True, words[p]), statistics)
    else:
        for p in range(start, end):
            w = g.rows.records[words[p] & g.columns.row_mask].weight
            y = g.rows.records[words[p] & g.columns.row_mask].target.number
            statistics[0] += w
            statistics[1] += w * y
            statistics[2] += w * y * y


# ---- a whole node

cdef inline double weight_of(Grower* g, const double* statistics) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t code
    if g.rows.kind >= MEASURED:
        return statistics[0]
    for code in range(g.rows.n_classes):
        total += statistics[code]
    return total


cdef inline double within_of(Grower* g, const double* statistics, double weight) noexcept nogil:
    """What one branch adds to `within`."""
    cdef double total = 0.0
    cdef int64_t code
    if weight <= 0.0:
        return 0.0
    if g.rows.kind == MEASURED:
        if g.rules.criterion == FIFTH_ROOT_VARIANCE:
            return fifth_root_term(weight, statistics[1], statistics[2], g.node.noise)
        if g.rules.criterion == VARIANCE:
            return statistics[1] * statistics[1] / weight
        # The absolute error does not follow from statistics, see `medians`.
        return poisson_term(weight, statistics[1]) if g.rules.criterion == POISSON else 0.0
    if has_several(g):
        return within_targets(g, statistics, weight)
    for code in range(g.rows.n_classes):
        if statistics[code] > 0.0:
            total += term_of(g.rules.criterion, statistics[code])
    return total if is_information(g.rules.criterion) else total / weight


cdef inline void describe_whole(Grower* g, const double* statistics, double node_weight, Whole* whole) noexcept nogil:
    """What is known of rows, some of a node's, before they are split."""
    cdef double missing
    whole.weight = weight_of(g, statistics)
    whole.node_weight = node_weight
    whole.within = within_of(g, statistics, whole.weight)
    whole.branches = x_log_x(whole.weight)
    missing = node_weight - whole.weight
    whole.split_constant = x_log_x(node_weight) - (x_log_x(missing) if missing > 0.0 else 0.0)


cdef inline double min_side(Grower* g, double known_weight) noexcept nogil:
    """The least weight a numeric cut leaves on either side."""
    cdef double least = g.rules.min_side_weight
    cdef double share
    if g.rules.min_side_share > 0.0:
        share = g.rules.min_side_share * known_weight / g.rows.n_classes
        if share > 25.0:
            share = 25.0
        if share > least:
            least = share
    if g.rules.min_side_fifth > 0.0:
        share = (<int64_t> (known_weight / 5.0) if known_weight >= 5.0 else 1) + 1.0
        if share > least:
            least = share
    return least


cdef inline void load_counts(Grower* g, const double* statistics) noexcept nogil:
    """Bring class weights that are whole numbers to where the counting walks look for them."""
    cdef int64_t code
    g.node.term = 0
    for code in range(g.rows.n_classes):
        g.node.sides[code] = <uint64_t> statistics[code] << 32
        g.node.term += g.rows.terms[<int64_t> statistics[code]]


cdef inline void describe_known(Grower* g, const double* statistics, double node_weight, Known* known) noexcept nogil:
    """What a walk is told of its rows, but for their classes' terms."""
    known.statistics = statistics
    describe_whole(g, statistics, node_weight, &known.whole)
    known.slack = g.rules.tolerance * unit_of_worth(g.rules.criterion, node_weight)
    known.min_side = min_side(g, known.whole.weight)


cdef inline const double* fill_terms(Grower* g, const double* statistics, double* terms) noexcept nogil:
    """The criterion's term of every class weight, for walks over weighted rows."""
    cdef int64_t code
    for code in range(g.rows.n_classes):
        terms[code] = term_of(g.rules.criterion, statistics[code])
    return terms


cdef inline void narrow_to_known(Grower* g, const Stretch* list, Known* known) noexcept nogil:
    """Describe the rows of a list that lacks some of the node's rows, since their value is missing."""
    cdef double* statistics = g.walk.known_statistics
    memset(statistics, 0, g.rows.n_statistics * sizeof(double))
    add_words(g, list.words, list.start, list.end, statistics)
    describe_known(g, statistics, g.node.known.whole.node_weight, known)
    if g.node.counted:
        load_counts(g, statistics)
    elif g.rows.kind != MEASURED:
        known.terms = fill_terms(g, statistics, statistics + g.rows.n_statistics)
