/* Which of the compiled loops of `coded_grow.c` run: by the width of a code, and by what the processor can do. */
#ifndef TREMULA_CODED_PROCESSOR_H
#define TREMULA_CODED_PROCESSOR_H

#include "coded_tree.h"

typedef int GrowCoded(CodedTree *tree);

GrowCoded grow_bytes_plain, grow_shorts_plain, grow_wholes_plain;
#ifdef HAS_AVX2
GrowCoded grow_bytes_avx2, grow_shorts_avx2, grow_wholes_avx2;
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
    int width = tree->table.width;
#ifdef HAS_AVX2
    if (!is_plain_processor)
        return width == 1 ? grow_bytes_avx2(tree) : width == 2 ? grow_shorts_avx2(tree) : grow_wholes_avx2(tree);
#endif
    return width == 1 ? grow_bytes_plain(tree) : width == 2 ? grow_shorts_plain(tree) : grow_wholes_plain(tree);
}

#endif
