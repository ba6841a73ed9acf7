/* Training's arithmetic in float32: the same bits from every instruction set.
 *
 * The loops of float_loops.h are compiled once for each instruction set. Every element that comes out is the sum of
 * its terms in their order by one accumulator, with fused multiply-add; vectors go across the elements. exp and tanh
 * are our own, and nothing is contracted (setup.py sees to that).
 */
#ifndef COVINGTON_FLOAT_KERNELS_H
#define COVINGTON_FLOAT_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* what a roll-out, a layer or the optimiser calls; `pack` brings a matrix into the order that `multiply` reads */
typedef struct {
    const char *name;
    int columns; /* of a panel of a packed matrix */
    void (*pack)(const float *b, int64_t row, int64_t column, int64_t k, int64_t n, float *packed);
    void (*multiply)(const float *a, int64_t row, int64_t column, const float *packed, float *c, int64_t stride,
                     int64_t m, int64_t k, int64_t n, int add);
    void (*cell_forward)(int64_t width, float *gates, const float *before, float *cell, float *state);
    void (*cell_backward)(int64_t width, const float *gates, const float *before, const float *cell, const float *d_state,
                          float *d_cell, float *d_gates);
    void (*softmax)(const float *scores, int64_t count, float *probabilities);
    void (*add_row)(float *to, const float *row, int64_t count);
    void (*add_scaled)(float *to, const float *row, float scale, int64_t count);
    float (*dot)(const float *one, const float *other, int64_t count);
    double (*squares)(const float *values, int64_t count);
    void (*adam)(float *values, float *mean, float *variance, const float *gradient, int64_t count, float rate,
                 float keep_mean, float keep_variance, float scale);
} float_kernels;

static inline float bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* e to the x by 2^n and a polynomial; the relative error is below 2e-7 */
static inline __attribute__((always_inline)) float own_exp(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = __builtin_fmaf(x, 1.44269504f, 12582912.0f); /* 1.5 * 2^23: rounds to a whole number */
    float n = shifted - 12582912.0f;
    float r = __builtin_fmaf(n, -0.693145752f, x);
    r = __builtin_fmaf(n, -1.42860677e-6f, r);
    float p = 1.3888889e-3f;
    p = __builtin_fmaf(p, r, 8.3333333e-3f);
    p = __builtin_fmaf(p, r, 4.1666667e-2f);
    p = __builtin_fmaf(p, r, 1.6666667e-1f);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(p, r, 1.0f);
    p = __builtin_fmaf(p, r, 1.0f);
    return bits_to_float(float_to_bits(p) + (float_to_bits(shifted) << 23));
}

static inline __attribute__((always_inline)) float own_sigmoid(float x) {
    return 1.0f / (1.0f + own_exp(-x));
}

static inline __attribute__((always_inline)) float own_tanh(float x) {
    return 1.0f - 2.0f / (own_exp(x + x) + 1.0f);
}

#define PLAIN_NAME(name) plain_##name
#define NAME PLAIN_NAME
#define KERNEL "plain"
#define VECTOR float
#define WIDTH 1
#define ROWS 4
#define VECTORS 4
#define LOAD(from) (*(from))
#define STORE(to, value) (*(to) = (value))
#define ALL(value) (value)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "float_loops.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define COVINGTON_FLOAT_X86 1
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define AVX2_NAME(name) avx2_##name
#define NAME AVX2_NAME
#define KERNEL "avx2"
#define VECTOR __m256
#define WIDTH 8
#define ROWS 6
#define VECTORS 2
#define LOAD(from) _mm256_loadu_ps(from)
#define STORE(to, value) _mm256_storeu_ps(to, value)
#define ALL(value) _mm256_set1_ps(value)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#include "float_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define AVX512_NAME(name) avx512_##name
#define NAME AVX512_NAME
#define KERNEL "avx512"
#define VECTOR __m512
#define WIDTH 16
#define ROWS 8
#define VECTORS 3
#define LOAD(from) _mm512_loadu_ps(from)
#define STORE(to, value) _mm512_storeu_ps(to, value)
#define ALL(value) _mm512_set1_ps(value)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#include "float_loops.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/* The kernels of that name, NULL where the processor lacks them; without a name the fastest that it has. */
static inline const float_kernels *choose_float_kernels(const char *name) {
#ifdef COVINGTON_FLOAT_X86
    int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (has_avx512 && (!name || !strcmp(name, "avx512")))
        return &avx512_kernels;
    if (has_avx2 && (!name || !strcmp(name, "avx2")))
        return &avx2_kernels;
#endif
    return !name || !strcmp(name, "plain") ? &plain_kernels : NULL;
}

#endif
