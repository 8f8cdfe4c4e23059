/* The best cut of a numeric attribute by Gini's index or entropy: rows are counted by class.
 *
 * A walk goes from the smallest code to the largest and moves rows from the right of a cut to its left. All sums are
 * whole numbers, so they are exact and do not depend on the order of rows of one code.
 */
#ifndef TREMULA_CODED_CLASSES_H
#define TREMULA_CODED_CLASSES_H

#include "coded_sort.h"

typedef struct {
    uint32_t *left;             /* by class */
    const uint32_t *totals;
    int64_t n_classes;
    const int64_t *terms;       /* for entropy */
    int64_t left_term;          /* Gini: sum of squared counts left of the cut; entropy: sum of terms on both sides */
    int64_t right_term;
    int64_t weight, other;      /* left and right of the cut */
    int64_t total, least;
    int64_t best_code;
    double bar, slack, within;  /* Gini: what a cut must exceed */
    int64_t score_bar, score_slack;
} ClassWalk;

IN_PLACE void begin_class_walk(const CodedTree *tree, const OpenNode *node, ClassWalk *walk, int criterion) {
    *walk = (ClassWalk){tree->left, tree->totals, node->n_classes, tree->terms, 0, node->term, 0, node->total,
                        node->total, node->least, -1, 0.0, node->slack, 0.0, INT64_MIN, 0};
    memset(walk->left, 0, node->n_classes * sizeof(uint32_t));
    if (criterion == CODED_GINI) {
        walk->bar = node->best.worth + node->within + node->slack;
        return;
    }
    walk->left_term = node->term;
    walk->score_slack = (int64_t)(tree->rules.tolerance * node->weight / tree->term_unit);
    if (node->best.worth > -INFINITY)
        walk->score_bar = (int64_t)((node->best.worth - (node->branches - node->within)) / tree->term_unit) +
                          walk->score_slack;
}

/* Moves `count` rows of one class to the left. */
IN_PLACE void pass_rows(ClassWalk *walk, uint32_t number, int64_t count, int criterion) {
    int64_t left = walk->left[number], right = walk->totals[number] - left;
    walk->left[number] = (uint32_t)(left + count);
    walk->weight += count;
    walk->other -= count;
    if (criterion == CODED_GINI) {
        walk->left_term += count * (2 * left + count);
        walk->right_term -= count * (2 * right - count);
    } else {
        walk->left_term += walk->terms[left + count] - walk->terms[left] + walk->terms[right - count] -
                           walk->terms[right];
    }
}

/* Moves all rows of one code to the left; returns their weight. */
IN_PLACE int64_t pass_code(ClassWalk *walk, const uint32_t *cells, int criterion) {
    int64_t moved = 0, gained = 0, lost = 0;
    if (criterion != CODED_GINI) {
        for (int64_t k = 0; k < walk->n_classes; k++)
            if (cells[k]) {
                moved += cells[k];
                pass_rows(walk, (uint32_t)k, cells[k], criterion);
            }
        return moved;
    }
    for (int64_t k = 0; k < walk->n_classes; k++) {
        int64_t count = cells[k], left = walk->left[k], right = walk->totals[k] - left;
        gained += count * (2 * left + count);
        lost += count * (2 * right - count);
        moved += count;
        walk->left[k] = (uint32_t)(left + count);
    }
    walk->left_term += gained;
    walk->right_term -= lost;
    walk->weight += moved;
    walk->other -= moved;
    return moved;
}

/* Judges the cut after the rows passed. */
IN_PLACE void judge_class_cut(ClassWalk *walk, int64_t code, int criterion) {
    if (criterion == CODED_GINI) {
        double product = (double)walk->weight * (double)walk->other;
        double scaled = (double)walk->left_term * (double)walk->other + (double)walk->right_term * (double)walk->weight;
        if (scaled > walk->bar * product && walk->weight >= walk->least && walk->other >= walk->least) {
            walk->within = scaled / product;
            walk->bar = walk->within + walk->slack;
            walk->best_code = code;
        }
    } else {
        int64_t score = walk->left_term - walk->terms[walk->weight] - walk->terms[walk->other];
        if (score > walk->score_bar && walk->weight >= walk->least && walk->other >= walk->least) {
            walk->score_bar = score + walk->score_slack;
            walk->best_code = code;
        }
    }
}

IN_PLACE void end_class_walk(CodedTree *tree, OpenNode *node, const ClassWalk *walk, int64_t attribute,
                             int criterion) {
    int64_t score = walk->score_bar - walk->score_slack;
    if (walk->best_code < 0) return;
    node->best = (CodedCut){0.0, NAN, attribute, walk->best_code, 0, 0};
    if (criterion == CODED_GINI) {
        node->best.worth = walk->within - node->within;
        node->best.is_perfect = walk->within >= node->weight;
    } else {
        node->best.worth = (node->branches - node->within) + score * tree->term_unit;
        node->best.is_perfect = score >= 0;
    }
}

/* Two rows of different classes: every cut between them is perfect. */
IN_PLACE int judge_pair(const CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    uint32_t first = code_of_row(tree, node, 0, attribute, width), second = code_of_row(tree, node, 1, attribute, width);
    int64_t count = tree->node_marks[0] & COUNT_MASK, other = tree->node_marks[1] & COUNT_MASK;
    double worth = (criterion == CODED_GINI ? node->weight : node->branches) - node->within;
    if (first == second) return 0;
    if (worth > node->best.worth + node->slack && count >= node->least && other >= node->least)
        node->best = (CodedCut){worth, NAN, attribute, first < second ? first : second, 0, 1};
    return 1;
}

/* Few rows, sorted by comparing each with each. Returns whether the codes differ. */
IN_PLACE int judge_few_of_classes(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    int n = (int)node->n_rows;
    uint8_t order[MAX_COMPARED];
    uint32_t codes[MAX_COMPARED];
    ClassWalk walk;
    if (!order_few_rows(tree, node, attribute, width, codes, order)) return 0;
    begin_class_walk(tree, node, &walk, criterion);
    for (int p = 0; p < n - 1; p++) {
        uint32_t mark = tree->node_marks[order[p]];
        pass_rows(&walk, mark >> CLASS_SHIFT_OF_MARK, mark & COUNT_MASK, criterion);
        if (codes[order[p]] != codes[order[p + 1]]) judge_class_cut(&walk, codes[order[p]], criterion);
    }
    end_class_walk(tree, node, &walk, attribute, criterion);
    return 1;
}

/* Many rows, sorted by their codes. Returns whether the codes differ. */
IN_PLACE int judge_sorted_classes(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    const uint64_t *keys = sort_node(tree, node, attribute, width, tree->node_marks);
    ClassWalk walk;
    if (keys == NULL) return 0;
    begin_class_walk(tree, node, &walk, criterion);
    for (int64_t p = 0; p < node->n_rows - 1; p++) {
        pass_rows(&walk, (uint32_t)keys[p] >> CLASS_SHIFT_OF_MARK, keys[p] & COUNT_MASK, criterion);
        if ((keys[p] ^ keys[p + 1]) >> 32) judge_class_cut(&walk, keys[p] >> 32, criterion);
    }
    end_class_walk(tree, node, &walk, attribute, criterion);
    return 1;
}

/* Counts one row. */
IN_PLACE void count_row(const CodedTree *tree, const OpenNode *node, int64_t i, int64_t attribute, int width, int shift,
                        uint32_t *cells) {
    uint32_t mark = tree->node_marks[i], code = code_of_row(tree, node, i, attribute, width) >> shift;
    cells[code * node->n_classes + (mark >> CLASS_SHIFT_OF_MARK)] += mark & COUNT_MASK;
}

/* Counts the rows of each code, or of each bin of 2^shift codes, by class. Many rows are counted in two histograms in
 * turn: a row need not wait for the one before it where both fall into the same cell. */
IN_PLACE void fill_class_cells(CodedTree *tree, const OpenNode *node, int64_t attribute, int width, int shift,
                               int64_t n_bins) {
    uint32_t *cells = (uint32_t *)tree->cells;
    int64_t n = node->n_rows, n_cells = n_bins * node->n_classes, i = 0;
    uint32_t *others = n > 2 * n_cells ? cells + n_cells : cells;
    memset(cells, 0, (others - cells + n_cells) * sizeof(uint32_t));
    for (; i < n - 1; i += 2) {
        if (!node->is_local) {
            PREFETCH_CODE(tree, node, i, attribute);
            PREFETCH_CODE(tree, node, i + 1, attribute);
        }
        count_row(tree, node, i, attribute, width, shift, cells);
        count_row(tree, node, i + 1, attribute, width, shift, others);
    }
    if (i < n) count_row(tree, node, i, attribute, width, shift, cells);
    if (others != cells)
        for (int64_t cell = 0; cell < n_cells; cell++) cells[cell] += others[cell];
}

/* A histogram with a bin for each code. Returns whether the codes differ. */
IN_PLACE int judge_class_cells(CodedTree *tree, OpenNode *node, int64_t attribute, int width, int criterion) {
    const uint32_t *cells = (const uint32_t *)tree->cells;
    int n_seen = 0;
    ClassWalk walk;
    fill_class_cells(tree, node, attribute, width, 0, tree->table.n_codes[attribute]);
    begin_class_walk(tree, node, &walk, criterion);
    for (int64_t code = 0; walk.other > 0; code++)
        if (pass_code(&walk, cells + code * node->n_classes, criterion)) {
            n_seen++;
            if (walk.other > 0) judge_class_cut(&walk, code, criterion);
        }
    end_class_walk(tree, node, &walk, attribute, criterion);
    return n_seen > 1;
}

#endif
