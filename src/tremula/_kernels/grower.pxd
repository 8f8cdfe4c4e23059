"""The state of one growing tree, shared by the files that scan columns, choose splits and divide rows."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from numpy.random cimport bitgen_t

from tremula._kernels.criteria cimport Whole
from tremula._kernels.nodes cimport Node

cdef enum:
    SUBSET_SPLIT = 0        # a `Cut` of this kind sends a set of levels to the first branch

cdef enum Rows:
    COUNTED = 0             # classes, small whole multiplicities: everything the scan needs is inside the word
    WEIGHTED = 1            # the same, but a multiplicity of 0 stands for a real weight, looked up by row
    WIDE = 2                # classes and real weights looked up by row: more of them than a word has room for
    MEASURED = 3            # a numeric target and real weights looked up by row

cdef enum:
    CODE_SHIFT = 48         # words of COUNTED and WEIGHTED rows: class in 8 bits
    COUNT_SHIFT = 56        # and multiplicity in the 7 bits above

cdef struct Rules:
    int criterion
    bint subsets            # nominal attributes split in two sets of levels, else one branch per level
    bint strict             # the test is value < threshold, else value <= threshold
    bint observed_threshold # round a threshold down to a value of the training rows
    bint random_threshold   # one threshold drawn per attribute instead of the best one
    int n_best              # draw the split among this many best ones
    int64_t n_drawn         # attributes drawn per node
    int64_t max_depth
    double min_split_weight # a lighter node is a leaf
    double min_side_weight  # a numeric cut leaves at least this on both sides
    double min_side_share   # and this share of the known weight divided by the number of classes, up to 25 (C4.5)
    double min_side_fifth   # 1: both sides have more than a fifth of the rows (M5)
    double min_branch_weight # two branches of a nominal split at least reach this
    bint branch_veto        # if the best split's branches, of whatever kind, do not, the node is a leaf; else such
                            # splits are passed over in the search
    bint average_gain       # C4.5's rule: the best ratio among attributes of at least average gain
    bint count_cuts         # Release 8: the gain of a numeric attribute pays for the choice of its cut
    bint cut_by_ratio       # Release 1: the cut of best gain ratio among those of at least average gain
    bint spread_missing     # attributes are ranked with the missing rows spread over the branches (REPTree)
    double min_worth        # a split must be worth more than this (per unit of weight, unless worth is a ratio)
    double tolerance        # and a later split more than this above an earlier one
    double min_variance     # a node of smaller variance is a leaf

cdef struct Cut:
    double worth            # what attributes are compared by
    double gain             # weight times gain, for C4.5's average
    double branches         # see criteria
    double threshold        # where it was drawn; else NaN
    int64_t place           # numeric: where the second branch starts in the list; subset: see `scan.order_groups`
    int32_t attribute       # -1: no split
    int32_t kind            # NUMERIC_SPLIT, MULTIWAY_SPLIT or SUBSET_SPLIT

cdef struct Segment:
    int64_t start
    int64_t end
    int64_t child

cdef struct Frame:
    int64_t start
    int64_t end
    int64_t node
    int64_t depth
    bint counted            # every row's multiplicity is in its word: none is split in fractions

cdef union Target:
    int64_t code
    double number

cdef struct Row:
    double weight
    Target target

cdef struct GroupKey:
    double key
    int64_t group

cdef struct Grower:
    Rules rules
    Rows rows_kind
    # the training table
    const double* values
    int64_t row_stride
    int64_t column_stride
    int64_t n_rows
    int64_t n_classes
    int64_t n_statistics    # per node: one per class, or weight, sum and sum of squares of the target
    double total_weight
    const int32_t* n_levels
    int64_t max_levels
    Row* row                # by row, where rows are WIDE or MEASURED
    double* row_weight      # by row, where rows are WEIGHTED
    const int32_t* codes    # class by row, unless rows are MEASURED
    const int64_t* terms    # f(count) in fixed point, where rows may be counted
    int64_t n_terms         # in its first row
    int64_t n_steps         # rows below it: row m has f(count + m) - f(count)
    double term_unit
    # sorted lists, one per attribute in use
    int64_t n_attributes
    const int32_t* attributes
    const uint64_t** base   # all rows, never changed
    const int64_t* base_length
    const uint8_t* present  # by row: has positive weight
    uint64_t** lists        # this tree's rows, divided as the tree grows
    bint lists_are_base     # the sorted lists themselves are divided: they serve this tree alone
    int64_t* capacity
    int row_bits
    uint64_t row_mask
    uint64_t rank_mask
    # a tree of loose nodes
    bint loose              # nodes have rows alone, no lists
    const uint32_t* ranks   # by column and row; NULL if thresholds are drawn
    const uint16_t* marks   # what a word has above its rank, by row; or NULL
    uint32_t* loose_rows    # rows of pending nodes, in the regions of the lists
    uint64_t* loose_words
    uint64_t* loose_spare
    double* loose_values    # of the attribute at hand, if thresholds are drawn
    double loose_low        # the least and the largest of them
    double loose_high
    # missing values: lists that lack rows have bounds of their own
    bint has_missing
    int64_t n_incomplete
    int32_t* incomplete_slot # by attribute in use: -1 or its place among the incomplete ones
    int64_t* frame_bounds   # [frame, slot, start/end]
    int64_t* bounds         # of the node at hand
    uint32_t* node_rows     # rows of pending nodes, in the regions of the complete lists
    double* node_row_weights
    int64_t rows_capacity
    # the tree so far
    Node* nodes
    double* statistics
    uint8_t* subsets
    int64_t n_nodes
    int64_t nodes_capacity
    int64_t n_subsets
    int64_t subsets_capacity
    Frame* stack
    int64_t stack_size
    int64_t stack_capacity
    # scratch
    bitgen_t* random
    int64_t* order          # attributes, shuffled as they are drawn
    bint counted            # the frame at hand's
    Whole node_whole
    double noise            # what rounding may leave of a sum of squares in the node at hand, where rows are MEASURED
    double* known           # statistics of the rows whose value is known
    double* left
    double* left_terms
    double* right_terms
    double* node_terms
    double* run_terms       # by cut between runs, see `scan.judge_runs`
    uint64_t* node_sides    # by class, where rows are counted: left of a cut in the low half, right of it in the high
    uint64_t* sides
    int64_t node_term       # sum of the classes' terms
    Cut* cuts               # every admissible cut of one attribute
    int64_t n_cuts
    Cut* candidates         # the best cut of every attribute, or the n best of all
    int64_t n_candidates
    bint offers_all         # every cut of every attribute is a candidate, unless it gains less than `least_gain`
    double least_gain
    bint only_best          # attributes are judged by the worth of their best cut, and that is all
    double worth_to_beat    # so a cut must be worth more than the best before it
    double* group_statistics
    int64_t* group_start
    GroupKey* group_order
    int64_t n_groups
    Segment* segments
    int64_t n_segments
    int64_t* survivor       # by child: its place among the children that go on, -1 if it is a leaf
    int64_t* sizes          # by survivor
    int64_t* places
    double* shares          # by child: of the rows whose value is missing
    uint8_t* flag           # by row
    int32_t* branch         # by row
    uint64_t* spare
    int64_t spare_capacity
    uint32_t* spare_rows
    double* spare_weights
    int64_t spare_rows_capacity
