/* Which of the compiled loops of `coded_grow.c` run: by the width of a code, and by what the processor can do. */
#ifndef TREMULA_CODED_PROCESSOR_H
#define TREMULA_CODED_PROCESSOR_H

#include "coded_tree.h"

typedef int GrowCoded(CodedTree *tree);

GrowCoded grow_bytes_plain, grow_shorts_plain, grow_wholes_plain, grow_values_plain;
#ifdef HAS_AVX2
GrowCoded grow_bytes_avx2, grow_shorts_avx2, grow_wholes_avx2, grow_values_avx2;
#endif

static int is_plain_processor = 1;

static void choose_coded_processor(int plain) {
#ifdef HAS_AVX2
    __builtin_cpu_init();
    is_plain_processor = plain || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2");
#else
    (void)plain;
#endif
}

static int grow_coded_tree(CodedTree *tree) {
    GrowCoded *growers[] = {grow_bytes_plain, grow_shorts_plain, grow_wholes_plain, grow_values_plain};
#ifdef HAS_AVX2
    GrowCoded *growers_avx2[] = {grow_bytes_avx2, grow_shorts_avx2, grow_wholes_avx2, grow_values_avx2};
    if (!is_plain_processor) memcpy(growers, growers_avx2, sizeof growers);
#endif
    switch (tree->table.width) {
    case 1: return growers[0](tree);
    case 2: return growers[1](tree);
    case 4: return growers[2](tree);
    default: return growers[3](tree);
    }
}

#endif
