/* Shapley values of a tree, for several rows at once.
 *
 * Every leaf is a game of products: attribute i contributes a factor `with` if its value is known and `without` if not,
 * and the leaf's value times the product of all factors is what a set of known attributes is worth. Its Shapley value is
 * the integral over t in [0, 1] of (with - without) times the product, over the other attributes, of
 * without + t (with - without). That is a polynomial in t, so a Gauss-Legendre sum of enough points is exact.
 *
 * The tree is walked depth first. Slot d of the scratch arrays belongs to the node of depth d on the way to the node at
 * hand. Slot 0, of the root, has the factor 1. Sums have a fixed order: the versions for different processors round alike.
 */
#ifndef TREMULA_SHAPLEY_H
#define TREMULA_SHAPLEY_H

#include <stdint.h>

#define SHAPLEY_LANES 8         /* rows at once */

typedef struct {
    int32_t n_nodes, n_outputs, n_points;
    const int32_t *attribute;       /* of the test that leads to each node, -1 at the root */
    const int32_t *first_child, *n_branches, *depth;
    const int32_t *earlier_depth;   /* of the node above that an earlier test of the same attribute leads to, else 0 */
    const int32_t *active_start;    /* for each leaf, the depths of the last test of each attribute on its path */
    const int32_t *active_depth;
    const int32_t *value_row;       /* of each leaf */
    const int32_t *value_start;     /* for each row of values, the outputs in which it is not 0 */
    const int32_t *value_output;
    const double *value;
    const double *points, *weights; /* of the quadrature */
} ShapleyTree;

typedef struct {
    double *product;                /* (depth + 1, n_points, lanes): of all factors */
    double *inverse;                /* (depth + 1, n_points, lanes): of the factor of the slot's attribute */
    double *difference;             /* (depth + 1, lanes): with - without */
    double *weighted;               /* (n_points, lanes) */
    int32_t *on_path;               /* (depth + 1): the attribute of each slot */
    uint8_t *is_different;          /* (depth + 1): whether the difference is not 0 in some lane */
    int32_t *stack;                 /* (n_nodes) */
} ShapleyScratch;

#if defined(__GNUC__)
#define SHAPLEY_INLINE static inline __attribute__((always_inline))
#else
#define SHAPLEY_INLINE static inline
#endif

/* Fill the slot of a node; returns whether its subtree matters for some lane. */
SHAPLEY_INLINE int enter_node(
    const ShapleyTree *tree, const ShapleyScratch *scratch, int32_t node, const double *restrict with,
    const double *restrict without) {
    const int32_t depth = tree->depth[node];
    const long size = (long)tree->n_points * SHAPLEY_LANES;
    const double *restrict above = scratch->product + (depth - 1) * size;
    const double *restrict earlier = scratch->inverse + tree->earlier_depth[node] * size;
    double *restrict product = scratch->product + depth * size;
    double *restrict inverse = scratch->inverse + depth * size;
    double *restrict difference = scratch->difference + depth * SHAPLEY_LANES;
    int is_different = 0, is_alive = 0;
    for (int lane = 0; lane < SHAPLEY_LANES; lane++) {
        difference[lane] = with[lane] - without[lane];
        is_different |= difference[lane] != 0.0;
    }
    for (int point = 0; point < tree->n_points; point++) {
        const double t = tree->points[point];
        for (int lane = 0; lane < SHAPLEY_LANES; lane++) {
            const long at = point * SHAPLEY_LANES + lane;
            const double factor = without[lane] + t * difference[lane];
            product[at] = above[at] * earlier[at] * factor;
            inverse[at] = 1.0 / (factor + (factor == 0.0));     /* where it is 0, so is the product */
        }
    }
    /* In the middle, where every factor is at least half of its larger end; near 0 and 1 long products may underflow. */
    const long middle = tree->n_points / 2 * SHAPLEY_LANES;
    for (int lane = 0; lane < SHAPLEY_LANES; lane++) is_alive |= product[middle + lane] != 0.0;
    scratch->on_path[depth] = tree->attribute[node];
    scratch->is_different[depth] = is_different;
    return is_alive;
}

/* Add the Shapley values of one leaf, whose slot is filled, to `out` (n_attributes, n_outputs, lanes). */
SHAPLEY_INLINE void add_leaf(const ShapleyTree *tree, const ShapleyScratch *scratch, int32_t node, double *restrict out) {
    const long size = (long)tree->n_points * SHAPLEY_LANES;
    const int32_t row = tree->value_row[node];
    const double *restrict product = scratch->product + tree->depth[node] * size;
    double *restrict weighted = scratch->weighted;
    for (int point = 0; point < tree->n_points; point++)
        for (int lane = 0; lane < SHAPLEY_LANES; lane++)
            weighted[point * SHAPLEY_LANES + lane] = tree->weights[point] * product[point * SHAPLEY_LANES + lane];
    for (int32_t k = tree->active_start[node]; k < tree->active_start[node + 1]; k++) {
        const int32_t depth = tree->active_depth[k];
        if (!scratch->is_different[depth]) continue;
        const double *restrict inverse = scratch->inverse + depth * size;
        const double *restrict difference = scratch->difference + depth * SHAPLEY_LANES;
        double share[SHAPLEY_LANES] = {0.0};
        for (int point = 0; point < tree->n_points; point++)
            for (int lane = 0; lane < SHAPLEY_LANES; lane++)
                share[lane] += weighted[point * SHAPLEY_LANES + lane] * inverse[point * SHAPLEY_LANES + lane];
        for (int lane = 0; lane < SHAPLEY_LANES; lane++) share[lane] *= difference[lane];
        double *restrict sums = out + (long)scratch->on_path[depth] * tree->n_outputs * SHAPLEY_LANES;
        for (int32_t v = tree->value_start[row]; v < tree->value_start[row + 1]; v++)
            for (int lane = 0; lane < SHAPLEY_LANES; lane++)
                sums[tree->value_output[v] * SHAPLEY_LANES + lane] += share[lane] * tree->value[v];
    }
}

/* Add the Shapley values of all leaves; `with` and `without` have the shape (n_nodes, lanes). */
SHAPLEY_INLINE void walk_tree(
    const ShapleyTree *tree, const ShapleyScratch *scratch, const double *with, const double *without, double *out) {
    const long size = (long)tree->n_points * SHAPLEY_LANES;
    long n_waiting = 1;
    for (long at = 0; at < size; at++) scratch->product[at] = scratch->inverse[at] = 1.0;
    scratch->stack[0] = 0;
    while (n_waiting > 0) {
        const int32_t node = scratch->stack[--n_waiting];
        const long at = (long)node * SHAPLEY_LANES;
        if (node > 0 && !enter_node(tree, scratch, node, with + at, without + at)) continue;
        if (tree->n_branches[node] == 0) add_leaf(tree, scratch, node, out);
        for (int32_t branch = tree->n_branches[node] - 1; branch >= 0; branch--)
            scratch->stack[n_waiting++] = tree->first_child[node] + branch;
    }
}

static void walk_plain(
    const ShapleyTree *tree, const ShapleyScratch *scratch, const double *with, const double *without, double *out) {
    walk_tree(tree, scratch, with, without, out);
}

static void (*add_shapley_values)(
    const ShapleyTree *, const ShapleyScratch *, const double *, const double *, double *) = walk_plain;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void walk_avx2(
    const ShapleyTree *tree, const ShapleyScratch *scratch, const double *with, const double *without, double *out) {
    walk_tree(tree, scratch, with, without, out);
}

static void choose_processor(int plain) {
    __builtin_cpu_init();
    add_shapley_values = !plain && __builtin_cpu_supports("avx2") ? walk_avx2 : walk_plain;
}
#else
static void choose_processor(int plain) { (void)plain; }
#endif

static inline int count_bits(uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_popcountll(bits);
#else
    int n = 0;
    for (; bits; bits &= bits - 1) n++;
    return n;
#endif
}

/* Number of the lowest bit that is set; there must be one. */
static inline int lowest_bit(uint64_t bits) { return count_bits((bits & -bits) - 1); }

#endif
