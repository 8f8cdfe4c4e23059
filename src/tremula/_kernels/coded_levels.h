/* Nominal attributes, split in two sets of levels. */
#ifndef TREMULA_CODED_LEVELS_H
#define TREMULA_CODED_LEVELS_H

#include "coded_weights.h"

IN_PLACE int64_t n_sums(const CodedTree *tree, const OpenNode *node) {
    return tree->target == NUMBERS ? 2 : node->n_classes;
}

/* What one branch adds to `within`; `sums` are class weights, or weight and sum. */
IN_PLACE double within_of_sums(const CodedTree *tree, const OpenNode *node, const double *sums, double weight) {
    double total = 0.0;
    if (weight <= 0.0) return 0.0;
    if (tree->target == NUMBERS) return sums[1] * sums[1] / weight;
    for (int64_t k = 0; k < node->n_classes; k++)
        if (sums[k] > 0.0) total += tree->rules.criterion == CODED_GINI ? sums[k] * sums[k] : quick_x_log_x(sums[k]);
    return tree->rules.criterion == CODED_GINI ? total / weight : total;
}

IN_PLACE double weight_of_sums(const CodedTree *tree, const OpenNode *node, const double *sums) {
    double weight = 0.0;
    if (tree->target == NUMBERS) return sums[0];
    for (int64_t k = 0; k < node->n_classes; k++) weight += sums[k];
    return weight;
}

/* The worth of two branches, the first of which has these sums; NaN if one is too light. */
static double worth_of_branches(const CodedTree *tree, const OpenNode *node, const double *left, const double *all,
                                double *right) {
    double weight = weight_of_sums(tree, node, left), other = node->weight - weight, within;
    double least = tree->rules.min_side_weight - 1e-9;
    if (weight < least || other < least || other <= 0.0 || weight <= 0.0) return NAN;
    for (int64_t k = 0; k < n_sums(tree, node); k++) right[k] = all[k] - left[k];
    within = within_of_sums(tree, node, left, weight) + within_of_sums(tree, node, right, other);
    if (tree->target == NUMBERS || tree->rules.criterion == CODED_GINI) return within - node->within;
    return (node->branches - node->within) - ((quick_x_log_x(weight) + quick_x_log_x(other)) - within);
}

IN_PLACE void add_to_sums(const CodedTree *tree, int64_t i, double share, double *sums) {
    uint32_t mark = tree->node_marks[i];
    if (tree->target == NUMBERS) {
        sums[0] += share * mark;
        sums[1] += share * ((double)tree->node_targets[i] * mark);
    } else {
        double weight = tree->target == CLASSES ? mark & COUNT_MASK : tree->node_weights[i];
        sums[mark >> CLASS_SHIFT_OF_MARK] += share * weight;
    }
}

static void sum_of_node(const CodedTree *tree, const OpenNode *node, double *sums) {
    if (tree->target == NUMBERS) {
        sums[0] = (double)node->total;
        sums[1] = (double)node->sum;
    } else {
        int is_counted = tree->target == CLASSES;
        for (int64_t k = 0; k < node->n_classes; k++) sums[k] = is_counted ? tree->totals[k] : tree->weight_totals[k];
    }
}

/* Sums of every level present, in ascending order, from a histogram; returns how many there are. */
IN_PLACE int64_t tabulate_few_levels(CodedTree *tree, const OpenNode *node, int64_t attribute, int width) {
    int64_t n_levels = tree->table.n_levels[attribute], size = n_sums(tree, node), n_groups = 0;
    const NumberCell *numbers = (const NumberCell *)tree->cells;
    const uint32_t *counts = (const uint32_t *)tree->cells;
    if (tree->target == NUMBERS) fill_target_codes(tree, node, attribute, n_levels);
    else fill_class_cells(tree, node, attribute, width, 0, n_levels);
    for (int64_t level = 0; level < n_levels; level++) {
        double *sums = tree->group_sums + n_groups * size;
        uint32_t any = 0;
        tree->group_codes[n_groups] = (int32_t)level;
        if (tree->target == NUMBERS) {
            sums[0] = (double)numbers[level].weight;
            sums[1] = (double)numbers[level].sum;
            n_groups += numbers[level].weight > 0;
            continue;
        }
        for (int64_t k = 0; k < size; k++) {
            any |= counts[level * size + k];
            sums[k] = counts[level * size + k];
        }
        n_groups += any != 0;
    }
    return n_groups;
}

/* The same for any number of levels. */
static int64_t tabulate_many_levels(CodedTree *tree, const OpenNode *node, int64_t attribute, int width) {
    int64_t n_levels = tree->table.n_levels[attribute], size = n_sums(tree, node), n_groups = 0;
    memset(tree->group_of_level, 0, n_levels * sizeof(int32_t));
    for (int64_t i = 0; i < node->n_rows; i++) tree->group_of_level[code_of_row(tree, node, i, attribute, width)] = 1;
    for (int64_t level = 0; level < n_levels; level++)
        if (tree->group_of_level[level]) {
            tree->group_codes[n_groups] = (int32_t)level;
            tree->group_of_level[level] = (int32_t)n_groups++;
        }
    memset(tree->group_sums, 0, n_groups * size * sizeof(double));
    for (int64_t i = 0; i < node->n_rows; i++) {
        int64_t group = tree->group_of_level[code_of_row(tree, node, i, attribute, width)];
        add_to_sums(tree, i, 1.0, tree->group_sums + group * size);
    }
    return n_groups;
}

static int compare_groups(const void *a, const void *b) {
    const GroupKey *first = (const GroupKey *)a, *second = (const GroupKey *)b;
    if (first->key != second->key) return first->key > second->key ? 1 : -1;
    return first->group > second->group ? 1 : -1;
}

/* Groups by the share of a class present in the node, or by the mean target; -1: by level. */
static void order_levels(CodedTree *tree, const OpenNode *node, int64_t n_groups, int64_t number) {
    int64_t size = n_sums(tree, node);
    for (int64_t group = 0; group < n_groups; group++) {
        const double *sums = tree->group_sums + group * size;
        double key = 0.0;
        int64_t place = group;
        if (tree->target == NUMBERS) key = sums[1] / sums[0];
        else if (number >= 0) key = sums[number] / weight_of_sums(tree, node, sums);
        if (n_groups <= 32)
            for (; place > 0 && tree->group_keys[place - 1].key > key; place--)
                tree->group_keys[place] = tree->group_keys[place - 1];
        tree->group_keys[place] = (GroupKey){key, group};
    }
    if (n_groups > 32) qsort(tree->group_keys, n_groups, sizeof(GroupKey), compare_groups);
}

static void judge_order(CodedTree *tree, OpenNode *node, int64_t attribute, int64_t n_groups, const double *all) {
    int64_t size = n_sums(tree, node), last = -1;
    double *left = tree->left_sums, *right = tree->left_sums + size;
    memset(left, 0, size * sizeof(double));
    for (int64_t i = 0; i < n_groups - 1; i++) {
        const double *sums = tree->group_sums + tree->group_keys[i].group * size;
        for (int64_t k = 0; k < size; k++) left[k] += sums[k];
        double worth = worth_of_branches(tree, node, left, all, right);
        if (!(worth > node->best.worth + node->slack)) continue;
        node->best = (CodedCut){worth, NAN, attribute, 0, 1, 0};
        last = i;
    }
    if (last < 0) return;  /* branches are written once: each of thousands of levels may be the best so far */
    memset(tree->best_branch_of_level, 2, tree->table.n_levels[attribute]);
    for (int64_t j = 0; j < n_groups; j++)
        tree->best_branch_of_level[tree->group_codes[tree->group_keys[j].group]] = j > last;
}

/* Cuts of the levels in the order of the mean target or of the share of one class: with more than two classes, of each
 * class in turn. A class that the node lacks orders levels by their number. */
IN_PLACE int judge_levels_with(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    int is_few = tree->table.n_levels[attribute] <= MAX_CELL_CODES && tree->target != WEIGHTED_CLASSES;
    int64_t n_groups = is_few ? tabulate_few_levels(tree, node, attribute, width)
                              : tabulate_many_levels(tree, node, attribute, width), k = 0;
    double *all = tree->left_sums + 2 * n_sums(tree, node);
    int has_lacking = 0;
    if (n_groups < 2) return 0;
    sum_of_node(tree, node, all);
    if (tree->target == NUMBERS || tree->n_classes <= 2) {
        int64_t lacks_first = tree->target != NUMBERS && tree->class_code[0] != 0;
        order_levels(tree, node, n_groups, lacks_first ? -1 : 0);
        judge_order(tree, node, attribute, n_groups, all);
        return 1;
    }
    for (int64_t code = 0; code < tree->n_classes; code++) {
        int is_present = k < node->n_classes && tree->class_code[k] == (uint32_t)code;
        if (!is_present && has_lacking) continue;
        order_levels(tree, node, n_groups, is_present ? k : -1);
        judge_order(tree, node, attribute, n_groups, all);
        k += is_present;
        has_lacking |= !is_present;
    }
    return 1;
}

/* A function of its own, which spares the compiler many copies. */
NOT_IN_PLACE int judge_levels(CodedTree *tree, OpenNode *node, int64_t attribute) {
    return judge_levels_with(tree, node, attribute, CODE_WIDTH);
}

#endif
