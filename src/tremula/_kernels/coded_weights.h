/* The best cut of a numeric attribute by Gini's index or entropy, of rows with real weights.
 *
 * `level` of a cut is the sum over both sides that is largest for the best cut: of squared class weights over the weight
 * of the side, or of x log x of class weights less that of the side. Sums of doubles depend on their order, here by code
 * and then by row: cuts closer than the tolerance of the rules are equal.
 */
#ifndef TREMULA_CODED_WEIGHTS_H
#define TREMULA_CODED_WEIGHTS_H

#include "coded_numbers.h"
#include "logarithm.h"

#define THIN_SIDE 1e-6          /* share of the node's weight below which squares are summed anew */

typedef struct {
    double *left;               /* by class */
    const double *totals;
    double *terms;              /* entropy: x log x of both sides, by class */
    int64_t n_classes;
    double left_term, right_term;       /* Gini: sums of squares; entropy: the sum of `terms`, and nothing */
    double weight, other;
    double total, least;
    double bar, slack, level;
    int64_t best_code;
} WeightWalk;

/* The level of all rows on one side. */
IN_PLACE double level_of_node(const OpenNode *node, int criterion) {
    return criterion == CODED_GINI ? node->within : node->within - node->branches;
}

IN_PLACE WeightWalk begin_weight_walk(const CodedTree *tree, const OpenNode *node, int criterion) {
    int64_t k = node->n_classes;
    WeightWalk walk = {tree->weight_left, tree->weight_totals, tree->weight_left + k, k, 0.0, 0.0, 0.0, node->weight,
                       node->weight, tree->rules.min_side_weight - 1e-9, 0.0, node->slack, 0.0, -1};
    walk.bar = node->best.worth + level_of_node(node, criterion) + node->slack;
    memset(walk.left, 0, k * sizeof(double));
    if (criterion == CODED_GINI) {
        walk.right_term = node->within * node->weight;
        return walk;
    }
    walk.left_term = node->within;
    memcpy(walk.terms, tree->weight_terms, k * sizeof(double));
    return walk;
}

IN_PLACE double rest_of_class(const WeightWalk *walk, int64_t k) {
    double rest = walk->totals[k] - walk->left[k];
    return rest > 0.0 ? rest : 0.0;
}

/* Squares, weight and other from the weights of classes: no side is lighter than its parts. */
IN_PLACE void sum_squares_anew(WeightWalk *walk) {
    double squares = 0.0, others = 0.0, weight = 0.0, other = 0.0;
    for (int64_t k = 0; k < walk->n_classes; k++) {
        double left = walk->left[k], right = rest_of_class(walk, k);
        squares += left * left;
        others += right * right;
        weight += left;
        other += right;
    }
    walk->left_term = squares;
    walk->right_term = others;
    walk->weight = weight;
    walk->other = other;
}

/* Moves weight of one class to the left. */
IN_PLACE void pass_weight(WeightWalk *walk, int64_t k, double weight, int criterion) {
    double left = walk->left[k], right = walk->totals[k] - left;
    walk->left[k] = left + weight;
    walk->weight += weight;
    walk->other -= weight;
    if (criterion == CODED_GINI) {
        walk->left_term += weight * (2.0 * left + weight);
        walk->right_term -= weight * (2.0 * right - weight);
    } else {
        double term = quick_x_log_x(left + weight) + quick_x_log_x(rest_of_class(walk, k));
        walk->left_term += term - walk->terms[k];
        walk->terms[k] = term;
    }
}

/* Moves all rows of one code to the left. Returns whether there are any. */
IN_PLACE int pass_weights_of_code(WeightWalk *walk, const double *cells, int criterion) {
    double moved = 0.0;
    if (criterion == CODED_GINI) {
        for (int64_t k = 0; k < walk->n_classes; k++) {
            walk->left[k] += cells[k];
            moved += cells[k];
        }
        if (moved > 0.0) sum_squares_anew(walk);
        return moved > 0.0;
    }
    for (int64_t k = 0; k < walk->n_classes; k++)
        if (cells[k] > 0.0) {
            pass_weight(walk, k, cells[k], criterion);
            moved += cells[k];
        }
    return moved > 0.0;
}

IN_PLACE double level_of_sides(double left_term, double right_term, double weight, double other, int criterion) {
    if (criterion == CODED_GINI)
        return (weight > 0.0 ? left_term / weight : 0.0) + (other > 0.0 ? right_term / other : 0.0);
    return left_term - quick_x_log_x(weight) - quick_x_log_x(other > 0.0 ? other : 0.0);
}

IN_PLACE int has_weight_on_both_sides(const WeightWalk *walk) {
    return walk->weight >= walk->least && walk->other >= walk->least && walk->weight > 0.0 && walk->other > 0.0;
}

IN_PLACE double level_of_weights(WeightWalk *walk, int criterion) {
    if (criterion == CODED_GINI && walk->other < THIN_SIDE * walk->total) sum_squares_anew(walk);
    return level_of_sides(walk->left_term, walk->right_term, walk->weight, walk->other, criterion);
}

/* Judges the cut after the rows passed. */
IN_PLACE void judge_weight_cut(WeightWalk *walk, int64_t code, int criterion) {
    double level = level_of_weights(walk, criterion);
    if (level > walk->bar && has_weight_on_both_sides(walk)) {
        walk->level = level;
        walk->bar = level + walk->slack;
        walk->best_code = code;
    }
}

/* No cut can be better by more than the tolerance than one whose sides are pure. */
IN_PLACE void end_weight_walk(OpenNode *node, const WeightWalk *walk, int64_t attribute, int criterion) {
    double largest = criterion == CODED_GINI ? node->weight : 0.0;
    if (walk->best_code < 0) return;
    node->best = (CodedCut){walk->level - level_of_node(node, criterion), NAN, attribute, walk->best_code, 0, 0};
    node->best.is_perfect = walk->level >= largest - node->slack / 2;
}

IN_PLACE void pass_weighted_row(const CodedTree *tree, WeightWalk *walk, int64_t i, int criterion) {
    pass_weight(walk, tree->node_marks[i] >> CLASS_SHIFT_OF_MARK, tree->node_weights[i], criterion);
}

/* Few rows, sorted by comparing each with each. Returns whether the codes differ. */
IN_PLACE int judge_few_weights(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    uint8_t order[MAX_COMPARED];
    uint32_t codes[MAX_COMPARED];
    WeightWalk walk;
    if (!order_few_rows(tree, node, attribute, width, codes, order)) return 0;
    walk = begin_weight_walk(tree, node, criterion);
    for (int p = 0; p < (int)node->n_rows - 1; p++) {
        pass_weighted_row(tree, &walk, order[p], criterion);
        if (codes[order[p]] != codes[order[p + 1]]) judge_weight_cut(&walk, codes[order[p]], criterion);
    }
    end_weight_walk(node, &walk, attribute, criterion);
    return 1;
}

/* Many rows, sorted by their codes. Returns whether the codes differ. */
IN_PLACE int judge_sorted_weights(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    const uint64_t *keys = sort_node(tree, node, attribute, width, NULL);
    WeightWalk walk;
    if (keys == NULL) return 0;
    walk = begin_weight_walk(tree, node, criterion);
    for (int64_t p = 0; p < node->n_rows - 1; p++) {
        pass_weighted_row(tree, &walk, keys[p] & 0xFFFFFFFFu, criterion);
        if ((keys[p] ^ keys[p + 1]) >> 32) judge_weight_cut(&walk, keys[p] >> 32, criterion);
    }
    end_weight_walk(node, &walk, attribute, criterion);
    return 1;
}

/* Adds up the weights of each code, or of each bin of 2^shift codes, by class; in two histograms in turn, so that a row
 * need not wait for the one before it. */
IN_PLACE void fill_weight_cells(CodedTree *tree, const OpenNode *node, int64_t attribute, int width, int shift,
                                int64_t n_bins) {
    double *cells = (double *)tree->cells;
    int64_t n = node->n_rows, n_classes = node->n_classes, n_cells = n_bins * n_classes;
    double *others = n > 2 * n_cells ? cells + n_cells : cells;
    memset(cells, 0, (others - cells + n_cells) * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        uint32_t code = code_of_row(tree, node, i, attribute, width) >> shift;
        double *here = i & 1 ? others : cells;
        if (!node->is_local) PREFETCH_CODE(tree, node, i, attribute);
        here[code * n_classes + (tree->node_marks[i] >> CLASS_SHIFT_OF_MARK)] += tree->node_weights[i];
    }
    if (others != cells)
        for (int64_t cell = 0; cell < n_cells; cell++) cells[cell] += others[cell];
}

/* A histogram with a bin for each code. Returns whether the codes differ. */
IN_PLACE int judge_weight_cells(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    const double *cells = (const double *)tree->cells;
    int64_t n_codes = tree->table.n_codes[attribute], before = -1, n_seen = 0;
    WeightWalk walk = begin_weight_walk(tree, node, criterion);
    fill_weight_cells(tree, node, attribute, width, 0, n_codes);
    for (int64_t code = 0; code < n_codes; code++) {
        const double *here = cells + code * node->n_classes;
        double any = 0.0;
        for (int64_t k = 0; k < node->n_classes; k++) any += here[k];
        if (!(any > 0.0)) continue;
        if (before >= 0) judge_weight_cut(&walk, before, criterion);
        pass_weights_of_code(&walk, here, criterion);
        before = code;
        n_seen++;
    }
    end_weight_walk(node, &walk, attribute, criterion);
    return n_seen > 1;
}

/* ---- columns of many different values, see `coded_bins.h`
 *
 * A level is a convex function of the class weights on the left. Rows of several classes raise it by no more than the
 * sum of what each class would alone: the others only lower its share of the left side, and raise that of the right. */

IN_PLACE double level_with(const WeightWalk *walk, int64_t k, double weight, int criterion) {
    double left = walk->left[k], right = rest_of_class(walk, k), rest = right > weight ? right - weight : 0.0;
    if (criterion == CODED_GINI)
        return level_of_sides(walk->left_term + weight * (2.0 * left + weight), walk->right_term - right * right + rest * rest,
                              walk->weight + weight, walk->other - weight, criterion);
    return level_of_sides(walk->left_term - walk->terms[k] + quick_x_log_x(left + weight) + quick_x_log_x(rest), 0.0,
                          walk->weight + weight, walk->other - weight, criterion);
}

IN_PLACE double bound_of_weights(const WeightWalk *walk, const double *cells, double level, int criterion) {
    double bound = level;
    for (int64_t k = 0; k < walk->n_classes; k++)
        if (cells[k] > 0.0) {
            double raised = level_with(walk, k, cells[k], criterion);
            if (raised > level) bound += raised - level;
        }
    return bound;
}

/* The best level between bins, which `levels_of_bins` keeps; at least `bar`. */
IN_PLACE double best_between_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins, int criterion) {
    const double *cells = (const double *)tree->cells;
    WeightWalk walk = begin_weight_walk(tree, node, criterion);
    double bar = node->best.worth + level_of_node(node, criterion);
    tree->levels_of_bins[0] = level_of_node(node, criterion);
    for (int64_t bin = 0; bin < n_bins; bin++) {
        pass_weights_of_code(&walk, cells + bin * node->n_classes, criterion);
        double level = level_of_weights(&walk, criterion);
        tree->levels_of_bins[bin + 1] = level;
        if (level > bar && has_weight_on_both_sides(&walk)) bar = level;
    }
    return bar;
}

/* Marks the bins that may hold a cut above `bar`; returns how many. */
IN_PLACE int mark_weight_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins, double bar, int criterion) {
    const double *cells = (const double *)tree->cells;
    WeightWalk walk = begin_weight_walk(tree, node, criterion);
    int n_marked = 0;
    for (int64_t bin = 0; bin < n_bins; bin++) {
        const double *here = cells + bin * node->n_classes;
        double level = tree->levels_of_bins[bin], after = tree->levels_of_bins[bin + 1], weight = 0.0;
        for (int64_t k = 0; k < node->n_classes; k++) weight += here[k];
        tree->is_refined[bin] = 0;
        if (weight > 0.0 && (criterion != CODED_GINI || (level + after) / 2 + weight > bar))
            tree->is_refined[bin] = bound_of_weights(&walk, here, level, criterion) > bar;
        n_marked += tree->is_refined[bin];
        pass_weights_of_code(&walk, here, criterion);
    }
    return n_marked;
}

/* Returns whether the codes differ. */
IN_PLACE int judge_weight_bins(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    int64_t n_codes = tree->table.n_codes[attribute], k = node->n_classes, n_keys = 0, p = 0, before = -1;
    int shift = bin_shift(n_codes);
    int64_t n_bins = ((n_codes - 1) >> shift) + 1;
    const double *cells = (const double *)tree->cells;
    const uint64_t *keys = tree->keys;
    WeightWalk walk;
    if (!codes_differ(tree, node, attribute, width)) return 0;
    fill_weight_cells(tree, node, attribute, width, shift, n_bins);
    double bar = best_between_bins(tree, node, n_bins, criterion) - 4.0 * node->slack - 1e-11 * node->weight;
    if (mark_weight_bins(tree, node, n_bins, bar, criterion))
        keys = sort_marked_numbers(tree, node, attribute, width, shift, &n_keys);
    walk = begin_weight_walk(tree, node, criterion);
    for (int64_t bin = 0; bin < n_bins; bin++) {
        const double *here = cells + bin * k;
        if (!tree->is_refined[bin]) {
            double any = 0.0;
            for (int64_t c = 0; c < k; c++) any += here[c];
            if (!(any > 0.0)) continue;
            if (before >= 0) judge_weight_cut(&walk, before, criterion);
            pass_weights_of_code(&walk, here, criterion);
            before = ((bin + 1) << shift) - 1;
            continue;
        }
        for (; p < n_keys && (int64_t)(keys[p] >> (32 + shift)) == bin; p++) {
            if (before >= 0 && before != (int64_t)(keys[p] >> 32)) judge_weight_cut(&walk, before, criterion);
            pass_weighted_row(tree, &walk, keys[p] & 0xFFFFFFFFu, criterion);
            before = keys[p] >> 32;
        }
    }
    end_weight_walk(node, &walk, attribute, criterion);
    return 1;
}

#endif
