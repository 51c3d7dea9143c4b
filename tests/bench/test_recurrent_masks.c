/* Choices read from a plain layer in loops: which are told, and which are not. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/ops/recurrent_masks.h"
#include "bench/samples.h"
#include "support/suite.h"

enum { STEPS = 6, ROWS = 2, WIDTH = 8, ALL = STEPS * ROWS * WIDTH };

static const double dropped = 0.3, float32 = 0x1p-24, bfloat16 = 0x1p-8;

static double x[ALL], y[ALL], h[ROWS * WIDTH], w[WIDTH * WIDTH], u[WIDTH * WIDTH];
static unsigned char mask[ALL], choices[ALL];

static void draw(double *out, size_t n, struct numbers *numbers, double size)
{
    for (size_t i = 0; i < n; i++) out[i] = size * numbers_normal(numbers);
}

static void run_layer(void)
{
    for (size_t row = 0; row < STEPS * ROWS; row++) {
        const double *before = row < ROWS ? h + row * WIDTH : y + (row - ROWS) * WIDTH;
        for (size_t i = 0; i < WIDTH; i++) {
            double sum = 0;
            for (size_t k = 0; k < WIDTH; k++) {
                double kept = mask[row * WIDTH + k] == KEPT ? x[row * WIDTH + k] / (1 - dropped)
                                                            : 0;
                sum += w[i * WIDTH + k] * kept + u[i * WIDTH + k] * before[k];
            }
            y[row * WIDTH + i] = tanh(sum);
        }
    }
}

static void open_layer(void)
{
    struct numbers numbers = { 41 };
    draw(x, ALL, &numbers, 1);
    draw(h, ROWS * WIDTH, &numbers, 0.5);
    draw(w, WIDTH * WIDTH, &numbers, 0.3);
    draw(u, WIDTH * WIDTH, &numbers, 0.3);
    for (size_t i = 0; i < ALL; i++) mask[i] = numbers_uniform(&numbers) < dropped ? DROPPED : KEPT;
}

/* What the device returned is off by as much, at random. */
static void add_noise(double size)
{
    struct numbers numbers = { 43 };
    for (size_t i = 0; i < ALL; i++) y[i] += size * numbers_normal(&numbers);
}

static bool read_layer(double unit)
{
    static const int64_t sizes[STEPS] = { ROWS, ROWS, ROWS, ROWS, ROWS, ROWS },
                         starts[STEPS] = { 0, 2, 4, 6, 8, 10 };
    const struct masked_layer layer = {
        .kind = CELL_TANH,
        .p = dropped,
        .unit = unit,
        .directions = 1,
        .direction = { { .width = WIDTH,
                         .outputs = WIDTH,
                         .inputs = WIDTH,
                         .w_input = w,
                         .w_hidden = u,
                         .h = h } },
        .steps = STEPS,
        .batch = ROWS,
        .sizes = sizes,
        .starts = starts,
        .x = x,
        .y = y,
    };
    return recurrent_choices(choices, &layer);
}

START_TEST(rounded_outputs_tell_all_choices)
{
    open_layer();
    run_layer();
    for (size_t i = 0; i < ALL; i++) y[i] = (float)y[i];
    ck_assert(read_layer(float32));
    ck_assert_mem_eq(choices, mask, sizeof mask);
}
END_TEST

/* Small beside what a choice changes, but no rounding of float32. */
START_TEST(what_is_no_rounding_tells_nothing)
{
    open_layer();
    run_layer();
    add_noise(1e-5);
    ck_assert(read_layer(bfloat16));
    ck_assert_mem_eq(choices, mask, sizeof mask);
    ck_assert(!read_layer(float32));
}
END_TEST

/* A rounding of bfloat16, but not small beside what a choice changes: others may explain it as well. */
START_TEST(roundings_as_large_as_choices_tell_nothing)
{
    open_layer();
    run_layer();
    add_noise(0.02);
    ck_assert(!read_layer(bfloat16));
}
END_TEST

/* Elements that are 0, or as good as that, are the same dropped and kept. */
START_TEST(choices_that_change_nothing_are_open)
{
    open_layer();
    x[3] = 0;
    x[17] = 1e-9;
    run_layer();
    for (size_t i = 0; i < ALL; i++) y[i] = (float)y[i];
    ck_assert(read_layer(float32));
    ck_assert_int_eq(choices[3], OPEN);
    ck_assert_int_eq(choices[17], OPEN);
    for (size_t i = 0; i < ALL; i++)
        if (i != 3 && i != 17) ck_assert_int_eq(choices[i], mask[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recurrent masks");
    TCase *tests = tcase_create("recurrent masks");
    tcase_add_test(tests, rounded_outputs_tell_all_choices);
    tcase_add_test(tests, what_is_no_rounding_tells_nothing);
    tcase_add_test(tests, roundings_as_large_as_choices_tell_nothing);
    tcase_add_test(tests, choices_that_change_nothing_are_open);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
