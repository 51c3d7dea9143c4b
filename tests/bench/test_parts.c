/* Steps in parts: convolutions, sums and lines of softmax have the bits that one thread gives them, and convolutions of many
 * parts are what their definition says. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/primitives/binary.h"
#include "bench/primitives/convolution.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/tape/bounds.h"
#include "support/random_numbers.h"
#include "support/sanitized.h"
#include "support/suite.h"

static const enum bench_arithmetic arithmetics[] = { BENCH_REFERENCE, BENCH_NATIVE,
                                                     BENCH_MODEL_WORST, BENCH_MODEL_TYPICAL };
enum { ARITHMETICS = sizeof arithmetics / sizeof *arithmetics };
/* Threads beside the own one. The thread sanitizer, many times slower, looks at few and at a crowd of them. */
static const size_t spares[] = { 1, 31, 0, 6 };
enum { TEAMS = THREAD_SANITIZED ? 2 : sizeof spares / sizeof *spares, ROOM = 32 << 20 };

static struct node *random_leaf(struct tape *tape, int rank, const int64_t *shape, uint64_t seed)
{
    struct tensor *tensor = arena_allocate(tape->arena, sizeof *tensor);
    ck_assert(!tensor_create(tensor, tape->arena, DT_F32, rank, shape).code);
    float *x = tensor->data;
    state = seed;
    for (size_t i = 0; i < tensor_elements(tensor); i++) x[i] = (float)(2 * uniform() - 1);
    return node_leaf(tape, tensor, true);
}

/* ---- what is done in parts -------------------------------------------------------------- */

struct shape {
    int64_t images, channels, filters, side, kernel, stride, padding, groups;
};

static struct convolution_geometry geometry_of(const struct shape *s)
{
    int64_t out = (s->side + 2 * s->padding - s->kernel) / s->stride + 1;
    return (struct convolution_geometry){ .stride = { 1, s->stride, s->stride },
                                          .padding = { 0, s->padding, s->padding },
                                          .dilation = { 1, 1, 1 },
                                          .groups = s->groups,
                                          .x = { s->images, s->channels, 1, s->side, s->side },
                                          .w = { s->filters, s->channels / s->groups, 1, s->kernel,
                                                 s->kernel },
                                          .y = { s->images, s->filters, 1, out, out } };
}

/* Points in two parts, filters in two, channels in two, columns of the weights in some, many small groups. */
static const struct shape shapes[] = {
    { 2, 8, 10, 60, 3, 1, 1, 1 }, { 1, 2, 300, 12, 3, 1, 0, 1 }, { 1, 300, 20, 20, 3, 1, 1, 1 },
    { 3, 20, 6, 70, 5, 2, 2, 2 }, { 4, 64, 64, 9, 3, 1, 1, 64 }, { 2, 3, 5, 5, 1, 1, 0, 1 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, ROLES = CONVOLVE_WEIGHT_ADJOINT + 1 };

static struct node *convolution_of(struct tape *tape, int number)
{
    const struct convolution_geometry g = geometry_of(&shapes[number / ROLES]);
    enum convolution_role role = (enum convolution_role)(number % ROLES);
    const int64_t *a = role == CONVOLVE_INPUT_ADJOINT ? g.y : g.x,
                  *b = role == CONVOLVE_WEIGHT_ADJOINT ? g.y : g.w;
    return node_convolution(tape, role, random_leaf(tape, 5, a, 3), random_leaf(tape, 5, b, 4), &g);
}

enum { LINES = 300, LENGTH = 700 };

/* Softmax and its relatives along the last dimension and the first, with their gradients. */
static struct node *normalised(struct tape *tape, int number)
{
    static struct node *(*const functions[])(struct tape * tape, struct node * x,
                                             int dim) = { node_softmax, node_log_softmax,
                                                          node_logsumexp };
    int64_t shape[2] = { LINES, LENGTH };
    int function = number / 2 % 3, dim = number % 2;
    struct node *x = random_leaf(tape, 2, shape, 5), *y = functions[function](tape, x, dim);
    ck_assert_msg(!tape->status.code, "%s", tape->status.text);
    if (number < 6) return y;
    tape_accumulate(tape, y, random_leaf(tape, y->rank, y->shape, 6));
    tape_backward(tape);
    return node_gradient(tape, x);
}

static struct node *at_classes(struct tape *tape, int number)
{
    const int64_t shape[2] = { LINES, LENGTH }, one[2] = { LINES, 1 };
    struct node *x = random_leaf(tape, 2, shape, 7);
    struct node *target = node_new_integer(tape, DT_I64, 2, one);
    for (size_t i = 0; i < LINES; i++) target->integer[i] = (int64_t)(i * 37 % LENGTH);
    struct node *y = node_log_softmax_at(tape, x, 1, target);
    if (!number) return y;
    tape_accumulate(tape, y, random_leaf(tape, 2, one, 8));
    tape_backward(tape);
    return node_gradient(tape, x);
}

/* Sums over each set of dimensions of inputs, of values in an array and of elements that are made when they are read. */
static struct node *summed(struct tape *tape, int number)
{
    const int64_t shape[3] = { 6, 90, 1100 };
    if (number / 7 == 2) tape_defer(tape);
    struct node *x = random_leaf(tape, 3, shape, 9), *y = random_leaf(tape, 3, shape, 10);
    if (number / 7) x = node_multiply(tape, node_multiply(tape, x, y), x);
    return node_sum(tape, x, (uint32_t)(number % 7) + 1, true);
}

static const struct step {
    struct node *(*make)(struct tape *tape, int number);
    int count;
} steps[] = {
    { convolution_of, SHAPES *ROLES }, { normalised, 12 }, { at_classes, 2 }, { summed, 21 }
};

static void same_bytes(const char *what, const void *x, const void *y, size_t bytes)
{
    ck_assert_msg(!x == !y, "%s", what);
    if (x) ck_assert_msg(!memcmp(x, y, bytes), "%s", what);
}

/* ---- tests ------------------------------------------------------------------------------ */

/* Values and bounds are the same bits for any number of threads. */
START_TEST(threads_change_no_bit)
{
    const struct step *step = &steps[_i / ARITHMETICS];
    for (int number = 0; number < step->count; number++) {
        struct arena arena = { 0 };
        struct tape tape;
        tape_open(&tape, &arena, arithmetics[_i % ARITHMETICS], false);
        struct node *alone = step->make(&tape, number);
        (void)node_values(&tape, alone);
        for (int t = 0; t < TEAMS; t++) {
            struct arena own = { 0 };
            struct tape helped;
            struct team team;
            struct help help = { .team = &team };
            team_open(&team, spares[t], ROOM, NULL);
            tape_open(&helped, &own, arithmetics[_i % ARITHMETICS], false);
            helped.help = &help;
            struct node *node = step->make(&helped, number);
            (void)node_values(&helped, node);
            ck_assert_msg(!helped.status.code, "%s", helped.status.text);
            ck_assert_uint_eq(node->n, alone->n);
            same_bytes("values", alone->value, node->value, node->n * sizeof(double));
            same_bytes("bounds", alone->error, node->error, node->n * sizeof(double));
            ck_assert(node->relative == alone->relative && node->absolute == alone->absolute);
            team_close(&team);
            arena_release(&own);
        }
        arena_release(&arena);
    }
}
END_TEST

/* All products of a convolution added up where its role says, in long double, with their magnitudes. */
static void sum_up(long double *sum, long double *size, const struct convolution_geometry *g,
                   enum convolution_role role, const double *a, const double *b)
{
    int64_t channels = g->w[1], filters = g->y[1] / g->groups;
    for (int64_t y = 0; y < g->y[0] * g->y[1] * g->y[3] * g->y[4]; y++)
        for (int64_t w = 0; w < channels * g->w[3] * g->w[4]; w++) {
            int64_t column = y % g->y[4], row = y / g->y[4] % g->y[3],
                    filter = y / g->y[4] / g->y[3] % g->y[1],
                    image = y / g->y[4] / g->y[3] / g->y[1], right = w % g->w[4],
                    down = w / g->w[4] % g->w[3], channel = w / g->w[4] / g->w[3];
            int64_t i = row * g->stride[1] - g->padding[1] + down,
                    j = column * g->stride[2] - g->padding[2] + right;
            if (i < 0 || j < 0 || i >= g->x[3] || j >= g->x[4]) continue;
            channel += filter / filters * channels;
            int64_t x = ((image * g->x[1] + channel) * g->x[3] + i) * g->x[4] + j;
            int64_t at[] = { x, filter * channels * g->w[3] * g->w[4] + w, y };
            static const int roles[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 0, 2, 1 } };
            long double product = (long double)a[at[roles[role][0]]] * b[at[roles[role][1]]];
            sum[at[roles[role][2]]] += product;
            size[at[roles[role][2]]] += fabsl(product);
        }
}

/* Every element lies within its bound of the sum of its terms, whichever part it is in. One thread does it. */
START_TEST(convolutions_are_their_sums)
{
    if (THREAD_SANITIZED) return;
    struct arena arena = { 0 };
    struct tape tape;
    tape_open(&tape, &arena, BENCH_REFERENCE, false);
    const struct convolution_geometry g = geometry_of(&shapes[_i / ROLES]);
    struct node *z = convolution_of(&tape, _i);
    ck_assert_msg(!tape.status.code, "%s", tape.status.text);
    long double *sum = calloc(z->n, sizeof *sum), *size = calloc(z->n, sizeof *size);
    sum_up(sum, size, &g, (enum convolution_role)(_i % ROLES), node_values(&tape, z->inputs[0]),
           node_values(&tape, z->inputs[1]));
    for (size_t i = 0; i < z->n; i++) {
        long double off = fabsl(z->value[i] - sum[i]), bound = node_error(z, i);
        if (off > bound + 1e-16L * size[i]) ck_abort_msg("element %zu of %d", i, _i);
        if (bound > 1e-9L * size[i]) ck_abort_msg("bound %zu of %d", i, _i);
    }
    free(sum);
    free(size);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parts");
    TCase *tests = tcase_create("parts");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, threads_change_no_bit, 0,
                        (int)(sizeof steps / sizeof *steps) * ARITHMETICS);
    tcase_add_loop_test(tests, convolutions_are_their_sums, 0, SHAPES * ROLES);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
