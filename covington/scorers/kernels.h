/* The innermost loops of parser and learner, and what a compiler can be asked to do for the machine at hand.

   Everything is C that gcc and clang compile for any processor; where gcc builds for Linux on x86-64, the loops are there
   twice and the version for AVX2 is chosen at run time. Scores have 16 bits: freezing scales the weights so that no sum of
   them overflows. In a forged model sums can wrap round, which gives wrong trees and nothing worse. */

#ifndef COVINGTON_KERNELS_H
#define COVINGTON_KERNELS_H

#include <stdint.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif
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

#if defined(__GNUC__) || defined(__clang__)
#define COVINGTON_ALWAYS_INLINE __attribute__((always_inline)) static inline
#else
#define COVINGTON_ALWAYS_INLINE static inline
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define COVINGTON_UNROLL _Pragma("GCC unroll 8")
#elif defined(__clang__)
#define COVINGTON_UNROLL _Pragma("clang loop unroll(full)")
#else
#define COVINGTON_UNROLL
#endif

enum {
    COVINGTON_CHUNK = 16,           /* scores that are added at once */
    COVINGTON_MOST_CHUNKS = 8,      /* whose sums are made at once */
    COVINGTON_STRETCH = 32          /* scores in training that weights are added to at once */
};

/* A chunk of scores, anywhere in memory; unsigned, because sums of those wrap round in every compiler. */
typedef uint16_t CovingtonChunk __attribute__((vector_size(32), aligned(2), may_alias));

typedef struct {
    uint16_t number;
    int16_t weight;
} CovingtonPair;

/* The same, where both are small. */
typedef struct {
    uint8_t number;
    int8_t weight;
} CovingtonSmallPair;

/* Four weights in training, anywhere in memory, and four scores that they are added to. */
typedef int32_t CovingtonWeights __attribute__((vector_size(16), aligned(4), may_alias));
typedef int64_t CovingtonScores __attribute__((vector_size(32), aligned(8), may_alias));

/* Memory for a table that is looked up here, there and everywhere; NULL, or to be given back with `free`.

   A processor keeps the addresses of some thousand pages at hand. With pages of 4 kB that is less than a model, and a
   look-up waits for the address before it can begin to wait for the data. Linux has pages of 2 MB for those who ask. */
static inline void *covington_allocate(size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t page = (size_t)2 << 20;
    if (size >= page && size <= SIZE_MAX - page) {
        const size_t whole = (size + page - 1) / page * page;
        void *memory = aligned_alloc(page, whole);
        if (memory != NULL) (void)madvise(memory, whole, MADV_HUGEPAGE);    /* if it cannot be had, so be it */
        return memory;
    }
#endif
    return malloc(size);
}

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

/* The sum of a stretch of rows. `chunks` is known when this is compiled, so that the sums stay in registers. */
COVINGTON_ALWAYS_INLINE void covington_sum_chunks(int16_t *sum, const int16_t *const *rows, int count, int at, int chunks) {
    CovingtonChunk sums[COVINGTON_MOST_CHUNKS] = {{0}};
    for (int r = 0; r < count; r++) {
        const CovingtonChunk *row = (const CovingtonChunk *)(rows[r] + at);
COVINGTON_UNROLL
        for (int k = 0; k < chunks; k++) sums[k] += row[k];
    }
COVINGTON_UNROLL
    for (int k = 0; k < chunks; k++) ((CovingtonChunk *)(sum + at))[k] = sums[k];
}

/* The sum of rows, each of `length`, a multiple of the chunk. */
COVINGTON_CLONES static void covington_sum(int16_t *sum, const int16_t *const *rows, int count, int length) {
    int at = 0;
    for (; length - at > COVINGTON_MOST_CHUNKS * COVINGTON_CHUNK; at += COVINGTON_MOST_CHUNKS * COVINGTON_CHUNK)
        covington_sum_chunks(sum, rows, count, at, COVINGTON_MOST_CHUNKS);
    switch ((length - at) / COVINGTON_CHUNK) {
        case 8: covington_sum_chunks(sum, rows, count, at, 8); break;
        case 7: covington_sum_chunks(sum, rows, count, at, 7); break;
        case 6: covington_sum_chunks(sum, rows, count, at, 6); break;
        case 5: covington_sum_chunks(sum, rows, count, at, 5); break;
        case 4: covington_sum_chunks(sum, rows, count, at, 4); break;
        case 3: covington_sum_chunks(sum, rows, count, at, 3); break;
        case 2: covington_sum_chunks(sum, rows, count, at, 2); break;
        default: covington_sum_chunks(sum, rows, count, at, 1);
    }
}

/* Pairs on top of the scores of their columns. Those that are not needed add 0 to some column. */
COVINGTON_ALWAYS_INLINE void covington_add_pair(int16_t *scores, const CovingtonPair *pair) {
    scores[pair->number] = (int16_t)(scores[pair->number] + pair->weight);
}

COVINGTON_ALWAYS_INLINE void covington_add_small(int16_t *scores, const CovingtonSmallPair *pairs, int count) {
    for (int k = 0; k < count; k++) scores[pairs[k].number] = (int16_t)(scores[pairs[k].number] + pairs[k].weight);
}

/* A row that begins with the number of its pairs: three, then as many times four as are needed. */
COVINGTON_ALWAYS_INLINE void covington_add_sparse(int16_t *scores, const CovingtonPair *row) {
    for (int k = 1; k < 4; k++) covington_add_pair(scores, row + k);
    const CovingtonPair *const last = row + 4 * (1 + row->number / 4);
    for (row += 4; row < last; row += 4)
        for (int k = 0; k < 4; k++) covington_add_pair(scores, row + k);
}

/* The weights of some features, each of all classes, on top of their scores. */
COVINGTON_CLONES static void covington_add_full(int64_t *scores, const int32_t *const *rows, int count, int classes) {
    int at = 0;
    for (; at + COVINGTON_STRETCH <= classes; at += COVINGTON_STRETCH) {
        CovingtonScores *const total = (CovingtonScores *)(scores + at);
        CovingtonScores sums[COVINGTON_STRETCH / 4];
COVINGTON_UNROLL
        for (int k = 0; k < COVINGTON_STRETCH / 4; k++) sums[k] = total[k];
        for (int r = 0; r < count; r++) {
            const CovingtonWeights *row = (const CovingtonWeights *)(rows[r] + at);
COVINGTON_UNROLL
            for (int k = 0; k < COVINGTON_STRETCH / 4; k++) sums[k] += __builtin_convertvector(row[k], CovingtonScores);
        }
COVINGTON_UNROLL
        for (int k = 0; k < COVINGTON_STRETCH / 4; k++) total[k] = sums[k];
    }
    for (int r = 0; r < count; r++)
        for (int k = at; k < classes; k++) scores[k] += rows[r][k];
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
