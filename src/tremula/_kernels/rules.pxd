"""The rules a tree is grown by: the one list of them, which `tremula.trees.rules.Rules` mirrors field by field."""

from libc.stdint cimport int64_t

cdef struct Rules:
    int criterion               # a number of `walks.h`
    bint subsets                # nominal attributes split in two sets of levels, else one branch per level
    bint one_level              # of two sets of levels, one has a single level
    bint strict                 # the test is value < threshold, else value <= threshold
    bint observed_threshold     # round a threshold down to a value of the training rows
    bint random_threshold       # one threshold drawn per attribute instead of the best one
    int n_best                  # draw the split among this many best ones
    int64_t n_drawn             # attributes drawn per node
    int64_t max_depth
    double min_split_weight     # a lighter node is a leaf
    double min_side_weight      # a numeric cut leaves at least this weight on both sides
    double min_side_share       # and this share of the known weight divided by the number of classes, up to 25 (C4.5)
    double min_side_fifth       # 1: both sides have more than a fifth of the rows (M5)
    double min_branch_weight    # at least two branches of a nominal split reach this weight
    # True: if the branches of the best split, of any kind, are too light, the node is a leaf.
    # False: nominal splits with branches too light are skipped in the search.
    bint branch_veto
    bint average_gain           # C4.5's rule: the best ratio among attributes of at least average gain
    bint count_cuts             # Release 8: the gain of a numeric attribute pays for the choice of its cut
    bint cut_by_ratio           # Release 1: the cut of best gain ratio among those of at least average gain
    bint spread_missing         # attributes are ranked with the missing rows spread over the branches (REPTree)
    double min_worth            # a split must be worth more than this (per unit of weight, unless worth is a ratio)
    double tolerance            # a later split must be worth more than this above an earlier one
    double min_variance         # a node of smaller variance is a leaf
