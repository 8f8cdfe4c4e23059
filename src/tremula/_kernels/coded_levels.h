/* Nominal attributes, split in two sets of levels, and thresholds that are drawn. */
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
    if (tree->target == NUMBERS) fill_number_cells(tree, node, attribute, width, 0, n_levels);
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
    int64_t size = n_sums(tree, node), n_levels = tree->table.n_levels[attribute];
    double *left = tree->left_sums, *right = tree->left_sums + size;
    memset(left, 0, size * sizeof(double));
    for (int64_t i = 0; i < n_groups - 1; i++) {
        const double *sums = tree->group_sums + tree->group_keys[i].group * size;
        for (int64_t k = 0; k < size; k++) left[k] += sums[k];
        double worth = worth_of_branches(tree, node, left, all, right);
        if (!(worth > node->best.worth + node->slack)) continue;
        node->best = (CodedCut){worth, NAN, attribute, 0, 1, 0};
        memset(tree->best_branch_of_level, 2, n_levels);
        for (int64_t j = 0; j < n_groups; j++)
            tree->best_branch_of_level[tree->group_codes[tree->group_keys[j].group]] = j > i;
    }
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

#define FEW_VALUES 48          /* rows whose values are looked up all at once, */
#define NEAR_VALUES 64          /* unless there are at most so many to search */
#define NEAR_STEPS 3            /* values tried from where the threshold would be if they were evenly spread */

/* Codes that are gathered from the rows of a node, which vector instructions handle many at a time. */
#if CODE_WIDTH == 1
typedef uint8_t Code;
#elif CODE_WIDTH == 2
typedef uint16_t Code;
#else
typedef uint32_t Code;
#endif

IN_PLACE int64_t whole_blocks(int64_t n) { return (n + GATHERED_BLOCK - 1) & ~(int64_t)(GATHERED_BLOCK - 1); }

/* Gathers the codes of the node's rows into `keys`, the last block filled up with the first code; returns whether they
 * differ, and their range. */
IN_PLACE int gather_codes(CodedTree *tree, const OpenNode *node, int64_t attribute, uint32_t range[2]) {
    Code *codes = (Code *)tree->keys, least, largest;
    const uint8_t *values = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    int64_t n = node->n_rows, n_filled = whole_blocks(n), stride = tree->table.stride;
    if (node->is_local) {
        for (int64_t i = 0; i < n; i++) codes[i] = (Code)code_at(values + rows[i] * stride, CODE_WIDTH);
    } else {
        for (int64_t i = 0; i < n; i++) {
            codes[i] = (Code)code_at(values + rows[i] * stride, CODE_WIDTH);
            PREFETCH(values + rows[i + 2 * AHEAD] * stride);
        }
    }
    least = largest = codes[0];
    for (int64_t i = n; i < n_filled; i++) codes[i] = least;
    for (int64_t i = 0; i < n_filled; i++) {
        least = codes[i] < least ? codes[i] : least;
        largest = codes[i] > largest ? codes[i] : largest;
    }
    range[0] = least;
    range[1] = largest;
    return least < largest;
}

/* Sets bit i of the words where the code of row i is at most this one. */
IN_PLACE void mark_left_rows(CodedTree *tree, int64_t n, Code code, uint64_t *words) {
    const Code *codes = (const Code *)tree->keys;
    int64_t n_filled = whole_blocks(n), n_words = n_filled / GATHERED_BLOCK;
    uint8_t *is_left = (uint8_t *)(words + n_words);
    for (int64_t i = 0; i < n_filled; i++) is_left[i] = codes[i] <= code;
    for (int64_t w = 0; w < n_words; w++) {
        words[w] = 0;
        for (int byte = 0; byte < 8; byte++) {
            uint64_t eight;
            memcpy(&eight, is_left + w * GATHERED_BLOCK + 8 * byte, sizeof eight);
            words[w] |= eight * 0x0102040810204080ULL >> 56 << 8 * byte;        /* the low bits of eight bytes, side by side */
        }
    }
}

IN_PLACE uint32_t count_bits(const uint64_t *words, int64_t start, int64_t end) {
    int64_t first = start / GATHERED_BLOCK, last = (end - 1) / GATHERED_BLOCK;
    uint64_t from = ~(uint64_t)0 << start % GATHERED_BLOCK, to = ~(uint64_t)0 >> (GATHERED_BLOCK - 1 - (end - 1) % GATHERED_BLOCK);
    uint32_t count;
    if (first == last) return __builtin_popcountll(words[first] & from & to);
    count = __builtin_popcountll(words[first] & from) + __builtin_popcountll(words[last] & to);
    for (int64_t w = first + 1; w < last; w++) count += __builtin_popcountll(words[w]);
    return count;
}

/* Counts the rows left of a cut by class. Rows are in the order of their classes: bits, where each row counts once, or
 * differences of running sums tell. */
IN_PLACE void count_gathered(CodedTree *tree, const OpenNode *node, uint32_t code) {
    const Code *codes = (const Code *)tree->keys;
    const uint32_t *marks = tree->node_marks;
    uint32_t *sums = (uint32_t *)tree->spare_keys, sum = 0, before = 0;
    if (tree->is_each_row_once) {
        int64_t start = 0;
        mark_left_rows(tree, node->n_rows, (Code)code, tree->spare_keys);
        for (int64_t k = 0; k < node->n_classes; k++) {
            tree->left[k] = count_bits(tree->spare_keys, start, tree->class_end[k]);
            start = tree->class_end[k];
        }
        return;
    }
    for (int64_t i = 0; i < node->n_rows; i++) {
        sum += marks[i] & COUNT_MASK & -(uint32_t)(codes[i] <= code);       /* without a branch, hard to predict */
        sums[i] = sum;
    }
    for (int64_t k = 0; k < node->n_classes; k++) {
        uint32_t here = sums[tree->class_end[k] - 1];
        tree->left[k] = here - before;
        before = here;
    }
}

/* The worth of a cut after a code, from the gathered codes; NaN if a side is too light. */
IN_PLACE double worth_of_gathered(CodedTree *tree, const OpenNode *node, uint32_t code, int criterion) {
    const Code *codes = (const Code *)tree->keys;
    int64_t n = node->n_rows, weight = 0, sum = 0, left_squares = 0, right_squares = 0, k;
    if (criterion == CODED_VARIANCE) {
        if (tree->is_each_row_once) {
            for (int64_t i = 0; i < n; i++) {
                int32_t mask = -(int32_t)(codes[i] <= (Code)code);
                weight -= mask;
                sum += tree->node_targets[i] & mask;
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                int64_t count = tree->node_marks[i] & -(uint32_t)(codes[i] <= code);
                weight += count;
                sum += count * tree->node_targets[i];
            }
        }
        if (weight < node->least || node->total - weight < node->least) return NAN;
        return level_of_sums((double)sum, (double)weight, (double)(node->sum - sum), (double)(node->total - weight)) -
               node->within;
    }
    count_gathered(tree, node, code);
    if (criterion == CODED_ENTROPY) {
        double *left = tree->left_sums, *right = left + node->n_classes, *all = right + node->n_classes;
        for (k = 0; k < node->n_classes; k++) left[k] = tree->left[k];
        sum_of_node(tree, node, all);
        return worth_of_branches(tree, node, left, all, right);
    }
    for (k = 0; k < node->n_classes; k++) {
        int64_t left = tree->left[k], right = tree->totals[k] - left;
        weight += left;
        left_squares += left * left;
        right_squares += right * right;
    }
    if (weight < node->least || node->total - weight < node->least) return NAN;
    return (double)left_squares / (double)weight + (double)right_squares / (double)(node->total - weight) - node->within;
}

/* Largest code of the gathered ones whose values are at most the threshold; the one before the range if there is none.
 * Few values are looked up all at once: they may be far away. Else it is looked for near a guess, and then the range is
 * halved, without a branch. */
IN_PLACE int64_t code_up_to(const CodedTree *tree, const OpenNode *node, int64_t attribute, const uint32_t range[2],
                            double threshold) {
    const double *high = tree->table.high + tree->table.first[attribute];
    const Code *codes = (const Code *)tree->keys;
    int64_t last = (int64_t)range[0] - 1, n_left = (int64_t)range[1] - range[0] + 1;
    double share = (threshold - high[range[0]]) / (high[range[1]] - high[range[0]]);
    if (node->n_rows <= FEW_VALUES && n_left > NEAR_VALUES) {
        for (int64_t i = 0; i < node->n_rows; i++) {
            int64_t code = high[codes[i]] <= threshold ? (int64_t)codes[i] : last;
            last = code > last ? code : last;
        }
        return last;
    }
    if (share > 0.0 && share < 1.0) {
        int64_t guess = range[0] + (int64_t)(share * (double)(range[1] - range[0]));
        for (int step = 0; step < NEAR_STEPS; step++) {
            if (high[guess] > threshold) guess--;
            else if (high[guess + 1] <= threshold) guess++;
            else return guess;
        }
    }
    while (n_left > 0) {
        int64_t half = n_left - n_left / 2;
        last += half & -(int64_t)(high[last + half] <= threshold);
        n_left -= half;
    }
    return last;
}

IN_PLACE void judge_drawn_cut(CodedTree *tree, OpenNode *node, int64_t attribute, int64_t code, double threshold,
                              int criterion) {
    double worth = worth_of_gathered(tree, node, (uint32_t)code, criterion);
    if (worth > node->best.worth + node->slack) node->best = (CodedCut){worth, threshold, attribute, code, 0, 0};
}

/* The least of the gathered codes above that of missing values, which is 0. */
IN_PLACE uint32_t least_known(const CodedTree *tree, const OpenNode *node) {
    const Code *codes = (const Code *)tree->keys;
    uint32_t least = UINT32_MAX;
    for (int64_t i = 0; i < node->n_rows; i++) least = (uint32_t)codes[i] - 1 < least - 1 ? codes[i] : least;
    return least;
}

/* A threshold inside a bin would divide rows that have one code: it moves to the gap before the bin. */
IN_PLACE double between_bins(const CodedTree *tree, int64_t attribute, const uint32_t range[2], double threshold) {
    const double *low = tree->table.low + tree->table.first[attribute];
    const double *high = tree->table.high + tree->table.first[attribute];
    int64_t before = range[0], after = range[1];
    double middle;
    if (low == high) return threshold;                                      /* each code is one value */
    while (after - before > 1) {
        int64_t half = before + (after - before) / 2;
        if (high[half] <= threshold) before = half;
        else after = half;
    }
    if (threshold < low[after]) return threshold;
    middle = high[before] / 2 + low[after] / 2;
    return middle >= high[before] && middle < low[after] ? middle : high[before];
}

/* Extra trees: one threshold, drawn uniformly between the least and the largest value in the node; with bins, between the
 * end of the first and the start of the last. Rows without a value are tried on either side of it, and alone against the
 * others. */
IN_PLACE int judge_drawn_with(CodedTree *tree, OpenNode *node, int64_t attribute, int criterion) {
    const CodedTable *table = &tree->table;
    uint32_t range[2], all_codes[2];
    double low, high, threshold;
    int64_t code;
    int has_missing;
    if (!gather_codes(tree, node, attribute, range)) return 0;
    has_missing = table->twins[attribute] >= 0 && range[0] == 0;
    if (has_missing) {
        range[0] = least_known(tree, node);
        judge_drawn_cut(tree, node, attribute, 0, -INFINITY, criterion);
        if (range[0] == range[1]) return 1;
    }
    low = table->high[table->first[attribute] + range[0]];
    high = table->low[table->first[attribute] + range[1]];
    threshold = low + tree->random->next_double(tree->random->state) * (high - low);
    if (!(threshold < high)) threshold = low;
    threshold = between_bins(tree, attribute, range, threshold);
    if (node->n_rows == 2 && node->best.attribute >= 0) return 1;       /* two rows are divided in one way only */
    code = node->n_rows == 2 ? (int64_t)range[0] : code_up_to(tree, node, attribute, range, threshold);
    judge_drawn_cut(tree, node, attribute, code, threshold, criterion);
    if (has_missing) {
        gather_codes(tree, node, table->twins[attribute], all_codes);
        judge_drawn_cut(tree, node, table->twins[attribute], code - 1, threshold, criterion);
    }
    return 1;
}

NOT_IN_PLACE int judge_drawn(CodedTree *tree, OpenNode *node, int64_t attribute) {
    int criterion = tree->rules.criterion;
    if (criterion == CODED_GINI) return judge_drawn_with(tree, node, attribute, CODED_GINI);
    if (criterion == CODED_ENTROPY) return judge_drawn_with(tree, node, attribute, CODED_ENTROPY);
    return judge_drawn_with(tree, node, attribute, CODED_VARIANCE);
}

#endif
