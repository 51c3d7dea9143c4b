/* Recurrent layers: dropout between them, and the gradient of aten's fused step. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

/* ---- dropout between layers ------------------------------------------------------------------------ */

/* Layers of an LSTM whose states are judged with what a device returned: two, whose choices are read, or three. */
struct trial {
    struct arena arena;
    struct sample sample;
    struct bench *bench, *device;
    struct value outputs;
};

static struct trial trial;

#define FIRST "f32(24,4), f32(24,6), f32(24), f32(24)"
#define LATER "f32(24,6), f32(24,6), f32(24), f32(24)"

static void open_trial(const char *call)
{
    memset(&trial, 0, sizeof trial);
    trial.bench = opened(&trial.sample, call, &trial.arena);
    const struct api_case *c = &trial.sample.c;
    ck_assert_int_eq(bench_open(&trial.device, c, &trial.arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&trial.outputs, trial.device).code, 0);
    ck_assert_uint_eq(trial.outputs.list.count, 3);
}

static void two_layers(void)
{
    open_trial("Torch.lstm(f32(5,3,4), [f32(2,3,6), f32(2,3,6)], [" FIRST ", " LATER
               "], True, 2, 0.3, True, False, False)");
}

static void three_layers(void)
{
    open_trial("Torch.lstm(f32(5,3,4), [f32(3,3,6), f32(3,3,6)], [" FIRST ", " LATER ", " LATER
               "], True, 3, 0.3, True, False, False)");
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

START_TEST(choices_are_read_from_the_second_layer)
{
    struct bench_output *gradients;
    struct value own, cotangents = { .kind = VALUE_LIST,
                                     .list = { .items = trial.outputs.list.items, .count = 1 } };
    size_t count;
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert_int_eq(bench_output(trial.bench, 0)->kind, BENCH_OUTPUT_TENSOR);
    ck_assert(difference(0, 0, 90) < 1e-5);
    for (size_t k = 1; k < 3; k++) ck_assert(difference(k, 0, 36) < 1e-5);
    ck_assert_int_eq(bench_backward(&gradients, &count, trial.bench, &cotangents).code, 0);
    ck_assert_int_eq(bench_native_gradients(&own, trial.device, &cotangents).code, 0);
    ck_assert_uint_eq(count, 11);
    for (size_t k = 0; k < count; k++) {
        const float *got = own.list.items[k].tensor.tensor->data;
        ck_assert_int_eq(gradients[k].kind, BENCH_OUTPUT_TENSOR);
        for (size_t i = 0; i < gradients[k].reference.n; i++)
            ck_assert(fabs(gradients[k].reference.hi[i] - (double)got[i]) <
                      1e-4 * (1 + fabs((double)got[i])));
    }
}
END_TEST

/* An output that no choice explains leaves the law. */
START_TEST(wrong_outputs_tell_no_choices)
{
    elements(0)[2 * 18 + 7] += 0.01f;
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert_int_eq(bench_output(trial.bench, 0)->kind, BENCH_OUTPUT_RANDOM);
}
END_TEST

START_TEST(wrong_states_beside_choices)
{
    elements(1)[20] += 0.01f; /* of the second layer, which its last step is not */
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(difference(1, 18, 36) > 0.009);
}
END_TEST

START_TEST(first_layers_have_values)
{
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(output_holds());
    for (size_t k = 1; k < 3; k++) {
        ck_assert(difference(k, 0, 18) < 1e-5);
        ck_assert(difference(k, 18, 54) == 0); /* the device's own */
    }
}
END_TEST

START_TEST(wrong_states_are_told)
{
    elements(1)[3] += 0.01f;
    elements(1)[20] = 1.5f; /* the second layer's, beyond a tanh */
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(difference(1, 0, 18) > 0.009);
    ck_assert(difference(1, 18, 54) >= 0.5);
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

/* Where an infinity is among the weights a later layer may be NaN, its final state then, too. */
START_TEST(infinite_weights_make_nan)
{
#define NARROW "f32(4,1), f32(4,1), f32(4), f32(4)"
    open_trial("Torch.lstm(f32(2,1,1), [f32(3,1,1), f32(3,1,1)], [" NARROW ", " NARROW
               ", f32(4,1)[1 1 inf 1], f32(4,1), f32(4), f32(4)], True, 3, 0.3, True, False, "
               "False)");
    elements(0)[1] = elements(1)[2] = elements(2)[2] = NAN;
    ck_assert_int_eq(bench_settle(trial.bench, &trial.outputs).code, 0);
    ck_assert(output_holds());
    ck_assert(isnan(bench_output(trial.bench, 1)->reference.hi[2]));
    elements(0)[1] = 0; /* not the state */
    ck_assert(!output_holds());
    arena_release(&trial.arena);
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

/* ---- two plain layers in loops ------------------------------------------------------------------------ */

enum { STEPS = 40, ROWS = 3, IN = 4, OUT = 6, BETWEEN = STEPS * ROWS * OUT };

enum drawing { DRAWN, SAME_AT_ALL_STEPS, NOTHING_IS_DROPPED };

struct plain_layers {
    double x[STEPS * ROWS * IN], h[2 * ROWS * OUT], w[2][OUT * OUT], u[2][OUT * OUT], b[2][OUT];
    double mask[BETWEEN], y[BETWEEN], last[2 * ROWS * OUT];
};

/* One layer of tanh: `in` inputs, whose elements have factors. */
static void run_plain(struct plain_layers *p, int layer, const double *x, const double *factor,
                      int in, double *y)
{
    for (int t = 0; t < STEPS; t++)
        for (int b = 0; b < ROWS; b++)
            for (int i = 0; i < OUT; i++) {
                const double *before = t ? y + ((t - 1) * ROWS + b) * OUT
                                         : p->h + (layer * ROWS + b) * OUT;
                double sum = p->b[layer][i];
                for (int k = 0; k < in; k++)
                    sum += p->w[layer][i * in + k] * x[(t * ROWS + b) * in + k] *
                           (factor ? factor[(t * ROWS + b) * in + k] : 1);
                for (int k = 0; k < OUT; k++) sum += p->u[layer][i * OUT + k] * before[k];
                y[(t * ROWS + b) * OUT + i] = tanh(sum);
            }
    memcpy(p->last + layer * ROWS * OUT, y + (STEPS - 1) * ROWS * OUT, ROWS * OUT * sizeof(double));
}

static void run_both(struct plain_layers *p)
{
    static double between[BETWEEN];
    run_plain(p, 0, p->x, NULL, IN, between);
    run_plain(p, 1, between, p->mask, OUT, p->y);
}

static struct plain_layers plain;

static struct bench *settled_plain(struct sample *sample, struct arena *arena, enum drawing how)
{
    static struct value items[2], outputs;
    static struct tensor y, last;
    static const int64_t of_y[3] = { STEPS, ROWS, OUT }, of_last[3] = { 2, ROWS, OUT };
    struct numbers numbers = { 6 };
    struct bench *bench =
        opened(sample,
               "Torch.rnn_tanh(f64(40,3,4), f64(2,3,6), [f64(6,4), f64(6,6), f64(6), f64(6)[0..0], "
               "f64(6,6), f64(6,6), f64(6), f64(6)[0..0]], True, 2, 0.3, True, False, False)",
               arena);
    const struct value *args = sample->c.args.list.items, *params = args[2].list.items;
    memcpy(plain.x, numbers_of(&args[0], arena), sizeof plain.x);
    memcpy(plain.h, numbers_of(&args[1], arena), sizeof plain.h);
    for (size_t layer = 0; layer < 2; layer++) {
        size_t in = layer ? OUT : IN;
        memcpy(plain.w[layer], numbers_of(&params[4 * layer], arena), OUT * in * sizeof(double));
        memcpy(plain.u[layer], numbers_of(&params[4 * layer + 1], arena), sizeof plain.u[layer]);
        memcpy(plain.b[layer], numbers_of(&params[4 * layer + 2], arena), sizeof plain.b[layer]);
    }
    for (size_t i = 0; i < BETWEEN; i++) {
        double drawn = numbers_uniform(&numbers) < 0.3 ? 0 : 1 / 0.7;
        plain.mask[i] = how == NOTHING_IS_DROPPED                     ? 1 / 0.7
                        : how == SAME_AT_ALL_STEPS && i >= ROWS * OUT ? plain.mask[i - ROWS * OUT]
                                                                      : drawn;
    }
    run_both(&plain);
    ck_assert_int_eq(tensor_create(&y, arena, DT_F64, 3, of_y).code, 0);
    ck_assert_int_eq(tensor_create(&last, arena, DT_F64, 3, of_last).code, 0);
    memcpy(y.data, plain.y, sizeof plain.y);
    memcpy(last.data, plain.last, sizeof plain.last);
    items[0] = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = &y } };
    items[1] = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = &last } };
    outputs = (struct value){ .kind = VALUE_LIST, .list = { .items = items, .count = 2 } };
    ck_assert_int_eq(bench_settle(bench, &outputs).code, 0);
    return bench;
}

/* Against differences of the loops, of whose weights the first layer's reach the result through what is dropped. */
START_TEST(values_and_gradients_behind_the_choices)
{
    static double c[BETWEEN];
    static struct tensor cotangent;
    static const int64_t shape[3] = { STEPS, ROWS, OUT };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench_output *gradients;
    struct numbers numbers = { 2 };
    size_t count;
    struct bench *bench = settled_plain(&sample, &arena, DRAWN);
    ck_assert_int_eq(bench_output(bench, 0)->kind, BENCH_OUTPUT_TENSOR);
    for (size_t i = 0; i < BETWEEN; i++)
        ck_assert(fabs(bench_output(bench, 0)->reference.hi[i] - plain.y[i]) < 1e-12);
    ck_assert_int_eq(tensor_create(&cotangent, &arena, DT_F64, 3, shape).code, 0);
    for (size_t i = 0; i < BETWEEN; i++)
        ((double *)cotangent.data)[i] = c[i] = numbers_normal(&numbers);
    struct value item = { .kind = VALUE_TENSOR, .tensor = { .tensor = &cotangent } };
    struct value list = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &list).code, 0);
    for (size_t i = 0; i < OUT * IN; i++) {
        double *w = &plain.w[0][i], own = *w, sum[2] = { 0, 0 };
        for (int side = 0; side < 2; side++) {
            *w = own + (side ? 1e-5 : -1e-5);
            run_both(&plain);
            for (size_t k = 0; k < BETWEEN; k++) sum[side] += c[k] * plain.y[k];
        }
        *w = own;
        double want = (sum[1] - sum[0]) / 2e-5, got = gradients[2].reference.hi[i];
        ck_assert_msg(fabs(got - want) < 1e-6 * (1 + fabs(want)), "element %zu: %g, not %g", i, got,
                      want);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(choices_that_are_no_draws)
{
    struct arena arena = { 0 };
    struct sample sample;
    char reason[256];
    struct bench *bench = settled_plain(&sample, &arena, (enum drawing)_i);
    const struct bench_output *output = bench_output(bench, 0);
    struct tensor y;
    static const int64_t shape[3] = { STEPS, ROWS, OUT };
    ck_assert_int_eq(output->kind, BENCH_OUTPUT_RANDOM);
    ck_assert_int_eq(tensor_create(&y, &arena, DT_F64, 3, shape).code, 0);
    memcpy(y.data, plain.y, sizeof plain.y);
    ck_assert(!output->property->holds(output->property, &y, reason, sizeof reason));
    ck_assert_ptr_nonnull(strstr(reason, "between the layers"));
    arena_release(&arena);
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

/* ---- long sequences ------------------------------------------------------------------------------------ */

/* After many steps the bounds of a layer are wide, and balls too much work: which sums pass is decided all the same. */
START_TEST(long_sequences_pass_the_sums_that_are_positive)
{
    enum { LONG = 257, UNITS = 3 };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample,
               "Torch.rnn_relu(f32(257,1,3)[-9..9], f32(1,1,3)[-1..1], [f32(3,3)[-1..1], "
               "f32(3,3)[-0.76 0 0.29 -0.57 0.57 -0.57 0.58 0.32 0.77]], False, 1, 0.0, False, "
               "False, False)",
               &arena);
    const struct reference *r = &bench_output(bench, 0)->reference;
    const struct value *arguments = sample.c.args.list.items, *w = arguments[2].list.items;
    const float *x = arguments[0].tensor.tensor->data, *first = arguments[1].tensor.tensor->data;
    const float *own = w[0].tensor.tensor->data, *hidden = w[1].tensor.tensor->data;
    long double h[UNITS], next[UNITS];
    for (int i = 0; i < UNITS; i++) h[i] = first[i];
    for (int t = 0; t < LONG; t++) {
        for (int i = 0; i < UNITS; i++) {
            long double sum = 0;
            for (int k = 0; k < UNITS; k++)
                sum += (long double)own[i * UNITS + k] * x[t * UNITS + k] +
                       hidden[i * UNITS + k] * h[k];
            next[i] = sum > 0 ? sum : 0;
            ck_assert_double_le(fabs(r->hi[t * UNITS + i] - (double)next[i]), 1e-9);
        }
        memcpy(h, next, sizeof h);
    }
    arena_release(&arena);
}
END_TEST

/* Weights of 0.35 grow their eigenvector by 1.05 at each of 128 steps, and every rounding with it. 300 such layers in float32, the weights moved by 0.1 %, are off by
 * 4.3 u h in the root mean square; independent errors would have sqrt(3) 0.35 of the step before, and 2 u h in all. */
START_TEST(errors_of_steps_along_an_eigenvector)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample,
        "Torch.rnn_relu(f32(128,1,1)[0.1..0.9], f32(1,1,3)[0.1 0.2 0.3], [f32(3,1)[0.1 0.3 0.2], "
        "f32(3,3)[0.31 0.39 0.35 0.37 0.32 0.36 0.38 0.34 0.33]], False, 1, 0.0, False, False, "
        "False)",
        &arena);
    ck_assert_int_eq(bench_model(bench).code, 0);
    const struct reference *h = &bench_output(bench, 1)->reference;
    for (size_t i = 0; i < 3; i++) {
        double in_units = h->kernel_rms[i] / (0x1p-24 * h->hi[i]);
        ck_assert_msg(in_units > 4.3 && in_units < 8, "state %zu: %g", i, in_units);
    }
    arena_release(&arena);
}
END_TEST

/* Integers wrap around at every step: 2^30 3 + 2^30 is 2^32, 0 of int32. */
START_TEST(integers_wrap_around)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample,
               "Torch.rnn_relu(i32(2,1,1)[1073741824 1073741825], i32(1,1,1)[1073741824], "
               "[i32(1,1)[1], i32(1,1)[3]], False, 1, 0.0, False, False, False)",
               &arena);
    const int64_t *integer = bench_output(bench, 0)->reference.integer;
    ck_assert_int_eq(integer[0], 0);
    ck_assert_int_eq(integer[1], 1073741825);
    arena_release(&arena);
}
END_TEST

/* The sum of integers wraps around, too, before the hyperbolic tangent, which is no integer: 100 + 100 is -56 of int8. */
START_TEST(tangents_of_integers)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample,
                                 "Torch.rnn_tanh_cell(i8(3,1)[1 -3 100], i8(3,1)[0 2 100], "
                                 "i8(1,1)[1], i8(1,1)[1])",
                                 &arena);
    const struct reference *r = &bench_output(bench, 0)->reference;
    static const double sums[3] = { 1, -1, -56 };
    ck_assert_int_eq(r->dtype, DT_F32);
    for (size_t i = 0; i < 3; i++) ck_assert_double_eq_tol(r->hi[i], tanh(sums[i]), 1e-12);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recurrent layers");
    TCase *dropout = tcase_create("dropout"), *read = tcase_create("choices"),
          *loops = tcase_create("loops"), *steps = tcase_create("steps");
    tcase_add_checked_fixture(dropout, three_layers, tear_down);
    tcase_add_test(dropout, first_layers_have_values);
    tcase_add_test(dropout, wrong_states_are_told);
    tcase_add_test(dropout, the_last_step_is_the_final_state);
    tcase_add_loop_test(dropout, outputs_lie_within_the_activation, 0, 2);
    tcase_add_test(dropout, gradients_are_no_values);
    tcase_add_checked_fixture(read, two_layers, tear_down);
    tcase_add_test(read, choices_are_read_from_the_second_layer);
    tcase_add_test(read, wrong_outputs_tell_no_choices);
    tcase_add_test(read, wrong_states_beside_choices);
    tcase_add_test(loops, values_and_gradients_behind_the_choices);
    tcase_add_loop_test(loops, choices_that_are_no_draws, SAME_AT_ALL_STEPS,
                        NOTHING_IS_DROPPED + 1);
    tcase_add_test(steps, the_gradient_of_a_fused_step);
    tcase_add_test(steps, long_sequences_pass_the_sums_that_are_positive);
    tcase_add_test(steps, infinite_weights_make_nan);
    tcase_add_test(steps, errors_of_steps_along_an_eigenvector);
    tcase_add_test(steps, integers_wrap_around);
    tcase_add_test(steps, tangents_of_integers);
    suite_add_tcase(suite, dropout);
    suite_add_tcase(suite, read);
    suite_add_tcase(suite, loops);
    suite_add_tcase(suite, steps);
    return suite_run(suite);
}
