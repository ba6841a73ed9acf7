/* The innermost loops of the parser, and what a compiler can be asked to do for the machine at hand.

   Everything is C that gcc and clang compile for any processor; where gcc builds for Linux on x86-64, the loops are there
   twice and the version for AVX2 is chosen at run time. The scores of a part (one group of templates) have 16 bits: freezing
   scales the weights so that no part overflows. The total has 32. In a forged model parts can wrap round, which gives
   wrong trees and nothing worse. */

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
typedef int32_t CovingtonPairs __attribute__((vector_size(32), aligned(2), may_alias));     /* two scores in each */
typedef int32_t CovingtonTotal __attribute__((vector_size(32), aligned(4), may_alias));

#if defined(__clang__) || __GNUC__ >= 12
#define COVINGTON_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define COVINGTON_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (CovingtonTotal){__VA_ARGS__})
#endif

typedef struct {
    uint16_t number;
    int16_t weight;
} CovingtonPair;

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

/* The scores of a part: the sum of dense rows, each of `length`, a multiple of the chunk. */
COVINGTON_CLONES static void covington_part(int16_t *sum, const int16_t *const *rows, int count, int length) {
    for (int at = 0; at < length; at += COVINGTON_CHUNK) {
        CovingtonChunk part = {0};
        for (int r = 0; r < count; r++) part += *(const CovingtonChunk *)(rows[r] + at);
        *(CovingtonChunk *)(sum + at) = part;
    }
}

/* The total of parts and of dense rows. Shifts are the cheapest way to widen scores: pairs of them are taken as one number
   of 32 bits, and those at even and at odd places are added up apart. */
COVINGTON_CLONES static void covington_total(int32_t *sum, const int16_t *const *rows, int count, int length) {
    for (int at = 0; at < length; at += COVINGTON_CHUNK) {
        CovingtonTotal low = {0}, high = {0};
        for (int r = 0; r < count; r++) {
            const CovingtonTotal pairs = *(const CovingtonPairs *)(rows[r] + at);
            low += pairs << 16 >> 16;
            high += pairs >> 16;
        }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        const CovingtonTotal even = high, odd = low;
#else
        const CovingtonTotal even = low, odd = high;
#endif
        *(CovingtonTotal *)(sum + at) = COVINGTON_SHUFFLE(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
        *(CovingtonTotal *)(sum + at + 8) = COVINGTON_SHUFFLE(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

/* Sparse features on top of either; numbers that are not of a class are passed over. */
static inline void covington_add_to_part(int16_t *scores, int classes, const CovingtonSparse *features, int count) {
    for (; count > 0; count--, features++) {
        const CovingtonPair *pair = features->pairs, *end = pair + features->count;
        for (; pair < end; pair++)
            if (pair->number < classes) scores[pair->number] = (int16_t)(scores[pair->number] + pair->weight);
    }
}

static inline void covington_add_to_total(int32_t *scores, int classes, const CovingtonSparse *features, int count) {
    for (; count > 0; count--, features++) {
        const CovingtonPair *pair = features->pairs, *end = pair + features->count;
        for (; pair < end; pair++)
            if (pair->number < classes) scores[pair->number] += pair->weight;
    }
}

/* The first of the largest scores. */
COVINGTON_CLONES static int covington_best(const int32_t *scores, int count) {
    int32_t largest = scores[0];
    int best = 0;
    for (int k = 1; k < count; k++) largest = scores[k] > largest ? scores[k] : largest;
    while (scores[best] != largest) best++;
    return best;
}

#endif
