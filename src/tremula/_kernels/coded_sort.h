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
#define REALS 4
typedef double Reals __attribute__((vector_size(32), may_alias, aligned(8)));
typedef int64_t Flags __attribute__((vector_size(32)));
typedef int32_t HalfWholes __attribute__((vector_size(16), may_alias, aligned(4)));
IN_PLACE Reals reals_of(const int32_t *wholes) { return __builtin_convertvector(*(const HalfWholes *)wholes, Reals); }
IN_PLACE int any_flag(Flags flags) { return (flags[0] | flags[1] | flags[2] | flags[3]) != 0; }
#else
#define SHORTS 1
#define WHOLES 1
typedef int16_t Shorts;
typedef int32_t Wholes;
#define REALS 1
typedef double Reals;
typedef int64_t Flags;
IN_PLACE Reals reals_of(const int32_t *wholes) { return *wholes; }
IN_PLACE int any_flag(Flags flags) { return flags != 0; }
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

/* Puts the rows of a node of at most MAX_COMPARED into order. Returns whether their codes differ. Codes above a few bits
 * of the place fit in a short if there are not too many of them. */
IN_PLACE int order_few_rows(const CodedTree *tree, const OpenNode *node, int64_t attribute, int width, uint32_t *codes,
                            uint8_t *order) {
    int n = (int)node->n_rows, n_bits = n <= 16 ? 4 : n <= 32 ? 5 : 6;
    int are_shorts = width == 1 || tree->table.n_codes[attribute] <= 1 << (16 - n_bits);
    int16_t shorts[MAX_COMPARED + 16];
    int32_t wholes[MAX_COMPARED + 16];
    const uint8_t *all_codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    const int64_t stride = tree->table.stride;
    uint32_t differences = 0;
    for (int i = 0; i < n; i++) {
        codes[i] = code_at(all_codes + rows[i] * stride, width);
        differences |= codes[i] ^ codes[0];
    }
    if (!differences) return 0;
    if (are_shorts) {
        for (int i = 0; i < n; i++) shorts[i] = (int16_t)((int32_t)(codes[i] << n_bits | i) + INT16_MIN);
        order_shorts(shorts, n, order);
    } else {
        for (int i = 0; i < n; i++) wholes[i] = (int32_t)(codes[i] << n_bits | i);
        order_wholes(wholes, n, order);
    }
    return 1;
}

/* A moderate number of rows: keys of a code above 32 bits of anything. They are put into buckets by the leading bits of
 * their codes, then in order within each. The range of the codes is [least, largest]; returns the buffer that holds the
 * keys in order. */
#define N_SORT_BUCKETS 2048
#define MOST_BUCKETED 1024      /* rows, beyond which buckets are too full */

static uint64_t *sort_keys_by_buckets(uint64_t *keys, uint64_t *spare, int64_t n, uint32_t least, uint32_t largest) {
    uint16_t places[N_SORT_BUCKETS + 1];
    uint32_t place = 0, n_buckets;
    int shift = 32, n_bits = n <= 128 ? 8 : n <= 256 ? 9 : n <= 512 ? 10 : 11;
    uint64_t first = (uint64_t)least << 32;
    while (((uint64_t)(largest - least) >> (shift - 32)) >> n_bits) shift++;
    n_buckets = ((largest - least) >> (shift - 32)) + 1;
    memset(places, 0, n_buckets * sizeof(uint16_t));
    for (int64_t i = 0; i < n; i++) places[(keys[i] - first) >> shift]++;
    for (uint32_t bucket = 0; bucket < n_buckets; bucket++) {
        uint16_t count = places[bucket];
        places[bucket] = (uint16_t)place;
        place += count;
    }
    for (int64_t i = 0; i < n; i++) spare[places[(keys[i] - first) >> shift]++] = keys[i];
    if (shift == 32) return spare;
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = spare[i];
        int64_t j = i;
        for (; j > 0 && spare[j - 1] > key; j--) spare[j] = spare[j - 1];
        spare[j] = key;
    }
    return spare;
}

/* Many rows: by the bits of the code that differ, eight at a time. */
static uint64_t *sort_keys_by_digits(uint64_t *keys, uint64_t *spare, int64_t n, uint64_t differences) {
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

/* Fills the keys of all rows of a node, `tags` below their codes or, without them, their numbers; returns the buffer
 * that holds them in order, or NULL if all codes are equal. */
IN_PLACE uint64_t *sort_node(CodedTree *tree, const OpenNode *node, int64_t attribute, int width,
                             const uint32_t *tags) {
    uint64_t *keys = tree->keys;
    const uint8_t *codes = codes_of(tree, node, attribute);
    const uint32_t *rows = node->rows;
    uint32_t least = UINT32_MAX, largest = 0;
    int64_t n = node->n_rows, stride = tree->table.stride;
    for (int64_t i = 0; i < n; i++) {
        uint32_t code = code_at(codes + rows[i] * stride, width);
        least = code < least ? code : least;
        largest = code > largest ? code : largest;
        keys[i] = (uint64_t)code << 32 | (tags ? tags[i] : (uint32_t)i);
    }
    if (least == largest) return NULL;
    if (n <= MOST_BUCKETED) return sort_keys_by_buckets(keys, tree->spare_keys, n, least, largest);
    uint64_t differences = 0;
    for (int64_t i = 1; i < n; i++) differences |= keys[i] ^ keys[0];
    return sort_keys_by_digits(keys, tree->spare_keys, n, differences);
}

#endif
