/* The network in integers: the same numbers from every instruction set.
 *
 * Weights and activations lie from -127 to 127, and their products are added up exactly. What scales them are single
 * multiplications and additions in float32, element by element, rounded each (setup.py forbids contraction), so that
 * no order of sums is left to an instruction set. Sums that go on as they are, are integers.
 */
#ifndef COVINGTON_INTEGER_KERNELS_H
#define COVINGTON_INTEGER_KERNELS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INT_ROWS 8      /* rows of activations that are multiplied at a time */
#define INT_COLUMNS 16  /* of a panel of weights: [k / 4][16 columns][4] */
#define MAX_INNER 2048  /* terms of a product */
#define GATE_UNIT 1024  /* a gate's sum of 1, as stored */
#define MAX_GATE 32767.0f
#define SLOT_UNIT 256   /* a projection of 1, as stored */
#define MAX_SLOT 2047   /* of a projection, so that sixteen of them fit 16 bits */
#define MAX_HIDDEN 8191 /* of a hidden unit of the scorers, so that its products fit 32 bits */

typedef struct {
    int64_t k, n;      /* rows and columns as they are used: multiples of 4 and of 16 */
    const int8_t *weights;
    const int32_t *sums; /* of each column, times 128 */
    const float *scales;
} int_matrix;

typedef struct {
    const char *name;
    void (*dots)(const int8_t *a, int64_t stride, int64_t rows, const int_matrix *b, int32_t *out, int64_t out_stride);
    float (*quantise)(const float *values, int64_t count, int8_t *out);
    void (*reals)(const int32_t *sums, float unit, const float *scales, const float *bias, int64_t count, float *out);
    void (*fixed)(const int32_t *sums, float unit, const float *scales, const int32_t *more, float more_unit,
                  const float *more_scales, const float *bias, float limit, int64_t count, int16_t *out);
    void (*cells)(int64_t width, const int16_t *inputs, const int32_t *sums, const float *scales, float *cell,
                  int8_t *state);
    void (*softmax)(float *scores, const int32_t *ends, int64_t groups, int8_t *out);
    void (*embed)(const int8_t *table, const int32_t *rows, int64_t count, int64_t width, const float *scales, float *out);
    void (*hidden)(const int16_t *const *rows, int64_t count, int64_t width, int16_t *out);
    int32_t (*dot)(const int16_t *one, const int16_t *other, int64_t count);
    void (*label_scores)(const int16_t *hidden, const int16_t *weights, int64_t width, int64_t labels, int32_t *scores);
} integer_kernels;

/* from -(2^22) to 2^22, to the nearest, halves to even */
static inline __attribute__((always_inline)) int32_t round_off(float x) {
    float shifted = x + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    return bits - 0x4B400000;
}

static inline __attribute__((always_inline)) float between(float x, float limit) {
    x = x < -limit ? -limit : x;
    return x > limit ? limit : x;
}

/* Lambert's fraction, which is 1 at 3.6467; within 0.0012 of tanh, where 1/127 counts */
static inline __attribute__((always_inline)) float short_tanh(float x) {
    x = between(x, 3.6467f);
    float square = x * x;
    float over = ((square + 105.0f) * square + 945.0f) * x;
    float under = (15.0f * square + 420.0f) * square + 945.0f;
    return over / under;
}

/* e to the x for x from -20 to 0, by (1 + x/1024 + ...)^1024: relative error below 2e-4 */
static inline __attribute__((always_inline)) float short_exp(float x) {
    x = x < -20.0f ? -20.0f : x;
    float y = x * 0.0078125f;
    y = ((y * 0.16666667f + 0.5f) * y + 1.0f) * y + 1.0f;
    y = y * y;
    y = y * y;
    y = y * y;
    y = y * y;
    y = y * y;
    y = y * y;
    return y * y;
}

#define PLAIN_INT(name) plain_int_##name
#define NAME PLAIN_INT
#define KERNEL "plain"
#define PLAIN_DOTS
#include "integer_loops.h"

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#define COVINGTON_INT_NEON 1
#include <arm_neon.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("+dotprod")
#endif
#define NEON_INT(name) neon_int_##name
#define NAME NEON_INT
#define KERNEL "neon"
#define NEON_DOTS
#include "integer_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef __linux__
#include <sys/auxv.h>
#endif
/* Apple's have the dot product of bytes since the first; Linux tells by bit 20, ASIMDDP */
static inline int has_dotprod(void) {
#if defined(__linux__)
    return getauxval(AT_HWCAP) >> 20 & 1;
#elif defined(__APPLE__)
    return 1;
#else
    return 0;
#endif
}
#endif

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define COVINGTON_INT_X86 1
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define AVX2_INT(name) avx2_int_##name
#define NAME AVX2_INT
#define KERNEL "avx2"
#define AVX2_DOTS
#include "integer_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,avxvnni"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,avxvnni")
#endif
#define AVXVNNI_INT(name) avxvnni_int_##name
#define NAME AVXVNNI_INT
#define KERNEL "avxvnni"
#define AVXVNNI_DOTS
#include "integer_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,prefer-vector-width=512")
#endif
#define VNNI_INT(name) vnni_int_##name
#define NAME VNNI_INT
#define KERNEL "vnni"
#define VNNI_DOTS
#include "integer_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

/* is there AVX-VNNI (leaf 7, sub-leaf 1, EAX bit 4)? Older compilers cannot be asked by name. */
#include <cpuid.h>
static inline int has_avxvnni(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

/* The kernels of that name, NULL where the processor lacks them; without a name the fastest that it has. */
static inline const integer_kernels *choose_integer_kernels(const char *name) {
#ifdef COVINGTON_INT_X86
    int has_vnni = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vnni");
    if (has_vnni && (!name || !strcmp(name, "vnni")))
        return &vnni_int_kernels;
    if (has_avxvnni() && (!name || !strcmp(name, "vnni") || !strcmp(name, "avxvnni")))
        return &avxvnni_int_kernels;
    if (__builtin_cpu_supports("avx2") && (!name || !strcmp(name, "avx2")))
        return &avx2_int_kernels;
#endif
#ifdef COVINGTON_INT_NEON
    if (has_dotprod() && (!name || !strcmp(name, "neon")))
        return &neon_int_kernels;
#endif
    return !name || !strcmp(name, "plain") ? &plain_int_kernels : NULL;
}

#endif
