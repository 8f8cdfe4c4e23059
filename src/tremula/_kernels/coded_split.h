/* Carries out the split that was chosen: divides the rows, and makes the children. */
#ifndef TREMULA_CODED_SPLIT_H
#define TREMULA_CODED_SPLIT_H

#include "coded_drawn.h"

typedef struct {
    int64_t n_first;            /* rows of the first branch, which stand first */
    uint32_t last_code;         /* largest code of the first branch, and a row that has it */
    uint32_t last_row;
    uint32_t next_code;         /* least code of the second branch */
    uint32_t next_row;
    int has_missing;            /* a row has no value of the attribute */
} Partition;

/* What tells the values next to a cut; a drawn threshold and a set of levels need none. */
enum Neighbours { NONE_NEEDED, CODES_TELL, ROWS_TELL };

/* Sends each row to its branch. Masks stand for branches of the processor: which way a row goes is hard to predict. */
IN_PLACE Partition divide_with(CodedTree *tree, const OpenNode *node, uint32_t *rows, int width, int is_subset,
                               int has_classes, int neighbours) {
    const uint8_t *codes = codes_of(tree, node, node->best.attribute), *branches = tree->best_branch_of_level;
    const uint32_t *marks = tree->node_marks;
    uint32_t *others = tree->spare_rows, *left = tree->left;
    int64_t attribute = node->best.attribute, stride = tree->table.stride, n = node->n_rows, n_first = 0, n_second = 0;
    uint32_t missing = (uint32_t)tree->table.missing_code[attribute], last = (uint32_t)node->best.code, has_missing = 0;
    uint64_t largest_first = 0, least_second = UINT64_MAX;      /* codes, and rows that have them */
    uint32_t last_code = 0, next_code = UINT32_MAX;             /* the same without rows */
    if (has_classes) memset(left, 0, node->n_classes * sizeof(uint32_t));
    for (int64_t i = 0; i < n; i++) {
        uint32_t row = rows[i], code = code_at(codes + row * stride, width);
        uint64_t is_second = is_subset ? branches[code] : code > last, mask = -is_second;
        PREFETCH(codes + rows[i + AHEAD] * stride);
        rows[n_first] = row;
        others[n_second] = row;
        n_first += 1 - is_second;
        n_second += is_second;
        has_missing |= code == missing;
        if (has_classes) left[marks[i] >> CLASS_SHIFT_OF_MARK] += marks[i] & COUNT_MASK & ~(uint32_t)mask;
        if (neighbours == ROWS_TELL) {
            uint64_t key = (uint64_t)code << 32 | row, in_first = key & ~mask, in_second = key | ~mask;
            largest_first = in_first > largest_first ? in_first : largest_first;
            least_second = in_second < least_second ? in_second : least_second;
        } else if (neighbours == CODES_TELL) {
            uint32_t in_first = code & ~(uint32_t)mask, in_second = code | ~(uint32_t)mask;
            last_code = in_first > last_code ? in_first : last_code;
            next_code = in_second < next_code ? in_second : next_code;
        }
    }
    memcpy(rows + n_first, others, n_second * sizeof(uint32_t));
    if (neighbours != ROWS_TELL) return (Partition){n_first, last_code, 0, next_code, 0, (int)has_missing};
    return (Partition){n_first, (uint32_t)(largest_first >> 32), (uint32_t)largest_first,
                       (uint32_t)(least_second >> 32), (uint32_t)least_second, (int)has_missing};
}

#if CODE_WIDTH == 8

/* The same by the values of a numeric attribute. */
IN_PLACE Partition divide_values(CodedTree *tree, const OpenNode *node, uint32_t *rows, int has_classes) {
    const uint8_t *values = codes_of(tree, node, node->best.attribute);
    const uint32_t *marks = tree->node_marks;
    uint32_t *others = tree->spare_rows, *left = tree->left;
    int64_t stride = tree->table.stride, n = node->n_rows, n_first = 0, n_second = 0;
    double threshold = node->best.threshold;
    if (has_classes) memset(left, 0, node->n_classes * sizeof(uint32_t));
    for (int64_t i = 0; i < n; i++) {
        uint32_t row = rows[i], is_second = *(const double *)(values + row * stride) > threshold;
        PREFETCH(values + rows[i + AHEAD] * stride);
        rows[n_first] = row;
        others[n_second] = row;
        n_first += 1 - is_second;
        n_second += is_second;
        if (has_classes) left[marks[i] >> CLASS_SHIFT_OF_MARK] += marks[i] & COUNT_MASK & (is_second - 1);
    }
    memcpy(rows + n_first, others, n_second * sizeof(uint32_t));
    return (Partition){.n_first = n_first};
}

NOT_IN_PLACE Partition divide_numbers(CodedTree *tree, const OpenNode *node, uint32_t *rows) {
    return tree->target == CLASSES ? divide_values(tree, node, rows, 1) : divide_values(tree, node, rows, 0);
}

#else

/* A function of its own for each kind: all together would not leave enough registers. */
NOT_IN_PLACE Partition divide_numbers(CodedTree *tree, const OpenNode *node, uint32_t *rows) {
    int has_classes = tree->target == CLASSES;
    if (tree->rules.random_threshold)
        return has_classes ? divide_with(tree, node, rows, CODE_WIDTH, 0, 1, NONE_NEEDED)
                           : divide_with(tree, node, rows, CODE_WIDTH, 0, 0, NONE_NEEDED);
    if (tree->table.high != NULL)
        return has_classes ? divide_with(tree, node, rows, CODE_WIDTH, 0, 1, CODES_TELL)
                           : divide_with(tree, node, rows, CODE_WIDTH, 0, 0, CODES_TELL);
    return has_classes ? divide_with(tree, node, rows, CODE_WIDTH, 0, 1, ROWS_TELL)
                       : divide_with(tree, node, rows, CODE_WIDTH, 0, 0, ROWS_TELL);
}

#endif

NOT_IN_PLACE Partition divide_levels(CodedTree *tree, const OpenNode *node, uint32_t *rows) {
    if (tree->target == CLASSES) return divide_with(tree, node, rows, CODE_WIDTH, 1, 1, NONE_NEEDED);
    return divide_with(tree, node, rows, CODE_WIDTH, 1, 0, NONE_NEEDED);
}

/* Halfway between the neighbours, on the right side of both whatever the rounding. */
static double threshold_between(double low, double high) {
    double threshold = (low + high) / 2;
    if (high == INFINITY) return high;          /* known values against missing ones */
    if (threshold - threshold != 0.0) threshold = low / 2 + high / 2;   /* the sum overflowed */
    return threshold >= high ? low : threshold;
}

/* The threshold of a cut; where only rows tell the values of codes, the rows next to the cut, for `place_thresholds`. */
static void write_neighbours(const CodedTree *tree, const OpenNode *node, const Partition *partition,
                             CodedNode *written) {
    const CodedTable *table = &tree->table;
    uint32_t rows[2] = {partition->last_row, partition->next_row};
    if (table->high != NULL) {
        int64_t first = table->first[node->best.attribute];
        written->threshold =
            threshold_between(table->high[first + partition->last_code], table->low[first + partition->next_code]);
        return;
    }
    for (int side = 0; side < 2; side++)
        if (node->is_local) rows[side] = tree->local_origins[rows[side]];
    memcpy(&written->threshold, rows, sizeof rows);
}

/* The values next to a cut lie anywhere in the table: they are fetched for many nodes at a time, in the finished tree. */
static void place_thresholds(CodedTree *tree) {
    const CodedTable *table = &tree->table;
    if (table->high != NULL || tree->rules.random_threshold) return;
    for (int64_t i = 0; i < tree->n_nodes + AHEAD; i++) {
        uint32_t rows[2];
        for (int is_read = 0; is_read < 2; is_read++) {
            int64_t number = is_read ? i - AHEAD : i;
            if (number < 0 || number >= tree->n_nodes) continue;
            CodedNode *node = tree->nodes + number;
            if (node->attribute < 0 || node->index >= 0) continue;
            const double *values = table->values + node->attribute * table->column_stride;
            memcpy(rows, &node->threshold, sizeof rows);
            if (is_read) {
                node->threshold =
                    threshold_between(values[rows[0] * table->row_stride], values[rows[1] * table->row_stride]);
            } else {
                PREFETCH(values + rows[0] * table->row_stride);
                PREFETCH(values + rows[1] * table->row_stride);
            }
        }
    }
}

IN_PLACE void add_number_of_row(const OpenNode *node, uint32_t row, double *statistics) {
    double weight = node->source.marks[row], number = node->source.numbers[row];
    statistics[0] += weight;
    statistics[1] += weight * number;
    statistics[2] += weight * number * number;
}

/* Adds up the rows of both children, side by side: a sum waits for its last term, not for the other child's. */
static void add_numbers(const OpenNode *node, const uint32_t *rows, int64_t n_first, double *both) {
    double first[3] = {0.0, 0.0, 0.0}, second[3] = {0.0, 0.0, 0.0};
    int64_t n_second = node->n_rows - n_first, n_shared = n_first < n_second ? n_first : n_second, i = 0;
    for (; i < n_shared; i++) {
        add_number_of_row(node, rows[i], first);
        add_number_of_row(node, rows[n_first + i], second);
    }
    for (; i < n_first; i++) add_number_of_row(node, rows[i], first);
    for (i = n_shared; i < n_second; i++) add_number_of_row(node, rows[n_first + i], second);
    memcpy(both, first, sizeof first);
    memcpy(both + 3, second, sizeof second);
}

static double add_weights(const OpenNode *node, const uint32_t *rows, int64_t n, double *statistics) {
    double weight = 0.0;
    for (int64_t i = 0; i < n; i++) {
        statistics[node->source.marks[rows[i]] >> CLASS_SHIFT_OF_MARK] += node->source.weights[rows[i]];
        weight += node->source.weights[rows[i]];
    }
    return weight;
}

/* Statistics of both children, which follow one another. */
static void measure_coded_children(CodedTree *tree, const OpenNode *node, const uint32_t *rows, int64_t n_first,
                                   double *weights) {
    double *first = tree->statistics + tree->n_nodes * tree->n_statistics, *second = first + tree->n_statistics;
    memset(first, 0, 2 * tree->n_statistics * sizeof(double));
    weights[0] = 0.0;
    if (tree->target == WEIGHTED_CLASSES) {
        weights[0] = add_weights(node, rows, n_first, first);
        weights[1] = add_weights(node, rows + n_first, node->n_rows - n_first, second);
        return;
    }
    if (tree->target == NUMBERS) {
        add_numbers(node, rows, n_first, first);
        weights[0] = first[0];
    } else {
        for (int64_t k = 0; k < node->n_classes; k++) {
            first[tree->class_code[k]] = tree->left[k];
            second[tree->class_code[k]] = tree->totals[k] - tree->left[k];
            weights[0] += tree->left[k];
        }
    }
    weights[1] = node->weight - weights[0];
}

static int write_coded_test(CodedTree *tree, const OpenNode *node, const Partition *partition, CodedNode *written) {
    const CodedTable *table = &tree->table;
    int64_t attribute = node->best.attribute, n_levels = table->n_levels[attribute];
    written->attribute = (int32_t)attribute;
    written->n_branches = 2;
    written->first_child = (int32_t)tree->n_nodes;
    if (!node->best.is_subset) {
        written->index = !partition->has_missing ? NUMERIC_TEST : table->twins[attribute] >= 0 ? MISSING_LEFT : MISSING_RIGHT;
        written->threshold = node->best.threshold;
        if (isnan(node->best.threshold)) write_neighbours(tree, node, partition, written);
        return 1;
    }
    if (tree->n_subsets + n_levels > INT32_MAX) return 0; /* there is no number for the first of them */
    if (!reserve_room((void **)&tree->subsets, &tree->subsets_capacity, tree->n_subsets + n_levels, 1)) return 0;
    written->index = (int32_t)tree->n_subsets;
    written->threshold = partition->has_missing ? 1 + tree->best_branch_of_level[table->missing_code[attribute]] : NAN;
    memcpy(tree->subsets + tree->n_subsets, tree->best_branch_of_level, n_levels);
    tree->n_subsets += n_levels;
    return 1;
}

/* Makes the children, and puts on the stack those that are no leaves; 0 if there is no memory. */
static int split_coded_node(CodedTree *tree, const CodedFrame *frame) {
    OpenNode *node = &tree->node;
    uint32_t *rows = tree->rows + frame->start;
    int64_t first_child = tree->n_nodes, bounds[3] = {frame->start, 0, frame->end};
    double weights[2];
    Partition partition = node->best.is_subset ? divide_levels(tree, node, rows) : divide_numbers(tree, node, rows);
    if (!reserve_coded_nodes(tree, first_child + 2) ||
        !reserve_room((void **)&tree->frames, &tree->frames_capacity, tree->n_frames + 2, sizeof(CodedFrame)) ||
        !write_coded_test(tree, node, &partition, tree->nodes + frame->node))
        return 0;
    measure_coded_children(tree, node, rows, partition.n_first, weights);
    bounds[1] = frame->start + partition.n_first;
    tree->n_nodes += 2;
    for (int child = 0; child < 2; child++) {
        const double *statistics = tree->statistics + (first_child + child) * tree->n_statistics;
        make_coded_leaf(tree, first_child + child, weights[child]);
        if (!is_coded_leaf(tree, statistics, weights[child], frame->depth + 1))
            tree->frames[tree->n_frames++] = (CodedFrame){bounds[child], bounds[child + 1], first_child + child,
                                                          frame->depth + 1, frame->is_local, node->constant};
    }
    return 1;
}

#endif
