/* The loops of integer_kernels.h, for one instruction set; only the products of matrices are written for each. */

/* LANE numbers of 16 bits, in one register */
#if defined(VNNI_DOTS)
#define LANE 32
#define INT_LANE __m512i
#define LANE_READ(from) _mm512_loadu_si512((const void *)(from))
#define LANE_WRITE(to, value) _mm512_storeu_si512((void *)(to), value)
#define LANE_ALL(pair) _mm512_set1_epi32(pair)
#define LANE_ADD(a, b) _mm512_add_epi16(a, b)
#define LANE_ADD_32(a, b) _mm512_add_epi32(a, b)
#define LANE_DOT(a, b) _mm512_madd_epi16(a, b)
#define LANE_CUT(a) _mm512_min_epi16(_mm512_max_epi16(a, _mm512_setzero_si512()), _mm512_set1_epi16(MAX_HIDDEN))
#elif defined(AVX2_DOTS) || defined(AVXVNNI_DOTS)
#define LANE 16
#define INT_LANE __m256i
#define LANE_READ(from) _mm256_loadu_si256((const __m256i *)(from))
#define LANE_WRITE(to, value) _mm256_storeu_si256((__m256i *)(to), value)
#define LANE_ALL(pair) _mm256_set1_epi32(pair)
#define LANE_ADD(a, b) _mm256_add_epi16(a, b)
#define LANE_ADD_32(a, b) _mm256_add_epi32(a, b)
#define LANE_DOT(a, b) _mm256_madd_epi16(a, b)
#define LANE_CUT(a) _mm256_min_epi16(_mm256_max_epi16(a, _mm256_setzero_si256()), _mm256_set1_epi16(MAX_HIDDEN))
#endif

#if defined(PLAIN_DOTS)
static void NAME(panel)(const int8_t *a, const int8_t *sizes, int64_t stride, int64_t rows, const int8_t *weights,
                        const int32_t *sums, int64_t k, int32_t *out, int64_t out_stride) {
    (void)sums, (void)sizes;
    for (int64_t r = 0; r < rows; r++) {
        int32_t total[INT_COLUMNS] = {0};
        for (int64_t p = 0; p < k; p += 4)
            for (int q = 0; q < INT_COLUMNS; q++)
                for (int s = 0; s < 4; s++)
                    total[q] += (int32_t)a[r * stride + p + s] * weights[p * INT_COLUMNS + 4 * q + s];
        memcpy(out + r * out_stride, total, sizeof total);
    }
}
#elif defined(NEON_DOTS)
static void NAME(panel)(const int8_t *a, const int8_t *sizes, int64_t stride, int64_t rows, const int8_t *weights,
                        const int32_t *sums, int64_t k, int32_t *out, int64_t out_stride) {
    (void)sums, (void)sizes;
    int32x4_t total[INT_ROWS][4];
    for (int64_t r = 0; r < rows; r++)
        for (int q = 0; q < 4; q++)
            total[r][q] = vdupq_n_s32(0);
    for (int64_t p = 0; p < k; p += 4) {
        int8x16_t b[4];
        for (int q = 0; q < 4; q++)
            b[q] = vld1q_s8(weights + p * INT_COLUMNS + 16 * q);
        for (int64_t r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + r * stride + p, 4);
            int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
            for (int q = 0; q < 4; q++)
                total[r][q] = vdotq_s32(total[r][q], b[q], x);
        }
    }
    for (int64_t r = 0; r < rows; r++)
        for (int q = 0; q < 4; q++)
            vst1q_s32(out + r * out_stride + 4 * q, total[r][q]);
}
#else
static inline __attribute__((always_inline)) int32_t NAME(four)(const int8_t *a) {
    int32_t four;
    memcpy(&four, a, 4);
    return four;
}

/* AVX2 multiplies unsigned by signed bytes: an activation's sign goes to the weights, so that 2 x 127 x 127 fits the
 * 16 bits between. VNNI adds up four products without a bound: activations are raised by 128, and 128 times the sum of
 * the weights is taken away. */
static inline __attribute__((always_inline)) void NAME(tile)(int rows, const int8_t *a, const int8_t *sizes,
                                                             int64_t stride, const int8_t *weights, const int32_t *sums, int64_t k,
                                                             int32_t *out, int64_t out_stride) {
#if defined(VNNI_DOTS)
#define VECTOR __m512i
#define PARTS 1
#define STEP 16
#define READ(from) _mm512_loadu_si512((const void *)(from))
#define WRITE(to, value) _mm512_storeu_si512((void *)(to), value)
    const VECTOR raise = _mm512_set1_epi8((char)0x80);
#else
#define VECTOR __m256i
#define PARTS 2
#define STEP 8
#define READ(from) _mm256_loadu_si256((const __m256i *)(from))
#define WRITE(to, value) _mm256_storeu_si256((__m256i *)(to), value)
#if defined(AVX2_DOTS)
    const VECTOR ones = _mm256_set1_epi16(1);
#else
    const VECTOR raise = _mm256_set1_epi8((char)0x80);
#endif
#endif
    VECTOR total[INT_ROWS][PARTS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < PARTS; v++)
#if defined(VNNI_DOTS)
            total[r][v] = _mm512_sub_epi32(_mm512_setzero_si512(), READ(sums));
#elif defined(AVX2_DOTS)
            total[r][v] = _mm256_setzero_si256();
#else
            total[r][v] = _mm256_sub_epi32(_mm256_setzero_si256(), READ(sums + STEP * v));
#endif
    for (int64_t p = 0; p < k; p += 4) {
        VECTOR b[PARTS];
#pragma GCC unroll 2
        for (int v = 0; v < PARTS; v++)
            b[v] = READ(weights + p * INT_COLUMNS + 4 * STEP * v);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
#if defined(VNNI_DOTS)
            VECTOR x = _mm512_xor_si512(_mm512_set1_epi32(NAME(four)(a + r * stride + p)), raise);
            total[r][0] = _mm512_dpbusd_epi32(total[r][0], x, b[0]);
#elif defined(AVX2_DOTS)
            VECTOR x = _mm256_set1_epi32(NAME(four)(a + r * stride + p));
            VECTOR size = _mm256_set1_epi32(NAME(four)(sizes + r * MAX_INNER + p));
#pragma GCC unroll 2
            for (int v = 0; v < PARTS; v++) {
                VECTOR pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(b[v], x));
                total[r][v] = _mm256_add_epi32(total[r][v], _mm256_madd_epi16(pairs, ones));
            }
#else
            VECTOR x = _mm256_xor_si256(_mm256_set1_epi32(NAME(four)(a + r * stride + p)), raise);
#pragma GCC unroll 2
            for (int v = 0; v < PARTS; v++)
                total[r][v] = _mm256_dpbusd_avx_epi32(total[r][v], x, b[v]);
#endif
        }
    }
    (void)sums, (void)sizes;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < PARTS; v++)
            WRITE(out + r * out_stride + STEP * v, total[r][v]);
#undef VECTOR
#undef PARTS
#undef STEP
#undef READ
#undef WRITE
}

static void NAME(panel)(const int8_t *a, const int8_t *sizes, int64_t stride, int64_t rows, const int8_t *weights,
                        const int32_t *sums, int64_t k, int32_t *out, int64_t out_stride) {
#if !defined(VNNI_DOTS)
    if (rows > 4) { /* sixteen registers hold the sums of four rows */
        NAME(panel)(a + 4 * stride, sizes + 4 * MAX_INNER, stride, rows - 4, weights, sums, k, out + 4 * out_stride, out_stride);
        rows = 4;
    }
#endif
    switch (rows) {
    case 1: NAME(tile)(1, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 2: NAME(tile)(2, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 3: NAME(tile)(3, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 4: NAME(tile)(4, a, sizes, stride, weights, sums, k, out, out_stride); break;
#if defined(VNNI_DOTS)
    case 5: NAME(tile)(5, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 6: NAME(tile)(6, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 7: NAME(tile)(7, a, sizes, stride, weights, sums, k, out, out_stride); break;
    case 8: NAME(tile)(8, a, sizes, stride, weights, sums, k, out, out_stride); break;
#endif
    }
}
#endif

/* The products of rows of activations, any number of them, with a matrix. */
static void NAME(dots)(const int8_t *a, int64_t stride, int64_t rows, const int_matrix *b, int32_t *out,
                       int64_t out_stride) {
    int8_t sizes[INT_ROWS * MAX_INNER]; /* without the sign */
    for (; rows > 0; rows -= INT_ROWS, a += INT_ROWS * stride, out += INT_ROWS * out_stride) {
        int64_t some = rows < INT_ROWS ? rows : INT_ROWS;
#if defined(AVX2_DOTS)
        for (int64_t r = 0; r < some; r++)
            for (int64_t k = 0; k < b->k; k++)
                sizes[r * MAX_INNER + k] = (int8_t)(a[r * stride + k] < 0 ? -a[r * stride + k] : a[r * stride + k]);
#endif
        for (int64_t n = 0; n < b->n; n += INT_COLUMNS)
            NAME(panel)(a, sizes, stride, some, b->weights + n * b->k, b->sums + n, b->k, out + n, out_stride);
    }
}

/* Values as integers of -127 to 127; returns what one of them stands for. */
static float NAME(quantise)(const float *values, int64_t count, int8_t *out) {
    uint32_t largest = 0;
    for (int64_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, values + k, 4);
        bits &= 0x7FFFFFFF;
        largest = bits > largest ? bits : largest;
    }
    float limit;
    memcpy(&limit, &largest, 4);
    if (!(limit > 1e-20f)) {
        memset(out, 0, (size_t)count);
        return 0.0f;
    }
    float by = 127.0f / limit;
    for (int64_t k = 0; k < count; k++)
        out[k] = (int8_t)round_off(between(values[k] * by, 127.0f));
    return limit / 127.0f;
}

static void NAME(reals)(const int32_t *restrict sums, float unit, const float *restrict scales,
                        const float *restrict bias, int64_t count, float *restrict out) {
    for (int64_t k = 0; k < count; k++)
        out[k] = (float)sums[k] * (unit * scales[k]) + bias[k];
}

static void NAME(fixed)(const int32_t *restrict sums, float unit, const float *restrict scales,
                        const int32_t *restrict more, float more_unit, const float *restrict more_scales,
                        const float *restrict bias, float limit, int64_t count, int16_t *restrict out) {
    if (more)
        for (int64_t k = 0; k < count; k++)
            out[k] = (int16_t)round_off(between(((float)sums[k] * (unit * scales[k]) +
                                                 (float)more[k] * (more_unit * more_scales[k])) + bias[k], limit));
    else
        for (int64_t k = 0; k < count; k++)
            out[k] = (int16_t)round_off(between((float)sums[k] * (unit * scales[k]) + bias[k], limit));
}

/* One step of an LSTM: gates from stored sums over the input and sums over the state before, which may be NULL. */
static void NAME(cells)(int64_t width, const int16_t *restrict inputs, const int32_t *restrict sums,
                        const float *restrict scales, float *restrict cell, int8_t *restrict state) {
    float gates[4 * 1024];
    if (sums)
        for (int64_t k = 0; k < 4 * width; k++)
            gates[k] = ((float)inputs[k] + (float)sums[k] * scales[k]) * (1.0f / GATE_UNIT);
    else
        for (int64_t k = 0; k < 4 * width; k++)
            gates[k] = (float)inputs[k] * (1.0f / GATE_UNIT);
    for (int64_t k = 0; k < width; k++) {
        float in = 0.5f * short_tanh(0.5f * gates[k]) + 0.5f;
        float keep = 0.5f * short_tanh(0.5f * gates[width + k]) + 0.5f;
        float out = 0.5f * short_tanh(0.5f * gates[2 * width + k]) + 0.5f;
        float now = keep * cell[k] + in * short_tanh(gates[3 * width + k]);
        cell[k] = now;
        state[k] = (int8_t)round_off(between(out * short_tanh(now) * 127.0f, 127.0f));
    }
}

/* Probabilities within each group of scores, in 127ths; the scores are overwritten. */
static void NAME(softmax)(float *restrict scores, const int32_t *restrict ends, int64_t groups, int8_t *restrict out) {
    int32_t parts[8192];
    int64_t count = ends[groups];
    for (int64_t g = 0; g < groups; g++) {
        float largest = scores[ends[g]];
        for (int64_t k = ends[g] + 1; k < ends[g + 1]; k++)
            largest = scores[k] > largest ? scores[k] : largest;
        for (int64_t k = ends[g]; k < ends[g + 1]; k++)
            scores[k] = scores[k] - largest;
    }
    for (int64_t k = 0; k < count; k++)
        parts[k] = round_off(short_exp(scores[k]) * 1048576.0f);
    for (int64_t g = 0; g < groups; g++) {
        int32_t sum = 0;
        for (int64_t k = ends[g]; k < ends[g + 1]; k++)
            sum += parts[k];
        float by = 127.0f / (float)sum;
        for (int64_t k = ends[g]; k < ends[g + 1]; k++)
            scores[k] = by;
    }
    for (int64_t k = 0; k < count; k++)
        out[k] = (int8_t)round_off((float)parts[k] * scores[k]);
}

/* The sum of rows of a table of bytes, scaled by column. */
static void NAME(embed)(const int8_t *restrict table, const int32_t *restrict rows, int64_t count, int64_t width,
                        const float *restrict scales, float *restrict out) {
    int32_t sums[1024] = {0};
    for (int64_t r = 0; r < count; r++) {
        const int8_t *row = table + rows[r] * width;
        for (int64_t k = 0; k < width; k++)
            sums[k] += row[k];
    }
    for (int64_t k = 0; k < width; k++)
        out[k] = (float)sums[k] * scales[k];
}

/* A hidden layer: rows of a bounded size, added up, nothing below 0 or above MAX_HIDDEN. */
static void NAME(hidden)(const int16_t *const *rows, int64_t count, int64_t width, int16_t *out) {
    int64_t k = 0;
#if defined(VNNI_DOTS) || defined(AVX2_DOTS) || defined(AVXVNNI_DOTS)
    for (; k + LANE <= width; k += LANE) {
        INT_LANE sum = LANE_READ(rows[0] + k);
        for (int64_t r = 1; r < count; r++)
            sum = LANE_ADD(sum, LANE_READ(rows[r] + k));
        LANE_WRITE(out + k, LANE_CUT(sum));
    }
#endif
    for (; k < width; k++) {
        int32_t sum = 0;
        for (int64_t r = 0; r < count; r++)
            sum += rows[r][k];
        sum = sum < 0 ? 0 : sum;
        out[k] = (int16_t)(sum > MAX_HIDDEN ? MAX_HIDDEN : sum);
    }
}

static int32_t NAME(dot)(const int16_t *one, const int16_t *other, int64_t count) {
    int32_t sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += (int32_t)one[k] * other[k];
    return sum;
}

/* Adds to the scores; weights: [labels / 16][width / 2][16][2] */
static void NAME(label_scores)(const int16_t *restrict hidden, const int16_t *restrict weights, int64_t width,
                               int64_t labels, int32_t *restrict scores) {
    for (int64_t q = 0; q < labels; q += INT_COLUMNS, scores += INT_COLUMNS) {
#if defined(VNNI_DOTS) || defined(AVX2_DOTS) || defined(AVXVNNI_DOTS)
        INT_LANE sums[32 / LANE];
#pragma GCC unroll 2
        for (int v = 0; v < 32 / LANE; v++)
            sums[v] = LANE_READ(scores + v * LANE / 2);
        for (int64_t k = 0; k < width; k += 2, weights += 2 * INT_COLUMNS) {
            int32_t two;
            memcpy(&two, hidden + k, sizeof two);
            INT_LANE pair = LANE_ALL(two);
#pragma GCC unroll 2
            for (int v = 0; v < 32 / LANE; v++)
                sums[v] = LANE_ADD_32(sums[v], LANE_DOT(pair, LANE_READ(weights + v * LANE)));
        }
#pragma GCC unroll 2
        for (int v = 0; v < 32 / LANE; v++)
            LANE_WRITE(scores + v * LANE / 2, sums[v]);
#else
        for (int64_t k = 0; k < width; k += 2, weights += 2 * INT_COLUMNS)
            for (int c = 0; c < INT_COLUMNS; c++)
                scores[c] += (int32_t)hidden[k] * weights[2 * c] + (int32_t)hidden[k + 1] * weights[2 * c + 1];
#endif
    }
}

static const integer_kernels NAME(kernels) = {
    .name = KERNEL, .dots = NAME(dots), .quantise = NAME(quantise), .reals = NAME(reals), .fixed = NAME(fixed),
    .cells = NAME(cells), .softmax = NAME(softmax), .embed = NAME(embed), .hidden = NAME(hidden), .dot = NAME(dot),
    .label_scores = NAME(label_scores),
};

#undef NAME
#undef KERNEL
#undef PLAIN_DOTS
#undef NEON_DOTS
#undef AVX2_DOTS
#undef AVXVNNI_DOTS
#undef VNNI_DOTS
#undef LANE
#undef INT_LANE
#undef LANE_READ
#undef LANE_WRITE
#undef LANE_ALL
#undef LANE_ADD
#undef LANE_ADD_32
#undef LANE_DOT
#undef LANE_CUT
