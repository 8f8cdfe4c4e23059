/* Divides the rows of a node between its two children; both keep their order. Masks stand for branches of the processor:
 * which way a row goes is hard to predict. */
#ifndef TREMULA_DIVISION_H
#define TREMULA_DIVISION_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address)
#endif

enum { ROWS_AHEAD = 12, ALL_BRANCHES = 2 };     /* a row that takes all branches is divided */

typedef struct {                /* a column of the table that the rows are from */
    const double *values;
    int64_t stride;             /* values from a row to the next */
} RowColumn;

typedef struct {
    int64_t n_first, n_second, n_divided;
} Division;

/* The rows of the first branch stay in `rows`, those of the second follow them, and the divided ones are put into
 * `divided`. `rows` can be read ROWS_AHEAD beyond its end, and `spare` has room for n. */
static void end_division(uint32_t *rows, const uint32_t *spare, const Division *division) {
    memcpy(rows + division->n_first, spare, division->n_second * sizeof(uint32_t));
}

/* By a threshold. `missing` is the branch of rows without a value. */
static Division divide_by_threshold(uint32_t *rows, int64_t n, RowColumn column, double threshold, int is_strict,
                                    int missing, uint32_t *spare, uint32_t *divided) {
    Division division = {0, 0, 0};
    const uint64_t if_missing = (uint64_t)missing, if_strict = is_strict != 0;
    int64_t n_missing = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = rows[i];
        const double value = column.values[row * column.stride];
        const uint64_t is_missing = value != value;
        const uint64_t is_second = (value > threshold) | (if_strict & (value == threshold)) | (is_missing & if_missing);
        FETCH(column.values + rows[i + ROWS_AHEAD] * column.stride);
        rows[division.n_first] = row;
        spare[division.n_second] = row;
        division.n_first += 1 - is_second;
        division.n_second += is_second;
        n_missing += is_missing;
    }
    if (missing == ALL_BRANCHES && n_missing > 0) {     /* they stand among those of the first branch */
        const int64_t n_kept = division.n_first;
        division.n_first = 0;
        for (int64_t i = 0; i < n_kept; i++) {
            const double value = column.values[rows[i] * column.stride];
            if (value != value) divided[division.n_divided++] = rows[i];
            else rows[division.n_first++] = rows[i];
        }
    }
    end_division(rows, spare, &division);
    return division;
}

/* By the branch of each level, at most 1 if it has one. */
static Division divide_by_levels(uint32_t *rows, int64_t n, RowColumn column, const uint8_t *branches, int32_t n_levels,
                                 int missing, uint32_t *spare, uint32_t *divided) {
    Division division = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = rows[i];
        const double value = column.values[row * column.stride];
        const int is_level = (value >= 0.0) & (value < n_levels);
        const uint8_t of_level = branches[is_level ? (int32_t)value : 0];
        const int branch = is_level & (of_level < 2) ? of_level : missing;
        FETCH(column.values + rows[i + ROWS_AHEAD] * column.stride);
        rows[division.n_first] = row;
        spare[division.n_second] = row;
        division.n_first += branch == 0;
        division.n_second += branch == 1;
        if (branch == ALL_BRANCHES) divided[division.n_divided++] = row;
    }
    end_division(rows, spare, &division);
    return division;
}

#endif
