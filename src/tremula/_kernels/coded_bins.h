/* Columns of many different values: a histogram of bins first, then the single values of bins that may hold the best cut.
 *
 * Gini's sum over classes and sides, `level`, is a convex function of the class counts left of a cut. So it is bounded
 * inside a bin by what is known at the ends of the bin. Bins whose bound stays below the best cut between bins are
 * passed as a whole: the cut found is the one that a walk over all values finds.
 */
#ifndef TREMULA_CODED_BINS_H
#define TREMULA_CODED_BINS_H

#include "coded_cuts.h"

#define ROWS_PER_BIN 4          /* see `narrow_shift` */
#define FEW_KEYS 24             /* sorted by insertion */

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
    *n_keys = n;
    if (n > FEW_KEYS && n <= MOST_BUCKETED) {
        uint64_t least = keys[0], largest = keys[0];
        for (int64_t i = 1; i < n; i++) {
            least = keys[i] < least ? keys[i] : least;
            largest = keys[i] > largest ? keys[i] : largest;
        }
        return sort_keys_by_buckets(keys, tree->spare_keys, n, (uint32_t)(least >> 32), (uint32_t)(largest >> 32));
    }
    for (int64_t i = 1; i < n; i++) differences |= keys[i] ^ keys[0];
    if (n > FEW_KEYS) return sort_keys_by_digits(keys, tree->spare_keys, n, differences);
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

/* ---- the same by the sums of `coded_histogram.h` */

/* Some rows for each bin, which costs as much as they do. */
IN_PLACE int narrow_shift(const OpenNode *node, int64_t n_codes) {
    int shift = bin_shift(n_codes);
    while (((n_codes - 1) >> shift) * ROWS_PER_BIN > node->n_rows) shift++;
    return shift;
}

/* The state of a walk before a bin, from the counts up to it. */
IN_PLACE void jump_to_bin(const CodedTree *tree, const OpenNode *node, int64_t bin, int64_t n_bins, ClassWalk *walk) {
    const uint32_t *before = (const uint32_t *)tree->cells + bin - 1;
    walk->left_term = walk->right_term = walk->weight = 0;
    for (int64_t k = 0; k < node->n_classes; k++) {
        int64_t left = bin ? before[k * n_bins] : 0, right = walk->totals[k] - left;
        walk->left[k] = (uint32_t)left;
        walk->left_term += left * left;
        walk->right_term += right * right;
        walk->weight += left;
    }
    walk->other = node->total - walk->weight;
}

/* Whether a bin may hold a cut above `bar`. */
IN_PLACE int may_hold_best(const CodedTree *tree, const OpenNode *node, int64_t bin, int64_t n_bins, double weight,
                           double level, double bar, ClassWalk *walk) {
    const uint32_t *cells = (const uint32_t *)tree->cells + bin;
    uint32_t *counts = tree->left + node->n_classes;
    jump_to_bin(tree, node, bin, n_bins, walk);
    for (int64_t k = 0; k < node->n_classes; k++) counts[k] = cells[k * n_bins] - walk->left[k];
    if (node->n_classes == 2) return bound_of_two_classes(walk, counts) > bar;
    return bound_of_classes(walk, counts, weight, level) > bar;
}

/* The levels of the cuts after all bins, behind that of the whole node; returns the best, at least that found before. */
IN_PLACE double sum_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins, Cuts *cuts) {
    double bar = node->best.worth + node->within, *levels = tree->levels_of_bins;
    uint32_t least = (uint32_t)node->least, total = (uint32_t)node->total;
    levels[0] = node->within;
    for (int64_t first = 0; first < n_bins; first += CUTS, cuts++) {
        int64_t is_above = 0;
        sum_cuts(tree, node, (const uint32_t *)tree->cells + first, n_bins, cuts);
        for (int i = 0; i < CUTS; i++) {
            double level = cuts->scaled[i] / (cuts->product[i] > 0.0 ? cuts->product[i] : 1.0);
            levels[first + 1 + i] = cuts->product[i] > 0.0 ? level : node->within;
            is_above |= -(int64_t)(level > bar);
        }
        for (int i = 0; is_above && i < CUTS; i++)
            if (levels[first + 1 + i] > bar && cuts->weight[i] >= least && total - cuts->weight[i] >= least)
                bar = levels[first + 1 + i];
    }
    return bar;
}

/* Marks the bins of several rows that may hold a cut above `bar`; returns how many. */
IN_PLACE int mark_narrow_bins(CodedTree *tree, const OpenNode *node, int64_t n_bins, double bar, const Cuts *cuts,
                              ClassWalk *walk) {
    const double *levels = tree->levels_of_bins;
    int n_marked = 0;
    uint32_t before = 0;
    memset(tree->is_refined, 0, MAX_CELL_CODES);
    for (int64_t first = 0; first < n_bins; first += CUTS, cuts++) {
        double weight = (double)(int32_t)(cuts->weight[CUTS - 1] - before);
        int64_t is_above = 0;
        for (int i = 0; i < CUTS; i++)
            is_above |= -(int64_t)((levels[first + i] + levels[first + i + 1]) / 2 + weight > bar);
        for (int i = 0; is_above && i < CUTS; i++) {
            uint32_t of_bin = cuts->weight[i] - (i ? cuts->weight[i - 1] : before);
            double level = levels[first + i];
            if (of_bin < 2 || !((level + levels[first + i + 1]) / 2 + of_bin > bar)) continue;
            tree->is_refined[first + i] = (uint8_t)may_hold_best(tree, node, first + i, n_bins, of_bin, level, bar, walk);
            n_marked += tree->is_refined[first + i];
        }
        before = cuts->weight[CUTS - 1];
    }
    return n_marked;
}

/* The sorted keys of the rows in marked bins, and the first that was not judged yet. */
typedef struct {
    const uint64_t *keys;
    int64_t n_keys, next;
} BinKeys;

/* Judges the cuts inside a bin, whose keys are the next ones. */
IN_PLACE void judge_inside_bin(const CodedTree *tree, const OpenNode *node, int64_t bin, int64_t n_bins, int shift,
                               BinKeys *sorted, ClassWalk *walk) {
    const uint64_t *keys = sorted->keys;
    int64_t n_keys = sorted->n_keys, p = sorted->next;
    jump_to_bin(tree, node, bin, n_bins, walk);
    for (; p < n_keys && (int64_t)(keys[p] >> (32 + shift)) == bin; p++) {
        pass_rows(walk, (uint32_t)keys[p] >> CLASS_SHIFT_OF_MARK, keys[p] & COUNT_MASK, CODED_GINI);
        if (walk->other > 0 && (p + 1 == n_keys || (keys[p] ^ keys[p + 1]) >> 32))
            judge_class_cut(walk, keys[p] >> 32, CODED_GINI);
    }
    sorted->next = p;
}

/* Gini alone. Returns whether the codes differ. */
NOT_IN_PLACE int judge_narrow_bins(CodedTree *tree, OpenNode *node, int64_t attribute) {
    int64_t n_codes = tree->table.n_codes[attribute];
    int shift = narrow_shift(node, n_codes);
    int64_t n_bins = (((n_codes - 1) >> shift) / CUTS + 1) * CUTS;
    BinKeys sorted = {tree->keys, 0, 0};
    Cuts cuts[MAX_CELL_CODES / CUTS];
    ClassWalk walk;
    double bar;
    if (!codes_differ(tree, node, attribute, CODE_WIDTH)) return 0;
    fill_bins_by_class(tree, node, attribute, shift, n_bins);
    add_up_codes((uint32_t *)tree->cells, node->n_classes, n_bins);
    begin_class_walk(tree, node, &walk, CODED_GINI);
    bar = sum_bins(tree, node, n_bins, cuts) - (4.0 * node->slack + 1e-12 * node->weight);
    if (mark_narrow_bins(tree, node, n_bins, bar, cuts, &walk))
        sorted.keys = sort_marked(tree, node, attribute, CODE_WIDTH, shift, &sorted.n_keys);
    for (int64_t first = 0; first < n_bins; first += CUTS) {
        const Cuts *cut = cuts + first / CUTS;
        int64_t is_above = 0;
        for (int i = 0; i < CUTS; i++)
            is_above |= -(int64_t)(cut->scaled[i] > walk.bar * cut->product[i]) | tree->is_refined[first + i];
        for (int i = 0; is_above && i < CUTS; i++) {
            int64_t weight = cut->weight[i], other = node->total - weight;
            if (tree->is_refined[first + i]) {
                judge_inside_bin(tree, node, first + i, n_bins, shift, &sorted, &walk);
            } else if (cut->scaled[i] > walk.bar * cut->product[i] && weight >= walk.least && other >= walk.least) {
                walk.within = cut->scaled[i] / cut->product[i];
                walk.bar = walk.within + walk.slack;
                walk.best_code = ((first + i + 1) << shift) - 1;
            }
        }
    }
    end_class_walk(tree, node, &walk, attribute, CODED_GINI);
    return 1;
}

#endif
