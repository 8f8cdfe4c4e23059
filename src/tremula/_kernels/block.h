/* A block of rows: its columns, which hold a number a row, and the outputs that leaves add to. */
#ifndef TREMULA_BLOCK_H
#define TREMULA_BLOCK_H

#include "normal.h"
#include "program.h"

typedef struct {            /* one block of rows and all that is computed for it */
    double *columns;        /* 0 and 1, then those shared by trees, then those of the tree at hand */
    Groups *filled;         /* of each shared column, the groups of rows that have it */
    double *x, *inverse;    /* attributes by rows: values, and 1 / noise or 0 */
    double *out, *lost, *bound;
    Groups groups;          /* that have rows */
    int has_missing;
    double tolerance;       /* part of the weight of the tree at hand that may be cut */
} Block;

typedef struct {
    const double *own, *others;         /* nominal levels: weight of the own level's share, and of the mean share */
    const int32_t *level_start;
    double *registers, *scratch;        /* scratch has room for two */
    Groups *groups;                     /* for each register, those with a row that weighs enough to be followed */
    double tolerance;                   /* largest error of a tree, in terms of the spread of its values */
    int32_t n_shared, n_outputs;
    int is_rough;                       /* whether the tolerance allows for roughly_below */
} Setting;

IN_PLACE Several *column(const Block *block, int32_t number) {
    return (Several *)(block->columns + (int64_t)number * BLOCK);
}

IN_PLACE Several *output(const Block *block, int32_t number) {
    return (Several *)(block->out + (int64_t)number * BLOCK);
}

IN_PLACE Several *weights_in(const Setting *setting, int32_t number) {
    return (Several *)(setting->registers + (int64_t)number * BLOCK);
}

/* Groups with a value near the threshold, in terms of its noise; the others get their column at once. */
IN_PLACE Groups fill_far(const Several *x, const Several *inverse, double t, double last, double far, Several *out,
                         Groups groups) {
    Groups near = 0;
    FOR_GROUPS(groups) {
        Several z = (t - x[j]) * inverse[j];
        out[j] = choose(x[j] <= last, all(1.0), all(0.0)) + (x[j] - x[j]);
        near |= (Groups)is_any((magnitude(z) < far) & (inverse[j] > 0)) << j;
    }
    return near;
}

/* Chance of a value up to the threshold; where there is no noise, whether it is; NaN where the value is missing. */
IN_PLACE void fill_below(const double *x, const double *inverse, double t, double last, double *out, Groups groups) {
    groups = fill_far((const Several *)x, (const Several *)inverse, t, last, FAR, (Several *)out, groups);
    FOR_GROUPS(groups) for (int64_t k = LANES * j; k < LANES * j + LANES; k++) {
        double soft = normal_below((t - x[k]) * inverse[k]);
        out[k] = inverse[k] > 0 ? soft : out[k];
    }
}

/* The same with an error of at most ROUGH_ERROR. */
IN_PLACE void fill_roughly(const Several *x, const Several *inverse, double t, double last, Several *out,
                           Groups groups) {
    groups = fill_far(x, inverse, t, last, ROUGH_FAR, out, groups);
    FOR_GROUPS(groups) {
        Several z = (t - x[j]) * inverse[j];
        out[j] = choose((magnitude(z) < ROUGH_FAR) & (inverse[j] > 0), roughly_below(z), out[j]);
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

/* Fill the column of a numeric split for some groups; trees share some columns, and fill them once. */
IN_PLACE void fill_column(const Setting *setting, const Block *block, const Split *split, Groups groups) {
    if (split->column < setting->n_shared) {
        groups &= ~block->filled[split->column];
        block->filled[split->column] |= groups;
    }
    const double *x = block->x + (int64_t)split->attribute * BLOCK;
    const double *inverse = block->inverse + (int64_t)split->attribute * BLOCK;
    double *out = block->columns + (int64_t)split->column * BLOCK;
    double t = split->threshold, last = split->last;
    if (!setting->is_rough) fill_below(x, inverse, t, last, out, groups);
    else fill_roughly((const Several *)x, (const Several *)inverse, t, last, (Several *)out, groups);
}

IN_PLACE void fill_columns(const Setting *setting, const Program *program, const Block *block, const Split *split) {
    double *out = block->columns + (int64_t)split->column * BLOCK;
    const double *x = block->x + (int64_t)split->attribute * BLOCK;
    if (split->kind == NUMERIC) fill_column(setting, block, split, ALL_GROUPS);
    else if (split->kind == NOMINAL) fill_nominal(setting, split, program->kept + split->kept, x, out);
    else fill_slope(x, block->inverse + (int64_t)split->attribute * BLOCK, split->threshold, out);
}

/* Largest error of a tree's answer, in terms of the spread of its values, if columns have errors of up to ROUGH_ERROR.
 * A split shares out the weight w of what is left, of width d, with an error of at most 2 w ROUGH_ERROR / d between its
 * branches, and w / d, a product of widths of other attributes, is at most 1. */
IN_PLACE double rough_error(const Program *program) { return 2.0 * ROUGH_ERROR * program->n_splits; }

/* What was cut counts with the mean of the tree's values, so that shares of classes still sum to 1. */
static void add_lost(const Setting *setting, const Program *program, Block *block) {
    double any = 0.0, error = setting->tolerance - block->tolerance;
    for (int j = 0; j < BLOCK; j++) block->bound[j] += error * program->spread;
    for (int j = 0; j < BLOCK; j++) any += fabs(block->lost[j]);
    if (any == 0.0) return;
    for (int32_t k = 0; k < setting->n_outputs; k++)
        for (int j = 0; j < BLOCK; j++) block->out[(int64_t)k * BLOCK + j] += block->lost[j] * program->mean[k];
    for (int j = 0; j < BLOCK; j++) block->bound[j] += fabs(block->lost[j]) * program->spread;
    memset(block->lost, 0, BLOCK * sizeof(double));
}

#endif
