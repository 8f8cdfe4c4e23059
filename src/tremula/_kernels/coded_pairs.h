/* The best cut of a numeric attribute for a numeric target, in nodes whose sums are exact in doubles: whole numbers, hence
 * those of `coded_numbers.h`. What is left of each cut is noted, and many cuts are judged at a time.
 */
#ifndef TREMULA_CODED_PAIRS_H
#define TREMULA_CODED_PAIRS_H

#include "coded_numbers.h"

#define PAIR_BLOCK 64           /* cuts that are judged together */
#define PAIR_TURNS 2            /* histograms that are filled in turn */

typedef struct {                /* what is left of the cuts */
    uint32_t codes[PAIR_BLOCK + 1];
    double sums[PAIR_BLOCK + REALS], weights[PAIR_BLOCK + REALS];
} PairBlock;

typedef struct {
    double sum, weight;         /* left of the cut */
    double total_sum, total_weight, least;
    double whole, worth, slack;
    int64_t best_code;
} PairWalk;

IN_PLACE PairWalk begin_pair_walk(const OpenNode *node) {
    return (PairWalk){0.0, 0.0, (double)node->sum, (double)node->total, (double)node->least, node->within,
                      node->best.worth, node->slack, -1};
}

IN_PLACE void end_pair_walk(OpenNode *node, const PairWalk *walk, int64_t attribute) {
    if (walk->best_code >= 0) node->best = (CodedCut){walk->worth, NAN, attribute, walk->best_code, 0, 0};
}

/* Moves a row, or the rows of a code, to the left. */
IN_PLACE void pass_pair(PairWalk *walk, const NumberPair *pair, PairBlock *block, int p, uint32_t code) {
    walk->sum += pair->sum;
    walk->weight += pair->weight;
    block->codes[p] = code;
    block->sums[p] = walk->sum;
    block->weights[p] = walk->weight;
}

/* Judges n cuts as `judge_number_cut` does, unless `codes` has the same code behind a cut. Cuts beyond n, which fill the
 * last vector, have no row on the left. */
IN_PLACE void judge_pair_block(PairWalk *walk, PairBlock *block, int n) {
    double worths[PAIR_BLOCK + REALS], bar = walk->worth + walk->slack;
    Flags is_above = {0};
    for (int i = 0; i < REALS; i++) block->sums[n + i] = 0.0;
    for (int i = 0; i < REALS; i++) block->weights[n + i] = 1.0;
    for (int p = 0; p < n; p += REALS) {
        Reals sum = *(const Reals *)(block->sums + p), weight = *(const Reals *)(block->weights + p);
        Reals other_sum = walk->total_sum - sum, other = walk->total_weight - weight;
        Reals worth = sum * sum / weight + other_sum * other_sum / other - walk->whole;
        *(Reals *)(worths + p) = worth;
        is_above |= worth > bar;
    }
    if (!any_flag(is_above)) return;
    for (int p = 0; p < n; p++)
        if (worths[p] > walk->worth + walk->slack && block->codes[p] != block->codes[p + 1] &&
            block->weights[p] >= walk->least && walk->total_weight - block->weights[p] >= walk->least) {
            walk->worth = worths[p];
            walk->best_code = block->codes[p];
        }
}

/* Few rows, sorted by comparing each with each. Returns whether the codes differ. */
IN_PLACE int judge_few_pairs(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    int n = (int)node->n_rows;
    const NumberPair *pairs = tree->node_pairs;
    uint8_t order[MAX_COMPARED];
    uint32_t codes[MAX_COMPARED];
    PairBlock block;
    if (!order_few_rows(tree, node, attribute, width, codes, order)) return 0;
    PairWalk walk = begin_pair_walk(node);
    for (int p = 0; p < n - 1; p++) pass_pair(&walk, pairs + order[p], &block, p, codes[order[p]]);
    block.codes[n - 1] = codes[order[n - 1]];
    judge_pair_block(&walk, &block, n - 1);
    end_pair_walk(node, &walk, attribute);
    return 1;
}

/* Many rows, sorted by their codes. Returns whether the codes differ. */
IN_PLACE int judge_sorted_pairs(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    const uint64_t *keys = sort_node(tree, node, attribute, width, NULL);
    const NumberPair *pairs = tree->node_pairs;
    PairBlock block;
    if (keys == NULL) return 0;
    PairWalk walk = begin_pair_walk(node);
    for (int64_t start = 0; start < node->n_rows - 1; start += PAIR_BLOCK) {
        int64_t left = node->n_rows - 1 - start;
        int n = (int)(left < PAIR_BLOCK ? left : PAIR_BLOCK);
        for (int p = 0; p < n; p++) {
            uint64_t key = keys[start + p];
            pass_pair(&walk, pairs + (uint32_t)key, &block, p, (uint32_t)(key >> 32));
        }
        block.codes[n] = (uint32_t)(keys[start + n] >> 32);
        judge_pair_block(&walk, &block, n);
    }
    end_pair_walk(node, &walk, attribute);
    return 1;
}

#if defined(__GNUC__)
typedef double TwoReals __attribute__((vector_size(16), may_alias, aligned(8)));
IN_PLACE void add_pair(NumberPair *cell, const NumberPair *pair) { *(TwoReals *)cell += *(const TwoReals *)pair; }
#else
IN_PLACE void add_pair(NumberPair *cell, const NumberPair *pair) {
    cell->sum += pair->sum;
    cell->weight += pair->weight;
}
#endif

/* Sums the rows of each code; in several histograms in turn, so that a row need not wait for the one before it where both
 * fall into the same cell. Compiled apart: other loops leave few registers. */
NOT_IN_PLACE void fill_pair_cells(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t n_codes) {
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    const NumberPair *pairs = tree->node_pairs;
    NumberPair *cells = (NumberPair *)tree->cells;
    int64_t n = node->n_rows, stride = tree->table.stride, ahead = node->is_local ? 0 : AHEAD, i = 0;
    int64_t step = n > PAIR_TURNS * n_codes ? n_codes : 0;
    memset(cells, 0, (step ? PAIR_TURNS : 1) * n_codes * sizeof(NumberPair));
    for (; i <= n - PAIR_TURNS; i += PAIR_TURNS)
        for (int turn = 0; turn < PAIR_TURNS; turn++) {
            NumberPair *cell = cells + turn * step + code_at(codes + rows[i + turn] * stride, CODE_WIDTH);
            PREFETCH(codes + rows[i + turn + ahead] * stride);
            add_pair(cell, pairs + i + turn);
        }
    for (; i < n; i++) add_pair(cells + code_at(codes + rows[i] * stride, CODE_WIDTH), pairs + i);
    for (int turn = 1; step && turn < PAIR_TURNS; turn++)
        for (int64_t code = 0; code < n_codes; code++) add_pair(cells + code, cells + turn * step + code);
}

/* The same where many rows have the code of row 0: its sums are what the others leave. */
NOT_IN_PLACE void fill_other_pairs(CodedTree *tree, const OpenNode *node, int64_t attribute, int64_t n_codes,
                                   int64_t start) {
    NumberPair *cells = (NumberPair *)tree->cells, rest = {(double)node->sum, (double)node->total};
    int64_t n_listed = list_other_codes(tree, node, attribute, start);
    memset(cells, 0, n_codes * sizeof(NumberPair));
    for (int64_t p = 0; p < n_listed; p++) {
        const NumberPair *pair = tree->node_pairs + (uint32_t)tree->keys[p];
        add_pair(cells + (tree->keys[p] >> 32), pair);
        rest.sum -= pair->sum;
        rest.weight -= pair->weight;
    }
    cells[code_of_row(tree, node, 0, attribute, CODE_WIDTH)] = rest;
}

/* A histogram with a bin for each code. Returns whether the codes differ. */
IN_PLACE int judge_pair_cells(CodedTree *tree, OpenNode *node, int64_t attribute, int width) {
    const NumberPair *cells = (const NumberPair *)tree->cells;
    PairBlock block;
    int n = 0;
    int64_t n_codes = tree->table.n_codes[attribute], other = first_other_code(tree, node, attribute, width);
    if (other == node->n_rows) return 0;
    if (other < COMMON_ROWS) fill_pair_cells(tree, node, attribute, n_codes);
    else fill_other_pairs(tree, node, attribute, n_codes, other);
    PairWalk walk = begin_pair_walk(node);
    for (uint32_t code = 0; walk.weight < walk.total_weight; code++) {
        pass_pair(&walk, cells + code, &block, n, code);
        n += cells[code].weight > 0.0;          /* a code without rows is written over */
        if (n < PAIR_BLOCK) continue;
        block.codes[n] = UINT32_MAX;
        judge_pair_block(&walk, &block, walk.weight < walk.total_weight ? n : n - 1);
        n = 0;
    }
    block.codes[n] = UINT32_MAX;
    if (n > 1) judge_pair_block(&walk, &block, n - 1);      /* all rows are left of the last */
    end_pair_walk(node, &walk, attribute);
    return 1;
}

#endif
