/* A function of balls is evaluated for the whole matrix, and its elements are remembered. */
#include "bench/primitives/matrix_function.h"

#include <math.h>

#include "bench/tape/bounds.h"

struct node *matrix_function_node(struct tape *tape, const struct primitive *primitive,
                                  struct node *a, int rank, const int64_t *shape,
                                  const void *parameters)
{
    if (tape_failed(tape)) return NULL;
    if (a->rank != 3 || a->shape[1] != a->shape[2]) {
        tape_fail(tape, STATUS_SKIP, "a square matrix is needed");
        return NULL;
    }
    (void)node_values(tape, a);
    struct node *node = node_new(tape, primitive, a->dtype, rank, shape, 1, &a, parameters);
    return tape_failed(tape) ? NULL : node;
}

void matrix_function_unbounded(struct tape *tape, struct node *node)
{
    if (!node_need_errors(tape, node)) return;
    for (size_t i = 0; i < node->n; i++)
        node->error[i] = !isfinite(node->value[i]) ? 0
                         : tape_is_model(tape) ? tape->unit * 64 * fabs(node->value[i]) + tape->unit
                                               : INFINITY;
}

void matrix_enclose_all(struct enclosure *enclosure, arb_mat_t out, struct node *a, size_t batch)
{
    size_t rows = (size_t)a->shape[1], columns = (size_t)a->shape[2],
           first = batch * rows * columns;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            enclosure_element(enclosure, arb_mat_entry(out, (slong)i, (slong)j), a,
                              first + i * columns + j);
}

void matrix_keep_all(struct enclosure *enclosure, arb_ptr ball, struct node *node, size_t i,
                     arb_mat_t matrix)
{
    size_t n = (size_t)node->shape[1], m = (size_t)node->shape[2], first = i / (n * m) * n * m;
    for (size_t k = 0; k < n * m; k++)
        if (first + k != i)
            enclosure_remember(enclosure, node, first + k,
                               arb_mat_entry(matrix, (slong)(k / m), (slong)(k % m)));
    arb_set(ball, arb_mat_entry(matrix, (slong)((i - first) / m), (slong)((i - first) % m)));
}

void matrix_function_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i,
                             matrix_ball_function *f)
{
    slong n = (slong)node->shape[1];
    arb_mat_t in, out;
    enclosure->work += (size_t)(n * n * n);
    if (enclosure->work > enclosure->limit) {
        arb_indeterminate(ball);
        return;
    }
    arb_mat_init(in, n, n);
    arb_mat_init(out, n, n);
    matrix_enclose_all(enclosure, in, node->inputs[0], i / (size_t)(n * n));
    if (f(out, in, enclosure->precision)) matrix_keep_all(enclosure, ball, node, i, out);
    else arb_indeterminate(ball);
    arb_mat_clear(in);
    arb_mat_clear(out);
}
