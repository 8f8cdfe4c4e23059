/* Blocks of rows, and arithmetic on several rows at once. */
#ifndef TREMULA_LANES_H
#define TREMULA_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BLOCK 128            /* rows in a block */

#if defined(__GNUC__)
#define IN_PLACE static inline __attribute__((always_inline))
#else
#define IN_PLACE static inline
#endif

/* Several rows at once: compilers lower it to whatever registers there are. Elsewhere, one row. */
#if defined(__GNUC__)
#define LANES 4
#pragma GCC diagnostic ignored "-Wpsabi"    /* such values never leave this file */
typedef double Several __attribute__((vector_size(32), may_alias));
typedef int64_t Marks __attribute__((vector_size(32), may_alias));

#if defined(__SSE2__)
IN_PLACE int is_any(Marks marks) {
    __m128i halves[2];
    memcpy(halves, &marks, sizeof halves);
    return _mm_movemask_pd(_mm_castsi128_pd(_mm_or_si128(halves[0], halves[1]))) != 0;
}
#else
IN_PLACE int is_any(Marks marks) { return (marks[0] | marks[1] | marks[2] | marks[3]) != 0; }
#endif

IN_PLACE Several choose(Marks marks, Several yes, Several no) {
    return (Several)(((Marks)yes & marks) | ((Marks)no & ~marks));
}

IN_PLACE Several all(double value) { return (Several){value, value, value, value}; }

IN_PLACE Marks bits_of(Several value) { return (Marks)value; }

IN_PLACE Several from_bits(Marks bits) { return (Several)bits; }

IN_PLACE Several magnitude(Several value) { return from_bits(bits_of(value) & INT64_MAX); }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    if (!has_missing) return width;
    return choose(width == width, width, all(missing));
}
#else
#define LANES 1
typedef double Several;
typedef int64_t Marks;

IN_PLACE int is_any(Marks marks) { return marks != 0; }

IN_PLACE Several choose(Marks marks, Several yes, Several no) { return marks ? yes : no; }

IN_PLACE Several all(double value) { return value; }

IN_PLACE Marks bits_of(Several value) {
    Marks bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

IN_PLACE Several from_bits(Marks bits) {
    Several value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

IN_PLACE Several magnitude(Several value) { return fabs(value); }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    return has_missing && width != width ? missing : width;
}
#endif

IN_PLACE Several between(Several value, Several low, Several high) {
    value = choose(value > high, high, value);
    return choose(value < low, low, value);
}

#define FOR_ROWS(n_rows) for (int j = 0; j < (n_rows) / LANES; j++)

/* A set of groups of rows that are computed at once; j is the number of each in turn. */
typedef uint64_t Groups;

#define N_GROUPS (BLOCK / LANES)
#define ALL_GROUPS (~(Groups)0 >> (64 - N_GROUPS))

#if defined(__GNUC__)
#define FOR_GROUPS(groups) \
    for (Groups left_ = (groups), j; left_ && (j = __builtin_ctzll(left_), 1); left_ &= left_ - 1)
#else
#define FOR_GROUPS(groups) \
    for (Groups left_ = (groups), j = 0; left_; left_ >>= 1, j++) if (left_ & 1)
#endif

#endif
