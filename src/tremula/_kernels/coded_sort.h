/* Puts the rows of a node in the order of their codes. */
#ifndef TREMULA_CODED_SORT_H
#define TREMULA_CODED_SORT_H

#include "coded_tree.h"

/* Few rows: the place of a row is the number of rows before it, found by comparing each with each, many at a time. */
#if defined(__GNUC__)
#define SHORTS 16
#define WHOLES 8
#pragma GCC diagnostic ignored "-Wpsabi"    /* such values never leave this file */
typedef int16_t Shorts __attribute__((vector_size(32), may_alias, aligned(2)));
typedef int32_t Wholes __attribute__((vector_size(32), may_alias, aligned(4)));
#else
#define SHORTS 1
#define WHOLES 1
typedef int16_t Shorts;
typedef int32_t Wholes;
#endif

IN_PLACE void order_shorts(int16_t *keys, int n, uint8_t *order) {
    int16_t places[MAX_COMPARED];
    for (int i = n; i % SHORTS; i++) keys[i] = INT16_MAX;
    for (int i = 0; i < n; i += SHORTS) {
        Shorts block = *(const Shorts *)(keys + i), place = block ^ block;
        for (int j = 0; j < n; j++) {
#if defined(__GNUC__)
            place -= (Shorts)(block > keys[j]);
#else
            place += block > keys[j];
#endif
        }
        *(Shorts *)(places + i) = place;
    }
    for (int i = 0; i < n; i++) order[places[i]] = (uint8_t)i;
}

IN_PLACE void order_wholes(int32_t *keys, int n, uint8_t *order) {
    int32_t places[MAX_COMPARED];
    for (int i = n; i % WHOLES; i++) keys[i] = INT32_MAX;
    for (int i = 0; i < n; i += WHOLES) {
        Wholes block = *(const Wholes *)(keys + i), place = block ^ block;
        for (int j = 0; j < n; j++) {
#if defined(__GNUC__)
            place -= (Wholes)(block > keys[j]);
#else
            place += block > keys[j];
#endif
        }
        *(Wholes *)(places + i) = place;
    }
    for (int i = 0; i < n; i++) order[places[i]] = (uint8_t)i;
}

/* Many rows: keys of a code above 32 bits of anything, by the bits of the code that differ. Returns whichever of the
 * two buffers holds them in order. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, int64_t n, uint64_t differences) {
    for (int shift = 32; shift < 64; shift += 8) {
        uint32_t places[256];
        uint32_t place = 0;
        if (!((differences >> shift) & 255)) continue;
        memset(places, 0, sizeof places);
        for (int64_t i = 0; i < n; i++) places[(keys[i] >> shift) & 255]++;
        for (int digit = 0; digit < 256; digit++) {
            uint32_t count = places[digit];
            places[digit] = place;
            place += count;
        }
        for (int64_t i = 0; i < n; i++) spare[places[(keys[i] >> shift) & 255]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

#endif
