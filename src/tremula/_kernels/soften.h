/* Sends a block of rows down a tree at once, each with a weight in every node: the chance that noise takes it there.
 *
 * A tree comes as a list, its nodes in the order of a descent, in two forms.
 *
 * As forks, if all its splits are numeric and no value of the block is missing: a fork shares out the weights between
 * its two branches, in the ratio in which its threshold divides what the tests above left of its attribute.
 *
 * As steps, for any tree and the derivative of one. The weight of a leaf is a product of widths, one for each
 * attribute tested on its path: the chance that the attribute's noisy value lies where all those tests want it.
 * A width is the difference of two columns, each with a number for every row of the block (the normal distribution
 * function at a threshold, say), and it is multiplied in only when no test of the attribute follows further down: so
 * nothing is ever divided, and what the descendants have in common is computed once.
 *
 * A subtree is left out where no row of the block has a weight there that is worth following.
 *
 * Forks need a division where the widths of steps need several products, each with two columns to fetch: in large trees
 * they take a third less time.
 *
 * Loops run over a fixed number of rows without a branch, so that compilers turn them into vector instructions. Products
 * and sums are never fused and the order of sums is fixed: the versions for different processors round alike.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64            /* rows in a block */
#define PROBE 8             /* rows of it that are looked at first */
#define FAR 8.3             /* beyond so many standard deviations the tail, 5e-17, counts as nothing */

#if defined(__GNUC__)
#define IN_PLACE static inline __attribute__((always_inline))
#else
#define IN_PLACE static inline
#endif

/* Several rows at once: compilers lower it to whatever registers there are. Elsewhere, one row. */
#if defined(__GNUC__)
#define LANES 4
#pragma GCC diagnostic ignored "-Wpsabi"    /* such values never leave this file */
typedef double Several __attribute__((vector_size(32), may_alias));
typedef int64_t Marks __attribute__((vector_size(32), may_alias));

IN_PLACE int is_any(Marks marks) { return (marks[0] | marks[1] | marks[2] | marks[3]) != 0; }

IN_PLACE Several at_least_0(Several weight) { return (Several)((Marks)weight & (weight > 0)); }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    if (!has_missing) return width;
    Marks known = width == width;
    Several share = {missing, missing, missing, missing};
    return (Several)(((Marks)width & known) | ((Marks)share & ~known));
}
#else
#define LANES 1
typedef double Several;
typedef int64_t Marks;

IN_PLACE int is_any(Marks marks) { return marks != 0; }

IN_PLACE Several at_least_0(Several weight) { return weight > 0 ? weight : 0; }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    return has_missing && width != width ? missing : width;
}
#endif

enum { NUMERIC = 0, SLOPE = 1, NOMINAL = 2 };

typedef struct {            /* width of what tests leave of an attribute: column `high` less column `low` */
    int32_t high, low;
    double missing;         /* in its place where the attribute's value is missing */
} Factor;

typedef struct {            /* a node: the weights in register `source` times its factors, kept in register `target` */
    int32_t source, target;
    int32_t first_factor, n_factors;
    int32_t split;          /* -1 in a leaf */
    int32_t next;           /* split: the step after all its descendants; leaf: its row of values */
} Step;

typedef struct {
    double threshold;
    double last;            /* the largest value that takes the first branch if there is no noise */
    double part;            /* of all nodes of the tree, those from here down; 0 where weights are not looked at */
    int32_t attribute, kind;
    int32_t column;         /* the column to fill; one for each branch where the split is nominal */
    int32_t first_open, n_open;     /* factors of attributes that are tested again further down */
    int32_t n_branches, n_levels;
    int32_t kept;           /* nominal: for each branch the share of every level that comes there, and their mean */
    int32_t is_pair;        /* two leaves with one factor each and one value each, of different outputs */
    int32_t low, middle, high;      /* numeric: columns of what is left of the attribute, and of where it is divided */
} Split;

enum { TO_FORK = 0, TO_ONE_VALUE = 1, TO_VALUES = 2 };

typedef struct {            /* where a fork's branch leads */
    double value;           /* of a leaf with one value */
    double part;            /* of all nodes of the tree, those from here down */
    int32_t kind;
    int32_t place;          /* a register; the output of one value; the row of several */
} Branch;

typedef struct {            /* a numeric split: the weights in register `source` are shared out between two branches */
    Branch left, right;
    int32_t source;
    int32_t split;
    int32_t column, low, middle, high;
    int32_t next;           /* the fork after all its descendants */
} Fork;

typedef struct {
    const Step *steps;
    const Split *splits;
    const Factor *factors, *open;
    const double *kept;
    const int32_t *value_start, *value_output;  /* of every row of values, those that are not 0 */
    const double *value;
    const double *mean;     /* of the values, for what is cut */
    double spread;          /* between the smallest and the largest value */
    int32_t n_steps;
    const Fork *forks;
    int32_t n_forks;        /* 0 where steps must do */
} Program;

typedef struct {            /* one block of rows and all that is computed for it */
    double *columns;        /* 0 and 1, then those shared by trees, then those of the tree at hand */
    uint8_t *is_filled;     /* of the shared columns */
    double *x, *inverse;    /* attributes by rows: values, and 1 / noise or 0 */
    double *out, *lost, *bound;
    int has_missing;
} Block;

typedef struct {
    const double *own, *others;         /* nominal levels: weight of the own level's share, and of the mean share */
    const int32_t *level_start;
    double *registers, *scratch;        /* scratch has room for two */
    uint8_t *is_light;                  /* for each register, whether no row weighs enough there to be followed */
    double tolerance;
    int32_t n_shared, n_outputs;
} Setting;

/* Polynomials are summed in pieces that do not wait for each other: it is waiting that takes the time. */

/* exp(y) for -40 < y <= 0: y = k ln 2 + r, and the series of exp(r) to the twelfth power. */
IN_PLACE double quick_exp(double y) {
    double k = y * 1.4426950408889634 + 6755399441055744.0, scale;
    int64_t bits;
    memcpy(&bits, &k, sizeof bits);
    k -= 6755399441055744.0;
    double r = (y - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10, r2 = r * r, r4 = r2 * r2;
    double low = (1.0 + r) + (1.0 / 2 + r * (1.0 / 6)) * r2;
    double middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
    double high = (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
    high += r4 * (1.0 / 479001600);
    bits = (int64_t)((uint64_t)bits << 52) + 0x3FF0000000000000LL;
    memcpy(&scale, &bits, sizeof scale);
    return (low + r4 * (middle + r4 * high)) * scale;
}

/* Normal distribution function: the rational form of Hart (1968, no. 5666) for exp(-z^2/2) times Mills' ratio. */
IN_PLACE double normal_below(double z) {
    double a = fabs(z);
    a = a > FAR ? FAR : a;  /* in this order NaN stays NaN */
    double a2 = a * a, a4 = a2 * a2;
    double even = (3.52624965998911e-02 * a2 + 6.37396220353165) * a4 + (112.079291497871 * a2 + 220.206867912376);
    double odd = 0.700383064443688 * a4 + (33.912866078383 * a2 + 221.213596169931);
    double below_even = (1.75566716318264 * a2 + 86.7807322029461) * a4 + (637.333633378831 * a2 + 440.413735824752);
    double below_odd = (8.83883476483184e-02 * a2 + 16.064177579207) * a4 + (296.564248779674 * a2 + 793.826512519948);
    double tail = quick_exp(-0.5 * a2) * ((even + a * odd) / (below_even + a * below_odd));
    tail = a == FAR ? 0.0 : tail;
    return z < 0 ? tail : 1.0 - tail;
}

IN_PLACE double normal_density(double z) {
    double a = fabs(z);
    a = a > FAR ? FAR : a;
    double height = 0.3989422804014327 * quick_exp(-0.5 * a * a);
    return a == FAR ? 0.0 : height;
}

/* Chance of a value up to the threshold; where there is no noise, whether it is; NaN where the value is missing. */
IN_PLACE void fill_below(const double *restrict x, const double *restrict inverse, double t, double last,
                         double *restrict out) {
    for (int j = 0; j < BLOCK; j++) {
        double soft = normal_below((t - x[j]) * inverse[j]);
        double hard = (x[j] <= last ? 1.0 : 0.0) + (x[j] - x[j]);
        out[j] = inverse[j] > 0 ? soft : hard;
    }
}

/* Its derivative in the value; 0 where there is no noise. */
IN_PLACE void fill_slope(const double *restrict x, const double *restrict inverse, double t, double *restrict out) {
    for (int j = 0; j < BLOCK; j++) out[j] = -normal_density((t - x[j]) * inverse[j]) * inverse[j];
}

static void fill_nominal(const Setting *setting, const Split *split, const double *kept, const double *x, double *out) {
    int32_t n_levels = split->n_levels, start = setting->level_start[split->attribute];
    for (int32_t branch = 0; branch < split->n_branches; branch++, kept += n_levels + 1, out += BLOCK)
        for (int j = 0; j < BLOCK; j++) {
            if (!(x[j] >= 0 && x[j] < n_levels)) {
                out[j] = NAN;
                continue;
            }
            int32_t level = (int32_t)x[j];
            out[j] = setting->own[start + level] * kept[level] + setting->others[start + level] * kept[n_levels];
        }
}

#define FOR_ROWS(n_rows) for (int j = 0; j < (n_rows) / LANES; j++)

IN_PLACE Several *column(const Block *block, int32_t number) {
    return (Several *)(block->columns + (int64_t)number * BLOCK);
}

IN_PLACE Several *output(const Block *block, int32_t number) {
    return (Several *)(block->out + (int64_t)number * BLOCK);
}

IN_PLACE Several *weights_in(const Setting *setting, int32_t number) {
    return (Several *)(setting->registers + (int64_t)number * BLOCK);
}

IN_PLACE void multiply(const Block *block, const Several *from, const Factor *factor, Several *to, int has_missing) {
    const Several *high = column(block, factor->high), *low = column(block, factor->low);
    double missing = factor->missing;
    FOR_ROWS(BLOCK) to[j] = from[j] * width_of(high[j], low[j], missing, has_missing);
}

/* Whether one of the first rows weighs more than a limit; registers lack the factors of attributes that are
 * tested further down. The weights are left in `reach`. */
IN_PLACE int any_above(const Block *block, const Factor *open, int n_open, const Several *weights, Several *reach,
                       double limit, int n_rows, int has_missing) {
    Marks marks = (Marks){0};
    FOR_ROWS(n_rows) {
        Several weight = weights[j];
        for (int k = 0; k < n_open; k++)
            weight *= width_of(column(block, open[k].high)[j], column(block, open[k].low)[j], open[k].missing, has_missing);
        reach[j] = weight;
        marks |= (weight > limit) | (weight < -limit);
    }
    return is_any(marks);
}

/* Whether no row weighs more at a split than may be cut; what they weigh is then noted as lost. */
IN_PLACE int is_light(const Setting *setting, const Program *program, const Block *block, const Split *split,
                      const Several *weights, int has_missing) {
    const Factor *open = program->open + split->first_open;
    double limit = setting->tolerance * split->part;
    Several *reach = (Several *)setting->scratch;
    if (any_above(block, open, split->n_open, weights, reach, limit, PROBE, has_missing) ||
        any_above(block, open, split->n_open, weights, reach, limit, BLOCK, has_missing))
        return 0;
    for (int j = 0; j < BLOCK; j++) block->lost[j] += fabs(setting->scratch[j]);
    return 1;
}

IN_PLACE void fill_columns(const Setting *setting, const Program *program, Block *block, const Split *split) {
    double *out = block->columns + (int64_t)split->column * BLOCK;
    const double *x = block->x + (int64_t)split->attribute * BLOCK;
    const double *inverse = block->inverse + (int64_t)split->attribute * BLOCK;
    if (split->kind == NOMINAL) {
        fill_nominal(setting, split, program->kept + split->kept, x, out);
        return;
    }
    if (split->column < setting->n_shared) {
        if (block->is_filled[split->column]) return;
        block->is_filled[split->column] = 1;
    }
    if (split->kind == NUMERIC) fill_below(x, inverse, split->threshold, split->last, out);
    else fill_slope(x, inverse, split->threshold, out);
}

IN_PLACE void add_leaf(const Setting *setting, const Program *program, const Block *block, const Step *step,
                       int has_missing) {
    const Several *weights = weights_in(setting, step->source);
    const Factor *factor = program->factors + step->first_factor;
    int32_t entry = program->value_start[step->next], end = program->value_start[step->next + 1];
    Several *product = (Several *)setting->scratch;
    if (step->n_factors == 1 && end == entry + 1) {         /* most leaves, compiled apart */
        const Several *high = column(block, factor->high), *low = column(block, factor->low);
        Several *out = output(block, program->value_output[entry]);
        double missing = factor->missing, value = program->value[entry];
        FOR_ROWS(BLOCK)
            out[j] += weights[j] * width_of(high[j], low[j], missing, has_missing) * value;
        return;
    }
    if (step->n_factors == 0) memcpy(product, weights, BLOCK * sizeof(double));
    else multiply(block, weights, factor, product, has_missing);
    for (int k = 1; k < step->n_factors; k++) multiply(block, product, factor + k, product, has_missing);
    for (; entry < end; entry++) {
        Several *out = output(block, program->value_output[entry]);
        double value = program->value[entry];
        FOR_ROWS(BLOCK) out[j] += product[j] * value;
    }
}

/* Two leaves at once, of what one threshold divides. */
IN_PLACE void add_pair(const Program *program, const Block *block, const Step *step, const Several *weights,
                       int has_missing) {
    const Step *other = step + 1;
    const Factor *left = program->factors + step->first_factor, *right = program->factors + other->first_factor;
    const Several *low = column(block, left->low), *middle = column(block, left->high);
    const Several *high = column(block, right->high);
    int32_t left_entry = program->value_start[step->next], right_entry = program->value_start[other->next];
    Several *left_out = output(block, program->value_output[left_entry]);
    Several *right_out = output(block, program->value_output[right_entry]);
    double left_value = program->value[left_entry], right_value = program->value[right_entry];
    double left_missing = left->missing, right_missing = right->missing;
    FOR_ROWS(BLOCK) {
        Several weight = weights[j], border = middle[j];
        left_out[j] += weight * width_of(border, low[j], left_missing, has_missing) * left_value;
        right_out[j] += weight * width_of(high[j], border, right_missing, has_missing) * right_value;
    }
}

/* What was cut counts with the mean of the tree's values, so that shares of classes still sum to 1. */
static void add_lost(const Setting *setting, const Program *program, Block *block) {
    double any = 0.0;
    for (int j = 0; j < BLOCK; j++) any += fabs(block->lost[j]);
    if (any == 0.0) return;
    for (int32_t k = 0; k < setting->n_outputs; k++)
        for (int j = 0; j < BLOCK; j++) block->out[(int64_t)k * BLOCK + j] += block->lost[j] * program->mean[k];
    for (int j = 0; j < BLOCK; j++) block->bound[j] += fabs(block->lost[j]) * program->spread;
    memset(block->lost, 0, BLOCK * sizeof(double));
}

IN_PLACE void run_steps(const Setting *setting, const Program *program, Block *block, int has_missing) {
    int32_t i = 0;
    while (i < program->n_steps) {
        const Step *step = program->steps + i;
        if (step->split < 0) {
            add_leaf(setting, program, block, step, has_missing);
            i++;
            continue;
        }
        const Split *split = program->splits + step->split;
        const Factor *factor = program->factors + step->first_factor;
        Several *weights = weights_in(setting, step->target);
        if (step->n_factors > 0) {
            multiply(block, weights_in(setting, step->source), factor, weights, has_missing);
            for (int k = 1; k < step->n_factors; k++) multiply(block, weights, factor + k, weights, has_missing);
        }
        if (split->part > 0 && is_light(setting, program, block, split, weights, has_missing)) {
            i = step->next;
            continue;
        }
        fill_columns(setting, program, block, split);
        i++;
        if (split->is_pair) {
            add_pair(program, block, program->steps + i, weights, has_missing);
            i += 2;
        }
    }
}

/* Added to a width it changes none above 1e-284; where a width is 0 so is the weight, and stays it. */
#define TINY 1e-300

/* Weights times the shares of the two branches, added to outputs by leaves or kept for forks: compiled for each kind.
 * The first test of an attribute divides a width of 1. Rounding may make a width less than 0, but no weight. */
IN_PLACE void share_out(const Block *block, const Fork *fork, const Several *weights, Several *left, Several *right,
                        double tolerance, uint8_t *is_light, int is_first, int left_ends, int right_ends) {
    const Several *low = column(block, fork->low), *high = column(block, fork->high);
    const Several *middle = column(block, fork->middle);
    double left_value = fork->left.value, right_value = fork->right.value;
    double left_limit = tolerance * fork->left.part, right_limit = tolerance * fork->right.part;
    Marks left_marks = (Marks){0}, right_marks = (Marks){0};
    FOR_ROWS(BLOCK) {
        Several weight = weights[j], border = middle[j], below, above;
        if (is_first) {
            below = weight * border;
            above = weight - below;
        } else {
            Several bottom = low[j], top = high[j], rest = weight / (top - bottom + TINY);
            below = at_least_0(rest * (border - bottom));
            above = at_least_0(rest * (top - border));
        }
        if (left_ends) left[j] += below * left_value;
        else left_marks |= below > left_limit, left[j] = below;
        if (right_ends) right[j] += above * right_value;
        else right_marks |= above > right_limit, right[j] = above;
    }
    if (!left_ends && fork->left.kind == TO_FORK) is_light[fork->left.place] = !is_any(left_marks);
    if (!right_ends && fork->right.kind == TO_FORK) is_light[fork->right.place] = !is_any(right_marks);
}

IN_PLACE void add_values(const Program *program, const Block *block, int32_t row, const Several *weights) {
    for (int32_t entry = program->value_start[row]; entry < program->value_start[row + 1]; entry++) {
        Several *out = output(block, program->value_output[entry]);
        double value = program->value[entry];
        FOR_ROWS(BLOCK) out[j] += weights[j] * value;
    }
}

IN_PLACE Several *goal(const Setting *setting, const Block *block, const Branch *branch, int number) {
    if (branch->kind == TO_FORK) return weights_in(setting, branch->place);
    if (branch->kind == TO_ONE_VALUE) return output(block, branch->place);
    return (Several *)(setting->scratch + (int64_t)number * BLOCK);
}

IN_PLACE void run_forks(const Setting *setting, const Program *program, Block *block) {
    setting->is_light[0] = 0;
    for (int32_t i = 0; i < program->n_forks;) {
        const Fork *fork = program->forks + i;
        const Several *weights = weights_in(setting, fork->source);
        if (setting->is_light[fork->source]) {
            const double *lost = (const double *)weights;
            for (int j = 0; j < BLOCK; j++) block->lost[j] += lost[j];
            i = fork->next;
            continue;
        }
        if (fork->column >= setting->n_shared || !block->is_filled[fork->column])
            fill_columns(setting, program, block, program->splits + fork->split);
        Several *left = goal(setting, block, &fork->left, 0), *right = goal(setting, block, &fork->right, 1);
        int is_first = fork->low == 0 && fork->high == 1;
        int left_ends = fork->left.kind == TO_ONE_VALUE, right_ends = fork->right.kind == TO_ONE_VALUE;
#define SHARE_OUT(first, one, other)                                                                                   \
    share_out(block, fork, weights, left, right, setting->tolerance, setting->is_light, first, one, other)
        switch (4 * is_first + 2 * left_ends + right_ends) {
            case 0: SHARE_OUT(0, 0, 0); break;
            case 1: SHARE_OUT(0, 0, 1); break;
            case 2: SHARE_OUT(0, 1, 0); break;
            case 3: SHARE_OUT(0, 1, 1); break;
            case 4: SHARE_OUT(1, 0, 0); break;
            case 5: SHARE_OUT(1, 0, 1); break;
            case 6: SHARE_OUT(1, 1, 0); break;
            case 7: SHARE_OUT(1, 1, 1); break;
        }
        if (fork->left.kind == TO_VALUES) add_values(program, block, fork->left.place, left);
        if (fork->right.kind == TO_VALUES) add_values(program, block, fork->right.place, right);
        i++;
    }
}

#define RUN_PROGRAM                                                                                                    \
    if (block->has_missing) run_steps(setting, program, block, 1);                                                     \
    else if (program->n_forks > 0) run_forks(setting, program, block);                                                 \
    else run_steps(setting, program, block, 0);                                                                        \
    add_lost(setting, program, block);

static void run_plain(const Setting *setting, const Program *program, Block *block) { RUN_PROGRAM }

static void (*run_program)(const Setting *, const Program *, Block *) = run_plain;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void run_avx2(const Setting *setting, const Program *program, Block *block) {
    RUN_PROGRAM
}

static void choose_processor(int plain) {
    __builtin_cpu_init();
    run_program = !plain && __builtin_cpu_supports("avx2") ? run_avx2 : run_plain;
}
#else
static void choose_processor(int plain) { (void)plain; }
#endif
