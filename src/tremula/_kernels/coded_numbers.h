/* The best cut of a numeric attribute for a numeric target, by the reduction of its variance.
 *
 * Targets are whole numbers, in units small enough (see `tremula.trees.coding.fixed_point`): sums are exact, so that ties between cuts
 * are ties whatever the order of the rows.
 */
#ifndef TREMULA_CODED_NUMBERS_H
#define TREMULA_CODED_NUMBERS_H

#include "coded_bins.h"

typedef struct {
    int64_t sum, weight;        /* left of the cut */
    int64_t total_sum, total_weight, least;
    double whole, worth, slack;
    int64_t best_code;
} NumberWalk;

IN_PLACE NumberWalk begin_number_walk(const OpenNode *node) {
    return (NumberWalk){0, 0, node->sum, node->total, node->least, node->within, node->best.worth, node->slack, -1};
}

IN_PLACE double level_of_sums(double sum, double weight, double other_sum, double other) {
    return sum * sum / weight + other_sum * other_sum / other;
}

IN_PLACE double level_of_number_cut(const NumberWalk *walk) {
    return level_of_sums((double)walk->sum, (double)walk->weight, (double)(walk->total_sum - walk->sum),
                         (double)(walk->total_weight - walk->weight));
}

IN_PLACE int is_allowed(const NumberWalk *walk) {
    int64_t other = walk->total_weight - walk->weight;
    return walk->weight >= walk->least && other >= walk->least && other > 0;
}

IN_PLACE void judge_number_cut(NumberWalk *walk, int64_t code) {
    double worth = level_of_number_cut(walk) - walk->whole;
    if (worth > walk->worth + walk->slack && is_allowed(walk)) {
        walk->worth = worth;
        walk->best_code = code;
    }
}

IN_PLACE void end_number_walk(OpenNode *node, const NumberWalk *walk, int64_t attribute) {
    if (walk->best_code >= 0) node->best = (CodedCut){walk->worth, NAN, attribute, walk->best_code, 0, 0};
}

IN_PLACE void pass_number(const CodedTree *tree, NumberWalk *walk, int64_t i) {
    walk->sum += (int64_t)tree->node_targets[i] * tree->node_marks[i];
    walk->weight += tree->node_marks[i];
}

/* Two rows are divided in one way only. */
IN_PLACE int judge_pair_of_numbers(const CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    uint32_t first = code_of_row(tree, node, 0, attribute, width), second = code_of_row(tree, node, 1, attribute, width);
    NumberWalk walk = begin_number_walk(node);
    if (first == second) return 0;
    pass_number(tree, &walk, first > second);
    judge_number_cut(&walk, first < second ? first : second);
    end_number_walk(node, &walk, attribute);
    node->best.is_perfect = node->best.attribute == attribute;
    return 1;
}

/* Sorted rows, one by one. Returns whether the codes differ. */
IN_PLACE int judge_sorted_numbers(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    const uint64_t *keys = sort_node(tree, node, attribute, width, NULL);
    NumberWalk walk = begin_number_walk(node);
    if (keys == NULL) return 0;
    for (int64_t p = 0; p < node->n_rows - 1; p++) {
        pass_number(tree, &walk, keys[p] & 0xFFFFFFFFu);
        if ((keys[p] ^ keys[p + 1]) >> 32) judge_number_cut(&walk, keys[p] >> 32);
    }
    end_number_walk(node, &walk, attribute);
    return 1;
}

/* Adds a row to the cell of its code. */
IN_PLACE void add_number(NumberCell *cell, int64_t target, int64_t count, int has_magnitude) {
    int64_t product = target * count;
    cell->sum += product;
    cell->weight += count;
    if (has_magnitude) cell->magnitude += product < 0 ? -product : product;
}

/* Sums the rows of each code, or bin of 2^shift codes. */
IN_PLACE void fill_target_cells(CodedTree *tree, const OpenNode *node, int64_t attribute, int shift,
                                int64_t n_bins) {
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows, *marks = tree->node_marks;
    const int32_t *targets = tree->node_targets;
    NumberCell *cells = (NumberCell *)tree->cells;
    int64_t n = node->n_rows, stride = tree->table.stride, ahead = node->is_local ? 0 : AHEAD;
    memset(cells, 0, n_bins * sizeof(NumberCell));
    for (int64_t i = 0; i < n; i++) {
        uint32_t code = code_at(codes + rows[i] * stride, CODE_WIDTH) >> shift;
        PREFETCH(codes + rows[i + ahead] * stride);
        add_number(cells + code, targets[i], marks[i], shift > 0);
    }
}

/* Compiled apart: other loops leave few registers. */
NOT_IN_PLACE void fill_target_codes(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t n_codes) {
    fill_target_cells(tree, node, attribute, 0, n_codes);
}

NOT_IN_PLACE void fill_target_bins(CodedTree *tree, const OpenNode *node, int64_t attribute, int shift, int64_t n_bins) {
    fill_target_cells(tree, node, attribute, shift, n_bins);
}

/* A histogram with a bin for each code. Returns whether the codes differ. */
IN_PLACE int judge_number_cells(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    const NumberCell *cells = (const NumberCell *)tree->cells;
    NumberWalk walk = begin_number_walk(node);
    if (!codes_differ(tree, node, attribute, width)) return 0;
    fill_target_codes(tree, node, attribute, tree->table.n_codes[attribute]);
    for (int64_t code = 0; walk.weight < walk.total_weight; code++) {
        if (!cells[code].weight) continue;
        walk.sum += cells[code].sum;
        walk.weight += cells[code].weight;
        if (walk.weight < walk.total_weight) judge_number_cut(&walk, code);
    }
    end_number_walk(node, &walk, attribute);
    return 1;
}

/* The largest level inside a bin: at one of the corners of what its rows may add to sum and weight. */
IN_PLACE double bound_of_bin(const NumberWalk *walk, const NumberCell *cell) {
    double sums[2] = {(double)(walk->sum + (cell->magnitude + cell->sum) / 2),
                      (double)(walk->sum - (cell->magnitude - cell->sum) / 2)};
    double weights[2] = {(double)walk->weight, (double)(walk->weight + cell->weight)}, bound = 0.0;
    double whole = (double)walk->total_weight, total = (double)walk->total_sum;
    if (walk->weight == 0 || walk->weight + cell->weight == walk->total_weight) return INFINITY;
    for (int corner = 0; corner < 4; corner++) {
        double sum = sums[corner & 1], weight = weights[corner >> 1];
        double level = level_of_sums(sum, weight, total - sum, whole - weight);
        if (level > bound) bound = level;
    }
    return bound;
}

/* Marks the bins that may hold the best cut; returns how many. */
IN_PLACE int mark_number_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins) {
    const NumberCell *cells = (const NumberCell *)tree->cells;
    NumberWalk walk = begin_number_walk(node);
    double bar = node->best.worth + node->within;
    int n_marked = 0;
    for (int64_t bin = 0; bin < n_bins; bin++) {
        walk.sum += cells[bin].sum;
        walk.weight += cells[bin].weight;
        if (cells[bin].weight && is_allowed(&walk)) {
            double level = level_of_number_cut(&walk);
            if (level > bar) bar = level;
        }
    }
    bar -= 1e-12 * fabs(bar);
    walk = begin_number_walk(node);
    for (int64_t bin = 0; bin < n_bins; bin++) {
        tree->is_refined[bin] = cells[bin].weight > 0 && bound_of_bin(&walk, cells + bin) > bar;
        n_marked += tree->is_refined[bin];
        walk.sum += cells[bin].sum;
        walk.weight += cells[bin].weight;
    }
    return n_marked;
}

IN_PLACE const uint64_t *sort_marked_numbers(CodedTree *tree, const OpenNode *node, int64_t attribute, int width,
                                             int shift, int64_t *n_keys) {
    uint64_t *keys = tree->keys, differences = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < node->n_rows; i++) {
        uint64_t code = code_of_row(tree, node, i, attribute, width);
        keys[n] = code << 32 | (uint64_t)i;
        n += tree->is_refined[code >> shift];
    }
    for (int64_t i = 1; i < n; i++) differences |= keys[i] ^ keys[0];
    *n_keys = n;
    return sort_keys_by_digits(keys, tree->spare_keys, n, differences);
}

IN_PLACE void judge_number_bins(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    int64_t n_codes = tree->table.n_codes[attribute], n_keys = 0, p = 0;
    int shift = bin_shift(n_codes);
    int64_t n_bins = ((n_codes - 1) >> shift) + 1;
    const NumberCell *cells = (const NumberCell *)tree->cells;
    const uint64_t *keys = tree->keys;
    NumberWalk walk = begin_number_walk(node);
    fill_target_bins(tree, node, attribute, shift, n_bins);
    if (mark_number_bins(tree, node, n_bins))
        keys = sort_marked_numbers(tree, node, attribute, width, shift, &n_keys);
    for (int64_t bin = 0; bin < n_bins && walk.weight < walk.total_weight; bin++) {
        if (!tree->is_refined[bin]) {
            walk.sum += cells[bin].sum;
            walk.weight += cells[bin].weight;
            if (cells[bin].weight && walk.weight < walk.total_weight)
                judge_number_cut(&walk, ((bin + 1) << shift) - 1);
            continue;
        }
        for (; p < n_keys && (int64_t)(keys[p] >> (32 + shift)) == bin; p++) {
            pass_number(tree, &walk, keys[p] & 0xFFFFFFFFu);
            if (walk.weight < walk.total_weight && (p + 1 == n_keys || (keys[p] ^ keys[p + 1]) >> 32))
                judge_number_cut(&walk, keys[p] >> 32);
        }
    }
    end_number_walk(node, &walk, attribute);
}

#endif
