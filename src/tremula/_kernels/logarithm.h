/* x log2 x, short enough to be compiled in place: a call to the library's log2 in the innermost loop costs as much again
 * as the logarithm, since every register must be saved around it.
 *
 * log2 x = exponent + log2 c + log2(1 + r), where c is the middle of the mantissa's interval (one of 256) and r < 2^-9 is
 * what is left; five terms of the series leave an error below 1e-16. Whole numbers up to a limit come from a table.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define N_INTERVALS 256
#define N_WHOLE 16384

static double interval_inverse[N_INTERVALS];
static double interval_log[N_INTERVALS];
static double whole_terms[N_WHOLE];

static void fill_logarithm_tables(void) {
    for (int i = 0; i < N_INTERVALS; i++) {
        double middle = 1.0 + (i + 0.5) / N_INTERVALS;
        interval_inverse[i] = 1.0 / middle;
        interval_log[i] = log2(middle);
    }
    whole_terms[0] = 0.0;
    for (int i = 1; i < N_WHOLE; i++) whole_terms[i] = i * log2((double)i);
}

/* For normal positive numbers. */
static inline double quick_log2(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023;
    int interval = (int)((bits >> 44) & (N_INTERVALS - 1));
    bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    double r = mantissa * interval_inverse[interval] - 1.0;
    double series = 1.0 + r * (-1.0 / 2 + r * (1.0 / 3 + r * (-1.0 / 4 + r * (1.0 / 5))));
    return (double)exponent + interval_log[interval] + r * series * 1.4426950408889634;
}

static inline double quick_x_log_x(double x) {
    if (x < N_WHOLE) {
        int64_t whole = (int64_t)x;
        if ((double)whole == x) return whole_terms[whole];
        if (x < 1e-300) return 0.0;
    }
    return x * quick_log2(x);
}
