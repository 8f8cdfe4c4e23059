/* A block of rows: its columns, which hold a number a row, and the outputs that leaves add to. */
#ifndef TREMULA_BLOCK_H
#define TREMULA_BLOCK_H

#include "normal.h"
#include "program.h"

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

IN_PLACE Several *column(const Block *block, int32_t number) {
    return (Several *)(block->columns + (int64_t)number * BLOCK);
}

IN_PLACE Several *output(const Block *block, int32_t number) {
    return (Several *)(block->out + (int64_t)number * BLOCK);
}

IN_PLACE Several *weights_in(const Setting *setting, int32_t number) {
    return (Several *)(setting->registers + (int64_t)number * BLOCK);
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

#endif
