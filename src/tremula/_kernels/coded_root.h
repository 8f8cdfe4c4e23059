/* The root of a tree that grows from codes; see `coded_tree.h`. */
#ifndef TREMULA_CODED_ROOT_H
#define TREMULA_CODED_ROOT_H

#include "coded_tree.h"

/* Puts the rows of the sample in the order of their classes; those of one class stay in ascending order. */
static void order_by_class(CodedTree *tree, int64_t n) {
    int64_t *next = tree->class_end, place = 0;
    for (int64_t code = 0; code < tree->n_classes; code++) next[code] = 0;
    for (int64_t i = 0; i < n; i++) next[tree->marks[tree->rows[i]] >> CLASS_SHIFT_OF_MARK]++;
    for (int64_t code = 0; code < tree->n_classes; code++) {
        int64_t count = next[code];
        next[code] = place;
        place += count;
    }
    for (int64_t i = 0; i < n; i++)
        tree->spare_rows[next[tree->marks[tree->rows[i]] >> CLASS_SHIFT_OF_MARK]++] = tree->rows[i];
    memcpy(tree->rows, tree->spare_rows, n * sizeof(uint32_t));
}

/* Nodes that a tree has room for from the start, as copying them later takes longer; and their statistics, in numbers:
   with thousands of classes few nodes take much memory. */
#define MOST_RESERVED 65536
#define MOST_STATISTICS_RESERVED 524288

/* The root, with all rows of the sample, on the stack unless it is a leaf; 0 if there is no memory. */
static int plant_coded_root(CodedTree *tree, int64_t n_present) {
    int64_t n = 0, n_reserved = 2 * n_present < MOST_RESERVED ? 2 * n_present : MOST_RESERVED;
    double weight = 0.0;
    if (n_reserved > MOST_STATISTICS_RESERVED / tree->n_statistics)
        n_reserved = MOST_STATISTICS_RESERVED / tree->n_statistics + 1;
    if (!reserve_coded_nodes(tree, n_reserved) ||
        !reserve_room((void **)&tree->frames, &tree->frames_capacity, 1, sizeof(CodedFrame)))
        return 0;
    memset(tree->statistics, 0, tree->n_statistics * sizeof(double));
    tree->is_each_row_once = 1;
    for (int64_t row = 0; row < tree->table.n_rows; row++) {
        double count = tree->marks[row] & COUNT_MASK;
        if (count == 0.0) continue;
        tree->is_each_row_once &= count == 1.0;
        if (tree->target == WEIGHTED_CLASSES) count = tree->weights[row];
        tree->rows[n++] = (uint32_t)row;
        weight += count;
        if (tree->target == NUMBERS) {
            tree->statistics[0] += count;
            tree->statistics[1] += count * tree->numbers[row];
            tree->statistics[2] += count * tree->numbers[row] * tree->numbers[row];
        } else {
            tree->statistics[tree->marks[row] >> CLASS_SHIFT_OF_MARK] += count;
        }
    }
    if (tree->target == CLASSES && tree->rules.random_threshold) order_by_class(tree, n);
    make_coded_leaf(tree, 0, weight);
    tree->n_nodes = 1;
    if (!is_coded_leaf(tree, tree->statistics, weight, 0))
        tree->frames[tree->n_frames++] = (CodedFrame){0, n_present, 0, 0, 0, 0};
    return 1;
}

#endif
