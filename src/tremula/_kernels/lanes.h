/* Blocks of rows, and arithmetic on several rows at once. */
#ifndef TREMULA_LANES_H
#define TREMULA_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 64            /* rows in a block */

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

IN_PLACE int is_any(Marks marks) { return (marks[0] | marks[1] | marks[2] | marks[3]) != 0; }

IN_PLACE Several at_least_0(Several weight) { return (Several)((Marks)weight & (weight > 0)); }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    if (!has_missing) return width;
    Marks known = width == width;
    Several share = {missing, missing, missing, missing};
    return (Several)(((Marks)width & known) | ((Marks)share & ~known));
}
#else
#define LANES 1
typedef double Several;
typedef int64_t Marks;

IN_PLACE int is_any(Marks marks) { return marks != 0; }

IN_PLACE Several at_least_0(Several weight) { return weight > 0 ? weight : 0; }

IN_PLACE Several width_of(Several high, Several low, double missing, int has_missing) {
    Several width = high - low;
    return has_missing && width != width ? missing : width;
}
#endif

#define FOR_ROWS(n_rows) for (int j = 0; j < (n_rows) / LANES; j++)

#endif
