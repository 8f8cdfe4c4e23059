/* Columns of many different values: a histogram of bins first, then the single values of bins that may hold the best cut.
 *
 * Gini's sum over classes and sides, `level`, is a convex function of the class counts left of a cut. So it is bounded
 * inside a bin by what is known at the ends of the bin. Bins whose bound stays below the best cut between bins are
 * passed as a whole: the cut found is the one that a walk over all values finds.
 */
#ifndef TREMULA_CODED_BINS_H
#define TREMULA_CODED_BINS_H

#include "coded_classes.h"

IN_PLACE double level_of_cut(const ClassWalk *walk, double whole) {
    if (walk->weight == 0 || walk->other == 0) return whole;
    return (double)walk->left_term / (double)walk->weight + (double)walk->right_term / (double)walk->other;
}

IN_PLACE int bin_shift(int64_t n_codes) {
    int shift = 0;
    while (((n_codes - 1) >> shift) >= MAX_CELL_CODES) shift++;
    return shift;
}

/* Two classes: the four corners of what the bin may add to the left. */
IN_PLACE double bound_of_two_classes(const ClassWalk *walk, const uint32_t *cells) {
    double bound = 0.0;
    for (int corner = 1; corner < 3; corner++) {
        double a = walk->left[0] + (corner & 1 ? cells[0] : 0), b = walk->left[1] + (corner & 2 ? cells[1] : 0);
        double c = walk->totals[0] - a, d = walk->totals[1] - b, level = 0.0;
        if (a + b > 0.0) level += (a * a + b * b) / (a + b);
        if (c + d > 0.0) level += (c * c + d * d) / (c + d);
        if (level > bound) bound = level;
    }
    return bound;
}

/* More classes: the level at the start of the bin, plus for each row the steepest rise that its class may have. */
IN_PLACE double bound_of_classes(const ClassWalk *walk, const uint32_t *cells, double weight, double level) {
    double left = (double)walk->weight, right = (double)walk->other, rest = right - weight;
    double least = (double)walk->left_term / ((left + weight) * (left + weight));
    double most = rest > 0.0 ? (double)walk->right_term / (rest * rest) : 1.0;
    if (most > 1.0) most = 1.0;
    for (int64_t k = 0; k < walk->n_classes; k++) {
        double count = cells[k], after = right - count, rise;
        if (count == 0.0) continue;
        rise = 2.0 * (walk->left[k] + count) / (left + count) - least + most;
        if (after > 0.0) rise -= 2.0 * (walk->totals[k] - walk->left[k] - count) / after;
        if (rise > 0.0) level += count * rise;
    }
    return level;
}

/* Marks the bins that may hold a cut above `bar`; returns their number of rows at most. */
IN_PLACE int mark_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins, double bar) {
    const uint32_t *cells = (const uint32_t *)tree->cells;
    int64_t k = node->n_classes;
    int n_marked = 0;
    ClassWalk walk;
    begin_class_walk(tree, node, &walk, CODED_GINI);
    for (int64_t bin = 0; bin < n_bins; bin++) {
        double level = tree->levels_of_bins[bin], after = tree->levels_of_bins[bin + 1], weight = 0.0;
        for (int64_t c = 0; c < k; c++) weight += cells[bin * k + c];
        tree->is_refined[bin] = 0;
        if (weight > 0.0 && (level + after) / 2 + weight > bar) {
            double bound = k == 2 ? bound_of_two_classes(&walk, cells + bin * k)
                                  : bound_of_classes(&walk, cells + bin * k, weight, level);
            tree->is_refined[bin] = bound > bar;
            n_marked += bound > bar;
        }
        pass_code(&walk, cells + bin * k, CODED_GINI);
    }
    return n_marked;
}

/* The keys of all rows in marked bins, in order. */
IN_PLACE const uint64_t *sort_marked(CodedTree *tree, const OpenNode *node, int64_t attribute, int width, int shift,
                                     int64_t *n_keys) {
    uint64_t *keys = tree->keys, differences = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < node->n_rows; i++) {
        uint64_t code = code_of_row(tree, node, i, attribute, width);
        keys[n] = code << 32 | tree->node_marks[i];
        n += tree->is_refined[code >> shift];
    }
    for (int64_t i = 1; i < n; i++) differences |= keys[i] ^ keys[0];
    *n_keys = n;
    if (n > 40) return sort_keys_by_digits(keys, tree->spare_keys, n, differences);
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = keys[i];
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
        keys[j] = key;
    }
    return keys;
}

/* Gini alone. Returns whether the codes differ. */
IN_PLACE int judge_class_bins(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    int64_t n_codes = tree->table.n_codes[attribute], k = node->n_classes, n_keys = 0, p = 0;
    int shift = bin_shift(n_codes);
    int64_t n_bins = ((n_codes - 1) >> shift) + 1;
    const uint32_t *cells = (const uint32_t *)tree->cells;
    const uint64_t *keys = tree->keys;
    double bar = node->best.worth + node->within;
    ClassWalk walk;
    fill_class_cells(tree, node, attribute, width, shift, n_bins);
    begin_class_walk(tree, node, &walk, CODED_GINI);
    tree->levels_of_bins[0] = node->within;
    for (int64_t bin = 0; bin < n_bins; bin++) {
        pass_code(&walk, cells + bin * k, CODED_GINI);
        tree->levels_of_bins[bin + 1] = level_of_cut(&walk, node->within);
        if (tree->levels_of_bins[bin + 1] > bar && walk.weight >= walk.least && walk.other >= walk.least && walk.other > 0)
            bar = tree->levels_of_bins[bin + 1];
    }
    if (mark_bins(tree, node, n_bins, bar - 4.0 * node->slack - 1e-12 * node->weight))
        keys = sort_marked(tree, node, attribute, width, shift, &n_keys);
    begin_class_walk(tree, node, &walk, CODED_GINI);
    for (int64_t bin = 0; bin < n_bins && walk.other > 0; bin++) {
        if (!tree->is_refined[bin]) {
            if (pass_code(&walk, cells + bin * k, CODED_GINI) && walk.other > 0)
                judge_class_cut(&walk, ((bin + 1) << shift) - 1, CODED_GINI);
            continue;
        }
        for (; p < n_keys && (int64_t)(keys[p] >> (32 + shift)) == bin; p++) {
            pass_rows(&walk, (uint32_t)keys[p] >> CLASS_SHIFT_OF_MARK, keys[p] & COUNT_MASK, CODED_GINI);
            if (walk.other > 0 && (p + 1 == n_keys || (keys[p] ^ keys[p + 1]) >> 32))
                judge_class_cut(&walk, keys[p] >> 32, CODED_GINI);
        }
    }
    end_class_walk(tree, node, &walk, attribute, CODED_GINI);
    return 1;
}

#endif
