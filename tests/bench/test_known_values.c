/* What a model takes from the evaluation before it, and lines that it reads where they lie or side by side. */
#include "bench/tape/known_values.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/convolution.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/matmul.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/softmax_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { SIDE = 6, N = SIDE * SIDE };

static struct arena arena;
static float first[N], second[N], changed[N];
static struct tape reference, model;

static void setup(void)
{
    state = 11;
    for (size_t i = 0; i < N; i++) {
        first[i] = (float)(uniform() - 0.5);
        changed[i] = second[i] = (float)(uniform() - 0.5);
    }
    tape_open(&reference, &arena, BENCH_REFERENCE, false);
    tape_open(&model, &arena, BENCH_MODEL_TYPICAL, false);
    model.twin = &reference;
}

static void teardown(void) { arena_reset(&arena); }

static struct node *leaf(struct tape *tape, float *data)
{
    static const int64_t shape[3] = { 1, SIDE, SIDE };
    struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
    tensor_wrap(tensor, data, DT_F32, 3, shape);
    return node_leaf(tape, tensor, false);
}

static struct node *product(struct tape *tape, float *a, float *b, bool transpose_b)
{
    return node_matmul(tape, leaf(tape, a), false, leaf(tape, b), transpose_b);
}

/* The same product is found, also behind others; one with another bit in it, or transposed, is made. */
START_TEST(products_are_known_by_their_bits)
{
    struct node *other = product(&reference, second, first, false);
    struct node *known = product(&reference, first, second, false);
    ck_assert_ptr_eq(product(&model, first, second, false)->value, known->value);

    struct tape fresh;
    tape_open(&fresh, &arena, BENCH_MODEL_WORST, false);
    fresh.twin = &reference;
    changed[7] = nextafterf(changed[7], 1);
    struct node *made = product(&fresh, first, changed, false);
    ck_assert(made->value != known->value && made->value != other->value);
    ck_assert(made->value[1] != known->value[1]);
    changed[7] = second[7];
    ck_assert_ptr_eq(product(&fresh, first, changed, false)->value, known->value);

    tape_open(&fresh, &arena, BENCH_MODEL_WORST, false);
    fresh.twin = &reference;
    struct node *transposed = product(&fresh, first, second, true);
    ck_assert(transposed->value != known->value);
    double wanted = 0;
    for (size_t k = 0; k < SIDE; k++) wanted += (double)first[k] * second[SIDE + k];
    ck_assert_double_eq_tol(transposed->value[1], wanted, 1e-15);
    ck_assert(!tape_failed(&reference) && !tape_failed(&model) && !tape_failed(&fresh));
}
END_TEST

/* The model of typical errors looks at some of the terms of large products, of input tensors as they are stored: as it does of those
 * that are converted, bit for bit. */
START_TEST(terms_are_looked_at_where_they_are)
{
    enum { M = 90, K = 70, ALL = M * K };
    static float x[2][ALL];
    for (size_t i = 0; i < ALL; i++)
        for (int k = 0; k < 2; k++) x[k][i] = (float)(uniform() - 0.3);
    for (int kind = 0; kind < 4; kind++) {
        struct node *made[2];
        for (int converted = 0; converted < 2; converted++) {
            struct node *factor[2];
            struct tape *tape = arena_allocate(&arena, sizeof *tape);
            tape_open(tape, &arena, BENCH_MODEL_TYPICAL, false);
            for (int k = 0; k < 2; k++) {
                struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
                bool lines_first = (kind >> k & 1) == k; /* (M, K), and not its transpose */
                const int64_t shape[3] = { 1, lines_first ? M : K, lines_first ? K : M };
                tensor_wrap(tensor, x[k], DT_F32, 3, shape);
                factor[k] = node_leaf(tape, tensor, false);
                if (converted) (void)node_values(tape, factor[k]);
            }
            made[converted] = node_matmul(tape, factor[0], kind & 1, factor[1], kind & 2);
            ck_assert(!tape_failed(tape) && made[converted]->n == M * M);
            ck_assert(!factor[0]->value == !converted && !factor[1]->value == !converted);
        }
        ck_assert_mem_eq(made[0]->value, made[1]->value, made[0]->n * sizeof(double));
        ck_assert_mem_eq(made[0]->error, made[1]->error, made[0]->n * sizeof(double));
    }
}
END_TEST

static struct node *scattered(struct tape *tape, const int64_t *map)
{
    static const int64_t shape[2] = { 4, SIDE };
    return node_scatter_add_rows(tape, leaf(tape, first), 2, shape, SIDE, map);
}

/* Scattered sums are known by where the rows go. */
START_TEST(scattered_sums_are_known_by_their_map)
{
    static const int64_t map[SIDE] = { 0, 2, 2, 0, 1, 2 }, same[SIDE] = { 0, 2, 2, 0, 1, 2 },
                         another[SIDE] = { 0, 2, 2, 0, 1, 1 };
    struct node *known = scattered(&reference, map), *found = scattered(&model, same);
    ck_assert_ptr_eq(found->value, known->value);
    ck_assert(found->error[0] > 0 && found->error[SIDE] == 0 && found->error[3 * SIDE] == 0);
    struct node *made = scattered(&model, another);
    ck_assert(made->value != known->value);
    ck_assert_double_eq(made->value[SIDE], (double)first[4 * SIDE] + first[5 * SIDE]);
    ck_assert(!tape_failed(&model));
}
END_TEST

/* A model sums over dimensions that lie apart as over the same lines moved to the end, bit for bit. */
START_TEST(sums_in_place_are_those_of_a_copy)
{
    enum { A = 3, B = 21, C = 5, D = 4, ALL = A * B * C * D };
    static const int64_t shape[4] = { A, B, C, D };
    static float data[ALL];
    static const int order[4] = { 1, 3, 0, 2 };
    for (size_t i = 0; i < ALL; i++) data[i] = (float)(i % 7 ? uniform() - 0.5 : 0.1);
    for (int k = 0; k < 2; k++)
        for (int inexact = 0; inexact < 2; inexact++) {
            struct tape tape;
            struct tensor tensor;
            tape_open(&tape, &arena, k ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST, false);
            tensor_wrap(&tensor, data, DT_F32, 4, shape);
            struct node *x = node_leaf(&tape, &tensor, false);
            x->relative = inexact ? 0x1p-23 : 0;
            struct node *apart = node_sum(&tape, x, 1u << 0 | 1u << 2, false);
            struct node *moved = node_sum(&tape, node_permute(&tape, x, order), 3u << 2, false);
            ck_assert(!tape_failed(&tape));
            ck_assert_uint_eq(apart->n, B * D);
            ck_assert_mem_eq(apart->value, moved->value, apart->n * sizeof(double));
            ck_assert_mem_eq(apart->error, moved->error, apart->n * sizeof(double));
            double wanted = 0;
            for (size_t a = 0; a < A; a++)
                for (size_t c = 0; c < C; c++) wanted += data[((a * B + 2) * C + c) * D + 3];
            ck_assert_double_eq_tol(apart->value[2 * D + 3], wanted, 1e-15);
        }
}
END_TEST

/* The models of one kernel convert an input once; inputs of the reference are none of theirs. A function is computed once, by the reference
 * where it has been; other functions, and those of other inputs, are computed. */
START_TEST(models_share_inputs_and_functions)
{
    struct tape worst, typical;
    tape_open(&worst, &arena, BENCH_MODEL_WORST, false);
    tape_open(&typical, &arena, BENCH_MODEL_TYPICAL, false);
    worst.twin = &reference;
    typical.twin = &worst;
    const double *exact = node_values(&reference, leaf(&reference, first));
    struct node *a = leaf(&worst, first), *b = leaf(&typical, first), *c = leaf(&typical, second);
    ck_assert(node_values(&worst, a) != exact);
    ck_assert_ptr_eq(node_values(&typical, b), a->value);
    ck_assert(node_values(&typical, c) != a->value);
    struct node *known = node_apply(&worst, "exp", a), *found = node_apply(&typical, "exp", b);
    ck_assert_ptr_eq(found->value, known->value);
    ck_assert_double_eq(found->value[3], scalar_exp(first[3]));
    ck_assert(found->relative > 0 && found->relative < known->relative);
    ck_assert(node_apply(&typical, "tanh", b)->value != known->value);
    struct node *before = node_apply(&reference, "erf", leaf(&reference, first));
    ck_assert_ptr_eq(node_apply(&worst, "erf", a)->value, before->value);
    ck_assert_ptr_eq(node_apply(&typical, "erf", b)->value, before->value);
    ck_assert(node_apply(&typical, "exp", c)->value != known->value);
    ck_assert(!tape_failed(&worst) && !tape_failed(&typical));
}
END_TEST

/* So do large sums and products, of what they share; bounds are each model's own, and quotients, whose values depend on
 * bounds, are made twice. */
START_TEST(models_share_large_steps)
{
    enum { MANY = 300 };
    static const int64_t shape[1] = { MANY };
    static float x[MANY];
    struct tape worst, typical;
    struct node *square[2], *sum[2], *quotient[2];
    for (size_t i = 0; i < MANY; i++) x[i] = (float)(1 + uniform());
    tape_open(&worst, &arena, BENCH_MODEL_WORST, false);
    tape_open(&typical, &arena, BENCH_MODEL_TYPICAL, false);
    typical.twin = &worst;
    for (int k = 0; k < 2; k++) {
        struct tape *tape = k ? &typical : &worst;
        struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
        tensor_wrap(tensor, x, DT_F32, 1, shape);
        struct node *leaf = node_leaf(tape, tensor, false);
        square[k] = node_multiply(tape, leaf, leaf);
        sum[k] = node_add(tape, square[k], leaf);
        quotient[k] = node_divide(tape, leaf, sum[k]);
        ck_assert(!tape_failed(tape));
    }
    ck_assert_ptr_eq(square[1]->value, square[0]->value);
    ck_assert_ptr_eq(sum[1]->value, sum[0]->value);
    ck_assert(quotient[1]->value != quotient[0]->value);
    ck_assert_mem_eq(quotient[1]->value, quotient[0]->value, sizeof(double) * MANY);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_double_eq(sum[1]->value[i], (double)x[i] * x[i] + x[i]);
        ck_assert(sum[1]->error[i] > 0 && sum[1]->error[i] < sum[0]->error[i]);
    }
    struct node *other = node_add(&typical, square[1], square[1]);
    ck_assert(other->value != sum[0]->value && other->value[0] == 2 * square[0]->value[0]);
}
END_TEST

enum { IMAGES = 3, CHANNELS = 4, FILTERS = 6, HIGH = 7, WIDE = 9, MOST = 4096 };

static struct node *convolution(struct tape *tape, enum convolution_role role,
                                const struct convolution_geometry *g, float (*data)[MOST])
{
    const int64_t *const shape[3] = { g->x, g->w, g->y };
    static const int operands[3][2] = { { 0, 1 }, { 2, 1 }, { 0, 2 } };
    struct node *node[2];
    for (int k = 0; k < 2; k++) {
        struct tensor *tensor = arena_allocate(&arena, sizeof *tensor);
        tensor_wrap(tensor, data[operands[role][k]], DT_F32, 5, shape[operands[role][k]]);
        node[k] = node_leaf(tape, tensor, false);
    }
    return node_convolution(tape, role, node[0], node[1], g);
}

/* A model of a convolution takes the values of the reference, and bounds it as one without the reference does, bit for bit. */
START_TEST(models_bound_convolutions_from_norms)
{
    static float data[3][MOST];
    static const struct {
        int64_t stride, padding, dilation, groups, taps;
    } kinds[] = { { 1, 1, 1, 1, 3 }, { 2, 1, 1, 2, 3 }, { 1, 0, 2, 1, 2 }, { 3, 2, 1, 2, 1 } };
    for (size_t i = 0; i < MOST; i++)
        for (int k = 0; k < 3; k++) data[k][i] = (float)(uniform() - 0.5);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t reach = kinds[k].dilation * (kinds[k].taps - 1);
        int64_t high = (HIGH + 2 * kinds[k].padding - reach - 1) / kinds[k].stride + 1,
                wide = (WIDE + 2 * kinds[k].padding - reach - 1) / kinds[k].stride + 1;
        const struct convolution_geometry g = {
            .stride = { 1, kinds[k].stride, kinds[k].stride },
            .padding = { 0, kinds[k].padding, kinds[k].padding },
            .dilation = { 1, kinds[k].dilation, kinds[k].dilation },
            .groups = kinds[k].groups,
            .x = { IMAGES, CHANNELS, 1, HIGH, WIDE },
            .w = { FILTERS, CHANNELS / kinds[k].groups, 1, kinds[k].taps, kinds[k].taps },
            .y = { IMAGES, FILTERS, 1, high, wide },
        };
        for (int r = CONVOLVE; r <= CONVOLVE_WEIGHT_ADJOINT; r++) {
            enum convolution_role role = (enum convolution_role)r;
            struct tape exact, twin[2], alone[2];
            tape_open(&exact, &arena, BENCH_REFERENCE, false);
            const struct node *known = convolution(&exact, role, &g, data);
            for (int i = 0; i < 2; i++) {
                enum bench_arithmetic kind = i ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST;
                tape_open(&twin[i], &arena, kind, false);
                tape_open(&alone[i], &arena, kind, false);
                twin[i].twin = i ? &twin[0] : &exact;
                const struct node *found = convolution(&twin[i], role, &g, data),
                                  *made = convolution(&alone[i], role, &g, data);
                ck_assert(!tape_failed(&twin[i]) && !tape_failed(&alone[i]));
                ck_assert_ptr_eq(found->value, known->value);
                ck_assert(made->value != known->value);
                ck_assert_mem_eq(found->error, made->error, made->n * sizeof(double));
                double widest = 0;
                for (size_t e = 0; e < made->n; e++) widest = fmax(widest, made->error[e]);
                ck_assert(widest > 0);
            }
        }
    }
}
END_TEST

/* Lines of a softmax are modelled side by side; each as it is alone, bit for bit, along rows and columns, where a line has
 * an infinity or a NaN, too. */
START_TEST(lines_of_softmax_do_not_depend_on_their_neighbours)
{
    enum { LINES = 37, EXTENT = 9, ALL = LINES * EXTENT };
    static const int64_t many[2] = { LINES, EXTENT }, one[2] = { 1, EXTENT },
                         turned[2] = { EXTENT, LINES };
    static float rows[ALL], columns[ALL], weights[ALL];
    for (size_t i = 0; i < ALL; i++) {
        rows[i] = (float)(4 * uniform() - 2);
        weights[i] = (float)(uniform() - 0.5);
    }
    rows[2 * EXTENT + 3] = NAN;
    rows[5 * EXTENT + 1] = -INFINITY;
    rows[7 * EXTENT] = INFINITY;
    for (size_t i = 0; i < ALL; i++) columns[i % EXTENT * LINES + i / EXTENT] = rows[i];
    for (int k = 0; k < 2; k++) {
        struct tape tape;
        struct tensor tensor[2 + LINES], factor[1 + LINES];
        tape_open(&tape, &arena, k ? BENCH_MODEL_TYPICAL : BENCH_MODEL_WORST, false);
        tensor_wrap(&tensor[0], rows, DT_F32, 2, many);
        tensor_wrap(&tensor[1], columns, DT_F32, 2, turned);
        tensor_wrap(&factor[0], weights, DT_F32, 2, many);
        struct node *all = node_softmax(&tape, node_leaf(&tape, &tensor[0], false), 1);
        struct node *down = node_softmax(&tape, node_leaf(&tape, &tensor[1], false), 0);
        struct node *gradient =
            node_softmax_gradient(&tape, all, node_leaf(&tape, &factor[0], false), 1, NULL);
        for (size_t line = 0; line < LINES; line++) {
            size_t at = line * EXTENT, bytes = EXTENT * sizeof(double);
            tensor_wrap(&tensor[2 + line], rows + at, DT_F32, 2, one);
            tensor_wrap(&factor[1 + line], weights + at, DT_F32, 2, one);
            struct node *alone = node_softmax(&tape, node_leaf(&tape, &tensor[2 + line], false), 1);
            struct node *back = node_softmax_gradient(
                &tape, alone, node_leaf(&tape, &factor[1 + line], false), 1, NULL);
            ck_assert_mem_eq(all->value + at, alone->value, bytes);
            ck_assert_mem_eq(all->error + at, alone->error, bytes);
            ck_assert_mem_eq(gradient->value + at, back->value, bytes);
            ck_assert_mem_eq(gradient->error + at, back->error, bytes);
            for (size_t j = 0; j < EXTENT; j++)
                ck_assert(down->error[j * LINES + line] == alone->error[j]);
        }
        ck_assert(!tape_failed(&tape));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("known_values");
    TCase *tests = tcase_create("known_values");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, products_are_known_by_their_bits);
    tcase_add_test(tests, terms_are_looked_at_where_they_are);
    tcase_add_test(tests, scattered_sums_are_known_by_their_map);
    tcase_add_test(tests, sums_in_place_are_those_of_a_copy);
    tcase_add_test(tests, models_share_inputs_and_functions);
    tcase_add_test(tests, models_share_large_steps);
    tcase_add_test(tests, models_bound_convolutions_from_norms);
    tcase_add_test(tests, lines_of_softmax_do_not_depend_on_their_neighbours);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
