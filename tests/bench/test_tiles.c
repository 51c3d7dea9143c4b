/* Products in tiles: every element is in one tile, and who computes the tiles changes no bit. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/tiles.h"
#include "bench/primitives/matmul.h"
#include "support/random_numbers.h"
#include "support/suite.h"

/* ---- the division ----------------------------------------------------------------------- */

static void each_element_once(size_t batch, size_t m, size_t n, size_t k)
{
    struct tiles tiles = tiles_of(batch, m, n, k);
    unsigned char *covered = calloc(batch * m * n, 1);
    for (size_t part = 0; part < tiles.parts; part++)
        for (size_t i = 0; i < tiles_in(&tiles, part); i++) {
            struct tile t = tile_at(&tiles, part, i);
            ck_assert_uint_le(t.rows, tiles.rows);
            ck_assert_uint_le(t.columns, tiles.columns);
            ck_assert_uint_lt(t.product, batch);
            ck_assert(t.first_row + t.rows <= m && t.first_column + t.columns <= n);
            for (size_t row = t.first_row; row < t.first_row + t.rows; row++)
                for (size_t column = t.first_column; column < t.first_column + t.columns; column++)
                    covered[(t.product * m + row) * n + column]++;
        }
    for (size_t i = 0; i < batch * m * n; i++)
        if (covered[i] != 1) ck_abort_msg("element %zu of %zux%zux%zux%zu", i, batch, m, n, k);
    free(covered);
}

/* Whatever the sizes, every element is in one tile. */
START_TEST(tiles_cover_products)
{
    static const size_t sizes[] = { 1, 2, 15, 16, 17, 255, 257, 513, 1025, 3000 };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < SIZES; j++)
            for (size_t k = 1; k < (size_t)1 << 20; k *= 31)
                for (size_t batch = 1; batch < 30; batch += 13)
                    if (batch * sizes[i] * sizes[j] < 1 << 19)
                        each_element_once(batch, sizes[i], sizes[j], k);
    each_element_once(1, 1, 1, (size_t)1 << 40);
    each_element_once(1, 5000, 100, 3);
    each_element_once(100000, 1, 1, 3);
}
END_TEST

/* A large product has many parts, none much larger than others; small ones are not worth a part each. */
START_TEST(parts_are_of_some_size)
{
    static const size_t sizes[][3] = { { 512, 8192, 768 },
                                       { 8192, 768, 512 },
                                       { 4096, 4096, 4096 },
                                       { 512, 768, 50257 },
                                       { 3, 1 << 20, 500 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t *s = sizes[i];
        struct tiles tiles = tiles_of(1, s[0], s[1], s[2]);
        double part = (double)tiles.rows * (double)tiles.columns * (double)s[2];
        double all = (double)s[0] * (double)s[1] * (double)s[2];
        ck_assert_uint_ge(tiles.parts, 6);
        ck_assert(part <= 0x1p32);
        ck_assert(part * (double)tiles.parts <= 1.2 * all);
    }
    ck_assert_uint_lt(tiles_of(100000, 4, 4, 4).parts, 10);
    ck_assert_uint_eq(tiles_of(24, 256, 256, 64).parts, 24);
}
END_TEST

/* ---- threads ---------------------------------------------------------------------------- */

struct product {
    size_t batch, m, n, k;
    enum dtype dtype;
    double special; /* put into the first operand */
};

static void fill(struct tensor *out, const struct product *p, size_t rows, size_t columns,
                 uint64_t seed, struct arena *arena)
{
    const int64_t shape[3] = { (int64_t)p->batch, (int64_t)rows, (int64_t)columns };
    size_t n = p->batch * rows * columns;
    double *x = malloc(n * sizeof *x);
    state = seed;
    /* Some products cancel, so that elements are recomputed. */
    for (size_t i = 0; i < n; i++) x[i] = 2 * uniform() - 1;
    if (p->special != 0 && seed == 1) x[n / 3] = p->special;
    ck_assert(!tensor_create(out, arena, p->dtype, 3, shape).code);
    dtype_from_double(out->data, p->dtype, x, n);
    free(x);
}

static const struct node *multiply(struct tape *tape, struct arena *arena, struct help *help,
                                   const struct product *p, int form,
                                   enum bench_arithmetic arithmetic)
{
    bool turn_a = form & 1, turn_b = form & 2;
    struct tensor *a = arena_allocate(arena, sizeof *a), *b = arena_allocate(arena, sizeof *b);
    fill(a, p, turn_a ? p->k : p->m, turn_a ? p->m : p->k, 1, arena);
    fill(b, p, turn_b ? p->n : p->k, turn_b ? p->k : p->n, 2, arena);
    tape_open(tape, arena, arithmetic, p->dtype == DT_F64);
    tape->help = help;
    struct node *x = node_leaf(tape, a, false), *y = node_leaf(tape, b, false);
    struct node *z = node_matmul(tape, x, turn_a, y, turn_b);
    ck_assert(!tape->status.code);
    return z;
}

/* Values and bounds are the same bits whoever computes the tiles: of products with one tile and with many, in all
 * layouts, with elements that are not finite, in every arithmetic. */
START_TEST(threads_change_no_bit)
{
    static const struct product products[] = {
        { 1, 520, 1030, 70, DT_F32, 0 },   { 1, 70, 300, 2500, DT_F32, 0 },
        { 20, 60, 40, 50, DT_F32, 0 },     { 3, 600, 100, 150, DT_BF16, 0 },
        { 2, 530, 40, 33, DT_F64, 0 },     { 1, 530, 1030, 20, DT_F32, INFINITY },
        { 1, 530, 1030, 20, DT_F32, NAN },
    };
    static const enum bench_arithmetic arithmetics[] = { BENCH_REFERENCE, BENCH_NATIVE,
                                                         BENCH_MODEL_WORST, BENCH_MODEL_TYPICAL };
    const struct product *p = &products[_i / 4];
    struct team team;
    team_open(&team, 5, 64 << 20, NULL);
    for (int i = 0; i < 4; i++) {
        struct arena arenas[2] = { { 0 }, { 0 } };
        struct tape tapes[2];
        struct help help = { .team = &team };
        const struct node *x = multiply(&tapes[0], &arenas[0], NULL, p, _i % 4, arithmetics[i]);
        const struct node *y = multiply(&tapes[1], &arenas[1], &help, p, _i % 4, arithmetics[i]);
        ck_assert_uint_eq(x->n, p->batch * p->m * p->n);
        ck_assert_uint_eq(y->n, x->n);
        ck_assert_int_eq(!x->value, !y->value);
        ck_assert_int_eq(!x->error, !y->error);
        if (x->value) ck_assert_mem_eq(x->value, y->value, x->n * sizeof *x->value);
        else ck_assert_mem_eq(x->single, y->single, x->n * sizeof *x->single);
        if (x->error) ck_assert_mem_eq(x->error, y->error, x->n * sizeof *x->error);
        arena_release(&arenas[0]);
        arena_release(&arenas[1]);
    }
    team_close(&team);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiles");
    TCase *tests = tcase_create("tiles");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, tiles_cover_products);
    tcase_add_test(tests, parts_are_of_some_size);
    tcase_add_loop_test(tests, threads_change_no_bit, 0, 7 * 4);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
