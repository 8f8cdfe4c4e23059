/* Sends many rows down one tree, or one row down many trees, eight at a time: their memory accesses overlap.
 *
 * A tree is an array of small nodes. A row stops at its leaf, or at the first split that asks for a value it does not
 * have. No step has a branch: a cell above the limit of a numeric split takes the second child, a level takes the child
 * that the table of branches says, and where a row stops it stays.
 */
#ifndef TREMULA_DESCENT_H
#define TREMULA_DESCENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define IN_PLACE static inline __attribute__((always_inline))
#else
#define IN_PLACE static inline
#endif

enum { N_LANES = 8, N_STEPS = 5 };      /* steps from one look at who has stopped to the next */
enum { N_TOGETHER = 128 };              /* descents that take turns; their cells should stay in cache */
enum { BYTES = 0, WORDS = 1, NUMBERS = 2 };    /* cells are places among the limits of splits, or numbers */
enum { PLAIN = 0, MISSING_NUMBERS = 1, LEVELS = 2 };    /* what splits and rows have to be followed with */
enum { MISSING_BYTE = 255 };            /* the cell of a missing number; in NUMBERS it is NaN */
#define MISSING_WORD UINT32_MAX
enum { UNKNOWN_LEVEL = 128, FIRST_ENTRY = 2 };  /* in the table of branches; its entry 1 is for missing numbers */
#define FIRST_LEVEL 4503599627370496.0  /* the cell of level 0 in NUMBERS; the low bits of such cells are the level */

/* Nodes. A leaf is its own first child, and no cell is above its limit. A nominal split has no limit but its first
 * entry in the table of branches.
 *
 * BYTES: a uint32_t of attribute | limit << 8 | child << 16.
 * WORDS: a uint64_t of attribute | child << 8 | limit << 32, in place of the limit NOMINAL | first entry.
 */
#define NOMINAL 0x80000000u

typedef struct {                /* NUMBERS */
    union {
        double limit;
        uint64_t first_entry;   /* with the high bits of a NaN, which no cell is above */
    };
    uint32_t attribute;         /* with the bit NOMINAL if that is what the split is */
    uint32_t child;
} NumberNode;

typedef struct {
    const void *nodes;
    const int32_t *answers;     /* of every leaf: the output that gets all, or ~row of `values`; of splits IS_SPLIT */
    const double *values;
    int32_t n_values, output;   /* values in a row, and the output of the first */
    int32_t is_vote;            /* whether one output gets all of every leaf, whatever its values */
} FlatTree;

#define IS_SPLIT INT32_MIN

typedef struct {
    void *cells;                /* of each row, `width` bytes or doubles */
    ptrdiff_t width;
    const uint8_t *table;       /* of branches */
    int form, kind;
} FlatRows;

typedef struct {
    ptrdiff_t n;
    uint32_t *row, *node;       /* of each descent its row, and where it is */
    uint32_t *moving;           /* scratch for n + N_LANES */
} Descents;

#if defined(__GNUC__)
#define FOR_LANES _Pragma("GCC unroll 8") for (int j = 0; j < N_LANES; j++)
#else
#define FOR_LANES for (int j = 0; j < N_LANES; j++)
#endif

/* Without a branch, which compilers might make of a choice. */
IN_PLACE uint32_t stay_or_go(uint32_t stays, uint32_t here, uint32_t next) {
    return here + ((next - here) & ((uint32_t)(stays != 0) - 1));
}

IN_PLACE uint32_t step_by_bytes(int kind, const uint32_t *nodes, uint32_t here, const uint8_t *cells) {
    const uint32_t node = nodes[here];
    const uint8_t cell = cells[node & 255];
    const uint32_t next = (node >> 16) + (cell > (node >> 8 & 255));
    return kind == PLAIN ? next : stay_or_go(cell == MISSING_BYTE, here, next);
}

IN_PLACE uint32_t step_by_words(
    int kind, const uint64_t *nodes, uint32_t here, const uint32_t *cells, const uint8_t *table
) {
    const uint64_t node = nodes[here];
    const uint32_t cell = cells[node & 255], limit = (uint32_t)(node >> 32);
    const uint32_t next = ((uint32_t)node >> 8) + (cell > limit);
    if (kind == PLAIN) return next;
    if (kind == MISSING_NUMBERS) return stay_or_go(cell == MISSING_WORD, here, next);
    const uint32_t if_nominal = (uint32_t)((int32_t)limit >> 31) >> 1;
    const uint8_t branch = table[((limit + cell) & if_nominal) | cell >> 31];
    return stay_or_go(branch & UNKNOWN_LEVEL, here, next + branch);
}

IN_PLACE uint32_t step_by_numbers(
    int kind, const NumberNode *nodes, uint32_t here, const double *cells, const uint8_t *table
) {
    const NumberNode *node = nodes + here;
    const double cell = cells[node->attribute & ~NOMINAL];
    const uint32_t next = node->child + (cell > node->limit);
    if (kind == PLAIN) return next;
    if (kind == MISSING_NUMBERS) return stay_or_go(cell != cell, here, next);
    const uint32_t if_nominal = (uint32_t)((int32_t)node->attribute >> 31);
    uint64_t level;
    memcpy(&level, &cell, sizeof level);
    const uint8_t branch = table[(((uint32_t)node->first_entry + (uint32_t)level) & if_nominal) | (cell != cell)];
    return stay_or_go(branch & UNKNOWN_LEVEL, here, next + branch);
}

IN_PLACE uint32_t step_from(
    int form, int kind, const void *nodes, uint32_t here, const void *cells, const uint8_t *table
) {
    if (form == BYTES) return step_by_bytes(kind, (const uint32_t *)nodes, here, (const uint8_t *)cells);
    if (form == WORDS) return step_by_words(kind, (const uint64_t *)nodes, here, (const uint32_t *)cells, table);
    return step_by_numbers(kind, (const NumberNode *)nodes, here, (const double *)cells, table);
}

/* Bytes of a cell. */
IN_PLACE ptrdiff_t cell_size_of(int form) { return form == BYTES ? 1 : form == WORDS ? 4 : 8; }

/* Follow all descents until none moves. They go down `tree`, or each one a tree of its own from there on. */
IN_PLACE void follow(
    int form, int kind, int is_row, const FlatTree *tree, const FlatRows *rows, const Descents *descents
) {
    const ptrdiff_t row_size = rows->width * cell_size_of(form);
    uint32_t *moving = descents->moving;
    ptrdiff_t n_moving = descents->n;
    for (ptrdiff_t i = 0; i < n_moving; i++) moving[i] = (uint32_t)i;
    while (n_moving > 0) {
        ptrdiff_t n_kept = 0;
        FOR_LANES moving[n_moving + j] = moving[n_moving - 1];
        for (ptrdiff_t i = 0; i < n_moving; i += N_LANES) {
            const void *nodes[N_LANES], *cells[N_LANES];
            uint32_t at[N_LANES], before[N_LANES];
            FOR_LANES {
                const uint32_t number = moving[i + j];
                nodes[j] = (is_row ? tree + number : tree)->nodes;
                cells[j] = (const char *)rows->cells + descents->row[number] * row_size;
                at[j] = descents->node[number];
            }
            for (int step = 1; step < N_STEPS; step++) {
                FOR_LANES at[j] = step_from(form, kind, nodes[j], at[j], cells[j], rows->table);
            }
            FOR_LANES before[j] = at[j];
            FOR_LANES at[j] = step_from(form, kind, nodes[j], at[j], cells[j], rows->table);
            FOR_LANES {
                const uint32_t number = moving[i + j];
                descents->node[number] = at[j];
                moving[n_kept] = number;
                n_kept += (at[j] != before[j]) & (i + j < n_moving);
            }
        }
        n_moving = n_kept;
    }
}

/* Follow them in portions whose cells stay in cache. */
IN_PLACE void follow_portions(
    int form, int kind, int is_row, const FlatTree *tree, const FlatRows *rows, const Descents *descents
) {
    for (ptrdiff_t first = 0; first < descents->n; first += N_TOGETHER) {
        const ptrdiff_t n_left = descents->n - first;
        const Descents portion = {
            n_left < N_TOGETHER ? n_left : N_TOGETHER, descents->row + first, descents->node + first, descents->moving
        };
        follow(form, kind, is_row, is_row ? tree + first : tree, rows, &portion);
    }
}

#define FOLLOW(is_row)                                                                                                 \
    switch (rows->form * 3 + rows->kind) {                                                                             \
    case BYTES * 3 + PLAIN: follow_portions(BYTES, PLAIN, is_row, tree, rows, descents); break;                        \
    case BYTES * 3 + MISSING_NUMBERS: follow_portions(BYTES, MISSING_NUMBERS, is_row, tree, rows, descents); break;    \
    case WORDS * 3 + PLAIN: follow_portions(WORDS, PLAIN, is_row, tree, rows, descents); break;                      \
    case WORDS * 3 + MISSING_NUMBERS: follow_portions(WORDS, MISSING_NUMBERS, is_row, tree, rows, descents); break;  \
    case WORDS * 3 + LEVELS: follow_portions(WORDS, LEVELS, is_row, tree, rows, descents); break;                    \
    case NUMBERS * 3 + PLAIN: follow_portions(NUMBERS, PLAIN, is_row, tree, rows, descents); break;                    \
    case NUMBERS * 3 + MISSING_NUMBERS: follow_portions(NUMBERS, MISSING_NUMBERS, is_row, tree, rows, descents); break;\
    case NUMBERS * 3 + LEVELS: follow_portions(NUMBERS, LEVELS, is_row, tree, rows, descents); break;                  \
    }

/* Each descent goes down the same tree. */
static void follow_rows(const FlatTree *tree, const FlatRows *rows, const Descents *descents) { FOLLOW(0) }

/* Each descent goes down a tree of its own, the first of them `tree`. */
static void follow_trees(const FlatTree *tree, const FlatRows *rows, const Descents *descents) { FOLLOW(1) }

#endif
