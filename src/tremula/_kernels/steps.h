/* Follows the steps of a tree with a block of rows, see program.h. */
#ifndef TREMULA_STEPS_H
#define TREMULA_STEPS_H

#include "block.h"

#define PROBE 8             /* rows of a block that are looked at first */

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
            weight *= width_of(column(block, open[k].high)[j], column(block, open[k].low)[j], open[k].missing,
                               has_missing);
        reach[j] = weight;
        marks |= (weight > limit) | (weight < -limit);
    }
    return is_any(marks);
}

/* Whether no row weighs more at a split than may be cut; what they weigh is then noted as lost. */
IN_PLACE int is_light(const Setting *setting, const Program *program, const Block *block, const Split *split,
                      const Several *weights, int has_missing) {
    const Factor *open = program->open + split->first_open;
    double limit = block->tolerance * split->part;
    Several *reach = (Several *)setting->scratch;
    if (any_above(block, open, split->n_open, weights, reach, limit, PROBE, has_missing) ||
        any_above(block, open, split->n_open, weights, reach, limit, BLOCK, has_missing))
        return 0;
    for (int j = 0; j < BLOCK; j++) block->lost[j] += fabs(setting->scratch[j]);
    return 1;
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

#endif
