/* Follows the forks of a tree with a block of rows, see program.h.
 *
 * A row whose weight in a branch is not worth following is cut there, and only groups of rows with a weight are looked
 * at. What a row is answered does not depend on the other rows.
 */
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

/* Weights without those up to a limit, which are noted as lost; whether any is left. */
IN_PLACE int keep_above(Several weight, double limit, Several *lost, Several *kept) {
    Marks heavy = weight > limit;
    *lost += choose(heavy, all(0.0), weight);
    *kept = choose(heavy, weight, all(0.0));
    return is_any(heavy);
}

/* Weights times the shares of the two branches, added to outputs by leaves or kept for forks: compiled for each kind.
 * The first test of an attribute divides a width of 1. Rounding may put a threshold outside what is left. */
IN_PLACE void share_out(const Setting *setting, const Block *block, const Fork *fork, Groups groups, int is_first,
                        int left_ends, int right_ends) {
    const Several *weights = weights_in(setting, fork->source);
    Several *left = goal(setting, block, &fork->left, 0), *right = goal(setting, block, &fork->right, 1);
    Several *lost = (Several *)block->lost;
    const Several *low = column(block, fork->low), *high = column(block, fork->high);
    const Several *middle = column(block, fork->middle);
    double left_value = fork->left.value, right_value = fork->right.value;
    double left_limit = block->tolerance * left_value, right_limit = block->tolerance * right_value;
    Groups left_groups = 0, right_groups = 0;
    FOR_GROUPS(groups) {
        Several weight = weights[j], below, above;
        if (is_first) {
            below = weight * middle[j];
            above = weight - below;
        } else {
            Several bottom = low[j], top = high[j], border = between(middle[j], bottom, top);
            Several rest = weight / (top - bottom + TINY);
            below = rest * (border - bottom);
            above = rest * (top - border);
        }
        Several light = all(0.0);
        if (left_ends) left[j] += below * left_value;
        else left_groups |= (Groups)keep_above(below, left_limit, &light, left + j) << j;
        if (right_ends) right[j] += above * right_value;
        else right_groups |= (Groups)keep_above(above, right_limit, &light, right + j) << j;
        if (!left_ends || !right_ends) lost[j] += light;
    }
    if (!left_ends && fork->left.kind == TO_FORK) setting->groups[fork->left.place] = left_groups;
    if (!right_ends && fork->right.kind == TO_FORK) setting->groups[fork->right.place] = right_groups;
}

IN_PLACE void add_values(const Program *program, const Block *block, int32_t row, const Several *weights,
                         Groups groups) {
    for (int32_t entry = program->value_start[row]; entry < program->value_start[row + 1]; entry++) {
        Several *out = output(block, program->value_output[entry]);
        double value = program->value[entry];
        FOR_GROUPS(groups) out[j] += weights[j] * value;
    }
}

IN_PLACE void run_forks(const Setting *setting, const Program *program, Block *block) {
    setting->groups[0] = block->groups;
    for (int32_t i = 0; i < program->n_forks;) {
        const Fork *fork = program->forks + i;
        Groups groups = setting->groups[fork->source];
        if (!groups) {
            i = fork->next;
            continue;
        }
        fill_column(setting, block, program->splits + fork->split, groups);
        int is_first = fork->low == 0 && fork->high == 1;
        int left_ends = fork->left.kind == TO_ONE_VALUE, right_ends = fork->right.kind == TO_ONE_VALUE;
#define SHARE_OUT(first, left_ends, right_ends) share_out(setting, block, fork, groups, first, left_ends, right_ends)
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
            add_values(program, block, fork->left.place, goal(setting, block, &fork->left, 0), groups);
        if (fork->right.kind == TO_VALUES)
            add_values(program, block, fork->right.place, goal(setting, block, &fork->right, 1), groups);
        i++;
    }
}

#endif
