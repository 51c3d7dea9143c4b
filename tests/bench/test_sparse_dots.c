/* Open elements of a product recomputed side by side: as close as they are said to be, all others untouched, and none taken that is not
 * certified. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/dot.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/sparse_dots.h"
#include "bench/oracle.h"
#include "bench/samples.h"
#include "support/suite.h"

enum { ROWS = 70, COLUMNS = 90, WORDS = 2, LONGEST = 1300, PRECISION = 2500 };
static const double untouched = 0x1p77;

struct product {
    float a[ROWS * LONGEST], b[LONGEST * COLUMNS];
    double value[ROWS * COLUMNS], a_norms[ROWS], b_norms[COLUMNS], wide[LONGEST * COLUMNS];
    uint64_t open[ROWS * WORDS];
    struct sparse_dots s;
};

/* Lines of the factor b lie as columns. */
static struct product *product_make(size_t k, struct numbers *numbers)
{
    struct product *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < ROWS * k; i++) p->a[i] = (float)(2 * numbers_uniform(numbers) - 1);
    for (size_t i = 0; i < COLUMNS * k; i++) p->b[i] = (float)(2 * numbers_uniform(numbers) - 1);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) p->value[i] = untouched;
    p->s = (struct sparse_dots){
        .value = p->value,
        .step = COLUMNS,
        .a = { p->a, DT_F32, ROWS, k, 1 },
        .b = { p->b, DT_F32, COLUMNS, 1, COLUMNS },
        .a_norms = p->a_norms,
        .b_norms = p->b_norms,
        .k = k,
        .certificate = certificate_of(DT_F32),
        .open = p->open,
        .open_step = WORDS,
    };
    return p;
}

static bool recompute(struct product *p)
{
    double *scratch = malloc(sparse_dots_scratch(&p->s.a, &p->s.b, p->s.k) * sizeof *scratch);
    ck_assert_ptr_nonnull(scratch);
    dtype_to_double(p->wide, p->a, DT_F32, ROWS * p->s.k);
    line_norms(p->a_norms, p->wide, ROWS, p->s.k, false);
    dtype_to_double(p->wide, p->b, DT_F32, COLUMNS * p->s.k);
    line_norms(p->b_norms, p->wide, COLUMNS, p->s.k, true);
    bool all = sparse_dots_recompute(&p->s, scratch);
    free(scratch);
    return all;
}

static void mark(struct product *p, size_t i, size_t j)
{
    p->open[i * WORDS + j / 64] |= (uint64_t)1 << j % 64;
}

static bool is_marked(const struct product *p, size_t i, size_t j)
{
    return p->open[i * WORDS + j / 64] >> j % 64 & 1;
}

/* |value - exact| over |exact|. */
static double distance(const struct product *p, size_t i, size_t j)
{
    arb_t exact, x, y;
    arb_init(exact);
    arb_init(x);
    arb_init(y);
    for (size_t l = 0; l < p->s.k; l++) {
        arb_set_d(x, (double)p->a[i * p->s.k + l]);
        arb_set_d(y, (double)p->b[l * COLUMNS + j]);
        arb_addmul(exact, x, y, PRECISION);
    }
    arb_set_d(x, p->value[i * COLUMNS + j]);
    arb_sub(x, x, exact, PRECISION);
    arb_div(x, x, exact, PRECISION);
    double off = fabs(arf_get_d(arb_midref(x), ARF_RND_NEAR));
    arb_clear(exact);
    arb_clear(x);
    arb_clear(y);
    return off;
}

/* Rows with none, one, two and more open elements. */
START_TEST(open_elements_are_recomputed)
{
    static const size_t lengths[] = { 1, 7, 16, 17, 511, 512, 513, LONGEST };
    struct numbers numbers = { .state = 5 + (uint64_t)_i };
    struct product *p = product_make(lengths[_i], &numbers);
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t n = 0; n < i % 5; n++) mark(p, i, numbers_next(&numbers) % COLUMNS);
    ck_assert(recompute(p));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            if (is_marked(p, i, j)) ck_assert_double_le(distance(p, i, j), 0x1p-52);
            else ck_assert_double_eq(p->value[i * COLUMNS + j], untouched);
            count += is_marked(p, i, j);
        }
    ck_assert_uint_le(count, sparse_dots_most(ROWS, COLUMNS));
    ck_assert_uint_gt(count, ROWS);
    free(p);
}
END_TEST

/* A sum that cancels to 0 is not certified by one level of extraction, its neighbour is; a row of zeros is 0. */
START_TEST(what_is_not_certified_is_left)
{
    enum { K = 600 };
    struct numbers numbers = { .state = 3 };
    struct product *p = product_make(K, &numbers);
    for (size_t l = 1; l < K; l += 2) {
        p->a[K + l] = -p->a[K + l - 1];
        p->b[l * COLUMNS + 70] = p->b[(l - 1) * COLUMNS + 70];
    }
    memset(p->a + 2 * K, 0, K * sizeof *p->a);
    mark(p, 1, 70);
    mark(p, 1, 71);
    mark(p, 2, 70);
    mark(p, 2, 71);
    mark(p, 2, 72);
    ck_assert(!recompute(p));
    ck_assert_double_eq(p->value[COLUMNS + 70], untouched);
    ck_assert_double_le(distance(p, 1, 71), 0x1p-52);
    for (size_t j = 70; j < 73; j++) ck_assert_double_eq(p->value[2 * COLUMNS + j], 0);
    free(p);
}
END_TEST

/* Two sums at once are, bit for bit, each alone. */
START_TEST(two_at_once_are_each_alone)
{
    struct numbers numbers = { .state = 9 };
    struct product *p = product_make(LONGEST, &numbers);
    for (size_t k = 1; k < 100; k++) {
        struct dot dot = dot_of_length(k, true);
        const float *b = p->a + 2 * LONGEST;
        double hi[2], lo[2], sigma[2] = { dot.start, 4 * dot.start }, high, low;
        dot_extracted_pair(hi, lo, &dot, p->a, p->a + LONGEST, b, sigma);
        (void)dot_extracted_single(&high, &low, &dot, p->a, b, 1);
        ck_assert(hi[0] == high && lo[0] == low);
        (void)dot_extracted_single(&high, &low, &dot, p->a + LONGEST, b, 4);
        ck_assert(hi[1] == high && lo[1] == low);
    }
    free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sparse_dots");
    TCase *tests = tcase_create("sparse_dots");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, open_elements_are_recomputed, 0, 8);
    tcase_add_test(tests, what_is_not_certified_is_left);
    tcase_add_test(tests, two_at_once_are_each_alone);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
