/* The program of a tree: its nodes in the order of a descent, in two forms.
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
 * Forks need a division where the widths of steps need several products, each with two columns to fetch: in large trees
 * they take a third less time.
 */
#ifndef TREMULA_PROGRAM_H
#define TREMULA_PROGRAM_H

#include <stdint.h>

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
    double value;           /* of a leaf with one value; of a fork, the part of the tree's nodes from there down */
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
    int32_t n_steps, n_splits;
    const Fork *forks;
    int32_t n_forks;        /* 0 where steps must do */
} Program;

#endif
