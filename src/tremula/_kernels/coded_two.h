/* Attributes of two values, of the first 64 in use: a bit says which a row has, and those of a row are one word.
 *
 * The words of a node's rows tell at once which of these attributes are constant, and a cut is judged from the rows of
 * the second value, which are often few. The sums are whole numbers, hence those of the other walks.
 */
#ifndef TREMULA_CODED_TWO_H
#define TREMULA_CODED_TWO_H

#include "coded_pairs.h"

/* Gathers the words of the rows, and notes the attributes that are constant. */
IN_PLACE void open_bits(CodedTree *tree, OpenNode *node) {
    const uint64_t *bits = node->source.bits;
    uint64_t *gathered = tree->node_bits, varying = 0;
    if (bits == NULL || !(tree->table.two_valued & ~node->constant)) return;
    for (int64_t i = 0; i < node->n_rows; i++) {
        gathered[i] = bits[node->rows[i]];
        varying |= gathered[i] ^ gathered[0];
    }
    node->constant |= tree->table.two_valued & ~varying;
}

/* Counts the rows of the first value by class. */
IN_PLACE void count_first_value(CodedTree *tree, const OpenNode *node, int64_t place, uint32_t *counts) {
    const uint64_t *bits = tree->node_bits;
    uint32_t *listed = (uint32_t *)tree->spare_keys;
    int64_t n = 0;
    for (int64_t i = 0; i < node->n_rows; i++) {
        listed[n] = tree->node_marks[i];
        n += bits[i] >> place & 1;
    }
    for (int64_t k = 0; k < node->n_classes; k++) counts[k] = tree->totals[k];
    for (int64_t i = 0; i < n; i++) counts[listed[i] >> CLASS_SHIFT_OF_MARK] -= listed[i] & COUNT_MASK;
}

/* Weight and sum of the target of the rows of the first value. */
IN_PLACE void sum_first_value(const CodedTree *tree, const OpenNode *node, int64_t place, int64_t *weight,
                              int64_t *sum) {
    const uint64_t *bits = tree->node_bits;
    *weight = *sum = 0;
    for (int64_t i = 0; i < node->n_rows; i++) {
        int64_t count = tree->node_marks[i] & ((bits[i] >> place & 1) - 1);
        *weight += count;
        *sum += count * tree->node_targets[i];
    }
}

/* Judges the only cut of an attribute of two values, which varies in the node. */
IN_PLACE void judge_two_values(CodedTree *tree, OpenNode *node, int64_t place, int64_t attribute, int criterion) {
    if (node->best.is_perfect) return;
    if (criterion == CODED_VARIANCE) {
        NumberWalk walk = begin_number_walk(node);
        sum_first_value(tree, node, place, &walk.weight, &walk.sum);
        judge_number_cut(&walk, 0);
        end_number_walk(node, &walk, attribute);
        return;
    }
    uint32_t *cells = (uint32_t *)tree->cells;
    ClassWalk walk;
    count_first_value(tree, node, place, cells);
    begin_class_walk(tree, node, &walk, criterion);
    pass_code(&walk, cells, criterion);
    judge_class_cut(&walk, 0, criterion);
    end_class_walk(tree, node, &walk, attribute, criterion);
}

#endif
