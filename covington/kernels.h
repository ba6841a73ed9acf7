/* The innermost loops of parser and learner, and what a compiler can be asked to do for the machine at hand.

   Everything is C that gcc and clang compile for any processor; where gcc builds for Linux on x86-64, the loops are there
   twice and the version for AVX2 is chosen at run time. Scores have 16 bits: freezing scales the weights so that no sum of
   them overflows. In a forged model sums can wrap round, which gives wrong trees and nothing worse. */

#ifndef COVINGTON_KERNELS_H
#define COVINGTON_KERNELS_H

#include <stdint.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__GNUC__) || defined(__clang__)
#define covington_prefetch(address) __builtin_prefetch(address)
#else
#define covington_prefetch(address)
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define COVINGTON_CLONES __attribute__((unused, target_clones("avx2", "default")))
#elif defined(__GNUC__) || defined(__clang__)
#define COVINGTON_CLONES __attribute__((unused))
#else
#define COVINGTON_CLONES
#endif

enum { COVINGTON_CHUNK = 16 };      /* scores that are added at once */

/* A chunk of scores, anywhere in memory. Sums of vectors wrap round; compilers make the best instructions of them. */
typedef int16_t CovingtonChunk __attribute__((vector_size(32), aligned(2), may_alias));

typedef struct {
    uint16_t number;
    int16_t weight;
} CovingtonPair;

/* A weight in training. */
typedef struct {
    int32_t weight;
    uint16_t number;
    uint16_t unused;
} CovingtonEntry;

/* A feature of few classes: so many pairs. */
typedef struct {
    const CovingtonPair *pairs;
    int64_t count;
} CovingtonSparse;

/* The first of eight numbers that is equal to one, or 8. */
static inline int covington_match(const uint32_t *numbers, uint32_t wanted) {
#if defined(__SSE2__)
    const __m128i all = _mm_set1_epi32((int)wanted);
    const __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)numbers), all);
    const __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(numbers + 4)), all);
    const int equal = _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128()));
    return __builtin_ctz((unsigned)equal | 256u);
#else
    int k = 0;
    while (k < 8 && numbers[k] != wanted) k++;
    return k;
#endif
}

/* The sum of rows, each of `length`, a multiple of the chunk; four chunks at a time as long as there are as many. */
COVINGTON_CLONES static void covington_sum(int16_t *sum, const int16_t *const *rows, int count, int length) {
    int at = 0;
    for (; at + 4 * COVINGTON_CHUNK <= length; at += 4 * COVINGTON_CHUNK) {
        CovingtonChunk a = {0}, b = {0}, c = {0}, d = {0};
        for (int r = 0; r < count; r++) {
            const CovingtonChunk *row = (const CovingtonChunk *)(rows[r] + at);
            a += row[0];
            b += row[1];
            c += row[2];
            d += row[3];
        }
        CovingtonChunk *part = (CovingtonChunk *)(sum + at);
        part[0] = a;
        part[1] = b;
        part[2] = c;
        part[3] = d;
    }
    for (; at < length; at += COVINGTON_CHUNK) {
        CovingtonChunk a = {0};
        for (int r = 0; r < count; r++) a += *(const CovingtonChunk *)(rows[r] + at);
        *(CovingtonChunk *)(sum + at) = a;
    }
}

/* Features of few classes on top; numbers that are not of a class are passed over. */
static inline void covington_add(int16_t *scores, int classes, const CovingtonSparse *features, int count) {
    for (; count > 0; count--, features++) {
        const CovingtonPair *pair = features->pairs, *end = pair + features->count;
        for (; pair < end; pair++)
            if (pair->number < classes) scores[pair->number] = (int16_t)(scores[pair->number] + pair->weight);
    }
}

/* The weights of a feature of all classes, on top of their scores. */
COVINGTON_CLONES static void covington_add_full(int64_t *scores, const CovingtonEntry *entries, int classes) {
    for (int k = 0; k < classes; k++) scores[k] += entries[k].weight;
}

/* How many numbers are the same in the same place. */
COVINGTON_CLONES static int covington_equal(const uint64_t *some, const uint64_t *others, int count) {
    int64_t equal = 0;
    for (int k = 0; k < count; k++) equal += some[k] == others[k];
    return (int)equal;
}

/* The largest of scores. */
COVINGTON_CLONES static int16_t covington_largest(const int16_t *scores, int count) {
    int16_t largest = scores[0];
    for (int k = 1; k < count; k++) largest = scores[k] > largest ? scores[k] : largest;
    return largest;
}

#endif
