/* Kinds of rows, criteria, and the table that chooses the walk for each pair of them. */
#ifndef TREMULA_WALKS_H
#define TREMULA_WALKS_H

#include <stdint.h>

enum RowsKind {
    COUNTED = 0,            /* classes and small whole multiplicities: a word holds all that a walk needs */
    WEIGHTED = 1,           /* classes; a multiplicity of 0 in the word stands for a real weight, looked up by row */
    WIDE = 2,               /* classes and real weights, both looked up by row: they do not fit into the word */
    MEASURED = 3,           /* a numeric target and real weights, both looked up by row */
    SEVERAL_CLASSES = 4,    /* several targets, each of classes, and real weights, all looked up by row */
    SEVERAL_NUMBERS = 5,    /* several numeric targets and real weights, all looked up by row */
    N_ROWS_KINDS
};

enum Criterion {
    ENTROPY = 0,
    GAIN_RATIO = 1,
    SYMMETRIC_UNCERTAINTY = 2,
    GINI = 3,
    VARIANCE = 4,
    FIFTH_ROOT_VARIANCE = 5,
    POISSON = 6,
    ABSOLUTE_ERROR = 7,
    N_CRITERIA
};

enum Walk {
    NO_WALK = 0,            /* this pair does not occur */
    WALK_COUNTED_GAINS,
    WALK_COUNTED_SQUARES,
    WALK_COUNTED_TERMS,
    WALK_WEIGHTED_GAINS,
    WALK_WEIGHTED_TERMS,
    WALK_MEASURED_SUMS,
    WALK_MEDIANS,
    WALK_SEVERAL_COUNTS,
    WALK_SEVERAL_SUMS,
    WALK_STATISTICS,
    N_WALKS
};

/* A node of WEIGHTED rows whose multiplicities are all in the words is looked up as COUNTED. Trees with constraints take
   WALK_STATISTICS instead of any walk but WALK_MEDIANS; so do SEVERAL_CLASSES with weights that are not whole. */
static const uint8_t WALK_OF[N_ROWS_KINDS][N_CRITERIA] = {
    [COUNTED] = {
        [ENTROPY] = WALK_COUNTED_GAINS,
        [GAIN_RATIO] = WALK_COUNTED_GAINS,
        [SYMMETRIC_UNCERTAINTY] = WALK_COUNTED_TERMS,
        [GINI] = WALK_COUNTED_SQUARES,
    },
    [WEIGHTED] = {
        [ENTROPY] = WALK_WEIGHTED_GAINS,
        [GAIN_RATIO] = WALK_WEIGHTED_GAINS,
        [SYMMETRIC_UNCERTAINTY] = WALK_WEIGHTED_TERMS,
        [GINI] = WALK_WEIGHTED_TERMS,
    },
    [WIDE] = {
        [ENTROPY] = WALK_WEIGHTED_GAINS,
        [GAIN_RATIO] = WALK_WEIGHTED_GAINS,
        [SYMMETRIC_UNCERTAINTY] = WALK_WEIGHTED_TERMS,
        [GINI] = WALK_WEIGHTED_TERMS,
    },
    [MEASURED] = {
        [VARIANCE] = WALK_MEASURED_SUMS,
        [FIFTH_ROOT_VARIANCE] = WALK_MEASURED_SUMS,
        [POISSON] = WALK_STATISTICS,
        [ABSOLUTE_ERROR] = WALK_MEDIANS,
    },
    [SEVERAL_CLASSES] = {
        [ENTROPY] = WALK_STATISTICS,
        [GAIN_RATIO] = WALK_STATISTICS,
        [SYMMETRIC_UNCERTAINTY] = WALK_STATISTICS,
        [GINI] = WALK_SEVERAL_COUNTS,
    },
    [SEVERAL_NUMBERS] = {
        [VARIANCE] = WALK_SEVERAL_SUMS,
        [POISSON] = WALK_STATISTICS,
    },
};

/* The walk that keeps every cut instead of the best, whatever the criterion. */
static const uint8_t COLLECTING_WALK_OF[N_ROWS_KINDS] = {
    [COUNTED] = WALK_COUNTED_TERMS,
    [WEIGHTED] = WALK_WEIGHTED_TERMS,
    [WIDE] = WALK_WEIGHTED_TERMS,
    [MEASURED] = NO_WALK,
    [SEVERAL_CLASSES] = NO_WALK,
    [SEVERAL_NUMBERS] = NO_WALK,
};

#endif
