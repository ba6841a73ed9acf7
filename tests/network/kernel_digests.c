/* Prints a digest of what each kernel of this processor makes of the same numbers; all lines of one kind, from all
 * processors and compilers, must be equal. */
#include <stdio.h>

#include "float_kernels.h"
#include "integer_kernels.h"

static uint64_t state = 88172645463325252ull, digest;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void add(const void *bytes, size_t size) {
    for (size_t k = 0; k < size; k++)
        digest = (digest ^ ((const uint8_t *)bytes)[k]) * 1099511628211ull;
}

static float small(void) {
    return (float)((int64_t)(draw() % 4000001) - 2000000) * 1e-6f;
}

static void floats(const float_kernels *kernels) {
    static float a[37 * 45], b[45 * 83], packed[45 * 200], c[37 * 83], gates[4 * 40], cell[40], next[40], h[40], d[40], e[160];
    static float m[99], v[99], w[99];
    state = 88172645463325252ull;
    digest = 14695981039346656037ull;
    for (int round = 0; round < 20; round++) {
        int64_t rows = 1 + draw() % 37, k = 1 + draw() % 45, n = 1 + draw() % 83;
        for (int q = 0; q < 37 * 45; q++) a[q] = small();
        for (int q = 0; q < 45 * 83; q++) b[q] = small();
        for (int q = 0; q < 37 * 83; q++) c[q] = small();
        kernels->pack(b, n, 1, k, n, packed);
        kernels->multiply(a, k, 1, packed, c, n, rows, k, n, (int)(round % 2));
        add(c, sizeof c);
        for (int q = 0; q < 160; q++) gates[q] = small() * 20;
        for (int q = 0; q < 40; q++) cell[q] = small(), d[q] = small();
        kernels->cell_forward(40, gates, round % 3 ? cell : NULL, next, h);
        kernels->cell_backward(40, gates, round % 3 ? cell : NULL, next, h, d, e);
        add(gates, sizeof gates), add(next, sizeof next), add(h, sizeof h), add(d, sizeof d), add(e, sizeof e);
        kernels->softmax(a, 1 + draw() % 99, b);
        add(b, sizeof b);
        float dot = kernels->dot(a, b, 1 + draw() % 300);
        double squares = kernels->squares(a, 1 + draw() % 300);
        add(&dot, sizeof dot), add(&squares, sizeof squares);
        for (int q = 0; q < 99; q++) m[q] = small(), v[q] = small() * small(), w[q] = small();
        for (int q = 0; q < 99; q++) v[q] = v[q] < 0 ? -v[q] : v[q];
        kernels->adam(w, m, v, a, 99, 0.01f, 0.9f, 0.999f, 0.37f);
        kernels->add_scaled(w, m, small(), 99);
        add(m, sizeof m), add(v, sizeof v), add(w, sizeof w);
    }
    printf("float %s %016llx\n", kernels->name, (unsigned long long)digest);
}

static int8_t byte(int extreme) {
    return (int8_t)(extreme ? (draw() & 1 ? 127 : -127) : (int)(draw() % 255) - 127);
}

static void integers(const integer_kernels *kernels) {
    static int8_t a[20 * 320], weights[320 * 96], state8[64], soft[64];
    static int32_t sums[96], out[20 * 96], more[256], ends[] = {0, 1, 20, 23, 50};
    static float scales[256], reals[320], bias[256], cell[64];
    static int16_t fixed[256], hidden[15 * 200], table[200 * 64];
    state = 88172645463325252ull;
    digest = 14695981039346656037ull;
    for (int round = 0; round < 30; round++) {
        int64_t k = 4 * (1 + draw() % 80), n = 16 * (1 + draw() % 6), rows = 1 + draw() % 20;
        for (int q = 0; q < 20 * 320; q++) a[q] = byte(round % 2);
        for (int q = 0; q < 320 * 96; q++) weights[q] = byte(round % 2);
        for (int64_t q = 0; q < n; q++) {
            sums[q] = 0;
            for (int64_t p = 0; p < k; p++)
                sums[q] += weights[q / 16 * 16 * k + p / 4 * 64 + q % 16 * 4 + p % 4];
            sums[q] *= 128;
        }
        for (int q = 0; q < 256; q++) scales[q] = small(), bias[q] = small() * 100, more[q] = (int32_t)(draw() % 2000001) - 1000000;
        int_matrix matrix = {k, n, weights, sums, scales};
        memset(out, 0, sizeof out);
        kernels->dots(a, 320, rows, &matrix, out, 96);
        add(out, sizeof out);
        float one = small(), other = small();
        kernels->reals(more, one, scales, bias, 256, reals);
        add(reals, 256 * sizeof(float));
        float unit = kernels->quantise(reals, 256, a);
        add(a, 256), add(&unit, sizeof unit);
        kernels->fixed(more, one, scales, round % 2 ? more : NULL, other, bias, bias, 32767.0f, 256, fixed);
        add(fixed, sizeof fixed);
        for (int q = 0; q < 64; q++) cell[q] = small();
        kernels->cells(64, fixed, round % 3 ? more : NULL, scales, cell, state8);
        add(cell, sizeof cell), add(state8, sizeof state8);
        for (int q = 0; q < 50; q++) reals[q] = small() * 10;
        kernels->softmax(reals, ends, 4, soft);
        add(soft, 50);
        int32_t chosen[] = {3, 0, 7, 7};
        kernels->embed(weights, chosen, 4, 61, scales, reals);
        add(reals, 61 * sizeof(float));
        const int16_t *parts[15];
        for (int q = 0; q < 15 * 200; q++) hidden[q] = (int16_t)((int64_t)(draw() % 4095) - 2047);
        for (int q = 0; q < 15; q++) parts[q] = hidden + 200 * q;
        kernels->hidden(parts, 15, 197, table);
        add(table, 197 * 2);
        int32_t dot = kernels->dot(table, hidden, 197);
        add(&dot, sizeof dot);
        int16_t layer[200];
        memcpy(layer, table, sizeof layer);
        for (int q = 0; q < 200 * 64; q++) table[q] = (int16_t)((int64_t)(draw() % 1365) - 682);
        kernels->label_scores(layer, table, 196, 64, more);
        add(more, sizeof more);
    }
    printf("integer %s %016llx\n", kernels->name, (unsigned long long)digest);
}

int main(void) {
    const char *names[] = {"plain", "avx2", "avx512", "avxvnni", "vnni", "neon"};
    for (int k = 0; k < 6; k++) {
        const float_kernels *one = choose_float_kernels(names[k]);
        if (one && !strcmp(one->name, names[k]))
            floats(one);
        const integer_kernels *other = choose_integer_kernels(names[k]);
        if (other && !strcmp(other->name, names[k]))
            integers(other);
    }
    return 0;
}
