/* Recurrent layers: dropout between them, and the gradient of aten's fused step. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

/* ---- dropout between layers ------------------------------------------------------------------------ */

/* Two layers of an LSTM whose states are judged with what a device returned. */
struct trial {
    struct arena arena;
    struct sample sample;
    struct bench *bench, *device;
    struct value outputs;
};

static struct trial trial;

static void set_up(void)
{
    memset(&trial, 0, sizeof trial);
    trial.bench = opened(
        &trial.sample,
        "Torch.lstm(f32(5,3,4), [f32(2,3,6), f32(2,3,6)], [f32(24,4), f32(24,6), f32(24), f32(24), "
        "f32(24,6), f32(24,6), f32(24), f32(24)], True, 2, 0.3, True, False, False)",
        &trial.arena);
    const struct api_case *c = &trial.sample.c;
    ck_assert_int_eq(bench_open(&trial.device, c, &trial.arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&trial.outputs, trial.device).code, 0);
    ck_assert_uint_eq(trial.outputs.list.count, 3);
}

static void tear_down(void) { arena_release(&trial.arena); }

static float *elements(size_t k) { return trial.outputs.list.items[k].tensor.tensor->data; }

static bool output_holds(void)
{
    char reason[256];
    const struct bench_output *output = bench_output(trial.bench, 0);
    ck_assert_int_eq(output->kind, BENCH_OUTPUT_RANDOM);
    return output->property->holds(output->property, trial.outputs.list.items[0].tensor.tensor,
                                   reason, sizeof reason);
}

/* The largest difference of states [from, to) in output k. */
static double difference(size_t k, size_t from, size_t to)
{
    const struct reference *r = &bench_output(trial.bench, k)->reference;
    double most = 0;
    for (size_t i = from; i < to; i++) most = fmax(most, fabs(r->hi[i] - (double)elements(k)[i]));
    return most;
}

START_TEST(first_layers_have_values)
{
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(output_holds());
    for (size_t k = 1; k < 3; k++) {
        ck_assert(difference(k, 0, 18) < 1e-5);
        ck_assert(difference(k, 18, 36) == 0); /* the device's own */
    }
}
END_TEST

START_TEST(wrong_states_are_told)
{
    elements(1)[3] += 0.01f;
    elements(1)[20] = 1.5f; /* the second layer's, beyond a tanh */
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(difference(1, 0, 18) > 0.009);
    ck_assert(difference(1, 18, 36) >= 0.5);
}
END_TEST

START_TEST(the_last_step_is_the_final_state)
{
    elements(0)[4 * 18 + 7] *= 0.5f;
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(!output_holds());
}
END_TEST

START_TEST(outputs_lie_within_the_activation)
{
    static const float wrong[] = { 1.25f, NAN };
    elements(0)[7] = wrong[_i];
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(!output_holds());
}
END_TEST

START_TEST(gradients_are_no_values)
{
    struct bench_output *gradients;
    size_t count;
    struct value list = { .kind = VALUE_LIST,
                          .list = { .items = trial.outputs.list.items, .count = 1 } };
    struct status st = bench_backward(&gradients, &count, trial.bench, &list);
    ck_assert_int_eq(st.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(st.text, "record the step with dropout 0"));
}
END_TEST

/* ---- the fused step ----------------------------------------------------------------------------------- */

enum { BATCH = 2, WIDTH = 3 };

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

/* dh . h + dc . c of one element for gates before their activations. */
static long double objective(const long double *gate, long double c, long double dh, long double dc)
{
    long double after = sigmoid(gate[1]) * c + sigmoid(gate[0]) * tanhl(gate[2]);
    return dh * sigmoid(gate[3]) * tanhl(after) + dc * after;
}

/* Against differences of the step itself. */
START_TEST(the_gradient_of_a_fused_step)
{
    static const int part[4] = { 0, 1, 2, 3 };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(&sample,
                                    "Aten._thnn_fused_lstm_cell_backward_impl(f64(2,3), f64(2,3), "
                                    "f64(2,3), f64(2,3), f64(2,12)[0.1..0.9], True)",
                                    &arena));
    const double *dh = argument(&sample, 0, &arena), *dc = argument(&sample, 1, &arena),
                 *before = argument(&sample, 2, &arena), *kept = argument(&sample, 4, &arena);
    double *after = sample.c.args.list.items[3].tensor.tensor->data;
    for (size_t i = 0; i < BATCH * WIDTH; i++) {
        const double *g = kept + i / WIDTH * 4 * WIDTH + i % WIDTH;
        after[i] = g[WIDTH] * before[i] + g[0] * g[2 * WIDTH];
    }
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_uint_eq(bench_output_count(bench), 3);
    const struct reference *gates = &bench_output(bench, 0)->reference,
                           *state = &bench_output(bench, 1)->reference,
                           *bias = &bench_output(bench, 2)->reference;
    for (size_t i = 0; i < BATCH * WIDTH; i++) {
        size_t at = i / WIDTH * 4 * WIDTH + i % WIDTH;
        long double x[4], step = 1e-5L;
        for (int k = 0; k < 4; k++) {
            long double y = kept[at + (size_t)part[k] * WIDTH];
            x[k] = k == 2 ? atanhl(y) : logl(y / (1 - y));
        }
        for (int k = 0; k < 4; k++) {
            long double up[4], down[4];
            memcpy(up, x, sizeof up);
            memcpy(down, x, sizeof down);
            up[k] += step;
            down[k] -= step;
            long double want = (objective(up, before[i], dh[i], dc[i]) -
                                objective(down, before[i], dh[i], dc[i])) /
                               (2 * step);
            ck_assert(fabsl(want - gates->hi[at + (size_t)k * WIDTH]) < 1e-9L);
        }
        long double want = (objective(x, before[i] + step, dh[i], dc[i]) -
                            objective(x, before[i] - step, dh[i], dc[i])) /
                           (2 * step);
        ck_assert(fabsl(want - state->hi[i]) < 1e-9L);
    }
    for (size_t j = 0; j < 4 * WIDTH; j++)
        ck_assert(fabs(bias->hi[j] - gates->hi[j] - gates->hi[4 * WIDTH + j]) < 1e-14);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recurrent layers");
    TCase *dropout = tcase_create("dropout"), *steps = tcase_create("steps");
    tcase_add_checked_fixture(dropout, set_up, tear_down);
    tcase_add_test(dropout, first_layers_have_values);
    tcase_add_test(dropout, wrong_states_are_told);
    tcase_add_test(dropout, the_last_step_is_the_final_state);
    tcase_add_loop_test(dropout, outputs_lie_within_the_activation, 0, 2);
    tcase_add_test(dropout, gradients_are_no_values);
    tcase_add_test(steps, the_gradient_of_a_fused_step);
    suite_add_tcase(suite, dropout);
    suite_add_tcase(suite, steps);
    return suite_run(suite);
}
