/* Sends a block of rows down a tree at once, each with a weight in every node: the chance that noise takes it there.
 *
 * A subtree is left out where no row of the block has a weight there that is worth following; forks follow each row
 * only where its own weight is.
 *
 * Loops run over a fixed number of rows without a branch, so that compilers turn them into vector instructions.
 * Products and sums are never fused and the order of sums is fixed: the versions for different processors round alike.
 */
#include "forks.h"
#include "steps.h"

/* For tests. */
static double normal_below_roughly(double z) {
    Several below = roughly_below(all(z));
    memcpy(&z, &below, sizeof z);
    return z;
}

#define RUN_PROGRAM                                                                                                    \
    block->tolerance = setting->tolerance - (setting->is_rough ? rough_error(program) : 0.0);                          \
    if (block->has_missing) run_steps(setting, program, block, 1);                                                     \
    else if (program->n_forks > 0) run_forks(setting, program, block);                                                 \
    else run_steps(setting, program, block, 0);                                                                        \
    add_lost(setting, program, block);

static void run_plain(const Setting *setting, const Program *program, Block *block) { RUN_PROGRAM }

static void (*run_program)(const Setting *, const Program *, Block *) = run_plain;

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static void run_avx2(const Setting *setting, const Program *program, Block *block) {
    RUN_PROGRAM
}

static void choose_processor(int plain) {
    __builtin_cpu_init();
    run_program = !plain && __builtin_cpu_supports("avx2") ? run_avx2 : run_plain;
}
#else
static void choose_processor(int plain) { (void)plain; }
#endif
