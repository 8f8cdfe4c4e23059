/* The best cut by Gini's index in nodes whose squared weight fits into 32 bits: many cuts are judged at a time.
 *
 * Cells of a histogram are in the order of classes, then of codes: rows left of each cut are running sums over the codes
 * of a class, whose squares are summed over the classes. All sums are whole numbers, hence those of `coded_classes.h`,
 * and so is the arithmetic of a cut.
 */
#ifndef TREMULA_CODED_HISTOGRAM_H
#define TREMULA_CODED_HISTOGRAM_H

#include "coded_classes.h"

#define COMMON_ROWS 8           /* rows at the start of a node with one code, where most of the others may have it, too */
#define MAX_NARROW 46340        /* the largest weight whose square is below 2^31 */
#if defined(__GNUC__)
#define CUTS 8                  /* judged at a time */
typedef uint32_t Sums __attribute__((vector_size(32), may_alias, aligned(4)));
#else
#define CUTS 1
typedef uint32_t Sums;
#endif

/* Lists the rows whose code is not that of row 0, from one of them on, and their codes; returns how many there are. */
NOT_IN_PLACE int64_t list_other_codes(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t start) {
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    uint64_t *listed = tree->keys;
    int64_t n = node->n_rows, stride = tree->table.stride, ahead = node->is_local ? 0 : AHEAD, n_listed = 0;
    uint32_t first = code_at(codes + rows[0] * stride, CODE_WIDTH);
    for (int64_t i = start; i < n; i++) {
        uint32_t code = code_at(codes + rows[i] * stride, CODE_WIDTH);
        PREFETCH(codes + rows[i + ahead] * stride);
        listed[n_listed] = (uint64_t)code << 32 | (uint32_t)i;
        n_listed += code != first;
    }
    return n_listed;
}

/* Counts the rows by class and by code, or bin of 2^shift codes. Compiled apart: other loops leave few registers. */
IN_PLACE void fill_cells_by_class(CodedTree *tree, const OpenNode *node, int64_t attribute, int shift,
                                  int64_t n_codes) {
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows, *marks = tree->node_marks;
    int64_t n = node->n_rows, stride = tree->table.stride, ahead = node->is_local ? 0 : AHEAD;
    uint32_t *cells = (uint32_t *)tree->cells;
    memset(cells, 0, n_codes * node->n_classes * sizeof(uint32_t));
    for (int64_t i = 0; i < n; i++) {
        uint32_t mark = marks[i], code = code_at(codes + rows[i] * stride, CODE_WIDTH) >> shift;
        PREFETCH(codes + rows[i + ahead] * stride);
        cells[(mark >> CLASS_SHIFT_OF_MARK) * n_codes + code] += mark & COUNT_MASK;
    }
}

/* The same where many rows have the code of row 0: its counts are what the others leave. */
NOT_IN_PLACE void fill_other_codes(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t n_codes,
                                   int64_t start) {
    uint32_t *cells = (uint32_t *)tree->cells, *rest = cells + code_of_row(tree, node, 0, attribute, CODE_WIDTH);
    int64_t n_listed = list_other_codes(tree, node, attribute, start);
    memset(cells, 0, n_codes * node->n_classes * sizeof(uint32_t));
    for (int64_t k = 0; k < node->n_classes; k++) rest[k * n_codes] = tree->totals[k];
    for (int64_t p = 0; p < n_listed; p++) {
        uint32_t mark = tree->node_marks[(uint32_t)tree->keys[p]];
        int64_t of_class = (mark >> CLASS_SHIFT_OF_MARK) * n_codes;
        cells[of_class + (int64_t)(tree->keys[p] >> 32)] += mark & COUNT_MASK;
        rest[of_class] -= mark & COUNT_MASK;
    }
}

NOT_IN_PLACE void fill_codes_by_class(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t n_codes) {
    fill_cells_by_class(tree, node, attribute, 0, n_codes);
}

NOT_IN_PLACE void fill_bins_by_class(CodedTree *tree, const OpenNode *node, int64_t attribute, int shift,
                                     int64_t n_bins) {
    fill_cells_by_class(tree, node, attribute, shift, n_bins);
}

/* Turns the counts of each class into those up to a code. */
IN_PLACE void add_up_codes(uint32_t *cells, int64_t n_classes, int64_t n_codes) {
    for (int64_t k = 0; k < n_classes; k++, cells += n_codes) {
        uint32_t left = 0;
        for (int64_t code = 0; code < n_codes; code++) cells[code] = left += cells[code];
    }
}

typedef struct {                /* of the cuts after some codes */
    uint32_t weight[CUTS];      /* on the left */
    double product[CUTS];       /* of the weights on both sides */
    double scaled[CUTS];        /* the sum of squares over the weight of either side, times `product` */
} Cuts;

/* The cuts after the codes from `first` on, whose counts are given. */
IN_PLACE void sum_cuts(const CodedTree *tree, const OpenNode *node, const uint32_t *cells, int64_t n_codes,
                       Cuts *cuts) {
    Sums weight = *(const Sums *)cells, squares = weight * weight, products = weight * tree->totals[0];
    uint32_t left[CUTS], right[CUTS];
    for (int64_t k = 1; k < node->n_classes; k++) {
        Sums counts = *(const Sums *)(cells + k * n_codes);
        weight += counts;
        squares += counts * counts;
        products += counts * tree->totals[k];
    }
    *(Sums *)cuts->weight = weight;
    *(Sums *)left = squares;
    *(Sums *)right = (uint32_t)node->term - 2 * products + squares;     /* a square of a difference, of each class */
    for (int i = 0; i < CUTS; i++) {
        int32_t first = (int32_t)cuts->weight[i], second = (int32_t)node->total - first;
        cuts->product[i] = (double)first * (double)second;
        cuts->scaled[i] = (double)(int32_t)left[i] * (double)second + (double)(int32_t)right[i] * (double)first;
    }
}

/* A histogram with a bin for each code. Returns whether the codes differ. */
NOT_IN_PLACE int judge_narrow_cells(CodedTree *tree, OpenNode *node, int64_t attribute) {
    int64_t n_codes = (tree->table.n_codes[attribute] + CUTS - 1) / CUTS * CUTS, best_code = -1;
    uint32_t total = (uint32_t)node->total, least = (uint32_t)node->least, *cells = (uint32_t *)tree->cells, before = 0;
    double bar = node->best.worth + node->within + node->slack, within = 0.0;
    int64_t other = first_other_code(tree, node, attribute, CODE_WIDTH);
    Cuts cuts;
    if (other == node->n_rows) return 0;
    if (other < COMMON_ROWS) fill_codes_by_class(tree, node, attribute, n_codes);
    else fill_other_codes(tree, node, attribute, n_codes, other);
    add_up_codes(cells, node->n_classes, n_codes);
    for (int64_t first = 0; before < total; first += CUTS) {
        int64_t is_above = 0;
        sum_cuts(tree, node, cells + first, n_codes, &cuts);
        if (cuts.weight[CUTS - 1] == before) continue;                  /* no row has one of these codes */
        before = cuts.weight[CUTS - 1];
        for (int i = 0; i < CUTS; i++) is_above |= -(int64_t)(cuts.scaled[i] > bar * cuts.product[i]);
        for (int i = 0; is_above && i < CUTS; i++)
            if (cuts.scaled[i] > bar * cuts.product[i] && cuts.weight[i] >= least && total - cuts.weight[i] >= least) {
                within = cuts.scaled[i] / cuts.product[i];
                bar = within + node->slack;
                best_code = first + i;
            }
    }
    if (best_code >= 0)
        node->best = (CodedCut){within - node->within, NAN, attribute, best_code, 0, within >= node->weight};
    return 1;
}

#endif
