/* The loops of float_kernels.h, for one instruction set: VECTOR of WIDTH floats; tiles of ROWS x VECTORS vectors. */

#define COLUMNS (VECTORS * WIDTH)

/* Panels of COLUMNS columns, one after the other, zeros behind the last column. */
static void NAME(pack)(const float *b, int64_t row, int64_t column, int64_t k, int64_t n, float *packed) {
    for (int64_t from = 0; from < n; from += COLUMNS) {
        int64_t wide = n - from < COLUMNS ? n - from : COLUMNS;
        for (int64_t p = 0; p < k; p++, packed += COLUMNS) {
            const float *source = b + p * row + from * column;
            if (column == 1) {
                memcpy(packed, source, (size_t)wide * sizeof(float));
            } else {
                for (int64_t q = 0; q < wide; q++)
                    packed[q] = source[q * column];
            }
            for (int64_t q = wide; q < COLUMNS; q++)
                packed[q] = 0.0f;
        }
    }
}

static inline __attribute__((always_inline)) void NAME(tile)(int rows, const float *a, int64_t row, int64_t column,
                                                             const float *packed, float *c, int64_t stride, int64_t k,
                                                             int add) {
    VECTOR sum[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = add ? LOAD(c + r * stride + v * WIDTH) : ALL(0.0f);
    for (int64_t p = 0; p < k; p++, packed += COLUMNS, a += column) {
        VECTOR b[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            b[v] = LOAD(packed + v * WIDTH);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            VECTOR x = ALL(a[r * row]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] = FMA(x, b[v], sum[r][v]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            STORE(c + r * stride + v * WIDTH, sum[r][v]);
}

static void NAME(rows_of_tile)(int rows, const float *a, int64_t row, int64_t column, const float *packed, float *c,
                               int64_t stride, int64_t k, int add) {
    switch (rows) {
    case 1: NAME(tile)(1, a, row, column, packed, c, stride, k, add); break;
    case 2: NAME(tile)(2, a, row, column, packed, c, stride, k, add); break;
    case 3: NAME(tile)(3, a, row, column, packed, c, stride, k, add); break;
    case 4: NAME(tile)(4, a, row, column, packed, c, stride, k, add); break;
#if ROWS > 4
    case 5: NAME(tile)(5, a, row, column, packed, c, stride, k, add); break;
    case 6: NAME(tile)(6, a, row, column, packed, c, stride, k, add); break;
#endif
#if ROWS > 6
    case 7: NAME(tile)(7, a, row, column, packed, c, stride, k, add); break;
    case 8: NAME(tile)(8, a, row, column, packed, c, stride, k, add); break;
#endif
    }
}

/* c = a b, or c += a b; `a` by the strides of its rows and columns, `b` packed. */
static void NAME(multiply)(const float *a, int64_t row, int64_t column, const float *packed, float *c, int64_t stride,
                           int64_t m, int64_t k, int64_t n, int add) {
    float edge[ROWS * COLUMNS];
    for (int64_t from = 0; from < n; from += COLUMNS, packed += k * COLUMNS) {
        int64_t wide = n - from < COLUMNS ? n - from : COLUMNS;
        for (int64_t r = 0; r < m; r += ROWS) {
            int rows = m - r < ROWS ? (int)(m - r) : ROWS;
            float *to = c + r * stride + from;
            if (wide == COLUMNS) {
                NAME(rows_of_tile)(rows, a + r * row, row, column, packed, to, stride, k, add);
                continue;
            }
            if (add)
                for (int q = 0; q < rows; q++)
                    memcpy(edge + q * COLUMNS, to + q * stride, (size_t)wide * sizeof(float));
            NAME(rows_of_tile)(rows, a + r * row, row, column, packed, edge, COLUMNS, k, add);
            for (int q = 0; q < rows; q++)
                memcpy(to + q * stride, edge + q * COLUMNS, (size_t)wide * sizeof(float));
        }
    }
}

/* One step of an LSTM for one word. The gates come in as sums and go out as activations: input, forget, output,
 * candidate; `before` is the cell of the step before, NULL at the first. */
static void NAME(cell_forward)(int64_t width, float *restrict gates, const float *restrict before, float *restrict cell,
                               float *restrict state) {
    for (int64_t k = 0; k < 3 * width; k++)
        gates[k] = own_sigmoid(gates[k]);
    for (int64_t k = 3 * width; k < 4 * width; k++)
        gates[k] = own_tanh(gates[k]);
    if (before)
        for (int64_t k = 0; k < width; k++)
            cell[k] = __builtin_fmaf(gates[width + k], before[k], gates[k] * gates[3 * width + k]);
    else
        for (int64_t k = 0; k < width; k++)
            cell[k] = gates[k] * gates[3 * width + k];
    for (int64_t k = 0; k < width; k++)
        state[k] = gates[2 * width + k] * own_tanh(cell[k]);
}

/* `d_cell` comes in as the gradient from the step after and goes out as that for the step before. */
static void NAME(cell_backward)(int64_t width, const float *restrict gates, const float *restrict before,
                                const float *restrict cell, const float *restrict d_state, float *restrict d_cell,
                                float *restrict d_gates) {
    for (int64_t k = 0; k < width; k++) {
        float in = gates[k], keep = gates[width + k], out = gates[2 * width + k], new = gates[3 * width + k];
        float squashed = own_tanh(cell[k]);
        float d = d_cell[k] + d_state[k] * out * (1.0f - squashed * squashed);
        float old = before ? before[k] : 0.0f;
        d_gates[k] = d * new * in * (1.0f - in);
        d_gates[width + k] = d * old * keep * (1.0f - keep);
        d_gates[2 * width + k] = d_state[k] * squashed * out * (1.0f - out);
        d_gates[3 * width + k] = d * in * (1.0f - new * new);
        d_cell[k] = d * keep;
    }
}

static void NAME(softmax)(const float *scores, int64_t count, float *probabilities) {
    float largest = scores[0], sum = 0.0f;
    for (int64_t k = 1; k < count; k++)
        largest = scores[k] > largest ? scores[k] : largest;
    for (int64_t k = 0; k < count; k++)
        probabilities[k] = own_exp(scores[k] - largest);
    for (int64_t k = 0; k < count; k++)
        sum += probabilities[k];
    for (int64_t k = 0; k < count; k++)
        probabilities[k] = probabilities[k] / sum;
}

static void NAME(add_row)(float *restrict to, const float *restrict row, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        to[k] += row[k];
}

static void NAME(add_scaled)(float *restrict to, const float *restrict row, float scale, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        to[k] = __builtin_fmaf(row[k], scale, to[k]);
}

/* Sixteen sums, of every sixteenth product each, which are then added in order. */
static float NAME(dot)(const float *one, const float *other, int64_t count) {
    float sums[16] = {0.0f}, sum = 0.0f;
    int64_t k = 0;
    for (; k + 16 <= count; k += 16)
        for (int q = 0; q < 16; q++)
            sums[q] = __builtin_fmaf(one[k + q], other[k + q], sums[q]);
    for (int q = 0; k + q < count; q++)
        sums[q] = __builtin_fmaf(one[k + q], other[k + q], sums[q]);
    for (int q = 0; q < 16; q++)
        sum += sums[q];
    return sum;
}

static double NAME(squares)(const float *values, int64_t count) {
    double sums[16] = {0.0}, sum = 0.0;
    int64_t k = 0;
    for (; k + 16 <= count; k += 16)
        for (int q = 0; q < 16; q++)
            sums[q] += (double)values[k + q] * (double)values[k + q];
    for (int q = 0; k + q < count; q++)
        sums[q] += (double)values[k + q] * (double)values[k + q];
    for (int q = 0; q < 16; q++)
        sum += sums[q];
    return sum;
}

/* One step of Adam; `scale` is what the gradient is clipped by. */
static void NAME(adam)(float *restrict values, float *restrict mean, float *restrict variance,
                       const float *restrict gradient, int64_t count, float rate, float keep_mean, float keep_variance,
                       float scale) {
    for (int64_t k = 0; k < count; k++) {
        float g = gradient[k] * scale;
        mean[k] = __builtin_fmaf(keep_mean, mean[k] - g, g);
        variance[k] = __builtin_fmaf(keep_variance, variance[k] - g * g, g * g);
        values[k] -= rate * mean[k] / (__builtin_sqrtf(variance[k]) + 1e-8f);
    }
}

static const float_kernels NAME(kernels) = {
    .name = KERNEL, .columns = COLUMNS, .pack = NAME(pack), .multiply = NAME(multiply),
    .cell_forward = NAME(cell_forward), .cell_backward = NAME(cell_backward), .softmax = NAME(softmax),
    .add_row = NAME(add_row), .add_scaled = NAME(add_scaled), .dot = NAME(dot), .squares = NAME(squares),
    .adam = NAME(adam),
};

#undef COLUMNS
#undef NAME
#undef KERNEL
#undef VECTOR
#undef WIDTH
#undef ROWS
#undef VECTORS
#undef LOAD
#undef STORE
#undef ALL
#undef FMA
