/* Follows the forks of a tree with a block of rows, see program.h. */
#ifndef TREMULA_FORKS_H
#define TREMULA_FORKS_H

#include "block.h"

/* Added to a width it changes none above 1e-284; where a width is 0 so is the weight, and stays it. */
#define TINY 1e-300

/* Where the weights of a branch go: a register, an output, or scratch. */
IN_PLACE Several *goal(const Setting *setting, const Block *block, const Branch *branch, int number) {
    if (branch->kind == TO_FORK) return weights_in(setting, branch->place);
    if (branch->kind == TO_ONE_VALUE) return output(block, branch->place);
    return (Several *)(setting->scratch + (int64_t)number * BLOCK);
}

/* Weights times the shares of the two branches, added to outputs by leaves or kept for forks: compiled for each kind.
 * The first test of an attribute divides a width of 1. Rounding may make a width less than 0, but no weight. */
IN_PLACE void share_out(const Setting *setting, const Block *block, const Fork *fork, int is_first, int left_ends,
                        int right_ends) {
    const Several *weights = weights_in(setting, fork->source);
    Several *left = goal(setting, block, &fork->left, 0), *right = goal(setting, block, &fork->right, 1);
    double tolerance = setting->tolerance;
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
    if (!left_ends && fork->left.kind == TO_FORK) setting->is_light[fork->left.place] = !is_any(left_marks);
    if (!right_ends && fork->right.kind == TO_FORK) setting->is_light[fork->right.place] = !is_any(right_marks);
}

IN_PLACE void add_values(const Program *program, const Block *block, int32_t row, const Several *weights) {
    for (int32_t entry = program->value_start[row]; entry < program->value_start[row + 1]; entry++) {
        Several *out = output(block, program->value_output[entry]);
        double value = program->value[entry];
        FOR_ROWS(BLOCK) out[j] += weights[j] * value;
    }
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
        int is_first = fork->low == 0 && fork->high == 1;
        int left_ends = fork->left.kind == TO_ONE_VALUE, right_ends = fork->right.kind == TO_ONE_VALUE;
#define SHARE_OUT(first, left_ends, right_ends) share_out(setting, block, fork, first, left_ends, right_ends)
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
        if (fork->left.kind == TO_VALUES)
            add_values(program, block, fork->left.place, goal(setting, block, &fork->left, 0));
        if (fork->right.kind == TO_VALUES)
            add_values(program, block, fork->right.place, goal(setting, block, &fork->right, 1));
        i++;
    }
}

#endif
