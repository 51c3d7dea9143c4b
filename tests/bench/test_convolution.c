/* Convolution and its two adjoints against their definition, summed naively in balls.
 *
 * Random geometries of one to three dimensions with groups, strides, padding and dilation; exact
 * and inexact operands; every element of the three roles.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/primitive.h"
#include "bench/primitives/convolution.h"
#include "bench/primitives/movement.h"
#include "support/suite.h"

enum { PRECISION = 500 };

static const char *const roles[] = { "convolution", "input adjoint", "weight adjoint" };

/* A problem of at most a few thousand terms. */
static struct convolution_geometry any_geometry(struct numbers *numbers)
{
    struct convolution_geometry g = {
        { 1, 1, 1 }, { 0, 0, 0 }, { 1, 1, 1 }, 1, { 0 }, { 0 }, { 0 }
    };
    int dims = 1 + (int)(numbers_next(numbers) % 3);
    g.groups = 1 + (int64_t)(numbers_next(numbers) % 3);
    g.x[0] = g.y[0] = 1 + (int64_t)(numbers_next(numbers) % 2);
    g.w[1] = 1 + (int64_t)(numbers_next(numbers) % 3);
    g.x[1] = g.w[1] * g.groups;
    g.w[0] = g.y[1] = g.groups * (1 + (int64_t)(numbers_next(numbers) % 2));
    for (int d = 0; d < 3; d++) {
        g.x[2 + d] = g.w[2 + d] = g.y[2 + d] = 1;
        if (d < 3 - dims) continue;
        g.stride[d] = 1 + (int64_t)(numbers_next(numbers) % 3);
        g.dilation[d] = 1 + (int64_t)(numbers_next(numbers) % 2);
        g.w[2 + d] = 1 + (int64_t)(numbers_next(numbers) % 3);
        g.padding[d] = (int64_t)(numbers_next(numbers) % 3);
        int64_t reach = g.dilation[d] * (g.w[2 + d] - 1) + 1;
        g.x[2 + d] = reach + (int64_t)(numbers_next(numbers) % (dims == 3 ? 4 : 8));
        g.y[2 + d] = (g.x[2 + d] + 2 * g.padding[d] - reach) / g.stride[d] + 1;
    }
    return g;
}

static size_t count(const int64_t *shape)
{
    size_t n = 1;
    for (int d = 0; d < 5; d++) n *= (size_t)shape[d];
    return n;
}

/* Visit every term x[i] w[j] y[k] of the trilinear form. */
static void each_term(const struct convolution_geometry *g,
                      void (*visit)(void *, size_t, size_t, size_t), void *context)
{
    int64_t per_group = g->y[1] / g->groups;
    for (int64_t n = 0; n < g->y[0]; n++)
        for (int64_t f = 0; f < g->y[1]; f++)
            for (int64_t c = 0; c < g->w[1]; c++) {
                int64_t channel = f / per_group * g->w[1] + c;
                for (int64_t o = 0; o < g->y[2] * g->y[3] * g->y[4]; o++)
                    for (int64_t t = 0; t < g->w[2] * g->w[3] * g->w[4]; t++) {
                        int64_t out[3] = { o / g->y[4] / g->y[3], o / g->y[4] % g->y[3],
                                           o % g->y[4] };
                        int64_t tap[3] = { t / g->w[4] / g->w[3], t / g->w[4] % g->w[3],
                                           t % g->w[4] },
                                in[3];
                        bool inside = true;
                        for (int d = 0; d < 3; d++) {
                            in[d] = out[d] * g->stride[d] - g->padding[d] + tap[d] * g->dilation[d];
                            inside = inside && in[d] >= 0 && in[d] < g->x[2 + d];
                        }
                        if (!inside) continue;
                        int64_t xi =
                            (((n * g->x[1] + channel) * g->x[2] + in[0]) * g->x[3] + in[1]) *
                                g->x[4] +
                            in[2];
                        int64_t wi = (f * g->w[1] + c) * g->w[2] * g->w[3] * g->w[4] + t;
                        int64_t yi = (n * g->y[1] + f) * g->y[2] * g->y[3] * g->y[4] + o;
                        visit(context, (size_t)xi, (size_t)wi, (size_t)yi);
                    }
            }
}

struct sums {
    enum convolution_role role;
    arb_ptr out;
    arb_srcptr a, b;
};

static void add_term(void *context, size_t x, size_t w, size_t y)
{
    struct sums *s = context;
    size_t a = s->role == CONVOLVE_INPUT_ADJOINT ? y : x,
           b = s->role == CONVOLVE_WEIGHT_ADJOINT ? y : w;
    size_t out = s->role == CONVOLVE ? y : s->role == CONVOLVE_INPUT_ADJOINT ? x : w;
    arb_addmul(s->out + out, s->a + a, s->b + b, PRECISION);
}

/* The operand as an input tensor of floats, to which its elements are rounded; 1 for what no float holds. */
static void store_floats(struct laboratory *lab, struct operand *x, const int64_t *shape)
{
    int64_t n = (int64_t)x->n;
    struct tensor *tensor = arena_allocate(&lab->arena, sizeof *tensor);
    ck_assert(tensor && !tensor_create(tensor, &lab->arena, DT_F32, 1, &n).code);
    for (size_t i = 0; i < x->n; i++) {
        float value = (float)x->node->value[i];
        if (isinf(value)) value = 1;
        ((float *)tensor->data)[i] = value;
        arb_set_d(x->point + i, value);
    }
    x->node = node_reshape(&lab->tape, node_leaf(&lab->tape, tensor, false), 5, shape);
}

enum operands { EXACT, INEXACT, STORED, OPERANDS };

static void check_role(struct findings *f, const struct convolution_geometry *g,
                       enum convolution_role role, enum data data, enum operands kind,
                       uint64_t seed)
{
    const int64_t *a_shape = role == CONVOLVE_INPUT_ADJOINT ? g->y : g->x;
    const int64_t *b_shape = role == CONVOLVE_WEIGHT_ADJOINT ? g->y : g->w;
    size_t n = count(role == CONVOLVE ? g->y : role == CONVOLVE_INPUT_ADJOINT ? g->x : g->w);
    struct laboratory lab;
    laboratory_open(&lab, BENCH_REFERENCE, seed);
    struct operand a = operand_make(&lab, 5, a_shape, data, kind == INEXACT),
                   b = operand_make(&lab, 5, b_shape, data, kind == INEXACT);
    if (kind == STORED) store_floats(&lab, &a, a_shape), store_floats(&lab, &b, b_shape);
    struct node *c = node_convolution(&lab.tape, role, a.node, b.node, g);
    ck_assert_msg(!tape_failed(&lab.tape), "%s", lab.tape.status.text);
    ck_assert_uint_eq(c->n, n);
    /* An input of floats is not converted as a whole. */
    if (kind == STORED && role != CONVOLVE_INPUT_ADJOINT) ck_assert_ptr_null(a.node->value);
    struct sums sums = { role, _arb_vec_init((slong)n), a.point, b.point };
    each_term(g, add_term, &sums);
    for (size_t i = 0; i < n; i++) {
        judge_element(f, c, i, sums.out + i, roles[role]);
        if (kind != INEXACT) judge_pair(f, c, i, sums.out + i, roles[role]);
    }
    _arb_vec_clear(sums.out, (slong)n);
    operand_clear(&a);
    operand_clear(&b);
    laboratory_close(&lab);
}

START_TEST(elements_lie_within_their_bounds)
{
    enum convolution_role role = (enum convolution_role)_i;
    struct findings f = { 0 };
    struct numbers numbers = { 99 };
    for (int k = 0; k < 240; k++) {
        struct convolution_geometry g = any_geometry(&numbers);
        check_role(&f, &g, role, (enum data)(k % DATA_COUNT),
                   (enum operands)(k / DATA_COUNT % OPERANDS), (uint64_t)k);
    }
    printf("%-16s %8zu elements, %zu wrong, %zu without a bound\n", roles[role], f.elements,
           f.wrong, f.unclaimed);
    flint_cleanup();
    ck_assert_uint_eq(f.wrong, 0);
    ck_assert_uint_eq(f.unseen, 0);
    ck_assert_uint_gt(f.nonzero, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolution");
    TCase *tests = tcase_create("convolution");
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, elements_lie_within_their_bounds, 0, 3);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
