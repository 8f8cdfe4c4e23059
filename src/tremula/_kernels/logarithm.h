/* x log2 x, short enough to be compiled in place: a call to the library's log2 in the innermost loop costs as much
 * again as the logarithm, since every register must be saved around it.
 *
 * log2 x = exponent + log2 c + log2(1 + r), where c is the middle of the mantissa's interval (one of 256) and r < 2^-9
 * is what is left; five terms of the series leave an error below 1e-16. Whole numbers up to a limit come from a table.
 */
#ifndef TREMULA_LOGARITHM_H
#define TREMULA_LOGARITHM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define N_INTERVALS 256
#define N_WHOLE 16384

/* Filled by `logarithm.c`, once in each module. */
extern double interval_inverse[N_INTERVALS], interval_log[N_INTERVALS], whole_terms[N_WHOLE];
void fill_logarithm_tables(void);

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

/* Many at once, written so that the loop becomes vector instructions: no table, no branch, no call. With m the mantissa
 * brought to [0.7, 1.42) and s = (m - 1) / (m + 1), log2 m = s p(s^2); p is the polynomial of degree 6 nearest to the
 * series of 2 artanh(s) / (s ln 2) at the Chebyshev points of the range, which leaves an error of 5e-16. The exponent
 * becomes a double by being written into the mantissa of 2^52. Both versions round alike, so results do not depend on
 * the machine.
 */
#define X_LOG_X_OF_MANY                                                                                                \
    for (int i = 0; i < n; i++) {                                                                                      \
        double x = values[i] > 1e-300 ? values[i] : 1.0, exponent, m;                                                  \
        uint64_t bits, high;                                                                                           \
        memcpy(&bits, &x, sizeof bits);                                                                                \
        high = (bits >> 52) | 0x4330000000000000ULL;                                                                   \
        bits = (bits & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL;                                                    \
        memcpy(&exponent, &high, sizeof exponent);                                                                     \
        memcpy(&m, &bits, sizeof m);                                                                                   \
        exponent -= 4503599627370496.0 + 1023.0;                                                                       \
        exponent += m > 1.4142135623730951 ? 1.0 : 0.0;                                                                \
        m *= m > 1.4142135623730951 ? 0.5 : 1.0;                                                                       \
        double s = (m - 1.0) / (m + 1.0), t = s * s;                                                                   \
        double p = 0.24291608761469488;                                                                                \
        p = p * t + 0.26144424917301307;                                                                               \
        p = p * t + 0.320616388137639;                                                                                 \
        p = p * t + 0.41219840204820113;                                                                               \
        p = p * t + 0.577078017246329;                                                                                 \
        p = p * t + 0.9617966939243345;                                                                                \
        p = p * t + 2.885390081777927;                                                                                 \
        values[i] = x * (exponent + s * p);                                                                            \
    }

static void x_log_x_plain(double *restrict values, int n) { X_LOG_X_OF_MANY }

static void (*x_log_x_of_many)(double *restrict, int) = x_log_x_plain;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void x_log_x_avx2(double *restrict values, int n) { X_LOG_X_OF_MANY }

static void choose_x_log_x(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) x_log_x_of_many = x_log_x_avx2;
}
#else
static void choose_x_log_x(void) {}
#endif

#endif
