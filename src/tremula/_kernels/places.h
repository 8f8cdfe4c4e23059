/* The place of numbers among sorted thresholds, found for several numbers at a time without a branch. */
#ifndef TREMULA_PLACES_H
#define TREMULA_PLACES_H

#include <stdint.h>

enum { N_NUMBERS = 8 };

/* The place of a threshold that is one of them. */
static uint32_t place_of(const double *thresholds, int64_t n_thresholds, double threshold) {
    const double *first = thresholds;
    for (int64_t width = n_thresholds; width > 1; width -= width / 2) {
        first += width / 2 & -(int64_t)(first[width / 2 - 1] < threshold);
    }
    return (uint32_t)(first - thresholds);
}

/* Write how many of the thresholds, at least one of them, are smaller than each number; 0 for NaN. */
static void count_smaller(const double *thresholds, int64_t n_thresholds, const double *numbers, uint32_t *places) {
    int64_t first[N_NUMBERS] = {0}, width = n_thresholds;
    while (width > 1) {
        const int64_t half = width / 2;
        for (int j = 0; j < N_NUMBERS; j++) first[j] += half & -(int64_t)(thresholds[first[j] + half - 1] < numbers[j]);
        width -= half;
    }
    for (int j = 0; j < N_NUMBERS; j++) places[j] = (uint32_t)(first[j] + (thresholds[first[j]] < numbers[j]));
}

#endif
