/* Thresholds that are drawn. */
#ifndef TREMULA_CODED_DRAWN_H
#define TREMULA_CODED_DRAWN_H

#include "coded_levels.h"
#include "coded_two.h"

#define FEW_VALUES 8            /* rows whose values are looked up all at once, */
#define NEAR_VALUES 64          /* unless there are at most so many to search */
#define FEW_CODES 12            /* whose range is found one by one */
#define NEAR_STEPS 3            /* values tried from where the threshold would be if they were evenly spread */

/* Codes that are gathered from the rows of a node; where a table holds them as doubles, they are the values. */
#if CODE_WIDTH == 1
typedef uint8_t Code;
#elif CODE_WIDTH == 2
typedef uint16_t Code;
#elif CODE_WIDTH == 4
typedef uint32_t Code;
#else
typedef double Code;
#endif

IN_PLACE Code gathered_code(const uint8_t *address) {
    Code code;
    memcpy(&code, address, sizeof code);
    return code;
}

#define LANES (32 / (int64_t)sizeof(Code))          /* that a vector holds */
#define FILLED (LANES > 16 ? LANES : 16)            /* gathered codes fill a multiple of so many; most nodes have few rows */

IN_PLACE int64_t whole_vectors(int64_t n) { return (n + FILLED - 1) & ~(FILLED - 1); }

/* Compares the first lanes with as many others. */
IN_PLACE void halve_lanes(Code *least, Code *largest, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        least[k] = least[k + n] < least[k] ? least[k + n] : least[k];
        largest[k] = largest[k + n] > largest[k] ? largest[k + n] : largest[k];
    }
}

/* The least and the largest of some codes, which fill whole vectors; lane by lane, as these are compared. */
IN_PLACE void find_range(const Code *codes, int64_t n_filled, Code range[2]) {
    Code least[LANES], largest[LANES];
    for (int64_t k = 0; k < LANES; k++) least[k] = largest[k] = codes[k];
    for (int64_t i = LANES; i < n_filled; i += LANES)
        for (int64_t k = 0; k < LANES; k++) {
            least[k] = codes[i + k] < least[k] ? codes[i + k] : least[k];
            largest[k] = codes[i + k] > largest[k] ? codes[i + k] : largest[k];
        }
    halve_lanes(least, largest, LANES / 2);
    if (LANES > 4) halve_lanes(least, largest, LANES / 4);
    if (LANES > 8) halve_lanes(least, largest, LANES / 8);
    if (LANES > 16) halve_lanes(least, largest, LANES / 16);
    halve_lanes(least, largest, 1);
    range[0] = least[0];
    range[1] = largest[0];
}

/* The same of few codes: most nodes have no more. */
IN_PLACE void find_range_of_few(const Code *codes, int64_t n, Code range[2]) {
    Code least = codes[0], largest = codes[0];
    for (int64_t i = 1; i < n; i++) {
        least = codes[i] < least ? codes[i] : least;
        largest = codes[i] > largest ? codes[i] : largest;
    }
    range[0] = least;
    range[1] = largest;
}

/* Gathers the codes of the node's rows into `keys`, the last vector filled up with the first code; returns whether they
 * differ, and their range. */
IN_PLACE int gather_codes(CodedTree *tree, const OpenNode *node, int64_t attribute, Code range[2]) {
    Code *codes = (Code *)tree->keys;
    const uint8_t *address = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    int64_t n = node->n_rows, n_filled = whole_vectors(n), stride = tree->table.stride;
    if (node->is_local) {
        for (int64_t i = 0; i < n; i++) codes[i] = gathered_code(address + rows[i] * stride);
    } else {
        for (int64_t i = 0; i < n; i++) {
            codes[i] = gathered_code(address + rows[i] * stride);
            PREFETCH(address + rows[i + 2 * AHEAD] * stride);
        }
    }
    for (int64_t i = n; i < n_filled; i++) codes[i] = codes[0];
    if (n <= FEW_CODES) find_range_of_few(codes, n, range);
    else find_range(codes, n_filled, range);
    return range[0] < range[1];
}

/* Sets bit i of the words where the code of row i is at most this one. */
IN_PLACE void mark_left_rows(CodedTree *tree, int64_t n, Code code, uint64_t *words) {
    const Code *codes = (const Code *)tree->keys;
    int64_t n_filled = whole_vectors(n), n_words = (n_filled + GATHERED_BLOCK - 1) / GATHERED_BLOCK;
    uint8_t *is_left = (uint8_t *)(words + n_words);
    for (int64_t i = 0; i < n_filled; i++) is_left[i] = codes[i] <= code;
    for (int64_t w = 0; w < n_words; w++) {
        int64_t n_bytes = (n_filled - w * GATHERED_BLOCK) / 8;
        words[w] = 0;
        for (int byte = 0; byte < (n_bytes < 8 ? n_bytes : 8); byte++) {
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
IN_PLACE void count_gathered(CodedTree *tree, const OpenNode *node, Code code) {
    const Code *codes = (const Code *)tree->keys;
    const uint32_t *marks = tree->node_marks;
    uint32_t *sums = (uint32_t *)tree->spare_keys, sum = 0, before = 0;
    if (tree->is_each_row_once) {
        int64_t start = 0;
        mark_left_rows(tree, node->n_rows, code, tree->spare_keys);
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

/* The worth of a cut by the weight left of it and the sum of the target there; NaN if a side is too light. */
IN_PLACE double worth_of_sums(const OpenNode *node, int64_t weight, int64_t sum) {
    if (weight < node->least || node->total - weight < node->least) return NAN;
    return level_of_sums((double)sum, (double)weight, (double)(node->sum - sum), (double)(node->total - weight)) -
           node->within;
}

/* The same by the counts of the classes, in `left`. */
IN_PLACE double worth_of_counts(CodedTree *tree, const OpenNode *node, int criterion) {
    int64_t weight = 0, left_squares = 0, right_squares = 0, k;
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

/* The worth of a cut after a code, from the gathered codes; NaN if a side is too light. */
IN_PLACE double worth_of_gathered(CodedTree *tree, const OpenNode *node, Code code, int criterion) {
    const Code *codes = (const Code *)tree->keys;
    int64_t n = node->n_rows, weight = 0, sum = 0;
    if (criterion == CODED_VARIANCE) {
        if (tree->is_each_row_once) {
            for (int64_t i = 0; i < n; i++) {
                int32_t mask = -(int32_t)(codes[i] <= code);
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
        return worth_of_sums(node, weight, sum);
    }
    count_gathered(tree, node, code);
    return worth_of_counts(tree, node, criterion);
}

/* `cut` is the code; where codes are values, the threshold. */
IN_PLACE void judge_drawn_cut(CodedTree *tree, OpenNode *node, int64_t attribute, Code cut, double threshold,
                              int criterion) {
    double worth = worth_of_gathered(tree, node, cut, criterion);
    int64_t code = CODE_WIDTH < 8 ? (int64_t)cut : 0;
    if (worth > node->best.worth + node->slack) node->best = (CodedCut){worth, threshold, attribute, code, 0, 0};
}

#if CODE_WIDTH < 8

/* Largest code of the gathered ones whose values are at most the threshold; the one before the range if there is none.
 * Few values are looked up all at once: they may be far away. Else it is looked for near a guess, and then the range is
 * halved, without a branch. */
IN_PLACE int64_t code_up_to(const CodedTree *tree, const OpenNode *node, int64_t attribute, const Code range[2],
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

/* The least of the gathered codes above that of missing values, which is 0. */
IN_PLACE uint32_t least_known(const CodedTree *tree, const OpenNode *node) {
    const Code *codes = (const Code *)tree->keys;
    uint32_t least = UINT32_MAX;
    for (int64_t i = 0; i < node->n_rows; i++) least = (uint32_t)codes[i] - 1 < least - 1 ? codes[i] : least;
    return least;
}

/* A threshold inside a bin would divide rows that have one code: it moves to the gap before the bin. */
IN_PLACE double between_bins(const CodedTree *tree, int64_t attribute, const Code range[2], double threshold) {
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
    Code range[2], all_codes[2];
    double low, high, threshold;
    int64_t code;
    int has_missing;
    if (!gather_codes(tree, node, attribute, range)) return 0;
    has_missing = table->twins[attribute] >= 0 && range[0] == 0;
    if (has_missing) {
        range[0] = (Code)least_known(tree, node);
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
    judge_drawn_cut(tree, node, attribute, (Code)code, threshold, criterion);
    if (has_missing) {
        gather_codes(tree, node, table->twins[attribute], all_codes);
        judge_drawn_cut(tree, node, table->twins[attribute], (Code)(code - 1), threshold, criterion);
    }
    return 1;
}

#else

/* The same where codes are values, none of which is missing. */
IN_PLACE int judge_drawn_with(CodedTree *tree, OpenNode *node, int64_t attribute, int criterion) {
    Code range[2];
    double threshold;
    if (!gather_codes(tree, node, attribute, range)) return 0;
    threshold = range[0] + tree->random->next_double(tree->random->state) * (range[1] - range[0]);
    if (!(threshold < range[1])) threshold = range[0];
    if (node->n_rows == 2 && node->best.attribute >= 0) return 1;       /* two rows are divided in one way only */
    judge_drawn_cut(tree, node, attribute, threshold, threshold, criterion);
    return 1;
}

#endif

/* The same of an attribute of two values, which varies in the node: every threshold divides the rows in one way. */
NOT_IN_PLACE void judge_drawn_bits(CodedTree *tree, OpenNode *node, int64_t place, int64_t attribute, int criterion) {
    double low = tree->table.high[tree->table.first[attribute]], high = tree->table.low[tree->table.first[attribute] + 1];
    double threshold = low + tree->random->next_double(tree->random->state) * (high - low), worth;
    int64_t weight, sum;
    if (!(threshold < high)) threshold = low;
    if (node->n_rows == 2 && node->best.attribute >= 0) return;
    if (criterion == CODED_VARIANCE) {
        sum_first_value(tree, node, place, &weight, &sum);
        worth = worth_of_sums(node, weight, sum);
    } else {
        count_first_value(tree, node, place, tree->left);
        worth = worth_of_counts(tree, node, criterion);
    }
    if (worth > node->best.worth + node->slack) node->best = (CodedCut){worth, threshold, attribute, 0, 0, 0};
}

NOT_IN_PLACE int judge_drawn(CodedTree *tree, OpenNode *node, int64_t attribute) {
    int criterion = tree->rules.criterion;
    if (criterion == CODED_GINI) return judge_drawn_with(tree, node, attribute, CODED_GINI);
    if (criterion == CODED_ENTROPY) return judge_drawn_with(tree, node, attribute, CODED_ENTROPY);
    return judge_drawn_with(tree, node, attribute, CODED_VARIANCE);
}

#endif
