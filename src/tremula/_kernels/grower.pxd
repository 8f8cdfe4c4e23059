"""The state of one growing tree, in parts, shared by the files that walk lists, choose splits and carry them out."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from numpy.random cimport bitgen_t

from tremula._kernels.criteria cimport Whole
from tremula._kernels.nodes cimport Node
from tremula._kernels.rules cimport Rules

cdef extern from "walks.h" nogil:
    enum RowsKind:
        COUNTED
        WEIGHTED
        WIDE
        MEASURED
        SEVERAL_CLASSES
        SEVERAL_NUMBERS
        N_ROWS_KINDS

cdef enum:
    SUBSET_SPLIT = 0            # a `Cut` of this kind sends a set of levels to the first branch

# ---- what is passed between functions

cdef struct Stretch:
    # The rows of a node in the list of one attribute.
    uint64_t* words             # NULL where only values were gathered, see `unsorted`, or items are, see `walks_items`
    int64_t start
    int64_t end
    int64_t attribute           # its column in the table

cdef struct Known:
    # The rows of a node whose value of one attribute is known, before they are split by it.
    Whole whole
    const double* statistics
    const double* terms         # the criterion's term of every class weight, where rows are WEIGHTED or WIDE
    double slack                # a later cut must be worth more than this above an earlier one
    double min_side             # weight that a numeric cut leaves on either side at least

cdef struct Cut:
    double worth                # what attributes are compared by
    double gain                 # weight times gain, for C4.5's average
    double branches             # see criteria
    double threshold            # where it was drawn; else NaN
    int64_t place               # numeric: where the second branch starts in the list; subset: see `judge_subsets`
    int32_t attribute           # place among the attributes in use; -1: no split
    int32_t kind                # NUMERIC_SPLIT, MULTIWAY_SPLIT or SUBSET_SPLIT

cdef struct Grower

# A walk over the list of one attribute, which is called where it is not to be compiled in place.
ctypedef int64_t (*CalledWalk)(Grower* g, const Stretch* list, const Known* known, Cut* best) noexcept nogil

cdef struct Frame:
    # A node that waits to be split.
    int64_t start               # where its rows are in every complete list
    int64_t end
    int64_t node
    int64_t depth
    bint counted                # every row's multiplicity is in its word: no row is split in fractions
    double lower                # bounds of the values of nodes below, see `monotonic`
    double upper

cdef struct Middle:
    # Median of the targets of rows, and the sum of their absolute differences from it.
    double median
    double loss

cdef struct Segment:
    # A stretch of the split's own list that goes to one child.
    int64_t start
    int64_t end
    int64_t child

# ---- the parts

cdef union Target:
    int64_t code
    double number

cdef struct Record:
    double weight
    Target target

cdef struct Rows:
    RowsKind kind
    int64_t n_rows
    int64_t n_classes
    # Per node: one per class; or weight, sum and sum of squares of the target, for the absolute error also their median
    # and the sum of absolute differences from it; of several targets see `targets`.
    int64_t n_statistics
    double total_weight
    Record* records             # by row, unless rows are COUNTED or WEIGHTED; of several targets the weight alone
    double* weights             # by row, where rows are WEIGHTED
    const int32_t* codes        # class by row, unless rows are MEASURED
    const uint8_t* present      # by row: has positive weight
    const uint16_t* marks       # class and count by row, see words; NULL if they do not fit
    const int64_t* terms        # f(count) in fixed point, where rows may be counted
    int64_t n_terms             # in the first row of this table
    int64_t n_steps             # rows below it: row m has f(count + m) - f(count)
    double term_unit

cdef struct Columns:
    const double* values
    int64_t row_stride
    int64_t column_stride
    const int32_t* n_levels
    int64_t max_levels
    int64_t n_attributes        # in use
    int64_t n_judged            # of these; the others are their twins, in which missing values come last
    const int32_t* twins        # by attribute in use: the place of its twin, or -1
    const int32_t* missing_level        # by column: the level that stands for a missing one, or -1
    const int32_t* attributes   # their columns
    const int8_t* directions    # by attribute in use: 1 or -1 if it is constrained, see `monotonic`; NULL: none is
    int row_bits
    uint64_t row_mask
    uint64_t rank_mask
    const uint64_t** base       # the sorted list of each attribute in use: all rows, never changed
    int64_t* base_length
    uint64_t** lists            # this tree's rows, divided as the tree grows
    bint lists_are_base         # the sorted lists themselves are divided: they serve this tree alone
    int64_t* capacity           # of the lists
    const uint32_t* ranks       # by column and row, for unsorted nodes; NULL if thresholds are drawn
    bint has_missing
    int64_t n_incomplete        # attributes with missing values, whose lists have bounds of their own
    int32_t* slot               # by attribute in use: -1, or its place among the incomplete ones

cdef struct Unsorted:
    bint in_use                 # nodes have rows alone, no lists
    uint32_t* rows              # of pending nodes, where their frames say
    uint64_t* words
    uint64_t* spare
    double* values              # of the attribute at hand, if thresholds are drawn
    double low                  # the least and the largest of them
    double high

cdef struct ShortLists:
    # See `short_lists`.
    bint in_use                 # by the node at hand
    uint32_t** items            # by attribute in use
    int row_bits                # of an item
    uint32_t row_mask
    bint hold_class             # items have the class above the row
    const uint32_t* at_hand     # of one attribute in the node at hand, see `walks_items`
    int64_t most_rows           # of a node with lists of words; 0: all nodes have these
    int64_t n_waiting           # frames with short lists, while a subtree grows from words
    uint64_t* words             # the list of one attribute
    uint32_t* spare

cdef struct Pending:
    Frame* frames               # a stack
    int64_t n_frames
    int64_t frames_capacity
    int64_t* bounds             # [frame, slot, start/end]: of incomplete lists
    uint8_t* constant           # [frame, attribute in use]: see NodeAtHand
    uint32_t* rows              # where values are missing: rows of the frames, and their weights
    double* weights
    int64_t rows_capacity

cdef struct Output:
    Node* nodes
    double* statistics
    int64_t n_nodes
    int64_t nodes_capacity
    uint8_t* subsets
    int64_t n_subsets
    int64_t subsets_capacity

cdef struct NodeAtHand:
    Known known                 # all its rows
    bint counted                # see Frame
    int64_t* bounds             # of incomplete lists
    uint8_t* constant           # by attribute in use: known to have one value here, and so in all nodes below
    double lower                # see Frame
    double upper
    double noise                # where rows are MEASURED: what rounding may leave of a sum of squares
    double* class_terms         # where rows are weighted: f(class weight)
    uint64_t* sides             # where rows are counted: by class, none left of a cut (low half), all right (high half)
    int64_t term                # where rows are counted: sum of the classes' terms

cdef struct WalkScratch:
    double* known_statistics    # and their terms after them
    double* left                # statistics left of the cut at hand
    double* left_terms
    double* right_terms
    double* run_terms           # see `judge_runs`
    uint64_t* sides             # where rows are counted, see NodeAtHand
    Cut* cuts                   # every admissible cut of one attribute
    int64_t n_cuts

cdef struct GroupKey:
    double key
    int64_t group

cdef struct Groups:
    # The levels of a nominal attribute that occur in the node.
    int64_t n_groups
    double* statistics
    int64_t* start              # in the list
    GroupKey* order

cdef struct Search:
    bitgen_t* random
    int64_t* order              # attributes, shuffled as they are drawn
    Cut* candidates             # the best cut of every attribute, or the n best of all
    int64_t n_candidates
    bint offers_all             # every cut of every attribute is a candidate, unless it gains less than `least_gain`
    double least_gain
    bint only_best              # attributes are judged by the worth of their best cut alone,
    double worth_to_beat        # so a cut must be worth more than the best before it
    CalledWalk walk_variance    # in place it would share the registers of all other walks

cdef struct Division:
    Segment* segments
    int64_t n_segments
    int64_t n_survivors         # children that will be split further
    int64_t* survivor           # by child: its place among the survivors, -1 if it is a leaf
    int64_t* sizes              # by survivor
    int64_t* places
    double* shares              # by child: of the rows whose value is missing
    uint8_t* flag               # by row
    int32_t* branch             # by row
    uint64_t* spare
    int64_t spare_capacity
    uint32_t* spare_rows
    double* spare_weights
    int64_t spare_rows_capacity

cdef struct Medians:
    # For the absolute error, see `medians`.
    int64_t n_targets
    int64_t largest_step        # the largest power of two up to n_targets
    const int32_t* ranks        # by row: place of its target, from 1
    const double* targets       # by place, ascending, from 1
    double* weights             # Fenwick trees of weights and weighted targets
    double* totals
    double weight               # of all rows in the trees
    double total
    Middle* after               # by place in a list
    uint64_t* words             # a list in another order

cdef struct Targets:
    # Where rows have several targets, see `targets`.
    int64_t n_targets
    int64_t n_outputs           # classes of all targets together, or numbers
    const int32_t* codes        # by row and target: the output of its class
    const double* numbers       # by row and target
    const double* least_variances       # by target: a node is a leaf if no number varies more
    bint are_counted            # weights are whole, and so small that their squares are added without error

cdef struct Grower:
    Rules rules
    Rows rows
    Targets targets
    Columns columns
    Output output               # the tree so far
    Pending pending             # nodes that wait to be split
    NodeAtHand node
    Search search               # scratch from here on
    WalkScratch walk
    Groups groups
    Division division
    Unsorted unsorted
    ShortLists short_lists
    Medians medians
