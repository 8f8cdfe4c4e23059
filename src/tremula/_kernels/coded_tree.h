/* A table held as codes by row, and the tree that grows from it.
 *
 * The code of a value is its place among the different values of its column. A missing number has the lowest code, so
 * that it takes the first branch of every cut; in the column's twin it has the largest. A missing level is a level of
 * its own. A node keeps the numbers of its rows, in ascending order; by class first, where thresholds are drawn. `mark`
 * of a row: its class above 16 bits of multiplicity; with a numeric target, the multiplicity. Rows with real weights
 * have these elsewhere, and the multiplicity 1.
 */
#ifndef TREMULA_CODED_TREE_H
#define TREMULA_CODED_TREE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef IN_PLACE
#if defined(__GNUC__)
#define IN_PLACE static inline __attribute__((always_inline))
#else
#define IN_PLACE static inline
#endif
#endif
#if defined(__GNUC__)
#define NOT_IN_PLACE static __attribute__((noinline))
#else
#define NOT_IN_PLACE static
#endif
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address)
#endif

#define COUNT_MASK 0xFFFFu
#define CLASS_SHIFT_OF_MARK 16
#define MAX_CELL_CODES 256      /* codes that one histogram tells apart; more are told apart in a second step */
#define MAX_COMPARED 64         /* rows that are sorted by comparing each with each */
#define LOCAL_BYTES 24576       /* codes of a node that are copied side by side, to stay in the nearest cache */
#define AHEAD 12                /* rows between the one read and the one fetched */
#define MAX_EXACT 8388608       /* weight of a node whose sums of 30-bit targets fit into the 53 bits of a double */
#define GATHERED_BLOCK 64       /* gathered codes, a bit for each of which is a word */

enum Target { CLASSES = 0, NUMBERS = 1, WEIGHTED_CLASSES = 2 };
enum { NUMERIC_TEST = -1, MISSING_LEFT = -3, MISSING_RIGHT = -4 };      /* as `nodes.pxd` has it */
enum CodedCriterion { CODED_ENTROPY = 0, CODED_GINI = 3, CODED_VARIANCE = 4 };

typedef struct {                /* as `nodes.pxd` has it */
    double threshold, weight;
    int32_t attribute, first_child, n_branches, index;
} CodedNode;

typedef struct {
    const uint8_t *codes;       /* by row, `width` bytes each; by column where rows are long */
    int64_t stride;             /* bytes from a row to the next */
    int64_t attribute_stride;   /* bytes from an attribute to the next */
    int64_t n_rows;
    int width;                  /* 1, 2 or 4; 8 where thresholds are drawn and codes are the values */
    int64_t n_attributes;       /* columns in use */
    const int32_t *attributes;  /* which these are */
    const int32_t *n_codes;     /* by column */
    const int32_t *n_levels;    /* by column, 0 if numeric */
    const int32_t *twins;       /* by column: another with the same values, where missing ones come last; or -1 */
    const int32_t *missing_code;        /* by column: the code of missing values, or -1 */
    const int64_t *first;       /* by column: where its codes begin in `low` and `high` */
    const double *low, *high;   /* least and largest value of each code; NULL if values tell them */
    const double *values;       /* where each value has its own code and no threshold is drawn */
    int64_t row_stride, column_stride;
    const uint64_t *bits;       /* by row, see `coded_two.h`; or NULL */
    uint64_t two_valued;        /* attributes that have a bit there */
} CodedTable;

typedef struct {
    int criterion;
    int random_threshold;
    int64_t n_drawn, max_depth;
    double min_split_weight, min_side_weight, tolerance, min_variance;
} CodedRules;

typedef struct {                /* of a NumPy bit generator */
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
} Random;

typedef struct {                /* a node that waits to be split */
    int64_t start, end;         /* of its rows */
    int64_t node, depth;
    int is_local;               /* its rows are numbers in the local copy */
    uint64_t constant;          /* attributes, of the first 64 in use, known to be constant in the node */
} CodedFrame;

typedef struct {                /* rows where codes, marks and targets can be looked up: the table's, or a copy */
    const uint8_t *codes;
    const uint32_t *marks;
    const int32_t *targets;     /* in fixed point, for numbers */
    const double *numbers;
    const double *weights;      /* of classes, if they are real */
    const uint64_t *bits;
} RowSource;

typedef struct {
    double worth;
    double threshold;           /* if it was drawn; else NaN */
    int64_t attribute;          /* its column; -1: none yet */
    int64_t code;               /* last code of the first branch */
    int is_subset;              /* `best_branch_of_level` has the branches */
    int is_perfect;             /* no split can be better */
} CodedCut;

typedef struct {
    int64_t sum, weight;
    int64_t magnitude;          /* sum of the absolute targets */
} NumberCell;

typedef struct {                /* the same without magnitude, where no sum in the node needs more bits than a double has */
    double sum, weight;
} NumberPair;

typedef struct {
    double key;
    int64_t group;
} GroupKey;

typedef struct {                /* the node at hand */
    RowSource source;
    int is_local;
    uint64_t constant;          /* see `CodedFrame` */
    const uint32_t *rows;
    int64_t n_rows;
    int64_t n_classes;          /* present in the node; classes of `marks` are numbered among these */
    double weight, within, branches, slack;
    int64_t total;              /* the weight as a whole number */
    int64_t sum;                /* of the fixed-point target */
    int64_t term;               /* of the classes, see `coded_classes.h` */
    int64_t least;              /* weight of the lighter side of a cut at least */
    CodedCut best;
} OpenNode;

typedef struct {
    CodedTable table;
    CodedRules rules;
    Random *random;
    int target;                 /* see `Target` */
    int64_t n_classes, n_statistics;
    int is_each_row_once;       /* no row of the sample is drawn twice */
    const int64_t *terms;       /* f(count) in fixed point, for entropy */
    double term_unit;
    const uint32_t *marks;      /* by row of the table */
    const int32_t *targets;
    const double *numbers;
    const double *weights;
    uint32_t *rows, *spare_rows;
    CodedFrame *frames;
    int64_t n_frames, frames_capacity;
    CodedNode *nodes;
    double *statistics;         /* by node: class weights, or weight, sum and sum of squares */
    int64_t n_nodes, nodes_capacity;
    uint8_t *subsets;
    int64_t n_subsets, subsets_capacity;
    int64_t *order;             /* attributes, shuffled as they are drawn */
    OpenNode node;
    /* the local copy */
    uint32_t *local_origins;    /* rows of the table */
    uint8_t *local_codes;
    uint32_t *local_marks;
    int32_t *local_targets;
    double *local_numbers, *local_weights;
    uint64_t *local_bits;
    int64_t local_rows;         /* a node of at most so many rows is copied */
    /* scratch by row of the node */
    uint32_t *node_marks;
    int32_t *node_targets;
    NumberPair *node_pairs;
    double *node_weights;
    uint64_t *node_bits;
    uint64_t *keys, *spare_keys;
    /* scratch by class, code and level */
    uint32_t *class_number, *class_code, *totals, *left;
    int64_t *class_end;         /* behind the rows of each class present, where thresholds are drawn */
    double *left_sums, *group_sums;
    double *weight_totals, *weight_left, *weight_terms; /* see `coded_weights.h` */
    GroupKey *group_keys;       /* groups are the levels present in the node */
    int32_t *group_codes, *group_of_level;
    uint8_t *best_branch_of_level, *is_refined;
    void *cells;                /* the histogram */
    double *levels_of_bins;     /* see `coded_bins.h` */
} CodedTree;

IN_PLACE uint32_t code_at(const uint8_t *address, int width) {
    if (width == 1) return *address;
    if (width == 2) return *(const uint16_t *)address;
    if (width == 8) return (uint32_t)*(const double *)address;              /* a level */
    return *(const uint32_t *)address;
}

/* Where the codes of an attribute begin. */
IN_PLACE const uint8_t *codes_of(const CodedTree *tree, const OpenNode *node, int64_t attribute) {
    return node->source.codes + attribute * tree->table.attribute_stride;
}

IN_PLACE uint32_t code_of_row(const CodedTree *tree, const OpenNode *node, int64_t i, int64_t attribute, int width) {
    return code_at(codes_of(tree, node, attribute) + node->rows[i] * tree->table.stride, width);
}

/* Fetches the code of a row that is read a little later. */
#define PREFETCH_CODE(tree, node, i, attribute)                                                                        \
    PREFETCH(codes_of(tree, node, attribute) + (node)->rows[(i) + AHEAD] * (tree)->table.stride)

/* The first row of the node whose code differs from that of row 0; the number of rows if there is none. */
IN_PLACE int64_t first_other_code(const CodedTree *tree, const OpenNode *node, int64_t attribute, int width) {
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    int64_t n = node->n_rows, stride = tree->table.stride, i = 1;
    uint32_t first = code_at(codes + rows[0] * stride, width);
    while (i < n && code_at(codes + rows[i] * stride, width) == first) i++;
    return i;
}

/* Whether the rows of the node have different codes; usually the first few tell. */
IN_PLACE int codes_differ(const CodedTree *tree, const OpenNode *node, int64_t attribute, int width) {
    return first_other_code(tree, node, attribute, width) < node->n_rows;
}

/* Whether a row of the node has no value of an attribute. */
IN_PLACE int has_missing_row(const CodedTree *tree, const OpenNode *node, int64_t attribute, int width) {
    uint32_t missing = (uint32_t)tree->table.missing_code[attribute];
    for (int64_t i = 0; i < node->n_rows; i++)
        if (code_of_row(tree, node, i, attribute, width) == missing) return 1;
    return 0;
}

/* A uniform whole number below n: Lemire's multiplication, rejecting the uneven rest. */
IN_PLACE int64_t draw_index(Random *random, int64_t n) {
    uint64_t product = (uint64_t)random->next_uint32(random->state) * (uint64_t)n;
    if ((product & 0xFFFFFFFFu) < (uint64_t)n) {
        uint64_t uneven = (((uint64_t)1 << 32) - (uint64_t)n) % (uint64_t)n;
        while ((product & 0xFFFFFFFFu) < uneven)
            product = (uint64_t)random->next_uint32(random->state) * (uint64_t)n;
    }
    return (int64_t)(product >> 32);
}

/* Room for n items; 0 if there is no memory. */
static int reserve_room(void **buffer, int64_t *capacity, int64_t n, size_t size) {
    if (n <= *capacity) return 1;
    int64_t more = n + n / 2 + 64;
    void *grown = realloc(*buffer, more * size);
    if (grown == NULL) return 0;
    *buffer = grown;
    *capacity = more;
    return 1;
}

static int reserve_coded_nodes(CodedTree *tree, int64_t n) {
    int64_t capacity = tree->nodes_capacity;
    return reserve_room((void **)&tree->nodes, &capacity, n, sizeof(CodedNode)) &&
           reserve_room((void **)&tree->statistics, &tree->nodes_capacity, n, tree->n_statistics * sizeof(double));
}

IN_PLACE void make_coded_leaf(CodedTree *tree, int64_t node, double weight) {
    tree->nodes[node] = (CodedNode){0.0, weight, -1, 0, 0, -1};
}

IN_PLACE int is_coded_leaf(const CodedTree *tree, const double *statistics, double weight, int64_t depth) {
    int64_t n_present = 0;
    if (weight < tree->rules.min_split_weight - 1e-9 || depth >= tree->rules.max_depth || weight <= 0.0) return 1;
    if (tree->target == NUMBERS) {
        double squares = statistics[2] - statistics[1] * statistics[1] / weight;
        return squares <= 1e-14 * statistics[2] || squares / weight <= tree->rules.min_variance;
    }
    for (int64_t k = 0; k < tree->n_classes; k++) n_present += statistics[k] > 0.0;
    return n_present < 2;
}

#endif
