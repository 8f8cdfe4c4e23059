/* The best cut by Gini's index between sorted rows of nodes whose squared weight fits into 32 bits.
 *
 * What is left of each cut is noted row by row, and the cuts are judged together. The counts of a few classes are one
 * word, so that a row adds one number and waits for nothing else; their squares are summed for many cuts at a time. All
 * sums are whole numbers, hence those of `coded_classes.h`.
 */
#ifndef TREMULA_CODED_CUTS_H
#define TREMULA_CODED_CUTS_H

#include "coded_histogram.h"

#define CUT_BLOCK 64            /* cuts that are judged together */
#define MOST_PACKED 4           /* classes in a word, */
#define PACKED_BITS 16          /* with so many bits each */

typedef struct {                /* the cuts behind rows of a block */
    uint32_t codes[CUT_BLOCK + CUTS];
    uint32_t counts[CUT_BLOCK + CUTS], more_counts[CUT_BLOCK + CUTS];   /* left of each cut, of two classes each */
    int32_t weights[CUT_BLOCK + CUTS];
    int32_t left[CUT_BLOCK + CUTS], right[CUT_BLOCK + CUTS];            /* sums of squared counts on either side */
} CutBlock;

typedef struct {
    uint64_t packed;            /* counts left of the cut */
    int32_t weight, left, right;
    int32_t total, least;
    int64_t best_code;
    double bar, slack, within;
} NarrowWalk;

IN_PLACE NarrowWalk begin_narrow_walk(const CodedTree *tree, const OpenNode *node) {
    memset(tree->left, 0, node->n_classes * sizeof(uint32_t));
    return (NarrowWalk){0, 0, 0, (int32_t)node->term, (int32_t)node->total, (int32_t)node->least, -1,
                        node->best.worth + node->within + node->slack, node->slack, 0.0};
}

/* Moves one row to the left, and notes the sums; with few classes, their counts. */
IN_PLACE void pass_narrow_row(const CodedTree *tree, NarrowWalk *walk, CutBlock *block, int p, uint32_t mark,
                              uint32_t code, int is_packed) {
    uint32_t number = mark >> CLASS_SHIFT_OF_MARK;
    int32_t count = (int32_t)(mark & COUNT_MASK);
    block->codes[p] = code;
    if (is_packed) {
        walk->packed += (uint64_t)count << PACKED_BITS * number;
        block->counts[p] = (uint32_t)walk->packed;
        block->more_counts[p] = (uint32_t)(walk->packed >> 2 * PACKED_BITS);
        return;
    }
    uint32_t left = tree->left[number];
    int32_t right = (int32_t)(tree->totals[number] - left);
    tree->left[number] = left + (uint32_t)count;
    walk->weight += count;
    walk->left += count * (2 * (int32_t)left + count);
    walk->right -= count * (2 * right - count);
    block->weights[p] = walk->weight;
    block->left[p] = walk->left;
    block->right[p] = walk->right;
}

/* The sums on either side of n cuts from the counts of the classes. */
IN_PLACE void square_counts(const CodedTree *tree, const OpenNode *node, CutBlock *block, int n) {
    uint32_t totals[MOST_PACKED] = {0};
    const uint32_t term = (uint32_t)node->term, mask = (1u << PACKED_BITS) - 1;
    for (int k = 0; k < node->n_classes; k++) totals[k] = tree->totals[k];
    for (int p = 0; p < n; p += CUTS) {
        Sums two = *(const Sums *)(block->counts + p), more = *(const Sums *)(block->more_counts + p);
        Sums a = two & mask, b = two >> PACKED_BITS, c = more & mask, d = more >> PACKED_BITS;
        Sums squares = a * a + b * b + c * c + d * d;
        Sums products = a * totals[0] + b * totals[1] + c * totals[2] + d * totals[3];
        *(Sums *)(block->weights + p) = a + b + c + d;
        *(Sums *)(block->left + p) = squares;
        *(Sums *)(block->right + p) = term - 2 * products + squares;    /* a square of a difference, of each class */
    }
}

/* Judges the cuts behind n rows; `codes` has one more. Whole vectors are judged: beyond n no row is on the left. */
IN_PLACE void judge_cut_block(const CodedTree *tree, const OpenNode *node, NarrowWalk *walk, CutBlock *block, int n,
                              int is_packed) {
    double product[CUT_BLOCK + CUTS], scaled[CUT_BLOCK + CUTS], total = walk->total;
    Flags is_above = {0};
    if (is_packed) {
        memset(block->counts + n, 0, CUTS * sizeof(uint32_t));
        memset(block->more_counts + n, 0, CUTS * sizeof(uint32_t));
        square_counts(tree, node, block, n);
    } else {
        memset(block->weights + n, 0, CUTS * sizeof(int32_t));
        memset(block->left + n, 0, CUTS * sizeof(int32_t));
        memset(block->right + n, 0, CUTS * sizeof(int32_t));
    }
    for (int p = 0; p < n; p += REALS) {
        Reals weight = reals_of(block->weights + p), other = total - weight, products = weight * other;
        Reals sums = reals_of(block->left + p) * other + reals_of(block->right + p) * weight;
        *(Reals *)(product + p) = products;
        *(Reals *)(scaled + p) = sums;
        is_above |= sums > walk->bar * products;
    }
    if (!any_flag(is_above)) return;
    for (int p = 0; p < n; p++)
        if (scaled[p] > walk->bar * product[p] && block->codes[p] != block->codes[p + 1] &&
            block->weights[p] >= walk->least && walk->total - block->weights[p] >= walk->least) {
            walk->within = scaled[p] / product[p];
            walk->bar = walk->within + walk->slack;
            walk->best_code = block->codes[p];
        }
}

IN_PLACE void end_narrow_walk(OpenNode *node, const NarrowWalk *walk, int64_t attribute) {
    if (walk->best_code >= 0)
        node->best = (CodedCut){walk->within - node->within, NAN, attribute, walk->best_code, 0, walk->within >= node->weight};
}

/* Few rows, sorted by comparing each with each. Returns whether the codes differ. */
IN_PLACE int judge_few_narrow(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int is_packed) {
    int n = (int)node->n_rows;
    uint8_t order[MAX_COMPARED];
    uint32_t codes[MAX_COMPARED];
    CutBlock block;
    if (!order_few_rows(tree, node, attribute, width, codes, order)) return 0;
    NarrowWalk walk = begin_narrow_walk(tree, node);
    for (int p = 0; p < n; p++)
        pass_narrow_row(tree, &walk, &block, p, tree->node_marks[order[p]], codes[order[p]], is_packed);
    judge_cut_block(tree, node, &walk, &block, n - 1, is_packed);
    end_narrow_walk(node, &walk, attribute);
    return 1;
}

/* Many rows, sorted by their codes. Returns whether the codes differ. */
IN_PLACE int judge_sorted_narrow(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int is_packed) {
    const uint64_t *keys = sort_node(tree, node, attribute, width, tree->node_marks);
    CutBlock block;
    if (keys == NULL) return 0;
    NarrowWalk walk = begin_narrow_walk(tree, node);
    for (int64_t start = 0; start < node->n_rows - 1; start += CUT_BLOCK) {
        int64_t left = node->n_rows - 1 - start;
        int n = (int)(left < CUT_BLOCK ? left : CUT_BLOCK);
        for (int p = 0; p < n; p++)
            pass_narrow_row(tree, &walk, &block, p, (uint32_t)keys[start + p], (uint32_t)(keys[start + p] >> 32), is_packed);
        block.codes[n] = (uint32_t)(keys[start + n] >> 32);
        judge_cut_block(tree, node, &walk, &block, n, is_packed);
    }
    end_narrow_walk(node, &walk, attribute);
    return 1;
}

#endif
