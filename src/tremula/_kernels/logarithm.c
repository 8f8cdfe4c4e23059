/* The tables of `logarithm.h`. */
#include "logarithm.h"

double interval_inverse[N_INTERVALS], interval_log[N_INTERVALS], whole_terms[N_WHOLE];

void fill_logarithm_tables(void) {
    for (int i = 0; i < N_INTERVALS; i++) {
        double middle = 1.0 + (i + 0.5) / N_INTERVALS;
        interval_inverse[i] = 1.0 / middle;
        interval_log[i] = log2(middle);
    }
    whole_terms[0] = 0.0;
    for (int i = 1; i < N_WHOLE; i++) whole_terms[i] = i * log2((double)i);
}
